//! Ablation: the table of combinations comes out as a program that shares nothing with this one found it.

use std::sync::atomic::AtomicBool;

use retrycast::experiment::ablate::combinations;
use retrycast::experiment::{Ablation, Plan, Replicates, Terms};
use retrycast::random::Seed;
use retrycast::scenario::Scenario;

use super::compare::{mean, row};
use super::stage::{fixed, shipped};

/// The fixes of the storm.
pub(super) const FIXES: [&str; 5] = ["one_layer", "own_clients", "slow_retries", "breaker", "budget"];

/// Takes the fixes of the storm apart, on a variant.
pub(super) fn ablated(variant: &str, fixes: &[&str], every: bool, seeds: u64, threads: Option<usize>) -> Ablation {
    let names: Vec<String> = fixes.iter().map(|name| (*name).to_owned()).collect();
    let combinations = combinations(names.len(), every);
    let scenarios: Vec<Scenario> = combinations
        .iter()
        .map(|combination| {
            let on: Vec<&str> = (0..fixes.len()).filter(|fix| combination.has(*fix)).map(|fix| fixes[fix]).collect();
            fixed("report_storm", variant, &on)
        })
        .collect();
    let never = AtomicBool::new(false);
    let plan = Plan { threads, ..Plan::new(Seed(1), Terms::new(&never)) };
    Ablation::run(&names, &combinations, &scenarios, Replicates::Exactly(seeds), plan).unwrap()
}

#[test]
fn all_fixes_together_are_the_variant_with_the_fixes() {
    let all = fixed("report_storm", "before", &FIXES);
    assert_eq!(Scenario { variant: "after".to_owned(), ..all }, shipped("report_storm", "after", &[]));
}

/// A row of the independent table: amplification of the window, failed reports, the slowest delivered in minutes, live
/// turns with a 429 in the six minutes after in percent, and in all.
type Found = (&'static str, [f64; 5]);

/// Means of 400 seeds, one overload, a bucket of 20 s, arrivals of 140 on average.
pub(super) const INDEPENDENT: [Found; 12] = [
    ("none", [9.3, 81.0, 18.4, 18.1, 100.0]),
    ("only one_layer", [3.0, 141.0, 0.9, 0.0, 0.0]),
    ("only own_clients", [8.7, 33.0, 27.2, 18.9, 181.0]),
    ("only slow_retries", [9.0, 48.0, 23.3, 19.6, 157.0]),
    ("only breaker", [1.1, 15.0, 31.9, 18.5, 231.0]),
    ("only budget", [4.8, 16.0, 31.4, 0.3, 14.0]),
    ("all but one_layer", [1.6, 0.0, 37.8, 0.3, 19.0]),
    ("all but own_clients", [1.6, 5.2, 33.2, 0.3, 16.0]),
    ("all but slow_retries", [1.7, 20.0, 30.8, 0.3, 16.0]),
    ("all but breaker", [3.7, 109.0, 14.5, 0.0, 0.0]),
    ("all but budget", [1.5, 19.0, 32.7, 18.2, 184.0]),
    ("all", [1.7, 0.9, 35.5, 0.3, 19.0]),
];

#[test]
fn the_table_of_combinations_is_the_independent_one() {
    let ablation = ablated("short_bucket", &FIXES, false, 30, None);
    let comparison = &ablation.comparison;
    for (arm, (name, [amplification, failed, slowest, after, in_all])) in INDEPENDENT.into_iter().enumerate() {
        assert_eq!(ablation.combinations[arm].name(&ablation.fixes), name);
        assert!(comparison.is_same_world(arm), "{name}");
        // About three standard errors of a mean of 30 seeds, whose widths the independent table gives.
        for (path, unit, independent, tolerance) in [
            ("phases.overload.classes.report.amplification", 1.0, amplification, 0.45),
            ("classes.report.failed", 1.0, failed, 6.0),
            ("classes.report.latency_s.max", 60.0, slowest, 1.9),
            ("phases.recovery.classes.live.tasks_with_429_share", 0.01, after, 3.2),
            ("classes.live.tasks_with_429", 1.0, in_all, 28.0),
        ] {
            let found = mean(comparison, arm, path) / unit;
            assert!((found - independent).abs() <= tolerance, "{name}, {path}: {found}, independent {independent}");
        }
    }
    // What is added last is the whole less all but that; the parts and the interaction make up the whole.
    let failed = row(comparison, "classes.report.failed");
    let of = |paired: &retrycast::stats::Paired| paired.difference.as_ref().unwrap().mean;
    let own = &ablation.contributions[failed];
    let (all, none) = (mean(comparison, 11, "classes.report.failed"), mean(comparison, 0, "classes.report.failed"));
    assert!((of(&own[3].last) - (all - mean(comparison, 9, "classes.report.failed"))).abs() < 1e-9);
    let parts: f64 = own.iter().map(|one| of(&one.alone)).sum();
    let interaction = ablation.interactions[failed].as_ref().unwrap().mean;
    assert!((parts + interaction - (all - none)).abs() < 1e-9);
    assert!(own[0].shapley.is_none(), "not every combination was run");
}

#[test]
fn worths_over_all_orders_add_up_to_the_whole() {
    let ablation = ablated("before", &["one_layer", "breaker", "budget"], true, 4, None);
    assert_eq!(ablation.combinations.len(), 8);
    let comparison = &ablation.comparison;
    for path in ["phases.overload.classes.report.amplification", "classes.report.failed"] {
        let own = &ablation.contributions[row(comparison, path)];
        let worths: f64 = own.iter().map(|one| one.shapley.as_ref().unwrap().mean).sum();
        let whole = mean(comparison, ablation.all_arm(), path) - mean(comparison, 0, path);
        assert!((worths - whole).abs() < 1e-9, "{path}: {worths} {whole}");
    }
}

#[test]
fn threads_change_nothing_of_an_ablation() {
    let of = |threads| {
        let ablation = ablated("before", &["breaker", "budget"], true, 2, Some(threads));
        format!("{:?} {:?}", ablation.contributions, ablation.interactions)
    };
    assert_eq!(of(1), of(5));
}
