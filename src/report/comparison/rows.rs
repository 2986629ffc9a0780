//! Which of the many numbers a page shows, class by class: the storm, what it cost, how late and when it was over. A
//! row that is nothing in every arm says nothing and is left out.

use super::Compared;
use crate::experiment::Measure;
use crate::experiment::measure::{Of, Part};
use crate::report::words::{readable, tasks};
use crate::traffic::TrafficClass;

/// Rows under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What the rows are of.
    pub heading: String,
    /// The indexes of the measures.
    pub rows: Vec<usize>,
}

/// The rows of a class in the whole run.
const WHOLE: [&str; 16] = [
    "requests",
    "tasks_with_429",
    "tasks_with_429_share",
    "failed",
    "failed_with_effect",
    "repeated_effects",
    "wasted_server_s",
    "bill.total",
    "bill.retries",
    "bill.unreceived",
    "bill.cost_per_delivered",
    "latency_all_s.p50",
    "latency_all_s.p95",
    "latency_all_s.max",
    "latency_s.max",
    "max_requests_per_task",
];

/// The rows of a class in the storm: what multiplied.
const IN_STORM: [&str; 3] = ["requests", "amplification", "requests_per_call_peak"];

/// The rows of live classes in every phase: who met a 429.
const IN_PHASES: [&str; 1] = ["tasks_with_429_share"];

/// The groups of rows, in the order in which a page shows them.
pub fn groups(compared: &Compared<'_>) -> Vec<Group> {
    let measures = &compared.comparison.trial.measures;
    let mut out: Vec<Group> = Vec::new();
    for class in classes(compared) {
        let rows = indexes(compared, |measure| is_shown(measure, class, measures));
        // One group for each part of the run, the whole first.
        for rows in rows.chunk_by(|a, b| measures[*a].part == measures[*b].part) {
            let heading = match &measures[rows[0]].part {
                Part::Whole => tasks(class),
                Part::Phase(phase) => format!("{}, {}", tasks(class), readable(phase)),
            };
            out.push(Group { heading, rows: rows.to_vec() });
        }
    }
    let rest = |measure: &Measure| match &measure.of {
        Of::Run => matches!(measure.key.as_str(), "recovery.total_s" | "recovery.queue_s"),
        Of::Limit(_) => measure.key == "below_tenth_s",
        Of::Class { .. } | Of::Layer { .. } => false,
    };
    out.push(Group { heading: "time".to_owned(), rows: indexes(compared, rest) });
    out.retain(|group| !group.rows.is_empty());
    out
}

/// The factors of a class's layers, outermost first, and behind them what they multiply to.
pub(super) fn factors(compared: &Compared<'_>) -> Vec<(Group, Option<usize>)> {
    let measures = &compared.comparison.trial.measures;
    let of = |class: &TrafficClass| {
        let is_factor = |measure: &&Measure| matches!(&measure.of, Of::Layer { class: name } if *name == class.name);
        let part = &measures.iter().find(is_factor)?.part;
        let is_product = |measure: &Measure| {
            measure.key == "amplification_by_task"
                && measure.part == *part
                && matches!(&measure.of, Of::Class { name, .. } if *name == class.name)
        };
        let rows: Vec<usize> =
            (0..measures.len()).filter(|row| is_factor(&&measures[*row]) && multiplies(compared, *row)).collect();
        let place = match part {
            Part::Whole => String::new(),
            Part::Phase(phase) => format!(", {}", readable(phase)),
        };
        let heading = format!("{}{place}: requests by layer", tasks(class));
        (!rows.is_empty()).then(|| (Group { heading, rows }, measures.iter().position(is_product)))
    };
    classes(compared).into_iter().filter_map(of).collect()
}

/// The classes of all arms, each once.
pub(super) fn classes<'a>(compared: &Compared<'a>) -> Vec<&'a TrafficClass> {
    let mut all: Vec<&TrafficClass> = Vec::new();
    for class in compared.arms.iter().flat_map(|arm| &arm.scenario.traffic) {
        if !all.iter().any(|known| known.name == class.name) {
            all.push(class);
        }
    }
    all
}

fn is_shown(measure: &Measure, class: &TrafficClass, all: &[Measure]) -> bool {
    let Of::Class { name, live } = &measure.of else { return false };
    if *name != class.name {
        return false;
    }
    let key = measure.key.as_str();
    match &measure.part {
        Part::Whole => WHOLE.contains(&key) || key == "amplification" && measure.headline,
        Part::Phase(_) if *live && IN_PHASES.contains(&key) => true,
        // What multiplied is told of the phase of the storm alone: the others are its echo.
        Part::Phase(_) => {
            let is_storm = |other: &Measure| other.headline && other.key == "requests" && other.part == measure.part;
            IN_STORM.contains(&key) && all.iter().any(|other| is_storm(other) && other.of == measure.of)
        }
    }
}

fn indexes(compared: &Compared<'_>, wanted: impl Fn(&Measure) -> bool) -> Vec<usize> {
    let measures = &compared.comparison.trial.measures;
    (0..measures.len()).filter(|row| wanted(&measures[*row]) && has_moved_from(compared, *row, 0.0)).collect()
}

/// Whether a layer multiplies by anything but what is written as 1.00 in any arm.
fn multiplies(compared: &Compared<'_>, row: usize) -> bool {
    let mut means = compared.comparison.effects.iter().filter_map(|effects| effects[row].cell.mean());
    means.any(|mean| (mean - 1.0).abs() >= 0.005)
}

/// Whether a measure is anything but this value in any arm.
fn has_moved_from(compared: &Compared<'_>, row: usize, value: f64) -> bool {
    compared.comparison.effects.iter().any(|effects| {
        let cell = &effects[row].cell;
        cell.never > 0
            || cell.statistic.as_ref().is_some_and(|statistic| statistic.min != value || statistic.max != value)
    })
}
