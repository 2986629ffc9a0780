//! Reading a hedge: an element that sends a request again while the first one is still out.

use super::context::Context;
use super::element::{Body, Draft, common};
use super::failures::classification;
use crate::document::{Field, Reader, Table};
use crate::policy::{Classification, Hedge, Kind};

/// Reads an element with the key `hedge`.
pub(super) fn hedge(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let reader = Reader::new(table, item.place(), context.faults);
    let shared = common(&reader, table, item);
    let hedge = reader.get("hedge").and_then(|field| settings(&field));
    let kind = match (shared.kind, reader.get("kind")) {
        (Some(Some(Kind::Decorator | Kind::Queue)), Some(field)) => {
            field.wrong("a hedge sends requests", r#"write "client" or "hop", or leave `kind` out"#)
        }
        (kind, _) => kind,
    };
    reader.finish();
    let (name, off, kind, hedge) = (shared.name?, shared.off?, kind?, hedge?);
    let name = if name.is_empty() { "hedge".to_owned() } else { name };
    Some(Draft { name, named: shared.named, place: item.place(), off, kind, body: Body::Hedge(Box::new(hedge)) })
}

fn settings(field: &Field<'_>) -> Option<Hedge> {
    let reader = field.table("a hedge's settings")?;
    let max = reader.need("max", "write the most requests that are out for one, the first included, such as 2");
    let max = max.and_then(|field| field.whole(2..=u64::from(Hedge::MOST)));
    let delay = reader.need("delay", r#"write how long after one request the next goes out, such as "800ms""#);
    let delay = delay.and_then(|field| field.duration());
    let goes_on_after = reader.or("on", Classification::ANY, classification);
    let next = reader.or("after_failure", false, |field| field.word(&[("wait", false), ("next", true)]));
    let hints = reader.or("hint", false, |field| field.word(&[("ignore", false), ("obey", true)]));
    reader.finish();
    Some(Hedge {
        max: max? as u8,
        delay: delay?,
        goes_on_after: goes_on_after?,
        next_after_failure: next?,
        obeys_hints: hints?,
    })
}
