//! What `explain` says guards and budgets leave of an outage: each number worked out by hand, and held against a run in
//! which every request of ten minutes fails.

use retrycast::explain::outage::{Bound, Outage};
use retrycast::explain::{Outage as Whole, explain};

use super::stage::{Run, read};

/// Four workers with more jobs than they get done, behind these layers, while every request fails after a second.
fn world(guards: &str, layers: &str) -> String {
    format!(
        r#"
        horizon = "10m"
        {guards}
        [provider.faults.outage]
        window = ["0s", "10m"]
        respond = {{ status = 503, after = "1s" }}
        [clients.c]
        layers = [{layers}]
        [traffic.job]
        kind = "jobs"
        workers = 4
        processes = 2
        client = "c"
        arrivals = {{ backlog = 100000 }}
        steps = [{{ name = "ask", input_tokens = 1000, latency = "2s" }}]
        "#
    )
}

const SDK: &str = r#"{ name = "sdk", max_attempts = 3, retry_on = [503], backoff = { fixed = "1s" } }"#;

fn outage(text: &str) -> Outage {
    explain(&read(text)).classes.remove(0).outage.expect("there are guards")
}

/// The bound of all requests, and how many there were in the run.
fn bound_and_run(guards: &str, layers: &str) -> (f64, f64) {
    let text = world(guards, layers);
    let bound = outage(&text).requests.expect("it is bounded");
    (bound, Run::of(&read(&text), 1).number("classes.job.provider_requests"))
}

/// Holds that a bound is the one worked out by hand, holds in the run, and is not much too large there.
fn holds(guards: &str, layers: &str, by_hand: f64, tight: f64) {
    let (bound, requests) = bound_and_run(guards, layers);
    assert_eq!(bound, by_hand, "{guards}");
    assert!(requests <= bound, "{requests} of {bound}: {guards}");
    assert!(requests >= tight * bound, "{requests} of {bound}: {guards}");
}

fn breaker(scope: &str, counts: &str, probes: u32) -> String {
    format!(
        "[guards.fuse]\nbreaker = {{ counts = \"{counts}\", of = [503], consecutive = 5, open = \"1m\", when_open = \"hold\", probes = \
         {probes} }}\nscope = \"{scope}\""
    )
}

#[test]
fn a_breaker_leaves_the_failures_that_open_it_and_its_probes() {
    let fuse = r#"{ guard = "fuse" }"#;
    // One for all: 5 failures, 3 others under way, and a probe a minute. Each worker by itself: 5 and 10 probes, times 4.
    holds(&breaker("global", "responses", 1), fuse, 18.0, 0.9);
    holds(&breaker("worker", "responses", 1), fuse, 60.0, 0.9);
    // By process two workers share one: 5 + 1 and 10 probes, twice.
    holds(&breaker("process", "responses", 1), fuse, 32.0, 0.9);
    // It closes by itself: 8 at first and 8 after each minute.
    holds(&breaker("global", "responses", 0), fuse, 88.0, 0.8);
}

#[test]
fn a_gate_leaves_what_each_caller_sends_before_each_closing() {
    let gate = |scope: &str, more: &str| {
        format!("[guards.quiet]\ngate = {{ of = [503], for = \"1m\"{more} }}\nscope = \"{scope}\"")
    };
    let quiet = r#"{ guard = "quiet" }"#;
    // By hand: four callers at the beginning and after each minute, ten times; each has its own, or all share one.
    for (scope, more) in [("global", ""), ("worker", ""), ("global", r#", opens = { each = "100ms" }"#)] {
        holds(&gate(scope, more), quiet, 40.0, 0.9);
    }
    // Around retries each of them sends three requests.
    holds(&gate("global", ""), &format!("{SDK}, {quiet}"), 120.0, 0.9);
    // What the outage does not close bounds nothing.
    let other = gate("global", "").replace("503", "429");
    assert_eq!(outage(&world(&other, quiet)).requests, None);
}

#[test]
fn an_adaptive_rate_leaves_what_is_under_way_and_its_lowest_rate() {
    let rate = "[guards.slow]\nrate = { algorithm = \"cubic\", of = [503] }\nscope = \"global\"";
    // By hand: 4 under way; 2 a second before, which four steps of 0.7 take below 0.5; 0.5 a second for ten minutes.
    holds(rate, r#"{ guard = "slow" }"#, 308.0, 0.9);
}

#[test]
fn a_breaker_around_retries_lets_each_call_send_all_of_them() {
    // Counted by result: 5 calls and 3 others of 3 requests each, and a call a minute.
    holds(&breaker("global", "results", 1), &format!(r#"{SDK}, {{ guard = "fuse" }}"#), 24.0 + 30.0, 0.8);
    // Counted by response: 5 that fail, and up to 3 of each of 4 callers less the one that opened it.
    let (bound, requests) =
        bound_and_run(&breaker("global", "responses", 1), &format!(r#"{SDK}, {{ guard = "fuse" }}"#));
    assert_eq!(bound, 5.0 + 12.0 - 1.0 + 30.0);
    assert!(requests <= bound && requests >= 0.8 * bound, "{requests}");
}

#[test]
fn a_breaker_over_a_share_opens_when_enough_results_are_there() {
    // 30 % of 20 are passed by 7, but 20 must be there: 20 and 3 others, and a probe a minute.
    let share = "[guards.fuse]\nbreaker = { counts = \"responses\", of = [503], last = 20, minimum = 20, threshold = \
                 \"30%\", open = \"1m\", when_open = \"hold\", probes = 1 }\nscope = \"global\"";
    holds(share, r#"{ guard = "fuse" }"#, 33.0, 0.9);
}

#[test]
fn a_pacer_bounds_each_request_inside_of_retries_and_each_call_outside_of_them() {
    let pacer = |more: &str| {
        format!(
            "[guards.pace]\npacer = {{ counts = \"requests\", amount = 30, per = \"1m\"{more} }}\nscope = \"global\""
        )
    };
    let bucket = pacer(", capacity = \"10s\"");
    // 5 in hand and 300 that flow in; outside of 3 attempts each is 3.
    holds(&bucket, &format!(r#"{{ guard = "pace" }}, {SDK}"#), 305.0, 0.99);
    holds(&bucket, &format!(r#"{SDK}, {{ guard = "pace" }}"#), 915.0, 0.98);
    // No more than 30 within any minute.
    holds(&pacer(", flow = \"log\""), r#"{ guard = "pace" }"#, 300.0, 0.99);
    holds(&pacer(", capacity = \"10s\", when_empty = \"ask_again\""), r#"{ guard = "pace" }"#, 305.0, 0.99);
}

#[test]
fn kinds_of_pacers_are_told_apart() {
    let said = |more: &str| {
        let pacer = format!("[guards.pace]\npacer = {{ counts = \"requests\", amount = 30, per = \"1m\"{more} }}");
        let explanation = explain(&read(&world(&pacer, r#"{ guard = "pace" }"#)));
        match &explanation.classes[0].layers[0].part {
            retrycast::explain::Part::Guard { words, .. } => words.clone(),
            retrycast::explain::Part::Retry(_) => panic!("a guard"),
        }
    };
    assert!(said("").starts_with("lets 30 requests pass in 60 s, the rest waits; "), "{}", said(""));
    let log = said(", flow = \"log\"");
    assert!(log.starts_with("lets at most 30 requests start within any 60 s, the rest waits; "), "{log}");
    let again = said(", when_empty = \"ask_again\"");
    assert!(again.contains("the rest asks again when there should be enough, whoever comes first"), "{again}");
}

#[test]
fn a_semaphore_bounds_what_is_in_flight() {
    // 2 for each of two processes; failing answers take a second: 240 a minute.
    let slots = "[guards.slots]\nsemaphore = { permits = 2 }\nscope = \"process\"";
    let bound: Bound = outage(&world(slots, r#"{ guard = "slots" }"#)).bounds.remove(0);
    assert_eq!((bound.at_once, bound.requests, bound.instances), (Some(4), None, 2));
    assert_eq!(
        bound.words,
        "`slots` lets 4 (2 instances × 2) be in flight at once, 240 requests a minute where each takes 1 s, as in \
         `outage`"
    );
}

#[test]
fn a_budget_bounds_the_retries_while_nothing_succeeds() {
    let of = |budget: &str| {
        let layer = format!(
            r#"{{ name = "sdk", max_attempts = 3, retry_on = [503], backoff = {{ fixed = "1s" }}, budget = {budget} }}"#
        );
        let text = world("", &layer);
        let Whole { bounds, requests, .. } = outage(&text);
        assert_eq!(requests, None);
        let run = Run::of(&read(&text), 1);
        let (calls, requests) = (run.number("classes.job.calls"), run.number("classes.job.provider_requests"));
        (bounds[0].per_call, bounds[0].lump, calls, requests - calls)
    };
    // A quota of 500 pays for 100 retries at 5 each, and for no more.
    let (per_call, lump, _, retries) = of("{ quota = { capacity = 500, cost = 5, refund = 1 } }");
    assert_eq!((per_call, lump, retries), (Some(1.0), Some(100.0), 100.0));
    // Ten retries, and one for each five calls: the run is within that, and close.
    let (per_call, lump, calls, retries) =
        of("{ quota = { capacity = 1000, cost = 100, deposit = 20, refund = 0, retried_refund = 0 } }");
    assert_eq!((per_call, lump), (Some(1.2), Some(10.0)));
    assert!(retries <= 10.0 + 0.2 * calls && retries >= 0.2 * calls, "{retries} of {calls}");
    // gRPC: ten tokens; the fifth failure leaves five, which is not more than half.
    let (per_call, lump, _, retries) = of("{ throttle = { max_tokens = 10, ratio = 0.1 } }");
    assert_eq!((per_call, lump, retries), (Some(1.0), Some(4.0), 4.0));
}

#[test]
fn nothing_is_promised_where_the_breaker_does_not_hear_of_the_outage() {
    // By hand: what a breaker does not count never opens it, so that no number holds. The callers see a 500 that is not on
    // its list, a timeout of their own in place of the 503, or are killed before either.
    let none = |text: &str| assert_eq!(outage(text).requests, None, "{text}");
    let fuse = breaker("client", "responses", 1);
    let plain = world(&fuse, &format!("{{ guard = \"fuse\" }}, {SDK}"));
    assert!(outage(&plain).requests.is_some());
    none(&plain.replace("status = 503", "status = 500"));
    none(&plain.replace("max_attempts = 3,", "max_attempts = 3, timeout = \"500ms\","));
    none(&plain.replace("workers = 4", "workers = 4\n        queue = { timeout = \"500ms\" }"));
    none(&plain.replace("max_attempts = 3,", "max_attempts = 3, holds_worker = false,"));
    none(&plain.replace(
        "[clients.c]",
        "[interventions.change]\n        at = \"1m\"\n        deploy = \"d\"\n        class = \"job\"\n        [clients.d]\n        layers = []\n        [clients.c]",
    ));
    // One that counts timeouts too hears of it either way.
    let both = plain.replace("of = [503]", "of = [503, \"timeout\"]");
    assert!(outage(&both.replace("max_attempts = 3,", "max_attempts = 3, timeout = \"500ms\",")).requests.is_some());
}

#[test]
fn nobody_waits_before_a_guard_beyond_the_end_of_the_run() {
    // By hand: one request in 100 s; of three callers that come at once the second and the third wait to the end, 10 s each.
    let text = r#"
        horizon = "10s"
        [guards.drip]
        pacer = { counts = "requests", amount = 1, per = "100s" }
        [clients.c]
        layers = [{ guard = "drip" }]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = { at = ["0s", "0s", "0s"] }
        steps = [{ name = "ask", input_tokens = 1, latency = "1s" }]
    "#;
    assert_eq!(Run::of(&read(text), 1).number("guards.drip.waited_s"), 20.0);
}
