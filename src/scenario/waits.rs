//! The parts of a retry layer that make a wait: backoff, jitter, and the rule for server hints.

use crate::document::Field;
use crate::policy::hint::{AboveCap, HintRule};
use crate::policy::{Backoff, Jitter};
use crate::units::SimDuration;

/// The most waits that a list may have.
const LONGEST_LIST: usize = 1_000;

/// Whether the value is this bare word.
fn is_word(field: &Field<'_>, word: &str) -> bool {
    field.node.as_str() == Some(word)
}

/// A backoff: `"none"` or a table of one form.
pub(super) fn backoff(field: &Field<'_>) -> Option<Backoff> {
    const FORMS: [&str; 5] = ["fixed", "linear", "exponential", "list", "decorrelated"];
    if field.node.as_table().is_none() {
        if is_word(field, "none") {
            return Some(Backoff::None);
        }
        return field.must("be a backoff", r#"write "none" or one form, such as { fixed = "2s" }"#);
    }
    let reader = field.table("one backoff")?;
    let chosen = reader.only(&FORMS);
    reader.finish();
    match chosen? {
        ("fixed", field) => field.duration().map(Backoff::Fixed),
        ("linear", field) => linear(&field),
        ("exponential", field) => exponential(&field),
        ("decorrelated", field) => decorrelated(&field),
        (_, field) => {
            let waits: Vec<Option<SimDuration>> =
                field.list("waits", LONGEST_LIST)?.iter().map(Field::duration).collect();
            waits.into_iter().collect::<Option<Vec<_>>>().map(Backoff::List)
        }
    }
}

const INITIAL: &str = r#"write the first wait, such as "500ms""#;

fn linear(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial, step and cap")?;
    let initial = reader.need("initial", INITIAL).and_then(|field| field.duration());
    let step =
        reader.need("step", r#"write what each further wait adds, such as "1s""#).and_then(|field| field.duration());
    let cap = reader.or("cap", SimDuration::MAX, Field::duration);
    reader.finish();
    Some(Backoff::Linear { initial: initial?, step: step?, cap: cap? })
}

fn exponential(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial, factor and cap")?;
    let initial = reader.need("initial", INITIAL).and_then(|field| field.duration());
    let factor = reader.or("factor", 2.0, |field| field.number(1.0..=1_000.0));
    let cap = reader.or("cap", SimDuration::MAX, Field::duration);
    reader.finish();
    Some(Backoff::Exponential { initial: initial?, factor: factor?, cap: cap? })
}

fn decorrelated(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial and cap")?;
    let initial = reader.need("initial", INITIAL).and_then(|field| field.duration());
    let cap = reader.or("cap", SimDuration::MAX, Field::duration);
    reader.finish();
    Some(Backoff::Decorrelated { initial: initial?, cap: cap? })
}

/// A jitter: a word or a table of one form.
pub(super) fn jitter(field: &Field<'_>) -> Option<Jitter> {
    if field.node.as_table().is_none() {
        return field.word(&[("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)]);
    }
    let reader = field.table("one jitter")?;
    let chosen = reader.only(&["subtract", "add", "plus_minus"]);
    reader.finish();
    match chosen? {
        ("subtract", field) => field.ratio().map(Jitter::Subtract),
        ("add", field) => field.duration().map(Jitter::Add),
        (_, field) => field.ratio().map(Jitter::PlusMinus),
    }
}

/// A rule for server hints: a word or `{ obey = … }`.
pub(super) fn hint(field: &Field<'_>) -> Option<HintRule> {
    const OBEY: HintRule = HintRule::Obey { cap: SimDuration::MAX, above: AboveCap::Clamp, jittered: false };
    if field.node.as_table().is_none() {
        return field.word(&[("ignore", HintRule::Ignore), ("obey", OBEY), ("at_least", HintRule::AtLeast)]);
    }
    let reader = field.table("one rule")?;
    let chosen = reader.only(&["obey"]);
    reader.finish();
    let reader = chosen?.1.table("cap, above and jittered")?;
    let words = [("own_backoff", AboveCap::OwnBackoff), ("give_up", AboveCap::GiveUp), ("clamp", AboveCap::Clamp)];
    let cap = reader.or("cap", SimDuration::MAX, Field::positive_duration);
    let above = reader.or("above", AboveCap::Clamp, |field| field.word(&words));
    let jittered = reader.or("jittered", false, Field::truth);
    reader.finish();
    Some(HintRule::Obey { cap: cap?, above: above?, jittered: jittered? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Faults, parse};

    fn read<T: std::fmt::Debug>(value: &str, convert: impl Fn(&Field<'_>) -> Option<T>) -> Result<T, String> {
        let faults = Faults::default();
        let root = parse::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        let read = convert(&Field::new(entry.key, &entry.node, &faults));
        faults.into_sorted().0.pop().map_or_else(|| Ok(read.unwrap()), |fault| Err(fault.message))
    }

    #[test]
    fn every_backoff_has_its_form() {
        let second = SimDuration::from_secs;
        for (value, expected) in [
            ("\"none\"", Backoff::None),
            ("{ fixed = \"2s\" }", Backoff::Fixed(second(2))),
            (
                "{ linear = { initial = \"1s\", step = \"2s\", cap = \"9s\" } }",
                Backoff::Linear { initial: second(1), step: second(2), cap: second(9) },
            ),
            (
                "{ exponential = { initial = \"1s\" } }",
                Backoff::Exponential { initial: second(1), factor: 2.0, cap: SimDuration::MAX },
            ),
            ("{ list = [\"3m\", \"10m\"] }", Backoff::List(vec![second(180), second(600)])),
            (
                "{ decorrelated = { initial = \"1s\", cap = \"9s\" } }",
                Backoff::Decorrelated { initial: second(1), cap: second(9) },
            ),
        ] {
            assert_eq!(read(value, backoff), Ok(expected), "{value}");
        }
        for (value, message) in [
            ("\"fixed\"", "must be a backoff, found \"fixed\""),
            ("{ fixed = 2 }", "must be a duration with a unit, found 2"),
            ("{ exponential = { initial = \"1s\", factor = 0.5 } }", "must be at least 1, found 0.5"),
            ("{ list = [] }", "is empty"),
            ("{ fixed = \"1s\", list = [\"1s\"] }", "says `list` beside `fixed`"),
        ] {
            assert_eq!(read(value, backoff), Err(message.to_owned()), "{value}");
        }
    }

    #[test]
    fn jitters_and_hints_are_words_or_tables() {
        assert_eq!(read("\"full\"", jitter), Ok(Jitter::Full));
        assert_eq!(read("{ subtract = \"25%\" }", jitter), Ok(Jitter::Subtract(0.25)));
        assert_eq!(read("{ add = \"1s\" }", jitter), Ok(Jitter::Add(SimDuration::from_secs(1))));
        assert_eq!(read("{ plus_minus = 2 }", jitter), Err("must lie in 0..=1, found 2".to_owned()));
        let minute = HintRule::Obey { cap: SimDuration::from_secs(60), above: AboveCap::GiveUp, jittered: true };
        assert_eq!(read("{ obey = { cap = \"60s\", above = \"give_up\", jittered = true } }", hint), Ok(minute));
        assert_eq!(read("\"at_least\"", hint), Ok(HintRule::AtLeast));
        assert_eq!(read("\"obay\"", hint), Err("is none of the known words, found \"obay\"".to_owned()));
    }
}
