//! The words for when a hedge sends, and what bounds it.

use super::words;
use crate::policy::{Hedge, HedgeDelay, MeasuredDelay};

/// How often a hedge sends one more.
pub(super) fn pace(delay: &HedgeDelay) -> String {
    match delay {
        HedgeDelay::Fixed(delay) => format!("every {}", words::duration(*delay)),
        HedgeDelay::Measured(MeasuredDelay { quantile, of_last, .. }) => {
            format!("after the {} quantile of the last {of_last} answers", words::percent(*quantile))
        }
    }
}

/// What bounds hedges together.
pub(super) fn bounds(hedge: &Hedge) -> String {
    let out = hedge.at_most_out.map(|most| format!(", at most {most} out at once by {}", hedge.scope.word()));
    let budget = hedge.budget.as_ref().map(|(_, scope)| format!(", paid by a budget of the {}", scope.word()));
    [out, budget].into_iter().flatten().collect()
}

/// What becomes of its requests, and what a hint does.
pub(super) const fn hints(hedge: &Hedge) -> &'static str {
    if hedge.obeys_hints {
        "the first to succeed wins, the others are dropped; a hint of a failure says when the next goes out"
    } else {
        "the first to succeed wins, the others are dropped"
    }
}
