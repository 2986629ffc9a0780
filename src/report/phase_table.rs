//! The table by phase shows cause and payer side by side: what each class sent, what it was answered, and how many of
//! its tasks met a 429 or failed. This file decides the rows; terminal and page decide how they look.

use crate::experiment::Figure;
use crate::policy::Guard;
use crate::traffic::TrafficClass;

use super::headline::{Tint, failures};
use super::quantity::Unit;
use super::story::{Scope, Subject};
use super::words::{readable, tasks};

/// The table by phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseTable {
    /// The phases: name and when, such as "0 – 22 min".
    pub columns: Vec<(String, String)>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of the table by phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is counted.
    pub label: String,
    /// The part of the label that may be coloured: a status, or "failed".
    pub word: Option<String>,
    /// Its colour.
    pub tint: Tint,
    /// Whether it is a part of the row above it.
    pub part: bool,
    /// One text for each phase.
    pub cells: Vec<String>,
}

/// The table by phase of a run; no columns where the figures have no phases.
pub fn phase_table(subject: &Subject<'_>) -> PhaseTable {
    let mut phases = subject.phases();
    // A recovery that was over at once, or an end of the run right after it, has nothing to be counted in.
    phases.retain(|phase| subject.phase_span(phase).is_none_or(|(from, to)| to > from));
    let columns = phases.iter().map(|phase| (readable(phase), span(subject, phase))).collect();
    let rows = subject.scenario.traffic.iter().flat_map(|class| rows(subject, &phases, class)).collect();
    PhaseTable { columns, rows }
}

fn rows(subject: &Subject<'_>, phases: &[&str], class: &TrafficClass) -> Vec<Row> {
    let cells = |keys: &[&str]| -> Vec<String> {
        phases.iter().map(|phase| Unit::Count.brief(subject.of(Scope::Phase(phase), &class.name, keys))).collect()
    };
    let main =
        |label: String, keys: &[&str]| Row { label, word: None, tint: Tint::Plain, part: false, cells: cells(keys) };
    let mut rows = Vec::new();
    if !class.is_live() {
        rows.push(main(format!("{} arrived", tasks(class)), &["offered"]));
        rows.push(failed(cells(&["failed"])));
        let abandoned = cells(&["abandoned"]);
        rows.push(Row { label: "abandoned".to_owned(), word: None, ..failed(abandoned) });
    }
    rows.push(main(format!("{} requests", readable(&class.name)), &["requests"]));
    for status in failures(subject, &class.name) {
        rows.push(Row {
            label: answered(status),
            word: Some(status.to_owned()),
            tint: tint(status),
            part: true,
            cells: cells(&["responses", status]),
        });
    }
    let is_some = |cell: &String| cell != "0" && cell != "–";
    let refused = cells(&["short_circuited"]);
    if refused.iter().any(is_some) {
        rows.push(Row {
            label: if subject.scenario.guards.iter().any(Guard::is_by_chance) {
                "stopped by a guard".to_owned()
            } else {
                "stopped by a breaker".to_owned()
            },
            word: None,
            tint: Tint::Plain,
            part: true,
            cells: refused,
        });
    }
    if class.is_live() {
        rows.push(main(tasks(class), &["offered"]));
        rows.push(Row {
            label: "met a 429".to_owned(),
            word: Some("429".to_owned()),
            tint: Tint::Throttled,
            part: true,
            cells: phases.iter().map(|phase| met_429(subject, Scope::Phase(phase), class)).collect(),
        });
        rows.push(failed(cells(&["failed"])));
    }
    // A row of zeros of a failure that never happened says nothing.
    let never = |row: &Row| row.tint == Tint::Failed && row.cells.iter().all(|cell| cell == "0" || cell == "–");
    rows.retain(|row| !never(row));
    rows
}

fn failed(cells: Vec<String>) -> Row {
    Row { label: "failed".to_owned(), word: Some("failed".to_owned()), tint: Tint::Failed, part: true, cells }
}

/// "88 (23 %)".
fn met_429(subject: &Subject<'_>, scope: Scope<'_>, class: &TrafficClass) -> String {
    let met = subject.of(scope, &class.name, &["tasks_with_429"]);
    let share = subject.value(scope, &class.name, &["tasks_with_429_share"]);
    match (met.and_then(Figure::center), share) {
        (Some(n), Some(share)) if n > 0.0 => format!("{} ({})", Unit::Count.brief(met), Unit::Share.full(share)),
        _ => Unit::Count.brief(met),
    }
}

fn answered(status: &str) -> String {
    match status {
        "timeout" => "no answer: timeout".to_owned(),
        "dropped" => "connection dropped".to_owned(),
        _ => format!("answered {status}"),
    }
}

/// The colour of a status.
pub fn tint(status: &str) -> Tint {
    match status {
        "429" => Tint::Throttled,
        "529" | "503" => Tint::Overloaded,
        _ => Tint::Plain,
    }
}

/// When a phase is, in minutes since the origin.
fn span(subject: &Subject<'_>, phase: &str) -> String {
    let origin = subject.scenario.origin.as_secs_f64();
    let minutes = |seconds: f64| {
        let value = ((seconds - origin) / 6.0).round() / 10.0;
        let text = if value.fract() == 0.0 { format!("{:.0}", value.abs()) } else { format!("{:.1}", value.abs()) };
        if value < 0.0 { format!("−{text}") } else { text }
    };
    match subject.phase_span(phase) {
        Some((from, to)) => format!("{} – {} min", minutes(from), minutes(to)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn calls_that_a_breaker_stopped_have_a_row() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let label = "stopped by a breaker";
        assert!(phase_table(&Subject::new(&scenario, &result)).rows.iter().all(|row| row.label != label));
        fixture::set(&mut result.figures, &["phases", "overload", "classes", "report", "short_circuited"], 340.0);
        let table = phase_table(&Subject::new(&scenario, &result));
        let row = table.rows.iter().find(|row| row.label == label).unwrap();
        assert_eq!(row.cells[1], "340");
    }

    #[test]
    fn a_phase_without_length_has_no_column() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        fixture::set(&mut result.figures, &["phases", "recovery", "to_s"], 1_920.0);
        let table = phase_table(&Subject::new(&scenario, &result));
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["before", "overload", "after"]);
        assert!(table.rows.iter().all(|row| row.cells.len() == 3));
    }

    #[test]
    fn live_turns_that_met_a_429_stand_with_their_share() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let table = phase_table(&Subject::new(&scenario, &result));
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["before", "overload", "recovery", "after"]);
        assert_eq!(table.columns[1].1, "0 – 22 min");
        let met = table.rows.iter().find(|row| row.label == "met a 429").unwrap();
        assert_eq!(met.cells, ["0", "0", "88 (23 %)", "0"]);
    }
}
