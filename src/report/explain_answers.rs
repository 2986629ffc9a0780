//! The part of an explanation that says which error is repeated by whom.

use super::explain::cost;
use super::explain_page::{line, wrap};
use crate::explain::ClassExplanation;

/// Which error is repeated by whom: answers with the same fate share a row.
pub(super) fn answers(class: &ClassExplanation) -> String {
    type Fate = (Vec<String>, Option<u64>, Option<u64>);
    let mut rows: Vec<(Fate, Vec<String>)> = Vec::new();
    for case in &class.by_answer {
        let names = case.layers.iter().map(|(name, _)| name.clone()).collect();
        let fate = (names, case.per_call_site, case.runs);
        let word = case.word.replace('_', " ");
        match rows.iter_mut().find(|(known, _)| *known == fate) {
            Some((_, words)) => words.push(word),
            None => rows.push((fate, vec![word])),
        }
    }
    rows.sort_by_key(|((_, requests, _), _)| std::cmp::Reverse(requests.unwrap_or(u64::MAX)));
    let mut text = String::new();
    line(&mut text, &format!("  {:<34}{:<30}{:>12}", "which answer", "is repeated by", "requests"));
    for ((names, requests, runs), words) in rows {
        let by = if names.is_empty() { "nobody".to_owned() } else { names.join(" × ") };
        let number = match (requests, runs) {
            (Some(0), Some(runs)) if runs > 1 => format!("0 in {runs} runs"),
            (number, _) => cost(number),
        };
        let (left, middle) = (wrap(&words.join(", "), 32), wrap(&by, 28));
        for row in 0..left.len().max(middle.len()) {
            let cell = |cells: &[String]| cells.get(row).cloned().unwrap_or_default();
            let number = if row == 0 { number.as_str() } else { "" };
            line(&mut text, &format!("  {:<34}{:<30}{number:>12}", cell(&left), cell(&middle)));
        }
    }
    text
}
