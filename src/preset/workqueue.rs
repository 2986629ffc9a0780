//! The rate-limiting work queue of client-go, on which controllers of Kubernetes stand: a key that failed comes back
//! after 5 ms, then twice as long each time up to a thousand seconds, and never for the last time. Its second limiter,
//! ten retries a second over all keys, is a pacer and not part of the preset.

use super::{Family, Source, Spoken, Version, exponential, word};
use crate::document::{Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "client-go-workqueue",
    about: "the work queue of Kubernetes controllers",
    kind: crate::policy::Kind::Queue,
    versions: &[Version {
        number: "0.31",
        source: Source::Documented("the source of client-go 0.31, util/workqueue"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"5ms\", factor = 2.0, cap = \"1000s\" } }\n\
                   requeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[
        word("baseDelay", "backoff", "the first wait (default \"5ms\")", ladder),
        word("maxDelay", "backoff", "the longest wait (default \"1000s\")", ladder),
    ],
};

fn ladder(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("baseDelay", SimDuration::from_millis(5), Field::positive_duration)?;
    let cap = spoken.or("maxDelay", SimDuration::from_secs(1_000), Field::positive_duration)?;
    Some(exponential(initial, 2.0, Some(cap)))
}
