//! A variant is a patch: it says only what is different, so that everything else is the same by construction.
//!
//! Tables merge and everything else replaces, with two exceptions. A list of named tables (a client's layers, a
//! class's steps) is patched by a table whose keys are the names. And a value that has one of several forms, such as a
//! backoff or a distribution, is replaced whole: merged, `{ fixed = … }` over `{ exponential = … }` would say both.

use super::fault::{Fault, Faults};
use super::near;
use super::tree::{Entry, Node, Place, Table, Value};

/// Keys whose tables are one of several forms and are replaced whole.
const WHOLE: [&str; 26] = [
    "arrivals",
    "backoff",
    "jitter",
    "hint",
    "respond",
    "probability",
    "input_tokens",
    "output_tokens",
    "latency",
    "first_token",
    "connect",
    "write",
    "send",
    "receive",
    "after",
    "window",
    "wait",
    "stop",
    "retry_on",
    "interval",
    "backoff_by_kind",
    "retries_by_kind",
    "hint_headers",
    "budget",
    "hands_back",
    "strategy",
];

/// What the keys of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Words of the grammar.
    Words,
    /// Names that the author gave, of things of this kind (singular and plural).
    Names(&'static str, &'static str),
}

/// What the keys of the table at this path are.
pub fn keys_at(path: &[&str]) -> Keys {
    match path {
        ["clients"] => Keys::Names("client", "clients"),
        ["guards"] => Keys::Names("guard", "guards"),
        ["traffic"] | ["provider", "faults", _, "by_class"] => Keys::Names("class", "classes"),
        ["phases"] => Keys::Names("phase", "phases"),
        ["alerts"] => Keys::Names("alert", "alerts"),
        ["interventions"] => Keys::Names("intervention", "interventions"),
        ["fixes"] => Keys::Names("fix", "fixes"),
        ["variants"] => Keys::Names("variant", "variants"),
        ["provider", "limits"] => Keys::Names("limit", "limits"),
        ["provider", "faults"] => Keys::Names("fault", "faults"),
        ["provider", "models"] => Keys::Names("model", "models"),
        ["clients", _, "layers"] => Keys::Names("layer", "layers"),
        ["traffic", _, "steps"] => Keys::Names("step", "steps"),
        _ => Keys::Words,
    }
}

/// Whether the value at this path is replaced whole.
pub fn is_whole(path: &[&str]) -> bool {
    let Some((last, parent)) = path.split_last() else { return false };
    keys_at(parent) == Keys::Words && WHOLE.contains(last)
}

/// The name of an element of a list of named tables: its `name`, else the word of its preset, else its guard's
/// name, else what it is.
pub fn name_of(table: &Table) -> Option<&str> {
    let text = |key: &str| table.get(key).and_then(|entry| entry.node.as_str());
    let nameless = ["hedge", "fallback"].into_iter().find(|key| table.contains(key));
    text("name").or_else(|| text("preset").map(family_word)).or_else(|| text("guard")).or(nameless)
}

/// A preset's name without the version: `anthropic-python-1.13` without `-1.13`.
pub fn family_word(preset: &str) -> &str {
    match preset.rsplit_once('-') {
        Some((word, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => word,
        _ => preset,
    }
}

/// Applies a patch to the whole tree.
pub fn apply(root: &mut Table, changes: &Table, faults: &Faults) {
    let mut path = Vec::new();
    merge_table(root, changes, &mut path, faults);
}

fn merge_table<'p>(base: &mut Table, changes: &'p Table, path: &mut Vec<&'p str>, faults: &Faults) {
    for (name, entry) in changes.in_order() {
        path.push(name);
        merge_entry(base, name, entry, path, faults);
        path.pop();
    }
}

fn merge_entry<'p>(base: &mut Table, name: &str, entry: &'p Entry, path: &mut Vec<&'p str>, faults: &Faults) {
    let change = &entry.node;
    if !is_whole(path)
        && let (Some(old), Value::Table(from)) = (base.get_mut(name), &change.value)
    {
        if let Value::Table(into) = &mut old.node.value {
            return merge_table(into, from, path, faults);
        }
        if let Value::Array(items) = &mut old.node.value
            && keys_at(path) != Keys::Words
        {
            return merge_named(items, from, path, faults);
        }
    }
    match nobody(base, name, entry, path) {
        Some(fault) => faults.add(fault),
        None => base.insert(name, entry.key, change.clone()),
    }
}

/// The fault of a change to a thing that is not there: it patches elements by name where there is no list of them.
fn nobody(base: &Table, name: &str, entry: &Entry, path: &[&str]) -> Option<Fault> {
    let Keys::Names(one, many) = keys_at(&path[..path.len() - 1]) else { return None };
    let table = entry.node.as_table().filter(|_| !base.contains(name))?;
    let mut way = path.to_vec();
    table.in_order().into_iter().find_map(|(key, inner)| {
        way.truncate(path.len());
        way.push(key);
        (keys_at(&way) != Keys::Words && inner.node.as_table().is_some()).then_some(())
    })?;
    Some(Fault::new(entry.key, format!("no {one} has this name")).hint(near::existing(many, &base.names(), name)))
}

/// The longest list of named tables that is patched: whoever reads a longer one refuses it.
const LONGEST_LIST: usize = 64;

/// Patches the elements of a list by their names.
fn merge_named<'p>(items: &mut [Node], changes: &'p Table, path: &mut Vec<&'p str>, faults: &Faults) {
    if items.len() > LONGEST_LIST {
        return;
    }
    for (name, entry) in changes.in_order() {
        let Some(index) = find(items, name) else {
            faults.add(no_element(items, name, entry.key, path));
            continue;
        };
        if let (Value::Table(into), Value::Table(from)) = (&mut items[index].value, &entry.node.value) {
            path.push(name);
            merge_table(into, from, path, faults);
            path.pop();
        } else {
            let message = format!("must be a table, found {}", entry.node.value.kind());
            let hint = "write { key = value, … } with the keys to change";
            faults.add(Fault::new(entry.node.place, message).hint(hint));
        }
    }
}

/// Patches the elements of the list at this path by their names.
pub fn elements(items: &mut [Node], changes: &Table, path: &[&str], faults: &Faults) {
    merge_named(items, changes, &mut path.to_vec(), faults);
}

/// The index of the element of this name or of this number.
pub fn find(items: &[Node], name: &str) -> Option<usize> {
    let named = items.iter().position(|item| item.as_table().and_then(name_of) == Some(name));
    named.or_else(|| name.parse().ok().filter(|index| *index < items.len()))
}

/// The fault of a name that no element of a list has.
pub fn no_element(items: &[Node], name: &str, place: Place, path: &[&str]) -> Fault {
    let (one, many) = match keys_at(path) {
        Keys::Names(one, many) => (one, many),
        Keys::Words => ("element", "elements"),
    };
    let names: Vec<&str> = items.iter().filter_map(|item| item.as_table().and_then(name_of)).collect();
    Fault::new(place, format!("no {one} has this name")).hint(near::existing(many, &names, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn patched(base: &str, patch: &str) -> (String, Vec<Fault>) {
        let (mut root, faults) = (parse::own(base), Faults::default());
        apply(&mut root, &parse::own(patch), &faults);
        (Value::Table(root).to_string(), faults.into_sorted().0)
    }

    #[test]
    fn tables_merge_and_the_rest_replaces() {
        let (tree, faults) = patched("a = { b = 1, c = [1, 2] }\nd = 1", "a.c = [3]\na.e = 2\nd = \"x\"");
        assert_eq!(tree, r#"{ a = { b = 1, c = [3], e = 2 }, d = "x" }"#);
        assert_eq!(faults, []);
    }

    #[test]
    fn a_value_with_forms_is_replaced_whole_unless_it_is_a_name() {
        let (tree, _) = patched("jitter = { add = \"1s\" }", "jitter = { subtract = 0.25 }");
        assert_eq!(tree, "{ jitter = { subtract = 0.25 } }");
        // A client may be called `after`.
        let (tree, _) = patched("[clients.after]\nfor_tests = true", "clients.after.layers = []");
        assert_eq!(tree, "{ clients = { after = { for_tests = true, layers = [] } } }");
    }

    #[test]
    fn elements_are_patched_by_their_names() {
        let base = r#"clients.a.layers = [{ preset = "tenacity-9.1", max = 1 }, { guard = "share", off = true }, { name = "x" }]"#;
        let (tree, faults) = patched(base, "[clients.a.layers]\ntenacity.max = 2\nshare.off = false\n2.y = 1");
        assert_eq!(
            tree,
            r#"{ clients = { a = { layers = [{ preset = "tenacity-9.1", max = 2 }, { guard = "share", off = false }, { name = "x", y = 1 }] } } }"#
        );
        assert_eq!(faults, []);
    }

    #[test]
    fn a_name_that_is_not_there_is_a_fault_with_a_hint() {
        let base = r#"clients.a.layers = [{ name = "sdk" }, { name = "queue" }]"#;
        let (_, faults) = patched(base, "clients.a.layers.qeue.max = 1");
        assert_eq!(faults[0].message, "no layer has this name");
        assert_eq!(faults[0].hint.as_deref(), Some("layers are `sdk`, `queue`; did you mean `queue`?"));
    }
}
