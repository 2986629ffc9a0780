//! The sweep as a document for programs. It holds no path of a file and no time of day, so that equal sweeps give equal
//! bytes.

use serde_json::{Map, Value, json};

use super::{Swept, cautions, csv, findings};
use crate::experiment::measure::Kind;
use crate::experiment::{Axis, Verdict};
use crate::report::comparison::json::{METHOD, describe, difference};
use crate::report::counting;
use crate::report::json::{digest, real, statistic_value};

/// The version of the document.
pub const FORMAT: &str = "retrycast.sweep/1";

/// The document.
pub fn document(swept: &Swept<'_>) -> Value {
    let sweep = swept.sweep;
    json!({
        "format": FORMAT,
        "scenario": swept.scenario.name,
        "title": swept.scenario.title,
        "variant": swept.scenario.variant,
        "seed": sweep.seed.0,
        "replicates": sweep.replicates,
        "is_sure": sweep.is_sure,
        "method": METHOD,
        "counting": counting::SENTENCES,
        "axes": sweep.axes.iter().zip(swept.current).map(|(axis, current)| axis_value(axis, current.as_ref())).collect::<Value>(),
        "reference": sweep.reference,
        "points": (0..sweep.points.len()).map(|point| point_value(swept, point)).collect::<Value>(),
        "findings": findings(swept),
        "warnings": cautions(swept).into_iter().map(|caution| json!({
            "kind": caution.kind, "seen": caution.seen, "meaning": caution.meaning, "remedy": caution.remedy,
        })).collect::<Value>(),
        "measures": swept.held.iter().map(|row| measure(swept, *row)).collect::<Value>(),
    })
}

/// The document as text: indented, with a line feed at its end.
pub fn text(swept: &Swept<'_>) -> String {
    format!("{:#}\n", document(swept))
}

fn value_of(value: &crate::experiment::axis::Value) -> Value {
    json!({ "text": value.text, "number": value.number.map(real) })
}

fn axis_value(axis: &Axis, current: Option<&crate::experiment::axis::Value>) -> Value {
    json!({
        "paths": axis.paths,
        "name": axis.name(),
        "unit": csv::column(axis.quantity),
        "is_log": axis.span.is_some_and(|span| span.log),
        "values": axis.values.iter().map(value_of).collect::<Value>(),
        "current": current.map(value_of),
    })
}

fn point_value(swept: &Swept<'_>, index: usize) -> Value {
    let point = &swept.sweep.points[index];
    let at = swept.sweep.axes.iter().zip(&point.at);
    json!({
        "values": at.map(|(axis, at)| axis.values[*at].text.as_str()).collect::<Vec<_>>(),
        "digest": digest(point.digest),
        "world_digest": digest(point.world_digest),
        "is_same_world": swept.sweep.is_same_world(index),
    })
}

fn measure(swept: &Swept<'_>, row: usize) -> Value {
    let sweep = swept.sweep;
    let measure = &sweep.measures[row];
    let mut value: Map<String, Value> = describe(measure);
    let cell = |index: usize| {
        let own = &sweep.points[index].cells[row];
        let mut value = statistic_value(own.statistic.as_ref(), measure.kind == Kind::Count);
        value["never"] = own.never.into();
        value["undefined"] = (sweep.replicates - own.defined).into();
        value
    };
    let against = |index: usize| {
        if index == sweep.reference {
            return Value::Null;
        }
        let paired = sweep.paired(row, sweep.reference, index);
        difference(Some(&paired), Verdict::of(measure, paired.shift()))
    };
    value.insert("is_shown".to_owned(), swept.shown.contains(&row).into());
    value.insert("cells".to_owned(), (0..sweep.points.len()).map(cell).collect());
    value.insert("differences".to_owned(), (0..sweep.points.len()).map(against).collect());
    Value::Object(value)
}
