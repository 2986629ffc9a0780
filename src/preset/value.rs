//! What a library's word becomes is a value of a general key: a number, a word, or a table of one form.

use crate::document::{Node, Place, Table, Value};
use crate::units::{SimDuration, parse::LONGEST};

/// A table of one key.
pub(super) fn form(name: &str, value: Value) -> Value {
    table([(name, value)])
}

/// A table of these keys.
pub(super) fn table<'k>(keys: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let mut table = Table::default();
    for (name, value) in keys {
        table.insert(name, Place::TOP, Node::written(value, Place::TOP));
    }
    Value::Table(table)
}

/// A list of these values.
pub(super) fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(values.into_iter().map(|value| Node::written(value, Place::TOP)).collect())
}

/// A list of durations.
pub(super) fn durations(waits: impl IntoIterator<Item = SimDuration>) -> Value {
    list(waits.into_iter().map(duration))
}

/// A duration as a value, at most the longest that a file can say.
pub(super) fn duration(time: SimDuration) -> Value {
    Value::String(time.min(LONGEST).to_string())
}

/// A word.
pub(super) fn text(word: &str) -> Value {
    Value::String(word.to_owned())
}

/// An exponential backoff.
pub(super) fn exponential(initial: SimDuration, factor: f64, cap: Option<SimDuration>) -> Value {
    let mut ladder = vec![("initial", duration(initial)), ("factor", Value::Float(factor))];
    ladder.extend(cap.map(|cap| ("cap", duration(cap))));
    form("exponential", table(ladder))
}

/// A share as jitter that only adds, or none.
pub(super) fn adds_up_to_itself(adds: bool) -> Value {
    if adds { form("add_share", text("100%")) } else { text("none") }
}

/// A rule that obeys hints up to a cap, with what happens above it.
pub(super) fn obey(cap: SimDuration, above: &str) -> Value {
    form("obey", table([("cap", duration(cap)), ("above", text(above))]))
}
