//! The comparison as a table: one row for each measure and arm. A cell that is not defined is empty.

use std::io;

use super::Compared;
use super::json::describe;
use crate::report::csv::cell;
use serde_json::Value;

/// The columns behind those that say what a row is.
const COLUMNS: [&str; 16] = [
    "arm",
    "mean",
    "sd",
    "p5",
    "p50",
    "p95",
    "n",
    "never_n",
    "difference_mean",
    "difference_ci95_low",
    "difference_ci95_high",
    "difference_n",
    "lower_n",
    "equal_n",
    "higher_n",
    "verdict",
];

/// The columns that say what a row is.
const KEYS: [&str; 6] = ["path", "phase", "of", "name", "key", "kind"];

/// `comparison.csv`. Times are in seconds.
pub fn table(compared: &Compared<'_>) -> io::Result<Vec<u8>> {
    let comparison = compared.comparison;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(KEYS.iter().chain(&COLUMNS))?;
    for (row, measure) in comparison.trial.measures.iter().enumerate() {
        let described = describe(measure);
        let text = |key: &str| described.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        for (arm, facts) in compared.arms.iter().enumerate() {
            let effect = &comparison.effects[arm][row];
            let own = effect.cell.statistic.as_ref();
            let paired = effect.paired.as_ref();
            let difference = paired.and_then(|paired| paired.difference.as_ref());
            let interval = difference.and_then(|difference| difference.ci95);
            let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
            let mut record: Vec<String> = KEYS.iter().map(|key| text(key)).collect();
            record.extend([
                facts.name.clone(),
                cell(own.map(|s| s.mean)),
                cell(own.and_then(|s| s.sd)),
                cell(own.map(|s| s.p5)),
                cell(own.map(|s| s.p50)),
                cell(own.map(|s| s.p95)),
                number(Some(own.map_or(0, |s| s.n))),
                number(Some(effect.cell.never)),
                cell(difference.map(|s| s.mean)),
                cell(interval.map(|(low, _)| low)),
                cell(interval.map(|(_, high)| high)),
                number(paired.map(|_| difference.map_or(0, |s| s.n))),
                number(paired.map(|paired| paired.lower)),
                number(paired.map(|paired| paired.equal)),
                number(paired.map(|paired| paired.higher)),
                if arm == 0 { String::new() } else { comparison.verdict(arm, row).word().to_owned() },
            ]);
            writer.write_record(record)?;
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}
