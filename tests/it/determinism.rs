//! The same seed gives the same bytes, whatever the number of threads, and a change of policy moves nothing of the
//! world: no arrival, no token count, no latency and no fault draw.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use retrycast::experiment::{self, RunResult};
use retrycast::policy::Outcome;
use retrycast::provider::AnsweredBy;
use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use retrycast::sim::{Fact, simulate, simulate_observed};
use retrycast::units::{SimDuration, SimTime};
use snapbox::{assert_data_eq, file};

use super::stage::{Recorder, all_shipped, facts, name, shipped};

fn replicates(scenario: &Scenario, seed: u64, n: u64, threads: usize) -> RunResult {
    experiment::run(scenario, Seed(seed), Some(n), Some(threads), experiment::Terms::new(&AtomicBool::new(false)))
        .unwrap()
}

#[cfg(feature = "cli")]
#[test]
fn one_two_and_seven_threads_give_the_same_bytes() {
    use retrycast::report::{Subject, json};
    for (stem, variant) in [("report_storm", "before"), ("report_storm", "after"), ("shared_limit", "unpaced")] {
        let scenario = shipped(stem, variant, &[]);
        let bytes = |threads| json::text(&Subject::new(&scenario, &replicates(&scenario, 5, 15, threads)));
        let one = bytes(1);
        assert!(one.len() > 1_000);
        assert!(one == bytes(2) && one == bytes(7), "{stem} {variant}: seed 5, 15 replicates");
    }
}

#[test]
fn digests_of_shipped_scenarios_are_the_stored_ones() {
    let mut text = String::from("# scenario, seed, digest, world_digest; renewed by SNAPSHOTS=overwrite cargo test\n");
    for scenario in all_shipped() {
        for seed in 1..=3 {
            let outcome = simulate(&scenario, Seed(seed));
            writeln!(text, "{} {seed} {:016x} {:016x}", name(&scenario), outcome.digest, outcome.world_digest).unwrap();
        }
    }
    assert_data_eq!(text, file!["../golden/digests.txt"].raw());
}

#[test]
fn who_watches_changes_nothing() {
    for scenario in all_shipped() {
        let watched = simulate_observed(&scenario, Seed(4), &mut Recorder::default());
        let alone = simulate(&scenario, Seed(4));
        assert_eq!((watched.digest, watched.world_digest), (alone.digest, alone.world_digest), "{}", name(&scenario));
    }
}

#[test]
fn neighbouring_seeds_share_nothing() {
    let scenario = shipped("report_storm", "before", &[]);
    let arrivals = |seed| -> Vec<SimTime> {
        let arrival = |fact: Fact| if let Fact::TaskArrived { at, .. } = fact { Some(at) } else { None };
        facts(&scenario, seed).into_iter().filter_map(arrival).collect()
    };
    let (one, two) = (arrivals(1), arrivals(2));
    assert!(one.iter().all(|at| two.binary_search(at).is_err()));
}

/// The storm under policies that differ as far as policies can.
fn policies() -> Vec<Scenario> {
    let before = |sets: &[&str]| shipped("report_storm", "before", sets);
    vec![
        before(&[]),
        shipped("report_storm", "after", &[]),
        before(&["clients.batch.layers.sdk.max_retries=0"]),
        before(&["clients.batch.layers.decorator.off=true", "clients.live.layers.app.off=true"]),
        before(&["traffic.report.workers=3", "clients.batch.layers.queue.resume=failed_step"]),
        before(&["clients.batch.layers.breaker.off=false", "guards.breaker.breaker.when_open=hold"]),
        before(&["clients.live.layers.sdk.jitter=full", "clients.batch.layers.queue.max=7"]),
    ]
}

#[test]
fn the_world_digest_is_equal_across_policies_and_differs_across_worlds() {
    let world = |scenario: &Scenario, seed| simulate(scenario, Seed(seed)).world_digest;
    for seed in 1..=2 {
        let before = world(&shipped("report_storm", "before", &[]), seed);
        for scenario in policies() {
            assert_eq!(world(&scenario, seed), before, "{} {scenario:#?}", name(&scenario));
        }
        let mild = world(&shipped("report_storm", "mild_before", &[]), seed);
        assert_eq!(world(&shipped("report_storm", "mild_after", &[]), seed), mild);
        let shared = |variant| world(&shipped("shared_limit", variant, &[]), seed);
        assert_eq!(shared("unpaced"), shared("paced"));
        let others = [
            "provider.faults.overload.probability=0.9",
            "provider.limits.itpm.amount=710k",
            "provider.faults.background.respond.status=502",
            "traffic.live.arrivals.poisson=58/min",
            "traffic.report.steps.write.latency=7s",
            "traffic.report.steps.write.input_tokens=12k",
            "traffic.report.enqueue_delay=17s",
        ];
        for set in others {
            assert_ne!(world(&shipped("report_storm", "before", &[set]), seed), before, "{set}");
        }
        assert_ne!(mild, before);
    }
    let scenario = shipped("report_storm", "before", &[]);
    assert_eq!(replicates(&scenario, 1, 4, 2).world_digest, replicates(&policies()[1], 1, 4, 2).world_digest);
}

/// What the world decided about one request.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drawn {
    input_tokens: u32,
    sent: SimTime,
    lasted: SimDuration,
    timed_out: bool,
    by: AnsweredBy,
}

/// Class, task, step, number of the request among the task's requests for the step.
type Which = (u16, u32, u8, u32);

/// Arrivals by class and task, and draws by request.
fn world(scenario: &Scenario, seed: u64) -> (BTreeMap<(u16, u32), SimTime>, BTreeMap<Which, Drawn>) {
    let (mut arrivals, mut draws) = (BTreeMap::new(), BTreeMap::new());
    for fact in facts(scenario, seed) {
        match fact {
            Fact::TaskArrived { class, task, at } => assert_eq!(arrivals.insert((class, task), at), None),
            Fact::RequestEnded { class, task, step, ordinal, sent, at, answer, by, input_tokens, .. } => {
                let timed_out = answer.outcome == Outcome::TimedOut;
                let fate = Drawn { input_tokens, sent, lasted: at - sent, timed_out, by };
                assert_eq!(draws.insert((class, task, step, ordinal), fate), None, "a request is counted once");
            }
            Fact::TaskEnded { .. } => {}
        }
    }
    (arrivals, draws)
}

#[test]
fn a_policy_moves_no_arrival_no_token_and_no_fault_draw() {
    let window = shipped("report_storm", "before", &[]).provider.faults[0].window.unwrap();
    let (arrivals, draws) = world(&policies()[0], 11);
    for scenario in &policies()[1..] {
        let (other_arrivals, other_draws) = world(scenario, 11);
        assert_eq!(other_arrivals, arrivals);
        let mut compared = 0;
        for (which, other) in &other_draws {
            let Some(first) = draws.get(which) else { continue };
            assert_eq!(other.input_tokens, first.input_tokens, "{which:?}");
            // In and out of the window the probabilities are constant, so that equal draws mean equal fates there. A
            // limit answers by its level and a timeout by policy: neither is drawn.
            let same_time = window.contains(other.sent) == window.contains(first.sent);
            let drawn_alone = |d: &Drawn| !matches!(d.by, AnsweredBy::Limit(_)) && !d.timed_out;
            if same_time && drawn_alone(other) && drawn_alone(first) {
                compared += 1;
                assert_eq!((other.by, other.lasted), (first.by, first.lasted), "{which:?}");
            }
        }
        assert!(compared > 3_000, "{compared}");
    }
}

#[test]
fn a_fault_that_grows_milder_spares_requests_and_strikes_no_other() {
    let at = |p: &str| {
        let set = format!("provider.faults.background.probability={p}");
        let calm = "provider.faults.overload.probability=0";
        let scenario = shipped("report_storm", "before", &[&set, calm, "provider.faults.overload.by_class.live=0"]);
        world(&scenario, 12).1
    };
    let (mild, harsh) = (at("0.05"), at("0.2"));
    let struck = |draws: &BTreeMap<Which, Drawn>, which| matches!(draws[which].by, AnsweredBy::Fault(_));
    let both: Vec<&Which> = mild.keys().filter(|which| harsh.contains_key(*which)).collect();
    assert!(both.iter().filter(|which| struck(&mild, **which)).count() > 200);
    assert!(both.iter().all(|which| !struck(&mild, which) || struck(&harsh, which)));
}
