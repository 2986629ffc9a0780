//! Guards and budgets that end with the call, the run, the task or the process that made them: what a counter forgets, it
//! does not bound. Small outages, counted by hand.

use super::stage::{Run, read};

/// Two jobs, ten minutes apart, that meet nothing but 503s: two runs of three calls of at most two attempts each. `inner`
/// stands inside the attempts, and `budget` belongs to the layer that makes them.
fn outage(guards: &str, inner: &str, budget: &str) -> String {
    format!(
        r#"
        horizon = "1h"
        {guards}
        [provider.faults.outage]
        window = ["0s", "1h"]
        respond = {{ status = 503, after = "100ms" }}
        [clients.c]
        layers = [
            {inner}
            {{ name = "sdk", kind = "client", max_attempts = 2, retry_on = [503], backoff = {{ fixed = "1s" }}{budget} }},
            {{ name = "again", kind = "decorator", max_attempts = 3, retry_on = [503], backoff = {{ fixed = "2s" }} }},
            {{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any", backoff = {{ fixed = "30s" }} }},
        ]
        [traffic.job]
        kind = "jobs"
        client = "c"
        workers = 1
        arrivals = {{ at = ["0s", "10m"] }}
        steps = [{{ name = "say", input_tokens = 1, latency = "1s" }}]
        "#
    )
}

fn requests(text: &str) -> u64 {
    Run::of(&read(text), 1).count("classes.job.requests")
}

#[test]
fn a_breaker_that_each_run_makes_anew_never_learns() {
    // By hand: three failures in a row open it for the rest of the hour. A call has two attempts, so one breaker for each
    // call never opens: 2 jobs x 2 runs x 3 calls x 2 attempts. One for each run opens at the third request of the run, one
    // for each job at the third of the job, and one for the client at the third of all.
    let guarded = |scope: &str| {
        let breaker = r#"{ counts = "responses", of = [503], consecutive = 3, open = "2h", when_open = "reject" }"#;
        let guard = format!("[guards.fuse]\nbreaker = {breaker}\nscope = \"{scope}\"");
        requests(&outage(&guard, r#"{ guard = "fuse" },"#, ""))
    };
    assert_eq!(["call", "run", "task", "client"].map(guarded), [24, 4 * 3, 2 * 3, 3]);
    assert_eq!(requests(&outage("", "", "")), 24);
}

#[test]
fn a_budget_that_each_call_brings_along_bounds_nothing() {
    // By hand: three tokens, a failure takes one, and a retry needs more than one and a half left. A fresh bucket gives one
    // retry (two tokens left, then one), and nothing after it. One for each call: all 24 requests. One for each run: 2, 1
    // and 1 requests in its three calls, four times. One for each job: 4 and then 3, twice. One for all: 4 and 3 and 3 and 3.
    let with = |scope: &str| {
        let budget = format!(", budget = {{ throttle = {{ max_tokens = 3, ratio = 0.1 }}, scope = \"{scope}\" }}");
        requests(&outage("", "", &budget))
    };
    assert_eq!(["call", "run", "task", "client"].map(with), [24, 16, 14, 13]);
}

#[test]
fn turns_and_steps_at_once_own_theirs_too() {
    // By hand: a turn is one run, so a breaker of the run is one of the task: it opens at the third request. Steps that run
    // at once share the one of their run, and each has one of its own for its call.
    let turns = |scope: &str, steps: &str| {
        let text = format!(
            r#"
            horizon = "1h"
            [guards.fuse]
            breaker = {{ counts = "responses", of = [503], consecutive = 3, open = "2h", when_open = "reject" }}
            scope = "{scope}"
            [provider.faults.outage]
            window = ["0s", "1h"]
            respond = {{ status = 503, after = "100ms" }}
            [clients.c]
            layers = [
                {{ guard = "fuse" }},
                {{ name = "sdk", max_attempts = 5, retry_on = [503], backoff = {{ fixed = "1s" }} }},
            ]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ at = ["0s", "0s", "10m"] }}
            steps = [{steps}]
            "#
        );
        Run::of(&read(&text), 1).count("classes.turn.requests")
    };
    let one = r#"{ name = "say", input_tokens = 1, latency = "1s" }"#;
    assert_eq!(["call", "run", "task"].map(|scope| turns(scope, one)), [9, 9, 9]);
    // Two steps send together: the third and the fourth request of the pair leave at the same instant, so four are sent
    // before the breaker of the run is open; with one for each call, three of each.
    let two = r#"{ name = "a", group = "g", input_tokens = 1, latency = "1s" },
                 { name = "b", group = "g", input_tokens = 1, latency = "1s" }"#;
    assert_eq!(["call", "run", "task"].map(|scope| turns(scope, two)), [3 * 6, 3 * 4, 3 * 4]);
}

#[test]
fn a_process_that_dies_takes_its_guards_along() {
    // By hand: a job each minute, all of which fail at once. The breaker of the process opens at the third failure for good;
    // the process dies 30, 60 and 90 minutes after it was started, and each new one has to learn it again. A breaker of the
    // client is kept elsewhere and outlives them all.
    let with = |scope: &str, crashes: &str| {
        let text = format!(
            r#"
            horizon = "2h"
            [guards.fuse]
            breaker = {{ counts = "responses", of = [503], consecutive = 3, open = "9h", when_open = "reject" }}
            scope = "{scope}"
            [provider.faults.outage]
            window = ["0s", "2h"]
            respond = {{ status = 503, after = "100ms" }}
            [clients.c]
            layers = [{{ guard = "fuse" }}, {{ name = "sdk", max_attempts = 1, retry_on = [503] }}]
            [workers.pool]
            count = 1
            {crashes}
            [traffic.job]
            kind = "jobs"
            client = "c"
            workers = "pool"
            arrivals = {{ every = "1m" }}
            steps = [{{ name = "say", input_tokens = 1, latency = "1s" }}]
            "#
        );
        Run::of(&read(&text), 1).count("classes.job.requests")
    };
    let dies = r#"crashes = { every = "29m30s", restart = "30s", of = "process" }"#;
    assert_eq!([with("process", ""), with("process", dies), with("client", dies)], [3, 12, 3]);
    assert_eq!(with("worker", dies), 12);
}
