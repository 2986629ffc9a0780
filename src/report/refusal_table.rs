//! Who refused, with which status, at which request of a step, and how many of the refusals by rate limits the retries
//! have caused: over the whole run.

use crate::metrics::Tree;
use crate::observe::refusals::ATTEMPTS;

use super::quantity::Unit;
use super::story::{Scope, Subject};
use super::words::listed;

/// Someone who refused, with one status.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The status.
    pub status: String,
    /// Who, such as "limit `itpm`".
    pub who: String,
    /// Who, in the words of the log of requests.
    pub source: String,
    /// How often.
    pub all: f64,
    /// How often at each group of attempts.
    pub attempts: [f64; ATTEMPTS.len()],
}

/// All who refused requests of a class, or of all classes, the most first.
pub fn rows(subject: &Subject<'_>, class: Option<&str>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let classes = subject.scenario.traffic.iter().map(|known| known.name.as_str());
    for class in classes.filter(|known| class.is_none_or(|class| class == *known)) {
        let path = Scope::Whole.path(class, &["refusals", "statuses"]);
        for (status, sources) in subject.result.figures.at(&path).map_or(&[][..], Tree::branches) {
            for (source, _) in sources.branches() {
                let value = |keys: &[&str]| {
                    let keys: Vec<&str> =
                        ["refusals", "statuses", status, source].iter().chain(keys).copied().collect();
                    subject.value(Scope::Whole, class, &keys).unwrap_or(0.0)
                };
                let (all, attempts) = (value(&["all"]), ATTEMPTS.map(|group| value(&["attempts", group])));
                if let Some(row) = rows.iter_mut().find(|row| row.status == *status && row.source == *source) {
                    row.all += all;
                    row.attempts.iter_mut().zip(attempts).for_each(|(sum, n)| *sum += n);
                } else {
                    let who = who(source);
                    rows.push(Row { status: status.clone(), who, source: source.clone(), all, attempts });
                }
            }
        }
    }
    rows.retain(|row| row.all > 0.0);
    rows.sort_by(|a, b| b.all.total_cmp(&a.all));
    rows
}

/// "limit `itpm`".
fn who(source: &str) -> String {
    match source.split_once(':') {
        Some((kind, name)) => format!("{kind} `{name}`"),
        None if source == "capacity" => "the full servers".to_owned(),
        None => format!("the {}", super::words::readable(source)),
    }
}

/// "of 412 refusals by rate limits 371 met retries, 29 met first requests that would have fitted without the retries'
/// load and 12 would have been refused anyway"; `None` where no rate limit refused.
pub fn causes(subject: &Subject<'_>) -> Option<String> {
    let sum = |key: &str| {
        let of = |class: &str| match subject.of(Scope::Whole, class, &["refusals", "of_limits", key]) {
            // Nobody refuses such a class.
            None => Some(0.0),
            Some(figure) => figure.center(),
        };
        // What is not known of one class is not known of all.
        let values: Option<Vec<f64>> = subject.scenario.traffic.iter().map(|class| of(&class.name)).collect();
        values.map(|values| values.iter().sum::<f64>())
    };
    let (all, retries) = (sum("all").filter(|all| *all > 0.0)?, sum("met_retries")?);
    let bare = |n: f64| Unit::Count.bare(n);
    let mean = if subject.is_replicated() { " on average" } else { "" };
    let (Some(displaced), Some(anyway)) = (sum("displaced"), sum("anyway")) else {
        return Some(format!(
            "of {} refusals by rate limits{mean} {} met retries; whether the others would have fitted without the \
             retries' load is not known where a limit is charged when a service ends, and retries move that end",
            bare(all),
            bare(retries)
        ));
    };
    let parts = [
        (retries, "met retries"),
        (displaced, "met first requests that would have fitted without the retries' load"),
        (anyway, "would have been refused anyway"),
    ];
    let said: Vec<(f64, &str)> = parts.into_iter().filter(|(n, _)| *n > 0.0).collect();
    if let [(_, what)] = said[..] {
        return Some(format!("all {} refusals by rate limits{mean} {what}", bare(all)));
    }
    let said: Vec<String> = said.into_iter().map(|(n, what)| format!("{} {what}", bare(n))).collect();
    Some(format!("of {} refusals by rate limits{mean} {}", bare(all), listed(&said)))
}
