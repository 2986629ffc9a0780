//! tenacity, a decorator of Python. Bare, it never stops and never waits; it repeats whatever the function inside
//! raises, also what the SDK inside has given up on for a good reason.

use super::{Family, Source, Spoken, Version, Word, durations, form, table};
use crate::document::{Field, Value};
use crate::units::SimDuration;

const DEFAULTS: &str = "max_attempts = \"unlimited\"\nretry_on = \"any\"\nbackoff = \"none\"\n";

pub(super) static FAMILY: Family = Family {
    word: "tenacity",
    about: "the retrying decorator of Python",
    kind: crate::policy::Kind::Decorator,
    versions: &[
        Version { number: "9.1", source: Source::Measured("tenacity 9.1.4"), defaults: DEFAULTS },
        Version { number: "9.2", source: Source::Measured("tenacity 9.2.1"), defaults: DEFAULTS },
    ],
    words: &[
        Word {
            word: "stop",
            stands_for: "max_attempts",
            meaning: "{ after_attempt = n }; without it, never",
            translate: stop,
        },
        Word {
            word: "wait",
            stands_for: "backoff",
            meaning: "{ fixed = d } or { exponential = { multiplier, min, max, exp_base } }; without it, none",
            translate: wait,
        },
    ],
};

fn stop(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("a stop condition")?;
    let chosen = reader.only(&["after_attempt"]);
    reader.finish();
    let (_, attempts) = chosen?;
    if attempts.node.value == Value::Integer(0) {
        return attempts.must("be at least 1", "1 means no retry; the first try counts");
    }
    let number = attempts.whole(1..=1_000_000)?;
    Some(Value::Integer(i64::try_from(number).ok()?))
}

fn wait(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("a wait")?;
    let chosen = reader.only(&["fixed", "exponential"]);
    reader.finish();
    match chosen? {
        ("fixed", field) => Some(form("fixed", Value::String(field.duration()?.to_string()))),
        (_, field) => exponential(&field),
    }
}

/// `max(min, min(multiplier · exp_base^(n−1), max))`. General keys know no lower bound, so a bound that matters makes
/// the ladder a list; without an upper bound the list ends past the longest horizon.
fn exponential(field: &Field<'_>) -> Option<Value> {
    let reader = field.table("multiplier, min, max and exp_base")?;
    let multiplier = reader.or("multiplier", SimDuration::from_secs(1), Field::positive_duration);
    let least = reader.or("min", SimDuration::ZERO, Field::duration);
    let most = reader.maybe("max", Field::positive_duration);
    let base = reader.or("exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    reader.finish();
    let (multiplier, least, most, base) = (multiplier?, least?, most?, base?);
    if least > multiplier {
        let cap = most.unwrap_or(crate::units::parse::LONGEST);
        return Some(form("list", durations(ladder(multiplier, least, cap, base))));
    }
    let ladder = table([
        ("initial", Value::String(multiplier.to_string())),
        ("factor", Value::Float(base)),
        ("cap", Value::String(most.unwrap_or(crate::units::parse::LONGEST).to_string())),
    ]);
    Some(form("exponential", ladder))
}

/// The waits until they no longer change.
fn ladder(multiplier: SimDuration, least: SimDuration, most: SimDuration, base: f64) -> Vec<SimDuration> {
    // 366 days in steps of at least 10 % above a nanosecond; a base nearer to one is cut there.
    const LONGEST: usize = 500;
    let mut waits = Vec::new();
    let mut step = multiplier;
    while waits.len() < LONGEST {
        waits.push(step.min(most).max(least));
        if step >= most || base == 1.0 {
            break;
        }
        step = step.scaled(base);
    }
    waits
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    /// The general key that this element's words become.
    fn backoff(words: &str) -> String {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("tenacity").unwrap().expand(&mut element, Place::TOP, &faults);
        assert!(faults.is_empty(), "{faults:?}");
        element.get("backoff").unwrap().node.value.to_string()
    }

    #[test]
    fn waits_are_the_measured_ones() {
        // tenacity 9.2.1: wait_fixed(2) waits 2, 2, 2.
        assert_eq!(backoff("wait = { fixed = \"2s\" }"), r#"{ fixed = "2s" }"#);
        // multiplier 0.5, base 3, max 60: 0.5, 1.5, 4.5, 13.5, 40.5, 60.
        assert_eq!(
            backoff("wait = { exponential = { multiplier = \"500ms\", max = \"60s\", exp_base = 3 } }"),
            r#"{ exponential = { initial = "500ms", factor = 3.0, cap = "1m" } }"#
        );
        // multiplier 1, min 4, max 10: 4, 4, 4, 8, 10, 10.
        assert_eq!(
            backoff("wait = { exponential = { min = \"4s\", max = \"10s\" } }"),
            r#"{ list = ["4s", "4s", "4s", "8s", "10s"] }"#
        );
        assert_eq!(backoff(""), "\"none\"");
    }
}
