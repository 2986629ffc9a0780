//! A comparison says which of several policies does better in the same worlds, by how much, and how sure that is. The
//! terminal page, the JSON document, the table and the web page show the same rows and the same warnings.

mod brief;
mod caution;
pub mod csv;
mod finding;
pub mod html;
pub mod json;
mod label;
mod rows;
pub mod schema;
mod signed;
pub mod text;

pub use brief::{Brief, brief};
pub use caution::{Caution, cautions};
pub use finding::{finding, findings, loudest};
pub use label::{label, unit};
pub use rows::{Group, groups};
pub use signed::{cell, difference, interval, level, size, statistic};

use crate::experiment::Comparison;
use crate::scenario::Scenario;

/// A comparison with everything that a report says about it.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The arms, the one that all others are held against first.
    pub arms: &'a [ArmFacts<'a>],
    /// What was measured.
    pub comparison: &'a Comparison,
}

/// What is known of an arm beside its numbers.
#[derive(Clone, Debug)]
pub struct ArmFacts<'a> {
    /// Its name.
    pub name: String,
    /// What was run.
    pub scenario: &'a Scenario,
    /// In which settings its file differs from that of the first arm.
    pub changes: Vec<Change>,
}

/// A setting in which two arms differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its dotted path.
    pub path: String,
    /// Its value in the first arm as TOML; `None` where it is not written there.
    pub from: Option<String>,
    /// Its value in the other one.
    pub to: Option<String>,
}

impl Change {
    /// Whether the setting belongs to the world: provider, arrivals, sizes and time, not clients, guards, workers and how
    /// long a caller may wait.
    pub fn is_of_the_world(&self) -> bool {
        let names: Vec<&str> = self.path.split('.').collect();
        match names.as_slice() {
            ["provider", ..] | ["horizon"] => true,
            ["traffic", _, "steps", _, key, ..] => !matches!(*key, "client" | "with"),
            ["traffic", _, key, ..] => !matches!(*key, "client" | "workers" | "sla"),
            _ => false,
        }
    }
}

/// What differs between the settings of two arms, in the order of the first one and then of the other.
pub fn changes(first: &[(String, String)], other: &[(String, String)]) -> Vec<Change> {
    let find = |settings: &[(String, String)], path: &str| {
        settings.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone())
    };
    let gone = first.iter().map(|(path, value)| (path, Some(value.clone()), find(other, path)));
    let new = other.iter().filter(|(path, _)| find(first, path).is_none());
    gone.chain(new.map(|(path, value)| (path, None, Some(value.clone()))))
        .filter(|(_, from, to)| from != to)
        .map(|(path, from, to)| Change { path: path.clone(), from, to })
        .collect()
}

impl<'a> Compared<'a> {
    /// How many seeds every arm met.
    pub fn replicates(&self) -> u64 {
        self.comparison.trial.replicates()
    }

    /// The first arm.
    pub fn reference(&self) -> &'a ArmFacts<'a> {
        &self.arms[0]
    }

    /// The indexes of the other arms.
    pub fn others(&self) -> std::ops::Range<usize> {
        1..self.arms.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_name_what_differs_and_whether_it_is_the_world() {
        let settings = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect()
        };
        let first =
            settings(&[("horizon", "1"), ("clients.a.layers.sdk.max_retries", "2"), ("traffic.a.workers", "8")]);
        let other = settings(&[
            ("horizon", "1"),
            ("clients.a.layers.sdk.max_retries", "3"),
            ("traffic.a.arrivals", "{ poisson = \"1/s\" }"),
        ]);
        let found = changes(&first, &other);
        let shown: Vec<(&str, bool)> =
            found.iter().map(|change| (change.path.as_str(), change.is_of_the_world())).collect();
        let expected =
            [("clients.a.layers.sdk.max_retries", false), ("traffic.a.workers", false), ("traffic.a.arrivals", true)];
        assert_eq!(shown, expected);
        assert_eq!(
            (found[0].from.as_deref(), found[0].to.as_deref(), found[1].to.as_deref()),
            (Some("2"), Some("3"), None)
        );
    }
}
