//! From tree to text: values as a person would write them into a scenario, on one line.

use std::fmt;

use super::tree::{Table, Value};

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::String(text) => string(text, f),
            Value::Integer(number) => write!(f, "{number}"),
            // Between those bounds the shortest digits read well; outside an exponent does.
            Value::Float(number) if number.abs() < 1e15 => write!(f, "{number:?}"),
            Value::Float(number) => write!(f, "{number:e}"),
            Value::Boolean(truth) => write!(f, "{truth}"),
            Value::Datetime(moment) => f.write_str(moment),
            Value::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, item.value)?;
                }
                f.write_str("]")
            }
            Value::Table(table) => inline(table, f),
        }
    }
}

/// A basic string. Rust's escapes differ from TOML's only in control characters, which no name or unit has.
fn string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            control if control.is_control() => write!(f, "\\u{:04X}", u32::from(control))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

fn inline(table: &Table, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if table.is_empty() {
        return f.write_str("{}");
    }
    f.write_str("{ ")?;
    for (i, (name, entry)) in table.in_order().into_iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        key(name, f)?;
        write!(f, " = {}", entry.node.value)?;
    }
    f.write_str(" }")
}

fn key(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { f.write_str(name) } else { string(name, f) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::document::tree::{Node, Place};

    #[test]
    fn what_is_written_reads_back() {
        let source = r#"a = { b = [1, 2.5, "x \" \\ y"], "c d" = true, e = {}, big = 1e30, neg = -3 }"#;
        let first = parse::own(source);
        let written = format!("a = {}", first.get("a").unwrap().node.value);
        let mut second = parse::own(&written);
        // Places differ; stamped alike, the trees must be equal.
        let mut first = Node::written(Value::Table(first), Place::TOP);
        first.stamp(Place::TOP, None);
        let mut node = Node::written(Value::Table(std::mem::take(&mut second)), Place::TOP);
        node.stamp(Place::TOP, None);
        assert_eq!(first, node);
    }
}
