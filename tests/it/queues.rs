//! Queues as people run them: time limits of jobs, workers that die, pools that grow with the queue, priorities, and what
//! a file may say about them.

use retrycast::random::Seed;
use retrycast::sim::{Fact, Fate, simulate};

use super::stage::{Run, facts, read, said};

/// A scenario with one class of jobs of 10 s each: what the pool says, what the class says, when jobs come.
fn world(pool: &str, class: &str, arrivals: &str) -> String {
    format!(
        r#"
        horizon = "1000s"
        [clients.plain]
        layers = []
        [clients.again]
        layers = [{{ name = "queue", kind = "queue", max_attempts = 3, retry_on = "any", backoff = {{ fixed = "5s" }} }}]
        [workers.pool]
        {pool}
        [traffic.job]
        kind = "jobs"
        workers = "pool"
        {class}
        arrivals = {{ at = {arrivals} }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
        "#
    )
}

fn run(pool: &str, class: &str, arrivals: &str) -> Run {
    Run::of(&read(&world(pool, class, arrivals)), 1)
}

/// When each task ends, and how.
fn ends(text: &str) -> Vec<(u16, u32, f64, Fate)> {
    let ends = facts(&read(text), 1).into_iter().filter_map(|fact| match fact {
        Fact::TaskEnded { class, task, at, fate } => Some((class, task, at.as_secs_f64(), fate)),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    });
    ends.collect()
}

#[test]
fn a_run_that_takes_too_long_is_killed_and_its_queue_may_run_it_again() {
    // By hand: killed at 4, 13 and 22 s, 5 s apart; the worker is free in between and in the end.
    let killed = run("count = 1", "client = \"again\"\nqueue = { timeout = \"4s\" }", r#"["0s"]"#);
    assert_eq!((killed.count("classes.job.runs"), killed.count("classes.job.delivery.timed_out_runs")), (3, 3));
    assert_eq!((killed.count("classes.job.failed"), killed.count("classes.job.responses.cancelled")), (1, 3));
    assert_eq!((killed.number("workers.pool.busy_s"), killed.number("workers.pool.idle_s")), (12.0, 988.0));
    // An answer at the very last instant is in time.
    let in_time = run("count = 1", "client = \"again\"\nqueue = { timeout = \"10s\" }", r#"["0s"]"#);
    assert_eq!((in_time.count("classes.job.delivered"), in_time.count("classes.job.delivery.timed_out_runs")), (1, 0));
    // Without a layer of kind queue the job has failed; the one behind it begins at once.
    let text = world("count = 1", "client = \"plain\"\nqueue = { timeout = \"4s\" }", r#"["0s", "1s"]"#);
    assert_eq!(ends(&text), [(0, 0, 4.0, Fate::Failed), (0, 1, 8.0, Fate::Failed)]);
}

#[test]
fn a_job_that_waits_too_long_is_dropped_when_its_turn_comes() {
    // By hand: one worker, 10 s a job: the third would begin at 20 and has expired, so that the fourth begins then.
    let text = world("count = 1", "client = \"plain\"\nqueue = { expires = \"15s\" }", r#"["0s", "0s", "0s", "12s"]"#);
    assert_eq!(
        ends(&text),
        [
            (0, 0, 10.0, Fate::Delivered),
            (0, 1, 20.0, Fate::Delivered),
            (0, 2, 20.0, Fate::Abandoned),
            (0, 3, 30.0, Fate::Delivered)
        ]
    );
    let run = Run::of(&read(&text), 1);
    assert_eq!(
        ["delivered", "failed", "abandoned", "unfinished"].map(|key| run.count(&format!("classes.job.{key}"))),
        [3, 0, 1, 0]
    );
}

#[test]
fn a_deadline_ends_a_job_wherever_it_is() {
    // By hand: one worker: the first is done at 10, the second is dropped in its run at 15, the third in the queue; the
    // fourth begins at 15.
    let text = world("count = 1", "client = \"plain\"\nqueue = { deadline = \"15s\" }", r#"["0s", "0s", "0s", "12s"]"#);
    assert_eq!(
        ends(&text),
        [
            (0, 0, 10.0, Fate::Delivered),
            (0, 1, 15.0, Fate::Abandoned),
            (0, 2, 15.0, Fate::Abandoned),
            (0, 3, 25.0, Fate::Delivered)
        ]
    );
    // In the wait between two runs too: killed at 4 s, it would run again at 9 s.
    let waits = world("count = 1", "client = \"again\"\nqueue = { timeout = \"4s\", deadline = \"6s\" }", r#"["0s"]"#);
    assert_eq!(ends(&waits), [(0, 0, 6.0, Fate::Abandoned)]);
    assert_eq!(Run::of(&read(&waits), 1).count("classes.job.runs"), 1);
}

#[test]
fn a_worker_that_dies_loses_what_it_had_acknowledged() {
    // By hand: a worker lives 25 s and is back after 5 s: of six jobs of 10 s, at 0, 10, 20 (killed at 25), 30, 40 and 50
    // (killed at 55).
    let crashes = r#"crashes = { every = "25s", restart = "5s" }"#;
    let jobs = r#"["0s", "0s", "0s", "0s", "0s", "0s"]"#;
    let early = run(&format!("count = 1\n{crashes}"), "client = \"plain\"", jobs);
    let figure = |run: &Run, key: &str| run.count(&format!("classes.job.{key}"));
    assert_eq!(
        ["delivered", "failed", "delivery.lost", "delivery.crashed_runs", "runs"].map(|key| figure(&early, key)),
        [4, 2, 2, 2, 6]
    );
    // Acknowledged late, the message comes back at once, here to the front: 0, 10, 20 (killed), 30, 40, 50 (killed), 60,
    // 70, and two of them twice.
    let late = run(
        &format!("count = 1\n{crashes}"),
        "client = \"plain\"\nqueue = { acknowledge = \"late\", redeliver = \"front\" }",
        jobs,
    );
    assert_eq!(
        ["delivered", "failed", "delivery.lost", "delivery.crashed_runs", "runs"].map(|key| figure(&late, key)),
        [6, 0, 0, 2, 8]
    );
    assert_eq!(late.number("classes.job.latency_s.max"), 80.0);
    // Busy, idle and dead add up: dead from 25 to 30, 55 to 60, …, 985 to 990; 33 times.
    assert_eq!(late.count("workers.pool.crashes"), 33);
    assert_eq!(late.number("workers.pool.down_s"), 165.0);
    assert_eq!(late.number("workers.pool.busy_s") + late.number("workers.pool.idle_s"), 1000.0 - 165.0);
    assert_eq!(late.number("workers.pool.busy_s"), 70.0);
}

#[test]
fn a_stalled_job_is_run_again_once() {
    // BullMQ, measured: with `maxStalledCount` 1 a job that stalls twice has failed, whatever its attempts. By hand: it
    // begins at 0, the worker dies at 4, its lock of 3 s is over at 7 and the check every 5 s sees that at 10; again at
    // 10, and dead at 12 (the worker has lived from 8 to 12).
    let class = r#"client = "again"
        queue = { acknowledge = "late", visibility = "3s", renews = true, look_every = "5s", redeliveries_at_most = 1 }"#;
    let text = world("count = 1\ncrashes = { every = \"4s\", restart = \"4s\" }", class, r#"["0s"]"#);
    assert_eq!(ends(&text), [(0, 0, 15.0, Fate::Failed)]);
    let stalled = Run::of(&read(&text), 1);
    assert_eq!((stalled.count("classes.job.runs"), stalled.count("classes.job.delivery.dead")), (2, 1));
    // A process dies with all of its workers.
    let crashes = "count = 4\nprocesses = 2\ncrashes = { every = \"4s\", restart = \"900s\", of = \"process\" }";
    let both = run(crashes, "client = \"plain\"", r#"["0s", "0s", "0s", "0s"]"#);
    assert_eq!((both.count("classes.job.delivery.lost"), both.count("workers.pool.crashes")), (4, 8));
}

#[test]
fn a_job_that_is_put_back_because_of_a_limit_uses_no_attempt() {
    // BullMQ, measured: 4 moves because of a rate limit, then failures, with `attempts` 2: six begins. Here 429 for 20 s,
    // 500 from then on, 5 s apart: begins at 0, 5, 10 and 15, then 20 and 25.
    let text = |uncounted: &str| {
        format!(
            r#"
            horizon = "1000s"
            [provider.faults.limited]
            window = ["0s", "20s"]
            respond = {{ status = 429, after = "0s" }}
            [provider.faults.broken]
            window = ["20s", "1000s"]
            respond = {{ status = 500, after = "0s" }}
            [clients.bull]
            layers = [{{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any", backoff = {{ fixed = "5s" }}{uncounted} }}]
            [traffic.job]
            kind = "jobs"
            workers = 1
            client = "bull"
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
            "#
        )
    };
    let counted = |uncounted: &str| Run::of(&read(&text(uncounted)), 1).count("classes.job.runs");
    assert_eq!([counted(""), counted(", uncounted = [429]")], [2, 6]);
    // There is no bound then, and without a wait it would go on for ever at one instant.
    let explained = retrycast::explain::explain(&read(&text(", uncounted = [429]")));
    assert_eq!(explained.classes[0].worst.per_task, None);
    let spinning = text(", uncounted = [429]").replace("fixed = \"5s\"", "fixed = \"0s\"");
    assert!(said(&spinning).is_err_and(|faults| faults[0].0.contains("for ever at one instant")));
}

#[test]
fn a_dead_letter_counts_every_receive() {
    // SQS: refused five times by a limit it never passed, and dead all the same; the queue's own attempts have no end.
    let text = r#"
        horizon = "1000s"
        [provider.faults.limited]
        respond = { status = 429, after = "0s" }
        [clients.sqs]
        layers = [{ preset = "sqs" }]
        [traffic.job]
        kind = "jobs"
        workers = 1
        client = "sqs"
        queue = { acknowledge = "late", visibility = "30s", receives_at_most = 5 }
        arrivals = { at = ["0s"] }
        steps = [{ name = "ask", input_tokens = 1, latency = "10s" }]
    "#;
    let run = Run::of(&read(text), 1);
    let count = |key: &str| run.count(&format!("classes.job.{key}"));
    assert_eq!([count("runs"), count("failed"), count("delivery.dead")], [5, 1, 1]);
    assert_eq!(retrycast::explain::explain(&read(text)).classes[0].worst.per_task, Some(5));
}

#[test]
fn the_class_with_the_larger_number_goes_first() {
    let text = |order: &str, urgent: &str| {
        let class = |name: &str, priority: &str| {
            format!(
                r#"
                [traffic.{name}]
                kind = "jobs"
                workers = "pool"
                client = "plain"
                {priority}
                arrivals = {{ at = ["0s", "0s"] }}
                steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
                "#
            )
        };
        format!(
            "horizon = \"1000s\"\n[clients.plain]\nlayers = []\n[workers.pool]\ncount = 1\norder = \"{order}\"\n{}{}",
            class("slow", ""),
            class("urgent", urgent)
        )
    };
    let order = |text: &str| ends(text).iter().map(|(class, task, ..)| (*class, *task)).collect::<Vec<_>>();
    // Both classes come at 0 s, one of each in turn.
    assert_eq!(order(&text("fifo", "")), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    // The first of `slow` has come before anybody else.
    assert_eq!(order(&text("priority", "priority = 5")), [(0, 0), (1, 0), (1, 1), (0, 1)]);
}

#[test]
fn workers_that_are_shared_share_the_guards_of_a_worker() {
    // Two classes, one worker in one process, a breaker of the worker that opens at the first failure: what `bad` did
    // keeps `good` out too.
    let text = |workers: &str| {
        format!(
            r#"
            horizon = "100s"
            [provider.faults.bad]
            respond = {{ status = 500, after = "0s" }}
            by_class = {{ good = 0 }}
            [guards.breaker]
            breaker = {{ counts = "results", of = [500], last = 1, minimum = 1, threshold = "50%", open = "50s", when_open = "reject" }}
            scope = "worker"
            [workers.pool]
            count = 1
            [clients.c]
            layers = [{{ guard = "breaker" }}]
            [traffic.bad]
            kind = "jobs"
            client = "c"
            workers = {workers}
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
            [traffic.good]
            kind = "jobs"
            client = "c"
            workers = {workers}
            arrivals = {{ at = ["10s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
            "#
        )
    };
    let delivered = |workers: &str| Run::of(&read(&text(workers)), 1).count("classes.good.delivered");
    assert_eq!([delivered("1"), delivered("\"pool\"")], [1, 0]);
}

#[test]
fn the_number_of_workers_follows_the_queue() {
    // By hand: one worker; 30 jobs of 10 s at 0 s, one at work, 29 wait. At 30 s three are done and 26 wait: ⌈26 / 10⌉ = 3
    // are wanted, two more start and work from 35 s on. At 60 s six of the first and two times three of the others are
    // taken: 26 − 3 − 6 = 17 wait, two are wanted; fewer for 60 s at every look: at 120 s. By then the queue is empty.
    let pool =
        r#"scale = { from = 1, to = 3, jobs_per_worker = 10, look_every = "30s", down_after = "60s", start = "5s" }"#;
    let jobs = vec!["\"0s\""; 30].join(", ");
    let scenario = read(&world(pool, "client = \"plain\"", &format!("[{jobs}]")));
    let outcome = simulate(&scenario, Seed(1));
    let workers = &outcome.timeline.pools[0].workers;
    let bin = outcome.timeline.bin.as_secs_f64();
    let at = |seconds: f64| workers[(seconds / bin) as usize];
    assert_eq!([at(0.0), at(25.0), at(40.0), at(100.0)], [1, 1, 3, 3]);
    let run = Run::of(&scenario, 1);
    assert_eq!((run.count("workers.pool.most"), run.count("workers.pool.fewest")), (3, 1));
    assert_eq!((run.count("classes.job.delivered"), run.number("workers.pool.busy_s")), (30, 300.0));
    // 1 worker for 1000 s, and two more from 35 s: one of them until 120 s (two are wanted at 60 and 90 s), and the other
    // until 60 s after the first look that wants one alone.
    assert_eq!(*workers.last().unwrap(), 1);
    // Bounds and thresholds alone would keep one worker: 10 jobs or fewer wait.
    let few = run_few(pool);
    assert_eq!(few.count("workers.pool.most"), 1);
}

fn run_few(pool: &str) -> Run {
    run(pool, "client = \"plain\"", r#"["0s", "0s", "0s", "0s"]"#)
}

#[test]
fn whatever_happens_to_workers_the_sums_hold() {
    // Crashes, copies, time limits and retries at once, over ten seeds: every job has one fate, and the pool's time is
    // what its classes did, what was idle and what was dead.
    let mut copies = 0;
    for seed in 0..10 {
        let text = r#"
            horizon = "2h"
            [provider.faults.flaky]
            probability = 0.2
            respond = { status = 503, after = "1s" }
            [clients.c]
            layers = [
              { name = "sdk", max_attempts = 2, retry_on = "any", backoff = { fixed = "2s" }, holds_worker = false, timeout = "40s" },
              { name = "queue", kind = "queue", max_attempts = 3, retry_on = "any", backoff = { fixed = "20s" } },
            ]
            [workers.pool]
            count = 6
            processes = 3
            prefetch = 2
            crashes = { every = { exponential = { mean = "5m" } }, restart = "20s", of = "process" }
            [traffic.early]
            kind = "jobs"
            client = "c"
            workers = "pool"
            queue = { visibility = "25s", look_every = "7s", timeout = "45s", deadline = "10m" }
            arrivals = { poisson = "14/min" }
            steps = [{ name = "a", input_tokens = 1, latency = { exponential = { mean = "10s" } } }]
            [traffic.late]
            kind = "jobs"
            client = "c"
            workers = "pool"
            queue = { acknowledge = "late", visibility = "30s", receives_at_most = 9, expires = "5m", acknowledgement_removes = "all" }
            arrivals = { poisson = "6/min" }
            steps = [
              { name = "a", input_tokens = 1, latency = { exponential = { mean = "10s" } } },
              { name = "b", input_tokens = 1, latency = { exponential = { mean = "5s" } } },
            ]
        "#;
        let run = Run::of(&read(text), seed);
        for class in ["early", "late"] {
            let count = |key: &str| run.count(&format!("classes.{class}.{key}"));
            assert_eq!(
                count("offered"),
                count("delivered") + count("failed") + count("abandoned") + count("unfinished"),
                "{seed}"
            );
            assert!(count("unfinished") < count("offered") / 4, "{seed} {class}: {}", count("unfinished"));
            let answers =
                ["200", "503", "timeout", "dropped", "cancelled"].map(|kind| count(&format!("responses.{kind}")));
            let open = count("requests") - answers.iter().sum::<u64>();
            assert!(open <= 6 + 2, "{seed} {class}: {open} requests are under way");
            assert!(count("delivery.crashed_runs") > 0, "{seed} {class}");
            copies += count("delivery.copies").min(1);
        }
        let number = |key: &str| run.number(&format!("workers.pool.{key}"));
        let all = number("busy_s") + number("idle_s") + number("down_s");
        assert!((all - 6.0 * 7200.0).abs() < 1.0, "{seed}: {all}");
        assert_eq!(simulate(&read(text), Seed(seed)).digest, simulate(&read(text), Seed(seed)).digest);
    }
    // Nearly every run of either class has some.
    assert!(copies >= 15, "{copies}");
}

/// The faults of a world, each with its hint.
fn faults(pool: &str, class: &str) -> Vec<(String, String)> {
    said(&world(pool, class, r#"["0s"]"#)).err().unwrap_or_default()
}

#[test]
fn what_means_nothing_is_refused_with_a_remedy() {
    let first = |pool: &str, class: &str| {
        faults(pool, &format!("client = \"plain\"\n{class}")).into_iter().next().unwrap_or_default()
    };
    let cases = [
        (first("count = 2", "priority = 3"), "`pool` does not look at priorities"),
        (first("count = 2", "processes = 2"), "the pool says how its workers are spread"),
        (first("processes = 2", ""), "lacks the key `count`"),
        (first("count = 2\nprocesses = 3", ""), "must be at most the number of workers"),
        (first("count = 2\nscale = { from = 1, to = 3, jobs_per_worker = 1 }", ""), "stands beside `scale`"),
        (first("scale = { from = 4, to = 3, jobs_per_worker = 1 }", ""), "must be `from` or more"),
        (first("count = 2\ncrashes = { every = \"1ms\" }", ""), "must be a second or more on average"),
        (first("count = 2\norder = \"lifo\"", ""), "is none of the known words"),
        (first("count = 2", "queue = { visibility = \"3s\" }"), "means nothing here"),
        (first("count = 2", "queue = { acknowledge = \"late\", look_every = \"3s\" }"), "means nothing here"),
        (first("count = 2", "queue = { acknowledge = \"late\", redeliver = \"front\" }"), "means nothing here"),
        (
            first("count = 2", "queue = { acknowledge = \"late\", visibility = \"3s\", first_look = \"1s\" }"),
            "there are no looks",
        ),
        (
            first("count = 2", "queue = { acknowledge = \"late\", visibility = \"3s\", renews = true }"),
            "no worker dies",
        ),
        (first("count = 2", "queue = { visibilty = \"3s\" }"), "unknown key"),
        (first("count = 2", "queue = { timeout = \"0s\" }"), "must be"),
    ];
    for ((message, hint), expected) in &cases {
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(!hint.is_empty() || message.starts_with("must be"), "{message}");
    }
    // A pool that is not there, the nearest name, and turns.
    let text = world("count = 2", "client = \"plain\"", r#"["0s"]"#);
    let near = said(&text.replace("workers = \"pool\"", "workers = \"pol\"")).err().unwrap_or_default();
    assert_eq!(
        near,
        [("no pool of workers has this name".to_owned(), "pools are `pool`; did you mean `pool`?".to_owned())]
    );
    // A number may be written as a text, as anywhere.
    assert!(said(&text.replace("workers = \"pool\"", "workers = \"8\"")).is_ok());
    let turns = said(&text.replace("kind = \"jobs\"", "kind = \"turns\"")).err().unwrap_or_default();
    assert_eq!(turns[0].0, "only jobs wait for workers; this class has turns");
    let outside = said(&text.replace("kind = \"queue\", max_attempts", "uncounted = [429], max_attempts"))
        .err()
        .unwrap_or_default();
    assert_eq!(outside[0].0, "only a queue puts jobs back without using an attempt");
}

#[test]
fn who_is_killed_while_it_connects_has_sent_nothing() {
    // The connection would stand at 1.5 s; the run is killed at 1 s.
    let text = world("count = 1", "client = \"plain\"\nqueue = { timeout = \"1s\" }", r#"["0s"]"#);
    let text = text.replace("latency = \"10s\"", "latency = \"4s\", connect = \"1500ms\"");
    let prices = "[provider.prices]\nrequest = 1\ninput = 3\noutput = 15\n";
    for servers in ["", "[provider.capacity]\nservers = 1\n"] {
        let run = Run::of(&read(&format!("{text}{servers}{prices}")), 1);
        let numbers = ["effects", "server_s", "wasted_server_s", "bill.total"];
        assert_eq!(numbers.map(|key| run.number(&format!("classes.job.{key}"))), [0.0; 4], "{servers}");
    }
}

#[test]
fn a_pool_that_looks_too_often_is_refused() {
    let scale = "scale = { from = 1, to = 2, jobs_per_worker = 1, look_every = \"1us\" }";
    let faults = said(&world(scale, "client = \"plain\"", r#"["0s"]"#)).unwrap_err();
    assert_eq!(faults[0].0, "is too often: the run has more than 10000000 of them");
}
