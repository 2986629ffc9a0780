//! p-retry, a decorator of npm. An `AbortError` ends it at once, and so does a `TypeError` that is no failure of the
//! network: give such failures a code and name it under `never` of `retry_on`.

use super::node_retry::{FACTOR, MAX_TIMEOUT, MIN_TIMEOUT, RETRIES, randomize};
use super::{Family, Source, Spoken, Version, Word, duration, milliseconds, text};
use crate::document::Value;

pub(super) static FAMILY: Family = Family {
    word: "p-retry",
    about: "the decorator p-retry of npm",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "7.1",
        source: Source::Measured("p-retry 7.1.1"),
        defaults: "max_attempts = 11\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\njitter = \"none\"\n",
    }],
    words: &[
        RETRIES,
        MIN_TIMEOUT,
        FACTOR,
        MAX_TIMEOUT,
        Word {
            word: "randomize",
            stands_for: "jitter",
            meaning: "whether a wait is up to twice as long, at random (default false)",
            translate: randomize,
        },
        Word {
            word: "maxRetryTime",
            stands_for: "total_budget",
            meaning: "when no further try begins; the last wait is cut to it",
            translate: total,
        },
        Word {
            word: "maxRetryTime",
            stands_for: "budget_check",
            meaning: "the last wait is cut to it",
            translate: |_| Some(text("elapsed_cut")),
        },
    ],
};

fn total(spoken: &Spoken<'_>) -> Option<Value> {
    milliseconds(&spoken.field).map(duration)
}
