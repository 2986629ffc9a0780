//! tokio-retry, a decorator of Rust. The number of its exponential strategy is the base of the power, not the first
//! wait: `from_millis(1000)` waits one second, then a thousand, then a million. A strategy ends only where `take` ends
//! it.

use super::{Family, Source, Spoken, Version, Word, duration, exponential, form, table, text};
use crate::document::{Field, Reader, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "tokio-retry",
    about: "the crate tokio-retry",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "0.3",
        source: Source::Measured("tokio-retry 0.3.2"),
        defaults: "max_attempts = 1\nretry_on = \"any\"\nbackoff = \"none\"\njitter = \"none\"\n",
    }],
    words: &[
        Word {
            word: "strategy",
            stands_for: "backoff",
            meaning: "{ FixedInterval = { from_millis } } or { ExponentialBackoff or FibonacciBackoff = { from_millis, \
                      factor, max_delay } }; without it nothing is repeated",
            translate: strategy,
        },
        Word {
            word: "take",
            stands_for: "max_attempts",
            meaning: "tries after the first one; without it there is no limit",
            translate: take,
        },
        Word {
            word: "strategy",
            stands_for: "max_attempts",
            meaning: "without `take` it never ends",
            translate: |_| Some(text("unlimited")),
        },
        Word {
            word: "map",
            stands_for: "jitter",
            meaning: "\"jitter\": each wait is anything from nothing to itself",
            translate: |spoken| Some(text(spoken.field.word(&[("jitter", "full")])?)),
        },
    ],
};

fn take(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.needs("strategy", |_| Some(()))?;
    super::retries_to_attempts(spoken)
}

fn strategy(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("a strategy")?;
    let chosen = reader.only(&["FixedInterval", "ExponentialBackoff", "FibonacciBackoff"]);
    reader.finish();
    match chosen? {
        ("FixedInterval", field) => {
            let reader = field.table("from_millis")?;
            let wait = millis(&reader, u64::MAX / 2_000_000);
            reader.finish();
            Some(form("fixed", duration(SimDuration::from_millis(wait?))))
        }
        ("ExponentialBackoff", field) => {
            // The base is the factor of general keys, which ends at 1000.
            let (base, factor, cap) = ladder(&field, 1_000)?;
            Some(exponential(SimDuration::from_millis(base.saturating_mul(factor)), base as f64, cap))
        }
        (_, field) => {
            let (first, factor, cap) = ladder(&field, 1_000_000_000)?;
            let mut ladder = vec![("initial", duration(SimDuration::from_millis(first.saturating_mul(factor))))];
            ladder.extend(cap.map(|cap| ("cap", duration(cap))));
            Some(form("fibonacci", table(ladder)))
        }
    }
}

fn millis(reader: &Reader<'_>, most: u64) -> Option<u64> {
    let millis = reader.need("from_millis", "write milliseconds, such as from_millis = 10");
    millis.and_then(|field| field.whole(1..=most))
}

fn ladder(field: &Field<'_>, most: u64) -> Option<(u64, u64, Option<SimDuration>)> {
    let reader = field.table("from_millis, factor and max_delay")?;
    let millis = millis(&reader, most);
    let factor = reader.or("factor", 1, |field| field.whole(1..=1_000_000));
    let cap = reader.maybe("max_delay", Field::positive_duration);
    reader.finish();
    Some((millis?, factor?, cap?))
}
