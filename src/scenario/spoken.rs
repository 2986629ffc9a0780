//! A table that may speak the words of a preset: these are put into general keys first, and what is left is read as if the
//! file had written them.

use super::context::Read;
use crate::document::{Fault, Field, Place, Reader, Table};
use crate::preset::{NotAPreset, Preset};

/// A table that names a preset.
pub(super) struct Spoken {
    /// The preset.
    pub(super) preset: Preset,
    /// The table in general keys.
    pub(super) table: Table,
    /// Where the preset is named.
    pub(super) name: Place,
}

/// The table in general keys, where it names a preset.
pub(super) fn spoken(field: &Field<'_>, find: fn(&str) -> Result<Preset, NotAPreset>) -> Read<Option<Spoken>> {
    let said = field.node.as_table().and_then(|table| Some((table, table.get("preset")?)));
    let Some((table, entry)) = said else { return Some(None) };
    let name = Field::new(entry.key, &entry.node, field.faults());
    let preset = match find(name.text()?) {
        Ok(preset) => preset,
        Err(not) => {
            field.faults().add(Fault::new(name.place(), not.message).hint(not.hint));
            return None;
        }
    };
    let (mut table, name) = (table.clone(), name.place());
    preset.expand(&mut table, name, field.faults());
    Some(Some(Spoken { preset, table, name }))
}

impl Spoken {
    /// Its reader, which knows the words of the preset.
    pub(super) fn reader<'a>(&'a self, field: &Field<'a>) -> Reader<'a> {
        let reader = Reader::new(&self.table, field.place(), field.faults());
        reader.knows(&["preset"]);
        reader.knows(&self.preset.family.words.iter().map(|word| word.word).collect::<Vec<_>>());
        reader
    }
}
