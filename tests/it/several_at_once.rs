//! Requests that the application never sees: those of hops, and those of hedges.

use super::stage::{Replicates, Run, facts, read};
use retrycast::random::math;
use retrycast::scenario::Scenario;
use retrycast::sim::Fact;

/// Turns with this stack against a provider that answers so.
fn turns(layers: &str, provider: &str, arrivals: &str, latency: &str) -> Scenario {
    read(&format!(
        r#"
        horizon = "10h"
        {provider}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {arrivals}
        steps = [{{ name = "say", input_tokens = 100, latency = {latency} }}]
        "#
    ))
}

const ALWAYS_503: &str = r#"faults.down.respond = { status = 503, after = "100ms" }"#;
const ONE: &str = r#"{ at = ["0s"] }"#;

fn provider(of: &str) -> String {
    format!("[provider]\n{of}\n")
}

/// A gateway of three attempts, 2 s apart, in a client of three attempts.
fn gateway(more: &str) -> String {
    format!(
        r#"{{ name = "gateway", kind = "hop", max_attempts = 3, retry_on = ["5xx"], backoff = {{ fixed = "2s" }} }},
           {{ name = "sdk", max_attempts = 3, retry_on = ["5xx", "timeout"]{more} }}"#
    )
    .replace('\n', " ")
}

fn sent(scenario: &Scenario) -> Vec<f64> {
    let sent = facts(scenario, 1).into_iter().filter_map(|fact| match fact {
        Fact::RequestEnded { sent, .. } => Some(sent.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    });
    sent.collect()
}

#[test]
fn a_hop_multiplies_what_the_provider_sees_and_not_what_the_client_sends() {
    // By hand: 3 requests of the client, each 3 of the gateway: at 0, 2.1, 4.2 s, and at once again from 4.3 s on.
    let scenario = turns(&gateway(""), &provider(ALWAYS_503), ONE, r#""1s""#);
    let run = Run::of(&scenario, 1);
    let of = |name: &str| run.count(&format!("classes.turn.{name}"));
    assert_eq!([of("calls"), of("requests"), of("provider_requests")], [1, 3, 9]);
    assert_eq!((run.number("classes.turn.factors.sdk"), run.number("classes.turn.factors.gateway")), (3.0, 3.0));
    assert_eq!(sent(&scenario), [0.0, 2.1, 4.2, 4.3, 6.4, 8.5, 8.6, 10.7, 12.8]);
}

#[test]
fn a_client_that_gives_up_on_a_hop_ends_what_the_hop_does() {
    // By hand: the gateway waits until 2.1 s, the client leaves at 1 s and sends again at once, three times.
    let scenario = turns(&gateway(r#", timeout = "1s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 1.0, 2.0]);
    // With 3 s the gateway's second try falls into the client's time, and its second wait does not.
    let scenario = turns(&gateway(r#", timeout = "3s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 2.1, 3.0, 5.1, 6.0, 8.1]);
    // A request that the hop has out when the client leaves ends with it: 2.5 s after 0, not 4 s.
    let slow = provider("faults.down.respond = { hang = true }");
    let scenario = turns(&gateway(r#", timeout = "2500ms""#), &slow, ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 2.5, 5.0]);
    let ended = facts(&scenario, 1).into_iter().find_map(|fact| match fact {
        Fact::TaskEnded { at, .. } => Some(at.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    });
    assert_eq!(ended, Some(7.5));
}

#[test]
fn a_hedge_sends_again_what_is_late_and_takes_the_first() {
    // In theory, exponential latency of mean 1 s, a second request after 1 s: e⁻¹ of them are sent twice, and the mean
    // is (1 − e⁻¹) + e⁻¹ · ½ = 0.816 s, because what is left after 1 s ends at twice the rate.
    let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } }"#;
    let scenario = turns(layers, "", r#"{ poisson = "1/s" }"#, r#"{ exponential = { mean = "1s" } }"#);
    let result = Replicates::of(&scenario, 1, 8);
    let covers = |path: &str, theory: f64| {
        let (low, high) = result.statistic(path).ci95.unwrap();
        let slack = 0.5 * (high - low);
        assert!(low - slack < theory && theory < high + slack, "{path}: {theory} is not in {low} to {high}");
    };
    let twice = math::exp(-1.0);
    covers("classes.turn.requests_per_call", 1.0 + twice);
    covers("classes.turn.latency_s.mean", 1.0 - 0.5 * twice);
    let run = Run::of(&scenario, 1);
    let of = |name: &str| run.count(&format!("classes.turn.{name}"));
    // Every second request has one loser; nothing is lost but what is out at the horizon.
    assert_eq!(of("responses.200"), of("delivered"));
    let open = of("requests") - of("responses.200") - of("responses.cancelled");
    assert!(of("responses.cancelled") > 0 && open <= 4, "{open}");
}

#[test]
fn a_failure_ends_a_hedge_only_where_it_says_so() {
    // By hand. Any failure may be outdone: the second request goes out at 1 s, and both 503s fail the call at 1.1 s.
    let hedge = |more: &str| format!(r#"{{ name = "hedge", hedge = {{ max = 3, delay = "1s"{more} }} }}"#);
    let times = |more: &str| sent(&turns(&hedge(more), &provider(ALWAYS_503), ONE, r#""1s""#));
    assert_eq!(times(""), [0.0, 1.0, 2.0]);
    assert_eq!(times(r#", after_failure = "next""#), [0.0, 0.1, 0.2]);
    assert_eq!(times(r#", on = ["timeout"]"#), [0.0]);
}

#[test]
fn a_hedge_charges_every_request_to_the_limit() {
    // By hand: 100 tokens each, 10 turns at once, all of them late, 2 requests each: 2,000 tokens and no refusal; with
    // 1,900 the last one is refused, and its turn waits for its first request.
    let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } }"#;
    let at_once = format!("{{ at = [{}] }}", [r#""0s""#; 10].join(", "));
    let with = |amount: u64| {
        let limit = format!(r#"limits.itpm = {{ counts = "input_tokens", amount = {amount}, per = "1h" }}"#);
        let run = Run::of(&turns(layers, &provider(&limit), &at_once, r#""5s""#), 1);
        let of = |name: &str| run.count(&format!("classes.turn.{name}"));
        (of("delivered"), of("requests"), of("responses.429"), of("responses.cancelled"))
    };
    assert_eq!(with(2_001), (10, 20, 0, 10));
    assert_eq!(with(1_900), (10, 20, 1, 9));
}
