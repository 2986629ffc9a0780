//! Reading a fallback: an element that asks other models after a failure.

use super::context::Context;
use super::element::{Body, Draft, common};
use super::failures::classification;
use super::models;
use crate::document::{Field, Reader, Table};
use crate::policy::{Classification, Fallback, Kind};

/// Reads an element with the key `fallback`.
pub(super) fn fallback(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let reader = Reader::new(table, item.place(), context.faults);
    let shared = common(&reader, table, item);
    let settings = reader.get("fallback").and_then(|field| settings(&field, context));
    let kind = match (shared.kind, reader.get("kind")) {
        (Some(Some(Kind::Queue)), Some(field)) => {
            field.wrong("a fallback asks within a run", r#"write "client", "decorator" or "hop""#)
        }
        (kind, _) => kind,
    };
    reader.finish();
    let (name, off, kind, settings) = (shared.name?, shared.off?, kind?, settings?);
    let name = if name.is_empty() { "fallback".to_owned() } else { name };
    Some(Draft { name, named: shared.named, place: item.place(), off, kind, body: Body::Fallback(Box::new(settings)) })
}

fn settings(field: &Field<'_>, context: &Context<'_>) -> Option<Fallback> {
    let reader = field.table("a fallback's settings")?;
    let to = reader.need("to", r#"write the models that are asked next, such as ["haiku"]"#);
    let to = to.and_then(|field| models::list(&field, Fallback::MOST));
    let on = reader.or("on", Classification::ANY, classification);
    reader.finish();
    let to: Vec<String> = to?.into_iter().map(|(name, _)| name).collect();
    for name in &to {
        models::ask(name, context);
    }
    Some(Fallback::new(on?, to))
}
