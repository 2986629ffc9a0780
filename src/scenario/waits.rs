//! The own wait of a retry layer: backoff and jitter.

use crate::document::{Field, Reader};
use crate::policy::{Backoff, Jitter};
use crate::units::SimDuration;

/// The most waits that a list may have.
const LONGEST_LIST: usize = 1_000;

/// The most backoffs that are added up.
const MOST_PARTS: usize = 8;

/// The forms of a backoff.
const FORMS: [&str; 13] = [
    "fixed",
    "linear",
    "exponential",
    "fibonacci",
    "power",
    "list",
    "uniform",
    "decorrelated",
    "smooth",
    "sum",
    "jittered",
    "at_least",
    "first_at_once",
];

/// A backoff: `"none"` or a table of one form.
pub(super) fn backoff(field: &Field<'_>) -> Option<Backoff> {
    if field.node.as_table().is_none() {
        if field.node.as_str() == Some("none") {
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
        ("fibonacci", field) => fibonacci(&field),
        ("power", field) => power(&field),
        ("uniform", field) => uniform(&field),
        ("decorrelated", field) => decorrelated(&field),
        ("smooth", field) => smooth(&field),
        ("sum", field) => sum(&field),
        ("jittered", field) => jittered(&field),
        ("at_least", field) => at_least(&field),
        ("first_at_once", field) => part(&field).map(|later| Backoff::FirstAtOnce(Box::new(later))),
        (_, field) => list(&field),
    }
}

/// Waits as they are, or also backoffs, each for its own retry.
fn list(field: &Field<'_>) -> Option<Backoff> {
    let items = field.list("waits", LONGEST_LIST)?;
    if items.iter().all(|item| item.node.as_table().is_none()) {
        let waits: Vec<Option<SimDuration>> = items.iter().map(Field::duration).collect();
        return waits.into_iter().collect::<Option<Vec<_>>>().map(Backoff::List);
    }
    let parts = items.iter().map(|item| match item.node.as_table() {
        Some(_) => part(item),
        None => item.duration().map(Backoff::Fixed),
    });
    let parts: Vec<Option<Backoff>> = parts.collect();
    parts.into_iter().collect::<Option<Vec<_>>>().map(Backoff::Chain)
}

/// The first wait, which most ladders need.
fn initial(reader: &Reader<'_>) -> Option<SimDuration> {
    reader.need("initial", r#"write the first wait, such as "500ms""#)?.duration()
}

fn cap(reader: &Reader<'_>) -> Option<SimDuration> {
    reader.or("cap", SimDuration::MAX, Field::duration)
}

fn linear(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial, step and cap")?;
    let initial = initial(&reader);
    let step =
        reader.need("step", r#"write what each further wait adds, such as "1s""#).and_then(|field| field.duration());
    let cap = cap(&reader);
    reader.finish();
    Some(Backoff::Linear { initial: initial?, step: step?, cap: cap? })
}

fn exponential(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial, factor and cap")?;
    let initial = initial(&reader);
    let factor = reader.or("factor", 2.0, factor);
    let cap = cap(&reader);
    reader.finish();
    Some(Backoff::Exponential { initial: initial?, factor: factor?, cap: cap? })
}

fn factor(field: &Field<'_>) -> Option<f64> {
    let factor = field.number(0.0..=1_000.0)?;
    if factor > 0.0 {
        return Some(factor);
    }
    field.must("be above 0", "write 2 to double each wait, 0.5 to halve it")
}

fn fibonacci(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial and cap")?;
    let (initial, cap) = (initial(&reader), cap(&reader));
    reader.finish();
    Some(Backoff::Fibonacci { initial: initial?, cap: cap? })
}

fn power(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("unit, offset and power")?;
    let unit = reader.need("unit", r#"write what is multiplied, such as "1s""#);
    let unit = unit.and_then(|field| field.positive_duration());
    let offset = reader.or("offset", 0, |field| field.whole(0..=1_000));
    let power = reader.need("power", "write the power, such as 4").and_then(|field| field.whole(1..=20));
    reader.finish();
    Some(Backoff::Power { unit: unit?, offset: offset? as u32, power: power? as u32 })
}

fn uniform(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("low, high and per_retry")?;
    let low = reader.need("low", r#"write the shortest wait, such as "0s""#).and_then(|field| field.duration());
    let high_field = reader.need("high", r#"write the longest wait, such as "3s""#);
    let high = high_field.as_ref().and_then(Field::positive_duration);
    let per_retry = reader.or("per_retry", false, Field::truth);
    reader.finish();
    let (low, high, per_retry) = (low?, high?, per_retry?);
    if low > high {
        return high_field?.must("be no shorter than `low`", "write the shorter wait as `low`");
    }
    Some(Backoff::Uniform { low, high, per_retry })
}

fn decorrelated(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial and cap")?;
    let (initial, cap) = (initial(&reader), cap(&reader));
    reader.finish();
    Some(Backoff::Decorrelated { initial: initial?, cap: cap? })
}

fn smooth(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("initial, factor and cap")?;
    let initial = initial(&reader);
    let factor = reader.or("factor", 2.0, |field| field.number(1.0..=1_000.0));
    let cap = cap(&reader);
    reader.finish();
    Some(Backoff::Smooth { initial: initial?, factor: factor?, cap: cap? })
}

fn sum(field: &Field<'_>) -> Option<Backoff> {
    let parts: Vec<Option<Backoff>> = field.list("backoffs", MOST_PARTS)?.iter().map(part).collect();
    parts.into_iter().collect::<Option<Vec<_>>>().map(Backoff::Sum)
}

fn jittered(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("of, jitter and longest")?;
    let of = reader.need("of", r#"write the backoff that is jittered, such as { exponential = { initial = "1s" } }"#);
    let of = of.and_then(|field| part(&field));
    let jitter = reader.need("jitter", r#"write its random part, such as "full""#).and_then(|field| jitter(&field));
    let longest = reader.or("longest", SimDuration::MAX, Field::positive_duration);
    reader.finish();
    Some(Backoff::Jittered { of: Box::new(of?), jitter: jitter?, longest: longest? })
}

fn at_least(field: &Field<'_>) -> Option<Backoff> {
    let reader = field.table("floor and of")?;
    let floor = reader.need("floor", r#"write the shortest wait, such as "4s""#);
    let floor = floor.and_then(|field| field.positive_duration());
    let of = reader.need("of", r#"write the backoff that is lifted, such as { exponential = { initial = "1s" } }"#);
    let of = of.and_then(|field| part(&field));
    reader.finish();
    Some(Backoff::AtLeast(floor?, Box::new(of?)))
}

/// A backoff inside another one.
fn part(field: &Field<'_>) -> Option<Backoff> {
    let backoff = backoff(field)?;
    // Both start from where the last wait ended, which here would hold what the other parts added.
    if has_own_jitter(&backoff) {
        let word = if matches!(backoff, Backoff::Smooth { .. }) { "smooth" } else { "decorrelated" };
        return field.wrong(format!("`{word}` is no part of another backoff"), "use it alone, or use `uniform` here");
    }
    Some(backoff)
}

/// Whether a backoff is random by itself and takes no jitter.
pub(super) fn has_own_jitter(backoff: &Backoff) -> bool {
    matches!(backoff, Backoff::Decorrelated { .. } | Backoff::Smooth { .. })
}

/// A jitter: a word or a table of one form.
pub(super) fn jitter(field: &Field<'_>) -> Option<Jitter> {
    if field.node.as_table().is_none() {
        return field.word(&[
            ("none", Jitter::None),
            ("full", Jitter::Full),
            ("full_whole", Jitter::FullWhole),
            ("equal", Jitter::Equal),
        ]);
    }
    let reader = field.table("one jitter")?;
    let chosen = reader.only(&["subtract", "add", "add_share", "plus_minus", "down_to"]);
    reader.finish();
    match chosen? {
        ("subtract", field) => field.ratio().map(Jitter::Subtract),
        ("add", field) => field.duration().map(Jitter::Add),
        ("add_share", field) => field.ratio().map(Jitter::AddShare),
        ("down_to", field) => field.positive_duration().map(Jitter::DownTo),
        (_, field) => field.ratio().map(Jitter::PlusMinus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::field::read_alone as read;

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
                "{ exponential = { initial = \"8s\", factor = 0.5, cap = \"8s\" } }",
                Backoff::Exponential { initial: second(8), factor: 0.5, cap: second(8) },
            ),
            (
                "{ fibonacci = { initial = \"1s\", cap = \"9s\" } }",
                Backoff::Fibonacci { initial: second(1), cap: second(9) },
            ),
            ("{ power = { unit = \"1s\", power = 4 } }", Backoff::Power { unit: second(1), offset: 0, power: 4 }),
            (
                "{ uniform = { low = \"0s\", high = \"3s\", per_retry = true } }",
                Backoff::Uniform { low: second(0), high: second(3), per_retry: true },
            ),
            (
                "{ sum = [{ fixed = \"15s\" }, { power = { unit = \"1s\", offset = 1, power = 2 } }] }",
                Backoff::Sum(vec![Backoff::Fixed(second(15)), Backoff::Power { unit: second(1), offset: 1, power: 2 }]),
            ),
            (
                "{ at_least = { floor = \"4s\", of = { fixed = \"2s\" } } }",
                Backoff::AtLeast(second(4), Box::new(Backoff::Fixed(second(2)))),
            ),
            (
                "{ list = [\"1s\", { uniform = { low = \"0s\", high = \"3s\" } }] }",
                Backoff::Chain(vec![
                    Backoff::Fixed(second(1)),
                    Backoff::Uniform { low: second(0), high: second(3), per_retry: false },
                ]),
            ),
            (
                "{ jittered = { of = { fixed = \"2s\" }, jitter = \"full\", longest = \"1s\" } }",
                Backoff::Jittered { of: Box::new(Backoff::Fixed(second(2))), jitter: Jitter::Full, longest: second(1) },
            ),
            ("{ first_at_once = { fixed = \"2s\" } }", Backoff::FirstAtOnce(Box::new(Backoff::Fixed(second(2))))),
            (
                "{ smooth = { initial = \"1s\", cap = \"9s\" } }",
                Backoff::Smooth { initial: second(1), factor: 2.0, cap: second(9) },
            ),
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
            ("{ exponential = { initial = \"1s\", factor = 0 } }", "must be above 0, found 0"),
            ("{ exponential = { initial = \"1s\", factor = -1 } }", "must be at least 0, found -1"),
            ("{ exponential = { initial = \"1s\", factor = 1001 } }", "must be at most 1000, found 1001"),
            ("{ exponential = { initial = \"1s\", factor = nan } }", "must be a number, found NaN"),
            ("{ fibonacci = {} }", "lacks the key `initial`"),
            ("{ power = { unit = \"1s\", power = 0 } }", "must be at least 1, found 0"),
            ("{ power = { unit = \"1s\", power = 21 } }", "must be at most 20, found 21"),
            ("{ power = { unit = \"0s\", power = 2 } }", "must be longer than zero, found \"0s\""),
            ("{ uniform = { low = \"3s\", high = \"1s\" } }", "must be no shorter than `low`, found \"1s\""),
            ("{ uniform = { low = \"0s\", high = \"0s\" } }", "must be longer than zero, found \"0s\""),
            ("{ uniform = { low = \"0s\", higher = \"1s\" } }", "unknown key"),
            ("{ sum = [] }", "is empty"),
            ("{ sum = { fixed = \"1s\" } }", "must be a list of backoffs, found a table"),
            ("{ sum = [{ decorrelated = { initial = \"1s\" } }] }", "`decorrelated` is no part of another backoff"),
            ("{ first_at_once = { smooth = { initial = \"1s\" } } }", "`smooth` is no part of another backoff"),
            ("{ smooth = { initial = \"1s\", factor = 0.5 } }", "must be at least 1, found 0.5"),
            ("{ at_least = { floor = \"4s\" } }", "lacks the key `of`"),
            ("{ jittered = { of = { fixed = \"1s\" } } }", "lacks the key `jitter`"),
            ("{ list = [1, { fixed = \"1s\" }] }", "must be a duration with a unit, found 1"),
            ("{ list = [{ decorrelated = { initial = \"1s\" } }] }", "`decorrelated` is no part of another backoff"),
            ("{ first_at_once = \"2s\" }", "must be a backoff, found \"2s\""),
            ("{ list = [] }", "is empty"),
            ("{ fixed = \"1s\", list = [\"1s\"] }", "says `list` beside `fixed`"),
        ] {
            assert_eq!(read(value, backoff), Err(message.to_owned()), "{value}");
        }
    }

    #[test]
    fn jitters_are_words_or_tables() {
        assert_eq!(read("\"full\"", jitter), Ok(Jitter::Full));
        assert_eq!(read("\"full_whole\"", jitter), Ok(Jitter::FullWhole));
        assert_eq!(read("{ subtract = \"25%\" }", jitter), Ok(Jitter::Subtract(0.25)));
        assert_eq!(read("{ add = \"1s\" }", jitter), Ok(Jitter::Add(SimDuration::from_secs(1))));
        assert_eq!(read("{ add_share = \"100%\" }", jitter), Ok(Jitter::AddShare(1.0)));
        assert_eq!(read("{ add_share = 2 }", jitter), Err("must lie in 0..=1, found 2".to_owned()));
        assert_eq!(read("{ down_to = \"1s\" }", jitter), Ok(Jitter::DownTo(SimDuration::from_secs(1))));
        assert_eq!(read("{ down_to = \"0s\" }", jitter), Err("must be longer than zero, found \"0s\"".to_owned()));
        assert_eq!(read("{ plus_minus = 2 }", jitter), Err("must lie in 0..=1, found 2".to_owned()));
        assert_eq!(read("\"whole\"", jitter), Err("is none of the known words, found \"whole\"".to_owned()));
    }
}
