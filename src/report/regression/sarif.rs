//! The check as findings in the form that code hosts read (SARIF 2.1.0, OASIS 2020): a rule for each kind of number, a
//! result for each number that moved too far, at the line of the setting that changed.

use serde_json::{Value, json};

use super::junit::line;
use super::{Facts, Regressed, words};
use crate::experiment::measure::{Kind, Of};
use crate::experiment::regress::{Case, Row};
use crate::random::Key;
use crate::report::comparison::label;
use crate::report::json::digest;

/// The most results of a document: code hosts take no more of one run.
const MOST: usize = 5_000;

/// The check as text: indented, with a line feed at its end.
pub fn text(regressed: &Regressed<'_>) -> String {
    format!("{:#}\n", document(regressed))
}

fn document(regressed: &Regressed<'_>) -> Value {
    let mut rules: Vec<(String, Value)> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut index = |id: &str, rule: &dyn Fn() -> Value| {
        rules.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            rules.push((id.to_owned(), rule()));
            rules.len() - 1
        })
    };
    for (case, facts) in regressed.cases() {
        for trouble in words::troubles(case) {
            let rule = index("baseline", &|| {
                json!({
                    "id": "baseline",
                    "name": "BaselineDoesNotFit",
                    "shortDescription": { "text": "What was recorded and what is there do not fit" },
                    "help": { "text": "Record the baseline again where the change is meant: retrycast regress record." },
                    "defaultConfiguration": { "level": "error" },
                })
            });
            let text = format!("{}: {trouble}", words::named(case));
            results.push(result("baseline", rule, &text, case, facts, "baseline"));
        }
        for row in case.failures() {
            let id = rule_id(row);
            let rule = index(&id, &|| rule(&id, row));
            let cause =
                words::causes(case, facts).first().map_or_else(String::new, |cause| format!(" Change: {cause}."));
            let text = format!("Variant `{}`: {}.{cause}", case.variant, line(row));
            results.push(result(&id, rule, &text, case, facts, &row.measure.path()));
        }
    }
    results.truncate(MOST);
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "retrycast",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(|(_, rule)| rule).collect::<Value>(),
            }},
            "columnKind": "unicodeCodePoints",
            "properties": { "finding": words::finding(regressed), "method": words::method(regressed) },
            "results": results,
        }],
    })
}

/// A rule for each kind of number: `amplification`, `recovery.total_s`, `factor`, `limit.refused`.
fn rule_id(row: &Row) -> String {
    match &row.measure.of {
        Of::Class { .. } | Of::Run => row.measure.key.clone(),
        Of::Layer { .. } => "factor".to_owned(),
        Of::Limit(_) => format!("limit.{}", row.measure.key),
    }
}

fn rule(id: &str, row: &Row) -> Value {
    let name = match &row.measure.of {
        Of::Layer { .. } => "factor of a layer".to_owned(),
        Of::Limit(_) => id.replace(['.', '_'], " "),
        Of::Class { .. } | Of::Run => {
            label(&crate::experiment::Measure { part: crate::experiment::measure::Part::Whole, ..row.measure.clone() })
        }
    };
    let unit = match row.measure.kind {
        Kind::Count => "a number of things",
        Kind::Ratio => "one thing for each other thing",
        Kind::Share => "a share",
        Kind::Seconds => "a time",
        Kind::Money => "an amount of money",
    };
    let camel: String = id
        .split(['.', '_'])
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        })
        .collect();
    json!({
        "id": id,
        "name": camel,
        "shortDescription": { "text": format!("{name} moved by more than is tolerated") },
        "fullDescription": { "text": format!(
            "`{id}` is {unit}. It moved by more than its tolerance, and by more than chance explains after a correction \
             for all numbers of the check."
        ) },
        "help": { "text": "Undo the change, tolerate more of it in the tolerances, or record the baseline again where it \
            is meant." },
        "defaultConfiguration": { "level": "error" },
    })
}

fn result(id: &str, rule: usize, text: &str, case: &Case, facts: &Facts, what: &str) -> Value {
    // The same finding of two commits is one.
    let print = Key::default().named(&case.file).named(&case.variant).named(what).bits();
    json!({
        "ruleId": id,
        "ruleIndex": rule,
        "level": "error",
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&case.file) },
            "region": { "startLine": facts.line.unwrap_or(1) },
        }}],
        "partialFingerprints": { "retrycast/v1": digest(print) },
    })
}

/// A relative path as a reference: what is not plain is written in hexadecimal (RFC 3986, section 2.1).
fn uri(path: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        assert_eq!(uri("scenarios/report_storm.toml"), "scenarios/report_storm.toml");
        assert_eq!(uri("a b/ü#%.toml"), "a%20b/%C3%BC%23%25.toml");
    }
}
