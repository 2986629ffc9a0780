//! Reading what a struck request gets.

use super::distribution::{Measure, distribution};
use super::failures::code;
use crate::document::{Field, Place, Reader};
use crate::provider::script::Entry;
use crate::provider::{Respond, Script, StreamFault, default_refusal_latency};
use crate::random::Distribution;

/// What a struck request gets.
pub(super) struct ReadRespond {
    /// The answer.
    pub(super) respond: Respond,
    /// Whether it is said that the server carries it out, and if it does.
    pub(super) carried_out: Option<bool>,
    /// Where it is said that it hangs.
    pub(super) hangs: Option<Place>,
}

/// Reads one of the forms.
pub(super) fn respond(field: &Field<'_>) -> Option<ReadRespond> {
    const FORMS: [&str; 9] =
        ["status", "stream", "cut", "drop", "unreachable", "script", "hang", "connect_hang", "slow_first_token"];
    let reader = field.table("one answer")?;
    let chosen = reader.only(&FORMS);
    let respond = match &chosen {
        None => {
            reader.knows(&["after", "at", "for", "retry_after", "should_retry", "code", "carried_out"]);
            None
        }
        Some(("status", field)) => status(field, &reader),
        Some(("stream", field)) => stream(field, &reader),
        Some(("cut", field)) => must_be_true(field).and(after(&reader)).map(|after| Respond::Cut { after }),
        Some(("drop", field)) => must_be_true(field).and(after(&reader)).map(|after| Respond::Drop { after }),
        Some(("unreachable", field)) => {
            must_be_true(field).and(after(&reader)).map(|after| Respond::Unreachable { after })
        }
        Some(("script", field)) => script(field).map(Respond::Script),
        Some(("connect_hang", field)) => must_be_true(field).map(|()| Respond::ConnectHang),
        Some(("slow_first_token", field)) => distribution(field, Measure::Seconds).map(Respond::SlowFirstToken),
        Some((_, field)) => must_be_true(field).map(|()| Respond::Hang),
    };
    // What is served is carried out.
    let is_served = respond.as_ref().is_some_and(Respond::is_served);
    let carried_out = if is_served { Some(None) } else { reader.maybe("carried_out", Field::truth) };
    reader.finish();
    let (respond, carried_out) = (respond?, carried_out?);
    let hangs = match &respond {
        Respond::Hang => true,
        Respond::Script(script) => script.entries().iter().any(Entry::hangs),
        // Who has no timeout for a connection, or for a silent stream, waits for ever: that is how such clients hang.
        Respond::ConnectHang
        | Respond::Silence { .. }
        | Respond::Status { .. }
        | Respond::Stream { .. }
        | Respond::Cut { .. }
        | Respond::Drop { .. }
        | Respond::Unreachable { .. }
        | Respond::Degraded
        | Respond::SlowFirstToken(_) => false,
    };
    Some(ReadRespond { respond, carried_out, hangs: chosen.filter(|_| hangs).map(|(_, field)| field.place()) })
}

/// The clock by which dates in a script's headers are read: the first instant of 2026, in Unix seconds.
pub const SCRIPT_CLOCK: f64 = 1_767_225_600.0;

/// Answers one by one, in the words of `probe`.
fn script(field: &Field<'_>) -> Option<Script> {
    match Script::parse(field.text()?, SCRIPT_CLOCK) {
        Ok(script) => Some(script),
        Err(faults) => {
            for fault in faults {
                field.wrong::<()>(fault.message, fault.hint);
            }
            None
        }
    }
}

/// Seconds until an answer is back.
fn after(reader: &Reader<'_>) -> Option<Distribution> {
    reader.or("after", default_refusal_latency(), |field| distribution(field, Measure::Seconds))
}

fn status(field: &Field<'_>, reader: &Reader<'_>) -> Option<Respond> {
    let status = field.whole(400..=599);
    let hint = reader.maybe("retry_after", Field::positive_duration);
    let should_retry = reader.maybe("should_retry", Field::truth);
    let code = reader.maybe("code", code);
    let after = after(reader);
    let code = code?.map(str::to_owned);
    Some(Respond::Status { status: status? as u16, after: after?, hint: hint?, should_retry: should_retry?, code })
}

fn stream(field: &Field<'_>, reader: &Reader<'_>) -> Option<Respond> {
    let how = field.word(&StreamFault::ALL.map(|(how, word)| (word, how)));
    if how == Some(StreamFault::Silent) {
        return silent(reader);
    }
    Some(Respond::Stream { how: how?, after: after(reader)? })
}

/// A stream that falls silent: until a stated time, or from a stated time on.
fn silent(reader: &Reader<'_>) -> Option<Respond> {
    let Some(at) = reader.get("at") else {
        if let Some(field) = reader.get("for") {
            return field.wrong("says how long, and not from when on", r#"write at = "3s" too"#);
        }
        // Silence is noticed by a timeout, and none is as short as an error's way back.
        let hint = r#"write when it falls silent, such as at = "3s", or how long until a timeout of 60 s ends it all"#;
        reader.need("after", hint)?;
        return Some(Respond::Stream { how: StreamFault::Silent, after: after(reader)? });
    };
    if let Some(field) = reader.get("after") {
        return field.wrong("says when the silence ends, and `at` when it begins", "keep one of them");
    }
    let at = distribution(&at, Measure::Seconds);
    let gap = reader.maybe("for", |field| distribution(field, Measure::Seconds));
    Some(Respond::Silence { at: at?, gap: gap? })
}

fn must_be_true(field: &Field<'_>) -> Option<()> {
    if field.truth()? { Some(()) } else { field.must("be true", "leave the fault out where it does not happen") }
}
