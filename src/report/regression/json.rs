//! The check as a document for programs: every number that differs anywhere, with what became of it. It holds no path of
//! the machine and no time of day.

use serde_json::{Value, json};

use super::{Facts, Regressed, words};
use crate::experiment::compare::{Cell, Effect};
use crate::experiment::measure::Kind;
use crate::experiment::regress::{Case, Outcome, Pairing, Row, State};
use crate::report::comparison::json::{cell, change, describe};
use crate::report::json::real;

/// The version of the document.
pub const FORMAT: &str = "retrycast.regress/1";

/// The document as text: indented, with a line feed at its end.
pub fn text(regressed: &Regressed<'_>) -> String {
    format!("{:#}\n", document(regressed))
}

/// The document.
pub fn document(regressed: &Regressed<'_>) -> Value {
    let check = regressed.check;
    json!({
        "format": FORMAT,
        "baseline": regressed.baseline,
        "is_failure": check.is_failure(),
        "is_unsure": check.is_unsure(),
        "finding": words::finding(regressed),
        "method": words::method(regressed),
        "pairing": pairing(check.pairing),
        "seed": check.seed,
        "replicates": check.replicates,
        "false_alarms": real(check.false_alarms),
        "family": check.family,
        "failures": regressed.failures(),
        "cases": regressed.cases().map(|(case, facts)| case_value(case, facts)).collect::<Value>(),
    })
}

const fn pairing(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::Paired => "paired",
        Pairing::Unpaired => "unpaired",
    }
}

/// The word of what became of a number.
pub const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Worse => "worse",
        Outcome::Moved => "moved",
        Outcome::Better => "better",
        Outcome::Tolerated => "tolerated",
        Outcome::Noise => "noise",
        Outcome::Same => "same",
        Outcome::Ignored => "ignored",
    }
}

fn case_value(case: &Case, facts: &Facts) -> Value {
    let state = match case.state {
        State::Same => "same",
        State::Compared => "compared",
        State::Missing => "missing",
        State::New => "new",
    };
    let mut rows: Vec<&Row> = case.rows.iter().filter(|row| row.outcome != Outcome::Same).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.is_failure));
    json!({
        "file": case.file,
        "variant": case.variant,
        "state": state,
        "is_failure": case.is_failure(),
        "is_same_world": case.is_same_world,
        "pairing": pairing(case.pairing),
        "changes": facts.changes.iter().map(change).collect::<Value>(),
        "elements": facts.elements,
        "causes": words::causes(case, facts),
        "again": facts.again,
        "gone": case.gone,
        "new": case.new,
        "same": case.rows.len() - rows.len(),
        "numbers": rows.into_iter().map(row_value).collect::<Value>(),
    })
}

fn row_value(row: &Row) -> Value {
    let mut value = describe(&row.measure);
    let side = |side: &Cell| cell(&Effect { cell: side.clone(), paired: None }, row.measure.kind);
    let half = row.difference.and_then(|(_, half)| half);
    let further = json!({
        "title": words::title(&row.measure),
        "from": side(&row.from),
        "to": side(&row.to),
        "difference": row.difference.map(|(mean, _)| real(mean)),
        "ci95": row.difference.zip(half).map(|((mean, _), half)| [real(mean - half), real(mean + half)]),
        "p_alone": real(row.test.p),
        "p": real(row.p),
        "tolerance": {
            "relative": real(row.tolerance.relative),
            "absolute": real(row.tolerance.absolute),
            "rule": row.tolerance.rule,
        },
        "excess": real(row.excess),
        "outcome": word(row.outcome),
        "is_failure": row.is_failure,
    });
    if let Value::Object(further) = further {
        value.extend(further);
    }
    Value::Object(value)
}

/// The word of a kind.
pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "count",
        Kind::Ratio => "ratio",
        Kind::Share => "share",
        Kind::Seconds => "seconds",
        Kind::Money => "money",
    }
}
