//! Replicates: the same scenario with seeds that share nothing, in parallel.
//!
//! One row of numbers is kept for each replicate, eight bytes a number, and nothing else; statistics come last and in
//! the order of replicates, so that any number of threads gives the same bytes.

use super::result::{Band, Figure, RunResult};
use super::rows::in_parallel;
use super::tracks::{Track, tracks};
use super::watch::{Stopped, Terms, unobserved};
use crate::metrics::{Number, Tree, summarize};
use crate::observe::{Outcome, Timeline};
use crate::random::Seed;
use crate::scenario::Scenario;
use crate::stats::{Statistic, quantile};
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs a scenario once, or `replicates` times on `threads` threads (`None`: one for each core).
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    replicates: Option<u64>,
    threads: Option<usize>,
    terms: Terms<'_>,
) -> Result<RunResult, Stopped> {
    let first = unobserved(scenario, seed, terms)?;
    (terms.progress)(1.0);
    if terms.is_interrupted() {
        return Err(Stopped::Interrupted);
    }
    let tree = summarize(scenario, &first);
    let tracks = tracks(scenario, seed, &first.timeline, terms)?;
    let Some(n) = replicates else { return Ok(single(seed, &tree, first, tracks)) };
    let others = rows(scenario, seed, n, threads, terms)?;
    Ok(RunResult { tracks, ..over_replicates(seed, n, &tree, first, &others) })
}

/// The result of one run.
pub(super) fn single(seed: Seed, tree: &Tree<Number>, outcome: Outcome, tracks: Vec<Track>) -> RunResult {
    RunResult {
        seed,
        replicates: None,
        digest: outcome.digest,
        world_digest: outcome.world_digest,
        figures: tree.map(&mut |number| Figure::One(*number)),
        timeline: outcome.timeline,
        alerts: outcome.alerts,
        share_429_bands: Vec::new(),
        queue_bands: Vec::new(),
        tracks,
    }
}

/// What is kept of one replicate.
struct Row {
    digest: u64,
    world_digest: u64,
    numbers: Box<[f64]>,
    /// For each class, then each wide bin: share with a 429, then queue.
    series: Box<[f32]>,
}

impl Row {
    fn of(tree: &Tree<Number>, outcome: &Outcome) -> Row {
        Row {
            digest: outcome.digest,
            world_digest: outcome.world_digest,
            numbers: tree.leaves().into_iter().map(|number| number.value).collect(),
            series: wide_series(&outcome.timeline),
        }
    }
}

/// Rows of replicates 1 to `n − 1`.
fn rows(
    scenario: &Scenario,
    seed: Seed,
    n: u64,
    threads: Option<usize>,
    terms: Terms<'_>,
) -> Result<Vec<Row>, Stopped> {
    let done = AtomicU64::new(1);
    let one = |k: u64| {
        if terms.is_interrupted() {
            return Err(Stopped::Interrupted);
        }
        let run = unobserved(scenario, seed.replicate(k), terms.quietly());
        let outcome = run.map_err(|why| why.of_replicate(k))?;
        let row = Row::of(&summarize(scenario, &outcome), &outcome);
        (terms.progress)((done.fetch_add(1, Ordering::Relaxed) + 1) as f64);
        Ok(row)
    };
    in_parallel((1..n).collect(), threads, one)
}

fn over_replicates(seed: Seed, n: u64, tree: &Tree<Number>, first: Outcome, others: &[Row]) -> RunResult {
    let head = Row::of(tree, &first);
    let all: Vec<&Row> = std::iter::once(&head).chain(others).collect();
    let mut leaf = 0;
    let figures = tree.map(&mut |number| {
        let values: Vec<f64> = all.iter().map(|row| row.numbers[leaf]).collect();
        leaf += 1;
        Figure::Many { statistic: Statistic::of(&values), whole: number.whole }
    });
    let (share_429_bands, queue_bands) = bands(&first.timeline, &all);
    RunResult {
        seed,
        replicates: Some(n),
        digest: all.iter().fold(0, |sum, row| row.digest.wrapping_add(sum)),
        world_digest: all.iter().fold(0, |sum, row| row.world_digest.wrapping_add(sum)),
        figures,
        timeline: first.timeline,
        alerts: first.alerts,
        share_429_bands,
        queue_bands,
        tracks: Vec::new(),
    }
}

/// The series that bands are drawn of.
fn wide_series(timeline: &Timeline) -> Box<[f32]> {
    let mut out = Vec::with_capacity(timeline.classes.len() * timeline.wides * 2);
    for class in &timeline.classes {
        out.extend((0..timeline.wides).map(|bin| class.share_with_429(bin).map_or(f32::NAN, |share| share as f32)));
        out.extend((0..timeline.wides).map(|bin| timeline.wide_peak(&class.queue, bin) as f32));
    }
    out.into_boxed_slice()
}

fn bands(timeline: &Timeline, rows: &[&Row]) -> (Vec<Band>, Vec<Band>) {
    let band = |at: usize| {
        let mut band = Band::default();
        for bin in 0..timeline.wides {
            let mut values: Vec<f64> = rows.iter().map(|row| f64::from(row.series[at + bin])).collect();
            values.retain(|value| !value.is_nan());
            values.sort_unstable_by(f64::total_cmp);
            band.p5.push(quantile::quantile(&values, 0.05).unwrap_or(f64::NAN));
            band.p95.push(quantile::quantile(&values, 0.95).unwrap_or(f64::NAN));
        }
        band
    };
    let starts = (0..timeline.classes.len()).map(|class| class * timeline.wides * 2);
    starts.map(|start| (band(start), band(start + timeline.wides))).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_lowest_replicate_that_does_not_end_is_named_whatever_the_threads() {
        // A call comes in 60 % of the runs or so, and whoever calls repeats it every nanosecond.
        let text = "horizon = \"1h\"\n[provider.faults.down]\nrespond = { status = 503, after = \"1ns\" }\n\
            [clients.wild]\nlayers = [{ name = \"sdk\", max_attempts = \"unlimited\", retry_on = \"any\", backoff = { fixed = \"1ns\" } }]\n\
            [traffic.wild]\nkind = \"turns\"\nclient = \"wild\"\narrivals = { poisson = \"1/h\" }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";
        let scenario = load(&Source::new("wild.toml", text)).unwrap();
        let never = AtomicBool::new(false);
        let terms = Terms { most_requests: 20_000, ..Terms::new(&never) };
        let ends = |seed: Seed| unobserved(&scenario, seed, terms).is_ok();
        let seed = (0..1_000)
            .map(Seed)
            .find(|seed| ends(*seed) && ends(seed.replicate(1)) && ends(seed.replicate(2)))
            .unwrap();
        let first = (1..100).find(|k| !ends(seed.replicate(*k))).unwrap();
        for threads in [1, 2, 7] {
            match run(&scenario, seed, Some(first + 20), Some(threads), terms) {
                Err(Stopped::Endless(endless)) => assert_eq!(endless.replicate, first),
                other => panic!("{:?}", other.map(|_| ())),
            }
        }
    }
}
