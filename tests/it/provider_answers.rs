//! The ways in which a provider fails, from the file to what a client does about each: every failure has its word in
//! `respond` and in `retry_on`, a code decides whatever the status says, and what makes no answer is refused.

use retrycast::policy::Outcome;
use retrycast::provider::{Respond, StreamFault};
use retrycast::random::{Distribution, Seed};
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::sim::simulate;

/// Ten turns, ten seconds apart; a client that makes three attempts at what it repeats.
fn scenario(respond: &str, retry_on: &str) -> Result<Scenario, Refusal> {
    let text = format!(
        r#"horizon = "10m"
[provider.faults.trouble]
respond = {respond}
[clients.one]
layers = [{{ name = "app", max_attempts = 3, retry_on = {retry_on}, timeout = "30s" }}]
[traffic.work]
kind = "turns"
client = "one"
arrivals = {{ every = "10s", until = "100s" }}
steps = [{{ name = "turn", input_tokens = 100, latency = "1s" }}]
"#
    );
    load(&Source::new("trouble.toml", &text))
}

fn respond(respond: &str) -> Respond {
    let scenario = scenario(respond, "\"any\"").unwrap_or_else(|refusal| panic!("{respond}: {refusal:#?}"));
    scenario.provider.faults[0].respond.clone()
}

fn refused(respond: &str) -> String {
    match scenario(respond, "\"any\"") {
        Err(Refusal::Faulty { faults, .. }) => faults.into_iter().map(|fault| fault.message).collect(),
        other => panic!("{respond}: {other:#?}"),
    }
}

/// Requests of a scenario in which every request fails, for each of its ten turns.
fn requests_per_turn(respond: &str, retry_on: &str) -> u64 {
    let outcome = simulate(&scenario(respond, retry_on).unwrap(), Seed(1));
    let requests: u64 = outcome.classes[0].cells.iter().map(|counts| counts.requests).sum();
    assert_eq!(requests % 10, 0, "turns do not differ");
    requests / 10
}

#[test]
fn every_form_is_read() {
    let (quick, minute) = (|| Distribution::constant(0.1), || Distribution::constant(60.0));
    let stream = |how, after| Respond::Stream { how, after };
    for (text, expected) in [
        ("{ stream = \"failed\" }", stream(StreamFault::Failed, quick())),
        ("{ stream = \"broken\", after = \"1m\" }", stream(StreamFault::Broken, minute())),
        ("{ stream = \"silent\", after = \"1m\" }", stream(StreamFault::Silent, minute())),
        ("{ cut = true, after = \"1m\" }", Respond::Cut { after: minute() }),
        ("{ drop = true }", Respond::Drop { after: quick() }),
        ("{ unreachable = true }", Respond::Unreachable { after: quick() }),
        ("{ hang = true }", Respond::Hang),
        (
            "{ status = 429, code = \"spent\", should_retry = false }",
            Respond::Status {
                status: 429,
                after: quick(),
                hint: None,
                should_retry: Some(false),
                code: Some("spent".to_owned()),
            },
        ),
    ] {
        assert_eq!(respond(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    for (text, message) in [
        ("{ stream = true }", "must be a word, found true"),
        ("{ stream = \"borken\" }", "is none of the known words, found \"borken\""),
        ("{ stream = \"silent\" }", "lacks the key `after`"),
        ("{ stream = \"failed\", code = \"x\" }", "unknown key"),
        ("{ cut = false }", "must be true, found false"),
        ("{ cut = true, drop = true }", "says `drop` beside `cut`"),
        ("{ unreachable = \"yes\" }", "must be true or false, found \"yes\""),
        ("{ unreachabel = true }", "unknown key"),
        ("{ status = 429, code = \"\" }", "must be the code of an error, found \"\""),
        ("{ status = 429, code = 7 }", "must be a string, found 7"),
        ("{ code = \"x\" }", "says none of the things that it could"),
    ] {
        assert_eq!(refused(text), message, "{text}");
    }
}

#[test]
fn each_failure_is_repeated_by_whoever_names_it_and_by_nobody_else() {
    let forms = [
        ("{ stream = \"failed\" }", Outcome::StreamFailed),
        ("{ stream = \"broken\" }", Outcome::StreamBroken),
        ("{ stream = \"silent\", after = \"9s\" }", Outcome::Silent),
        ("{ cut = true }", Outcome::CutShort),
        ("{ drop = true }", Outcome::Dropped),
        ("{ unreachable = true }", Outcome::Unreachable),
        ("{ hang = true }", Outcome::TimedOut),
    ];
    for (form, outcome) in forms {
        assert_eq!(requests_per_turn(form, "\"any\""), 3, "{form}");
        for (_, other) in forms {
            let retry_on = format!("[{:?}]", other.word());
            let expected = if other == outcome { 3 } else { 1 };
            assert_eq!(requests_per_turn(form, &retry_on), expected, "{form} and {retry_on}");
        }
    }
    // A stream that fails had status 200: who repeats every status sees no failure in it.
    assert_eq!(requests_per_turn("{ stream = \"failed\" }", "[\"4xx\", \"5xx\", \"connection\"]"), 1);
    assert_eq!(requests_per_turn("{ cut = true }", "[\"connection\"]"), 3);
    // A stream that has begun and falls silent is no timeout before the answer: SDKs repeat one and not the other.
    assert_eq!(requests_per_turn("{ stream = \"silent\", after = \"9s\" }", "[\"timeout\"]"), 1);
}

#[test]
fn a_code_decides_whatever_the_status_says() {
    let spent = "{ status = 429, code = \"spent\" }";
    assert_eq!(requests_per_turn(spent, "[429]"), 3);
    assert_eq!(requests_per_turn(spent, "{ failures = [429], never = [\"spent\"] }"), 1);
    assert_eq!(requests_per_turn(spent, "{ failures = [500], codes = [\"spent\"] }"), 3);
    assert_eq!(requests_per_turn(spent, "{ any = true, never = [\"spent\", \"gone\"] }"), 1);
    assert_eq!(requests_per_turn("{ status = 429 }", "{ any = true, never = [\"spent\"] }"), 3);
}

#[test]
fn a_status_may_be_repeated_only_with_a_hint() {
    let with_hint = "{ with_hint = [503] }";
    assert_eq!(requests_per_turn("{ status = 503 }", with_hint), 1);
    assert_eq!(requests_per_turn("{ status = 503, retry_after = \"1s\" }", with_hint), 3);
}

#[test]
fn a_limit_names_its_code_too() {
    let text = r#"horizon = "1m"
[provider.limits.rpm]
counts = "requests"
amount = 1
per = "1h"
refuse = { code = "rate_limit_exceeded" }
[clients.one]
layers = [{ name = "app", max_attempts = 4, retry_on = { any = true, never = ["rate_limit_exceeded"] } }]
[traffic.work]
kind = "turns"
client = "one"
arrivals = { at = ["0s", "10s"] }
steps = [{ name = "turn", input_tokens = 100, latency = "1s" }]
"#;
    let scenario = load(&Source::new("limit.toml", text)).unwrap();
    assert_eq!(scenario.provider.limits[0].code.as_deref(), Some("rate_limit_exceeded"));
    let outcome = simulate(&scenario, Seed(1));
    let requests: u64 = outcome.classes[0].cells.iter().map(|counts| counts.requests).sum();
    // The first turn is served; the second is refused once and not repeated.
    assert_eq!(requests, 2);
}
