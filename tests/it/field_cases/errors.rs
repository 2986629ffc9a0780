//! Errors that never clear, and those that come inside an answer.

use super::super::stage::{Run, read};
use super::{always, jobs, sdk};

#[test]
fn an_error_that_will_never_clear_is_repeated_by_whoever_looks_at_the_status_alone() {
    // 100 jobs refused for want of credit. Nobody knows: 3 · 6 requests a job, 31.75 to 34 s each. The SDK is told not to
    // retry: 6. Both know: 1.
    let hundred = format!("{{ at = [{}] }}", vec![r#""0s""#; 100].join(", "));
    let around =
        |on: &str| format!(r#"{{ name = "again", max_attempts = 6, retry_on = {on}, backoff = {{ fixed = "5s" }} }}"#);
    let refused = |more: &str, sdk: String, around: String| {
        let faults = always(&format!(r#"status = 429, after = "0s"{more}"#));
        jobs(&faults, &format!("{sdk}, {around}"), &hundred, "1s")
    };
    let status_only = refused("", sdk(3, ""), around("\"any\""));
    assert_eq!(status_only.count("classes.job.requests"), 1_800);
    let asleep = status_only.number("classes.job.worker_time_s.waiting_retry") / 100.0;
    assert!((31.75..=34.0).contains(&asleep), "{asleep}");
    let told = refused(", should_retry = false", sdk(3, ", obeys_should_retry = true"), around("\"any\""));
    assert_eq!(told.count("classes.job.requests"), 600);
    let both = refused(", should_retry = false", sdk(3, ", obeys_should_retry = true"), around("[\"5xx\"]"));
    assert_eq!(both.count("classes.job.requests"), 100);
    // The code in the body says what the status does not: whoever looks at it makes one request and no wait.
    let careful = r#"{ failures = [408, 409, 429, "5xx"], never = ["permanent"] }"#;
    let layer = |name: &str, most: u32| {
        format!(r#"{{ name = "{name}", max_attempts = {most}, retry_on = {careful}, backoff = {{ fixed = "5s" }} }}"#)
    };
    for code in ["insufficient_quota", "enforced_spend_limit_reached", "credit_balance_exhausted"] {
        let run = refused(&format!(r#", code = "{code}""#), layer("sdk", 3), layer("again", 6));
        assert_eq!(run.count("classes.job.requests"), 100);
        assert_eq!(run.number("classes.job.worker_time_s.waiting_retry"), 0.0);
    }
    let passing = refused(r#", code = "rate_limit_exceeded""#, layer("sdk", 3), layer("again", 6));
    assert_eq!(passing.count("classes.job.requests"), 1_800);
}

#[test]
fn an_sdk_repeats_a_status_and_a_word_of_the_server_overrules_it() {
    // Measured: three requests for a 429 of an exhausted quota, one where it says `x-should-retry: false`; one for 400
    // and 401, three for 408, 409 and 500.
    let sent = |respond: &str| {
        let layers = r#"{ name = "sdk", preset = "anthropic-python" },"#;
        super::failing(&always(&format!(r#"{respond}, after = "0s""#)), layers)
    };
    assert_eq!(sent(r#"status = 429, code = "insufficient_quota""#), 3);
    assert_eq!(sent("status = 429, should_retry = false"), 1);
    assert_eq!([400, 401].map(|status| sent(&format!("status = {status}"))), [1, 1]);
    assert_eq!([408, 409, 500].map(|status| sent(&format!("status = {status}"))), [3, 3, 3]);
}

/// 100,000 streamed calls, of which one in ten fails before the first token and one in twenty after it.
pub(super) fn streams(layers: &str) -> Run {
    let text = format!(
        r#"
        horizon = "2h"
        [provider.faults.first]
        probability = 0.1
        respond = {{ stream = "failed", after = "0s" }}
        # 5 % of all are this share of the nine tenths that the first fault spares.
        [provider.faults.later]
        probability = 0.055555555555555555
        respond = {{ stream = "broken", after = "0s" }}
        [clients.app]
        layers = [{layers}]
        [traffic.chat]
        kind = "turns"
        client = "app"
        arrivals = {{ count = 100000, until = "1h" }}
        steps = [{{ name = "say", input_tokens = 1, latency = "0s" }}]
        "#
    );
    Run::of(&read(&text), 1)
}

#[test]
fn an_error_inside_an_answer_of_200_is_repeated_by_nobody_who_looks_at_the_status() {
    let share = |run: &Run| run.number("classes.chat.delivered") / 1e5;
    // A sampling error of three standard deviations of a share, or of a mean of attempts.
    let near = |found: f64, expected: f64, variance: f64| {
        assert!((found - expected).abs() < 3.0 * (variance / 1e5).sqrt(), "{found} is not {expected}");
    };
    // An SDK with five retries: not one of them.
    let sdk = streams(r#"{ name = "sdk", preset = "anthropic-python", max_retries = 5 }"#);
    assert_eq!(sdk.count("classes.chat.requests"), 100_000);
    near(share(&sdk), 0.85, 0.85 * 0.15);
    // The application repeats what has shown nothing, up to three tries: (1 − 0.1³)/0.9 attempts, of which 0.85 succeed.
    let careful = streams(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed"] }"#);
    near(careful.number("classes.chat.amplification"), 1.11, 0.12);
    near(share(&careful), 0.9435, 0.9435 * 0.0565);
    // And what has shown something: 1 − 0.15³ succeed, after 1 + 0.15 + 0.15² attempts.
    let careless = streams(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed", "stream_broken"] }"#);
    near(careless.number("classes.chat.amplification"), 1.1725, 0.19);
    near(share(&careless), 0.996_625, 0.996_625 * 0.003_375);
    // What has been shown and is asked for again: 0.05 · (1 + 0.15) of the calls; the careful one shows nothing twice.
    near(careless.number("classes.chat.repeated_output") / 1e5, 0.0575, 0.06);
    assert_eq!(careful.count("classes.chat.repeated_output"), 0);
}
