//! Requests that the application never sees: those of hops, and those of hedges.

use super::stage::{Replicates, Run, facts, read};
use retrycast::explain::explain;
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

#[cfg(feature = "cli")]
#[test]
fn the_factors_in_the_summary_multiply_to_what_the_provider_sees() {
    use retrycast::report::{self, Subject};
    // By hand: one request needed, three of the client, each three of the gateway: 3 × 3 = 9 at the provider.
    let scenario = turns(&gateway(""), &provider(ALWAYS_503), ONE, r#""1s""#);
    let never = std::sync::atomic::AtomicBool::new(false);
    let terms = retrycast::experiment::Terms::new(&never);
    let result = retrycast::experiment::run(&scenario, retrycast::random::Seed(1), None, None, terms).unwrap();
    let page = report::text::summary(&Subject::new(&scenario, &result), 80);
    let page = anstream::adapter::strip_str(&page).to_string();
    for line in ["= 9.00 per step, to the end", "1 request became 3: × 3.00, and 9 at the provider"] {
        assert!(page.contains(line), "{page}");
    }
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
    assert_eq!(ended(&scenario), Some(7.5));
}

#[test]
fn a_hop_answers_for_a_provider_that_does_not() {
    // By hand, as gateways do (RFC 9110, 15.6.3 and 15.6.5): two requests of the hop for each of the client's; what
    // fails without a status comes back as 504 after a timeout and as 502 after a lost connection, which a client of
    // two attempts repeats by the status and by no other word.
    let hop = r#"{ name = "gateway", kind = "hop", max_attempts = 2, retry_on = "any", timeout = "1s" }"#;
    let of = |respond: &str, retry_on: &str| {
        let sdk = format!(r#"{{ name = "sdk", max_attempts = 2, retry_on = [{retry_on}] }}"#);
        let scenario = turns(&format!("{hop}, {sdk}"), &provider(respond), ONE, r#""1s""#);
        let run = Run::of(&scenario, 1);
        let all = run.count("classes.turn.provider_requests");
        // The bound without a run holds.
        assert!(explain(&scenario).classes[0].worst.per_task.is_some_and(|bound| bound >= all), "{respond}");
        [run.count("classes.turn.requests"), all]
    };
    for (respond, status, word) in [
        ("hang = true", "504", r#""timeout""#),
        ("connect_hang = true", "504", r#""timeout""#),
        ("drop = true", "502", r#""connection""#),
        ("unreachable = true", "502", r#""connection""#),
    ] {
        let respond = format!("faults.down.respond = {{ {respond} }}");
        assert_eq!(of(&respond, status), [2, 4], "{respond}");
        assert_eq!(of(&respond, word), [1, 2], "{respond}");
    }
    // What has a status keeps it, and a stream that had begun is broken off.
    assert_eq!(of("faults.down.respond = { status = 529 }", "529"), [2, 4]);
    let silent = r#"faults.down.respond = { stream = "silent", after = "1s" }"#;
    assert_eq!(of(silent, r#""stream_broken""#), [2, 4]);
    // A breaker of the gateway's own that is open: 503, after one request that opened it.
    let guarded = turns(
        r#"{ name = "b", guard = "b", kind = "hop" }, { name = "gateway", kind = "hop", max_attempts = 1, retry_on = ["5xx"] },
           { name = "sdk", max_attempts = 3, retry_on = [500, 503] }"#,
        &format!(
            "[provider]\nfaults.down.respond = {{ status = 500 }}\n[guards.b]\nbreaker = {{ {} }}\n",
            r#"counts = "responses", of = ["5xx"], last = 1, threshold = "50%", open = "10m", when_open = "reject""#
        ),
        ONE,
        r#""1s""#,
    );
    let run = Run::of(&guarded, 1);
    assert_eq!([run.count("classes.turn.requests"), run.count("classes.turn.provider_requests")], [3, 1]);
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
fn a_hedge_may_be_told_when_to_send_again() {
    // By hand, after gRFC A6: a 503 after 0.1 s that asks for 2 s puts the next off to 2.1 s, the one after it follows
    // at the hedge's own pace; a negative pushback forbids any more; zero is at once.
    let times = |pushback: &str, hint: &str| {
        let hedge = format!(
            r#"{{ name = "hedge", hedge = {{ max = 3, delay = "500ms", on = [503], after_failure = "next"{hint} }} }}"#
        );
        let layer = r#"{ name = "call", max_attempts = 1, retry_on = "any", hint_headers = [{ header = "grpc-retry-pushback-ms", negative = "never", zero = "at_once" }] }"#;
        let script = format!("slow=100ms 503 {pushback}, slow=2s 200");
        let faults = provider(&format!(r#"faults.script.respond = {{ script = "{script}" }}"#));
        let mut sent = sent(&turns(&format!("{hedge}, {layer}"), &faults, ONE, r#""1s""#));
        sent.sort_by(f64::total_cmp);
        sent
    };
    let obeyed = r#", hint = "obey""#;
    assert_eq!(times("grpc-retry-pushback-ms=2000", obeyed), [0.0, 2.1, 2.6]);
    assert_eq!(times("grpc-retry-pushback-ms=-1", obeyed), [0.0]);
    assert_eq!(times("grpc-retry-pushback-ms=0", obeyed), [0.0, 0.1, 0.6]);
    assert_eq!(times("grpc-retry-pushback-ms=2000", ""), [0.0, 0.1, 0.6]);
    // What is out when more are forbidden may still succeed.
    let layers = r#"{ name = "hedge", hedge = { max = 3, delay = "50ms", hint = "obey" } }, { name = "call", max_attempts = 1, retry_on = "any", hint_headers = [{ header = "grpc-retry-pushback-ms", negative = "never" }] }"#;
    let faults =
        provider(r#"faults.script.respond = { script = "slow=60ms 503 grpc-retry-pushback-ms=-1, slow=1s 200" }"#);
    let run = Run::of(&turns(layers, &faults, ONE, r#""1s""#), 1);
    assert_eq!((run.count("classes.turn.delivered"), run.count("classes.turn.requests")), (1, 2));
    assert_eq!(run.number("classes.turn.latency_s.max"), 1.05);
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

/// When the only task ended.
fn ended(scenario: &Scenario) -> Option<f64> {
    facts(scenario, 1).into_iter().find_map(|fact| match fact {
        Fact::TaskEnded { at, .. } => Some(at.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    })
}

#[test]
fn a_hedge_sends_nothing_more_when_the_time_for_all_of_it_is_over() {
    // By hand: the second request would be due at 20 s, and nobody waits longer than 10 s for all of them together: the
    // client of a hop, or a layer whose attempts get what is left of its total time.
    let hop = r#"{ name = "mesh", kind = "hop", hedge = { max = 3, delay = "20s" } },
                 { name = "sdk", kind = "client", max_attempts = 1, retry_on = "any", timeout = "10s" }"#;
    let shrinking = r#"{ name = "hedge", hedge = { max = 3, delay = "20s" } },
        { name = "sdk", max_attempts = 1, retry_on = "any", total_budget = "10s", timeout_shrinks = true }"#;
    for layers in [hop, shrinking].map(|layers| layers.replace('\n', " ")) {
        // Whether the first request is out until then, or has failed long before.
        for answers in ["faults.down.respond = { hang = true }", ALWAYS_503] {
            let scenario = turns(&layers, &provider(answers), ONE, r#""1s""#);
            assert_eq!((sent(&scenario), ended(&scenario)), (vec![0.0], Some(10.0)), "{layers} {answers}");
        }
        // At 0.1 s the next one goes out, and at 0.2 s the last one, before any time is over.
        let layers = layers.replace("\"20s\"", "\"20s\", after_failure = \"next\"");
        let scenario = turns(&layers, &provider(ALWAYS_503), ONE, r#""1s""#);
        assert_eq!(sent(&scenario), [0.0, 0.1, 0.2]);
    }
}

#[test]
fn a_hops_own_total_time_shrinks_the_timeouts_of_its_requests() {
    // By hand: nothing ever comes back, and the hop gives up when its 5 s are over; its client would wait a minute.
    let layers = r#"{ name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any", total_budget = "5s", timeout_shrinks = true },
                    { name = "sdk", max_attempts = 1, retry_on = "any", timeout = "1m" }"#;
    let silent = provider("faults.down.respond = { hang = true }");
    assert_eq!(ended(&turns(&layers.replace('\n', " "), &silent, ONE, r#""1s""#)), Some(5.0));
}

#[test]
fn a_wait_that_the_client_does_not_wait_for_counts_as_long_as_it_lasts() {
    // By hand: the gateway wants to wait 2 s from 0.1 s on, and the client leaves at 1 s, three times.
    let scenario = turns(&gateway(r#", timeout = "1s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    let waited = Run::of(&scenario, 1).number("classes.turn.layers.gateway.waited_s");
    assert!((waited - 2.7).abs() < 1e-9, "{waited}");
}

#[test]
fn shares_of_throttled_requests_are_shares_of_what_reached_the_provider() {
    // By hand: nine requests of the gateway for three of the client, all refused.
    let refused = provider(r#"faults.down.respond = { status = 429, after = "100ms" }"#);
    let layers = gateway("").replace(r#"["5xx"]"#, "[429]").replace(r#"["5xx", "timeout"]"#, "[429]");
    let run = Run::of(&turns(&layers, &refused, ONE, r#""1s""#), 1);
    assert_eq!((run.count("classes.turn.provider_requests"), run.number("classes.turn.requests_429_share")), (9, 1.0));
}

#[test]
fn factors_multiply_where_only_some_of_a_tasks_clients_have_hops() {
    // By hand: one step through a hop that sends 3 for the client's 1, one through a hedge that sends 2 for 1. The
    // client's own are 3 for 2 steps: the hedge's factor is 3 / 2, whatever lies behind.
    let scenario = read(&format!(
        r#"
        horizon = "1h"
        [provider]
        {ALWAYS_503}
        [clients.behind]
        layers = [
          {{ name = "gateway", kind = "hop", max_attempts = 3, retry_on = ["5xx"] }},
          {{ name = "sdk", max_attempts = 1, retry_on = "any" }},
        ]
        [clients.hedged]
        layers = [
          {{ name = "hedge", hedge = {{ max = 2, delay = "0s" }} }},
          {{ name = "sdk", max_attempts = 1, retry_on = "any" }},
        ]
        [traffic.turn]
        kind = "turns"
        client = "behind"
        arrivals = {ONE}
        steps = [
          {{ name = "a", input_tokens = 1, latency = "1s", group = "both" }},
          {{ name = "b", input_tokens = 1, latency = "1s", group = "both", client = "hedged" }},
        ]
        "#
    ));
    let run = Run::of(&scenario, 1);
    let of = |path: &str| run.number(&format!("classes.turn.{path}"));
    assert_eq!((of("requests"), of("provider_requests"), of("amplification_by_task")), (3.0, 5.0, 1.5));
    assert_eq!((of("factors.hedge"), of("factors.sdk"), of("factors.gateway")), (1.5, 1.0, 5.0 / 3.0));
}

#[test]
fn a_client_does_not_wait_longer_for_a_hop_that_its_breaker_holds() {
    // By hand. The first turn opens the hop's breaker at 0.1 s, for 1 s; the second one, at 2 s, is its only probe and
    // hangs for a minute; the third one, at 3 s, is held until that is over, and its client leaves after 5 s.
    let text = r#"
        horizon = "10m"
        [provider.faults.down]
        window = ["0s", "1s"]
        respond = { status = 503, after = "100ms" }
        [provider.faults.slow]
        window = ["2s", "2500ms"]
        respond = { status = 503, after = "1m" }
        [guards.relay]
        scope = "global"
        breaker = { counts = "responses", of = [503], last = 1, threshold = 0, open = "1s", when_open = "hold" }
        [clients.patient]
        layers = [{ name = "relay", guard = "relay", kind = "hop" }, { name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any" }]
        [clients.impatient]
        layers = [
          { name = "relay", guard = "relay", kind = "hop" },
          { name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any" },
          { name = "sdk", max_attempts = 1, retry_on = "any", timeout = "5s" },
        ]
        [traffic.first]
        kind = "turns"
        client = "patient"
        arrivals = { at = ["0s", "2s"] }
        steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
        [traffic.third]
        kind = "turns"
        client = "impatient"
        arrivals = { at = ["3s"] }
        steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
    "#;
    let run = Run::of(&read(text), 1);
    let ends: Vec<(u16, f64)> = facts(&read(text), 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::TaskEnded { class, at, .. } => Some((class, at.as_secs_f64())),
            Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
        })
        .collect();
    assert_eq!(ends, [(0, 0.1), (1, 8.0), (0, 62.0)]);
    assert_eq!((run.count("classes.third.failed"), run.number("guards.relay.waited_s")), (1, 5.0));
}

#[test]
fn a_hop_draws_anew_for_each_request_of_its_client() {
    // Three requests of one call, each with two waits of the gateway: six draws, and no two alike.
    let layers = gateway("").replace(r#"backoff = { fixed = "2s" }"#, r#"backoff = { fixed = "2s" }, jitter = "full""#);
    let sent = sent(&turns(&layers, &provider(ALWAYS_503), ONE, r#""1s""#));
    let waits: Vec<f64> = sent.windows(2).map(|pair| pair[1] - pair[0] - 0.1).collect();
    // The client itself tries again at once: the third and the sixth gap.
    let drawn: Vec<f64> = [0, 1, 3, 4, 6, 7].iter().map(|n| waits[*n]).collect();
    for (i, one) in drawn.iter().enumerate() {
        assert!((0.0..=2.0).contains(one) && drawn[..i].iter().all(|other| (other - one).abs() > 1e-6), "{drawn:?}");
    }
}
