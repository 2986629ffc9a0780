//! Reading models: their settings, and their names wherever a limit, a fault, a step or a fallback names one. Limits and
//! faults are read before anybody asks for a model, so that their names are looked up when all are known.

use super::context::Context;
use super::distribution::{Measure, distribution};
use super::prices::prices;
use super::provider::ReadProvider;
use crate::document::{Fault, Field, Place, near};
use crate::provider::model::{MOST_MODELS, Model, ModelSet};
use crate::units::parse::quoted;

/// The longest name of a model, in bytes.
const LONGEST_NAME: usize = 128;

/// Names of models in a limit or a fault, each with its place; `None` for all models.
pub(super) type Named = Option<Vec<(String, Place)>>;

/// The models that steps and fallbacks ask for.
pub(super) type Asked = std::cell::RefCell<Vec<String>>;

/// The name of a model.
pub(super) fn name<'a>(field: &Field<'a>) -> Option<&'a str> {
    let text = field.text()?;
    if is_name(text) {
        return Some(text);
    }
    field.must("be the name of a model", r#"write the name that requests carry, such as "gpt-4.1" or "gpt-4/eastus""#)
}

fn is_name(text: &str) -> bool {
    let fits = text.len() <= LONGEST_NAME && text.chars().all(|c| !c.is_control()) && text.trim() == text;
    fits && !text.is_empty()
}

/// Notes that somebody asks for a model.
pub(super) fn ask(name: &str, context: &Context<'_>) {
    let mut asked = context.asked.borrow_mut();
    if !asked.iter().any(|known| known == name) {
        asked.push(name.to_owned());
    }
}

/// A list of different models.
pub(super) fn list(field: &Field<'_>, most: usize) -> Option<Vec<(String, Place)>> {
    let items = field.list("models", most)?;
    let mut names: Vec<(String, Place)> = Vec::new();
    let mut sound = true;
    for item in &items {
        match name(item) {
            Some(name) if names.iter().any(|(known, _)| known == name) => {
                item.wrong::<()>(format!("`{name}` is there twice"), "keep one");
                sound = false;
            }
            Some(name) => names.push((name.to_owned(), item.place())),
            None => sound = false,
        }
    }
    sound.then_some(names)
}

/// The models that a limit or a fault is for.
pub(super) fn named(field: Option<Field<'_>>) -> Option<Named> {
    match field {
        None => Some(None),
        Some(field) => list(&field, MOST_MODELS).map(Some),
    }
}

/// The models that the provider describes.
pub(super) fn models(field: &Field<'_>) -> Option<Vec<Model>> {
    field.table("models")?;
    let entries = field.node.as_table()?.in_order();
    if entries.len() > MOST_MODELS {
        return field.wrong(format!("has more than {MOST_MODELS} models"), format!("describe at most {MOST_MODELS}"));
    }
    let read: Vec<Option<Model>> = entries
        .into_iter()
        .map(|(name, entry)| {
            if !is_name(name) {
                let fault = Fault::new(entry.key, format!("is no name of a model, found {}", quoted(name)));
                field.faults().add(fault.hint("write the name that requests carry"));
                return None;
            }
            model(name, &Field::new(entry.key, &entry.node, field.faults()))
        })
        .collect();
    read.into_iter().collect()
}

fn model(name: &str, field: &Field<'_>) -> Option<Model> {
    let reader = field.table("latency, context_window and prices")?;
    let latency = reader.maybe("latency", |field| distribution(field, Measure::Seconds));
    let window = reader.maybe("context_window", |field| field.whole(1..=1_000_000_000).map(|tokens| tokens as u32));
    let prices = reader.maybe("prices", prices);
    reader.finish();
    Some(Model { name: name.to_owned(), latency: latency?, context_window: window?, prices: prices? })
}

/// All models of the scenario, those that the provider describes first, and in limits and faults their indexes.
/// `all_asked` says whether all steps and fallbacks could be read: else a name may be asked for by what could not.
pub(super) fn settle(provider: &mut ReadProvider<'_>, all_asked: bool, context: &Context<'_>) -> Option<Vec<Model>> {
    let mut models = provider.models.take()?;
    for name in context.asked.borrow().iter() {
        if !models.iter().any(|known| known.name == *name) {
            models.push(Model::named(name.clone()));
        }
    }
    if models.len() > MOST_MODELS {
        let place = provider.place;
        let message = format!("meets more than {MOST_MODELS} models, found {}", models.len());
        context
            .faults
            .add(Fault::new(place, message).hint(format!("let steps and fallbacks ask for at most {MOST_MODELS}")));
        return None;
    }
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    let set = |wanted: &Named| {
        let Some(wanted) = wanted else { return ModelSet::ALL };
        let mut set = ModelSet::EMPTY;
        for (name, place) in wanted {
            if let Some(index) = names.iter().position(|known| known == name) {
                set = set.with(index as u8);
            } else if all_asked {
                let message = format!("no step and no fallback asks for `{name}`");
                let hint = near::existing("models", &names, name);
                let hint = format!("{hint}; one that nobody asks for yet is described in [provider.models]");
                context.faults.add(Fault::new(*place, message).hint(hint));
            }
        }
        set
    };
    for (limit, named) in provider.limits.iter_mut().zip(&provider.limit_models) {
        if let Some(limit) = limit {
            limit.models = set(named);
            if let (Some(terms), Some(Some(tariff))) = (&mut limit.terms, &provider.tariff)
                && let Some(by_model) = &mut terms.by_model
            {
                let weights = |model: &Model| model.prices.unwrap_or(tariff.all).weights();
                *by_model = models.iter().map(|model| (model.name.clone(), weights(model))).collect();
            }
        }
    }
    for (slots, named) in provider.slots.iter_mut().zip(&provider.slot_models) {
        slots.models = set(named);
    }
    for (fault, named) in provider.faults.iter_mut().zip(&provider.fault_models) {
        if let Some(fault) = fault {
            fault.models = set(named);
        }
    }
    Some(models)
}
