//! Sweeps against theory: a curve that is known, and how often an interval covers it.

use std::sync::atomic::AtomicBool;

use retrycast::experiment::axis::{Axis, Quantity, Value};
use retrycast::experiment::measure::measures;
use retrycast::experiment::{Grid, Plan, Replicates, Sweep, Terms};
use retrycast::random::Seed;
use retrycast::scenario::Scenario;

use super::stage::read;

/// A hundred turns of one call each, of which every request fails with a probability, and how often it is tried.
fn turns(attempts: u32, failing: f64) -> Scenario {
    read(&format!(
        r#"
        horizon = "10m"
        [provider.faults.broken]
        probability = {failing}
        respond = {{ status = 503 }}
        [clients.c]
        layers = [{{ name = "sdk", max_attempts = {attempts}, retry_on = "any" }}]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = {{ count = 100, from = "0s", until = "1m" }}
        steps = [{{ name = "call", input_tokens = 1, latency = "100ms" }}]
        "#
    ))
}

fn axis(path: &str, values: &[f64]) -> Axis {
    let value = |number: &f64| Value { text: number.to_string(), number: Some(*number) };
    let values = values.iter().map(value).collect();
    Axis { paths: vec![path.to_owned()], quantity: Quantity::Number, values, span: None }
}

/// Sweeps attempts, and perhaps failures, with this seed.
fn sweep(attempts: &[u32], failing: &[f64], replicates: Replicates, seed: u64) -> Sweep {
    let numbers: Vec<f64> = attempts.iter().map(|n| f64::from(*n)).collect();
    let mut axes = vec![axis("clients.c.layers.sdk.max_attempts", &numbers)];
    if failing.len() > 1 {
        axes.push(axis("provider.faults.broken.probability", failing));
    }
    let points: Vec<Scenario> = attempts.iter().flat_map(|n| failing.iter().map(|p| turns(*n, *p))).collect();
    let grid = Grid { axes: &axes, points: &points, base: &points[0] };
    let (scenarios, _) = grid.scenarios();
    let measured: Vec<_> = measures(&scenarios).into_iter().filter(|measure| measure.key == "amplification").collect();
    assert_eq!(measured.len(), 1);
    let never = AtomicBool::new(false);
    Sweep::run(grid, &measured, replicates, Plan::new(Seed(seed), Terms::new(&never))).unwrap()
}

/// The requests for each call when each fails with probability `p` and there are at most `n`: 1 + p + … + pⁿ⁻¹.
fn theory(n: u32, p: f64) -> f64 {
    (0..n).map(|k| (0..k).map(|_| p).product::<f64>()).sum()
}

#[test]
fn amplification_over_attempts_and_failures_is_the_geometric_sum() {
    let (attempts, failing) = ([1, 2, 3, 5], [0.1, 0.4, 0.8]);
    let sweep = sweep(&attempts, &failing, Replicates::Exactly(40), 3);
    for (i, n) in attempts.into_iter().enumerate() {
        for (j, p) in failing.into_iter().enumerate() {
            let point = &sweep.points[sweep.point(&[i, j])];
            assert_eq!(point.at, [i, j]);
            let statistic = point.cells[0].statistic.as_ref().unwrap();
            // Four standard errors: twelve points all lie within them in 999 of 1,000 sweeps.
            let error = 4.0 * statistic.sd.unwrap() / 40_f64.sqrt() + 1e-12;
            let (mean, formula) = (statistic.mean, theory(n, p));
            assert!((mean - formula).abs() <= error, "{n} attempts, {p}: {mean}, the formula says {formula}");
            assert!(error <= 0.1 * formula);
        }
    }
    // The first point is the file as it stands, and stands there once.
    assert_eq!((sweep.reference, sweep.points.len(), sweep.grid), (0, 12, 12));
}

#[test]
fn the_intervals_of_a_point_and_of_a_difference_cover_the_truth_in_about_95_of_100_sweeps() {
    const SWEEPS: u64 = 300;
    let (attempts, failing) = ([2, 4], 0.5);
    let [low, high] = attempts.map(|n| theory(n, failing));
    let mut covered = [0, 0];
    for seed in 0..SWEEPS {
        let sweep = sweep(&attempts, &[failing], Replicates::Exactly(10), 1_000 + seed);
        let of_point = sweep.points[1].cells[0].statistic.as_ref().unwrap().ci95.unwrap();
        let paired = sweep.paired(0, 0, 1).difference.unwrap().ci95.unwrap();
        for (found, ((from, to), truth)) in covered.iter_mut().zip([(of_point, high), (paired, high - low)]) {
            *found += u64::from((from..=to).contains(&truth));
        }
    }
    // 95 % of 300 are 285; three standard errors are 11.
    for found in covered {
        assert!((274..=296).contains(&found), "{covered:?} of {SWEEPS}");
    }
}

#[test]
fn seeds_are_added_until_the_headlines_are_narrow() {
    // A single turn's amplification has a standard deviation of 0.88, so a hundred have one of 0.088: 25 seeds leave half
    // an interval of 0.036, which is less than 5 % of 1.875.
    let sure = sweep(&[4], &[0.5], Replicates::UntilSure(400), 9);
    assert_eq!((sure.is_sure, sure.replicates), (Some(true), 25));
    let counted = sweep(&[4], &[0.5], Replicates::Exactly(7), 9);
    assert_eq!((counted.is_sure, counted.replicates), (None, 7));
}
