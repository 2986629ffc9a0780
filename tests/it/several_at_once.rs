//! Requests that the application never sees: those of hops, and those of hedges.

use super::stage::{Replicates, Run, facts, read};
use retrycast::explain::explain;
use retrycast::policy::{Client, Element, Kind, Role};
use retrycast::random::{Distribution, math};
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::{Fact, Fate};

/// Turns with this stack against a provider that answers so.
fn turns(layers: &str, provider: &str, arrivals: &str, latency: &str) -> Scenario {
    read(&format!(
        r#"
        horizon = "10h"
        {provider}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {arrivals}
        steps = [{{ name = "say", input_tokens = 100, latency = {latency} }}]
        "#
    ))
}

const ALWAYS_503: &str = r#"faults.down.respond = { status = 503, after = "100ms" }"#;
const ONE: &str = r#"{ at = ["0s"] }"#;

fn provider(of: &str) -> String {
    format!("[provider]\n{of}\n")
}

/// A gateway of three attempts, 2 s apart, in a client of three attempts.
fn gateway(more: &str) -> String {
    format!(
        r#"{{ name = "gateway", kind = "hop", max_attempts = 3, retry_on = ["5xx"], backoff = {{ fixed = "2s" }} }},
           {{ name = "sdk", max_attempts = 3, retry_on = ["5xx", "timeout"]{more} }}"#
    )
    .replace('\n', " ")
}

fn sent(scenario: &Scenario) -> Vec<f64> {
    let sent = facts(scenario, 1).into_iter().filter_map(|fact| match fact {
        Fact::RequestEnded { sent, .. } => Some(sent.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    });
    sent.collect()
}

#[test]
fn a_hop_multiplies_what_the_provider_sees_and_not_what_the_client_sends() {
    // By hand: 3 requests of the client, each 3 of the gateway: at 0, 2.1, 4.2 s, and at once again from 4.3 s on.
    let scenario = turns(&gateway(""), &provider(ALWAYS_503), ONE, r#""1s""#);
    let run = Run::of(&scenario, 1);
    let of = |name: &str| run.count(&format!("classes.turn.{name}"));
    assert_eq!([of("calls"), of("requests"), of("provider_requests")], [1, 3, 9]);
    assert_eq!((run.number("classes.turn.factors.sdk"), run.number("classes.turn.factors.gateway")), (3.0, 3.0));
    assert_eq!(sent(&scenario), [0.0, 2.1, 4.2, 4.3, 6.4, 8.5, 8.6, 10.7, 12.8]);
}

#[test]
fn a_client_that_gives_up_on_a_hop_ends_what_the_hop_does() {
    // By hand: the gateway waits until 2.1 s, the client leaves at 1 s and sends again at once, three times.
    let scenario = turns(&gateway(r#", timeout = "1s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 1.0, 2.0]);
    // With 3 s the gateway's second try falls into the client's time, and its second wait does not.
    let scenario = turns(&gateway(r#", timeout = "3s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 2.1, 3.0, 5.1, 6.0, 8.1]);
    // A request that the hop has out when the client leaves ends with it: 2.5 s after 0, not 4 s.
    let slow = provider("faults.down.respond = { hang = true }");
    let scenario = turns(&gateway(r#", timeout = "2500ms""#), &slow, ONE, r#""1s""#);
    assert_eq!(sent(&scenario), [0.0, 2.5, 5.0]);
    assert_eq!(ended(&scenario), Some(7.5));
}

#[test]
fn a_hedge_sends_again_what_is_late_and_takes_the_first() {
    // In theory, exponential latency of mean 1 s, a second request after 1 s: e⁻¹ of them are sent twice, and the mean
    // is (1 − e⁻¹) + e⁻¹ · ½ = 0.816 s, because what is left after 1 s ends at twice the rate.
    let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } }"#;
    let scenario = turns(layers, "", r#"{ poisson = "1/s" }"#, r#"{ exponential = { mean = "1s" } }"#);
    let result = Replicates::of(&scenario, 1, 8);
    let covers = |path: &str, theory: f64| {
        let (low, high) = result.statistic(path).ci95.unwrap();
        let slack = 0.5 * (high - low);
        assert!(low - slack < theory && theory < high + slack, "{path}: {theory} is not in {low} to {high}");
    };
    let twice = math::exp(-1.0);
    covers("classes.turn.requests_per_call", 1.0 + twice);
    covers("classes.turn.latency_s.mean", 1.0 - 0.5 * twice);
    let run = Run::of(&scenario, 1);
    let of = |name: &str| run.count(&format!("classes.turn.{name}"));
    // Every second request has one loser; nothing is lost but what is out at the horizon.
    assert_eq!(of("responses.200"), of("delivered"));
    let open = of("requests") - of("responses.200") - of("responses.cancelled");
    assert!(of("responses.cancelled") > 0 && open <= 4, "{open}");
}

#[test]
fn a_failure_ends_a_hedge_only_where_it_says_so() {
    // By hand. Any failure may be outdone: the second request goes out at 1 s, and both 503s fail the call at 1.1 s.
    let hedge = |more: &str| format!(r#"{{ name = "hedge", hedge = {{ max = 3, delay = "1s"{more} }} }}"#);
    let times = |more: &str| sent(&turns(&hedge(more), &provider(ALWAYS_503), ONE, r#""1s""#));
    assert_eq!(times(""), [0.0, 1.0, 2.0]);
    assert_eq!(times(r#", after_failure = "next""#), [0.0, 0.1, 0.2]);
    assert_eq!(times(r#", on = ["timeout"]"#), [0.0]);
}

#[test]
fn a_hedge_charges_every_request_to_the_limit() {
    // By hand: 100 tokens each, 10 turns at once, all of them late, 2 requests each: 2,000 tokens and no refusal; with
    // 1,900 the last one is refused, and its turn waits for its first request.
    let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } }"#;
    let at_once = format!("{{ at = [{}] }}", [r#""0s""#; 10].join(", "));
    let with = |amount: u64| {
        let limit = format!(r#"limits.itpm = {{ counts = "input_tokens", amount = {amount}, per = "1h" }}"#);
        let run = Run::of(&turns(layers, &provider(&limit), &at_once, r#""5s""#), 1);
        let of = |name: &str| run.count(&format!("classes.turn.{name}"));
        (of("delivered"), of("requests"), of("responses.429"), of("responses.cancelled"))
    };
    assert_eq!(with(2_001), (10, 20, 0, 10));
    assert_eq!(with(1_900), (10, 20, 1, 9));
}

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

/// When the only task ended.
fn ended(scenario: &Scenario) -> Option<f64> {
    facts(scenario, 1).into_iter().find_map(|fact| match fact {
        Fact::TaskEnded { at, .. } => Some(at.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    })
}

#[test]
fn a_hedge_sends_nothing_more_when_the_time_for_all_of_it_is_over() {
    // By hand: the second request would be due at 20 s, and nobody waits longer than 10 s for all of them together: the
    // client of a hop, or a layer whose attempts get what is left of its total time.
    let hop = r#"{ name = "mesh", kind = "hop", hedge = { max = 3, delay = "20s" } },
                 { name = "sdk", kind = "client", max_attempts = 1, retry_on = "any", timeout = "10s" }"#;
    let shrinking = r#"{ name = "hedge", hedge = { max = 3, delay = "20s" } },
        { name = "sdk", max_attempts = 1, retry_on = "any", total_budget = "10s", timeout_shrinks = true }"#;
    for layers in [hop, shrinking].map(|layers| layers.replace('\n', " ")) {
        // Whether the first request is out until then, or has failed long before.
        for answers in ["faults.down.respond = { hang = true }", ALWAYS_503] {
            let scenario = turns(&layers, &provider(answers), ONE, r#""1s""#);
            assert_eq!((sent(&scenario), ended(&scenario)), (vec![0.0], Some(10.0)), "{layers} {answers}");
        }
        // At 0.1 s the next one goes out, and at 0.2 s the last one, before any time is over.
        let layers = layers.replace("\"20s\"", "\"20s\", after_failure = \"next\"");
        let scenario = turns(&layers, &provider(ALWAYS_503), ONE, r#""1s""#);
        assert_eq!(sent(&scenario), [0.0, 0.1, 0.2]);
    }
}

#[test]
fn a_hops_own_total_time_shrinks_the_timeouts_of_its_requests() {
    // By hand: nothing ever comes back, and the hop gives up when its 5 s are over; its client would wait a minute.
    let layers = r#"{ name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any", total_budget = "5s", timeout_shrinks = true },
                    { name = "sdk", max_attempts = 1, retry_on = "any", timeout = "1m" }"#;
    let silent = provider("faults.down.respond = { hang = true }");
    assert_eq!(ended(&turns(&layers.replace('\n', " "), &silent, ONE, r#""1s""#)), Some(5.0));
}

#[test]
fn a_wait_that_the_client_does_not_wait_for_counts_as_long_as_it_lasts() {
    // By hand: the gateway wants to wait 2 s from 0.1 s on, and the client leaves at 1 s, three times.
    let scenario = turns(&gateway(r#", timeout = "1s""#), &provider(ALWAYS_503), ONE, r#""1s""#);
    let waited = Run::of(&scenario, 1).number("classes.turn.layers.gateway.waited_s");
    assert!((waited - 2.7).abs() < 1e-9, "{waited}");
}

#[test]
fn shares_of_throttled_requests_are_shares_of_what_reached_the_provider() {
    // By hand: nine requests of the gateway for three of the client, all refused.
    let refused = provider(r#"faults.down.respond = { status = 429, after = "100ms" }"#);
    let layers = gateway("").replace(r#"["5xx"]"#, "[429]").replace(r#"["5xx", "timeout"]"#, "[429]");
    let run = Run::of(&turns(&layers, &refused, ONE, r#""1s""#), 1);
    assert_eq!((run.count("classes.turn.provider_requests"), run.number("classes.turn.requests_429_share")), (9, 1.0));
}

#[test]
fn factors_multiply_where_only_some_of_a_tasks_clients_have_hops() {
    // By hand: one step through a hop that sends 3 for the client's 1, one through a hedge that sends 2 for 1. The
    // client's own are 3 for 2 steps: the hedge's factor is 3 / 2, whatever lies behind.
    let scenario = read(&format!(
        r#"
        horizon = "1h"
        [provider]
        {ALWAYS_503}
        [clients.behind]
        layers = [
          {{ name = "gateway", kind = "hop", max_attempts = 3, retry_on = ["5xx"] }},
          {{ name = "sdk", max_attempts = 1, retry_on = "any" }},
        ]
        [clients.hedged]
        layers = [
          {{ name = "hedge", hedge = {{ max = 2, delay = "0s" }} }},
          {{ name = "sdk", max_attempts = 1, retry_on = "any" }},
        ]
        [traffic.turn]
        kind = "turns"
        client = "behind"
        arrivals = {ONE}
        steps = [
          {{ name = "a", input_tokens = 1, latency = "1s", group = "both" }},
          {{ name = "b", input_tokens = 1, latency = "1s", group = "both", client = "hedged" }},
        ]
        "#
    ));
    let run = Run::of(&scenario, 1);
    let of = |path: &str| run.number(&format!("classes.turn.{path}"));
    assert_eq!((of("requests"), of("provider_requests"), of("amplification_by_task")), (3.0, 5.0, 1.5));
    assert_eq!((of("factors.hedge"), of("factors.sdk"), of("factors.gateway")), (1.5, 1.0, 5.0 / 3.0));
}

#[test]
fn a_client_does_not_wait_longer_for_a_hop_that_its_breaker_holds() {
    // By hand. The first turn opens the hop's breaker at 0.1 s, for 1 s; the second one, at 2 s, is its only probe and
    // hangs for a minute; the third one, at 3 s, is held until that is over, and its client leaves after 5 s.
    let text = r#"
        horizon = "10m"
        [provider.faults.down]
        window = ["0s", "1s"]
        respond = { status = 503, after = "100ms" }
        [provider.faults.slow]
        window = ["2s", "2500ms"]
        respond = { status = 503, after = "1m" }
        [guards.relay]
        scope = "global"
        breaker = { counts = "responses", of = [503], last = 1, threshold = 0, open = "1s", when_open = "hold" }
        [clients.patient]
        layers = [{ name = "relay", guard = "relay", kind = "hop" }, { name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any" }]
        [clients.impatient]
        layers = [
          { name = "relay", guard = "relay", kind = "hop" },
          { name = "gateway", kind = "hop", max_attempts = 1, retry_on = "any" },
          { name = "sdk", max_attempts = 1, retry_on = "any", timeout = "5s" },
        ]
        [traffic.first]
        kind = "turns"
        client = "patient"
        arrivals = { at = ["0s", "2s"] }
        steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
        [traffic.third]
        kind = "turns"
        client = "impatient"
        arrivals = { at = ["3s"] }
        steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
    "#;
    let run = Run::of(&read(text), 1);
    let ends: Vec<(u16, f64)> = facts(&read(text), 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::TaskEnded { class, at, .. } => Some((class, at.as_secs_f64())),
            Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
        })
        .collect();
    assert_eq!(ends, [(0, 0.1), (1, 8.0), (0, 62.0)]);
    assert_eq!((run.count("classes.third.failed"), run.number("guards.relay.waited_s")), (1, 5.0));
}
