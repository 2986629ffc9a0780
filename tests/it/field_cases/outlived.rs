//! The outage that outlives its cause: a server stands still for ten seconds, and afterwards every request waits longer
//! than its caller.

use retrycast::sim::Fact;

use retrycast::explain::{Code, explain};

use super::super::stage::{Run, facts, read, shipped};

/// One server, 0.1 s a request, frozen from 60 s to 70 s; a turn every so often, or at random, until 600 s.
fn frozen(arrivals: &str, provider: &str, layer: &str) -> String {
    format!(
        r#"
        horizon = "3000s"
        [provider]
        {provider}
        [provider.capacity]
        servers = 1
        [provider.faults.freeze]
        window = ["60s", "70s"]
        speed = 0
        [phases]
        late = {{ from = "100s", until = "600s" }}
        [clients.caller]
        layers = [{{ name = "sdk", retry_on = ["timeout"], timeout = "1s", {layer} }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {{ {arrivals}, until = "600s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "100ms" }}]
        "#
    )
}

const EIGHT: &str = r#"every = "125ms""#;
const THREE: &str = "max_attempts = 3";

/// A shared budget of ten retries into which each call pays so many hundredths of one.
fn budgeted(hundredths: u32) -> String {
    let quota = "capacity = 1000, cost = 100, refund = 0, retried_refund = 0";
    format!("max_attempts = 3, budget = {{ quota = {{ {quota}, deposit = {hundredths} }} }}")
}

/// The arrival of the last task that failed, in seconds: from then on it is healthy.
fn last_failure(text: &str) -> f64 {
    let mut arrived = std::collections::BTreeMap::new();
    let mut last = 0.0;
    for fact in facts(&read(text), 1) {
        match fact {
            Fact::TaskArrived { task, at, .. } => {
                arrived.insert(task, at.as_secs_f64());
            }
            Fact::TaskEnded { task, fate: retrycast::sim::Fate::Failed, .. } => last = f64::max(last, arrived[&task]),
            Fact::TaskEnded { .. } | Fact::RequestEnded { .. } => {}
        }
    }
    last
}

/// By hand: 8 a second with 3 tries each are 24, more than the 10 that the server does, so it stays stuck. 480 turns come
/// before the freeze and take one request, the other 4,320 take three.
#[test]
fn three_tries_of_eight_a_second_keep_a_server_stuck_that_does_ten() {
    let run = Run::of(&read(&frozen(EIGHT, "", THREE)), 1);
    assert_eq!(run.count("classes.turn.offered"), 4_800);
    assert_eq!(run.count("classes.turn.requests"), 480 + 3 * 4_320);
    assert_eq!(run.number("classes.turn.amplification"), 2.8);
    assert_eq!(run.count("phases.late.classes.turn.delivered"), 0);
}

/// The queue empties where the server looks who still waits; where it only sees that in the queue and finishes what it
/// has begun, it may stay stuck.
#[test]
fn a_server_that_drops_what_nobody_waits_for_recovers() {
    for seed in 1..=5 {
        let text = frozen(r#"poisson = "8/s""#, r#"abandoned = "cancelled""#, THREE);
        let run = Run::of(&read(&text), seed);
        let late = |key: &str| run.number(&format!("phases.late.classes.turn.{key}"));
        assert!(late("delivered") / late("offered") >= 0.9, "seed {seed}: {}", late("delivered") / late("offered"));
    }
    let text = frozen(r#"poisson = "8/s""#, r#"abandoned = "dequeued""#, THREE);
    let share = |seed| {
        let run = Run::of(&read(&text), seed);
        run.number("phases.late.classes.turn.delivered") / run.number("phases.late.classes.turn.offered")
    };
    // Measured by an independent script: 30 to 95 %, another draw for each seed.
    let shares: Vec<f64> = (1..=8).map(share).collect();
    assert!(shares.iter().all(|share| (0.2..0.99).contains(share)), "{shares:?}");
}

/// 3 a second with 3 tries are 9, fewer than the server does: healthy by 120 s to 170 s.
#[test]
fn fewer_requests_than_the_server_does_recover() {
    let healthy = last_failure(&frozen(r#"every = "333333333ns""#, "", THREE));
    assert!((110.0..=170.0).contains(&healthy), "{healthy}");
    // Without retries the backlog of 80 drains at 2 a second: (80 − 10) / 2 = 35 s after the thaw.
    let healthy = last_failure(&frozen(EIGHT, "", "max_attempts = 1"));
    assert!((103.0..=107.0).contains(&healthy), "{healthy}");
}

/// The threshold of the budget is µ / λ − 1 = 0.25 retries a call.
#[test]
fn a_shared_budget_decides_whether_the_outage_ends() {
    let healthy = |hundredths| last_failure(&frozen(EIGHT, "", &budgeted(hundredths)));
    let (tenth, fifth, more) = (healthy(10), healthy(20), healthy(30));
    assert!((120.0..=150.0).contains(&tenth), "{tenth}");
    assert!((280.0..=315.0).contains(&fifth), "{fifth}");
    assert!(more > 590.0, "{more}");
}

/// What `explain` says to set lets the outage of the shipped scenario end.
#[test]
fn the_budget_that_explain_advises_ends_the_outage() {
    let stuck = |sets: &[&str]| {
        let run = Run::of(&shipped("metastable", "retries", sets), 1);
        run.number("capacity.stuck")
    };
    let warnings = explain(&shipped("metastable", "retries", &[])).warnings;
    let warned = warnings.iter().find(|warning| warning.code == Code::OverloadOutlivesCause).unwrap();
    let set = warned.hint.trim_start_matches("set `").trim_end_matches('`').replacen(" = ", "=", 1);
    assert_eq!((stuck(&[]), stuck(&[&set])), (1.0, 0.0));
}

/// By hand: 80 wait when the server goes on and two a second less come than it does, so that its queue is as short as
/// before, or empty, 40 s later; by then everybody is answered.
#[test]
fn a_run_has_not_recovered_while_requests_wait_for_a_server() {
    let run = Run::of(&shipped("metastable", "once", &[]), 1);
    let recovered = run.number("recovery.total_s");
    assert!((35.0..=45.0).contains(&recovered), "{recovered}");
}
