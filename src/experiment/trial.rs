//! A trial puts several scenarios, its *arms*, through the same seeds. Draws are keyed by names, so that under one seed
//! all arms meet the same arrivals, sizes and faults, and what differs between them is what they do.
//!
//! One row of numbers is kept for each arm and seed, eight bytes a number. Rows come in the order of arms and seeds,
//! whatever thread made them.

use super::measure::{Measure, measures, values};
use super::replicate::single;
use super::result::RunResult;
use super::rows::{Forgetful, Kept, Row, in_parallel, kept_row, mark};
use super::tracks::tracks;
use super::watch::{Stopped, Terms, unobserved};
use crate::metrics::summarize;
use crate::random::Seed;
use crate::scenario::Scenario;
use std::sync::atomic::{AtomicU64, Ordering};

/// One arm of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Arm<'a> {
    /// Its name.
    pub name: &'a str,
    /// What is run.
    pub scenario: &'a Scenario,
}

/// What one arm gave.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// The run with the seed itself, in full.
    pub first: RunResult,
    /// The sum of the digests of all runs.
    pub digest: u64,
    /// The sum of the digests of all worlds: equal for two arms that met the same ones.
    pub world_digest: u64,
    /// For each seed, the values of all measures. NaN is a number that is not defined there, infinity a time that is
    /// never.
    rows: Vec<Box<[f64]>>,
}

/// All arms under all seeds.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The seed; replicate 0 uses it as it is.
    pub seed: Seed,
    /// What was measured.
    pub measures: Vec<Measure>,
    /// What each arm gave, in the order of the arms.
    pub arms: Vec<Outcomes>,
}

/// How a trial is run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The seed.
    pub seed: Seed,
    /// How many threads share the work; `None` for one on each core.
    pub threads: Option<usize>,
    /// What ends runs early, and who is told how many are done.
    pub terms: Terms<'a>,
    /// Told how many runs there will be, as far as is known.
    pub announce: &'a (dyn Fn(u64) + Sync),
    /// Where finished runs are put aside, for a start that goes on from there.
    pub kept: &'a dyn Kept,
    /// How many runs an experiment of several parts has done before this one.
    pub already: u64,
}

impl<'a> Plan<'a> {
    /// A plan with one thread for each core of which nobody is told and nothing is put aside.
    pub const fn new(seed: Seed, terms: Terms<'a>) -> Self {
        Plan { seed, threads: None, terms, announce: &|_| (), kept: &Forgetful, already: 0 }
    }
}

/// An arm that did not come to its end, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halted {
    /// The index of the arm.
    pub arm: usize,
    /// Why.
    pub why: Stopped,
}

impl Trial {
    /// Runs all arms with so many seeds, at least one.
    pub fn run(arms: &[Arm<'_>], replicates: u64, plan: Plan<'_>) -> Result<Trial, Halted> {
        let scenarios: Vec<&Scenario> = arms.iter().map(|arm| arm.scenario).collect();
        let mut trial = Trial { seed: plan.seed, measures: measures(&scenarios), arms: Vec::new() };
        trial.go_on(arms, replicates.max(1), plan)?;
        Ok(trial)
    }

    /// How many seeds every arm has met.
    pub fn replicates(&self) -> u64 {
        self.arms.first().map_or(0, |arm| arm.rows.len() as u64)
    }

    /// The values of a measure in an arm, one for each seed.
    pub fn values(&self, arm: usize, measure: usize) -> Vec<f64> {
        self.arms[arm].rows.iter().map(|row| row[measure]).collect()
    }

    /// Runs further seeds until each arm has met so many.
    pub(super) fn go_on(&mut self, arms: &[Arm<'_>], until: u64, plan: Plan<'_>) -> Result<(), Halted> {
        let from = self.replicates();
        (plan.announce)(until * arms.len() as u64);
        let done = AtomicU64::new(from * arms.len() as u64);
        let marks: Vec<u128> = arms.iter().map(|arm| mark(arm.scenario, &self.measures)).collect();
        let one = |(arm, k): (usize, u64)| {
            let made = if k == 0 {
                self.in_full(arms[arm].scenario, plan.terms).map(|(row, first)| (row, Some(first)))
            } else {
                let seed = self.seed.replicate(k);
                kept_row(arms[arm].scenario, marks[arm], &self.measures, seed, plan).map(|row| (row, None))
            };
            let (row, first) = made.map_err(|why| Halted { arm, why: why.of_replicate(k) })?;
            (plan.terms.progress)((done.fetch_add(1, Ordering::Relaxed) + 1) as f64);
            Ok((arm, row, first))
        };
        // Seeds outside, arms inside: whoever interrupts has as many of each.
        let jobs: Vec<(usize, u64)> = (from..until).flat_map(|k| (0..arms.len()).map(move |arm| (arm, k))).collect();
        for (arm, Row { digest, world_digest, values }, first) in in_parallel(jobs, plan.threads, one)? {
            if let Some(first) = first {
                self.arms.push(Outcomes { first: *first, digest, world_digest, rows: vec![values] });
                continue;
            }
            let own = &mut self.arms[arm];
            own.digest = own.digest.wrapping_add(digest);
            own.world_digest = own.world_digest.wrapping_add(world_digest);
            own.rows.push(values);
        }
        Ok(())
    }

    /// The run with the seed itself, of which everything is kept.
    fn in_full(&self, scenario: &Scenario, terms: Terms<'_>) -> Result<(Row, Box<RunResult>), Stopped> {
        if terms.is_interrupted() {
            return Err(Stopped::Interrupted);
        }
        let outcome = unobserved(scenario, self.seed, terms.quietly())?;
        let (digest, world_digest) = (outcome.digest, outcome.world_digest);
        let values = values(&self.measures, scenario, &outcome);
        let tracks = tracks(scenario, self.seed, &outcome.timeline, terms)?;
        let first = single(self.seed, &summarize(scenario, &outcome), outcome, tracks);
        Ok((Row { digest, world_digest, values }, Box::new(first)))
    }
}
