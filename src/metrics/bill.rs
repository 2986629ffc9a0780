//! What a class was billed: in the currency, from whole billionths of it.

use super::class::{named, real};
use super::tree::{Number, Tree};
use crate::observe::bills::{Bill, BillTotal};
use crate::provider::prices::PARTS;
use crate::scenario::Scenario;

/// The bill of a class in a span, in which so many of its tasks arrived that were delivered.
pub(super) fn bill(scenario: &Scenario, total: &BillTotal, delivered: u64) -> Tree<Number> {
    let by_task = amount(total.tasks.all);
    let mut table = requests(&total.all);
    table.extend([
        ("by_task", real(by_task)),
        ("failed_tasks", real(amount(total.tasks.failed))),
        ("cost_per_delivered", real(if delivered > 0 { by_task / delivered as f64 } else { f64::NAN })),
    ]);
    if !total.models.is_empty() {
        let name = |model: u8| scenario.provider.models.get(model as usize).map_or("none", |model| model.name.as_str());
        let models = total.models.iter().map(|(model, bill)| (name(*model).to_owned(), named(requests(bill))));
        table.push(("models", Tree::Table(models.collect())));
    }
    named(table)
}

fn requests(bill: &Bill) -> Vec<(&'static str, Tree<Number>)> {
    let Bill { total, retries, unreceived } = *bill;
    vec![
        ("total", real(amount(total))),
        ("first_requests", real(amount(total - retries))),
        ("retries", real(amount(retries))),
        ("retries_share", real(if total > 0 { retries as f64 / total as f64 } else { f64::NAN })),
        ("unreceived", real(amount(unreceived))),
    ]
}

/// Billionths as what they are parts of: the nearest number that there is.
fn amount(billionths: u128) -> f64 {
    billionths as f64 / PARTS as f64
}
