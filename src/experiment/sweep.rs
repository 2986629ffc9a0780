//! A sweep: one or two settings take all their values, and every point of the grid meets the same seeds. What differs
//! between two points is then of the settings, and each difference is taken within a seed.

use super::axis::Axis;
use super::compare::{Cell, NARROW, Replicates, narrowest};
use super::measure::Measure;
use super::rows::{Row, rows};
use super::trial::{Halted, Plan};
use crate::random::{Seed, normal};
use crate::scenario::Scenario;
use crate::stats::{Paired, Shift};

/// The seeds that a sweep which adds seeds begins with.
const FIRST: u64 = 25;

/// One point of a grid.
#[derive(Clone, Debug)]
pub struct Point {
    /// For each axis, the index of its value; empty for the scenario as it stands, which lies off the grid.
    pub at: Vec<usize>,
    /// The sum of the digests of all runs.
    pub digest: u64,
    /// The sum of the digests of all worlds.
    pub world_digest: u64,
    /// For each measure, its values over the seeds.
    pub cells: Vec<Cell>,
    /// For each measure, one value for each seed. NaN is a number that is not defined there, infinity a time that is
    /// never.
    values: Vec<Vec<f64>>,
}

/// A grid of experiments.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// One or two axes. Points stand in the order of their values, the last axis fastest.
    pub axes: Vec<Axis>,
    /// The seed; replicate 0 uses it as it is.
    pub seed: Seed,
    /// How many seeds every point met.
    pub replicates: u64,
    /// What was measured.
    pub measures: Vec<Measure>,
    /// The points of the grid, and behind them the scenario as it stands where it is none of them.
    pub points: Vec<Point>,
    /// How many points the grid has.
    pub grid: usize,
    /// The index of the scenario as it stands.
    pub reference: usize,
    /// Whether all means became as narrow as was asked for; `None` where the seeds were counted out beforehand.
    pub is_sure: Option<bool>,
}

/// What a sweep runs.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// One or two axes.
    pub axes: &'a [Axis],
    /// The scenario of each point, the last axis fastest.
    pub points: &'a [Scenario],
    /// The scenario as it stands.
    pub base: &'a Scenario,
}

/// The indexes of the values of each point, the last axis fastest.
pub fn places(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |places, axis| {
        let longer = |place: &Vec<usize>| {
            let place = place.clone();
            (0..axis.values.len()).map(move |value| place.iter().copied().chain([value]).collect())
        };
        places.iter().flat_map(longer).collect()
    })
}

impl<'a> Grid<'a> {
    /// The scenarios that are run: the points, and the scenario as it stands where it is none of them; and its index.
    pub fn scenarios(&self) -> (Vec<&'a Scenario>, usize) {
        let mut all: Vec<&Scenario> = self.points.iter().collect();
        let reference = all.iter().position(|point| *point == self.base).unwrap_or(all.len());
        if reference == all.len() {
            all.push(self.base);
        }
        (all, reference)
    }
}

impl Sweep {
    /// Runs the grid. Seeds are added until every mean of a headline is narrow where that is asked for.
    pub fn run(grid: Grid<'_>, measures: &[Measure], replicates: Replicates, plan: Plan<'_>) -> Result<Sweep, Halted> {
        let (scenarios, reference) = grid.scenarios();
        let (first, most) = match replicates {
            Replicates::Exactly(n) => (n.max(1), n.max(1)),
            Replicates::UntilSure(most) => (FIRST.min(most), most),
        };
        let mut all: Vec<Vec<Row>> = vec![Vec::new(); scenarios.len()];
        let (mut from, mut until) = (0, first);
        loop {
            (plan.announce)(until * scenarios.len() as u64);
            let plan = Plan { already: plan.already + from * scenarios.len() as u64, ..plan };
            for (own, new) in all.iter_mut().zip(rows(&scenarios, measures, from..until, plan)?) {
                own.extend(new);
            }
            let sweep = Sweep::of(grid, measures, &all, plan.seed, reference);
            let is_sure = sweep.is_narrow();
            if is_sure || until >= most {
                let is_sure = matches!(replicates, Replicates::UntilSure(_)).then_some(is_sure);
                return Ok(Sweep { is_sure, ..sweep });
            }
            (from, until) = (until, (2 * until).min(most));
        }
    }

    fn of(grid: Grid<'_>, measures: &[Measure], all: &[Vec<Row>], seed: Seed, reference: usize) -> Sweep {
        let mut places = places(grid.axes);
        places.resize(all.len(), Vec::new());
        let point = |(at, rows): (Vec<usize>, &Vec<Row>)| {
            let values: Vec<Vec<f64>> =
                (0..measures.len()).map(|measure| rows.iter().map(|row| row.values[measure]).collect()).collect();
            Point {
                at,
                digest: rows.iter().fold(0, |sum, row| sum.wrapping_add(row.digest)),
                world_digest: rows.iter().fold(0, |sum, row| sum.wrapping_add(row.world_digest)),
                cells: values.iter().map(|values| Cell::of(values)).collect(),
                values,
            }
        };
        Sweep {
            axes: grid.axes.to_vec(),
            seed,
            replicates: all.first().map_or(0, |rows| rows.len() as u64),
            measures: measures.to_vec(),
            points: places.into_iter().zip(all).map(point).collect(),
            grid: grid.points.len(),
            reference,
            is_sure: None,
        }
    }

    /// Whether every mean of a headline has an interval of at most a share of it, or of the least that is asked for.
    fn is_narrow(&self) -> bool {
        self.points.iter().all(|point| {
            point.cells.iter().zip(&self.measures).filter(|(_, measure)| measure.headline).all(|(cell, measure)| {
                let Some(statistic) = cell.statistic.as_ref().filter(|_| cell.never == 0) else { return true };
                let Some((low, high)) = statistic.ci95 else { return false };
                (high - low) / 2.0 <= (NARROW * statistic.mean.abs()).max(narrowest(measure.kind))
            })
        })
    }

    /// The difference of a measure between two points, within each seed.
    pub fn paired(&self, measure: usize, from: usize, to: usize) -> Paired {
        Paired::of(&self.points[from].values[measure], &self.points[to].values[measure])
    }

    /// Which way a measure moves between two points, sure enough for this many questions at once: with ten points
    /// something would look different one time in five where nothing is, if each pair were judged by itself.
    pub fn shift(&self, measure: usize, from: usize, to: usize, questions: usize) -> Shift {
        let paired = self.paired(measure, from, to);
        let shift = paired.shift();
        let (Some(statistic), true) = (&paired.difference, paired.is_whole()) else { return shift };
        let (Shift::Down | Shift::Up, Some(half)) = (shift, paired.half_width()) else { return shift };
        // Bonferroni's bound, with the ratio of normal quantiles for that of Student's: the interval at 95 % is his.
        let wider = normal::quantile(1.0 - 0.025 / questions.max(1) as f64) / normal::quantile(0.975);
        if statistic.mean.abs() > wider * half { shift } else { Shift::Noise }
    }

    /// Whether a point met the worlds of the scenario as it stands.
    pub fn is_same_world(&self, point: usize) -> bool {
        self.points[point].world_digest == self.points[self.reference].world_digest
    }

    /// Whether the scenario as it stands is a point of the grid.
    pub fn has_reference(&self) -> bool {
        self.reference < self.grid
    }

    /// The index of a measure, as [`Measure::path`] writes it.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.measures.iter().position(|measure| measure.path() == path)
    }

    /// The point at these indexes of values.
    pub fn point(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.axes).fold(0, |index, (at, axis)| index * axis.values.len() + at)
    }
}
