//! Who waits for workers that sleep, and who is left with nothing.

use retrycast::random::Seed;
use retrycast::sim::{Fact, simulate};

use super::super::stage::{Run, facts, read};

/// When each of six jobs sends its first request, in seconds: four come at once and two soon after, to four workers and
/// a provider that asks everybody to come back in 60 s, for ever.
fn first_requests(holds_worker: bool) -> Vec<f64> {
    let text = format!(
        r#"
        horizon = "30m"
        [provider.faults.refuses]
        respond = {{ status = 503, after = "0s", retry_after = "60s" }}
        [clients.patient]
        layers = [{{ name = "sdk", max_attempts = 3, retry_on = "any", hint = "obey", holds_worker = {holds_worker} }}]
        [traffic.job]
        kind = "jobs"
        client = "patient"
        workers = 4
        arrivals = {{ at = ["0s", "0s", "0s", "0s", "500ms", "1500ms"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
        "#
    );
    let facts = facts(&read(&text), 1);
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::RequestEnded { .. })).count(), 6 * 3);
    let first = |job| {
        facts.iter().find_map(|fact| match fact {
            Fact::RequestEnded { task, sent, ordinal: 1, .. } if *task == job => Some(sent.as_secs_f64()),
            Fact::RequestEnded { .. } | Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        })
    };
    (0..6).filter_map(first).collect()
}

#[test]
fn a_job_that_finds_a_free_worker_has_never_been_in_the_queue() {
    // Four workers, 20 s a job: of six jobs two wait, and nobody does who is served at once.
    let queue = |arrivals: &str| {
        let text = format!(
            r#"
            horizon = "10m"
            clients.plain.layers = []
            [traffic.job]
            kind = "jobs"
            client = "plain"
            workers = 4
            arrivals = {{ at = {arrivals} }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "20s" }}]
            "#
        );
        simulate(&read(&text), Seed(1)).timeline.classes[0].queue.iter().copied().max()
    };
    assert_eq!(queue(r#"["0s", "0s", "0s", "0s"]"#), Some(0));
    assert_eq!(queue(r#"["0s", "0s", "0s", "0s", "0s", "1s"]"#), Some(2));
    // The fifth comes when the first four end.
    assert_eq!(queue(r#"["0s", "0s", "0s", "0s", "20s"]"#), Some(0));
}

#[test]
fn a_wait_that_keeps_its_worker_starves_the_queue_behind_it() {
    // Three attempts, 60 s apart: workers that sleep on the job are free at 120 s, others are free at once.
    assert_eq!(first_requests(true), [0.0, 0.0, 0.0, 0.0, 120.0, 120.0]);
    assert_eq!(first_requests(false), [0.0, 0.0, 0.0, 0.0, 0.5, 1.5]);
}

/// A bucket of 10 that refills with one a second; 42 batch workers that try at every whole second, and one live turn
/// every two seconds.
fn backfill(batch: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        [provider.limits.limit]
        counts = "requests"
        amount = 1
        per = "1s"
        capacity = "10s"
        refuse = {{ status = 429, after = "0s", hint = "none" }}
        [clients.live]
        layers = []
        [clients.batch]
        layers = [{{ name = "again", max_attempts = "unlimited", retry_on = "any", backoff = {{ fixed = "1s" }} }}]
        [traffic.batch]
        {batch}
        client = "batch"
        steps = [{{ name = "fill", input_tokens = 1, latency = "0s" }}]
        [traffic.live]
        kind = "turns"
        client = "live"
        arrivals = {{ every = "2s", from = "250ms" }}
        steps = [{{ name = "turn", input_tokens = 1, latency = "0s" }}]
        "#
    );
    Run::of(&read(&text), 1)
}

#[test]
fn a_backfill_takes_every_token_as_it_appears_and_a_paced_one_leaves_room() {
    let instants = vec![r#""0s""#; 1_991].join(", ");
    let greedy = backfill(&format!("kind = \"turns\"\narrivals = {{ at = [{instants}] }}"));
    // Ten at once, then one at each of the 599 whole seconds; live turns come between them and find nothing.
    assert_eq!(greedy.count("classes.batch.delivered"), 609);
    assert_eq!(greedy.count("classes.live.tasks_with_429"), 300);
    // One every two seconds at odd seconds: half for each.
    let paced = backfill("kind = \"turns\"\narrivals = { every = \"2s\", from = \"1s\" }");
    assert_eq!(paced.count("classes.live.tasks_with_429"), 0);
    assert_eq!(paced.count("classes.batch.requests"), 300);
}
