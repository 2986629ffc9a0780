//! The table of field cases in `docs/validation.md`: what is right, and what the program gives today. It is renewed by
//! `SNAPSHOTS=overwrite cargo test --test it field_cases::table`.

use std::fmt::Write as _;
use std::path::Path;

use snapbox::{Data, assert_data_eq};

use super::super::stage::Run;
use super::errors::streams;
use super::hints::{CLIENTS, MEASURED, bucket, scripted};
use super::ladders::{brownout, refused_for_ever};
use super::{ONE, always, failing, instants, jobs, sdk};

/// A situation, what is right, and what came out.
struct Row(&'static str, &'static str, String);

/// Instants or waits in a list, without digits that say nothing.
fn listed(seconds: &[f64]) -> String {
    seconds.iter().map(|s| format!("{}", (s * 1e3).round() / 1e3)).collect::<Vec<_>>().join(", ")
}

fn layers() -> Vec<Row> {
    let three = r#"
        { name = "http", max_attempts = 4, retry_on = [429, 503, "timeout", "connection"] },
        { name = "chain", max_attempts = 3, retry_on = ["connection"] },
        { name = "queue", kind = "queue", max_attempts = 3, retry_on = "any" },"#;
    let libraries = r#"
        { name = "sdk", preset = "openai-python-3.57" },
        { name = "decorator", preset = "tenacity-9.2", stop = { after_attempt = 6 } },
        { name = "queue", preset = "celery-5.7", max_retries = 3 },"#;
    let twice = r#"{ name = "one", max_attempts = 4, retry_on = "any" }, { name = "two", max_attempts = 4, retry_on = "any" },"#;
    let sent = |respond: &str, layers: &str| failing(&always(&format!(r#"{respond}, after = "0s""#)), layers);
    let [drop, busy, bad] = ["drop = true", "status = 503", "status = 400"].map(|respond| sent(respond, three));
    let outage = "[provider.faults.down]\nwindow = [\"0s\", \"100s\"]\nrespond = { status = 529, after = \"0s\" }";
    let flow = r#"{ name = "flow", max_attempts = "unlimited", retry_on = "any", backoff = { exponential = { initial = "1s", cap = "100s" } } }"#;
    let flow = jobs(outage, flow, ONE, "0s");
    vec![
        Row(
            "HTTP client, chain and queue of 4, 3 and 3 attempts, each with errors of its own: requests for a closed \
             connection, a 503, a 400",
            "36, 12, 3",
            format!("{drop}, {busy}, {bad}"),
        ),
        Row("openai in tenacity in celery: 3 · 6 · 4 requests", "72", sent("status = 529", libraries).to_string()),
        Row("one setting of 3 retries in two layers", "16", sent("status = 529", twice).to_string()),
        Row(
            "attempts without limit, 1 s doubling, 100 s of outage: requests and the end",
            "8, 127 s",
            format!("{}, {} s", flow.count("classes.job.requests"), flow.number("classes.job.latency_s.max")),
        ),
    ]
}

fn hints() -> Vec<Row> {
    let outer = r#"{ name = "outer", kind = "decorator", max_attempts = "unlimited", retry_on = "any", backoff = { fixed = "1s" }, hint = { obey = { cap = "120s" } } }"#;
    let generations = ["openai-python-1.109", "openai-python-3.57", "anthropic-python-2.14"];
    let requests = |around: &str| {
        let counts =
            generations.map(|preset| bucket(&format!(r#"{{ name = "sdk", preset = "{preset}" }}{around}"#)).0.len());
        counts.map(|n| n.to_string()).join(", ")
    };
    let as_measured = |(headers, expected): &(&str, [&str; 4])| {
        let agrees = |(client, expected): (&&str, &&str)| {
            let waited = instants(&scripted(client, &format!("429 {headers}, 200"), "0s")).get(1).copied();
            match *expected {
                "X" | "N" => waited.is_none(),
                "L" => waited.is_some_and(|wait| wait <= 0.5),
                wait => waited == wait.parse().ok(),
            }
        };
        CLIENTS.iter().zip(expected).filter(|pair| agrees((pair.0, pair.1))).count()
    };
    let agreeing: usize = MEASURED.iter().map(as_measured).sum();
    let timer = instants(&scripted(r#"preset = "openai-npm-6.49""#, "429 retry-after=2592000 forever", "0s"));
    let date = scripted(CLIENTS[1], "429 retry-after=\"Sun, 01 Nov 2026 06:00:30 GMT\", 200", "304d5h59m30s");
    let date = instants(&date);
    vec![
        Row(
            "the server asks for 171 s: requests of three generations of SDKs, and in a loop that waits up to 120 s",
            "3, 1, 2; 5, 3, 2",
            format!("{}; {}", requests(""), requests(&format!(", {outer}"))),
        ),
        Row("14 headers, read by four clients: readings as measured", "56", agreeing.to_string()),
        Row("a date of 60 s across the end of summer time", "60 s", format!("{} s", date[1] - date[0])),
        Row("30 days on a timer of 32 bits, two retries: all is sent within", "2 ms", format!("{} ms", timer[2] * 1e3)),
    ]
}

fn timeouts() -> Vec<Row> {
    let with = |timeout: &str, faults: &str, latency: &str| {
        jobs(faults, &sdk(3, &format!(r#", timeout = "{timeout}""#)), ONE, latency)
    };
    let spent = |run: &Run| {
        ["refused", "waiting_retry"]
            .map(|part| run.number(&format!("classes.job.worker_time_s.{part}")))
            .iter()
            .sum::<f64>()
    };
    let hang = always("hang = true");
    let (silent, slow, quick) = (with("30s", &hang, "1s"), with("30s", "", "45s"), with("30s", "", "25s"));
    vec![
        Row(
            "30 s and two retries against a silent server: the caller is kept for",
            "91.125–91.5 s",
            format!("{:.3} s", spent(&silent)),
        ),
        Row(
            "served in 45 s, and in 25 s: requests and fate",
            "3, failed; 1, delivered",
            format!(
                "{}, {}; {}, {}",
                slow.count("classes.job.requests"),
                if slow.count("classes.job.failed") == 1 { "failed" } else { "delivered" },
                quick.count("classes.job.requests"),
                if quick.count("classes.job.failed") == 1 { "failed" } else { "delivered" },
            ),
        ),
        Row(
            "served in 45 s, and nobody waits for it: seconds of the server for each job, and where it notices",
            "135; 90",
            format!(
                "{}; {}",
                slow.number("classes.job.wasted_server_s"),
                with("30s", "[provider]\nabandoned = \"cancelled\"", "45s").number("classes.job.wasted_server_s"),
            ),
        ),
        Row(
            "the same with the default of 600 s",
            "1801.125–1801.5 s",
            format!("{:.3} s", spent(&with("600s", &hang, "1s"))),
        ),
    ]
}

fn errors() -> Vec<Row> {
    let hundred = format!("{{ at = [{}] }}", vec![r#""0s""#; 100].join(", "));
    let again =
        |on: &str| format!(r#"{{ name = "again", max_attempts = 6, retry_on = {on}, backoff = {{ fixed = "5s" }} }}"#);
    let spent = |more: &str, told: &str, on: &str| {
        let faults = always(&format!(r#"status = 429, after = "0s"{more}"#));
        jobs(&faults, &format!("{}, {}", sdk(3, told), again(on)), &hundred, "1s").count("classes.job.requests")
    };
    let told = ", obeys_should_retry = true";
    let streamed = |layer: &str| {
        let run = streams(layer);
        let share = run.number("classes.chat.delivered") / 1e5;
        format!("{:.3}, {:.2} %", run.number("classes.chat.amplification"), share * 100.0)
    };
    vec![
        Row(
            "100 jobs out of credit under 3 · 6 attempts: nobody knows, the SDK is told, both are",
            "1800, 600, 100",
            [
                ("", "", "\"any\""),
                (", should_retry = false", told, "\"any\""),
                (", should_retry = false", told, "[\"5xx\"]"),
            ]
            .map(|(more, told, on)| spent(more, told, on).to_string())
            .join(", "),
        ),
        Row(
            "streams that fail inside a 200, 10 % before and 5 % after the first token, under an SDK with 5 retries: \
             attempts, successes",
            "1.000, 85.00 %",
            streamed(r#"{ name = "sdk", preset = "anthropic-python", max_retries = 5 }"#),
        ),
        Row(
            "the same, repeated up to three times where nothing was shown yet",
            "1.110, 94.35 %",
            streamed(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed"] }"#),
        ),
        Row(
            "the same, repeated in both cases: output that was shown already and is asked for again, for each job",
            "0.0575",
            format!(
                "{:.4}",
                streams(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed", "stream_broken"] }"#)
                    .number("classes.chat.repeated_output")
                    / 1e5
            ),
        ),
        Row(
            "the same, repeated in both cases",
            "1.173, 99.66 %",
            streamed(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed", "stream_broken"] }"#),
        ),
    ]
}

fn ladders() -> Vec<Row> {
    let at_once = format!("{{ at = [{}] }}", vec![r#""0s""#; 2_000].join(", "));
    let rides_out = [6, 7, 8, 9].map(|retries| {
        let run = brownout(&sdk(retries + 1, ""), &at_once);
        format!("{:.1} %", run.number("classes.turn.delivered") / 20.0)
    });
    let late = brownout(&sdk(3, ""), r#"{ count = 20000, until = "30s" }"#);
    let tenacity = |stop: &str| {
        let layer = format!(
            r#"preset = "tenacity-9.2", wait = {{ exponential = {{ multiplier = "1s" }} }}, stop = {{ {stop} = "5s" }}"#
        );
        listed(&instants(&refused_for_ever(&layer)))
    };
    let pool = instants(&refused_for_ever(
        r#"preset = "urllib3-2.8", total = 5, backoff_factor = "1s", status_forcelist = [503], respect_retry_after_header = false"#,
    ));
    let pool: Vec<f64> = pool.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let floor = r#"preset = "tenacity-9.2", stop = { after_attempt = 7 }, wait = { exponential = { multiplier = "1s", min = "4s", max = "10s" } }"#;
    vec![
        Row(
            "30 s of 529 from the first request on: calls that 6, 7, 8, 9 retries bring through",
            "0 %, 0.75 %, almost all, all",
            rides_out.join(", "),
        ),
        Row(
            "calls at any time of it with two retries: successes, requests for each",
            "4.4 %, 2.985",
            format!(
                "{:.1} %, {:.3}",
                late.number("classes.turn.delivered") / 200.0,
                late.number("classes.turn.amplification")
            ),
        ),
        Row(
            "1, 2, 4 s until 5 s are over, looked at after the wait, and before it: attempts at",
            "0, 1, 3, 7; 0, 1, 3",
            format!("{}; {}", tenacity("after_delay"), tenacity("before_delay")),
        ),
        Row("the pool of an HTTP client, factor 1 s: waits", "0, 2, 4, 8, 16", listed(&pool)),
        Row(
            "at least 4 s and at most 10: attempts at",
            "0, 4, 8, 12, 20, 30, 40",
            listed(&instants(&refused_for_ever(floor))),
        ),
    ]
}

#[test]
fn the_table_of_field_cases_holds_todays_numbers() {
    let groups = [
        ("layers", layers()),
        ("hints", hints()),
        ("timeouts", timeouts()),
        ("errors", errors()),
        ("ladders", ladders()),
        ("limits", super::limits::rows().map(|(situation, right, found)| Row(situation, right, found)).into()),
    ];
    let mut table =
        String::from("| situation | right | this program | tests in `field_cases::` |\n| --- | --- | --- | --- |\n");
    for (group, rows) in groups {
        for Row(situation, right, found) in rows {
            writeln!(table, "| {situation} | {right} | {found} | `{group}` |").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/validation.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (open, close) = ("<!-- field cases -->\n", "<!-- end of field cases -->");
    let (head, rest) = page.split_once(open).expect("a mark");
    let (_, tail) = rest.split_once(close).expect("a mark");
    assert_data_eq!(format!("{head}{open}{table}{close}{tail}"), Data::read_from(&path, None).raw());
}
