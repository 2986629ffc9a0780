//! The queues of job libraries in their own words: each is its general keys, and what it does to a job whose worker dies.

use retrycast::preset::queues::{QUEUES, find};
use retrycast::scenario::{Refusal, Source, load};
use retrycast::traffic::Delivery;

use super::stage::{Run, read};

/// A job of 10 s with this queue, in a pool that says more.
fn world(pool: &str, queue: &str) -> String {
    format!(
        r#"
        horizon = "10000s"
        [clients.plain]
        layers = []
        [workers.pool]
        {pool}
        [traffic.job]
        kind = "jobs"
        workers = "pool"
        client = "plain"
        arrivals = {{ at = ["0s"] }}
        queue = {{ {queue} }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
        "#
    )
}

/// Everything that a queue can say means something here.
const POOL: &str = "count = 2\nprefetch = 1\nprocesses = 2\ncrashes = { every = \"1000000s\" }\n";

fn delivery(queue: &str) -> Delivery {
    *read(&world(POOL, queue)).traffic[0].queueing.delivery.clone().unwrap()
}

/// What one of them needs that has no default.
fn needed(family: &str) -> (&'static str, &'static str) {
    match family {
        "temporal" => (", StartToCloseTimeout = \"1m\"", ", timeout = \"1m\", visibility = \"1m\""),
        _ => ("", ""),
    }
}

#[test]
fn a_queue_is_its_general_keys_and_its_spelled_out_defaults() {
    for family in QUEUES.each_ref().map(|queue| queue.family) {
        let (words, general) = needed(family.word);
        let name = format!("preset = \"{}\"{words}", family.word);
        let plain = delivery(&name);
        let keys = find(family.word).unwrap().keys().trim_end().replace('\n', ", ");
        assert_eq!(plain, delivery(&format!("{keys}{general}")), "{}", family.word);
        for (word, _) in family.glossary() {
            if let Some(default) = word.default() {
                let said = delivery(&format!("{name}, {} = {default}", word.word));
                assert_eq!(said, plain, "{} {} = {default}", family.word, word.word);
            }
        }
    }
}

#[test]
fn words_mean_what_their_libraries_say() {
    let same = |words: &str, general: &str| assert_eq!(delivery(words), delivery(general), "{words}");
    // The look of a Redis transport comes every interval times throttle, the first after one interval.
    same(
        r#"preset = "celery-redis", task_acks_late = true, visibility_timeout = "2h", unacked_restore_interval = "5s", unacked_restore_throttle = 4"#,
        r#"acknowledge = "late", visibility = "2h", look_every = "20s", first_look = "5s", redeliver = "front", delays = "worker""#,
    );
    // The key of a job in progress lives 10 s longer than the job may.
    same(
        r#"preset = "arq", job_timeout = "1m", max_tries = 2"#,
        r#"acknowledge = "late", visibility = "70s", timeout = "1m", redeliver = "front", acknowledgement_removes = "all", receives_at_most = 2"#,
    );
    same(
        r#"preset = "bullmq", skipLockRenewal = true, maxStalledCount = 0"#,
        r#"acknowledge = "late", visibility = "30s", look_every = "30s", redeliver = "front", redeliveries_at_most = 0"#,
    );
    // A heartbeat is renewed, the time of one try is not.
    same(
        r#"preset = "temporal", StartToCloseTimeout = "10m", HeartbeatTimeout = "20s", ScheduleToCloseTimeout = "1h""#,
        r#"acknowledge = "late", acknowledgement_removes = "all", timeout = "10m", visibility = "20s", renews = true, deadline = "1h""#,
    );
    same(
        r#"preset = "temporal", StartToCloseTimeout = "10m""#,
        r#"acknowledge = "late", acknowledgement_removes = "all", timeout = "10m", visibility = "10m""#,
    );
    // A general key stands in the place of what a preset brings, and so does none.
    same(r#"preset = "rq", timeout = "none""#, r#"acknowledge = "early""#);
    same(r#"preset = "rq", job_timeout = "none", expires = "1h""#, r#"acknowledge = "early", expires = "1h""#);
}

#[test]
fn what_becomes_of_a_job_whose_worker_dies() {
    // The process dies every 7 s of its life and is back at once, so that no run ends. By hand, until 20 s: the job
    // begins at 0 and is lost at 7 s.
    let pool = "count = 1\ncrashes = { every = \"7s\", of = \"process\" }\n";
    let runs = |queue: &str| {
        let run = Run::of(&read(&world(pool, queue).replace("10000s", "20s")), 1);
        (run.count("classes.job.runs"), run.count("classes.job.failed"))
    };
    // Acknowledged early it is gone; a broker that sees the connection close hands it out again at 7 and 14 s; one with a
    // clock does so 3 s after each death, at 10 and 17 s, or has not looked yet.
    assert_eq!(runs(r#"preset = "sidekiq""#), (1, 1));
    assert_eq!(runs(r#"preset = "dramatiq-rabbitmq""#), (3, 0));
    assert_eq!(runs(r#"preset = "dramatiq-redis""#), (1, 0));
    assert_eq!(runs(r#"preset = "dramatiq-redis", heartbeat_timeout = "3s""#), (3, 0));
    // The same two in general keys.
    assert_eq!(runs(r#"acknowledge = "late", visibility = "30m", after_crash = "at_once""#), (3, 0));
    assert_eq!(runs(r#"acknowledge = "late", visibility = "30m", after_crash = "when_overdue""#), (1, 0));
}

#[test]
fn a_pool_without_deaths_may_use_any_of_them() {
    for family in QUEUES.each_ref().map(|queue| queue.family) {
        let text = world("count = 2", &format!("preset = \"{}\"{}", family.word, needed(family.word).0));
        assert_eq!(Run::of(&read(&text), 1).count("classes.job.delivered"), 1, "{}", family.word);
    }
}

#[test]
fn what_a_queue_preset_cannot_be_is_refused() {
    let refused = |queue: &str| {
        let Err(Refusal::Faulty { faults, .. }) = load(&Source::new("q.toml", &world("count = 2", queue))) else {
            panic!("{queue} is taken");
        };
        faults.iter().map(|fault| (fault.message.clone(), fault.hint.clone().unwrap_or_default())).collect::<Vec<_>>()
    };
    let one = |queue: &str| refused(queue).swap_remove(0);
    let (message, hint) = one(r#"preset = "celery""#);
    assert_eq!(message, r#"no queue preset has this name, found "celery""#);
    assert!(hint.contains("`celery-redis`"), "{hint}");
    assert!(one(r#"preset = "sqs", VisibilityTimeot = "1m""#).1.contains("did you mean `VisibilityTimeout`?"));
    assert_eq!(
        one(r#"preset = "sqs", VisibilityTimeout = "1m", visibility = "2m""#).0,
        "says `visibility` in the words of `sqs` too"
    );
    assert_eq!(
        one(r#"preset = "temporal""#),
        (
            "lacks the key `StartToCloseTimeout`, without which `temporal` takes no job".to_owned(),
            r#"write one, such as StartToCloseTimeout = "10m""#.to_owned()
        )
    );
    // Without a preset a key that says nothing is one too many.
    let (message, hint) = one(r#"acknowledge = "late", visibility = "1m", after_crash = "at_once""#);
    assert_eq!(message, "no worker dies, so that no message would come back");
    assert_eq!(hint, "use a pool with `crashes`, or leave it out");
    assert_eq!(one(r#"acknowledge = "late", after_crash = "at_once""#).0, "means nothing here");
}
