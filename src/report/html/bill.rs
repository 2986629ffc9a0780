//! What it cost, for each class and model.

use crate::metrics::Tree;
use crate::report::quantity::{UNDEFINED, amount};
use crate::report::story::{Scope, Subject};
use crate::report::words::readable;

use super::escaped;

/// What is told of a class; of each of several models only the first four.
const CELLS: [(&str, &str); 6] = [
    ("total", "in all"),
    ("first_requests", "for first requests"),
    ("retries", "for retries"),
    ("unreceived", "for nobody"),
    ("failed_tasks", "for tasks that failed"),
    ("cost_per_delivered", "for each delivered"),
];

/// The section; nothing where nothing has a price.
pub(super) fn bill(subject: &Subject<'_>) -> String {
    let Some(tariff) = &subject.scenario.provider.prices else { return String::new() };
    let heads = CELLS.map(|(_, head)| format!("<th scope=\"col\">{head}</th>")).concat();
    let row = |label: &str, kind: &str, class: &str, keys: &[&str]| {
        let cells = CELLS.map(|(key, head)| {
            let path: Vec<&str> = keys.iter().copied().chain([key]).collect();
            let is_there = subject.of(Scope::Whole, class, &path).is_some();
            let value = subject.value(Scope::Whole, class, &path).map_or_else(|| UNDEFINED.to_owned(), amount);
            format!("<td data-phase=\"{head}\">{}</td>", if is_there { value } else { String::new() })
        });
        format!("<tr class=\"{kind}\"><th scope=\"row\">{}</th>{}</tr>\n", escaped(label), cells.concat())
    };
    let mut body = String::new();
    for class in &subject.scenario.traffic {
        body.push_str(&row(&readable(&class.name), "class", &class.name, &["bill"]));
        let path = Scope::Whole.path(&class.name, &["bill", "models"]);
        let models = subject.result.figures.at(&path).map_or(&[][..], Tree::branches);
        for (model, _) in models.iter().filter(|_| models.len() > 1) {
            body.push_str(&row(&format!("to {model}"), "part", &class.name, &["bill", "models", model]));
        }
    }
    let mean = if subject.is_replicated() { ", means over the replicates" } else { "" };
    format!(
        "<section>\n<h2>What it cost</h2>\n<table class=\"bill\">\n<caption>{}, whole run{mean}.</caption>\n<thead><tr><th \
         scope=\"col\">requests of</th>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</section>\n",
        escaped(&tariff.currency)
    )
}
