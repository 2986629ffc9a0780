//! The retry of Google's API client libraries for Python (`google.api_core.retry.Retry`). It counts time, not attempts:
//! within its two minutes eight to fifteen attempts fit, as the jitter falls. A wait that would end past the time is
//! not taken. A 504 is not among the errors that it takes for transient.

use super::{Family, Source, Spoken, Version, Word, exponential, time_limit};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "google-api-core",
    about: "the Retry of google-api-core for Python",
    kind: Kind::Client,
    versions: &[Version {
        number: "2.44",
        source: Source::Measured("google-api-core 2.44.0"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = [429, 500, 503, \"connection\"]\ntotal_budget = \"120s\"\n\
                   budget_check = \"before_wait\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"60s\" } }\njitter = \"full\"\n",
    }],
    words: &[
        Word {
            word: "timeout",
            stands_for: "total_budget",
            meaning: "the time within which the last attempt begins, 120 s, or \"none\"",
            translate: |spoken| time_limit(&spoken.field),
        },
        Word { word: "initial", stands_for: "backoff", meaning: "the first wait before jitter, 1 s", translate: waits },
        Word { word: "maximum", stands_for: "backoff", meaning: "the longest wait, 60 s", translate: waits },
        Word {
            word: "multiplier",
            stands_for: "backoff",
            meaning: "what each further wait is multiplied by, 2",
            translate: waits,
        },
    ],
};

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("initial", SimDuration::from_secs(1), Field::positive_duration);
    let maximum = spoken.or("maximum", SimDuration::from_secs(60), Field::positive_duration);
    let multiplier = spoken.or("multiplier", 2.0, |field| field.number(1.0..=1_000.0));
    let (initial, maximum, multiplier) = (initial?, maximum?, multiplier?);
    Some(exponential(initial, multiplier, Some(maximum)))
}
