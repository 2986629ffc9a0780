//! Tuning: a search for the settings of a policy, and the proof that what was found is worth something where the search
//! has not looked: on other seeds, and in other overloads.

pub mod metric;
mod runner;
pub mod unseen;

use super::axis::Axis;
use super::compare::narrowest;
use super::rows::{Row, rows};
use super::search::{Candidate, Effort, Found, Space, Standing, runs, search};
use super::trial::{Halted, Plan};
use crate::scenario::Scenario;
use crate::stats::Paired;
use crate::units::SimTime;

pub use metric::{Constraint, Metric, Metrics};
pub use unseen::{World, overloads};

use runner::Runner;

/// The first replicate of the check: no search comes so far, so that it has met none of these seeds.
pub const UNSEEN_SEEDS: u64 = 1 << 32;

/// What is tuned, for what, and how much is looked at.
pub struct Task<'a> {
    /// What may be chosen.
    pub axes: &'a [Axis],
    /// Writes a number of an axis as a scenario takes it.
    pub text: &'a dyn Fn(super::Quantity, f64) -> String,
    /// The numbers; the first ones are the goals.
    pub metrics: Metrics,
    /// How many of the numbers are goals.
    pub goals: usize,
    /// The setting that is sized, instead of goals.
    pub sized: Option<Sized>,
    /// What has to be kept.
    pub constraints: Vec<Constraint>,
    /// How much is looked at.
    pub effort: Effort,
    /// Policies to begin with, as points of the space.
    pub start: Vec<Vec<f64>>,
    /// The scenario with these changes, in the policy that is tuned; the error says why there is none.
    pub tuned: &'a dyn Fn(&[String]) -> Result<Scenario, String>,
    /// The same in the policy that it is held against.
    pub reference: &'a dyn Fn(&[String]) -> Result<Scenario, String>,
    /// The worlds of the search, at least one; the first is the file as it is.
    pub seen: Vec<World>,
    /// Other worlds, for the check alone.
    pub unseen: Vec<World>,
    /// How many seeds the check takes in each world.
    pub check: u64,
}

/// A setting whose smallest or largest value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sized {
    /// The index of its axis.
    pub axis: usize,
    /// Whether the largest is asked for.
    pub most: bool,
}

impl Sized {
    /// Where a policy stands; less is better.
    fn place(self, genes: &[f64]) -> f64 {
        if self.most { 1.0 - genes[self.axis] } else { genes[self.axis] }
    }
}

/// What a tuning found.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The numbers; the first ones are the goals.
    pub metrics: Vec<Metric>,
    /// How many of the numbers are goals.
    pub goals: usize,
    /// The setting that was sized, instead of goals.
    pub sized: Option<Sized>,
    /// What had to be kept.
    pub constraints: Vec<Constraint>,
    /// How much was looked at.
    pub effort: Effort,
    /// The policies.
    pub found: Found,
    /// The mean of each number for each policy; empty for one that cannot be run.
    pub means: Vec<Vec<f64>>,
    /// The means of the policy that it is held against, over the seeds of the search.
    pub reference: Vec<f64>,
    /// The index of the winner among the policies; `None` where none can be run.
    pub winner: Option<usize>,
    /// The worlds of the search.
    pub seen: Vec<World>,
    /// The check, world by world; those of the search come first, with other seeds.
    pub checked: Vec<Checked>,
    /// How many policies cannot be run, and why the first of them cannot.
    pub refused: Option<(usize, String)>,
}

/// The winner against the policy that it is held against, in one world.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The world.
    pub world: World,
    /// Whether the search has seen it, under other seeds.
    pub is_seen: bool,
    /// The values of each number with the reference, one for each seed.
    pub reference: Vec<Vec<f64>>,
    /// The same with the winner.
    pub winner: Vec<Vec<f64>>,
    /// The length of a run in seconds.
    pub horizon_s: f64,
}

impl Checked {
    /// The winner's values of a number against those of the reference.
    pub fn paired(&self, metric: usize) -> Paired {
        Paired::of(&self.reference[metric], &self.winner[metric])
    }
}

impl Tuning {
    /// Whether a policy keeps all constraints, over the seeds of the search.
    pub fn keeps(&self, candidate: usize) -> bool {
        self.found.candidates[candidate].standing.as_ref().is_some_and(|standing| standing.violation == 0.0)
    }

    /// How much of a number the winner saves against the reference in the search, relative to the reference.
    pub fn saved(&self, candidate: usize, goal: usize) -> f64 {
        saved(&self.metrics[goal], self.reference[goal], self.means[candidate][goal])
    }
}

/// How much of a number is saved, relative to what there was, or to the least that anybody would notice.
fn saved(metric: &Metric, reference: f64, own: f64) -> f64 {
    if reference == own { 0.0 } else { (reference - own) / reference.abs().max(narrowest(metric.kind)) }
}

/// The winner of a front: with one goal, the best; with several, the one whose least improvement on the reference is
/// largest, so that it wins everywhere if any can.
fn winner(
    candidates: &[Candidate],
    front: &[usize],
    metrics: &[Metric],
    goals: usize,
    reference: &[f64],
) -> Option<usize> {
    let standing = |index: usize| candidates[index].standing.as_ref();
    let score = |index: usize| -> Option<(f64, f64)> {
        let values = &standing(index)?.values;
        let gains = (0..goals).map(|goal| saved(&metrics[goal], reference[goal], values[goal]));
        let gains: Vec<f64> = gains.collect();
        Some((gains.iter().copied().fold(f64::INFINITY, f64::min), gains.iter().sum()))
    };
    let mut best: Option<(usize, (f64, f64))> = None;
    for index in front {
        let Some(own) = score(*index) else { continue };
        let is_better = best.is_none_or(|(_, other)| own.0.total_cmp(&other.0).then(own.1.total_cmp(&other.1)).is_gt());
        if is_better {
            best = Some((*index, own));
        }
    }
    best.map(|(index, _)| index)
}

/// Tunes. The error says which scenario did not come to its end, or, where there is none, which world cannot be made.
pub fn tune(task: Task<'_>, plan: Plan<'_>) -> Result<Tuning, Failure> {
    let Task { axes, text, metrics, goals, sized, constraints, effort, .. } = task;
    let Task { start, tuned, reference, seen, unseen, check, .. } = task;
    let space = Space::new(axes, text);
    let searching = runs(effort, &space) * seen.len() as u64;
    let checks = (seen.len() + unseen.len()) as u64 * 2 * check;
    (plan.announce)(searching + effort.seeds * seen.len() as u64 + checks);
    let make = |policy: &dyn Fn(&[String]) -> Result<Scenario, String>, world: &World| {
        policy(&world.sets).map_err(|why| Failure::World(world.name.clone(), why))
    };
    let mut already = plan.already;
    // The reference first: whatever is wrong with the worlds is known before the search.
    let held: Vec<Scenario> = seen.iter().map(|world| make(reference, world)).collect::<Result<_, _>>()?;
    for world in &unseen {
        make(reference, world)?;
    }
    let horizon_s = seconds(held[0].horizon);
    let scenarios: Vec<&Scenario> = held.iter().collect();
    let own = rows(&scenarios, &metrics.measures, 0..effort.seeds, Plan { already, ..plan })?;
    already += effort.seeds * seen.len() as u64;
    let own: Vec<Box<[f64]>> = own.into_iter().flatten().map(|row| row.values).collect();
    let means_of = |rows: &[Box<[f64]>]| metrics.all.iter().map(|metric| metric.mean(rows, horizon_s)).collect();
    let means: Vec<f64> = means_of(&own);

    let mut runner = Runner {
        space,
        tuned,
        worlds: &seen,
        metrics: &metrics,
        goals,
        sized,
        constraints: &constraints,
        horizon_s,
        plan: Plan { already, ..plan },
        refused: Vec::new(),
    };
    let found = search(&space, effort, &start, &mut runner)?;
    let refused = runner.refused.first().map(|why| (runner.refused.len(), why.clone()));
    // What the halving saved is not waited for any more.
    already += searching;
    let all: Vec<Vec<f64>> = found
        .candidates
        .iter()
        .map(|candidate| if candidate.standing.is_some() { means_of(&candidate.rows) } else { Vec::new() })
        .collect();
    let winner = match sized {
        Some(_) => found.front.first().copied(),
        None => winner(&found.candidates, &found.front, &metrics.all, goals, &means),
    };
    let mut checked = Vec::new();
    if let Some(winner) = winner {
        let sets = space.sets(&found.candidates[winner].texts);
        let worlds = seen.iter().map(|world| (world, true)).chain(unseen.iter().map(|world| (world, false)));
        for (world, is_seen) in worlds {
            let held = make(reference, world)?;
            // The search's settings stand behind the world's, as in the search.
            let with: Vec<String> = world.sets.iter().chain(&sets).cloned().collect();
            let own = tuned(&with).map_err(|why| Failure::World(world.name.clone(), why))?;
            let from = UNSEEN_SEEDS;
            let both = rows(&[&held, &own], &metrics.measures, from..from + check, Plan { already, ..plan })?;
            already += 2 * check;
            let values = |rows: &[Row]| -> Vec<Vec<f64>> {
                let rows: Vec<Box<[f64]>> = rows.iter().map(|row| row.values.clone()).collect();
                metrics.all.iter().map(|metric| metric.values(&rows)).collect()
            };
            checked.push(Checked {
                world: world.clone(),
                is_seen,
                reference: values(&both[0]),
                winner: values(&both[1]),
                horizon_s: seconds(held.horizon),
            });
        }
    }
    Ok(Tuning {
        metrics: metrics.all,
        goals,
        sized,
        constraints,
        effort,
        found,
        means: all,
        reference: means,
        winner,
        seen,
        checked,
        refused,
    })
}

fn seconds(at: SimTime) -> f64 {
    at.as_secs_f64()
}

/// Why a tuning came to no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A run did not come to its end.
    Halted(Halted),
    /// A world cannot be made: its name, and why.
    World(String, String),
}

impl From<Halted> for Failure {
    fn from(halted: Halted) -> Failure {
        Failure::Halted(halted)
    }
}

/// How good a policy with these rows is.
fn standing(
    rows: &[Box<[f64]>],
    metrics: &Metrics,
    goals: usize,
    constraints: &[Constraint],
    horizon_s: f64,
) -> Standing {
    let mean = |metric: usize| metrics.all[metric].mean(rows, horizon_s);
    let broken = constraints.iter().map(|constraint| constraint.violation(mean(constraint.metric)));
    // The sum of nothing would be a negative nought.
    let violation = broken.fold(0.0, |sum, one| sum + one);
    Standing { violation, values: (0..goals).map(mean).collect() }
}
