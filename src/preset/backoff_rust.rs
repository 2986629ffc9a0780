//! backoff, a decorator of Rust. No limit on attempts: a quarter of an hour, and a wait that would end past it is not
//! taken. The jitter goes both ways from the wait, also above the longest interval.

use super::{Family, Source, Spoken, Version, as_it_is, exponential, form, word};
use crate::document::{Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "backoff-rust",
    about: "the crate backoff",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "0.4",
        source: Source::Measured("backoff (Rust) 0.4.0"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"500ms\", factor = 1.5, cap = \"1m\" } }\n\
                   jitter = { plus_minus = 0.5 }\ntotal_budget = \"15m\"\n",
    }],
    words: &[
        word("initial_interval", "backoff", "the first wait (default \"500ms\")", ladder),
        word("multiplier", "backoff", "what each further wait is multiplied by (default 1.5)", ladder),
        word("max_interval", "backoff", "the longest wait, jitter left out (default \"60s\")", ladder),
        word(
            "randomization_factor",
            "jitter",
            "the share of a wait that it may be shorter or longer (default 0.5)",
            |spoken| Some(form("plus_minus", Value::Float(spoken.field.ratio()?))),
        ),
        word("max_elapsed_time", "total_budget", "the longest time in all, or \"none\" (default \"15m\")", as_it_is),
    ],
};

fn ladder(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("initial_interval", SimDuration::from_millis(500), Field::duration)?;
    let factor = spoken.or("multiplier", 1.5, |field| field.number(0.001..=1_000.0))?;
    let cap = spoken.or("max_interval", SimDuration::from_secs(60), Field::duration)?;
    Some(exponential(initial, factor, Some(cap)))
}
