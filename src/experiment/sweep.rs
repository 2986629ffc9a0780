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

impl Point {
    /// A point from the values of all measures, one for each seed; without digests.
    pub fn new(at: Vec<usize>, values: Vec<Vec<f64>>) -> Point {
        let cells = values.iter().map(|values| Cell::of(values)).collect();
        Point { at, digest: 0, world_digest: 0, cells, values }
    }
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

/// Student's t by the expansion around the normal quantile (Fisher and Cornish 1960): within a hundredth of itself from
/// nine degrees of freedom on, and too small below.
fn student(p: f64, freedom: f64) -> f64 {
    let z = normal::quantile(p);
    let (z2, f) = (z * z, freedom.max(1.0));
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / 96.0;
    let third = z * (3.0 * z2 * z2 * z2 + 19.0 * z2 * z2 + 17.0 * z2 - 15.0) / 384.0;
    z + (first + (second + third / f) / f) / f
}

/// For each seed, whether a time is never: 1, or 0; NaN where there is no such number.
fn nevers(values: &[f64]) -> Vec<f64> {
    let one = |value: &f64| if value.is_nan() { f64::NAN } else { f64::from(u8::from(value.is_infinite())) };
    values.iter().map(one).collect()
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
            let values = (0..measures.len()).map(|measure| rows.iter().map(|row| row.values[measure]).collect());
            let sum = |of: fn(&Row) -> u64| rows.iter().fold(0, |sum: u64, row| sum.wrapping_add(of(row)));
            Point {
                digest: sum(|row| row.digest),
                world_digest: sum(|row| row.world_digest),
                ..Point::new(at, values.collect())
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
        // A time that is more often never is later, whatever the mean of the other seeds is.
        let [one, other] = [from, to].map(|point| &self.points[point].values[measure]);
        let never = Paired { difference: None, ..Paired::of(&nevers(one), &nevers(other)) }.shift();
        if matches!(never, Shift::Down | Shift::Up) {
            return never;
        }
        let paired = self.paired(measure, from, to);
        let shift = paired.shift();
        let (Some(statistic), true) = (&paired.difference, paired.is_whole()) else { return shift };
        let (Shift::Down | Shift::Up, Some(half)) = (shift, paired.half_width()) else { return shift };
        // Bonferroni's bound: each of them is asked at an equal part of 5 %.
        let freedom = statistic.n as f64 - 1.0;
        let wider = student(1.0 - 0.025 / questions.max(1) as f64, freedom) / student(0.975, freedom);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::axis::{Quantity, Value};

    fn axis(values: usize) -> Axis {
        let value = |at: usize| Value { text: at.to_string(), number: Some(at as f64) };
        let values = (0..values).map(value).collect();
        Axis { paths: vec!["a.b".to_owned()], quantity: Quantity::Number, values, span: None }
    }

    #[test]
    fn the_last_axis_is_the_fastest() {
        assert_eq!(places(&[axis(2), axis(3)]), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(places(&[axis(2)]), [[0], [1]]);
    }

    #[test]
    fn students_t_far_out_is_that_of_tables() {
        // t(19 d.o.f.) at 97.5 % and 99.95 %, t(9) at 99.5 %, by tables.
        for (p, freedom, t) in [(0.975, 19.0, 2.093), (0.999_5, 19.0, 3.883), (0.995, 9.0, 3.250)] {
            assert!((student(p, freedom) / t - 1.0).abs() < 0.01, "{p}, {freedom}: {}", student(p, freedom));
        }
    }
}
