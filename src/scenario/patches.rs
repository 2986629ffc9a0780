//! Patch files: changes to a scenario that stand in a file of their own, written like the body of a variant. Whoever
//! tunes keeps what was found beside the scenario, not in it, and every verb takes it.

use crate::document::{Fault, Faults, Place, Table, Text, parse, patch};

/// A patch file that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFile {
    /// The file as the user named it.
    pub path: String,
    /// The file's text.
    pub text: String,
}

/// What is not a patch file's to change, and what to do instead.
const FIXED: [(&str, &str); 4] = [
    ("base", "leave it out"),
    ("variants", "write the changes themselves; they are made in whichever variant is picked"),
    ("fixes", "write the changes themselves, or put the fix into the scenario"),
    ("extends", "leave it out, and pick the variant to stand on with --variant"),
];

/// The changes of all patch files; `None` where one of them is no TOML, and then a fault says why.
pub(super) fn read(files: &[PatchFile], faults: &Faults) -> Option<Vec<Table>> {
    let tables: Vec<Option<Table>> =
        files.iter().enumerate().map(|(number, file)| changes(&file.text, number, faults)).collect();
    tables.into_iter().collect()
}

fn changes(text: &str, number: usize, faults: &Faults) -> Option<Table> {
    let source = Text::Patch(number);
    let mut table = parse::whole(text, source, faults)?;
    if table.is_empty() {
        let fault = Fault::new(Place { text: source, from: 0, to: 0 }, "changes nothing");
        faults.add(fault.hint("write what it changes, such as clients.NAME.layers.sdk.max_retries = 0"));
    }
    for (fixed, hint) in FIXED {
        if let Some(entry) = table.remove(fixed) {
            faults.add(Fault::new(entry.key, format!("a patch file cannot change `{fixed}`")).hint(hint));
        }
    }
    Some(table)
}

/// Applies the changes in order: the last one wins.
pub(super) fn apply(tables: &[Table], root: &mut Table, faults: &Faults) {
    for table in tables {
        patch::apply(root, table, faults);
    }
}
