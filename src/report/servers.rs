//! What the provider's servers did, where they are limited: how many waited for them, and who was turned away.

use super::quantity::{TimeUnit, Unit};
use super::story::Subject;
use super::words::listed;
use crate::experiment::Figure;

/// A sentence on the servers without a full stop; `None` where they are not limited or nobody noticed.
pub fn servers(subject: &Subject<'_>) -> Option<String> {
    let figure = |key| subject.figure(&["capacity", key]);
    let number = |key| figure(key).and_then(Figure::center).filter(|n| *n > 0.0);
    let brief = |key| Unit::Count.brief(figure(key));
    let mut did = Vec::new();
    if number("most_waiting").is_some() {
        let waited = number("mean_wait_s").map_or(String::new(), |seconds| {
            format!(", {} on average until they were served", Unit::Time(TimeUnit::of(seconds)).full(seconds))
        });
        did.push(format!("at most {} requests waited{waited}", brief("most_waiting")));
    }
    did.extend(number("refused").map(|_| format!("{} found no room", brief("refused"))));
    did.extend(number("left_waiting").map(|_| format!("{} callers left while they waited", brief("left_waiting"))));
    did.extend(number("waiting_at_end").map(|_| format!("{} wait when the run ends", brief("waiting_at_end"))));
    let mean = if subject.is_replicated() { ", means over the runs" } else { "" };
    (!did.is_empty()).then(|| format!("{}{mean}", listed(&did)))
}
