//! A tuning says which policy was found, what it is worth in worlds that the search has not seen, and how much of what
//! the search promised is left there.

mod caution;
pub mod csv;
mod finding;
pub mod json;
pub mod patch;
pub mod schema;
pub mod text;

pub use caution::cautions;
pub use finding::finding;

use crate::experiment::compare::{Cell, Effect};
use crate::experiment::tune::{Checked, Metric, Tuning};
use crate::experiment::{Axis, Verdict};
use crate::report::comparison::unit;
use crate::report::quantity::Unit;
use crate::scenario::Scenario;
use crate::stats::Shift;

/// A tuning with everything that a report says about it.
#[derive(Clone, Copy, Debug)]
pub struct Tuned<'a> {
    /// The scenario as it stands before anything is tuned.
    pub scenario: &'a Scenario,
    /// The name of the policy that the winner is held against.
    pub reference: &'a str,
    /// What could be chosen.
    pub axes: &'a [Axis],
    /// What the reference has on each axis; `None` where it writes nothing.
    pub before: &'a [Option<String>],
    /// What was found.
    pub tuning: &'a Tuning,
    /// The seed.
    pub seed: u64,
    /// How many seeds the check took in each world.
    pub check: u64,
    /// What arithmetic says of a question of size.
    pub said: Option<&'a str>,
}

/// The name of the winner in tables.
pub const WINNER: &str = "tuned";

/// One number in one world of the check.
#[derive(Clone, Debug)]
pub struct Held {
    /// With the reference.
    pub reference: Effect,
    /// With the winner, and the difference.
    pub winner: Effect,
    /// The unit in which both are written.
    pub unit: Unit,
    /// What the difference means; less of every number is better.
    pub verdict: Verdict,
}

impl<'a> Tuned<'a> {
    /// The values of the winner, one for each axis.
    pub fn chosen(&self) -> &'a [String] {
        self.tuning.winner.map_or(&[], |winner| &self.tuning.found.candidates[winner].texts)
    }

    /// A number in a world of the check.
    pub fn held(&self, checked: &Checked, metric: usize) -> Held {
        let paired = checked.paired(metric);
        let verdict = match paired.shift() {
            Shift::Down => Verdict::Better,
            Shift::Up => Verdict::Worse,
            Shift::Equal => Verdict::Same,
            Shift::Noise => Verdict::Noise,
            Shift::Unknown => Verdict::Unknown,
        };
        let reference = Effect { cell: Cell::of(&checked.reference[metric]), paired: None };
        let winner = Effect { cell: Cell::of(&checked.winner[metric]), paired: Some(paired) };
        let largest = [&reference, &winner].into_iter().filter_map(|effect| effect.cell.mean()).fold(0.0, f64::max);
        Held { reference, winner, unit: unit(self.tuning.metrics[metric].kind, largest), verdict }
    }

    /// The worlds that the search has not seen at all.
    pub fn unseen(&self) -> impl Iterator<Item = &'a Checked> + use<'a> {
        self.tuning.checked.iter().filter(|checked| !checked.is_seen)
    }
}

/// A mean as it is written; a time that is never in most runs is written so.
pub(crate) fn mean(metric: &Metric, value: f64, horizon_s: f64) -> String {
    if !value.is_finite() {
        return crate::report::quantity::UNDEFINED.to_owned();
    }
    // Never counts as twice the run, so that a mean beyond the run is of runs that are mostly never.
    if value > horizon_s && metric.kind == crate::experiment::measure::Kind::Seconds {
        return "never".to_owned();
    }
    let unit = unit(metric.kind, value);
    match unit {
        Unit::Count if value < 10.0 && value.fract() != 0.0 => format!("{value:.1}"),
        Unit::Count | Unit::Ratio | Unit::Share | Unit::Time(_) | Unit::Money => unit.full(value),
    }
}
