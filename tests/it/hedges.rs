//! Hedges that meet limited servers, a network and an output quota, against theory and by hand; and what bounds hedges.

use super::stage::{Replicates, Run, facts, read};
use retrycast::explain::explain;
use retrycast::policy::Outcome;
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::sim::Fact;

/// Turns that hedge so, before a provider with this.
fn turns(provider: &str, hedge: &str, arrivals: &str, latency: &str) -> Scenario {
    stack(provider, &format!("{{ name = \"hedge\", hedge = {{ {hedge} }} }}"), arrivals, latency)
}

fn stack(provider: &str, layers: &str, arrivals: &str, latency: &str) -> Scenario {
    read(&format!(
        r#"
        horizon = "90m"
        [provider]
        {provider}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {arrivals}
        steps = [{{ name = "say", input_tokens = 1, output_tokens = 640, latency = {latency} }}]
        [phases]
        steady = {{ from = "10m", until = "60m" }}
        "#
    ))
}

/// The 99 % interval of the mean over 20 replicates covers the formula: t(19) = 2.861.
#[track_caller]
fn covers(replicates: &Replicates, path: &str, formula: f64) {
    let statistic = replicates.statistic(path);
    let half = 2.861 * statistic.sd.unwrap() / 20_f64.sqrt();
    assert!(
        (statistic.mean - formula).abs() <= half,
        "{path}: {} ± {half}, the formula says {formula}",
        statistic.mean
    );
    assert!(half <= 0.1 * formula, "± {half} is too wide to tell");
}

const SECOND: &str = r#"{ exponential = { mean = "1s" } }"#;
const SOJOURN: &str = "phases.steady.classes.turn.latency_s.mean";

/// When each task was over, in seconds since its arrival, by task.
fn latencies(scenario: &Scenario) -> Vec<f64> {
    let (mut arrived, mut ended) = (Vec::new(), Vec::new());
    for fact in facts(scenario, 1) {
        match fact {
            Fact::TaskArrived { at, .. } => arrived.push(at.as_secs_f64()),
            Fact::TaskEnded { task, at, .. } => ended.push((task, at.as_secs_f64())),
            Fact::RequestEnded { .. } => {}
        }
    }
    ended.sort_by_key(|(task, _)| *task);
    ended.iter().map(|(task, at)| ((at - arrived[*task as usize]) * 1e6).round() / 1e6).collect()
}

fn seconds(run: &Run) -> [f64; 2] {
    ["server_s", "wasted_server_s"].map(|name| run.number(&format!("classes.turn.{name}")))
}

#[test]
fn a_copy_on_every_server_makes_one_fast_server_of_them() {
    // Gardner et al. 2017 ("Redundancy-d: The power of d choices"), every job on all k servers, exponential service,
    // cancelled on completion: an M/M/1 queue whose server is k times as fast, 1 / (kμ − λ).
    for (servers, rate, formula) in [(2, "1.2/s", 1.0 / (2.0 - 1.2)), (3, "2/s", 1.0 / (3.0 - 2.0))] {
        let provider = format!("abandoned = \"cancelled\"\ncapacity.servers = {servers}");
        let hedge = format!("max = {servers}, delay = \"0s\"");
        let scenario = turns(&provider, &hedge, &format!("{{ poisson = \"{rate}\" }}"), SECOND);
        covers(&Replicates::of(&scenario, 3, 20), SOJOURN, formula);
    }
}

#[test]
fn a_server_that_notices_nothing_does_all_work_twice() {
    // Pollaczek and Khinchine: one server that serves both copies of each, one after the other, is an M/G/1 queue with
    // work of two exponentials (mean 2 s, second moment 6 s²), and the first of them is the answer:
    // λ·6 / 2(1 − 2λ) + 1. At 0.2 a second that is 2 s, where without a hedge it is 1 / (1 − 0.2).
    let at =
        |rate: &str, hedge: &str| turns("capacity.servers = 1", hedge, &format!("{{ poisson = \"{rate}\" }}"), SECOND);
    let both = Replicates::of(&at("0.2/s", "max = 2, delay = \"0s\""), 5, 20);
    covers(&both, SOJOURN, 2.0);
    let once = Replicates::of(&at("0.2/s", "max = 2, delay = \"10h\""), 5, 20);
    covers(&once, SOJOURN, 1.0 / 0.8);
    // At 0.6 a second the servers have time for all, and not for all twice: 0.2 a second too many over 90 minutes. The
    // server ends with 5,400 · 0.6 answers of the first kind, and works on 2,700 pairs at most.
    let run = |hedge: &str| Run::of(&at("0.6/s", hedge), 1);
    let (calm, flooded) = (run("max = 2, delay = \"10h\""), run("max = 2, delay = \"0s\""));
    assert!(calm.number("classes.turn.latency_s.p99") < 30.0);
    assert!(flooded.number("classes.turn.latency_s.p99") > 600.0);
    assert_eq!(seconds(&calm)[1], 0.0);
    // One of the two copies of each is for nobody.
    let [all, wasted] = seconds(&flooded);
    assert!((wasted / all - 0.5).abs() < 0.03, "{wasted} of {all}");
}

#[test]
fn a_copy_that_lost_is_served_passed_over_taken_out_or_stopped() {
    // By hand: one server, 1 s each, a copy after 0.5 s. A comes at 0, B at 0.2: A 0–1, then B 1–2, and the copies of
    // both stand behind B. C comes at 2.1: before it the server does both copies, or none.
    let of = |abandoned: &str, servers: u32, latency: &str| {
        let provider = format!("abandoned = \"{abandoned}\"\ncapacity.servers = {servers}");
        let scenario = turns(&provider, "max = 2, delay = \"500ms\"", r#"{ at = ["0s", "200ms", "2.1s"] }"#, latency);
        let run = Run::of(&scenario, 1);
        let of = |name: &str| run.count(&format!("classes.turn.{name}"));
        assert_eq!([of("delivered"), of("responses.200"), of("responses.cancelled")], [3, 3, 3]);
        (latencies(&scenario), seconds(&run))
    };
    let second = r#""1s""#;
    // C's own copy goes out at 2.6 s, and is served for nobody from 5 s on.
    assert_eq!(of("served", 1, second), (vec![1.0, 1.8, 2.9], [6.0, 3.0]));
    for notices in ["skipped", "dequeued", "cancelled"] {
        assert_eq!(of(notices, 1, second), (vec![1.0, 1.8, 1.0], [3.0, 0.0]), "{notices}");
    }
    // Four servers, 3 s each: all begin at once. A is there at 3 s, when its copy has been served for 2.5 s.
    let three = r#""3s""#;
    assert_eq!(of("served", 9, three), (vec![3.0; 3], [18.0, 9.0]));
    assert_eq!(of("dequeued", 9, three), (vec![3.0; 3], [18.0, 9.0]));
    assert_eq!(of("cancelled", 9, three), (vec![3.0; 3], [16.5, 7.5]));
}

#[test]
fn what_stood_in_line_is_not_begun_when_its_rival_wins() {
    // By hand: one server, three copies at once; the first is served for 1 s, and the server never begins another.
    let scenario = turns(
        "abandoned = \"cancelled\"\ncapacity.servers = 1",
        "max = 3, delay = \"0s\"",
        r#"{ at = ["0s", "100ms"] }"#,
        r#""1s""#,
    );
    let run = Run::of(&scenario, 1);
    assert_eq!((latencies(&scenario), seconds(&run)), (vec![1.0, 1.9], [2.0, 0.0]));
    assert_eq!(run.count("capacity.started"), 2);
}

#[test]
fn copies_travel_by_themselves_and_what_has_not_arrived_was_never_sent() {
    // By hand: 0.1 s there, 1 s, 0.2 s back. A copy after 0.5 s is served from 0.6 s to 1.6 s; the first answer leaves
    // at 1.1 s and is there at 1.3 s. A copy after 1.25 s has not arrived by then.
    let of = |abandoned: &str, delay: &str, more: &str| {
        let provider =
            format!("abandoned = \"{abandoned}\"\nnetwork = {{ send = \"100ms\", receive = \"200ms\" }}\n{more}");
        let hedge = format!("max = 2, delay = \"{delay}\"");
        let scenario = turns(&provider, &hedge, r#"{ at = ["0s"] }"#, r#""1s""#);
        let run = Run::of(&scenario, 1);
        assert_eq!([run.count("classes.turn.requests"), run.count("classes.turn.responses.cancelled")], [2, 1]);
        assert_eq!(latencies(&scenario), [1.3]);
        seconds(&run)
    };
    for servers in ["", "capacity.servers = 2"] {
        assert_eq!(of("served", "500ms", servers), [2.0, 1.0], "{servers}");
        assert_eq!(of("cancelled", "500ms", servers), [1.7, 0.7], "{servers}");
        assert_eq!(of("served", "1250ms", servers), [1.0, 0.0], "{servers}");
        // The copy's answer left at 1.2 s and is on its way when the first is there: it was made for nobody.
        assert_eq!(of("cancelled", "100ms", servers), [2.0, 1.0], "{servers}");
    }
}

#[test]
fn a_quota_cuts_each_copy_by_itself() {
    // By hand: ten tokens a second each, the copy from 2 s on: at 6 s they are 60 and 40, all that the hour has. The one
    // whose part was the last is cut: the copy, with 40. The first goes on for nobody until its next part at 7 s, or
    // ends with its rival.
    let of = |how: &str, abandoned: &str, servers: &str| {
        let provider = format!(
            "abandoned = \"{abandoned}\"\n{servers}\nlimits.otpm = {{ counts = \"output_tokens\", amount = 100, \
             per = \"1h\", algorithm = \"fixed_window\", charge = \"streaming\", when_used_up = \"{how}\" }}"
        );
        let scenario = turns(&provider, "max = 2, delay = \"2s\"", r#"{ at = ["0s"] }"#, r#""64s""#);
        let run = Run::of(&scenario, 1);
        let ends = facts(&scenario, 1).into_iter().filter_map(|fact| match fact {
            Fact::RequestEnded { at, answer, output_tokens, .. } => {
                Some((at.as_secs_f64(), answer.outcome, output_tokens))
            }
            Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        });
        (ends.collect::<Vec<_>>(), seconds(&run), run.count("limits.otpm.cut_short"))
    };
    let won = [(6.0, Outcome::Delivered, 40), (6.0, Outcome::Cancelled, 640)];
    for servers in ["", "capacity.servers = 2"] {
        assert_eq!(of("cut", "served", servers), (won.to_vec(), [11.0, 7.0], 2), "{servers}");
        assert_eq!(of("cut", "cancelled", servers), (won.to_vec(), [10.0, 6.0], 1), "{servers}");
        // An answer that breaks off wins nothing: the other may still, and breaks off a second later.
        let lost = [(6.0, Outcome::CutShort, 40), (7.0, Outcome::CutShort, 70)];
        assert_eq!(of("break", "served", servers), (lost.to_vec(), [11.0, 0.0], 2), "{servers}");
    }
}

#[test]
fn who_leaves_a_hedge_leaves_all_of_its_copies() {
    // By hand: one server, 5 s each, a timeout of 3 s for every copy: the first leaves at 3 s in service, the copy of
    // 1 s at 4 s, when it has been waiting, or is served since 3 s.
    let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } },
        { name = "call", max_attempts = 1, retry_on = "any", timeout = "3s" }"#;
    let of = |abandoned: &str| {
        let provider = format!("abandoned = \"{abandoned}\"\ncapacity.servers = 1");
        let scenario = stack(&provider, layers, r#"{ at = ["0s"] }"#, r#""5s""#);
        let run = Run::of(&scenario, 1);
        assert_eq!([run.count("classes.turn.failed"), run.count("classes.turn.responses.timeout")], [1, 2]);
        (latencies(&scenario), seconds(&run))
    };
    assert_eq!(of("served"), (vec![4.0], [10.0, 10.0]));
    assert_eq!(of("dequeued"), (vec![4.0], [5.0, 5.0]));
    assert_eq!(of("cancelled"), (vec![4.0], [4.0, 4.0]));
}

/// What was sent beside others, and what was not allowed.
fn hedges(run: &Run) -> [u64; 2] {
    ["hedges", "suppressed_hedges"].map(|name| run.count(&format!("classes.turn.{name}")))
}

/// So many turns that begin 10 s apart and take 5 s; who hedges does so after 1 s.
fn apart(bound: &str, turns: u32) -> Run {
    let times: Vec<String> = (0..turns).map(|n| format!("\"{}s\"", 10 * n)).collect();
    let arrivals = format!("{{ at = [{}] }}", times.join(", "));
    Run::of(&self::turns("", &format!("max = 2, delay = \"1s\", {bound}"), &arrivals, r#""5s""#), 1)
}

/// Ten turns at once that take 5 s; who hedges does so after 1 s.
fn at_once(bound: &str) -> Run {
    let arrivals = format!("{{ at = [{}] }}", ["\"0s\""; 10].join(", "));
    Run::of(&turns("", &format!("max = 2, delay = \"1s\", {bound}"), &arrivals, r#""5s""#), 1)
}

#[test]
fn a_budget_pays_for_hedges() {
    // By hand, in twentieths of a hedge: five at the start, each with one more paid in, leave 4; the 16th call after them
    // pays the next, and then every 20th: numbers 21, 41, 61, 81 and 101.
    let quota = "budget = { quota = { capacity = 100, cost = 20, deposit = 1, refund = 0, retried_refund = 0 } }";
    assert_eq!(hedges(&apart(quota, 105)), [10, 95]);
    // An account that starts empty pays for every fifth call. What was paid in by then is kept for longer than the run.
    let deposits = "budget = { deposits = { ratio = 0.2, per_second = 0, expiry = \"1h\" } }";
    assert_eq!(hedges(&apart(deposits, 20)), [4, 16]);
    // A fifth of ten that are under way is two, or the minimum.
    assert_eq!(hedges(&at_once("budget = { active_share = { share = \"20%\", minimum = 1 } }")), [2, 8]);
    assert_eq!(hedges(&at_once("budget = { active_share = { share = \"20%\", minimum = 3 } }")), [3, 7]);
    // One by one they find their places free again.
    assert_eq!(hedges(&apart("budget = { active_share = { share = \"20%\", minimum = 1 } }", 5)), [5, 0]);
    // A success gives back what the last hedge cost.
    assert_eq!(hedges(&apart("budget = { quota = { capacity = 10, cost = 10 } }", 5)), [5, 0]);
    assert_eq!(hedges(&apart("budget = { quota = { capacity = 10, cost = 10, retried_refund = 0 } }", 5)), [1, 4]);
}

#[test]
fn a_throttle_hears_of_every_failure_and_stops_hedges() {
    // gRFC A6, by hand: ten tokens, each failure takes one, a hedge needs more than five. The first call fails three times,
    // the second twice (the token that leaves exactly five is too many), the third once.
    let layers = r#"{ name = "hedge", hedge = { max = 3, delay = "1s", on = [503], after_failure = "next",
        budget = { throttle = { max_tokens = 10, ratio = 0.1 } } } }"#
        .replace('\n', " ");
    let down = "faults.down.respond = { status = 503, after = \"100ms\" }";
    let run = |arrivals: &str, down: &str| Run::of(&stack(down, &layers, arrivals, r#""1s""#), 1);
    let three = run(r#"{ at = ["0s", "10s", "20s"] }"#, down);
    assert_eq!((hedges(&three), three.count("classes.turn.requests")), ([3, 2], 6));
    assert_eq!(three.count("classes.turn.suppressed"), 0);
    // A status that ends the hedge costs nothing.
    let fatal = run(r#"{ at = ["0s", "10s", "20s"] }"#, &down.replace("503", "400"));
    assert_eq!((hedges(&fatal), fatal.count("classes.turn.requests")), ([0, 0], 3));
}

#[test]
fn so_many_hedges_may_be_out_at_once() {
    assert_eq!(hedges(&at_once("at_most_out = 3")), [3, 7]);
    assert_eq!(hedges(&apart("at_most_out = 1", 4)), [4, 0]);
    // Each class has its own three where the file says so.
    let classes = |scope: &str| {
        let text = format!(
            "horizon = \"1h\"\n[clients.one]\nlayers = [{{ hedge = {{ max = 2, delay = \"1s\", at_most_out = 3{scope} }} }}]\n"
        );
        let class = |name: &str| {
            format!(
                "[traffic.{name}]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ at = [{}] }}\n\
                 steps = [{{ name = \"say\", input_tokens = 1, latency = \"5s\" }}]\n",
                ["\"0s\""; 4].join(", ")
            )
        };
        let run = Run::of(&read(&(text + &class("a") + &class("b"))), 1);
        ["a", "b"].map(|name| run.count(&format!("classes.{name}.hedges")))
    };
    assert_eq!(classes("").iter().sum::<u64>(), 3);
    assert_eq!(classes(", scope = \"class\""), [3, 3]);
}

#[test]
fn a_hedge_that_may_not_be_sent_leaves_what_has_failed() {
    // By hand: the first request fails after 0.1 s, the next is due at 1 s. The first call's is sent and fails at 1.1 s;
    // the second call, at 10 s, learns at 11 s that its own may not be.
    let layers =
        r#"{ name = "hedge", hedge = { max = 2, delay = "1s", budget = { quota = { capacity = 1, cost = 1 } } } }"#;
    let down = "faults.down.respond = { status = 503, after = \"100ms\" }";
    let scenario = stack(down, layers, r#"{ at = ["0s", "10s"] }"#, r#""1s""#);
    assert_eq!(latencies(&scenario), [1.1, 1.0]);
    let run = Run::of(&scenario, 1);
    assert_eq!((hedges(&run), run.count("classes.turn.responses.503")), ([1, 1], 3));
}

#[test]
fn a_measured_delay_is_unknown_at_first_and_then_what_was_measured() {
    // By hand: answers take 2 s. Nothing is hedged until three are there; or after 1 s until then. When all take 2 s, an
    // answer is there before the hedge of that instant.
    let of = |delay: &str| {
        let arrivals = r#"{ at = ["0s", "10s", "20s", "30s", "40s"] }"#;
        hedges(&Run::of(&turns("", &format!("max = 2, delay = {delay}"), arrivals, r#""2s""#), 1))
    };
    assert_eq!(of("{ quantile = \"50%\", of_last = 3 }"), [0, 0]);
    assert_eq!(of("{ quantile = \"50%\", of_last = 3, at_first = \"1s\" }"), [3, 0]);
    assert_eq!(of("{ quantile = \"50%\", of_last = 3, at_first = \"1s\", after = 1 }"), [1, 0]);
    assert_eq!(of("{ quantile = \"50%\", of_last = 3, at_first = \"1s\", at_least = \"2s\" }"), [0, 0]);
}

#[test]
fn a_measured_quantile_does_not_see_the_losers() {
    // In theory, exponential latency of mean 1 s: a share x of requests is late and hedged. Half of these are won by the
    // first, which takes longer than the delay; half by the hedge, which is measured from its own sending and takes so
    // long with x². So what is measured is later than the delay with x/2 + x³/2, which is 5 % where x is 0.0990, not 0.05.
    let x = (0..60).fold((0.0, 1.0), |(low, high): (f64, f64), _| {
        let x = f64::midpoint(low, high);
        if x / 2.0 + (x * x * x) / 2.0 > 0.05 { (low, x) } else { (x, high) }
    });
    let hedge = "max = 2, delay = { quantile = \"95%\", of_last = 1000 }";
    let scenario = turns("", hedge, r#"{ poisson = "5/s" }"#, SECOND);
    let result = Replicates::of(&scenario, 7, 20);
    let share = result.statistic("phases.steady.classes.turn.requests_per_call").mean - 1.0;
    assert!((share - x.0).abs() < 0.004, "{share}, the formula says {}", x.0);
}

#[test]
fn hedges_within_retries_multiply_as_explain_says() {
    // By hand: three attempts of two requests each; a budget bounds all hedges, not those of one call.
    let layers = |bound: &str| {
        format!(
            r#"{{ name = "hedge", hedge = {{ max = 2, delay = "0s"{bound} }} }}, {{ name = "sdk", max_attempts = 3, retry_on = [503] }}"#
        )
    };
    let down = "faults.down.respond = { status = 503, after = \"100ms\" }";
    let of = |bound: &str| {
        let scenario = stack(down, &layers(bound), r#"{ at = ["0s"] }"#, r#""1s""#);
        let run = Run::of(&scenario, 1);
        let most = explain(&scenario).classes[0].worst.per_task;
        (run.count("classes.turn.requests"), most, hedges(&run))
    };
    assert_eq!(of(""), (6, Some(6), [3, 0]));
    assert_eq!(of(", budget = { quota = { capacity = 2, cost = 1 } }"), (5, Some(6), [2, 1]));
}

#[test]
fn what_a_hedges_bounds_cannot_be_is_refused() {
    let said = |hedge: &str| {
        let text = format!(
            "horizon = \"1h\"\n[clients.one]\nlayers = [{{ hedge = {{ max = 2, {hedge} }} }}]\n[traffic.turn]\n\
             kind = \"turns\"\nclient = \"one\"\narrivals = {{ at = [\"0s\"] }}\n\
             steps = [{{ name = \"say\", input_tokens = 1, latency = \"5s\" }}]\n"
        );
        match load(&Source::new("hedge.toml", &text)) {
            Err(Refusal::Faulty { faults, .. }) => {
                let words =
                    faults.into_iter().map(|fault| format!("{}: {}", fault.message, fault.hint.unwrap_or_default()));
                words.collect::<Vec<_>>().join("; ")
            }
            Ok(_) => "accepted".to_owned(),
            other => panic!("{hedge}: {other:#?}"),
        }
    };
    let measured = |more: &str| said(&format!("delay = {{ {more} }}"));
    for (said, expected) in [
        (said("delay = \"1s\", at_most_out = 0"), "must be"),
        (said("delay = \"1s\", at_most = 3"), "at_most_out"),
        (said("delay = \"1s\", scope = \"class\""), "says nothing: nothing of this hedge is shared but its budget"),
        (said("delay = \"1s\", at_most_out = 1, scope = \"worker\""), "each would count the hedges of `hedge` alone"),
        (said("delay = \"1s\", at_most_out = 1, scope = \"global\""), "is none of the known words"),
        (
            said("delay = \"1s\", budget = { quota = {}, scope = \"worker\" }"),
            "each would have its own budget of `hedge`",
        ),
        (
            said("delay = \"1s\", budget = { throttle = { max_tokens = 1, ratio = 1, checked = \"after_wait\" } }"),
            "leave `checked` out",
        ),
        (measured("quantile = \"0%\", of_last = 9"), "must be more than 0"),
        (measured("quantile = \"101%\", of_last = 9"), "must"),
        (measured("quantile = \"95%\""), "write how many of the latest answers are looked at"),
        (measured("of_last = 9"), "write the share of answers that are there by then"),
        (measured("quantile = \"95%\", of_last = 1001"), "must"),
        (measured("quantile = \"95%\", of_last = 9, after = 10"), "must"),
        (measured("quantile = \"95%\", of_last = 9, at_lest = \"1s\""), "at_least"),
        (measured("quantile = \"95%\", of_last = 9, at_least = \"1s\", after = 1, at_first = \"0s\""), "accepted"),
        (said("delay = \"1s\", at_most_out = 1, budget = \"none\""), "accepted"),
    ] {
        assert!(said.contains(expected), "{said}: {expected}");
    }
}
