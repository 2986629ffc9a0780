//! Classes that share workers, and messages that are handed out again while their first run goes on.

use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use retrycast::sim::{Fact, Fate, simulate};

use super::super::stage::{Run, facts, read};

/// Four workers and one queue: four jobs of a provider that asks everybody to come back in 60 s, for ever, and one job
/// a second of a healthy one that answers in 1 s.
fn starving(holds_worker: bool) -> Scenario {
    read(&format!(
        r#"
        horizon = "11m"
        [provider.faults.refuses]
        respond = {{ status = 429, after = "0s", retry_after = "60s" }}
        by_class = {{ b = 0 }}
        [clients.patient]
        layers = [{{ name = "sdk", max_attempts = 3, retry_on = "any", hint = "obey", holds_worker = {holds_worker} }}]
        [workers.shared]
        count = 4
        [traffic.a]
        kind = "jobs"
        client = "patient"
        workers = "shared"
        arrivals = {{ at = ["0s", "0s", "0s", "0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
        [traffic.b]
        kind = "jobs"
        client = "patient"
        workers = "shared"
        arrivals = {{ every = "1s", from = "500ms", until = "600s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
        "#
    ))
}

#[test]
fn workers_that_sleep_on_one_provider_starve_the_jobs_of_another() {
    // By hand: requests of `a` at 0, 60 and 120; no job of `b` begins before 120, so that the first takes 119.5 + 1 s;
    // 120 wait then, and 4 − 1 = 3 of them a second are made up for.
    let held = starving(true);
    let facts = facts(&held, 1);
    let sent: Vec<f64> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::RequestEnded { class: 0, sent, .. } => Some(sent.as_secs_f64()),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [[0.0; 4], [60.0; 4], [120.0; 4]].concat());
    let ends = facts.iter().filter_map(|fact| match fact {
        Fact::TaskEnded { class: 1, task, at, fate: Fate::Delivered } => Some((*task, at.as_secs_f64())),
        _ => None,
    });
    let took: Vec<f64> = ends.map(|(task, at)| at - 0.5 - f64::from(task)).collect();
    assert_eq!((took.len(), took[0]), (600, 120.5));
    assert!(took[160..].iter().all(|took| *took == 1.0));
    let run = Run::of(&held, 1);
    assert_eq!((run.number("classes.b.latency_s.mean") * 100.0).round(), 1687.0);
    // Given back and queued again at the due time, the workers are always free for `b`.
    let free = Run::of(&starving(false), 1);
    assert_eq!([run.count("classes.a.requests"), free.count("classes.a.requests")], [12, 12]);
    assert_eq!([free.number("classes.b.latency_s.mean"), free.number("classes.b.latency_s.max")], [1.0, 1.0]);
}

#[test]
fn the_time_of_shared_workers_adds_up() {
    // By hand: four workers for 660 s; `a` sleeps 4 · 120 s on them, `b` is served 600 · 1 s.
    let run = Run::of(&starving(true), 1);
    assert_eq!(run.number("classes.a.worker_time_s.waiting_retry"), 480.0);
    assert_eq!(run.number("classes.b.worker_time_s.serving"), 600.0);
    assert_eq!(run.number("workers.shared.busy_s"), 1_080.0);
    assert_eq!(run.number("workers.shared.idle_s"), 4.0 * 660.0 - 1_080.0);
    let outcome = simulate(&starving(true), Seed(1));
    let queued: Vec<Option<u32>> =
        outcome.timeline.classes.iter().map(|class| class.queue.iter().copied().max()).collect();
    assert_eq!(queued, [Some(0), Some(120)]);
}

/// One job of 1,000 s, late acknowledgement and a visibility timeout, to 10,000 s.
fn redelivered(workers: u32, queue: &str) -> Run {
    Run::of(
        &read(&format!(
            r#"
            horizon = "10000s"
            clients.plain.layers = []
            [traffic.job]
            kind = "jobs"
            client = "plain"
            workers = {workers}
            queue = {{ acknowledge = "late", {queue} }}
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "1000s" }}]
            "#
        )),
        1,
    )
}

/// Runs, those of them that decided nothing, the most at once, and copies that are left at the end.
fn copies(run: &Run) -> [u64; 4] {
    let count = |key: &str| run.count(&format!("classes.job.delivery.{key}"));
    [run.count("classes.job.runs"), count("wasted_runs"), count("most_copies"), count("copies_left")]
}

#[test]
fn a_job_that_outlives_its_visibility_is_done_by_every_idle_worker() {
    // By hand: copies begin at 0, 300, 600 and 900; the first ends at 1,000, and what is handed out is acknowledged.
    let many = redelivered(10, r#"visibility = "300s""#);
    assert_eq!(copies(&many), [4, 3, 4, 0]);
    assert_eq!((many.count("classes.job.delivered"), many.number("classes.job.latency_s.max")), (1, 1_000.0));
    assert_eq!([many.count("classes.job.effects"), many.count("classes.job.repeated_effects")], [4, 3]);
    assert_eq!([many.count("classes.job.requests"), many.count("classes.job.max_requests_per_task")], [4, 4]);
    let patient = redelivered(10, r#"visibility = "3600s""#);
    assert_eq!(copies(&patient), [1, 0, 1, 0]);
}

#[test]
fn a_copy_that_waits_behind_its_own_first_run_never_ends() {
    // By hand: the copy that was put back at 300 waits until the first ends at 1,000 and runs then, and so on: ten
    // begin before 10,000 s, nine of them end, and one more waits behind the tenth.
    let one = redelivered(1, r#"visibility = "300s""#);
    assert_eq!(copies(&one), [10, 8, 1, 2]);
    assert_eq!((one.count("classes.job.delivered"), one.number("classes.job.latency_s.max")), (1, 1_000.0));
    // Where the acknowledgement takes it out of the queue, nothing is left.
    let removed = redelivered(1, r#"visibility = "300s", acknowledgement_removes = "all""#);
    assert_eq!(copies(&removed), [1, 0, 1, 0]);
    // Three receives and no more: at 300 and at 1,300 it is put back, at 2,300 no longer.
    let bounded = redelivered(1, r#"visibility = "300s", receives_at_most = 3"#);
    assert_eq!(copies(&bounded), [3, 2, 1, 0]);
}

/// What Celery 5.7 does on Redis with a visibility timeout of 3 s, measured: when each run begins, to a tenth of a
/// second, counted from the first. `every` is the time between two looks for overdue messages, `first` the first one.
fn celery(workers: &str, queue: &str, jobs: usize, seconds: &str, horizon: &str) -> Vec<(u32, f64)> {
    let arrivals = vec!["\"0s\""; jobs].join(", ");
    let text = format!(
        r#"
        horizon = "{horizon}"
        clients.plain.layers = []
        workers.pool = {{ {workers} }}
        [traffic.job]
        kind = "jobs"
        client = "plain"
        workers = "pool"
        queue = {{ {queue}, visibility = "3s", redeliver = "front" }}
        arrivals = {{ at = [{arrivals}] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "{seconds}" }}]
        "#
    );
    let sent = facts(&read(&text), 1).into_iter().filter_map(|fact| match fact {
        Fact::RequestEnded { task, sent, .. } => Some((task, (sent.as_secs_f64() * 10.0).round() / 10.0)),
        _ => None,
    });
    let mut sent: Vec<(u32, f64)> = sent.collect();
    sent.sort_by(|a, b| a.1.total_cmp(&b.1));
    sent
}

fn begins(runs: &[(u32, f64)]) -> Vec<f64> {
    runs.iter().map(|(_, at)| *at).collect()
}

#[test]
fn late_acknowledgement_on_redis_runs_jobs_again_as_measured() {
    // Looks come every second; measured from the first begin: one worker runs it back to back for ever.
    let late = |look: &str| format!(r#"acknowledge = "late", {look}"#);
    let one = celery("count = 1", &late(r#"look_every = "1s""#), 1, "10s", "71s");
    assert_eq!(begins(&one), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    // Two workers: measured begins at 0, 3.2, 10.0, 13.2 and 20.0, and no more: a look came just before the run ended that
    // began at 3.2, and none just before the one that began at 13.2. Looks 0.985 s apart do that, in the measurement's
    // precision of 0.1 s.
    let two = celery("count = 2", &late(r#"look_every = "985ms", first_look = "245ms""#), 1, "10s", "71s");
    assert_eq!(begins(&two), [0.0, 3.2, 10.0, 13.2, 20.0]);
    // Three workers and 20 s: measured 0, 3.2, 6.2 and 20.0.
    let three = celery("count = 3", &late(r#"look_every = "1s", first_look = "200ms""#), 1, "20s", "100s");
    assert_eq!(begins(&three), [0.0, 3.2, 6.2, 20.0]);
    // One worker process with four slots, each with one message ahead: measured 0, 3.7, 6.7, 9.8, 20.0, 23.7, 26.7.
    let slots = late(r#"look_every = "1s", first_look = "700ms""#);
    let four = celery("count = 4, prefetch = 1", &slots, 1, "20s", "100s");
    assert_eq!(begins(&four), [0.0, 3.7, 6.7, 9.7, 20.0, 23.7, 26.7]);
    // Its default looks every 100 s: 10 s of work are done once, of 120 s a second run begins 88.2 s after the first.
    let looks = late(r#"look_every = "100s", first_look = "88.2s""#);
    assert_eq!(begins(&celery("count = 2", &looks, 1, "10s", "150s")), [0.0]);
    assert_eq!(begins(&celery("count = 2", &looks, 1, "120s", "300s")), [0.0, 88.2]);
}

#[test]
fn early_acknowledgement_does_not_help_what_waits_in_a_worker() {
    // Four jobs of 8 s, a worker with four messages ahead, looks every second: the one that begins at once is
    // acknowledged and runs once; the worker is never without a copy of the others, measured for 90 s.
    let ahead = r#"acknowledge = "early", look_every = "1s", first_look = "100ms""#;
    let runs = celery("count = 1, prefetch = 4", ahead, 4, "8s", "96s");
    assert_eq!(begins(&runs), (0..11).map(|n| f64::from(n) * 8.0).collect::<Vec<_>>());
    let of = |job| runs.iter().filter(|(task, _)| *task == job).count();
    assert_eq!(of(0), 1);
    assert!([1, 2, 3].map(of).iter().all(|runs| *runs >= 2));
    // Without a message ahead nothing waits in the worker, and every job runs once.
    let one = celery("count = 1, prefetch = 4", r#"acknowledge = "late", look_every = "100s""#, 4, "8s", "96s");
    assert_eq!(begins(&one), [0.0, 8.0, 16.0, 24.0]);
}

#[test]
fn a_countdown_that_a_worker_holds_is_handed_out_again_until_it_is_over() {
    // Measured with looks every second: a countdown of 15 s on one worker is 5 runs of 1 s, back to back, one of 25 s on
    // two workers 9 runs; all begin when the countdown is over. By hand: handed out at 0, 3.2, 6.2, 9.2, 12.2, ….
    let runs = |workers: &str, countdown: &str, delays: &str| {
        let text = format!(
            r#"
            horizon = "100s"
            clients.plain.layers = []
            workers.pool = {{ {workers}, prefetch = 1 }}
            [traffic.job]
            kind = "jobs"
            client = "plain"
            workers = "pool"
            enqueue_delay = "{countdown}"
            queue = {{ visibility = "3s", redeliver = "front", look_every = "1s", first_look = "200ms", delays = "{delays}" }}
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
            "#
        );
        let sent = facts(&read(&text), 1).into_iter().filter_map(|fact| match fact {
            Fact::RequestEnded { sent, .. } => Some(sent.as_secs_f64()),
            _ => None,
        });
        sent.collect::<Vec<f64>>()
    };
    assert_eq!(runs("count = 1", "15s", "worker"), [15.0, 16.0, 17.0, 18.0, 19.0]);
    let two = runs("count = 2, processes = 2", "25s", "worker");
    assert_eq!((two.len(), two[0]), (9, 25.0));
    assert_eq!(runs("count = 1", "15s", "queue"), [15.0]);
}
