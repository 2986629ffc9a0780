//! Reading a hedge: an element that sends a request again while the first one is still out.

use super::budget::budget;
use super::context::{Context, Read};
use super::element::{Body, Draft, common};
use super::failures::classification;
use crate::document::{Field, Reader, Table};
use crate::policy::retry_budget::Throttle;
use crate::policy::{Classification, Hedge, HedgeDelay, Kind, MeasuredDelay, RetryBudget, Scope};
use crate::units::SimDuration;

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
    let delay = delay.and_then(|field| delay_of(&field));
    let goes_on_after = reader.or("on", Classification::ANY, classification);
    let next = reader.or("after_failure", false, |field| field.word(&[("wait", false), ("next", true)]));
    let hints = reader.or("hint", false, |field| field.word(&[("ignore", false), ("obey", true)]));
    let budget = reader.or("budget", None, budget_of);
    let at_most_out = reader.or("at_most_out", None, |field| field.whole(1..=MOST_OUT).map(|n| Some(n as u32)));
    let scope = reader.get("scope");
    let words = scope.as_ref().map_or(Some(Scope::Client), |field| field.word(&SCOPES.map(|s| (s.word(), s))));
    reader.finish();
    let (delay, at_most_out) = (delay?, at_most_out?);
    if let (Some(field), HedgeDelay::Fixed(_), None) = (&scope, &delay, at_most_out) {
        return field.wrong(
            "says nothing: nothing of this hedge is shared but its budget",
            "write it in the `budget`, or leave it out",
        );
    }
    Some(Hedge {
        max: max? as u8,
        delay,
        goes_on_after: goes_on_after?,
        next_after_failure: next?,
        obeys_hints: hints?,
        budget: budget?,
        at_most_out,
        scope: words?,
    })
}

/// The most hedges that may be out at once.
const MOST_OUT: u64 = 1_000_000;

/// Who may share what is measured, and the number that are out.
const SCOPES: [Scope; 4] = [Scope::Worker, Scope::Process, Scope::Class, Scope::Client];

/// A retry budget that pays for hedges.
fn budget_of(field: &Field<'_>) -> Read<Option<(RetryBudget, Scope)>> {
    let read = budget(field)?;
    if let Some((RetryBudget::Throttle(Throttle { after_wait: true, .. }), _)) = read {
        return field.wrong(
            "looks at the tokens after a wait, and a hedge looks when its next request would go out",
            "leave `checked` out",
        );
    }
    Some(read)
}

/// A duration, or what was measured.
fn delay_of(field: &Field<'_>) -> Option<HedgeDelay> {
    if field.node.as_table().is_none() {
        return field.duration().map(HedgeDelay::Fixed);
    }
    let reader = field.table("quantile, of_last, after, at_first and at_least")?;
    let quantile = reader.need("quantile", r#"write the share of answers that are there by then, such as "95%""#);
    let quantile = quantile.and_then(|field| match field.ratio()? {
        share if share > 0.0 => Some(share),
        _ => field.must("be more than 0", r#"write the share of answers that are there by then, such as "95%""#),
    });
    let of_last = reader.need("of_last", "write how many of the latest answers are looked at, such as 100");
    let of_last = of_last.and_then(|field| field.whole(1..=u64::from(MeasuredDelay::MOST)));
    let most = of_last.unwrap_or(u64::from(MeasuredDelay::MOST));
    let after = reader.or("after", most, |field| field.whole(1..=most));
    let at_first = reader.or("at_first", None, |field| field.duration().map(Some));
    let at_least = reader.or("at_least", SimDuration::ZERO, Field::duration);
    reader.finish();
    Some(HedgeDelay::Measured(MeasuredDelay {
        quantile: quantile?,
        of_last: of_last? as u32,
        after: after? as u32,
        at_first: at_first?,
        at_least: at_least?,
    }))
}
