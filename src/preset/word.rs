//! A library's word says something about one general key or about several, alone or together with other words. Each
//! pair of word and key is a row with a translation of its own, which sees the whole element: so a row can ask what
//! another word says.

use super::value::{duration, text};
use super::{Fault, Field, Table, Version};
use crate::document::Value;
use crate::units::SimDuration;

/// A word of a library, with one general key that it decides or has a part in.
#[derive(Debug)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// The general key that it stands for.
    pub stands_for: &'static str,
    /// What it means, in a few words; behind them, in parentheses, `default` and the value that saying nothing means.
    /// Only the first row of a word says it.
    meaning: &'static str,
    /// The value of the general key; `None` after a fault, and where the word leaves that key alone. The words that
    /// make a key together share this.
    translate: fn(&Spoken<'_>) -> Option<Value>,
    /// Whether the general key may stand beside the word, and then decides.
    yields: bool,
}

/// A word and the first general key that it decides.
pub(super) const fn word(
    word: &'static str,
    stands_for: &'static str,
    meaning: &'static str,
    translate: fn(&Spoken<'_>) -> Option<Value>,
) -> Word {
    Word { word, stands_for, meaning, translate, yields: false }
}

/// A further general key that a word above says.
pub(super) const fn further(
    said: &'static str,
    stands_for: &'static str,
    translate: fn(&Spoken<'_>) -> Option<Value>,
) -> Word {
    word(said, stands_for, "", translate)
}

/// A further general key whose default a word above changes: the general key may stand beside it, and then decides.
pub(super) const fn also(
    said: &'static str,
    stands_for: &'static str,
    translate: fn(&Spoken<'_>) -> Option<Value>,
) -> Word {
    further(said, stands_for, translate).yielding()
}

impl Word {
    /// The same row, giving way to its general key.
    pub(super) const fn yielding(self) -> Word {
        Word { yields: true, ..self }
    }

    /// Whether it gives way to its general key.
    pub(super) const fn yields(&self) -> bool {
        self.yields
    }

    /// What it says about its general key.
    pub(super) fn translated(&self, spoken: &Spoken<'_>) -> Option<Value> {
        (self.translate)(spoken)
    }

    /// What it means, without its default.
    pub fn gist(&self) -> &'static str {
        self.split().0
    }

    /// The value that saying nothing means, in scenario syntax.
    pub fn default(&self) -> Option<&'static str> {
        self.split().1
    }

    fn split(&self) -> (&'static str, Option<&'static str>) {
        match self.meaning.strip_suffix(')').and_then(|open| open.split_once(" (default ")) {
            Some((gist, default)) => (gist, Some(default)),
            None => (self.meaning, None),
        }
    }
}

/// A word as the file uses it.
#[derive(Debug)]
pub(super) struct Spoken<'a> {
    /// Its value.
    pub(super) field: Field<'a>,
    /// The general key that is asked for.
    pub(super) key: &'static str,
    /// The version that speaks.
    pub(super) version: &'static Version,
    /// The element's table, for words whose meaning depends on another one.
    pub(super) element: &'a Table,
}

impl<'a> Spoken<'a> {
    /// This word or another one of the element, where it is said.
    pub(super) fn word(&self, word: &str) -> Option<Field<'a>> {
        let entry = self.element.get(word)?;
        Some(Field::new(entry.key, &entry.node, self.field.faults()))
    }

    /// A word converted: `default` where it is not said, `None` where it is wrong.
    pub(super) fn or<T>(&self, word: &str, default: T, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<T> {
        self.word(word).map_or(Some(default), |field| convert(&field))
    }

    /// A word converted; without it, the one that was said says nothing.
    pub(super) fn needs<T>(&self, word: &str, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<T> {
        match self.word(word) {
            Some(field) => convert(&field),
            None => self.lacks(word),
        }
    }

    /// The word says nothing without another one.
    pub(super) fn lacks<T>(&self, word: &str) -> Option<T> {
        let fault = Fault::new(self.field.key, format!("says nothing without `{word}`"));
        self.field.faults().add(fault.hint(format!("write `{word}` too")));
        None
    }
}

/// The word as it is: the general key has the same form.
#[expect(clippy::unnecessary_wraps, reason = "it stands in a table beside words that can be wrong")]
pub(super) fn as_it_is(spoken: &Spoken<'_>) -> Option<Value> {
    Some(spoken.field.node.value.clone())
}

/// Retries after the first try: one attempt more than that.
pub(super) fn retries_to_attempts(spoken: &Spoken<'_>) -> Option<Value> {
    one_more(&spoken.field)
}

/// One more than this number of retries.
pub(super) fn one_more(retries: &Field<'_>) -> Option<Value> {
    Some(Value::Integer(i64::try_from(retries.whole(0..=999_999)?).ok()? + 1))
}

/// Retries after the first try, without end for `"none"`.
pub(super) fn retries_or_none(retries: &Field<'_>) -> Option<Value> {
    if retries.is_none() { Some(text("unlimited")) } else { one_more(retries) }
}

/// A number of attempts, without end for `"none"`.
pub(super) fn attempts_or_none(attempts: &Field<'_>) -> Option<Value> {
    if attempts.is_none() {
        return Some(text("unlimited"));
    }
    Some(Value::Integer(i64::try_from(attempts.whole(1..=1_000_000)?).ok()?))
}

/// A limit on time, none for `"none"`: the general keys say it alike.
pub(super) fn time_limit(field: &Field<'_>) -> Option<Value> {
    if field.is_none() { Some(text("none")) } else { field.positive_duration().map(duration) }
}

/// A duration of a library that counts in milliseconds: a bare number is refused as what it would mean there.
pub(super) fn milliseconds(field: &Field<'_>) -> Option<SimDuration> {
    match field.node.value {
        Value::Integer(number) => field.must("be a duration with a unit", format!("write \"{}ms\"", number.max(0))),
        _ => field.duration(),
    }
}
