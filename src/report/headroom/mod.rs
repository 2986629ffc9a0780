//! Headroom says how far a setting may go: one sentence with the number and its confidence, what it costs, the whole curve,
//! what arithmetic says, and what makes the answer mislead.

mod arithmetic;
mod caution;
pub mod csv;
mod finding;
pub mod json;
pub mod schema;
pub mod text;

pub use arithmetic::arithmetic;
pub use caution::cautions;
pub use finding::{costs, findings, statement, title};

use crate::experiment::headroom::{Goal, Headroom, Point};
use crate::scenario::Scenario;

use super::quantity::count;
use super::words::{listed, tasks};

/// What moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// The share of the limit that the background's pacers let pass.
    Budget,
    /// The workers of the background class.
    Workers,
    /// The amount of the limit, the pacers at the same share of it.
    Limit,
    /// What live traffic needs, as a share of the limit.
    Live,
    /// Any setting, by its path.
    Setting(String),
}

impl Over {
    /// Its word in documents.
    pub const fn word(&self) -> &'static str {
        match self {
            Over::Budget => "budget",
            Over::Workers => "workers",
            Over::Limit => "limit",
            Over::Live => "live",
            Over::Setting(_) => "setting",
        }
    }
}

/// How a value reads in another unit: 45 % of a limit is 315k tokens a minute.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// What 1 is.
    pub per_unit: f64,
    /// The unit.
    pub unit: String,
}

/// An answer with everything that a report says about it.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The file as it is.
    pub scenario: &'a Scenario,
    /// The seed.
    pub seed: u64,
    /// What moves.
    pub over: Over,
    /// The settings that are changed.
    pub paths: Vec<String>,
    /// How a value reads in another unit.
    pub scale: Option<Scale>,
    /// The share of the limit that the background's pacers let pass in the file; `None` without pacers.
    pub budget: Option<f64>,
    /// What was found.
    pub found: &'a Headroom,
}

impl Asked<'_> {
    /// The stretch of time that the goal is about: `10 min`; `None` for the whole run.
    pub fn within(&self) -> Option<String> {
        self.goal().within.map(|within| spoken(within.as_secs_f64()))
    }

    /// The name of the limit.
    pub fn limit(&self) -> &str {
        &self.scenario.provider.limits[self.found.question.limit].name
    }

    /// What is asked of a value.
    pub const fn goal(&self) -> &Goal {
        &self.found.question.goal
    }

    /// What moves, as the head of a column.
    pub fn head(&self) -> String {
        match &self.over {
            Over::Budget => "budget".to_owned(),
            Over::Workers => "workers".to_owned(),
            Over::Limit => format!("`{}`", self.limit()),
            Over::Live => "live need".to_owned(),
            Over::Setting(path) => path.rsplit('.').next().unwrap_or(path).to_owned(),
        }
    }

    /// A value as a sentence says it: `45 %` of a limit, or the value alone.
    pub fn value(&self, text: &str) -> String {
        match &self.over {
            Over::Budget | Over::Live => format!("{text} of `{}`", self.limit()),
            Over::Workers | Over::Limit | Over::Setting(_) => text.to_owned(),
        }
    }

    /// The value in its other unit.
    pub fn scaled(&self, number: f64) -> Option<String> {
        let scale = self.scale.as_ref()?;
        let amount = number * scale.per_unit;
        let short = match amount {
            n if n >= 9_999.5 => format!("{}k", count((n / 1e3).round())),
            n if n >= 99.5 => count(n.round()),
            n => format!("{}", (n * 10.0).round() / 10.0),
        };
        Some(format!("{short} {}", scale.unit))
    }

    /// The point of a value, with its other unit.
    pub fn point(&self, point: &Point) -> String {
        let value = self.value(&point.text);
        match (&self.over, self.scaled(point.number)) {
            (Over::Budget | Over::Live, Some(scaled)) => format!("{value}, {scaled}"),
            _ => value,
        }
    }

    /// The live classes in the plural: `live turns`.
    pub fn live(&self) -> String {
        self.named(&self.found.question.live)
    }

    /// The background classes in the plural: `reports`.
    pub fn background(&self) -> String {
        self.named(&self.found.question.background)
    }

    fn named(&self, names: &[String]) -> String {
        let classes = self.scenario.traffic.iter().filter(|class| names.contains(&class.name));
        listed(&classes.map(tasks).collect::<Vec<_>>())
    }
}

/// A length of time in its largest whole unit: `10 min`.
fn spoken(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min")];
    let whole = units.into_iter().find(|(size, _)| seconds >= *size && (seconds / size).fract() == 0.0);
    whole.map_or_else(|| format!("{seconds} s"), |(size, sign)| format!("{} {sign}", seconds / size))
}

/// A share in percent, with no digit that says nothing.
pub fn share(value: f64) -> String {
    format!("{} %", (value * 1e4).round() / 1e2)
}

/// How many seeds the values met, with a noun: `100 to 400 days`.
pub fn seeds(asked: &Asked<'_>, noun: &str) -> String {
    let least = asked.found.points.iter().map(|point| point.seeds).min().unwrap_or(0);
    let most = asked.found.seeds();
    let [low, high] = [least, most].map(|n| count(n as f64));
    if least == most { format!("{low} {noun}") } else { format!("{low} to {high} {noun}") }
}
