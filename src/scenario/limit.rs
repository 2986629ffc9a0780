//! Reading one limit of the provider: on what flows or on what is in flight. One table of the file may stand for several
//! limits: one for each class or model that it names, or all those of a preset.

use super::context::Context;
use super::labels;
use super::limit_changes::change_instances;
use super::limit_meter::meter;
use super::limit_preset::expand;
use super::limit_terms::{classes, terms, weights, weights_of};
use super::models::{Named, named};
use super::refuse::{Refusal, refusal};
use super::slots::slots;
use crate::document::{Fault, Field, Node, Reader};
use crate::policy::meter::Meter;
use crate::policy::pacer::Counts;
use crate::provider::{Limit, ModelSet, Slots, Tariff};

/// The word for a limit on requests in flight.
const IN_FLIGHT: &str = "in_flight";

/// All that a limit can count, but for requests in flight.
const COUNTS: [Counts; 7] = [
    Counts::Requests,
    Counts::InputTokens,
    Counts::UncachedInputTokens,
    Counts::OutputTokens,
    Counts::TotalTokens,
    Counts::TokensInFlight,
    Counts::Spend,
];

/// A limit of either kind, with the models that it is for.
#[derive(Clone)]
pub(super) enum ReadLimit {
    /// On what flows, or on tokens in flight.
    Rate(Box<Limit>, Named),
    /// On requests in flight.
    InFlight(Slots, Named),
}

impl ReadLimit {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            ReadLimit::Rate(limit, _) => &limit.name,
            ReadLimit::InFlight(slots, _) => &slots.name,
        }
    }

    fn renamed(&self, name: String) -> ReadLimit {
        match self {
            ReadLimit::Rate(limit, models) => {
                ReadLimit::Rate(Box::new(Limit { name, ..*limit.clone() }), models.clone())
            }
            ReadLimit::InFlight(slots, models) => ReadLimit::InFlight(Slots { name, ..slots.clone() }, models.clone()),
        }
    }

    fn for_models(mut self, only: Named) -> ReadLimit {
        match &mut self {
            ReadLimit::Rate(_, models) | ReadLimit::InFlight(_, models) => *models = only,
        }
        self
    }

    fn for_senders(mut self, only: ModelSet) -> ReadLimit {
        match &mut self {
            ReadLimit::InFlight(slots, _) => slots.classes = only,
            ReadLimit::Rate(limit, _) => {
                let plain = || Box::new(crate::provider::Terms::plain(weights_of(limit.counts)));
                limit.terms.get_or_insert_with(plain).classes = only;
            }
        }
        self
    }
}

/// Whether there is one instance for all, or one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Each<'a> {
    Class,
    Model,
    /// For each value of this label.
    Label(&'a str),
}

/// The limits that one table stands for; `None` for one that is wrong.
pub(super) fn limits(
    name: &str,
    field: &Field<'_>,
    tariff: Option<&Tariff>,
    context: &Context<'_>,
) -> Vec<Option<ReadLimit>> {
    if !field.node.as_table().is_some_and(|table| table.contains("preset")) {
        return written(name, field, tariff, context);
    }
    let Some(expanded) = expand(name, field) else { return vec![None] };
    let one =
        |(name, node): &(String, Node)| written(name, &Field::new(field.key, node, field.faults()), tariff, context);
    expanded.iter().flat_map(one).collect()
}

fn written(name: &str, field: &Field<'_>, tariff: Option<&Tariff>, context: &Context<'_>) -> Vec<Option<ReadLimit>> {
    let Some(reader) = field.table("a limit's settings") else { return vec![None] };
    let each_field = reader.get("each");
    let labels = context.senders.names();
    let words = labels.iter().map(|label| (*label, Each::Label(label)));
    let words: Vec<_> = [("class", Each::Class), ("model", Each::Model)].into_iter().chain(words).collect();
    let each = each_field.as_ref().map(|field| field.word(&words));
    let named_classes = reader.maybe("classes", |field| classes(field, context));
    let only = named_classes.as_ref().and_then(Option::as_ref);
    let of_labels = reader.or("where", ModelSet::ALL, |field| labels::wanted(field, context));
    let set = context.senders.of_classes(only).both(of_labels.unwrap_or(ModelSet::ALL));
    let read = limit(name, &reader, set, tariff);
    let changes_of = reader.get("changes_of");
    reader.finish();
    let (Some(read), Some(named_classes), Some(_)) = (read, named_classes, of_labels) else { return vec![None] };
    let mut all = match (each, each_field) {
        (None, _) => vec![(String::new(), read)],
        (Some(Some(Each::Class)), _) => {
            let all = named_classes.unwrap_or_else(|| (0..context.classes.len()).collect());
            let all = all.into_iter().map(|class| (context.classes[class], context.senders.of_class(class)));
            instances(name, &read, all, set)
        }
        (Some(Some(Each::Label(label))), Some(field)) => {
            let all = instances(name, &read, context.senders.values(label).into_iter(), set);
            if all.is_empty() {
                return vec![
                    field.wrong("stands for no limit: nobody of those that it counts has this label", "leave it out"),
                ];
            }
            all
        }
        (Some(Some(Each::Model)), Some(field)) => {
            let (ReadLimit::Rate(_, models) | ReadLimit::InFlight(_, models)) = &read;
            let Some(models) = models else {
                let hint = "list the `models`, each of which has such a limit of its own";
                return vec![
                    field.wrong("stands for one limit for each of the models that are listed, and none is", hint),
                ];
            };
            let one = |(model, place): &(String, crate::document::Place)| {
                let renamed = read.renamed(format!("{name}-{}", as_name(model)));
                (model.clone(), renamed.for_models(Some(vec![(model.clone(), *place)])))
            };
            models.iter().map(one).collect()
        }
        _ => return vec![None],
    };
    if let Some(field) = changes_of {
        let instances = if each.is_none() { &mut [] } else { all.as_mut_slice() };
        if change_instances(&field, instances).is_none() {
            return vec![None];
        }
    }
    all.into_iter().map(|(_, limit)| Some(limit)).collect()
}

/// One limit for each of these, behind whose it is, as far as somebody of the set is in it.
fn instances<'v>(
    name: &str,
    read: &ReadLimit,
    all: impl Iterator<Item = (&'v str, ModelSet)>,
    set: ModelSet,
) -> Vec<(String, ReadLimit)> {
    let counted = all.map(|(value, of)| (value, of.both(set))).filter(|(_, of)| *of != ModelSet::EMPTY);
    let one = |value: &str| read.renamed(format!("{name}-{}", as_name(value)));
    counted.map(|(value, of)| (value.to_owned(), one(value).for_senders(of))).collect()
}

/// A model's name as a part of a limit's.
fn as_name(model: &str) -> String {
    model.chars().map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// Results name limits: all that tables stand for have names of their own, and there are not too many.
pub(super) fn check_names(names: &[String], most: usize, reader: &Reader<'_>) {
    if names.len() > most {
        let message = format!("stands for more than {most} limits, found {}", names.len());
        reader.faults().add(Fault::new(reader.place(), message).hint(format!("describe at most {most}")));
    }
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            let message = format!("two limits would be called `{name}`");
            reader.faults().add(Fault::new(reader.place(), message).hint("give one of them another name"));
        }
    }
}

fn limit(name: &str, reader: &Reader<'_>, classes: ModelSet, tariff: Option<&Tariff>) -> Option<ReadLimit> {
    let counts = reader.need("counts", r#"write what is counted, such as "input_tokens""#);
    reader.knows(&["preset"]);
    if counts.as_ref().is_some_and(|field| field.node.as_str() == Some(IN_FLIGHT)) {
        let (slots, named) = (slots(name, classes, reader), named(reader.get("models")));
        return Some(ReadLimit::InFlight(slots?, named?));
    }
    let words: Vec<_> = COUNTS.iter().map(|counts| (counts.word(), Some(*counts))).chain([(IN_FLIGHT, None)]).collect();
    let counts = counts.and_then(|field| field.word(&words)?);
    let Some(counts) = counts else {
        reader.knows(&KEYS);
        if reader.get("per").is_some() {
            // What stands there is looked at all the same.
            let _ = meter(reader, 1);
        }
        return None;
    };
    let weights = weights(reader, counts, tariff);
    let scale = weights.map_or(1, |weights| weights.scale);
    let meter = if counts == Counts::TokensInFlight { held(reader, scale) } else { meter(reader, scale) };
    let named = named(reader.get("models"));
    let default = if counts == Counts::TokensInFlight { Refusal::without_hint() } else { Refusal::default() };
    let refusal = match reader.get("refuse") {
        None => Some(default),
        Some(field) => refusal(&field, &default, true),
    };
    let terms = terms(reader, counts, weights.unwrap_or(weights_of(counts)), classes, refusal.as_ref());
    let (meter, mut terms, named) = (meter?, terms?, named?);
    // It charges by the provider's prices, which may differ from model to model.
    if let (Counts::Spend, None, Some(terms)) = (counts, reader.get("prices"), &mut terms) {
        terms.by_model = Some(Vec::new());
    }
    weights?;
    let Refusal { status, after, hint, code, .. } = refusal?;
    let (name, models) = (name.to_owned(), ModelSet::ALL);
    let limit = Limit { name, counts, meter, status, refusal_latency: after, hint, code, models, terms };
    Some(ReadLimit::Rate(Box::new(limit), named))
}

/// All keys of a limit.
const KEYS: [&str; 22] = [
    "amount",
    "algorithm",
    "capacity",
    "refuse",
    "models",
    "aligned",
    "offset",
    "sub_windows",
    "growth",
    "weights",
    "prices",
    "charge",
    "estimate",
    "max_tokens",
    "settle",
    "refused_costs",
    "debt",
    "ban",
    "changes",
    "changes_of",
    "when_used_up",
    "each",
];

/// A limit on tokens in flight.
fn held(reader: &Reader<'_>, scale: u64) -> Option<Meter> {
    let amount = reader.need("amount", r#"write how many tokens may be in flight, such as "1M""#);
    let amount = amount.and_then(|field| super::limit_meter::amount(&field, scale));
    let mut sound = true;
    for key in ["per", "capacity", "algorithm", "aligned", "offset", "sub_windows", "growth"] {
        if let Some(field) = reader.get(key) {
            let message = "a limit on tokens in flight has no rate: they are free again when their service ends";
            reader.faults().add(Fault::new(field.key, message).hint("leave it out"));
            sound = false;
        }
    }
    amount.map(Meter::InFlight).filter(|_| sound)
}
