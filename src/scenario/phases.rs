//! Reading phases and the origin: spans and instants that refer to fault windows.

use super::NamedPhase;
use super::context::{Context, each};
use super::provider::When;
use crate::document::{Fault, Field, Reader, Value, near};
use crate::provider::Window;
use crate::units::{SimTime, parse};

/// The most phases that a file may name.
const MOST: usize = 200;

/// Reads the phases.
pub(super) fn phases(
    field: Option<&Field<'_>>,
    windows: &[(&str, When)],
    context: &Context<'_>,
) -> Option<Vec<NamedPhase>> {
    let Some(field) = field else { return Some(Vec::new()) };
    let reader = field.table("phases")?;
    let phases = each(&reader, MOST, "phases", |name, field| {
        let window = phase(field, windows, context)?;
        Some(NamedPhase { name: name.to_owned(), window })
    });
    reader.finish();
    phases.into_iter().collect()
}

fn phase(field: &Field<'_>, windows: &[(&str, When)], context: &Context<'_>) -> Option<Window> {
    let reader = field.table("when it is")?;
    let chosen = reader.only(&["after", "before", "from"]);
    let window = match chosen {
        None => {
            reader.knows(&["for", "until"]);
            None
        }
        Some(("from", from)) => {
            let until_field = reader.need("until", r#"write when the phase ends, such as "10m""#);
            let until = until_field.and_then(|field| field.instant());
            from.instant().zip(until).and_then(|(from, to)| {
                if from < to {
                    return Some(Window { from, to });
                }
                until_field?.wrong("ends before it begins", "write an `until` that is later than `from`")
            })
        }
        Some((side, fault)) => beside(&fault, side == "after", &reader, windows),
    };
    reader.finish();
    let window = window?;
    if window.from >= context.end() {
        let horizon = context.end() - SimTime::ZERO;
        let fault = Fault::new(field.key, format!("begins when the run is over, at {horizon}"));
        context.faults.add(fault.hint("begin earlier, or lengthen the `horizon`"));
        return None;
    }
    Some(window)
}

/// A phase that ends where a fault's window begins, or begins where it ends.
fn beside(fault: &Field<'_>, after: bool, reader: &Reader<'_>, windows: &[(&str, When)]) -> Option<Window> {
    let length_field = reader.need("for", r#"write how long the phase lasts, such as "6m""#);
    let length = length_field.and_then(|field| field.positive_duration());
    let window = window_of(fault, windows);
    let (length, window) = (length?, window?);
    if after {
        return Some(Window { from: window.to, to: window.to + length });
    }
    let lead = window.from - SimTime::ZERO;
    if length > lead {
        let message = format!("begins before the run does: the fault begins at {lead}");
        return length_field?.wrong(message, format!("write at most \"{lead}\""));
    }
    Some(Window { from: SimTime::from_nanos(lead.saturating_sub(length).as_nanos()), to: window.from })
}

/// The window of the fault that a value names.
fn window_of(field: &Field<'_>, windows: &[(&str, When)]) -> Option<Window> {
    let wanted = field.text()?;
    match windows.iter().find(|(name, _)| *name == wanted) {
        Some((_, When::In(window))) => Some(*window),
        Some((_, When::Always)) => field.wrong(
            format!("`{wanted}` has no window"),
            "give the fault a `window`, or write times instead of its name",
        ),
        Some((_, When::Unknown)) => None,
        None => {
            let names: Vec<&str> = windows.iter().map(|(name, _)| *name).collect();
            field.wrong("no fault has this name", near::existing("faults", &names, wanted))
        }
    }
}

/// Reads the origin: an instant, or the fault whose window begins there.
pub(super) fn origin(
    field: Option<&Field<'_>>,
    windows: &[(&str, When)],
    context: &Context<'_>,
) -> Option<(SimTime, Option<String>)> {
    let Some(field) = field else { return Some((SimTime::ZERO, None)) };
    let instant = || match field.instant()? {
        at if at < context.end() => Some((at, None)),
        _ => {
            let horizon = context.end() - SimTime::ZERO;
            field.wrong(
                format!("lies past the end of the run, at {horizon}"),
                "write an earlier instant, or lengthen the `horizon`",
            )
        }
    };
    let Value::String(text) = &field.node.value else { return instant() };
    let names = windows.iter().any(|(name, _)| name == text);
    // A text that begins like a number is meant as a time; its faults say so.
    if !names && (text.starts_with(|c: char| c.is_ascii_digit() || c == '-') || parse::duration(text).is_ok()) {
        return instant();
    }
    let window = window_of(field, windows)?;
    Some((window.from, Some(text.clone())))
}
