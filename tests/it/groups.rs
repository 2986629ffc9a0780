//! Steps that run at once: their group goes on when all have ended, or drops the others when one fails.

use super::stage::{Run, facts, read};
use retrycast::explain::explain;
use retrycast::policy::{Client, Element, Kind, Role};
use retrycast::random::Distribution;
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::{Fact, Fate};

/// Jobs of one worker: `plan`, then `a`, `b` and `c` at once, then `write`; each step fails by the fault of its name.
fn jobs(arrivals: &str, more: &str, queue: &str, faults: &str) -> Scenario {
    read(&format!(
        r#"
        horizon = "1h"
        {faults}
        [clients.stack]
        layers = [
          {{ name = "sdk", max_attempts = 2, retry_on = ["5xx"], backoff = {{ fixed = "1s" }} }},
          {{ name = "queue", kind = "queue", max_attempts = 3, retry_on = "any", {queue} }},
        ]
        [traffic.job]
        kind = "jobs"
        workers = 1
        client = "stack"
        arrivals = {{ at = [{arrivals}] }}
        {more}
        steps = [
          {{ name = "plan", input_tokens = 10, latency = "1s" }},
          {{ name = "a", input_tokens = 10, latency = "2s", group = "parts" }},
          {{ name = "b", input_tokens = 10, latency = "3s", group = "parts" }},
          {{ name = "c", input_tokens = 10, latency = "4s", group = "parts" }},
          {{ name = "write", input_tokens = 10, latency = "1s" }},
        ]
        "#
    ))
}

/// Step, time sent, time ended, status of every request of the first job.
fn requests(scenario: &Scenario) -> Vec<(u8, f64, f64, u16)> {
    let mut requests: Vec<_> = facts(scenario, 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::RequestEnded { task: 0, step, sent, at, answer, .. } => {
                Some((step, sent.as_secs_f64(), at.as_secs_f64(), answer.status))
            }
            Fact::RequestEnded { .. } | Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        })
        .collect();
    requests.sort_by(|a, b| (a.1, a.0).partial_cmp(&(b.1, b.0)).unwrap());
    requests
}

#[test]
fn steps_of_a_group_run_at_once_and_the_next_waits_for_all() {
    // By hand: 1 s, then 4 s for the slowest of the three, then 1 s; the second job waits for the worker until 6 s.
    let scenario = jobs(r#""0s", "1s""#, "", "", "");
    let expected = [(0, 0.0, 1.0, 200), (1, 1.0, 3.0, 200), (2, 1.0, 4.0, 200), (3, 1.0, 5.0, 200), (4, 5.0, 6.0, 200)];
    assert_eq!(requests(&scenario), expected);
    let run = Run::of(&scenario, 1);
    assert_eq!(run.number("classes.job.latency_s.max"), 11.0);
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.max_requests_per_task")), (10, 5));
    // The worker serves all the time, 12 s for two jobs.
    assert_eq!(run.number("classes.job.worker_time_s.serving"), 12.0);
}

/// A bucket of 100 tokens that gains one a second, and 85 for step `b`: after `plan` and `a` it does not fit.
const SMALL_LIMIT: &str = r#"
    [provider.limits.itpm]
    counts = "input_tokens"
    amount = 100
    per = "100s"
    refuse = { after = "500ms" }
"#;

fn with_a_large_b(more: &str, queue: &str) -> Scenario {
    let mut scenario = jobs(r#""0s""#, more, queue, SMALL_LIMIT);
    scenario.traffic[0].steps[2].input_tokens = Distribution::constant(85.0);
    scenario
}

#[test]
fn a_failed_step_fails_its_group_and_finished_ones_keep_their_answer() {
    // By hand: `b` is refused at 1.5 s; `a` and `c` go on to 3 and 5 s; 20 s later there are 70 + 24 tokens, and only
    // `b` is asked again. Then there are 9 + 3 tokens, and `write` takes 10.
    let scenario = with_a_large_b("", r#"backoff = { fixed = "20s" }, resume = "failed_step""#);
    let first = [(0, 0.0, 1.0, 200), (1, 1.0, 3.0, 200), (2, 1.0, 1.5, 429), (3, 1.0, 5.0, 200)];
    let rest = [(2, 25.0, 28.0, 200), (4, 28.0, 29.0, 200)];
    assert_eq!(requests(&scenario), [&first[..], &rest[..]].concat());
    // One that restarts pays for all of them again.
    let scenario = with_a_large_b("", r#"backoff = { fixed = "20s" }"#);
    let steps: Vec<u8> = requests(&scenario).iter().take(8).map(|request| request.0).collect();
    assert_eq!(steps, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn a_group_may_drop_the_others_when_one_fails() {
    // By hand: at 1.5 s `b` is refused, and `a` and `c` end with it; the run is over and the worker takes the second
    // job at once.
    let cancel = r#"when_one_fails = "cancel""#;
    let scenario = with_a_large_b(cancel, r#"backoff = { fixed = "20s" }, resume = "failed_step""#);
    let first = [(0, 0.0, 1.0, 200), (1, 1.0, 1.5, 0), (2, 1.0, 1.5, 429), (3, 1.0, 1.5, 0)];
    let requests = requests(&scenario);
    assert_eq!(requests[..4], first);
    // The group is asked anew, at 21.5 s, but for what it had finished: nothing.
    assert_eq!(
        requests[4..7].iter().map(|request| (request.0, request.1)).collect::<Vec<_>>(),
        [(1, 21.5), (2, 21.5), (3, 21.5)]
    );
    let run = Run::of(&scenario, 1);
    let answered: u64 =
        ["200", "429", "cancelled"].iter().map(|kind| run.count(&format!("classes.job.responses.{kind}"))).sum();
    assert_eq!(answered, run.count("classes.job.requests"));
}

#[test]
fn dropped_steps_disturb_nobody_who_comes_after_them() {
    // By hand: `c` would take 11 days. Each run takes 1.5 s, `plan` and the refusal of `b`, and goes to the back of the
    // queue: the second job's first `plan` ends at 2.5 s, and the first job's third run at 7.5 s, although ends of
    // dropped steps are still to come.
    let limit = SMALL_LIMIT.replace("amount = 100", "amount = 1000");
    let mut scenario = jobs(r#""0s", "1s""#, r#"when_one_fails = "cancel""#, "", &limit);
    scenario.traffic[0].steps[2].input_tokens = Distribution::constant(999.0);
    scenario.traffic[0].steps[3].latency = Distribution::constant(1e6);
    let facts = facts(&scenario, 1);
    let failed = facts.iter().find_map(|fact| match fact {
        Fact::TaskEnded { task: 0, at, fate: Fate::Failed, .. } => Some(at.as_secs_f64()),
        Fact::TaskEnded { .. } | Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    });
    let planned = facts.iter().find_map(|fact| match fact {
        Fact::RequestEnded { task: 1, step: 0, at, .. } => Some(at.as_secs_f64()),
        Fact::RequestEnded { .. } | Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    });
    assert_eq!((failed, planned), (Some(7.5), Some(2.5)));
    let run = Run::of(&scenario, 1);
    assert_eq!((run.count("classes.job.failed"), run.count("classes.job.runs")), (2, 6));
    assert_eq!(run.count("classes.job.requests") as usize, facts.iter().filter(|fact| is_request(fact)).count());
}

fn is_request(fact: &Fact) -> bool {
    matches!(fact, Fact::RequestEnded { .. })
}

#[test]
fn the_steps_of_a_group_stand_together() {
    let text = "horizon = \"1h\"\n[clients.c]\nlayers = []\n[traffic.t]\nkind = \"turns\"\nclient = \"c\"\n\
                arrivals = { at = [\"0s\"] }\nsteps = [\n\
                { name = \"a\", input_tokens = 1, latency = \"1s\", group = \"g\" },\n\
                { name = \"b\", input_tokens = 1, latency = \"1s\" },\n\
                { name = \"c\", input_tokens = 1, latency = \"1s\", group = \"g\" },\n]\n";
    let refusal = load(&Source::new("t.toml", text)).unwrap_err();
    assert!(format!("{refusal:?}").contains("`c` stands apart from the other steps of group `g`"), "{refusal:?}");
}

#[test]
fn dropped_steps_give_back_what_they_hold_and_leave_their_line() {
    // By hand: two permits. At 1 s `a` and `b` take them and `c` stands in line; at 1.5 s `b` is refused, and the other
    // two are dropped: `a` gives its permit back and `c` leaves the line. The next run finds both permits free: `a`,
    // then `b`, are out from 2.5 s on.
    let limit = SMALL_LIMIT.replace("amount = 100", "amount = 1000");
    let guards = format!("{limit}\n[guards.two]\nsemaphore = {{ permits = 2 }}\nscope = \"global\"\n");
    let mut scenario = jobs(r#""0s""#, r#"when_one_fails = "cancel""#, "", &guards);
    scenario.traffic[0].steps[2].input_tokens = Distribution::constant(999.0);
    let text = "two";
    assert_eq!(scenario.guards[0].name, text);
    let stack = scenario.clients[0].elements().to_vec();
    let mut elements = vec![Element {
        name: "two".to_owned(),
        kind: Kind::Client,
        role: Role::Guard(0),
        preset: None,
        unspoken: Vec::new(),
    }];
    elements.extend(stack);
    scenario.clients[0] = Client::new("stack".to_owned(), false, elements).unwrap();
    let sent: Vec<(u8, f64)> = requests(&scenario).iter().map(|request| (request.0, request.1)).collect();
    let expected = [(0, 0.0), (1, 1.0), (2, 1.0), (0, 1.5), (1, 2.5), (2, 2.5), (0, 3.0), (1, 4.0), (2, 4.0)];
    assert_eq!(sent, expected);
}

#[test]
fn a_group_that_fails_may_cost_all_of_its_steps() {
    // By hand, two requests a step. Restarting, three runs that each fail at the last step: 3 · 5 · 2. Resuming, 2 for
    // `plan`, 6 for the group in each of three runs, 2 for `write`: 22; without the group it would be 10 + 2 · 2.
    let most = |queue: &str| explain(&jobs(r#""0s""#, "", queue, "")).classes[0].worst.per_task;
    assert_eq!((most(""), most(r#"resume = "failed_step""#)), (Some(30), Some(22)));
    // One step of a group: 2 requests in each of three runs, whichever of the others fails it.
    let site = explain(&jobs(r#""0s""#, "", r#"resume = "failed_step""#, "")).classes[0].worst.per_call_site;
    assert_eq!(site, Some(6));
}
