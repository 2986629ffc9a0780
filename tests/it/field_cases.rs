//! Situations that people have reported in public, restated as small scenarios with the answer worked out by hand.
//!
//! A ladder is 0.5 s doubling to 8 s, each wait less by up to a quarter of itself, so n waits last between 0.75 and 1
//! times their sum.

use retrycast::random::Seed;
use retrycast::sim::{Fact, simulate};

use super::stage::{Run, facts, read};

/// The ladder of the SDKs, so many attempts.
fn sdk(attempts: u32, more: &str) -> String {
    format!(
        r#"{{ name = "sdk", max_attempts = {attempts}, retry_on = [408, 409, 429, "5xx", "timeout", "connection"],
           backoff = {{ exponential = {{ initial = "500ms", cap = "8s" }} }}, jitter = {{ subtract = "25%" }}{more} }}"#
    )
}

/// Jobs for one worker.
fn jobs(faults: &str, layers: &str, arrivals: &str, latency: &str) -> Run {
    let text = format!(
        r#"
        horizon = "24h"
        {faults}
        [clients.stack]
        layers = [{layers}]
        [traffic.job]
        kind = "jobs"
        client = "stack"
        workers = 1
        arrivals = {arrivals}
        steps = [{{ name = "ask", input_tokens = 1, latency = "{latency}" }}]
        "#
    )
    // Layers may be written over several lines here, which TOML does not know within braces.
    .replace(",\n           ", ", ");
    Run::of(&read(&text), 1)
}

const ONE: &str = r#"{ at = ["0s"] }"#;

/// The requests of one failing job.
#[track_caller]
fn failing(faults: &str, layers: &str) -> u64 {
    let run = jobs(faults, layers, ONE, "1s");
    assert_eq!(run.count("classes.job.failed"), 1);
    run.count("classes.job.requests")
}

fn always(respond: &str) -> String {
    format!("[provider.faults.down]\nrespond = {{ {respond} }}")
}

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
fn a_timeout_times_its_tries_is_how_long_a_caller_waits() {
    // A silent server, 30 s, three attempts: the failure comes after 90 s and two waits. It frees the worker, so the next
    // job, which comes right after, shows when.
    let hang = always("hang = true");
    let two = r#"{ at = ["0s", "1s"] }"#;
    let silent = jobs(&hang, &sdk(3, r#", timeout = "30s""#), two, "1s");
    assert_eq!((silent.count("classes.job.failed"), silent.count("classes.job.responses.timeout")), (2, 6));
    let time = |name: &str| silent.number(&format!("classes.job.worker_time_s.{name}"));
    assert_eq!(time("refused"), 180.0);
    assert!((2.25..=3.0).contains(&time("waiting_retry")), "{}", time("waiting_retry"));
    // Served in 45 s: the same, although each request would have been answered, and 135 s of the server's time; 90 s
    // where it notices that its caller has left. Served in 25 s: one request.
    let server = |run: &Run| ["server_s", "wasted_server_s"].map(|key| run.number(&format!("classes.job.{key}")));
    for (provider, served) in [("", 135.0), ("[provider]\nabandoned = \"cancelled\"", 90.0)] {
        let slow = jobs(provider, &sdk(3, r#", timeout = "30s""#), ONE, "45s");
        assert_eq!((slow.count("classes.job.failed"), slow.count("classes.job.requests")), (1, 3));
        assert_eq!(server(&slow), [served; 2]);
        let asleep = slow.number("classes.job.worker_time_s.waiting_retry");
        assert!((1.125..=1.5).contains(&asleep), "{asleep}");
        assert_eq!(slow.number("classes.job.worker_time_s.refused"), 90.0);
    }
    let quick = jobs("", &sdk(3, r#", timeout = "30s""#), ONE, "25s");
    assert_eq!((quick.count("classes.job.delivered"), quick.count("classes.job.requests")), (1, 1));
    assert_eq!(quick.number("classes.job.latency_s.max"), 25.0);
    assert_eq!(server(&quick), [25.0, 0.0]);
    // An answer at the very instant of the timeout is an answer.
    let equal = jobs("", &sdk(3, r#", timeout = "30s""#), ONE, "30s");
    assert_eq!((equal.count("classes.job.delivered"), equal.count("classes.job.requests")), (1, 1));
    // The default of the SDK, 600 s: 1,801.125 to 1,801.5 s.
    let default = jobs(&hang, &sdk(3, r#", timeout = "600s""#), ONE, "1s");
    let asleep = default.number("classes.job.worker_time_s.waiting_retry");
    assert_eq!(default.number("classes.job.worker_time_s.refused"), 1_800.0);
    assert!((1.125..=1.5).contains(&asleep), "{asleep}");
}

/// Turns against 30 s of overload.
fn brownout(layers: &str, arrivals: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        [provider.faults.overload]
        window = ["0s", "30s"]
        respond = {{ status = 529, after = "0s" }}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {arrivals}
        steps = [{{ name = "say", input_tokens = 1, latency = "0s" }}]
        "#
    )
    .replace(",\n           ", ", ");
    Run::of(&read(&text), 1)
}

#[test]
fn a_ladder_outlasts_an_overload_only_if_its_waits_do() {
    // Waits sum to 23.5 s for 6 retries, 31.5 for 7, 39.5 for 8, 47.5 for 9, and each is cut by up to a quarter.
    let turns = 2_000;
    let at_once = format!("{{ at = [{}] }}", vec![r#""0s""#; turns].join(", "));
    let with = |retries: u32| {
        let run = brownout(&sdk(retries + 1, ""), &at_once);
        (run.count("classes.turn.delivered"), run.count("classes.turn.requests"))
    };
    assert_eq!(with(2), (0, 3 * turns as u64));
    assert_eq!(with(6), (0, 7 * turns as u64));
    // 0.75 % of 2,000 is 15, give or take three standard deviations of 3.9.
    let (some, _) = with(7);
    assert!((4..=26).contains(&some), "{some}");
    assert!(with(8).0 >= turns as u64 - 1, "only sums within 0.5 s of the least one fall short");
    assert_eq!(with(9).0, turns as u64);
}

#[test]
fn turns_that_come_late_in_an_overload_ride_it_out() {
    // Uniform over 30 s with two retries: the mean of both waits, 1.3125 s of 30, is the share that succeeds; 0.4375 of
    // 30 need only two requests.
    let n = 20_000.0;
    let run = brownout(&sdk(3, ""), r#"{ count = 20000, until = "30s" }"#);
    let (delivered, sent) = (run.number("classes.turn.delivered") / n, run.number("classes.turn.amplification"));
    assert!((delivered - 1.3125 / 30.0).abs() < 3.0 * (0.044_f64 / n).sqrt(), "{delivered}");
    assert!((sent - (3.0 - 0.4375 / 30.0)).abs() < 3.0 * (0.0146_f64 / n).sqrt(), "{sent}");
}

#[test]
fn a_retry_that_is_due_when_the_overload_ends_succeeds() {
    let every_ten = r#"{ name = "sdk", max_attempts = 9, retry_on = "any", backoff = { fixed = "10s" } }"#;
    let run = brownout(every_ten, r#"{ at = ["0s"] }"#);
    assert_eq!((run.count("classes.turn.delivered"), run.count("classes.turn.requests")), (1, 4));
    assert_eq!(run.number("classes.turn.latency_s.max"), 30.0);
}

#[test]
fn an_error_that_will_never_clear_is_repeated_by_whoever_looks_at_the_status_alone() {
    // 100 jobs refused for want of credit. Nobody knows: 3 · 6 requests a job, 31.75 to 34 s each. The SDK is told not to
    // retry: 6. Both know: 1.
    let hundred = format!("{{ at = [{}] }}", vec![r#""0s""#; 100].join(", "));
    let around =
        |on: &str| format!(r#"{{ name = "again", max_attempts = 6, retry_on = {on}, backoff = {{ fixed = "5s" }} }}"#);
    let refused = |more: &str, sdk: String, around: String| {
        let faults = always(&format!(r#"status = 429, after = "0s"{more}"#));
        jobs(&faults, &format!("{sdk}, {around}"), &hundred, "1s")
    };
    let status_only = refused("", sdk(3, ""), around("\"any\""));
    assert_eq!(status_only.count("classes.job.requests"), 1_800);
    let asleep = status_only.number("classes.job.worker_time_s.waiting_retry") / 100.0;
    assert!((31.75..=34.0).contains(&asleep), "{asleep}");
    let told = refused(", should_retry = false", sdk(3, ", obeys_should_retry = true"), around("\"any\""));
    assert_eq!(told.count("classes.job.requests"), 600);
    let both = refused(", should_retry = false", sdk(3, ", obeys_should_retry = true"), around("[\"5xx\"]"));
    assert_eq!(both.count("classes.job.requests"), 100);
    // The code in the body says what the status does not: whoever looks at it makes one request and no wait.
    let careful = r#"{ failures = [408, 409, 429, "5xx"], never = ["permanent"] }"#;
    let layer = |name: &str, most: u32| {
        format!(r#"{{ name = "{name}", max_attempts = {most}, retry_on = {careful}, backoff = {{ fixed = "5s" }} }}"#)
    };
    for code in ["insufficient_quota", "enforced_spend_limit_reached", "credit_balance_exhausted"] {
        let run = refused(&format!(r#", code = "{code}""#), layer("sdk", 3), layer("again", 6));
        assert_eq!(run.count("classes.job.requests"), 100);
        assert_eq!(run.number("classes.job.worker_time_s.waiting_retry"), 0.0);
    }
    let passing = refused(r#", code = "rate_limit_exceeded""#, layer("sdk", 3), layer("again", 6));
    assert_eq!(passing.count("classes.job.requests"), 1_800);
}

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
