//! A quota of retries bounds a full outage, and how much depends on what a retry costs and on who shares the quota.

use super::super::stage::{Run, read};

/// A thousand calls one after the other, each of three attempts at most; `failing` says how long all of them fail.
fn run(cost: u32, scope: &str, processes: u32, failing: &str) -> Run {
    let text = format!(
        r#"
        horizon = "3000s"
        [provider.faults.outage]
        {failing}
        respond = {{ status = 503, after = "0s" }}
        [clients.app]
        layers = [{{ name = "sdk", max_attempts = 3, retry_on = [503], backoff = {{ fixed = "1ms" }}, budget = {{ quota = {{ capacity = 500, cost = {cost}, refund = 1, retried_refund = 1 }}, scope = "{scope}" }} }}]
        [traffic.turn]
        kind = "turns"
        client = "app"
        processes = {processes}
        arrivals = {{ every = "1s", until = "1000s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#
    );
    Run::of(&read(&text), 1)
}

#[test]
fn retries_of_an_outage_are_what_the_quota_pays_for() {
    // By hand: 500 tokens pay for 100, 50 and 35 retries; of the last quota 10 tokens are left over. Without it 3,000.
    let always = r#"window = ["0s", "3000s"]"#;
    for (cost, attempts) in [(5, 1_100), (10, 1_050), (14, 1_035)] {
        assert_eq!(run(cost, "client", 1, always).count("classes.turn.requests"), attempts, "{cost}");
    }
    // One quota for all processes pays for as many; one for each of four for four times as many.
    assert_eq!(run(5, "client", 4, always).count("classes.turn.requests"), 1_100);
    assert_eq!(run(5, "process", 4, always).count("classes.turn.requests"), 1_400);
}

#[test]
fn a_quota_that_is_empty_comes_back_one_token_for_each_success_and_no_further_than_full() {
    // By hand: the quota is empty after 50 calls of two retries each. 100 calls later the outage is over; 7 calls succeed
    // at their first try and give 7 tokens, and two failures then can pay for one retry of 5 between them.
    let again = r#"windows = [["0s", "150s"], ["157s", "159s"]]"#;
    assert_eq!(run(5, "client", 1, again).count("classes.turn.requests"), 1_000 + 100 + 1);
    // Five hundred successes and more do not make more of it than it holds: the next outage has a hundred retries again.
    let late = r#"windows = [["0s", "150s"], ["850s", "950s"]]"#;
    assert_eq!(run(5, "client", 1, late).count("classes.turn.requests"), 1_000 + 100 + 100);
}
