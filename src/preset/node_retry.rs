//! The retry decorators of npm share a ladder and its words: ten retries from one second doubling, seventeen minutes
//! when they are all taken. Randomised, a wait is up to twice as long, and the longest wait is cut after that.

use super::{Spoken, Word, adds_up_to_itself, duration, exponential, milliseconds, text};
use crate::document::{Field, Value};
use crate::units::SimDuration;

/// The row of `retries`.
pub(super) const RETRIES: Word = Word {
    word: "retries",
    stands_for: "max_attempts",
    meaning: "tries after the first one, or \"Infinity\" (default 10)",
    translate: retries_or_endless,
};

/// The row of `minTimeout`.
pub(super) const MIN_TIMEOUT: Word = Word {
    word: "minTimeout",
    stands_for: "backoff",
    meaning: "the wait before the first retry (default \"1s\")",
    translate: ladder,
};

/// The row of `factor`.
pub(super) const FACTOR: Word = Word {
    word: "factor",
    stands_for: "backoff",
    meaning: "what each further wait is multiplied by (default 2)",
    translate: ladder,
};

/// The row of `maxTimeout`.
pub(super) const MAX_TIMEOUT: Word = Word {
    word: "maxTimeout",
    stands_for: "longest_wait",
    meaning: "the longest wait, randomised or not; without it there is none",
    translate: longest,
};

/// Retries after the first try, or the word of JavaScript for no limit.
pub(super) fn retries_or_endless(spoken: &Spoken<'_>) -> Option<Value> {
    if spoken.field.node.as_str() == Some("Infinity") {
        return Some(text("unlimited"));
    }
    super::retries_to_attempts(spoken)
}

fn ladder(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("minTimeout", SimDuration::from_secs(1), milliseconds)?;
    let factor = spoken.or("factor", 2.0, |field| field.number(0.001..=1_000.0))?;
    Some(exponential(initial, factor, None))
}

fn longest(spoken: &Spoken<'_>) -> Option<Value> {
    let longest = milliseconds(&spoken.field)?;
    if longest.is_zero() {
        return spoken.field.must("be longer than zero", r#"write minTimeout = "0s" for no wait at all"#);
    }
    Some(duration(longest))
}

/// True: each wait is up to twice as long.
pub(super) fn randomize(spoken: &Spoken<'_>) -> Option<Value> {
    Field::truth(&spoken.field).map(adds_up_to_itself)
}
