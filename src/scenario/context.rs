//! What the parts of a scenario must know of each other while they are read: the names that they may refer to, the end
//! of the run, and where faults go.

use std::cell::RefCell;

use super::labels::Senders;
use super::models::Asked;
use super::trace::Opened;
use super::trace_rows::BlockNames;
use crate::document::{Fault, Faults, Field, Reader, near};
use crate::units::{SimDuration, SimTime};

/// What reading gives: `None` where something was wrong, and then a fault says what.
pub(super) type Read<T> = Option<T>;

/// Names and bounds, known before the parts are read.
pub(super) struct Context<'a> {
    /// Where faults go.
    pub(super) faults: &'a Faults,
    /// When the run ends; `None` where the file does not say it properly.
    pub(super) horizon: Option<SimTime>,
    /// The names of the guards, in the order of the file.
    pub(super) guards: Vec<&'a str>,
    /// The names of the clients, in the order of the file.
    pub(super) clients: Vec<&'a str>,
    /// The names of the traffic classes, in the order of the file.
    pub(super) classes: Vec<&'a str>,
    /// Who sends requests, with their labels.
    pub(super) senders: Senders,
    /// The models that steps and fallbacks ask for, as far as they have been read.
    pub(super) asked: Asked,
    /// Whether a layer that never ends and never waits is let pass: a probe cuts it off.
    pub(super) may_spin: bool,
    /// Reads a trace that the file names.
    pub(super) trace: &'a dyn Fn(&str) -> Opened,
    /// The blocks of the traces that have been read.
    pub(super) blocks: RefCell<BlockNames>,
    /// Whether the provider has a cache, which looks at blocks.
    pub(super) caches: bool,
}

impl Context<'_> {
    /// When the run ends; where that is not known, an instant past all that a file can state.
    pub(super) fn end(&self) -> SimTime {
        self.horizon.unwrap_or(SimTime::NEVER)
    }
}

/// The index of the name that a value refers to.
pub(super) fn refer(field: &Field<'_>, names: &[&str], one: &str, many: &str) -> Option<usize> {
    let wanted = field.text()?;
    let index = names.iter().position(|name| *name == wanted);
    index.or_else(|| field.wrong(format!("no {one} has this name"), near::existing(many, names, wanted)))
}

/// Reads every named thing of a table, all of them even where one is wrong; none where there are too many.
pub(super) fn each<'a, T>(
    reader: &Reader<'a>,
    most: usize,
    what: &str,
    mut read: impl FnMut(&'a str, &Field<'a>) -> Option<T>,
) -> Vec<Option<T>> {
    let named = reader.named();
    if named.len() > most {
        let fault = Fault::new(reader.place(), format!("has more than {most} {what}, found {}", named.len()));
        reader.faults().add(fault.hint(format!("describe at most {most}")));
        return vec![None];
    }
    named.iter().map(|(name, field)| read(name, field)).collect()
}

/// The most times that a run does what it does again and again.
const MOST_TIMES: u64 = 10_000_000;

/// The time between two evaluations or looks, of which a run has a bounded number.
pub(super) fn often(field: &Field<'_>, context: &Context<'_>) -> Option<SimDuration> {
    let every = field.positive_duration()?;
    let Some(horizon) = context.horizon else { return Some(every) };
    if horizon.as_nanos() / every.as_nanos() > MOST_TIMES {
        return field.wrong(
            format!("is too often: the run has more than {MOST_TIMES} of them"),
            r#"write a longer time, such as "15s""#,
        );
    }
    Some(every)
}
