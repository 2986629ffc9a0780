//! Alerts through TOML: when they fire and clear and how many tasks had been hit, worked out by hand.

use std::fmt::Write as _;

use snapbox::{assert_data_eq, file};

use super::scenario_errors::said;
use super::stage::{Run, read};

/// One turn a second, answered at once, for five minutes; in the second minute all are refused.
fn world(alert: &str) -> Run {
    let text = format!(
        r#"
horizon = "5m"
[provider.faults.closed]
window = ["60s", "120s"]
respond = {{ status = 429, after = "0s" }}
[clients.app]
layers = []
[traffic.live]
kind = "turns"
client = "app"
arrivals = {{ every = "1s" }}
steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
[traffic.report]
kind = "jobs"
client = "app"
workers = 1
arrivals = {{ at = ["0s", "0s", "0s", "0s"] }}
steps = [{{ name = "write", input_tokens = 1, latency = "20s" }}]
[alerts.rule]
{alert}
"#
    );
    Run::of(&read(&text), 1)
}

/// How often it fired, when its rule began to hold, when it fired first and cleared, and who had been hit by then.
fn numbers(run: &Run) -> [f64; 6] {
    ["fired", "held_from_s", "fired_s", "cleared_s", "hit_before", "hit"]
        .map(|key| run.number(&format!("alerts.rule.{key}")))
}

#[test]
fn an_alert_on_the_429_share_fires_when_worked_out_by_hand() {
    // At 75 s, 15 of the last 60 turns were refused: 25 %, which holds from then on. 30 s later, at 105 s, those of 60 s to
    // 104 s have been hit: 45. At 165 s the last minute holds those of 105 s to 119 s, 25 % again; at 180 s none.
    let rule = "class = \"live\"\nof = \"tasks_with_429_share\"\nabove = \"20%\"\nfor = \"30s\"";
    let run = world(rule);
    assert_eq!(numbers(&run), [1.0, 75.0, 105.0, 180.0, 45.0, 60.0]);
    assert_eq!(run.number("alerts.rule.extreme"), 1.0);
    assert_eq!(run.number("alerts.rule.firing_s"), 75.0);
    // Looked at over 15 s it holds at once, and no more at 135 s; cleared a minute of quiet later.
    let short = format!("{rule}\nover = \"15s\"\nclears_after = \"1m\"");
    assert_eq!(numbers(&world(&short)), [1.0, 75.0, 105.0, 195.0, 45.0, 60.0]);
    // As many requests as turns, so the share of requests is the same; all of them fail.
    for of in ["requests_429_share", "requests_failed_share", "failed_share"] {
        assert_eq!(numbers(&world(&rule.replace("tasks_with_429_share", of))), [1.0, 75.0, 105.0, 180.0, 45.0, 60.0]);
    }
    // Nothing is overloaded, and one request a call is not above one.
    for (of, above) in
        [("requests_overload_share", "0"), ("tasks_with_overload_share", "0"), ("requests_per_call", "1")]
    {
        assert_eq!(
            world(&format!("class = \"live\"\nof = \"{of}\"\nabove = {above}")).number("alerts.rule.fired"),
            0.0
        );
    }
}

#[test]
fn an_alert_on_a_queue_and_one_on_a_rate() {
    // Four jobs of 20 s for one worker: three wait at 15 s, two from 20 s on, one from 40 s on, none from 60 s on.
    let queue = world("class = \"report\"\nof = \"queue\"\nabove = 1");
    assert_eq!(numbers(&queue)[..4], [1.0, 15.0, 15.0, 45.0]);
    assert_eq!(queue.number("alerts.rule.extreme"), 3.0);
    // A request a second, and not less: it never falls below.
    let rate = |side: &str| world(&format!("class = \"live\"\nof = \"requests\"\n{side}"));
    assert_eq!(rate("below = \"1/s\"").number("alerts.rule.fired"), 0.0);
    let above = rate("above = \"0.9/s\"");
    assert_eq!(numbers(&above)[..3], [1.0, 15.0, 15.0]);
    // The run ends while it fires.
    assert!(above.number("alerts.rule.cleared_s").is_nan());
    assert_eq!(above.number("alerts.rule.firing_s"), 285.0);
    // Fewer than twenty jobs end in any minute.
    let few = "class = \"report\"\nof = \"failed_share\"\nbelow = \"1%\"\nminimum = 20";
    assert_eq!(world(few).number("alerts.rule.fired"), 0.0);
}

#[test]
fn tasks_are_counted_once_however_they_were_refused_and_none_is_left_out_of_those_that_ended() {
    // Four requests a turn: 429, 529, 503 and 200. All of the first minute's turns have been refused, each once.
    let text = |alert: &str| {
        format!(
            r#"
            horizon = "2m"
            [provider.faults.all]
            respond = {{ script = "429, 529, 503, 200" }}
            [clients.app]
            layers = [{{ name = "sdk", max_attempts = 4, retry_on = [429, 503, 529] }}]
            [clients.plain]
            layers = []
            [traffic.live]
            kind = "turns"
            client = "app"
            arrivals = {{ every = "10s", until = "1m" }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
            [traffic.report]
            kind = "jobs"
            client = "plain"
            workers = 1
            queue = {{ expires = "1s" }}
            arrivals = {{ at = ["1s", "2s", "3s", "4s"] }}
            steps = [{{ name = "write", input_tokens = 1, latency = "1s" }}]
            [interventions.stop]
            at = "0s"
            pause = "report"
            for = "30s"
            [alerts.rule]
            {alert}
            "#
        )
    };
    let calls = Run::of(&read(&text("class = \"live\"\nof = \"requests_per_call\"\nabove = 3")), 1);
    assert_eq!(["hit_before", "hit"].map(|key| calls.number(&format!("alerts.rule.{key}"))), [2.0, 6.0]);
    // Kept from the queue until 30 s, all four reports have expired: they have ended, and none has failed.
    let failed = Run::of(&read(&text("class = \"report\"\nof = \"failed_share\"\nbelow = \"1%\"\nminimum = 4")), 1);
    assert_eq!(failed.number("classes.report.abandoned"), 4.0);
    assert_eq!(failed.number("alerts.rule.fired_s"), 45.0);
}

#[test]
fn alerts_that_say_too_little_or_too_much_are_refused() {
    let sound = "horizon = \"1h\"\n[clients.app]\nlayers = []\n[traffic.live]\nkind = \"turns\"\nclient = \"app\"\n\
                 arrivals = { every = \"1s\" }\nsteps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n\
                 [alerts.rule]\nclass = \"live\"\nof = \"failed_share\"\nabove = \"2%\"\n";
    let changes = [
        ("class = \"live\"\nof", "of"),
        ("class = \"live\"\nof", "class = \"lives\"\nof"),
        ("of = \"failed_share\"\n", ""),
        ("failed_share", "failed"),
        ("above = \"2%\"", ""),
        ("above = \"2%\"", "above = 2"),
        ("above = \"2%\"", "above = \"2%\"\nbelow = \"1%\""),
        ("failed_share\"\nabove = \"2%\"", "queue\"\nabove = \"2%\""),
        ("failed_share\"\nabove = \"2%\"", "queue\"\nabove = 2\nover = \"1m\""),
        ("failed_share\"\nabove = \"2%\"", "queue\"\nabove = 2\nminimum = 3"),
        ("failed_share\"\nabove = \"2%\"", "requests\"\nabove = 2"),
        ("above = \"2%\"", "above = \"2%\"\nover = \"50s\""),
        ("above = \"2%\"", "above = \"2%\"\nover = \"0s\""),
        ("above = \"2%\"", "above = \"2%\"\nevery = \"1us\""),
        ("above = \"2%\"", "above = \"2%\"\nevery = \"1ms\"\nover = \"1h\""),
        ("above = \"2%\"", "above = \"2%\"\nfor = 3"),
        ("above = \"2%\"", "above = \"2%\"\nminimum = 0"),
        ("above = \"2%\"", "above = \"2%\"\nwithin = \"3m\""),
    ];
    let mut table = String::new();
    for (old, new) in changes {
        assert!(sound.contains(old), "{old}");
        let _ = write!(table, "── {}\n{}", new.replace('\n', " ⏎ "), said(&sound.replacen(old, new, 1), None, &[]));
    }
    assert_data_eq!(table, file!["refusals/alerts.txt"]);
}

#[cfg(feature = "cli")]
#[test]
fn the_summary_has_every_table_that_its_schema_speaks_of() {
    use super::schema::departures;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.toml");
    let text = std::fs::read_to_string("scenarios/metastable.toml").unwrap();
    let rule = "[alerts.failing]\nclass = \"turn\"\nof = \"failed_share\"\nabove = \"50%\"\nfor = \"1m\"\n";
    std::fs::write(&file, format!("{text}\n{rule}")).unwrap();
    let print = |args: &[&str]| -> serde_json::Value {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_retrycast")).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let schema = print(&["schema", "summary"]);
    for replicates in [&[][..], &["--replicates", "2"]] {
        let mut args = vec!["run", file.to_str().unwrap(), "-q", "--format", "json"];
        args.extend(replicates);
        let document = print(&args);
        assert_eq!(departures(&schema, &schema, &document, ""), Vec::<String>::new());
        // Its servers are limited, so it says what they did; the alert fires in every run, as the overload stays.
        assert!(!document["capacity"]["started"].is_null() && !document["capacity"]["stuck"].is_null());
        assert!(!document["alerts"]["failing"]["fired_s"].is_null());
        assert_eq!(document["series"]["alerts"]["failing"].is_null(), !replicates.is_empty());
    }
}
