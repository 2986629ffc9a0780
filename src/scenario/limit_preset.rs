//! Reading a preset of limits: one table of the file stands for the limits that a provider publishes, each of which may be
//! changed under the ending of its name.

use crate::document::{Fault, Field, Node, Table, Value};
use crate::preset::limits;

/// Keys that hold for all limits of a preset.
const FOR_ALL: [&str; 6] = ["models", "classes", "where", "each", "refuse", "ban"];

/// The limits that a preset stands for, by their names; `None` where something is wrong.
pub(super) fn expand(name: &str, field: &Field<'_>) -> Option<Vec<(String, Node)>> {
    let reader = field.table("a limit's settings")?;
    let said = reader.get("preset")?;
    let Some(preset) = said.text() else {
        reader.knows(&FOR_ALL);
        return None;
    };
    let preset = match limits::find(preset) {
        Ok(preset) => preset,
        Err(hint) => return said.wrong(format!("is no preset of limits, found {}", said.found()), hint),
    };
    let mut all = Vec::new();
    let endings: Vec<String> = preset.limits.iter().map(|(ending, _)| ending.clone()).collect();
    let for_all = FOR_ALL.iter().filter_map(|key| Some((*key, reader.get(key)?))).collect::<Vec<_>>();
    let mut sound = true;
    for (ending, table) in preset.limits {
        let mut node = Node::written(Value::Table(table), said.place());
        node.stamp(said.place(), None);
        let Value::Table(mut table) = node.value else { continue };
        for (key, field) in &for_all {
            table.insert(*key, field.key, field.node.clone());
        }
        if let Some(entry) = field.node.as_table().and_then(|own| own.get(&ending)) {
            let own = Field::new(entry.key, &entry.node, field.faults());
            if let Some(changes) = own.node.as_table() {
                change(&mut table, changes);
            } else {
                own.must::<()>("be a table of what is different in this limit", "write { amount = … }");
                sound = false;
            }
        }
        all.push((format!("{name}-{ending}"), Node::written(Value::Table(table), field.place())));
    }
    for (key, entry) in field.node.as_table()?.in_order() {
        if key != "preset" && !FOR_ALL.contains(&key) && !endings.iter().any(|ending| ending == key) {
            let list = endings.iter().map(String::as_str).chain(FOR_ALL).map(|key| format!("`{key}`"));
            let hint = format!("beside a preset of limits stand {}", list.collect::<Vec<_>>().join(", "));
            field.faults().add(Fault::new(entry.key, "unknown key").hint(hint));
            sound = false;
        }
    }
    sound.then_some(all)
}

fn change(table: &mut Table, changes: &Table) {
    for (key, entry) in changes.in_order() {
        table.insert(key, entry.key, entry.node.clone());
    }
}
