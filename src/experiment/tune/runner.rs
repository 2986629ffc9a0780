//! The runs of a search: policies in one or more worlds, seed by seed. A policy that the file does not allow, or that does
//! not seem to end, is left out and remembered.

use std::ops::Range;

use super::super::rows::{Row, rows};
use super::super::search::{Judge, Numbers, Space, Standing};
use super::super::trial::{Halted, Plan};
use super::super::watch::Stopped;
use super::{Constraint, Metrics, Sized, World, standing};
use crate::scenario::Scenario;

/// Runs policies for a search.
pub(super) struct Runner<'a> {
    pub(super) space: Space<'a>,
    pub(super) tuned: &'a dyn Fn(&[String]) -> Result<Scenario, String>,
    pub(super) worlds: &'a [World],
    pub(super) metrics: &'a Metrics,
    pub(super) goals: usize,
    pub(super) sized: Option<Sized>,
    pub(super) constraints: &'a [Constraint],
    pub(super) horizon_s: f64,
    pub(super) plan: Plan<'a>,
    /// Why policies cannot be run, one reason for each.
    pub(super) refused: Vec<String>,
}

impl Runner<'_> {
    /// A policy in each world, or why there is none.
    fn made(&self, texts: &[String]) -> Result<Vec<Scenario>, String> {
        let sets = self.space.sets(texts);
        let with = |world: &World| -> Vec<String> { world.sets.iter().chain(&sets).cloned().collect() };
        self.worlds.iter().map(|world| (self.tuned)(&with(world))).collect()
    }
}

impl Judge for Runner<'_> {
    type Stop = Halted;

    fn rows(&mut self, policies: &[&[String]], seeds: Range<u64>) -> Result<Vec<Option<Numbers>>, Halted> {
        let mut made: Vec<Option<Vec<Scenario>>> = Vec::with_capacity(policies.len());
        for texts in policies {
            made.push(match self.made(texts) {
                Ok(scenarios) => Some(scenarios),
                Err(why) => {
                    self.refused.push(why);
                    None
                }
            });
        }
        let worlds = self.worlds.len();
        let found = loop {
            let scenarios: Vec<&Scenario> = made.iter().flatten().flatten().collect();
            match rows(&scenarios, &self.metrics.measures, seeds.clone(), self.plan) {
                Ok(found) => break found,
                // One endless policy is no reason to end the search: it is not a good one.
                Err(Halted { arm, why: Stopped::Endless(_) }) => {
                    let runnable: Vec<usize> = (0..made.len()).filter(|policy| made[*policy].is_some()).collect();
                    let policy = runnable[arm / worlds];
                    let sets = self.space.sets(policies[policy]).join(", ");
                    self.refused.push(format!("a run with {sets} does not seem to end"));
                    made[policy] = None;
                }
                Err(halted) => return Err(halted),
            }
        };
        self.plan.already += found.len() as u64 * (seeds.end - seeds.start);
        let mut found: Vec<Vec<Row>> = found;
        found.reverse();
        let mut of_policy = || {
            let own: Vec<Vec<Row>> = (0..worlds).filter_map(|_| found.pop()).collect();
            let seeds = (seeds.end - seeds.start) as usize;
            // Seeds outside, worlds inside, so that the first rows are those of the first seeds.
            let row = |seed: usize| own.iter().map(move |rows| rows[seed].values.clone());
            (0..seeds).flat_map(row).collect::<Numbers>()
        };
        Ok(made.iter().map(|policy| policy.as_ref().map(|_| of_policy())).collect())
    }

    fn worlds(&self) -> usize {
        self.worlds.len()
    }

    fn standing(&self, genes: &[f64], rows: &[Box<[f64]>]) -> Standing {
        let standing = standing(rows, self.metrics, self.goals, self.constraints, self.horizon_s);
        match self.sized {
            None => standing,
            Some(sized) => Standing { values: vec![sized.place(genes)], ..standing },
        }
    }
}
