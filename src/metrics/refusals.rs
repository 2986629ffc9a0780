//! Who refused the requests of a class, and how many of the refusals by rate limits the retries have caused.

use super::class::{count, named};
use super::tree::{Number, Tree};
use crate::observe::refusals::{ATTEMPTS, Causes, RefusalTotal};
use crate::scenario::Scenario;

/// The refusals of a class in a span; by attempt where `with_attempts` says so, and by cause where there are rate limits.
pub(super) fn refusals(scenario: &Scenario, total: &RefusalTotal, with_attempts: bool) -> Tree<Number> {
    let mut statuses: Vec<u16> = total.by.iter().map(|(refuser, _)| refuser.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let of_status = |status: u16| {
        let by = total.by.iter().filter(|(refuser, _)| refuser.status == status);
        let table = by.map(|(refuser, counts)| {
            let mut table = vec![("all", count(counts.iter().sum()))];
            if with_attempts {
                let attempts = ATTEMPTS.iter().zip(counts).map(|(name, n)| ((*name).to_owned(), count(*n)));
                table.push(("attempts", Tree::Table(attempts.collect())));
            }
            (refuser.source.clone(), named(table))
        });
        (status.to_string(), Tree::Table(table.collect()))
    };
    let mut table = vec![("statuses", Tree::Table(statuses.into_iter().map(of_status).collect()))];
    if !scenario.provider.limits.is_empty() {
        table.push(("of_limits", of_limits(total)));
    }
    named(table)
}

fn of_limits(total: &RefusalTotal) -> Tree<Number> {
    let Causes { retries, displaced, anyway } = total.causes;
    let all = retries + displaced + anyway;
    // Nobody knows it where first requests have not been told apart.
    let known = |number: Number| {
        let value = if total.knows_causes || displaced + anyway == 0 { number.value } else { f64::NAN };
        Tree::Leaf(Number { value, ..number })
    };
    named(vec![
        ("all", count(all)),
        ("met_retries", count(retries)),
        ("displaced", known(Number::count(displaced))),
        ("anyway", known(Number::count(anyway))),
        ("caused_by_retries_share", known(Number::ratio(retries + displaced, all))),
    ])
}
