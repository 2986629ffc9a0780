//! What layers multiply to.

use super::{ONE, always, failing, jobs};

#[test]
fn the_product_of_layers_depends_on_which_error_each_repeats() {
    // An HTTP client that repeats 429, 503, timeouts and closed connections, a chain that repeats closed connections
    // only, a queue that repeats everything: 4, 3 and 3 attempts.
    let layers = r#"
        { name = "http", max_attempts = 4, retry_on = [429, 503, "timeout", "connection"] },
        { name = "chain", max_attempts = 3, retry_on = ["connection"] },
        { name = "queue", kind = "queue", max_attempts = 3, retry_on = "any" },"#;
    assert_eq!(failing(&always(r#"drop = true, after = "0s""#), layers), 4 * 3 * 3);
    assert_eq!(failing(&always(r#"status = 503, after = "0s""#), layers), 4 * 3);
    assert_eq!(failing(&always(r#"status = 400, after = "0s""#), layers), 3);
    // Four times 503, which take a second each, then closed connections: the chain sees the last 503 and lets the run
    // fail; the two later runs are 12 each.
    let both = "[provider.faults.busy]\nwindow = [\"0s\", \"4s\"]\nrespond = { status = 503, after = \"1s\" }\n\
                [provider.faults.down]\nrespond = { drop = true, after = \"0s\" }";
    assert_eq!(failing(both, layers), 4 + 12 + 12);
}

#[test]
fn retries_attempts_and_runs_count_as_each_library_counts() {
    // SDK with 2 retries, decorator that stops after 6 attempts, queue with 3 retries: 3 · 6 · 4.
    let layers = r#"
        { name = "sdk", preset = "openai-python-3.57", max_retries = 2 },
        { name = "decorator", preset = "tenacity-9.2", stop = { after_attempt = 6 } },
        { name = "queue", preset = "rq-3.0", max = 3 },"#;
    assert_eq!(failing(&always(r#"status = 529, after = "0s""#), layers), 72);
    // One setting of 3 retries that lands in two layers: (1 + 3)².
    let twice = r#"
        { name = "sdk", preset = "openai-python-3.57", max_retries = 3 },
        { name = "router", max_attempts = 4, retry_on = "any" },"#;
    assert_eq!(failing(&always(r#"status = 529, after = "0s""#), twice), 16);
    // No limit on attempts and a backoff of 1 s doubling to 100 s against 100 s of outage: tries at 0, 1, 3, 7, 15, 31,
    // 63 and 127 s.
    let outage = "[provider.faults.down]\nwindow = [\"0s\", \"100s\"]\nrespond = { status = 529, after = \"0s\" }";
    let workflow = r#"{ name = "flow", max_attempts = "unlimited", retry_on = "any",
           backoff = { exponential = { initial = "1s", cap = "100s" } } }"#;
    let run = jobs(outage, workflow, ONE, "0s");
    assert_eq!((run.count("classes.job.delivered"), run.count("classes.job.requests")), (1, 8));
    assert_eq!(run.number("classes.job.latency_s.max"), 127.0);
}

#[test]
fn three_libraries_that_were_measured_together_send_72_requests() {
    // openai 3.57 in tenacity 9.2 in celery 5.7: 3 · 6 · 4; without the queue 18.
    let two = r#"
        { name = "sdk", preset = "openai-python-3.57" },
        { name = "decorator", preset = "tenacity-9.2", stop = { after_attempt = 6 } },"#;
    let down = always(r#"status = 529, after = "0s""#);
    assert_eq!(failing(&down, two), 18);
    let queue = r#" { name = "queue", preset = "celery-5.7", max_retries = 3 },"#;
    assert_eq!(failing(&down, &format!("{two}{queue}")), 72);
}
