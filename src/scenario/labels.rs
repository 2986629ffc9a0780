//! Labels: on whose key, in which workspace or project a request is sent, so that a limit may count the requests of some
//! of them, or be one limit for each. A class has labels, and a step of it may have others. Who sends is a *sender*: each
//! class is one, and behind them each step with labels of its own.
//!
//! Limits are read before traffic, so that labels are looked up in the tree beforehand; what is wrong with them is said
//! where the class is read.

use super::context::Context;
use crate::document::{Field, Node, Reader, Table, near};
use crate::provider::ModelSet;
use crate::units::parse::quoted;

/// The most senders.
const MOST: usize = 64;

/// The most labels of one sender.
const MOST_LABELS: usize = 16;

/// The longest value of a label, in bytes.
const LONGEST: usize = 128;

/// Who sends requests: a class, or a step with labels of its own.
#[derive(Clone, Debug)]
struct Sender {
    class: usize,
    step: Option<usize>,
    labels: Vec<(String, String)>,
}

/// Everybody who sends requests, by index: the classes first.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders(Vec<Sender>);

impl Senders {
    /// The senders of a file whose classes have these names.
    pub(super) fn of(root: &Table, classes: &[&str]) -> Senders {
        let traffic = root.get("traffic").and_then(|entry| entry.node.as_table());
        let tables: Vec<Option<&Table>> = classes.iter().map(|name| traffic?.get(name)?.node.as_table()).collect();
        let own = tables.iter().enumerate().map(|(class, table)| {
            let labels = table.map(labels_in).unwrap_or_default();
            Sender { class, step: None, labels }
        });
        let mut all: Vec<Sender> = own.collect();
        for (class, table) in tables.iter().enumerate() {
            let steps = table.and_then(|table| table.get("steps")?.node.as_array()).unwrap_or_default();
            for (step, node) in steps.iter().enumerate() {
                let Some(table) = node.as_table().filter(|table| table.contains("labels")) else { continue };
                let mut labels = all[class].labels.clone();
                for (label, value) in labels_in(table) {
                    labels.retain(|(known, _)| *known != label);
                    labels.push((label, value));
                }
                all.push(Sender { class, step: Some(step), labels });
            }
        }
        Senders(all)
    }

    /// The sender that a step is by itself, if it is one.
    pub(super) fn of_step(&self, class: usize, step: usize) -> Option<u8> {
        let at = self.0.iter().position(|sender| sender.class == class && sender.step == Some(step))?;
        u8::try_from(at).ok()
    }

    /// Those that are told apart in sets; there are never more.
    fn each(&self) -> impl Iterator<Item = (u8, &Sender)> {
        (0..MOST as u8).zip(&self.0)
    }

    fn set(&self, counts: impl Fn(&Sender) -> bool) -> ModelSet {
        let counted = self.each().filter(|(_, sender)| counts(sender));
        counted.fold(ModelSet::EMPTY, |set, (index, _)| set.with(index))
    }

    /// All senders of a class.
    pub(super) fn of_class(&self, class: usize) -> ModelSet {
        self.set(|sender| sender.class == class)
    }

    /// All senders of these classes; everybody where none are named.
    pub(super) fn of_classes(&self, classes: Option<&Vec<usize>>) -> ModelSet {
        classes.map_or(ModelSet::ALL, |classes| self.set(|sender| classes.contains(&sender.class)))
    }

    /// The values of a label, each with who has it, in order of their first sender.
    pub(super) fn values(&self, label: &str) -> Vec<(&str, ModelSet)> {
        let mut values: Vec<(&str, ModelSet)> = Vec::new();
        for (index, sender) in self.each() {
            let Some((_, value)) = sender.labels.iter().find(|(name, _)| name == label) else { continue };
            match values.iter_mut().find(|(known, _)| known == value) {
                Some((_, set)) => *set = set.with(index),
                None => values.push((value, ModelSet::EMPTY.with(index))),
            }
        }
        values
    }

    /// The names of all labels.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.0.iter().flat_map(|sender| &sender.labels) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// The labels of a class or of a step, as far as they are some.
fn labels_in(table: &Table) -> Vec<(String, String)> {
    let labels = table.get("labels").and_then(|entry| entry.node.as_table());
    let all = labels.map(Table::in_order).unwrap_or_default().into_iter();
    all.filter_map(|(name, entry)| Some((name.to_owned(), value_of(&entry.node)?.to_owned()))).collect()
}

fn value_of(node: &Node) -> Option<&str> {
    let is_value = |text: &&str| {
        !text.is_empty() && text.len() <= LONGEST && text.trim() == *text && !text.chars().any(char::is_control)
    };
    node.as_str().filter(is_value)
}

/// Says what is wrong with the labels of a class or of a step.
pub(super) fn check(reader: &Reader<'_>, context: &Context<'_>) -> Option<()> {
    let Some(field) = reader.get("labels") else { return Some(()) };
    let table = field.table("labels, such as { key = \"batch\" }")?;
    let named = table.named();
    table.finish();
    if named.len() > MOST_LABELS {
        return field.wrong(format!("has more than {MOST_LABELS} labels"), "leave some of them out");
    }
    if context.senders.0.len() > MOST {
        let message = format!("makes more than {MOST} classes and steps with labels of their own");
        return field.wrong(message, "give the labels to classes instead of steps, or leave some of them out");
    }
    let before = field.faults().len();
    for (name, value) in &named {
        if ["class", "model"].contains(name) {
            value.wrong::<()>(
                format!("`{name}` is no label: limits tell classes and models apart anyway"),
                "leave it out",
            );
        } else if value_of(value.node).is_none() {
            value.must::<()>("be a text of one line", "write a name, such as \"research\"");
        }
    }
    (field.faults().len() == before).then_some(())
}

/// Those whose requests a limit counts by their labels.
pub(super) fn wanted(field: &Field<'_>, context: &Context<'_>) -> Option<ModelSet> {
    let reader = field.table("labels and their values")?;
    let named = reader.named();
    reader.finish();
    let labels = context.senders.names();
    let mut all: Vec<(&str, &str)> = Vec::new();
    let mut sound = true;
    for (name, value) in named {
        let Some(text) = value.text() else {
            sound = false;
            continue;
        };
        let values: Vec<&str> = context.senders.values(name).into_iter().map(|(value, _)| value).collect();
        if !labels.contains(&name) {
            let wrong = crate::document::Fault::new(value.key, "no class and no step has this label");
            context.faults.add(wrong.hint(near::existing("labels", &labels, name)));
            sound = false;
        } else if !values.contains(&text) {
            let message = format!("nobody has {} as `{name}`", quoted(text));
            value.wrong::<()>(message, near::existing("its values", &values, text));
            sound = false;
        }
        all.push((name, text));
    }
    if !sound {
        return None;
    }
    let has = |sender: &Sender, label: &str, wanted: &str| {
        sender.labels.iter().any(|(name, value)| name == label && value == wanted)
    };
    let set = context.senders.set(|sender| all.iter().all(|(label, wanted)| has(sender, label, wanted)));
    if set == ModelSet::EMPTY {
        return field.wrong("holds for nobody: no class and no step has all of these labels", "take one of them out");
    }
    Some(set)
}
