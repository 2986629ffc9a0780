//! Fixes: named patches of the file that may be switched on one by one. A variant is a state of the system; a fix is a
//! step between two states, and what each step is worth is found by taking them alone, together, and all but one.

use super::refusal::Refusal;
use crate::document::{Fault, Faults, Field, Table, leaves, near, patch, reader};

/// The most fixes of a file.
const MOST: usize = 100;

/// The fixes of a file, in its order.
#[derive(Default)]
pub(super) struct Fixes {
    /// Their names.
    pub(super) names: Vec<String>,
    tables: Vec<Table>,
}

/// Takes the fixes out of the tree.
pub(super) fn take(root: &mut Table, faults: &Faults) -> Fixes {
    let mut fixes = Fixes::default();
    let Some(entry) = root.remove("fixes") else { return fixes };
    let field = Field::new(entry.key, &entry.node, faults);
    let Some(table) = field.table("fixes").and(entry.node.as_table()) else { return fixes };
    let entries = table.in_order();
    if entries.len() > MOST {
        let fault = Fault::new(entries[MOST].1.key, format!("is past the {MOST} fixes that are read"));
        faults.add(fault.hint("split the file"));
        return fixes;
    }
    for (name, entry) in entries {
        if !reader::is_name(name) {
            faults.add(reader::bad_name(entry.key, name));
        }
        fixes.names.push(name.to_owned());
        let mut changes = entry.node.as_table().cloned().unwrap_or_default();
        if entry.node.as_table().is_none() {
            let message = format!("must be a table of changes, found {}", entry.node.value.kind());
            faults.add(Fault::new(entry.node.place, message).hint("write [fixes.NAME] and the changes below it"));
        } else if changes.is_empty() {
            faults
                .add(Fault::new(entry.key, "changes nothing").hint("write what it changes below it, or leave it out"));
        }
        for fixed in ["base", "variants", "fixes", "extends", "horizon"] {
            if let Some(entry) = changes.remove(fixed) {
                let fault = Fault::new(entry.key, format!("a fix cannot change `{fixed}`"));
                faults.add(fault.hint("leave it out, or write a variant"));
            }
        }
        fixes.tables.push(changes);
    }
    fixes
}

impl Fixes {
    /// The index of the fix of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The fixes that a list names.
    pub(super) fn named(&self, field: &Field<'_>) -> Vec<usize> {
        let list: Vec<Field<'_>> = match field.node.as_array() {
            Some(items) => items.iter().map(|node| Field::new(node.place, node, field.faults())).collect(),
            None => vec![Field::new(field.key, field.node, field.faults())],
        };
        let find = |field: &Field<'_>| {
            let index = self.find(field.text()?);
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            index.or_else(|| field.wrong("no fix has this name", near::existing("fixes", &names, field.text()?)))
        };
        list.iter().filter_map(find).collect()
    }

    /// Applies these fixes in the order of the file, each once. Two that give one setting two values are a fault: the
    /// outcome would be of their order.
    pub(super) fn apply(&self, wanted: &[usize], root: &mut Table, faults: &Faults) {
        let mut changed: Vec<(usize, leaves::Leaf)> = Vec::new();
        for index in (0..self.names.len()).filter(|index| wanted.contains(index)) {
            let own = leaves::leaves(&self.tables[index]);
            for leaf in &own {
                let clash = changed.iter().find(|(_, earlier)| earlier.clashes(leaf));
                if let Some((other, _)) = clash {
                    let message = format!("`{}` gives `{}` another value", self.names[*other], leaf.path.join("."));
                    faults
                        .add(Fault::new(leaf.place, message).hint("leave one of the two fixes out, or make them one"));
                }
            }
            changed.extend(own.into_iter().map(|leaf| (index, leaf)));
            patch::apply(root, &self.tables[index], faults);
        }
    }

    /// The refusal of a name that no fix has.
    pub(super) fn unknown(&self, wanted: &str, path: &str) -> Refusal {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let hint = if names.is_empty() {
            "describe it as [fixes.NAME] with the changes below it".to_owned()
        } else {
            near::existing("fixes", &names, wanted)
        };
        Refusal::Whole { message: format!("no fix `{}` in `{path}`", wanted.escape_debug()), hint: Some(hint) }
    }
}
