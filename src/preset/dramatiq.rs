//! Dramatiq, a job queue of Python. Any exception is retried, twenty times, over months: the waits double from half a
//! minute up to a week, and half of each is random. A retried message goes behind all that wait and starts over.

use super::{Family, Source, Spoken, Version, Word, exponential, retries_or_none};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "dramatiq",
    about: "the job queue Dramatiq of Python, with its middleware for retries",
    kind: Kind::Queue,
    versions: &[Version {
        number: "2.2",
        source: Source::Measured("dramatiq 2.2.1"),
        // Twice the smallest backoff, of which up to a half is taken away: from 15 to 30 s.
        defaults: "max_attempts = 21\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"30s\", factor = 2.0, cap = \"7d\" } }\njitter = \"equal\"\n\
                   requeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[
        Word {
            word: "max_retries",
            stands_for: "max_attempts",
            meaning: "runs after the first one, 20, or \"none\" for no limit",
            translate: |spoken| retries_or_none(&spoken.field),
        },
        Word {
            word: "min_backoff",
            stands_for: "backoff",
            meaning: "the shortest first wait, 15 s; with jitter it is up to twice that",
            translate: waits,
        },
        Word { word: "max_backoff", stands_for: "backoff", meaning: "the longest wait, 7 days", translate: waits },
    ],
};

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let least = spoken.or("min_backoff", SimDuration::from_secs(15), Field::positive_duration);
    let most = spoken.or("max_backoff", SimDuration::from_secs(7 * 86_400), Field::positive_duration);
    let (least, most) = (least?, most?);
    Some(exponential(least.times(2), 2.0, Some(most)))
}
