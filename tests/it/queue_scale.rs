//! Pools that take messages ahead and follow the queue, by hand.

use super::stage::{Run, read};

#[test]
fn what_a_process_took_ahead_comes_back_when_its_last_worker_goes() {
    // Eight jobs of 10 s, each process takes three messages ahead for each of its workers. At 0 s the first worker has job
    // 1 and its process 2, 3 and 4. At the look of 10 s it has 2 and the process 3, 4 and 5, three wait, and a second
    // worker begins in a process of its own: it has 6, the process 7 and 8. At 20 s they have 3 and 7, nobody waits, and
    // one worker is to go: the first that is free at 30 s. Its process gives 4 and 5 back, and the other takes them behind
    // 8: they end at 40, 50 and 60 s.
    let text = |prefetch: &str| {
        format!(
            r#"
            horizon = "200s"
            [clients.plain]
            layers = []
            [workers.pool]
            processes = 2
            {prefetch}
            scale = {{ from = 1, to = 2, jobs_per_worker = 2, look_every = "10s", down_after = "0s" }}
            [traffic.job]
            kind = "jobs"
            workers = "pool"
            client = "plain"
            arrivals = {{ at = ["0s", "0s", "0s", "0s", "0s", "0s", "0s", "0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
            "#
        )
    };
    let run = Run::of(&read(&text("prefetch = 3")), 1);
    assert_eq!((run.count("classes.job.delivered"), run.count("classes.job.runs")), (8, 8));
    assert_eq!(run.count("classes.job.delivery.redelivered"), 2);
    assert_eq!(run.number("classes.job.latency_s.max"), 60.0);
    assert_eq!(["most", "fewest"].map(|key| run.count(&format!("workers.pool.{key}"))), [2, 1]);
    // The second worker is there from 10 s on, the first until 30 s.
    assert_eq!((run.number("workers.pool.busy_s"), run.number("workers.pool.idle_s")), (80.0, 140.0));
    // Who takes nothing ahead leaves nothing behind.
    let plain = Run::of(&read(&text("")), 1);
    assert_eq!(plain.count("classes.job.delivered"), 8);
}

#[test]
fn a_worker_that_dies_keeps_the_room_of_its_process() {
    // A pool whose number is fixed and one that may not change it do the same, deaths included.
    let text = |number: &str| {
        format!(
            r#"
            horizon = "2000s"
            [clients.plain]
            layers = []
            [workers.pool]
            {number}
            processes = 3
            prefetch = 2
            crashes = {{ every = {{ exponential = {{ mean = "100s" }} }}, restart = "20s", of = "process" }}
            [traffic.job]
            kind = "jobs"
            workers = "pool"
            client = "plain"
            queue = {{ acknowledge = "late", visibility = "60s" }}
            arrivals = {{ poisson = "20/min" }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
            "#
        )
    };
    let fixed = read(&text("count = 5"));
    let scaled = read(&text("scale = { from = 5, to = 5, jobs_per_worker = 1 }"));
    let digest = |scenario| retrycast::sim::simulate(scenario, retrycast::random::Seed(1)).digest;
    assert_eq!(digest(&fixed), digest(&scaled));
}
