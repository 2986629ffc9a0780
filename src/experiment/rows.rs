//! Rows: what is kept of each run of an experiment, eight bytes a number. A row is a function of a scenario, of what is
//! measured and of a seed, and of nothing else, so a finished one may be put aside and taken up again: an experiment
//! that was killed goes on where it stopped and ends with the same bytes.

use super::measure::{Measure, values};
use super::trial::{Halted, Plan};
use super::watch::{Stopped, Terms, unobserved};
use crate::random::Seed;
use crate::scenario::Scenario;
use rayon::prelude::*;
use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What is kept of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The digest of what the run did.
    pub digest: u64,
    /// The digest of the world that it met.
    pub world_digest: u64,
    /// The values of all measures. NaN is a number that is not defined there, infinity a time that is never.
    pub values: Box<[f64]>,
}

/// Which run a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The mark of the scenario and of what is measured.
    pub mark: u128,
    /// The seed of the run itself.
    pub seed: u64,
}

/// A place where finished rows are put aside.
pub trait Kept: Sync {
    /// The row of an earlier start, if it was finished.
    fn row(&self, key: RowKey) -> Option<Row>;
    /// Puts a finished row aside. What cannot be kept is lost to a later start and to nothing else.
    fn keep(&self, key: RowKey, row: &Row);
}

/// Nothing is put aside.
#[derive(Clone, Copy, Debug)]
pub struct Forgetful;

impl Kept for Forgetful {
    fn row(&self, _: RowKey) -> Option<Row> {
        None
    }

    fn keep(&self, _: RowKey, _: &Row) {}
}

/// The mark of a scenario and of what is measured of it: equal for two that are the same in every setting.
pub fn mark(scenario: &Scenario, measures: &[Measure]) -> u128 {
    let mut text = Marker(Marker::BASIS);
    let paths = measures.iter().try_for_each(|measure| writeln!(text, "{}", measure.path()));
    let written = paths.and_then(|()| write!(text, "{scenario:?}"));
    assert!(written.is_ok(), "a marker takes every text");
    text.0
}

/// FNV-1a of a text, 128 bits (Fowler, Noll and Vo).
struct Marker(u128);

impl Marker {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
}

impl Write for Marker {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = text.bytes().fold(self.0, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(Marker::PRIME));
        Ok(())
    }
}

/// The rows of each scenario, one for each of these replicates; replicate 0 is the plan's seed itself.
pub fn rows(
    scenarios: &[&Scenario],
    measures: &[Measure],
    replicates: Range<u64>,
    plan: Plan<'_>,
) -> Result<Vec<Vec<Row>>, Halted> {
    let marks: Vec<u128> = scenarios.iter().map(|scenario| mark(scenario, measures)).collect();
    let done = AtomicU64::new(plan.already);
    let one = |(arm, k): (usize, u64)| {
        let seed = plan.seed.replicate(k);
        let row = kept_row(scenarios[arm], marks[arm], measures, seed, plan).map_err(|why| Halted { arm, why })?;
        (plan.terms.progress)((done.fetch_add(1, Ordering::Relaxed) + 1) as f64);
        Ok(row)
    };
    // Replicates outside, scenarios inside: whoever interrupts has as many of each.
    let arms = scenarios.len();
    let jobs: Vec<(usize, u64)> = replicates.flat_map(|k| (0..arms).map(move |arm| (arm, k))).collect();
    let mut out: Vec<Vec<Row>> = vec![Vec::new(); arms];
    for (index, row) in in_parallel(jobs, plan.threads, one)?.into_iter().enumerate() {
        out[index % arms].push(row);
    }
    Ok(out)
}

/// One row, from an earlier start or from a run.
pub(super) fn kept_row(
    scenario: &Scenario,
    mark: u128,
    measures: &[Measure],
    seed: Seed,
    plan: Plan<'_>,
) -> Result<Row, Stopped> {
    let key = RowKey { mark, seed: seed.0 };
    if let Some(row) = plan.kept.row(key).filter(|row| row.values.len() == measures.len()) {
        return Ok(row);
    }
    let row = row(scenario, measures, seed, plan.terms)?;
    plan.kept.keep(key, &row);
    Ok(row)
}

fn row(scenario: &Scenario, measures: &[Measure], seed: Seed, terms: Terms<'_>) -> Result<Row, Stopped> {
    if terms.is_interrupted() {
        return Err(Stopped::Interrupted);
    }
    let outcome = unobserved(scenario, seed, terms.quietly())?;
    let values = values(measures, scenario, &outcome);
    Ok(Row { digest: outcome.digest, world_digest: outcome.world_digest, values })
}

/// Does all jobs on so many threads; the results are in the order of the jobs, whatever thread made them. Where some fail
/// it is the first of them in that order that says why, whichever thread was quicker.
pub(super) fn in_parallel<J: Send, T: Send, E: Send>(
    jobs: Vec<J>,
    threads: Option<usize>,
    one: impl Fn(J) -> Result<T, E> + Send + Sync,
) -> Result<Vec<T>, E> {
    let failed = AtomicUsize::new(usize::MAX);
    let one = |(at, job): (usize, J)| {
        // What stands behind a failure is not begun: it cannot be the first.
        if at > failed.load(Ordering::Relaxed) {
            return None;
        }
        let made = one(job);
        if made.is_err() {
            failed.fetch_min(at, Ordering::Relaxed);
        }
        Some(made)
    };
    let jobs: Vec<(usize, J)> = jobs.into_iter().enumerate().collect();
    // A pool that cannot be built is no reason to fail: the caller's thread does the work.
    let made: Vec<Option<Result<T, E>>> =
        match rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build() {
            Ok(pool) => pool.install(|| jobs.into_par_iter().map(one).collect()),
            Err(_) => jobs.into_iter().map(one).collect(),
        };
    made.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::measure::measures;
    use super::*;
    use crate::scenario::{Source, load};
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_first_failure_in_the_order_of_the_jobs_is_told_whichever_thread_was_quicker() {
        // The later a job, the sooner it fails.
        let one = |n: u64| {
            let spins: u64 = (0..(64 - n) * 20_000).fold(n, |sum, k| std::hint::black_box(sum ^ k));
            if n % 20 == 11 { Err(n) } else { Ok(spins) }
        };
        for threads in [1, 2, 5, 8] {
            assert_eq!(in_parallel((0..64).collect(), Some(threads), one), Err(11));
        }
    }

    fn scenario(attempts: u32) -> Scenario {
        let text = format!(
            "horizon = \"10m\"\n[provider.faults.down]\nwindow = [\"1m\", \"2m\"]\nrespond = {{ status = 503 }}\n\
             [clients.c]\nlayers = [{{ name = \"sdk\", max_attempts = {attempts}, retry_on = \"any\" }}]\n\
             [traffic.t]\nkind = \"turns\"\nclient = \"c\"\narrivals = {{ poisson = \"20/min\" }}\n\
             steps = [{{ name = \"a\", input_tokens = 1, latency = \"1s\" }}]\n"
        );
        load(&Source::new("rows.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    /// Keeps rows in memory and counts what it was asked to keep.
    #[derive(Default)]
    struct Shelf(Mutex<BTreeMap<RowKey, Row>>);

    impl Kept for Shelf {
        fn row(&self, key: RowKey) -> Option<Row> {
            self.0.lock().unwrap().get(&key).cloned()
        }

        fn keep(&self, key: RowKey, row: &Row) {
            assert!(self.0.lock().unwrap().insert(key, row.clone()).is_none(), "a row was made twice");
        }
    }

    #[test]
    fn fnv_gives_its_published_values() {
        // The values that its authors publish: of the empty text, "a" and "foobar".
        let of = |text: &str| {
            let mut marker = Marker(Marker::BASIS);
            marker.write_str(text).unwrap();
            marker.0
        };
        assert_eq!(of(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(of("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(of("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn rows_that_were_kept_are_not_made_again_and_are_the_same() {
        let (two, three) = (scenario(2), scenario(3));
        let scenarios = [&two, &three];
        let measured = measures(&scenarios);
        let (never, shelf) = (AtomicBool::new(false), Shelf::default());
        let plan = Plan { kept: &shelf, ..Plan::new(Seed(7), Terms::new(&never)) };
        let half = rows(&scenarios, &measured, 0..3, plan).unwrap();
        let whole = rows(&scenarios, &measured, 0..6, Plan { threads: Some(1), ..plan }).unwrap();
        let anew = rows(&scenarios, &measured, 0..6, Plan { kept: &Forgetful, ..plan }).unwrap();
        let shown = |rows: &[Vec<Row>]| format!("{rows:?}");
        assert_eq!(shown(&whole), shown(&anew));
        assert_eq!(half[1][2].digest, whole[1][2].digest);
        assert_ne!(mark(&two, &measured), mark(&three, &measured));
        assert_eq!(shelf.0.lock().unwrap().len(), 12);
    }
}
