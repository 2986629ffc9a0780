//! Reading when the amount of a limit changes: of all that it stands for, or of one instance of a limit that is one for
//! each class, model or value of a label.

use super::limit::ReadLimit;
use super::limit_meter::amount;
use super::limit_terms::weights_of;
use crate::document::{Fault, Field, near};
use crate::provider::Terms;
use crate::units::SimTime;

/// Instants, ascending, and the amount from each on.
pub(super) type Changes = Vec<(SimTime, u64)>;

/// Reads `changes`.
pub(super) fn changes(field: &Field<'_>, scale: u64) -> Option<Changes> {
    let mut all: Changes = Vec::new();
    for item in field.list("changes", 10_000)? {
        let (time, value) = item.pair(r#"a time and an amount, such as ["30m", "50k"]"#)?;
        let (at, value) = (time.instant(), amount(&value, scale));
        let at = at?;
        if all.last().is_some_and(|(last, _)| *last >= at) {
            return time.wrong("is not later than the change before it", "write the changes in ascending time");
        }
        all.push((at, value?));
    }
    Some(all)
}

/// Reads `changes_of` into the instances, each of which stands beside whose it is.
pub(super) fn change_instances(field: &Field<'_>, instances: &mut [(String, ReadLimit)]) -> Option<()> {
    let Some(table) = field.node.as_table() else {
        return field.must("be a table of those whose limit changes", r#"write { research = [["30m", "50k"]] }"#);
    };
    for (whose, entry) in table.in_order() {
        let own = Field::new(entry.key, &entry.node, field.faults());
        let names: Vec<String> = instances.iter().map(|(name, _)| name.clone()).collect();
        let Some((_, limit)) = instances.iter_mut().find(|(name, _)| name == whose) else {
            if names.is_empty() {
                return own.wrong("is nobody's: the limit is one for all", "write what it is one for, as `each`");
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let fault = Fault::new(entry.key, "has no such limit of its own");
            field.faults().add(fault.hint(near::existing("those who have one", &names, whose)));
            return None;
        };
        let ReadLimit::Rate(limit, _) = limit else {
            return own.wrong("is a limit on requests in flight, which does not change", "leave it out");
        };
        let weights = limit.terms.as_ref().map_or_else(|| weights_of(limit.counts), |terms| terms.weights);
        let read = changes(&own, weights.scale)?;
        let all = &mut limit.terms.get_or_insert_with(|| Box::new(Terms::plain(weights))).changes;
        // What is said of one goes before what is said of all.
        all.retain(|(at, _)| read.iter().all(|(own, _)| own != at));
        all.extend(read);
        all.sort_by_key(|(at, _)| *at);
    }
    Some(())
}
