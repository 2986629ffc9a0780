//! A worker that meets a limit holds the whole queue: nobody takes a job of it until the wait is over.

use super::stage::{Run, facts, read, said};
use retrycast::sim::Fact;

/// Three jobs of 10 s each and one of another class on two workers, and a provider that refuses at first.
fn world(layer: &str, more: &str) -> String {
    format!(
        r#"
        horizon = "100s"
        [provider.faults.limited]
        window = ["0s", "1s"]
        classes = ["job"]
        respond = {{ status = 429, after = "100ms", retry_after = "30s" }}
        [clients.held]
        layers = [{{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any", backoff = {{ fixed = "20s" }}{layer} }}]
        [clients.plain]
        layers = []
        [workers.pool]
        count = 2
        {more}
        [traffic.job]
        kind = "jobs"
        workers = "pool"
        client = "held"
        arrivals = {{ at = ["0s", "0s", "0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
        [traffic.other]
        kind = "jobs"
        workers = "pool"
        client = "plain"
        arrivals = {{ at = ["3s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "10s" }}]
        "#
    )
}

/// The task and the instant in seconds of each request of the class that comes first, in the order of their beginnings.
fn begins(text: &str) -> Vec<(u32, f64)> {
    let sent = facts(&read(text), 1).into_iter().filter_map(|fact| match fact {
        Fact::RequestEnded { class: 0, task, sent, .. } => Some((task, sent.as_secs_f64())),
        Fact::RequestEnded { .. } | Fact::TaskEnded { .. } | Fact::TaskArrived { .. } => None,
    });
    let mut begins: Vec<_> = sent.collect();
    begins.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    begins
}

#[test]
fn a_job_that_meets_a_limit_holds_all_that_wait() {
    // By hand: the two workers take the first two jobs, which meet the limit at 0.1 s and hold the queue until
    // 20.1 s; the third has not begun. Both are in front then and begin, the third when one of them is done.
    let text = world(", holds_queue = [429]", "");
    assert_eq!(begins(&text), [(0, 0.0), (1, 0.0), (0, 20.1), (1, 20.1), (2, 30.1)]);
    let run = Run::of(&read(&text), 1);
    assert_eq!((run.count("classes.job.queue_holds.times"), run.number("classes.job.queue_holds.held_s")), (2, 20.0));
    assert_eq!((run.count("classes.job.delivered"), run.count("classes.job.runs")), (3, 5));
    // The other class goes on meanwhile: it arrives at 3 s and is done at 13 s.
    assert_eq!(run.number("classes.other.latency_s.max"), 10.0);
    // Without it each job waits by itself, and the third one meets the limit too.
    let alone = begins(&world("", ""));
    assert_eq!(alone, [(0, 0.0), (1, 0.0), (2, 0.1), (0, 20.1), (1, 20.1), (2, 30.1)]);
}

#[test]
fn the_hold_is_as_long_as_the_wait_of_the_layer() {
    // The server's hint of 30 s, where the layer obeys it; or what the layer says of this status.
    let hinted = begins(&world(", holds_queue = [429], hint = \"obey\"", ""));
    assert_eq!(hinted, [(0, 0.0), (1, 0.0), (0, 30.1), (1, 30.1), (2, 40.1)]);
    let own = ", holds_queue = [429], backoff_by_kind = [{ on = [429], backoff = { fixed = \"5s\" } }]";
    // Who was put back last is in front, and the other class has a worker from 3 to 13 s.
    assert_eq!(begins(&world(own, "")), [(0, 0.0), (1, 0.0), (1, 5.1), (0, 13.0), (2, 15.1)]);
    // Other failures hold nothing.
    assert_eq!(begins(&world(", holds_queue = [503]", "")), begins(&world("", "")));
}

#[test]
fn a_hold_uses_an_attempt_unless_its_status_is_uncounted() {
    // By hand: refused for a second after 0.1 s each, with waits of 0.2 s: each job has used its two attempts by then; uncounted,
    // they begin again until they are delivered.
    let short = |layer: &str| {
        let text = world(layer, "").replace("fixed = \"20s\"", "fixed = \"200ms\"");
        let run = Run::of(&read(&text), 1);
        (run.count("classes.job.failed"), run.count("classes.job.delivered"))
    };
    assert_eq!(short(", holds_queue = [429]").0, 3);
    assert_eq!(short(", holds_queue = [429], uncounted = [429]"), (0, 3));
}

#[test]
fn messages_and_processes_that_take_ahead_are_held_too() {
    let late = world(", holds_queue = [429]", "").replacen(
        "arrivals = { at = [\"0s\", \"0s\", \"0s\"] }",
        "arrivals = { at = [\"0s\", \"0s\", \"0s\"] }\nqueue = { acknowledge = \"late\", visibility = \"1h\" }",
        1,
    );
    assert_eq!(begins(&late), [(0, 0.0), (1, 0.0), (0, 20.1), (1, 20.1), (2, 30.1)]);
    // One process with both workers has taken the third ahead; it waits there as well.
    let ahead = begins(&world(", holds_queue = [429]", "prefetch = 2"));
    assert_eq!(ahead.iter().filter(|(_, at)| *at < 20.0).count(), 2, "{ahead:?}");
    assert_eq!(ahead.len(), 5, "{ahead:?}");
}

#[test]
fn the_words_of_bullmq_say_the_same() {
    let general =
        ", holds_queue = [429], uncounted = [429], backoff_by_kind = [{ on = [429], backoff = { fixed = \"7s\" } }]";
    let words = world("", "").replace(
        "kind = \"queue\", max_attempts = 2, retry_on = \"any\", backoff = { fixed = \"20s\" }",
        "preset = \"bullmq\", attempts = 2, backoff = \"20s\", rateLimit = \"7s\"",
    );
    assert_eq!(begins(&words), begins(&world(general, "")));
}

#[test]
fn only_a_queue_holds_itself() {
    let text = world(", holds_queue = [429]", "").replace("kind = \"queue\", max", "kind = \"decorator\", max");
    let faults = said(&text).unwrap_err();
    assert_eq!(
        faults[0],
        ("only a queue has jobs to hold back".to_owned(), "leave it out, or write `kind = \"queue\"`".to_owned())
    );
    let unnamed = said(&world(", holds_queue = [\"timeout\"]", "")).unwrap_err();
    assert_eq!(unnamed[0].0, "names failures that have no status");
}
