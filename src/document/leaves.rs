//! What a tree says, one setting at a time: each value with its dotted path, so that two trees can be laid side by
//! side. Elements of lists of named tables go by their names, and a value with several forms is one value.

use super::patch;
use super::tree::{Node, Place, Table, Value};

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The names on the way to it.
    pub path: Vec<String>,
    /// Its value as TOML.
    pub value: String,
    /// Where the value was written.
    pub place: Place,
}

impl Leaf {
    /// Whether the two give one setting, or a setting and a part of it, different values.
    pub fn clashes(&self, other: &Leaf) -> bool {
        let common = self.path.len().min(other.path.len());
        self.path[..common] == other.path[..common]
            && (self.path.len() != other.path.len() || self.value != other.value)
    }
}

/// All settings of a tree, in the order of writing.
pub fn leaves(root: &Table) -> Vec<Leaf> {
    let mut out = Vec::new();
    of_table(root, &mut Vec::new(), &mut out);
    out
}

fn of_table(table: &Table, path: &mut Vec<String>, out: &mut Vec<Leaf>) {
    for (name, entry) in table.in_order() {
        path.push(name.to_owned());
        of_node(&entry.node, path, out);
        path.pop();
    }
}

fn of_node(node: &Node, path: &mut Vec<String>, out: &mut Vec<Leaf>) {
    let way: Vec<&str> = path.iter().map(String::as_str).collect();
    match &node.value {
        Value::Table(table) if !table.is_empty() && !patch::is_whole(&way) => of_table(table, path, out),
        Value::Array(items) if patch::keys_at(&way) != patch::Keys::Words && !items.is_empty() => {
            let names: Vec<Option<&str>> = items.iter().map(|item| item.as_table().and_then(patch::name_of)).collect();
            for (index, item) in items.iter().enumerate() {
                // Of two elements of one name, the second goes by its number, as in a patch.
                let first = names.iter().position(|name| *name == names[index]) == Some(index);
                path.push(names[index].filter(|_| first).map_or_else(|| index.to_string(), str::to_owned));
                of_node(item, path, out);
                path.pop();
            }
        }
        Value::Table(_)
        | Value::Array(_)
        | Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_) => {
            out.push(Leaf { path: path.clone(), value: node.value.to_string(), place: node.place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn shown(text: &str) -> Vec<String> {
        let leaf = |leaf: Leaf| format!("{} = {}", leaf.path.join("."), leaf.value);
        leaves(&parse::own(text)).into_iter().map(leaf).collect()
    }

    #[test]
    fn settings_go_by_dotted_paths_and_names() {
        let text = "horizon = \"1h\"\n[clients.a]\nlayers = [{ name = \"sdk\", backoff = { fixed = \"1s\" } }, { guard = \"g\" }, { guard = \"g\", off = true }]\n[provider]\nx = [1, 2]";
        let expected = [
            "horizon = \"1h\"",
            "clients.a.layers.sdk.name = \"sdk\"",
            "clients.a.layers.sdk.backoff = { fixed = \"1s\" }",
            "clients.a.layers.g.guard = \"g\"",
            "clients.a.layers.2.guard = \"g\"",
            "clients.a.layers.2.off = true",
            "provider.x = [1, 2]",
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_setting_clashes_with_another_value_and_with_a_part_of_itself() {
        let leaf = |path: &[&str], value: &str| Leaf {
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            value: value.to_owned(),
            place: Place::TOP,
        };
        let one = leaf(&["a", "b"], "1");
        assert!(!one.clashes(&one.clone()) && !one.clashes(&leaf(&["a", "c"], "2")));
        assert!(one.clashes(&leaf(&["a", "b"], "2")) && one.clashes(&leaf(&["a"], "{ b = 1 }")));
    }
}
