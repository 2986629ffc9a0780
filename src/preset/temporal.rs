//! Temporal, durable workflows; the retry policy of an activity. The server retries without end, a hundred times the
//! first interval at most between two tries, and puts each try into the task queue again: no worker waits. A workflow
//! goes on at the activity that failed.
//!
//! `StartToCloseTimeout` bounds one try: give it to the layers inside as their `timeout`.

use super::{Family, Source, Spoken, Version, Word, as_it_is, exponential, table, text};
use crate::document::{Field, Node, Place, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "temporal",
    about: "the retry policy of activities of Temporal",
    kind: crate::policy::Kind::Queue,
    versions: &[Version {
        number: "1",
        source: Source::Documented("the encyclopedia of Temporal 1, Retry Policies"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"100s\" } }\n\
                   requeue = \"back\"\nresume = \"failed_step\"\n",
    }],
    words: &[
        Word {
            word: "MaximumAttempts",
            stands_for: "max_attempts",
            meaning: "tries, the first one included; 0 for no limit (default 0)",
            translate: attempts,
        },
        Word {
            word: "InitialInterval",
            stands_for: "backoff",
            meaning: "the first wait (default \"1s\")",
            translate: ladder,
        },
        Word {
            word: "BackoffCoefficient",
            stands_for: "backoff",
            meaning: "what each further wait is multiplied by (default 2)",
            translate: ladder,
        },
        Word {
            word: "MaximumInterval",
            stands_for: "backoff",
            meaning: "the longest wait, a hundred times the first unless said",
            translate: ladder,
        },
        Word {
            word: "NonRetryableErrorTypes",
            stands_for: "retry_on",
            meaning: "codes of errors that end it; without it, none",
            translate: types,
        },
        Word {
            word: "ScheduleToCloseTimeout",
            stands_for: "total_budget",
            meaning: "the longest time in all; without it there is none",
            translate: as_it_is,
        },
    ],
};

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    Some(match spoken.field.whole(0..=1_000_000)? {
        0 => text("unlimited"),
        attempts => Value::Integer(i64::try_from(attempts).ok()?),
    })
}

fn ladder(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("InitialInterval", SimDuration::from_secs(1), Field::positive_duration)?;
    let factor = spoken.or("BackoffCoefficient", 2.0, |field| field.number(1.0..=1_000.0))?;
    let cap = spoken.or("MaximumInterval", initial.times(100), Field::positive_duration)?;
    Some(exponential(initial, factor, Some(cap)))
}

fn types(spoken: &Spoken<'_>) -> Option<Value> {
    let items = spoken.field.list("error types", 64)?;
    let types: Vec<Option<&str>> = items.iter().map(Field::text).collect();
    let types = types.into_iter().collect::<Option<Vec<_>>>()?;
    let list = types.into_iter().map(|name| Node::written(text(name), Place::TOP)).collect();
    Some(table([("any", Value::Boolean(true)), ("never", Value::Array(list))]))
}
