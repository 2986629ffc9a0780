//! The ablation as a table: one row for each measure and combination. A cell that is not defined is empty.

use std::io;

use serde_json::Value;

use super::Ablated;
use crate::report::comparison::json::describe;
use crate::report::csv::cell;

/// `ablation.csv`. Times are in seconds; a fix has a column that says whether it is on.
pub fn table(ablated: &Ablated<'_>) -> io::Result<Vec<u8>> {
    const KEYS: [&str; 6] = ["path", "phase", "of", "name", "key", "kind"];
    const COLUMNS: [&str; 8] = ["mean", "sd", "p5", "p50", "p95", "n", "never_n", "verdict"];
    let comparison = ablated.compared.comparison;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let fixes = ablated.ablation.fixes.iter().map(|fix| format!("on_{fix}"));
    let head = KEYS.iter().chain(&["combination"]).map(|key| (*key).to_owned());
    writer.write_record(head.chain(fixes).chain(COLUMNS.iter().map(|column| (*column).to_owned())))?;
    for (row, measure) in comparison.trial.measures.iter().enumerate() {
        let described = describe(measure);
        let text = |key: &str| described.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        for (arm, facts) in ablated.compared.arms.iter().enumerate() {
            let own = &comparison.effects[arm][row].cell;
            let statistic = own.statistic.as_ref();
            let mut record: Vec<String> = KEYS.iter().map(|key| text(key)).collect();
            record.push(facts.name.clone());
            let combination = ablated.ablation.combinations[arm];
            record.extend((0..ablated.ablation.fixes.len()).map(|fix| u8::from(combination.has(fix)).to_string()));
            record.extend([
                cell(statistic.map(|s| s.mean)),
                cell(statistic.and_then(|s| s.sd)),
                cell(statistic.map(|s| s.p5)),
                cell(statistic.map(|s| s.p50)),
                cell(statistic.map(|s| s.p95)),
                statistic.map_or(0, |s| s.n).to_string(),
                own.never.to_string(),
                if arm == 0 { String::new() } else { comparison.verdict(arm, row).word().to_owned() },
            ]);
            writer.write_record(record)?;
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}
