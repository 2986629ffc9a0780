//! Which model was asked how often, what it answered, and who sent its failures: the question of an incident, over the
//! whole run.

use crate::metrics::Tree;

use super::quantity::Unit;
use super::story::{Scope, Subject};
use super::words::readable;

/// What the requests of one class to one model met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The class.
    pub class: String,
    /// The model.
    pub model: String,
    /// Requests, those answered 200, those answered 429, all other failures.
    pub cells: [String; 4],
    /// Who sent the failures, the most first, such as "limit `opus` 880".
    pub failed_by: Vec<String>,
}

/// The heads of the cells.
pub const HEADS: [&str; 4] = ["requests", "200", "429", "other"];

/// One row for each class and model that was asked; none where models are not told apart.
pub fn model_table(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for class in &subject.scenario.traffic {
        let path = Scope::Whole.path(&class.name, &["models"]);
        let models = subject.result.figures.at(&path).map_or(&[][..], Tree::branches);
        for (model, _) in models {
            let value = |keys: &[&str]| {
                let keys: Vec<&str> = ["models", model].iter().chain(keys).copied().collect();
                subject.value(Scope::Whole, &class.name, &keys).unwrap_or(0.0)
            };
            let requests = value(&["requests"]);
            if requests <= 0.0 {
                continue;
            }
            let (ok, throttled) = (value(&["responses", "200"]), value(&["responses", "429"]));
            let names = |key: &str| {
                let path = Scope::Whole.path(&class.name, &["models", model, key]);
                let branches = subject.result.figures.at(&path).map_or(&[][..], Tree::branches);
                branches.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>()
            };
            let all: f64 = names("responses").iter().map(|name| value(&["responses", name])).sum();
            let mut by: Vec<(f64, &str)> = names("answered_by")
                .into_iter()
                .filter(|name| *name != "service")
                .map(|name| (value(&["answered_by", name]), name))
                .filter(|(number, _)| *number > 0.0)
                .collect();
            by.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            rows.push(Row {
                class: readable(&class.name),
                model: model.clone(),
                cells: [requests, ok, throttled, all - ok - throttled].map(|number| Unit::Count.bare(number)),
                failed_by: by.into_iter().map(|(number, name)| source(name, &Unit::Count.bare(number))).collect(),
            });
        }
    }
    rows
}

/// "limit `opus` 880".
fn source(name: &str, number: &str) -> String {
    match name.split_once(':') {
        Some(("client", what)) => format!("the client's {} {number}", what.replace("cancelled", "cancelling")),
        Some((kind, name)) => format!("{kind} `{name}` {number}"),
        None => format!("{} {number}", readable(name)),
    }
}
