//! Reading one element of a client: a guard by its name, or a retry layer in the words of a preset, in general keys, or
//! in both.

use super::context::{Context, Read, refer};
use super::hedge::hedge;
use super::layer::{GENERAL, Layer, retry};
use crate::document::{Fault, Field, Place, Reader, Table, near, patch, reader};
use crate::policy::{Hedge, Kind};
use crate::preset::{self, Preset};

/// An element as it was read, before its place in the stack is known.
pub(super) struct Draft {
    /// Its name.
    pub(super) name: String,
    /// Where it is named, or where it stands.
    pub(super) named: Place,
    /// Where it stands.
    pub(super) place: Place,
    /// Whether it is switched off.
    pub(super) off: bool,
    /// The kind that it says.
    pub(super) kind: Option<Kind>,
    /// What it does.
    pub(super) body: Body,
}

/// What an element does.
pub(super) enum Body {
    /// The guard of this index.
    Guard(usize),
    /// It repeats failures.
    Retry(Box<Layer>),
    /// It sends again what is late.
    Hedge(Box<Hedge>),
}

/// Reads one element.
pub(super) fn element(item: &Field<'_>, context: &Context<'_>) -> Option<Draft> {
    let Some(table) = item.node.as_table() else {
        return item.must("be a table that describes a layer", "write { preset = … } or { guard = … }");
    };
    if table.contains("guard") {
        guard(item, table, context)
    } else if table.contains("hedge") {
        hedge(item, table, context)
    } else {
        layer(item, table, context)
    }
}

/// What guards and retry layers have in common.
pub(super) struct Common {
    pub(super) name: Option<String>,
    pub(super) named: Place,
    pub(super) off: Option<bool>,
    pub(super) kind: Read<Option<Kind>>,
}

/// Reads what they have in common.
pub(super) fn common(reader: &Reader<'_>, table: &Table, item: &Field<'_>) -> Common {
    let field = reader.get("name");
    let named = field.map_or(item.place(), |field| field.place());
    let name = match field {
        Some(field) => field.text().and_then(|name| check_name(&field, name)),
        None => Some(patch::name_of(table).unwrap_or_default().to_owned()),
    };
    let off = reader.or("off", false, Field::truth);
    let kinds = [Kind::Hop, Kind::Client, Kind::Decorator, Kind::Queue];
    let kind = reader.maybe("kind", |field| field.word(&kinds.map(|kind| (kind.word(), kind))));
    Common { name, named, off, kind }
}

fn check_name(field: &Field<'_>, name: &str) -> Option<String> {
    // Results give every element a factor beside these two.
    if ["runs", "steps_reached"].contains(&name) {
        return field.wrong(format!("`{name}` is a word of the results"), "choose another name");
    }
    if reader::is_name(name) {
        return Some(name.to_owned());
    }
    field.faults().add(reader::bad_name(field.place(), name));
    None
}

fn guard(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let reader = Reader::new(table, item.place(), context.faults);
    let Common { name, named, off, kind } = common(&reader, table, item);
    let guard = reader.get("guard").and_then(|field| refer(&field, &context.guards, "guard", "guards"));
    if let Some(preset) = reader.get("preset") {
        context.faults.add(Fault::new(preset.key, "says `preset` beside `guard`").hint("keep one of them"));
    }
    let kind = match (kind, reader.get("kind")) {
        (Some(Some(Kind::Queue)), Some(field)) => {
            field.wrong("a guard cannot be a queue", r#"write "hop", "client" or "decorator""#)
        }
        (kind, _) => kind,
    };
    reader.finish();
    let (name, off, kind, guard) = (name?, off?, kind?, guard?);
    Some(Draft { name, named, place: item.place(), off, kind, body: Body::Guard(guard) })
}

fn layer(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let before = context.faults.len();
    let mut table = table.clone();
    let mut preset = None;
    if let Some(entry) = table.get("preset") {
        let field = Field::new(entry.key, &entry.node, context.faults);
        let place = entry.node.place;
        match Preset::find(field.text()?) {
            Ok(found) => preset = Some((found, place)),
            Err(not) => return field.wrong(not.message, not.hint),
        }
    }
    if let Some((preset, place)) = preset {
        preset.expand(&mut table, place, context.faults);
    }
    if preset.is_none() && is_misspelt(&table, context) {
        return None;
    }
    let foreign = foreign_words(&table, context);
    if foreign.is_empty() && !["preset", "max_attempts", "retry_on"].iter().any(|key| table.contains(key)) {
        return item
            .wrong("describes no layer", "give it a `preset`, a `guard`, a `hedge`, or `max_attempts` and `retry_on`");
    }
    let reader = Reader::new(&table, item.place(), context.faults);
    let Common { name, named, off, kind } = common(&reader, &table, item);
    reader.knows(&["preset"]);
    reader.knows(&foreign.iter().map(|(word, _)| *word).collect::<Vec<_>>());
    if let Some((preset, _)) = preset {
        reader.knows(&preset.family.words.iter().map(|word| word.word).collect::<Vec<_>>());
    }
    let spared: Vec<&str> = foreign.iter().map(|(_, stands_for)| *stands_for).collect();
    let layer = retry(&reader, &spared, preset.map(|(preset, _)| preset), &table);
    let name = name.and_then(|name| {
        if name.is_empty() {
            context.faults.add(Fault::new(item.place(), "has no name").hint("give it a `name`, such as \"app\""));
            return None;
        }
        Some(name)
    });
    reader.finish();
    let (name, off, kind, mut layer) = (name?, off?, kind?, layer?);
    layer.doubtful = context.faults.len() > before;
    Some(Draft { name, named, place: item.place(), off, kind, body: Body::Retry(Box::new(layer)) })
}

/// Whether a slip in `preset` or `guard` hides what the element is. It is reported, and nothing else of the element:
/// all its other keys would seem strange.
fn is_misspelt(table: &Table, context: &Context<'_>) -> bool {
    for (name, entry) in table.in_order() {
        let best = near::nearest(name, ["preset", "guard", "hedge"]).filter(|_| !GENERAL.contains(&name));
        if let Some(best) = best {
            context.faults.add(Fault::new(entry.key, "unknown key").hint(format!("did you mean `{best}`?")));
            return true;
        }
    }
    false
}

/// Keys that are words of some library, in a layer that does not name it, with the general key that they stand for.
fn foreign_words<'t>(table: &'t Table, context: &Context<'_>) -> Vec<(&'t str, &'static str)> {
    let mut foreign = Vec::new();
    for (key, entry) in table.in_order() {
        if GENERAL.contains(&key) {
            continue;
        }
        if let Some((family, word)) = preset::word_of_some_family(key) {
            let message = format!("is a word of `{}`, not a general key", family.word);
            let hint = format!("name that preset, or write `{}`", word.stands_for);
            context.faults.add(Fault::new(entry.key, message).hint(hint));
            foreign.push((key, word.stands_for));
        }
    }
    foreign
}
