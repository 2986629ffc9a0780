//! backon, a decorator of Rust. Its jitter adds up to the wait once more, also above the longest delay. `total_delay`
//! bounds the waits alone; here the attempts count too, which ends a call a little earlier where they are slow.

use super::{
    Family, Source, Spoken, Version, Word, adds_up_to_itself, as_it_is, duration, exponential, form, table, text,
};
use crate::document::{Fault, Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "backon",
    about: "the crate backon",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "1.6",
        source: Source::Measured("backon 1.6.0"),
        defaults: "max_attempts = 4\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"1m\" } }\njitter = \"none\"\n",
    }],
    words: &[
        Word {
            word: "builder",
            stands_for: "backoff",
            meaning: "\"exponential\", \"fibonacci\" or \"constant\" (default \"exponential\")",
            translate: waits,
        },
        Word {
            word: "min_delay",
            stands_for: "backoff",
            meaning: "the first wait of the first two (default \"1s\")",
            translate: waits,
        },
        Word {
            word: "max_delay",
            stands_for: "backoff",
            meaning: "the longest wait of the first two, jitter left out (default \"60s\")",
            translate: waits,
        },
        Word {
            word: "factor",
            stands_for: "backoff",
            meaning: "what each wait of the exponential one is multiplied by (default 2)",
            translate: waits,
        },
        Word {
            word: "delay",
            stands_for: "backoff",
            meaning: "the wait of the constant one, 1 s unless said",
            translate: waits,
        },
        Word {
            word: "max_times",
            stands_for: "max_attempts",
            meaning: "tries after the first one, or \"unlimited\" (default 3)",
            translate: max_times,
        },
        Word {
            word: "jitter",
            stands_for: "jitter",
            meaning: "whether a wait is up to twice as long, at random (default false)",
            translate: jitter,
        },
        Word {
            word: "total_delay",
            stands_for: "total_budget",
            meaning: "the longest sum of waits",
            translate: as_it_is,
        },
    ],
};

/// The builders, with the words that each of them knows.
const BUILDERS: [(&str, &[&str]); 3] = [
    ("exponential", &["min_delay", "max_delay", "factor"]),
    ("fibonacci", &["min_delay", "max_delay"]),
    ("constant", &["delay"]),
];

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let (builder, known) =
        spoken.or("builder", BUILDERS[0], |field| field.word(&BUILDERS.map(|builder| (builder.0, builder))))?;
    for word in ["min_delay", "max_delay", "factor", "delay"] {
        if let Some(field) = spoken.word(word).filter(|_| !known.contains(&word)) {
            let fault = Fault::new(field.key, format!("says nothing to the {builder} builder"));
            field.faults().add(fault.hint("leave it out, or write another `builder`"));
            return None;
        }
    }
    let first = spoken.or("min_delay", SimDuration::from_secs(1), Field::duration)?;
    let cap = spoken.or("max_delay", SimDuration::from_secs(60), Field::positive_duration)?;
    Some(match builder {
        "constant" => form("fixed", duration(spoken.or("delay", SimDuration::from_secs(1), Field::duration)?)),
        "fibonacci" => form("fibonacci", table([("initial", duration(first)), ("cap", duration(cap))])),
        _ => exponential(first, spoken.or("factor", 2.0, |field| field.number(1.0..=1_000.0))?, Some(cap)),
    })
}

fn max_times(spoken: &Spoken<'_>) -> Option<Value> {
    if spoken.field.node.as_str() == Some("unlimited") {
        return Some(text("unlimited"));
    }
    super::retries_to_attempts(spoken)
}

/// True or false as the library says it; a general jitter as it is.
fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    match spoken.field.node.value {
        Value::Boolean(adds) => Some(adds_up_to_itself(adds)),
        _ => as_it_is(spoken),
    }
}
