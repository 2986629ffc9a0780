//! Variants: named patches of the file, each of which may stand on others and on fixes.

use super::fixes::Fixes;
use super::refusal::Refusal;
use crate::document::{Fault, Faults, Field, Node, Table, near, patch, reader};

/// The most variants of a file.
const MOST: usize = 1_000;

/// The variants of a file.
pub(super) struct Variants {
    /// The name of the unpatched file.
    pub(super) base: String,
    /// All names, the base first.
    pub(super) names: Vec<String>,
    patches: Vec<Patch>,
}

/// One variant.
struct Patch {
    name: String,
    extends: Vec<usize>,
    fixes: Vec<usize>,
    table: Table,
}

/// Takes the variants out of the tree.
pub(super) fn take(root: &mut Table, fixes: &Fixes, faults: &Faults) -> Variants {
    let base = root.get("base").and_then(|entry| {
        let field = Field::new(entry.key, &entry.node, faults);
        let name = field.text()?;
        if !reader::is_name(name) {
            faults.add(reader::bad_name(field.place(), name));
            return None;
        }
        Some(name.to_owned())
    });
    let base = base.unwrap_or_else(|| "base".to_owned());
    let mut variants = Variants { names: vec![base.clone()], base, patches: Vec::new() };
    let Some(entry) = root.remove("variants") else { return variants };
    let field = Field::new(entry.key, &entry.node, faults);
    if let Some(table) = field.table("variants").and(entry.node.as_table()) {
        variants.read(table, fixes, faults);
    }
    variants
}

impl Variants {
    fn read(&mut self, table: &Table, fixes: &Fixes, faults: &Faults) {
        let entries = table.in_order();
        if entries.len() > MOST {
            let place = entries[MOST].1.key;
            faults.add(Fault::new(place, format!("is past the {MOST} variants that are read")).hint("split the file"));
            return;
        }
        for (name, entry) in &entries {
            if !reader::is_name(name) {
                faults.add(reader::bad_name(entry.key, name));
            }
            if *name == self.base {
                let message = format!("`{name}` is the name of the unpatched file");
                faults.add(Fault::new(entry.key, message).hint("rename it, or write another `base`"));
            }
            self.names.push((*name).to_owned());
        }
        let names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        for (name, entry) in &entries {
            let Some(table) = entry.node.as_table() else {
                let message = format!("must be a table of changes, found {}", entry.node.value.kind());
                faults
                    .add(Fault::new(entry.node.place, message).hint("write [variants.NAME] and the changes below it"));
                let (extends, fixes, table) = (Vec::new(), Vec::new(), Table::default());
                self.patches.push(Patch { name: (*name).to_owned(), extends, fixes, table });
                continue;
            };
            let mut table = table.clone();
            for fixed in ["variants", "base"] {
                if let Some(entry) = table.remove(fixed) {
                    faults
                        .add(Fault::new(entry.key, format!("a variant cannot change `{fixed}`")).hint("leave it out"));
                }
            }
            let extends = match table.remove("extends") {
                None => Vec::new(),
                Some(entry) => extends(&Field::new(entry.key, &entry.node, faults), &names),
            };
            let fixes = table
                .remove("fixes")
                .map_or_else(Vec::new, |entry| fixes.named(&Field::new(entry.key, &entry.node, faults)));
            self.patches.push(Patch { name: (*name).to_owned(), extends, fixes, table });
        }
        self.check_cycles(&entries.iter().map(|(_, entry)| entry.key).collect::<Vec<_>>(), faults);
    }

    /// Reports every variant that stands on itself.
    fn check_cycles(&mut self, places: &[crate::document::Place], faults: &Faults) {
        for (start, place) in places.iter().enumerate() {
            let mut seen = vec![false; self.patches.len()];
            let mut open = self.patches[start].extends.clone();
            while let Some(next) = open.pop() {
                if next == start {
                    let message = format!(
                        "`{}` extends itself, by way of the variants that it extends",
                        self.patches[start].name
                    );
                    faults.add(Fault::new(*place, message).hint("take one `extends` out of the circle"));
                    break;
                }
                if !std::mem::replace(&mut seen[next], true) {
                    open.extend(&self.patches[next].extends);
                }
            }
        }
    }

    /// Applies the variant of this name, after the ones that it extends and the fixes that it names; each is applied
    /// once. The base is no patch.
    pub(super) fn apply(&self, wanted: &str, fixes: &Fixes, root: &mut Table, faults: &Faults) {
        let Some(index) = self.patches.iter().position(|patch| patch.name == wanted) else { return };
        let mut order = Vec::new();
        self.order(index, &mut vec![false; self.patches.len()], &mut order);
        for index in order {
            fixes.apply(&self.patches[index].fixes, root, faults);
            patch::apply(root, &self.patches[index].table, faults);
        }
    }

    fn order(&self, index: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[index], true) {
            return;
        }
        for &first in &self.patches[index].extends {
            self.order(first, seen, order);
        }
        order.push(index);
    }

    /// The refusal of a name that no variant has.
    pub(super) fn unknown(&self, wanted: &str, path: &str) -> Refusal {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Refusal::Whole {
            message: format!("no variant `{}` in `{path}`", wanted.escape_debug()),
            hint: Some(near::existing("variants", &names, wanted)),
        }
    }
}

/// The variants that a variant extends, by their index.
fn extends(field: &Field<'_>, names: &[&str]) -> Vec<usize> {
    let find = |node: &Node| {
        let Some(wanted) = node.as_str() else {
            let message = format!("must be the name of a variant, found {}", node.value.kind());
            field.faults().add(Fault::new(node.place, message).hint("write it in quotes"));
            return None;
        };
        let index = names.iter().position(|name| *name == wanted);
        if index.is_none() && !field.faults().is_full() {
            let hint = near::existing("variants", names, wanted);
            field.faults().add(Fault::new(node.place, "no variant has this name").hint(hint));
        }
        index
    };
    match field.node.as_array() {
        Some(items) => items.iter().filter_map(find).collect(),
        None => find(field.node).into_iter().collect(),
    }
}
