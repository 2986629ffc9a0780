//! `--set PATH=VALUE` changes one value from the command line. The path is dotted and names elements of lists by name
//! or by index; the value is read as TOML and, where it is none, taken as a bare text, so that `--set horizon=30m`
//! needs no quotes inside quotes.

use super::fault::{Fault, Faults};
use super::near;
use super::parse;
use super::patch::{self, Keys};
use super::tree::{Node, Place, Table, Text, Value};

/// One `--set`, taken apart.
struct Setting<'a> {
    path: Vec<Segment<'a>>,
    value: Node,
}

#[derive(Clone, Copy)]
struct Segment<'a> {
    name: &'a str,
    place: Place,
}

/// Applies the `--set` of this number.
pub fn apply(root: &mut Table, number: usize, text: &str, faults: &Faults) {
    apply_below(root, &[], number, text, faults);
}

/// Applies the `--set` of this number, whose path begins below another one.
pub fn apply_below(root: &mut Table, base: &[&'static str], number: usize, text: &str, faults: &Faults) {
    let applied = split(text, Text::Set(number)).and_then(|mut setting| {
        let place = setting.path[0].place;
        setting.path.splice(0..0, base.iter().map(|name| Segment { name, place }));
        put(root, &setting)
    });
    if let Err(fault) = applied {
        faults.add(fault);
    }
}

fn split(text: &str, source: Text) -> Result<Setting<'_>, Fault> {
    let whole = Place { text: source, from: 0, to: text.len() };
    let form = "write --set PATH=VALUE, such as --set horizon=30m";
    let Some((path, value)) = text.split_once('=') else {
        return Err(Fault::new(whole, "has no `=`").hint(form));
    };
    let mut segments = Vec::new();
    let mut from = 0;
    for part in path.split('.') {
        let name = part.trim();
        let start = from + (part.len() - part.trim_start().len());
        let place = Place { text: source, from: start, to: start + name.len() };
        if name.is_empty() {
            return Err(Fault::new(Place { to: place.from + 1, ..place }, "has an empty name in its path").hint(form));
        }
        segments.push(Segment { name, place });
        from += part.len() + 1;
    }
    if segments.len() > super::depth::DEEPEST {
        return Err(Fault::new(whole, "names nothing: its path is too long").hint(form));
    }
    let offset = path.len() + 1;
    let trimmed = value.trim();
    let offset = offset + (value.len() - value.trim_start().len());
    let bare = || {
        let place = Place { text: source, from: offset, to: offset + trimmed.len() };
        Node::written(Value::String(trimmed.to_owned()), place)
    };
    Ok(Setting { path: segments, value: parse::value(trimmed, source, offset).unwrap_or_else(bare) })
}

/// What a path has reached.
enum Reached<'t> {
    Table(&'t mut Table),
    List(&'t mut Vec<Node>),
}

fn put(root: &mut Table, setting: &Setting<'_>) -> Result<(), Fault> {
    let Some((last, way)) = setting.path.split_last() else { return Ok(()) };
    if setting.path[0].name == "variants" {
        return Err(Fault::new(setting.path[0].place, "variants are applied before `--set`")
            .hint("set the value itself; it is set in whichever variant is picked"));
    }
    if setting.path[0].name == "fixes" {
        return Err(Fault::new(setting.path[0].place, "fixes are applied before `--set`")
            .hint("set the value itself; it is set whichever fixes are on"));
    }
    if setting.path[0].name == "base" {
        return Err(Fault::new(
            setting.path[0].place,
            "is the name of the unpatched file, which `--set` cannot change",
        )
        .hint("leave it out, or write `base` in the file"));
    }
    let mut reached = Reached::Table(root);
    let mut path: Vec<&str> = Vec::new();
    for segment in way {
        reached = step(reached, *segment, &path)?;
        path.push(segment.name);
    }
    match reached {
        Reached::Table(table) => table.insert(last.name, last.place, setting.value.clone()),
        Reached::List(items) => {
            let index = element(items, *last, &path)?;
            items[index] = setting.value.clone();
        }
    }
    Ok(())
}

fn element(items: &[Node], segment: Segment<'_>, path: &[&str]) -> Result<usize, Fault> {
    patch::find(items, segment.name).ok_or_else(|| patch::no_element(items, segment.name, segment.place, path))
}

/// One step along the path. A missing table of words is made; a missing name is a fault, because a thing that is
/// there only to be half described is nobody's intention.
fn step<'t>(reached: Reached<'t>, segment: Segment<'_>, path: &[&str]) -> Result<Reached<'t>, Fault> {
    let node = match reached {
        Reached::List(items) => {
            let index = element(items, segment, path)?;
            &mut items[index]
        }
        Reached::Table(table) => {
            if !table.contains(segment.name) {
                if let Keys::Names(one, many) = patch::keys_at(path) {
                    let hint = near::existing(many, &table.names(), segment.name);
                    return Err(Fault::new(segment.place, format!("no {one} has this name")).hint(hint));
                }
                let made = Node::written(Value::Table(Table::default()), segment.place);
                table.insert(segment.name, segment.place, made);
            }
            match table.get_mut(segment.name) {
                Some(entry) => &mut entry.node,
                None => return Err(Fault::new(segment.place, "names nothing")),
            }
        }
    };
    match &mut node.value {
        Value::Table(table) => Ok(Reached::Table(table)),
        Value::Array(items) => Ok(Reached::List(items)),
        other => {
            let message = format!("has no keys: it is {}", other.kind());
            Err(Fault::new(segment.place, message).hint(format!("end the path at `{}`", segment.name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(base: &str, text: &str) -> Result<String, Fault> {
        let (mut root, faults) = (parse::own(base), Faults::default());
        apply(&mut root, 0, text, &faults);
        match faults.into_sorted().0.pop() {
            Some(fault) => Err(fault),
            None => Ok(Value::Table(root).to_string()),
        }
    }

    #[test]
    fn values_are_toml_or_else_bare_texts() {
        for (text, tree) in [
            ("a=1", "{ a = 1 }"),
            ("a = [1, 2] ", "{ a = [1, 2] }"),
            ("a=30m", r#"{ a = "30m" }"#),
            ("a=\"30m\"", r#"{ a = "30m" }"#),
            ("a={ b = true }", "{ a = { b = true } }"),
            ("a=x=y", r#"{ a = "x=y" }"#),
            ("a=", r#"{ a = "" }"#),
            ("b.c=2", "{ a = 0, b = { c = 2 } }"),
        ] {
            assert_eq!(set("a = 0", text).as_deref(), Ok(tree), "{text}");
        }
    }

    #[test]
    fn elements_are_reached_by_name_and_by_index() {
        let base = r#"clients.a.layers = [{ name = "sdk", n = 1 }, { name = "queue", n = 1 }]"#;
        let changed = r#"{ clients = { a = { layers = [{ name = "sdk", n = 1 }, { name = "queue", n = 5 }] } } }"#;
        assert_eq!(set(base, "clients.a.layers.queue.n=5").as_deref(), Ok(changed));
        assert_eq!(set(base, "clients.a.layers.1.n=5").as_deref(), Ok(changed));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_a_fault_on_the_command_line() {
        let base = "horizon = \"2h\"\nclients.batch.layers = []";
        for (text, message, span) in [
            ("clients.bach.x=1", "no client has this name", (8, 12)),
            ("clients.batch.layers.7.x=1", "no layer has this name", (21, 22)),
            ("horizon.x=1", "has no keys: it is a string", (0, 7)),
            ("horizon", "has no `=`", (0, 7)),
            ("a..b=1", "has an empty name in its path", (2, 3)),
            ("base=x", "is the name of the unpatched file, which `--set` cannot change", (0, 4)),
            ("variants.x.y=1", "variants are applied before `--set`", (0, 8)),
            ("fixes.x.y=1", "fixes are applied before `--set`", (0, 5)),
        ] {
            let fault = set(base, text).unwrap_err();
            assert_eq!((fault.message.as_str(), (fault.place.from, fault.place.to)), (message, span), "{text}");
        }
    }

    #[test]
    fn a_value_knows_its_place_on_the_command_line() {
        let (mut root, faults) = (Table::default(), Faults::default());
        apply(&mut root, 3, "a.b= [1, 22]", &faults);
        let b = root.get("a").and_then(|entry| entry.node.as_table()?.get("b")).unwrap();
        let Value::Array(items) = &b.node.value else { unreachable!("a list was set") };
        assert_eq!(items[1].place, Place { text: Text::Set(3), from: 9, to: 11 });
    }
}
