//! The sweep as a table: one row for each point and measure, so that a notebook needs nothing else. A column with a
//! path holds what is written in the file; where the values lie on a scale, the next one holds the number, with its
//! unit in its name. A cell that is not defined is empty.

use std::io;

use serde_json::Value;

use super::Swept;
use crate::experiment::Quantity;
use crate::report::comparison::json::describe;
use crate::report::csv::cell;

/// `sweep.csv`. Times are in seconds; `never_n` counts the seeds in which a time never comes, `undefined_n` those in
/// which there is no such number. The row of the file as it stands has empty axes where it is no point of the grid.
pub fn table(swept: &Swept<'_>) -> io::Result<Vec<u8>> {
    const KEYS: [&str; 6] = ["metric", "phase", "of", "name", "key", "kind"];
    const COLUMNS: [&str; 12] =
        ["mean", "sd", "p5", "p50", "p95", "min", "max", "ci95_low", "ci95_high", "n", "never_n", "undefined_n"];
    let sweep = swept.sweep;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let mut head: Vec<String> = Vec::new();
    for axis in &sweep.axes {
        head.push(axis.paths.join(","));
        head.extend(column(axis.quantity).map(|unit| format!("{}_{unit}", axis.name())));
    }
    head.push("is_file_as_it_stands".to_owned());
    head.extend(KEYS.iter().chain(&COLUMNS).map(|name| (*name).to_owned()));
    writer.write_record(head)?;
    for (index, point) in sweep.points.iter().enumerate() {
        for row in swept.held {
            let mut record = Vec::new();
            for (axis, value) in sweep.axes.iter().enumerate().map(|(at, axis)| (axis, point.at.get(at))) {
                let value = value.map(|at| &axis.values[*at]);
                record.push(value.map_or_else(String::new, |value| value.text.clone()));
                if column(axis.quantity).is_some() {
                    record.push(cell(value.and_then(|value| value.number)));
                }
            }
            record.push(u8::from(index == sweep.reference).to_string());
            let described = describe(&sweep.measures[*row]);
            let text = |key: &str| described.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            record.extend(KEYS.iter().map(|key| text(if *key == "metric" { "path" } else { key })));
            let own = &point.cells[*row];
            let statistic = own.statistic.as_ref();
            record.extend([
                cell(statistic.map(|s| s.mean)),
                cell(statistic.and_then(|s| s.sd)),
                cell(statistic.map(|s| s.p5)),
                cell(statistic.map(|s| s.p50)),
                cell(statistic.map(|s| s.p95)),
                cell(statistic.map(|s| s.min)),
                cell(statistic.map(|s| s.max)),
                cell(statistic.and_then(|s| s.ci95).map(|(low, _)| low)),
                cell(statistic.and_then(|s| s.ci95).map(|(_, high)| high)),
                statistic.map_or(0, |s| s.n).to_string(),
                own.never.to_string(),
                (sweep.replicates - own.defined).to_string(),
            ]);
            writer.write_record(record)?;
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

/// The unit of a scale, as a column's name ends with it; nothing where there is no scale.
pub(super) const fn column(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::Choice => None,
        Quantity::Number | Quantity::Amount => Some("number"),
        Quantity::Share => Some("share"),
        Quantity::Seconds => Some("seconds"),
        Quantity::PerSecond => Some("per_second"),
    }
}
