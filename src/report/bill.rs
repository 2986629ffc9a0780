//! What it cost, where there are prices: for each class all of it, and what of it was lost.

use super::quantity::{UNDEFINED, amount};
use super::story::{Scope, Subject};
use super::words::readable;

/// What is told of a class: the key, and the head of its column.
pub const CELLS: [(&str, &str); 5] = [
    ("total", "in all"),
    ("retries", "retries"),
    ("unreceived", "for nobody"),
    ("failed_tasks", "failed tasks"),
    ("cost_per_delivered", "each delivered"),
];

/// The bill of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The class.
    pub class: String,
    /// Its amounts, in the order of [`CELLS`].
    pub cells: [String; CELLS.len()],
}

/// The currency, and the bill of each class; `None` where nothing has a price.
pub fn bills(subject: &Subject<'_>) -> Option<(String, Vec<Row>)> {
    let tariff = subject.scenario.provider.prices.as_ref()?;
    let row = |class: &crate::traffic::TrafficClass| {
        let value = |key: &str| subject.value(Scope::Whole, &class.name, &["bill", key]);
        let cells = CELLS.map(|(key, _)| value(key).map_or_else(|| UNDEFINED.to_owned(), amount));
        Row { class: readable(&class.name), cells }
    };
    Some((tariff.currency.clone(), subject.scenario.traffic.iter().map(row).collect()))
}
