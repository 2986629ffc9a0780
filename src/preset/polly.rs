//! Polly, resilience strategies of .NET; its retry strategy. Three retries, two seconds apart. With jitter a constant or
//! a linear delay is up to a quarter shorter or longer, and an exponential one becomes a smoothed ladder, whose first
//! wait has its median at the delay.

use super::{
    Family, Source, Spoken, Version, Word, as_it_is, duration, exponential, form, retries_to_attempts, table, text,
};
use crate::document::{Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "polly",
    about: "the retry strategy of Polly for .NET",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "8",
        source: Source::Documented("the API reference of Polly 8"),
        defaults: "max_attempts = 4\nretry_on = \"any\"\nbackoff = { fixed = \"2s\" }\njitter = \"none\"\n",
    }],
    words: &[
        Word {
            word: "MaxRetryAttempts",
            stands_for: "max_attempts",
            meaning: "tries after the first one (default 3)",
            translate: retries_to_attempts,
        },
        Word { word: "Delay", stands_for: "backoff", meaning: "the first wait (default \"2s\")", translate: waits },
        Word {
            word: "BackoffType",
            stands_for: "backoff",
            meaning: "\"Constant\", \"Linear\" or \"Exponential\" (default \"Constant\")",
            translate: waits,
        },
        Word {
            word: "UseJitter",
            stands_for: "backoff",
            meaning: "whether the waits are random (default false)",
            translate: waits,
        },
        Word {
            word: "UseJitter",
            stands_for: "jitter",
            meaning: "a quarter more or less, but for exponential delays",
            translate: jitter,
        },
        Word {
            word: "MaxDelay",
            stands_for: "longest_wait",
            meaning: "the longest wait; without it there is none",
            translate: as_it_is,
        },
    ],
};

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Constant,
    Linear,
    Exponential,
}

fn shape(spoken: &Spoken<'_>) -> Option<Shape> {
    let shapes = [("Constant", Shape::Constant), ("Linear", Shape::Linear), ("Exponential", Shape::Exponential)];
    spoken.or("BackoffType", Shape::Constant, |field| field.word(&shapes))
}

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let delay = spoken.or("Delay", SimDuration::from_secs(2), Field::duration)?;
    let random = spoken.or("UseJitter", false, Field::truth)?;
    Some(match shape(spoken)? {
        Shape::Constant => form("fixed", duration(delay)),
        Shape::Linear => form("linear", table([("initial", duration(delay)), ("step", duration(delay))])),
        Shape::Exponential if random => {
            form("smooth", table([("initial", duration(delay)), ("factor", Value::Float(2.0))]))
        }
        Shape::Exponential => exponential(delay, 2.0, None),
    })
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    let random = spoken.field.truth()? && shape(spoken)? != Shape::Exponential;
    Some(if random { form("plus_minus", text("25%")) } else { text("none") })
}
