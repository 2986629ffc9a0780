//! resilience4j, resilience modules of Java; its retry module. `maxAttempts` counts the first call. A fixed half second
//! unless an exponential or a randomised wait is switched on.

use super::{Family, Source, Spoken, Version, Word, duration, exponential, form, text};
use crate::document::{Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "resilience4j",
    about: "the retry module of resilience4j for Java",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "2",
        source: Source::Documented("the user guide of resilience4j 2"),
        defaults: "max_attempts = 3\nretry_on = \"any\"\nbackoff = { fixed = \"500ms\" }\njitter = \"none\"\n",
    }],
    words: &[
        Word {
            word: "maxAttempts",
            stands_for: "max_attempts",
            meaning: "tries, the first one included (default 3)",
            translate: attempts,
        },
        Word {
            word: "waitDuration",
            stands_for: "backoff",
            meaning: "the first wait (default \"500ms\")",
            translate: waits,
        },
        Word {
            word: "enableExponentialBackoff",
            stands_for: "backoff",
            meaning: "whether the waits grow (default false)",
            translate: waits,
        },
        Word {
            word: "exponentialBackoffMultiplier",
            stands_for: "backoff",
            meaning: "what each further wait is multiplied by, where they grow, 1.5 unless said",
            translate: waits,
        },
        Word {
            word: "exponentialMaxWaitDuration",
            stands_for: "backoff",
            meaning: "the longest wait, where they grow; without it there is none",
            translate: waits,
        },
        Word {
            word: "enableRandomizedWait",
            stands_for: "jitter",
            meaning: "whether a wait is a share shorter or longer, at random (default false)",
            translate: jitter,
        },
        Word {
            word: "randomizedWaitFactor",
            stands_for: "jitter",
            meaning: "that share, where they are random, 0.5 unless said",
            translate: jitter,
        },
    ],
};

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let attempts = spoken.field.whole(1..=1_000_000)?;
    Some(Value::Integer(i64::try_from(attempts).ok()?))
}

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let wait = spoken.or("waitDuration", SimDuration::from_millis(500), Field::duration)?;
    let grows = spoken.or("enableExponentialBackoff", false, Field::truth)?;
    let factor = spoken.or("exponentialBackoffMultiplier", 1.5, |field| field.number(1.0..=1_000.0))?;
    let cap = spoken.or("exponentialMaxWaitDuration", None, |field| field.positive_duration().map(Some))?;
    Some(if grows { exponential(wait, factor, cap) } else { form("fixed", duration(wait)) })
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    let random = spoken.or("enableRandomizedWait", false, Field::truth)?;
    let share = spoken.or("randomizedWaitFactor", 0.5, Field::ratio)?;
    Some(if random { form("plus_minus", Value::Float(share)) } else { text("none") })
}
