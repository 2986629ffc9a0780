//! What happens within one request: which timeout ends it, when, and as what its client sees it. Every expected instant
//! is worked out by hand from the phases that the scenario states.

use retrycast::policy::{Outcome, Timeouts};
use retrycast::scenario::{Source, load};
use retrycast::sim::Fact;
use retrycast::units::SimDuration;

use super::stage::{Run, facts, read};

/// One turn against a provider with one fault, through one layer with one attempt.
fn turn(layer: &str, respond: &str, step: &str) -> String {
    let fault =
        if respond.is_empty() { String::new() } else { format!("[provider.faults.odd]\nrespond = {respond}\n") };
    let comma = if layer.is_empty() { "" } else { ", " };
    format!(
        "horizon = \"10m\"\n{fault}\
         [clients.app]\nlayers = [{{ name = \"http\", max_attempts = 1, retry_on = \"any\"{comma}{layer} }}]\n\
         [traffic.chat]\nkind = \"turns\"\nclient = \"app\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"ask\", input_tokens = 1, {step} }}]\n"
    )
}

/// How the request of a turn ends, and after how many seconds; `None` where it never does.
fn ends(layer: &str, respond: &str, step: &str) -> Option<(Outcome, f64)> {
    facts(&read(&turn(layer, respond, step)), 1).iter().find_map(|fact| match fact {
        Fact::RequestEnded { answer, at, .. } => Some((answer.outcome, at.as_secs_f64())),
        Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    })
}

const WHOLE: &str = r#"latency = "10s""#;
const STREAM: &str = r#"latency = "10s", first_token = "1s""#;

#[test]
fn each_phase_ends_by_its_own_timeout() {
    use Outcome::{ConnectTimedOut, Delivered, Silent, TimedOut, WriteTimedOut};
    const PHASES: &str = r#"timeout = { connect = "5s", read = "60s", write = "10s", pool = "5s", idle = "20s" }"#;
    const SILENT: &str = r#"{ stream = "silent", at = "3s" }"#;
    for (layer, respond, step, outcome, at) in [
        // A connection that is never made: its own timeout, the scalar, or the limit over all.
        (PHASES, "{ connect_hang = true }", WHOLE, ConnectTimedOut, 5.0),
        (r#"timeout = "30s""#, "{ connect_hang = true }", WHOLE, ConnectTimedOut, 30.0),
        (r#"timeout = { total = "7s" }"#, "{ connect_hang = true }", WHOLE, TimedOut, 7.0),
        (PHASES, r#"{ unreachable = true, after = "40s" }"#, WHOLE, ConnectTimedOut, 5.0),
        (PHASES, "", r#"latency = "1s", connect = "6s""#, ConnectTimedOut, 5.0),
        (PHASES, "", r#"latency = "1s", connect = "5s""#, Delivered, 6.0),
        // 1 s to connect, and then 10 s of 11 s of writing.
        (PHASES, "", r#"latency = "1s", connect = "1s", write = "11s""#, WriteTimedOut, 11.0),
        (PHASES, "", r#"latency = "1s", connect = "1s", write = "10s""#, Delivered, 12.0),
        // A server that never answers: 60 s from when the request is written.
        (PHASES, "{ hang = true }", WHOLE, TimedOut, 60.0),
        (PHASES, "{ hang = true }", r#"latency = "1s", connect = "2s", write = "3s""#, TimedOut, 65.0),
        (PHASES, r#"{ slow_first_token = "90s" }"#, STREAM, TimedOut, 60.0),
        // Served in 9 s after a first byte that came after 50 s; as a whole, at its first byte.
        (PHASES, r#"{ slow_first_token = "50s" }"#, STREAM, Delivered, 59.0),
        (PHASES, r#"{ slow_first_token = "50s" }"#, WHOLE, Delivered, 50.0),
        // Silent from 3 s on: the shorter of the two that look at gaps.
        (PHASES, SILENT, STREAM, Silent, 23.0),
        (r#"timeout = "15s""#, SILENT, STREAM, Silent, 18.0),
        (r#"timeout = { idle = "20s", total = "12s" }"#, SILENT, STREAM, TimedOut, 12.0),
        // A scalar is no limit over all of a stream; `total` is.
        (r#"timeout = "30s""#, "", r#"latency = "45s", first_token = "2s""#, Delivered, 45.0),
        (r#"timeout = "30s""#, "", r#"latency = "45s""#, TimedOut, 30.0),
        (r#"timeout = { total = "30s" }"#, "", r#"latency = "45s", first_token = "2s""#, TimedOut, 30.0),
        // What is left of the total time bounds the whole attempt.
        (r#"timeout = "30s", total_budget = "20s", timeout_shrinks = true"#, "{ hang = true }", WHOLE, TimedOut, 20.0),
        (r#"total_budget = "8s", timeout_shrinks = true"#, SILENT, STREAM, TimedOut, 8.0),
    ] {
        assert_eq!(ends(layer, respond, step), Some((outcome, at)), "{layer} against {respond}, {step}");
    }
}

#[test]
fn a_guard_that_looks_at_the_next_event_is_late_or_never_looks() {
    // Silent from 3 s to 28 s of an answer of 10 s: a timer of 20 s ends it at 23 s; who looks when the next event comes
    // sees it at 28 s; 30 s are enough for it to be delivered after 10 + 25 s.
    let gap = r#"{ stream = "silent", at = "3s", for = "25s" }"#;
    let idle = |limit: &str, checked: &str| {
        let layer = format!(r#"timeout = {{ idle = "{limit}", idle_checked = "{checked}" }}"#);
        ends(&layer, gap, STREAM)
    };
    assert_eq!(idle("20s", "by_timer"), Some((Outcome::Silent, 23.0)));
    assert_eq!(idle("20s", "at_next_event"), Some((Outcome::Silent, 28.0)));
    assert_eq!(idle("30s", "by_timer"), Some((Outcome::Delivered, 35.0)));
    assert_eq!(idle("30s", "at_next_event"), Some((Outcome::Delivered, 35.0)));
    // A stream that stays silent has no next event: nobody ever looks, and the turn is never over.
    let never = turn(
        r#"timeout = { connect = "5s", idle = "20s", idle_checked = "at_next_event" }"#,
        r#"{ stream = "silent", at = "3s" }"#,
        STREAM,
    );
    let run = Run::of(&read(&never), 1);
    assert_eq!((run.count("classes.chat.unfinished"), run.count("classes.chat.failed")), (1, 0));
    // Nor is a connection that is never made, without a timeout for it.
    assert_eq!(ends(r#"timeout = { read = "5s" }"#, "{ connect_hang = true }", WHOLE), None);
    assert_eq!(ends("", r#"{ stream = "silent", at = "3s" }"#, STREAM), None);
}

#[test]
fn a_script_reaches_every_phase_too() {
    let layer = r#"timeout = { connect = "5s", read = "60s", write = "10s", idle = "20s" }"#;
    for (answer, outcome, at) in [
        ("connect_hang", Outcome::ConnectTimedOut, 5.0),
        ("connect=6s 200", Outcome::ConnectTimedOut, 5.0),
        ("write=11s 200", Outcome::WriteTimedOut, 10.0),
        ("hang", Outcome::TimedOut, 60.0),
        ("silence", Outcome::Silent, 20.0),
        ("first_token=1s silence at=3s", Outcome::Silent, 23.0),
        ("slow=10s at=3s for=25s 200", Outcome::Silent, 23.0),
        ("slow=10s at=3s for=15s 200", Outcome::Delivered, 25.0),
        ("first_token=61s slow=70s 200", Outcome::TimedOut, 60.0),
        ("first_token=59s slow=70s 200", Outcome::Delivered, 70.0),
    ] {
        let respond = format!(r#"{{ script = "{answer}" }}"#);
        assert_eq!(ends(layer, &respond, WHOLE), Some((outcome, at)), "{answer}");
    }
}

#[test]
fn what_never_arrives_costs_nothing() {
    let limit = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 10\nper = \"1m\"\n";
    let text = turn(r#"timeout = { connect = "5s" }"#, "", r#"latency = "1s", connect = "6s""#);
    let run = Run::of(&read(&format!("{text}\n{limit}")), 1);
    assert_eq!((run.count("classes.chat.requests"), run.count("limits.rpm.admitted")), (1, 0));
    assert_eq!((run.number("classes.chat.server_s"), run.count("classes.chat.effects")), (0.0, 0));
}

#[test]
fn the_first_token_is_timed_from_the_arrival_of_the_turn() {
    // Refused at once, again after 2 s, and then a first token after half a second: 2.5 s.
    let text = turn("", "", r#"latency = "8s", first_token = "500ms""#)
        .replace("max_attempts = 1", r#"backoff = { fixed = "2s" }, max_attempts = 2"#);
    let busy = "[provider.faults.busy]\nwindow = [\"0s\", \"1s\"]\nrespond = { status = 529, after = \"0s\" }\n";
    let run = Run::of(&read(&format!("{text}\n{busy}")), 1);
    assert_eq!(run.number("classes.chat.first_token_s.p50"), 2.5);
    assert_eq!(run.number("classes.chat.first_token_s.max"), 2.5);
    assert_eq!(run.number("classes.chat.latency_s.max"), 10.0);
    // The turn arrived in the fault's window.
    assert_eq!(run.number("phases.busy.classes.chat.first_token_s.p50"), 2.5);
}

#[test]
fn the_first_token_of_a_task_is_that_of_its_last_streamed_answer() {
    // Two streamed steps of 4 s, then one that is not streamed: the second one's first token comes after 4 + 1 s.
    let text = turn("", "", STREAM).replace(
        &format!(r#"{{ name = "ask", input_tokens = 1, {STREAM} }}"#),
        r#"{ name = "plan", input_tokens = 1, latency = "4s", first_token = "1s" },
           { name = "ask", input_tokens = 1, latency = "4s", first_token = "1s" },
           { name = "file", input_tokens = 1, latency = "4s" }"#,
    );
    let run = Run::of(&read(&text), 1);
    assert_eq!(run.number("classes.chat.first_token_s.max"), 5.0);
    assert_eq!(run.number("classes.chat.latency_s.max"), 12.0);
}

#[test]
fn a_layer_inside_another_has_the_shorter_timeout_of_both_in_each_phase() {
    let two = |respond: &str| {
        let text = turn(r#"timeout = { connect = "5s", read = "60s" }"#, respond, WHOLE).replace(
            "}]\n[traffic",
            r#"}, { name = "outer", max_attempts = 1, retry_on = "any", timeout = { connect = "9s", read = "30s" } }]
[traffic"#,
        );
        facts(&read(&text), 1).iter().find_map(|fact| match fact {
            Fact::RequestEnded { answer, at, .. } => Some((answer.outcome, at.as_secs_f64())),
            Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        })
    };
    assert_eq!(two("{ connect_hang = true }"), Some((Outcome::ConnectTimedOut, 5.0)));
    assert_eq!(two("{ hang = true }"), Some((Outcome::TimedOut, 30.0)));
}

#[test]
fn variants_patch_single_phases_and_replace_a_scalar() {
    let text = turn(r#"timeout = { connect = "5s", read = "60s" }"#, "", WHOLE)
        + "[variants.quick.clients.app.layers.http]\ntimeout.read = \"9s\"\n\
           [variants.plain.clients.app.layers.http]\ntimeout = \"7s\"\n";
    let timeouts = |variant: &str| {
        let source = Source { variant: Some(variant), ..Source::new("stage.toml", &text) };
        let scenario = load(&source).unwrap_or_else(|refusal| panic!("{refusal:#?}"));
        scenario.clients[0].patience().timeouts
    };
    let second = SimDuration::from_secs;
    let quick = Timeouts { connect: Some(second(5)), read: Some(second(9)), ..Timeouts::NONE };
    assert_eq!((timeouts("quick"), timeouts("plain")), (quick, Timeouts::each(second(7))));
}

#[test]
fn a_word_of_a_preset_for_its_timeout_takes_phases_too() {
    let text = turn("", "", WHOLE).replace(
        r#"name = "http", max_attempts = 1, retry_on = "any""#,
        r#"preset = "anthropic-python-1.13", timeout = { connect = "5s", read = "600s", write = "600s", pool = "600s" }"#,
    );
    let timeouts = read(&text).clients[0].patience().timeouts;
    let expected = Timeouts { connect: Some(SimDuration::from_secs(5)), ..Timeouts::each(SimDuration::from_secs(600)) };
    assert_eq!(timeouts, expected);
}

#[test]
fn a_wait_for_a_connection_ends_with_the_clients_timeout_for_it() {
    // Two turns, one connection, 10 s of service: the second waits for 10 s, or as long as its client does.
    let pool = "[guards.sockets]\npool = { connections = 1 }\n";
    let with = |timeout: &str| {
        let text = turn(timeout, "", WHOLE)
            .replace("layers = [{", "layers = [{ guard = \"sockets\" }, {")
            .replace(r#"at = ["0s"]"#, r#"at = ["0s", "0s"]"#);
        let run = Run::of(&read(&format!("{text}{pool}")), 1);
        ["delivered", "failed", "requests"].map(|key| run.count(&format!("classes.chat.{key}")))
    };
    assert_eq!(with(r#"timeout = { read = "30s" }"#), [2, 0, 2]);
    assert_eq!(with(r#"timeout = { pool = "10s", read = "30s" }"#), [2, 0, 2]);
    assert_eq!(with(r#"timeout = { pool = "2s", read = "30s" }"#), [1, 1, 1]);
    // A scalar stands for this phase too.
    assert_eq!(with(r#"timeout = "30s""#), [2, 0, 2]);
}

#[test]
fn a_hop_has_its_own_timeouts_and_no_longer_than_its_client_waits() {
    let hop = |hop: &str, client: &str, respond: &str| {
        let text = turn(client, respond, WHOLE).replace(
            "layers = [{",
            &format!(
                "layers = [{{ name = \"gateway\", kind = \"hop\", max_attempts = 1, retry_on = \"any\", {hop} }}, {{"
            ),
        );
        facts(&read(&text), 1).iter().find_map(|fact| match fact {
            Fact::RequestEnded { answer, at, .. } => Some((answer.outcome, at.as_secs_f64())),
            Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        })
    };
    let phases = r#"timeout = { connect = "5s", read = "60s" }"#;
    let thirty = r#"timeout = "30s""#;
    assert_eq!(hop(phases, thirty, "{ connect_hang = true }"), Some((Outcome::ConnectTimedOut, 5.0)));
    assert_eq!(hop(phases, thirty, "{ hang = true }"), Some((Outcome::TimedOut, 30.0)));
    assert_eq!(hop(r#"timeout = "20s""#, thirty, "{ hang = true }"), Some((Outcome::TimedOut, 20.0)));
}
