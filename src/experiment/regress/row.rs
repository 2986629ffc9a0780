//! One number of a check: what was recorded, what is now, how sure the difference is and what became of it.

use std::cmp::Ordering;

use super::tolerance::Tolerance;
use crate::experiment::compare::Cell;
use crate::experiment::measure::Measure;
use crate::stats::rank_sum::{rank_sum, welch};
use crate::stats::signed_rank::signed_rank;
use crate::stats::{Paired, Test};

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It got worse by more than is tolerated.
    Worse,
    /// It moved by more than is tolerated, and is neither good nor bad by itself.
    Moved,
    /// It got better by more than is tolerated.
    Better,
    /// It surely moved, by no more than is tolerated.
    Tolerated,
    /// A difference that chance explains.
    Noise,
    /// The same in every seed.
    Same,
    /// The tolerances say not to look.
    Ignored,
}

/// One number.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub measure: Measure,
    /// What was recorded.
    pub from: Cell,
    /// What is measured now.
    pub to: Cell,
    /// The difference of the means and half of its 95 % interval; `None` where a side is never in some seed.
    pub difference: Option<(f64, Option<f64>)>,
    /// What the test says of this number alone.
    pub test: Test,
    /// The probability after the correction for all numbers of the check.
    pub p: f64,
    /// How far it may move.
    pub tolerance: Tolerance,
    /// How far it moved, in multiples of what is tolerated; infinite where it turned to never or back.
    pub excess: f64,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether this fails the check.
    pub is_failure: bool,
}

impl Row {
    /// Settles what became of it, once the correction for all numbers is known.
    pub(super) fn settle(&mut self, level: f64) {
        self.outcome = if self.test.least >= 1.0 && self.excess == 0.0 {
            Outcome::Same
        } else if self.p > level || !self.goes_one_way() {
            Outcome::Noise
        } else if self.excess <= 1.0 {
            Outcome::Tolerated
        } else if !self.measure.lower_is_better {
            Outcome::Moved
        } else if self.test.toward == Ordering::Greater {
            Outcome::Worse
        } else {
            Outcome::Better
        };
        self.is_failure = match self.outcome {
            Outcome::Worse => true,
            Outcome::Moved | Outcome::Better => self.tolerance.is_both,
            Outcome::Tolerated | Outcome::Noise | Outcome::Same | Outcome::Ignored => false,
        };
    }

    /// Whether mean and ranks moved to the same side. Where they do not, neither is what happened.
    fn goes_one_way(&self) -> bool {
        match self.difference {
            Some((mean, _)) => mean.partial_cmp(&0.0) == Some(self.test.toward),
            None => true,
        }
    }
}

/// A number before and after, not yet settled.
pub(super) fn row(measure: &Measure, before: &[f64], after: &[f64], is_paired: bool, tolerance: Tolerance) -> Row {
    // Fewer seeds than were recorded are the first ones of them.
    let before = if is_paired { &before[..before.len().min(after.len())] } else { before };
    let (from, to) = (Cell::of(before), Cell::of(after));
    let has_never = from.never + to.never > 0;
    let (test, difference) = if is_paired {
        let paired = Paired::of(before, after);
        let whole = paired.difference.as_ref().filter(|_| paired.is_whole());
        let half = paired.half_width();
        (signed_rank(before, after), whole.map(|difference| (difference.mean, half)))
    } else {
        let means = from.statistic.as_ref().zip(to.statistic.as_ref()).filter(|_| !has_never);
        (rank_sum(before, after), means.map(|(from, to)| welch(from, to)))
    };
    let excess = match difference {
        Some((mean, _)) => {
            let allowed = tolerance.allows(from.statistic.as_ref().map_or(0.0, |statistic| statistic.mean));
            excess(mean.abs(), allowed)
        }
        None if share_never(&from) != share_never(&to) => f64::INFINITY,
        None => {
            // As often never as before: the middle of the rest may have moved.
            let median = |cell: &Cell| cell.statistic.as_ref().map_or(0.0, |statistic| statistic.p50);
            excess((median(&to) - median(&from)).abs(), tolerance.allows(median(&from)))
        }
    };
    let outcome = if tolerance.is_ignored { Outcome::Ignored } else { Outcome::Same };
    Row { measure: measure.clone(), from, to, difference, test, p: 1.0, tolerance, excess, outcome, is_failure: false }
}

fn excess(size: f64, allowed: f64) -> f64 {
    match (size > 0.0, allowed > 0.0) {
        (false, _) => 0.0,
        (true, true) => size / allowed,
        (true, false) => f64::INFINITY,
    }
}

fn share_never(cell: &Cell) -> f64 {
    if cell.defined == 0 { 0.0 } else { cell.never as f64 / cell.defined as f64 }
}
