//! The tree of values between text and meaning. It is TOML's, with two additions: every key and value knows the text
//! it comes from, and tables keep the order in which their keys were written, because the order of faults, limits and
//! classes is part of what a scenario says.

use std::collections::BTreeMap;

/// A text that values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    /// The scenario file.
    File,
    /// The patch file of this number, from 0.
    Patch(usize),
    /// The `--set` of this number, from 0.
    Set(usize),
}

/// A span of bytes in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which text.
    pub text: Text,
    /// The first byte.
    pub from: usize,
    /// The byte after the last one.
    pub to: usize,
}

/// A value with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written; where a preset supplied it, the place that names the preset.
    pub place: Place,
    /// The preset that supplied the value as a default; `None` where a person wrote it.
    pub preset: Option<&'static str>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// Any other number, also a whole one that 64 bits do not hold.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A date or a time, as written; no key of a scenario takes one.
    Datetime(String),
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// Keys with their values, in the order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    entries: BTreeMap<String, Entry>,
    written: usize,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where the key was written.
    pub key: Place,
    /// The value.
    pub node: Node,
    rank: usize,
}

impl Place {
    /// The beginning of the file: for faults of the file as a whole.
    pub const TOP: Place = Place { text: Text::File, from: 0, to: 0 };
}

impl Node {
    /// A value that somebody wrote at this place.
    pub const fn written(value: Value, place: Place) -> Node {
        Node { value, place, preset: None }
    }

    /// The table, where the value is one.
    pub const fn as_table(&self) -> Option<&Table> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    /// The text, where the value is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value { Some(text) } else { None }
    }

    /// The elements, where the value is a list.
    pub fn as_array(&self) -> Option<&[Node]> {
        if let Value::Array(items) = &self.value { Some(items) } else { None }
    }

    /// Gives this value and all inside it one source.
    pub fn stamp(&mut self, place: Place, preset: Option<&'static str>) {
        self.place = place;
        self.preset = preset;
        match &mut self.value {
            Value::Array(nodes) => nodes.iter_mut().for_each(|node| node.stamp(place, preset)),
            Value::Table(table) => table.entries.values_mut().for_each(|entry| {
                entry.key = place;
                entry.node.stamp(place, preset);
            }),
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
        }
    }
}

impl Value {
    /// What kind of value this is, for messages: `a number`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Value::String(_) => "a string",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date or time",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Table {
    /// Adds a key behind all others, or gives it a new value at its old position.
    pub fn insert(&mut self, name: impl Into<String>, key: Place, node: Node) {
        let rank = self.written;
        let entry = self.entries.entry(name.into()).or_insert_with(|| {
            self.written += 1;
            Entry { key, node: Node::written(Value::Boolean(false), key), rank }
        });
        entry.key = key;
        entry.node = node;
    }

    /// Takes a key out.
    pub fn remove(&mut self, name: &str) -> Option<Entry> {
        self.entries.remove(name)
    }

    /// The key of this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// The key of this name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Entry> {
        self.entries.get_mut(name)
    }

    /// Whether the key is there.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// All keys in the order of writing.
    pub fn in_order(&self) -> Vec<(&str, &Entry)> {
        let mut all: Vec<(&str, &Entry)> = self.entries.iter().map(|(name, entry)| (name.as_str(), entry)).collect();
        all.sort_by_key(|(_, entry)| entry.rank);
        all
    }

    /// The names of all keys in the order of writing.
    pub fn names(&self) -> Vec<&str> {
        self.in_order().into_iter().map(|(name, _)| name).collect()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_of_writing_when_their_values_change() {
        let number = |n| Node::written(Value::Integer(n), Place::TOP);
        let mut table = Table::default();
        for name in ["zeta", "alpha", "mid"] {
            table.insert(name, Place::TOP, number(1));
        }
        table.insert("zeta", Place::TOP, number(2));
        assert_eq!(table.names(), ["zeta", "alpha", "mid"]);
        assert_eq!(table.get("zeta").map(|entry| &entry.node.value), Some(&Value::Integer(2)));
    }
}
