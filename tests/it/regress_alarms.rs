//! How often a check calls equal policies worse, and whether it catches one retry more. Each scenario meets many seeds
//! once; disjoint sets of them are what two commits would have measured, so that a pair of sets is a check.
//!
//! `ALARM_PAIRS=200` asks for so many pairs over all shipped scenarios but the longest, as `.ci/full` does; without it a few
//! pairs over the small ones are looked at.

use std::sync::atomic::AtomicBool;

use retrycast::experiment::regress::{Baseline, Case, Check, Column, Now, Outcome, Recorded, Tolerances};
use retrycast::experiment::{Arm, Measure, Plan, Terms, Trial};
use retrycast::random::Seed;
use retrycast::scenario::Scenario;

use super::stage::{all_shipped, shipped};

/// The seeds of a set, as in the baseline that this project keeps.
const SEEDS: usize = 25;

/// The scenarios whose runs are too long to be drawn thousands of times.
const LARGE: [&str; 6] =
    ["breaker_at_saturation", "budget_each", "dead_letters", "late_line", "pacer_outside", "runs_twice"];

/// How many pairs are asked for.
fn asked() -> Option<usize> {
    std::env::var("ALARM_PAIRS").ok().map(|text| text.parse().expect("ALARM_PAIRS is a number"))
}

/// A scenario under many seeds.
struct Measured {
    whole: Recorded,
    measures: Vec<Measure>,
}

fn measured(scenario: &Scenario, seed: u64, replicates: usize) -> Measured {
    let never = AtomicBool::new(false);
    let plan = Plan::new(Seed(seed), Terms::new(&never));
    let arm = Arm { name: "one", scenario };
    let trial = Trial::run(&[arm], replicates as u64, plan).unwrap();
    let whole = Recorded::of(format!("scenarios/{}.toml", scenario.name), scenario, Vec::new(), &trial);
    Measured { whole, measures: trial.measures }
}

impl Measured {
    /// The numbers of the set of this index. Digests would tell sets apart, and are those of no set.
    fn set(&self, index: usize, digest: u64) -> Recorded {
        let seeds = index * SEEDS..(index + 1) * SEEDS;
        let column =
            |column: &Column| Column { path: column.path.clone(), values: column.values[seeds.clone()].to_vec() };
        Recorded {
            columns: self.whole.columns.iter().map(column).collect(),
            digest,
            world_digest: 0,
            ..self.whole.clone()
        }
    }

    fn now(&self, index: usize, digest: u64) -> Now {
        Now { recorded: self.set(index, digest), measures: self.measures.clone() }
    }
}

/// The check of some sets against others; with the seed of the baseline they are compared seed by seed.
fn check(before: Vec<Recorded>, after: &[Now], seed: u64, tolerances: &Tolerances) -> Check {
    let n = SEEDS as u64;
    let baseline = Baseline { program: String::new(), seed: 1, replicates: n, sources: Vec::new(), recorded: before };
    Check::of(&baseline, after, (seed, n), tolerances, &|_| true)
}

fn count(case: &Case, outcome: Outcome) -> usize {
    case.with(outcome).len()
}

/// Whether something was called worse, better or moved, however little of it is tolerated.
fn has_moved(check: &Check) -> bool {
    let moved = [Outcome::Worse, Outcome::Better, Outcome::Moved, Outcome::Tolerated];
    check.cases.iter().any(|case| moved.iter().any(|outcome| count(case, *outcome) > 0))
}

#[test]
#[expect(clippy::print_stdout, reason = "these figures are what `.ci/full` is asked for")]
fn equal_policies_are_called_worse_in_at_most_one_of_fifty_checks() {
    let pairs = asked().unwrap_or(3);
    let is_short = |name: &str| !LARGE.contains(&name) && (asked().is_some() || name != "report_storm");
    let small = |scenario: &Scenario| is_short(&scenario.name);
    let all: Vec<Measured> = all_shipped()
        .iter()
        .filter(|scenario| small(scenario))
        .map(|own| measured(own, 11, 2 * pairs * SEEDS))
        .collect();
    let numbers: usize = all.iter().map(|own| own.measures.len()).sum();
    let (mut failed, mut moved) = (0, 0);
    for pair in 0..pairs {
        let before = all.iter().map(|own| own.set(2 * pair, 1)).collect();
        let after: Vec<Now> = all.iter().map(|own| own.now(2 * pair + 1, 2)).collect();
        let check = check(before, &after, 2, &Tolerances::default());
        assert!(check.family > numbers / 6, "{} of {numbers} numbers could move", check.family);
        failed += usize::from(check.is_failure());
        moved += usize::from(has_moved(&check));
    }
    println!(
        "{pairs} pairs of equal policies, {SEEDS} seeds each, {numbers} numbers of {} variants: {failed} called worse, \
         {moved} with any number that seems to have moved at all",
        all.len()
    );
    assert!(50 * failed <= pairs && 50 * moved <= pairs, "{failed} and {moved} of {pairs}");
}

/// One retry more in the SDK of the storm, in 50 of 200 pairs, among all that nothing changed in.
#[test]
#[expect(clippy::print_stdout, reason = "these figures are what `.ci/full` is asked for")]
fn one_retry_more_is_caught_and_named_every_time() {
    let pairs = asked().map_or(2, |pairs| pairs.div_ceil(4));
    let set = ["clients.batch.layers.sdk.max_retries=3"];
    let is_small = |own: &Scenario| asked().is_some() || ["one_layer", "shared_limit"].contains(&own.name.as_str());
    let others: Vec<Measured> = all_shipped()
        .iter()
        .filter(|own| own.name != "report_storm" && !LARGE.contains(&own.name.as_str()) && is_small(own))
        .map(|own| measured(own, 13, 2 * pairs * SEEDS))
        .collect();
    let old = measured(&shipped("report_storm", "before", &[]), 13, 2 * pairs * SEEDS);
    let new = measured(&shipped("report_storm", "before", &set), 13, 2 * pairs * SEEDS);
    // The slowest report waits for more retries: it was 17.5 minutes, the independent program has 18.4 for `none`.
    let named = |check: &Check| {
        let failing: Vec<&Case> = check.cases.iter().filter(|case| case.is_failure()).collect();
        let [case] = failing.as_slice() else { return false };
        let paths: Vec<String> = case.failures().iter().map(|row| row.measure.path()).collect();
        case.file == "scenarios/report_storm.toml"
            && case.variant == "before"
            && paths.iter().any(|path| path == "classes.report.latency_s.max")
            && paths.iter().any(|path| path == "recovery.total_s")
    };
    let (mut unpaired, mut paired, mut fewest) = (0, 0, usize::MAX);
    for pair in 0..pairs {
        let sets = |index: usize, digest: u64| others.iter().map(move |own| own.now(index, digest));
        let before: Vec<Recorded> = sets(2 * pair, 1).map(|now| now.recorded).chain([old.set(2 * pair, 1)]).collect();
        let after: Vec<Now> = sets(2 * pair + 1, 2).chain([new.now(2 * pair + 1, 2)]).collect();
        let found = check(before.clone(), &after, 2, &Tolerances::default());
        unpaired += usize::from(named(&found));
        fewest = fewest.min(found.cases.iter().map(|case| case.failures().len()).sum());
        let after: Vec<Now> = sets(2 * pair, 1).chain([new.now(2 * pair, 2)]).collect();
        paired += usize::from(named(&check(before, &after, 1, &Tolerances::default())));
    }
    println!(
        "one retry more, {pairs} pairs, {SEEDS} seeds each: caught and named in {unpaired} with other seeds, in {paired} \
         with the same; at least {fewest} numbers each time"
    );
    assert_eq!((unpaired, paired), (pairs, pairs));
}
