//! Reading a limit on requests in flight.

use super::refuse::{Refusal, refusal};
use crate::document::{Fault, Reader};
use crate::provider::{ModelSet, Slots};

/// The most slots of one limit.
const MOST_SLOTS: u64 = 1_000_000;

/// Reads the rest of a limit on requests in flight.
pub(super) fn slots(name: &str, classes: ModelSet, reader: &Reader<'_>) -> Option<Slots> {
    let amount = reader.need("amount", "write how many requests may be in flight, such as 5");
    let amount = amount.and_then(|field| field.whole(1..=MOST_SLOTS));
    let mut sound = true;
    for key in ["per", "capacity", "algorithm", "aligned", "sub_windows", "changes", "charge", "estimate", "settle"] {
        if let Some(field) = reader.get(key) {
            let message = "a limit on requests in flight has no rate: a slot is free again when its service ends";
            reader.faults().add(Fault::new(field.key, message).hint("leave it out"));
            sound = false;
        }
    }
    let refusal = match reader.get("refuse") {
        None => Some(Refusal::without_hint()),
        Some(field) => refusal(&field, &Refusal::without_hint(), false),
    };
    let (amount, Refusal { status, after, hint, code, .. }) = (amount?, refusal?);
    let amount = amount as u32;
    let (name, models) = (name.to_owned(), ModelSet::ALL);
    let slots = Slots { name, amount, status, refusal_latency: after, hint, code, models, classes };
    sound.then_some(slots)
}
