//! A sweep says where a number is least, from where on it rises, and what it trades against; and when it does not
//! depend on the setting at all.

mod caution;
pub mod csv;
mod finding;
pub mod json;
pub mod schema;
mod shape;
pub mod text;
mod trade;

use caution::survivors;
pub use caution::{cautions, lost};
pub use finding::{findings, subject};
pub use shape::Shape;

use std::collections::BTreeMap;

use crate::experiment::axis::Value;
use crate::experiment::measure::{Kind, Of, Part};
use crate::experiment::{Axis, Measure, Sweep};
use crate::report::comparison::{Caution, unit};
use crate::report::quantity::Unit;
use crate::scenario::Scenario;

/// The most numbers that are shown where none is named.
pub const MOST_SHOWN: usize = 9;

/// A sweep with everything that a report says about it.
#[derive(Clone, Debug)]
pub struct Swept<'a> {
    /// What was found.
    pub sweep: &'a Sweep,
    /// The scenario as it stands.
    pub scenario: &'a Scenario,
    /// For each axis, its value in the scenario as it stands, where that is written.
    pub current: &'a [Option<Value>],
    /// The indexes of the measures that are shown.
    pub shown: &'a [usize],
    /// The indexes of the measures that documents hold.
    pub held: &'a [usize],
    /// What each shown measure does over the grid.
    shapes: BTreeMap<usize, Shape>,
    /// The shown measures that are least where more is lost.
    fooled: BTreeMap<usize, Caution>,
}

/// The measures that are shown where none is named, most telling first.
pub fn telling(sweep: &Sweep) -> Vec<usize> {
    const KEYS: [(&str, bool); 7] = [
        ("amplification", true),
        ("failed", false),
        ("latency_all_s.p95", true),
        ("latency_s.max", true),
        ("tasks_with_429_share", true),
        ("recovery.total_s", true),
        ("requests", true),
    ];
    let measures = &sweep.measures;
    let is_live = |measure: &Measure| matches!(&measure.of, Of::Class { live: true, .. });
    let of_key = |(key, in_part): &(&str, bool)| {
        let rows = (0..measures.len()).filter(|row| {
            let measure = &measures[*row];
            measure.headline && measure.key == *key && (*in_part || measure.part == Part::Whole)
        });
        rows.collect::<Vec<usize>>()
    };
    let mut rows: Vec<usize> = KEYS.iter().flat_map(of_key).collect();
    // Live 429s are told in every phase; the whole run and its loudest phase say it.
    let mean = |row: usize| sweep.points.iter().filter_map(|point| point.cells[row].mean()).fold(0.0, f64::max);
    let is_share = |row: usize| measures[row].key == "tasks_with_429_share";
    let loudest = rows
        .iter()
        .copied()
        .filter(|row| is_share(*row) && measures[*row].part != Part::Whole)
        .max_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    rows.retain(|row| !is_share(*row) || measures[*row].part == Part::Whole || loudest == Some(*row));
    // How many requests there were says what the factor says, where as much work arrives at every point.
    let has_factor = rows.iter().any(|row| measures[*row].key == "amplification" && !is_live(&measures[*row]));
    rows.retain(|row| measures[*row].key != "requests" || !has_factor);
    rows.retain(|row| is_anything(sweep, *row));
    rows.truncate(MOST_SHOWN);
    rows
}

/// Whether a measure is something else than nothing anywhere.
fn is_anything(sweep: &Sweep, row: usize) -> bool {
    sweep.points.iter().any(|point| {
        let cell = &point.cells[row];
        cell.never > 0 || cell.statistic.as_ref().is_some_and(|statistic| statistic.max != 0.0)
    })
}

impl<'a> Swept<'a> {
    /// A sweep of which these measures are shown and held.
    pub fn new(
        sweep: &'a Sweep,
        scenario: &'a Scenario,
        current: &'a [Option<Value>],
        shown: &'a [usize],
        held: &'a [usize],
    ) -> Swept<'a> {
        let shape = |row: &usize| Some((*row, Shape::of(sweep, *row, (0..sweep.grid).collect())?));
        let shapes = shown.iter().filter_map(shape).collect();
        let swept = Swept { sweep, scenario, current, shown, held, shapes, fooled: BTreeMap::new() };
        let fooled = shown.iter().filter_map(|row| Some((*row, survivors(&swept, *row)?))).collect();
        Swept { fooled, ..swept }
    }

    /// What a shown measure does over the grid; `None` where it is defined nowhere.
    pub fn shape(&self, row: usize) -> Option<&Shape> {
        self.shapes.get(&row)
    }

    /// Whether a shown measure is of survivors, and least where more is lost.
    pub fn is_fooled(&self, row: usize) -> bool {
        self.fooled.contains_key(&row)
    }

    /// The unit in which a measure is written at all points.
    pub fn unit(&self, row: usize) -> Unit {
        let means = self.sweep.points.iter().filter_map(|point| point.cells[row].mean());
        let kind: Kind = self.sweep.measures[row].kind;
        unit(kind, means.fold(0.0, f64::max))
    }

    /// What an axis is called in a sentence: the last word of its path, where that names one of them alone.
    pub fn axis(&self, axis: usize) -> String {
        let last = |axis: &Axis| axis.paths[0].rsplit('.').next().unwrap_or_default().to_owned();
        let names: Vec<String> = self.sweep.axes.iter().map(last).collect();
        let is_alone = names.iter().filter(|name| **name == names[axis]).count() == 1;
        if is_alone { names[axis].clone() } else { self.sweep.axes[axis].name() }
    }

    /// A point in words, such as `max_retries = 2`, `workers = 8`.
    pub fn place(&self, point: usize) -> String {
        let at = &self.sweep.points[point].at;
        if at.is_empty() {
            return "the file as it stands".to_owned();
        }
        let one =
            |(axis, at): (usize, &usize)| format!("{} = {}", self.axis(axis), self.sweep.axes[axis].values[*at].text);
        at.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    }
}
