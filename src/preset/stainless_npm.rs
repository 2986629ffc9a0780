//! The same SDKs for npm. Their retry loop is that of their siblings in Python; what differs is JavaScript. A timer
//! counts milliseconds in 31 bits: a longer one, a negative one and one that is no number fire after a millisecond, so
//! a version that hands a header's value to the timer as it is turns an absurd hint into a retry at once.
//!
//! Only the way to the answer is repeated: a body that is cut in the middle is read outside the loop.
//!
//! `parseFloat` also takes the number that a longer text begins with (`5 s`, `6m0s`, a date that begins with its year).
//! No server was seen to send one, and it is not modelled.

use super::{Spoken, Word, duration, milliseconds, retries_to_attempts};
use crate::document::Value;

/// The words of these SDKs.
pub(super) const WORDS: &[Word] = &[
    Word {
        word: "maxRetries",
        stands_for: "max_attempts",
        meaning: "tries after the first one (default 2)",
        translate: retries_to_attempts,
    },
    Word {
        word: "timeout",
        stands_for: "timeout",
        meaning: "the longest time until an answer begins (default \"600s\")",
        translate: timeout,
    },
];

fn timeout(spoken: &Spoken<'_>) -> Option<Value> {
    milliseconds(&spoken.field).map(duration)
}

/// The defaults of one version: its rule for hints and its reading of headers vary.
macro_rules! npm_defaults {
    ($hint:literal, $milliseconds:literal, $seconds:literal) => {
        concat!(
            "max_attempts = 3\n",
            "retry_on = [408, 409, 429, \"5xx\", \"timeout\", \"unreachable\", \"drop\"]\n",
            "obeys_should_retry = true\n",
            "backoff = { exponential = { initial = \"500ms\", factor = 2.0, cap = \"8s\" } }\n",
            "jitter = { subtract = \"25%\" }\n",
            "hint = { obey = { ",
            $hint,
            ", jittered = false } }\n",
            "hint_headers = [{ header = \"retry-after-ms\", not_a_number = \"next\"",
            $milliseconds,
            " }, { header = \"retry-after\"",
            $seconds,
            " }]\n",
            "timeout = \"600s\"\n",
        )
    };
}
pub(super) use npm_defaults;
