//! cockatiel, resilience policies of npm; its retry policy. Bare, it never stops and never waits. `maxAttempts` counts
//! retries. Its default ladder is the smoothed one of Polly.

use super::node_retry::retries_or_endless;
use super::{Family, Source, Spoken, Version, Word, duration, durations, form, milliseconds, table, text};
use crate::document::{Field, Value};
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "cockatiel",
    about: "the retry policy of cockatiel of npm",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "3.2",
        source: Source::Measured("cockatiel 3.2.1"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\nbackoff = \"none\"\n",
    }],
    words: &[
        Word {
            word: "maxAttempts",
            stands_for: "max_attempts",
            meaning: "tries after the first one (default \"Infinity\")",
            translate: retries_or_endless,
        },
        Word {
            word: "backoff",
            stands_for: "backoff",
            meaning: "{ ConstantBackoff = d }, { IterableBackoff = [d, …] } or { ExponentialBackoff = { initialDelay, \
                      maxDelay, exponent, generator } }; without it, none",
            translate: backoff,
        },
        Word {
            word: "backoff",
            stands_for: "jitter",
            meaning: "the random part that the generator adds",
            translate: jitter,
        },
    ],
};

/// The class of a backoff, where it is one of the library's and not a general form.
fn class<'a>(spoken: &Spoken<'a>) -> Option<(&'a str, Field<'a>)> {
    let table = spoken.field.node.as_table()?;
    let classes = ["ConstantBackoff", "IterableBackoff", "ExponentialBackoff"];
    classes.into_iter().find(|class| table.contains(class))?;
    let reader = spoken.field.table("one backoff")?;
    let chosen = reader.only(&classes);
    reader.finish();
    chosen
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    match class(spoken) {
        None => Some(spoken.field.node.value.clone()),
        Some(("ConstantBackoff", wait)) => Some(form("fixed", duration(milliseconds(&wait)?))),
        Some(("IterableBackoff", waits)) => {
            let waits: Vec<Option<SimDuration>> = waits.list("waits", 1_000)?.iter().map(milliseconds).collect();
            Some(form("list", durations(waits.into_iter().collect::<Option<Vec<_>>>()?)))
        }
        Some((_, field)) => exponential(&field).map(|(backoff, _)| backoff),
    }
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    match class(spoken)? {
        ("ExponentialBackoff", field) => exponential(&field)?.1.map(text),
        _ => None,
    }
}

/// The ladder, and the jitter where it is not random by itself.
fn exponential(field: &Field<'_>) -> Option<(Value, Option<&'static str>)> {
    let generators = [
        ("decorrelatedJitterGenerator", ("smooth", None)),
        ("fullJitterGenerator", ("exponential", Some("full"))),
        ("halfJitterGenerator", ("exponential", Some("equal"))),
        ("noJitterGenerator", ("exponential", None)),
    ];
    let reader = field.table("initialDelay, maxDelay, exponent and generator")?;
    let initial = reader.or("initialDelay", SimDuration::from_millis(128), milliseconds);
    let cap = reader.or("maxDelay", SimDuration::from_secs(30), milliseconds);
    let exponent = reader.or("exponent", 2.0, |field| field.number(1.0..=1_000.0));
    let generator = reader.or("generator", generators[0].1, |field| field.word(&generators));
    reader.finish();
    let (shape, jitter) = generator?;
    let ladder = [("initial", duration(initial?)), ("factor", Value::Float(exponent?)), ("cap", duration(cap?))];
    Some((form(shape, table(ladder)), jitter))
}
