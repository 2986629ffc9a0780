//! Every way in which a fault answers, from the file to what a client sees and when, by hand; and several faults at once.

use retrycast::policy::Outcome;
use retrycast::scenario::{Source, load};
use retrycast::sim::Fact;

use super::stage::facts;

/// One turn whose answer is a stream: its first byte comes after 200 ms, its end after 1 s. Its client waits 2 s for a
/// connection and 5 s for each byte.
fn first_answer(faults: &str) -> (f64, Outcome, u16) {
    let all = answers(faults, "{ at = [\"0s\"] }");
    assert_eq!(all.len(), 1, "{faults}: one attempt");
    all[0]
}

fn answers(faults: &str, arrivals: &str) -> Vec<(f64, Outcome, u16)> {
    let text = format!(
        r#"horizon = "10m"
{faults}
[clients.one]
layers = [{{ name = "app", max_attempts = 1, retry_on = "any", timeout = {{ connect = "2s", read = "5s" }} }}]
[traffic.live]
kind = "turns"
client = "one"
arrivals = {arrivals}
steps = [{{ name = "turn", input_tokens = 1, first_token = "200ms", latency = "1s" }}]
"#
    );
    let scenario = load(&Source::new("answers.toml", &text)).unwrap_or_else(|refusal| panic!("{faults}: {refusal:#?}"));
    let facts = facts(&scenario, 1);
    let ends = facts.iter().filter_map(|fact| match fact {
        Fact::RequestEnded { at, sent, answer, .. } => {
            Some(((*at - *sent).as_nanos() as f64 / 1e9, answer.outcome, answer.status))
        }
        _ => None,
    });
    ends.collect()
}

#[test]
fn every_answer_comes_when_and_as_it_should() {
    let refused = |status| (0.5, Outcome::Refused, status);
    for (respond, expected) in [
        ("{ status = 529, after = \"500ms\" }", refused(529)),
        ("{ status = 503, after = \"500ms\" }", refused(503)),
        ("{ status = 500, after = \"500ms\" }", refused(500)),
        ("{ status = 504, after = \"500ms\" }", refused(504)),
        ("{ status = 401, after = \"500ms\" }", refused(401)),
        ("{ status = 429, after = \"500ms\", retry_after = \"9s\" }", refused(429)),
        // Nothing comes for 5 s, or no connection for 2.
        ("{ hang = true }", (5.0, Outcome::TimedOut, 0)),
        ("{ connect_hang = true }", (2.0, Outcome::ConnectTimedOut, 0)),
        ("{ unreachable = true, after = \"300ms\" }", (0.3, Outcome::Unreachable, 0)),
        ("{ drop = true, after = \"300ms\" }", (0.3, Outcome::Dropped, 0)),
        ("{ cut = true, after = \"300ms\" }", (0.3, Outcome::CutShort, 0)),
        ("{ stream = \"failed\", after = \"300ms\" }", (0.3, Outcome::StreamFailed, 0)),
        ("{ stream = \"broken\", after = \"600ms\" }", (0.6, Outcome::StreamBroken, 0)),
        // The last byte comes at 500 ms, and the next does not within 5 s.
        ("{ stream = \"silent\", at = \"500ms\" }", (5.5, Outcome::Silent, 0)),
        // Silent for 3 s, and then served to its end.
        ("{ stream = \"silent\", at = \"500ms\", for = \"3s\" }", (4.0, Outcome::Delivered, 200)),
        // The first byte 2.8 s late, and all the rest with it.
        ("{ slow_first_token = \"3s\" }", (3.8, Outcome::Delivered, 200)),
        // Later than a client waits for a byte.
        ("{ slow_first_token = \"6s\" }", (5.0, Outcome::TimedOut, 0)),
        ("{ script = \"slow=700ms 502\" }", (0.7, Outcome::Refused, 502)),
    ] {
        assert_eq!(first_answer(&format!("[provider.faults.x]\nrespond = {respond}\n")), expected, "{respond}");
    }
    assert_eq!(first_answer(""), (1.0, Outcome::Delivered, 200));
}

#[test]
fn the_first_fault_of_the_file_that_strikes_answers() {
    let fault = |name: &str, rest: &str, status: u16| {
        format!("[provider.faults.{name}]\n{rest}\nrespond = {{ status = {status}, after = \"100ms\" }}\n")
    };
    let both = fault("b", "", 503) + &fault("a", "", 500);
    assert_eq!(first_answer(&both).2, 503);
    // The first has not begun yet.
    let later = fault("b", "window = [\"1m\", \"2m\"]", 503) + &fault("a", "", 500);
    assert_eq!(first_answer(&later).2, 500);
    // Each draws for itself: a half of the requests, and a half of the others.
    let some = fault("b", "probability = 0.5", 503) + &fault("a", "probability = 0.5", 500);
    let all = answers(&some, "{ every = \"100ms\" }");
    let n = all.len() as f64;
    for (status, share) in [(503, 0.5), (500, 0.25), (200, 0.25)] {
        let found = all.iter().filter(|answer| answer.2 == status).count() as f64;
        // Within four standard deviations of a binomial count.
        let slack = 4.0 * (n * share * (1.0 - share)).sqrt();
        assert!((found - n * share).abs() < slack, "{status}: {found} of {n}");
    }
}
