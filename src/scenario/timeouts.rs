//! Reading how long one attempt may take: one duration for every phase, or a table of phases.

use super::context::Read;
use super::layer::limit;
use crate::document::{Fault, Field, Place, Reader};
use crate::policy::Timeouts;
use crate::units::SimDuration;

/// The phases that a table may limit.
const PHASES: [&str; 6] = ["connect", "write", "read", "pool", "idle", "total"];

/// How long one attempt of a layer may take, and where that is said.
pub(super) struct ReadTimeouts {
    /// The longest time of each phase.
    pub(super) phases: Timeouts,
    /// Whether an attempt gets no more than what is left of the total time.
    pub(super) shrink: bool,
    /// Where there is a limit, or where it is said that it shrinks.
    pub(super) said: Option<Place>,
}

/// Reads `timeout` and `timeout_shrinks`.
pub(super) fn timeouts(reader: &Reader<'_>) -> Option<ReadTimeouts> {
    let phases = reader.or("timeout", Timeouts::NONE, phases);
    let shrink = reader.or("timeout_shrinks", false, Field::truth);
    let total = reader.get("total_budget").filter(|field| !field.is_none());
    if shrink == Some(true) && total.is_none() {
        let field = reader.get("timeout_shrinks")?;
        reader.faults().add(Fault::new(field.key, "says nothing without `total_budget`").hint("write the budget too"));
        return None;
    }
    let (phases, shrink) = (phases?, shrink?);
    let shrinking = reader.get("timeout_shrinks").filter(|_| shrink);
    let limited = reader.get("timeout").filter(|_| phases != Timeouts::NONE);
    Some(ReadTimeouts { phases, shrink, said: limited.or(shrinking).map(|field| field.place()) })
}

/// A scalar holds for every phase, as HTTP clients take it; a table says each for itself.
fn phases(field: &Field<'_>) -> Option<Timeouts> {
    if field.node.as_table().is_none() {
        return Some(limit(field)?.map_or(Timeouts::NONE, Timeouts::each));
    }
    let reader = field.table("a duration, or phases and their durations")?;
    let [connect, write, read, pool, idle, total] = PHASES.map(|phase| reader.or(phase, None, limit));
    let by_timer = checked_by_timer(&reader, idle);
    reader.finish();
    let (connect, write, read, pool, total) = (connect?, write?, read?, pool?, total?);
    if field.node.as_table().is_some_and(|table| table.in_order().is_empty()) {
        return field.wrong("limits no phase", r#"write such as { connect = "5s", read = "120s" }"#);
    }
    let (idle, idle_at_next_event) = if by_timer? { (idle?, None) } else { (None, idle?) };
    Some(Timeouts { connect, write, read, pool, idle, idle_at_next_event, total })
}

/// Whether a gap in a stream is seen by a timer, or only when the next event comes.
fn checked_by_timer(reader: &Reader<'_>, idle: Read<Option<SimDuration>>) -> Option<bool> {
    let by_timer = reader.or("idle_checked", true, |field| field.word(&[("by_timer", true), ("at_next_event", false)]));
    if let (Some(field), Some(None)) = (reader.get("idle_checked"), idle) {
        reader.faults().add(Fault::new(field.key, "says nothing without `idle`").hint(r#"write idle = "20s" too"#));
        return None;
    }
    by_timer
}
