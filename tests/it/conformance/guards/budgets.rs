//! Budgets of retries: the deposits of tower, the quota of the Rust SDKs of AWS.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::calls::{self, Checked};
use super::case::instant;
use super::{Case, Library};
use retrycast::policy::retry_budget::Passage;
use retrycast::policy::{Answer, RetryBudget};

pub(crate) const LIBRARIES: [Library; 2] = [
    Library { file: "tower-0.5.3", most_left_out: 3, held: tower },
    Library { file: "aws-smithy-runtime-1.16.2", most_left_out: 3, held: aws },
];

fn tower(case: &Case) -> Result<Vec<String>, &'static str> {
    let words = ["min_per_sec", "retry_percent"].map(|key| format!("{key}={}", case.settings[key]));
    let ttl = format!("ttl={}s", case.settings["ttl"]);
    let client = calls::preset("tower-0.5", &[words.to_vec(), vec![ttl]].concat());
    let budget = client.map(|client| client.elements()[0].role.policy().and_then(|policy| policy.budget.clone()));
    Ok(match budget {
        Ok(Some(budget)) => account(case, &budget),
        other => vec![format!("{other:?}")],
    })
}

/// Deposits and withdrawals, so many at a time, and the balance after them.
fn account(case: &Case, budget: &RetryBudget) -> Vec<String> {
    let mut state = budget.full();
    let mut differences = Vec::new();
    // A share above one is counted in thousandths of a request.
    let unit = if case.settings["retry_percent"].as_f64() > Some(1.0) { 1_000.0 } else { 1.0 };
    for (event, measured) in case.events.iter().zip(&case.observed) {
        let (now, n) = (instant(event), event["n"].as_u64().unwrap_or(1));
        let mut one = || match event["op"].as_str() {
            Some("deposit") => {
                budget.passes(&mut state, Passage::Enters, now);
                true
            }
            _ => budget.failed(&mut state, &Answer::refused(503), true, now).is_some(),
        };
        let granted = (0..n).filter(|_| one()).count();
        let balance = budget.left(&state).unwrap_or(f64::NAN) * unit;
        if measured["granted"] != granted as u64 || measured["balance"].as_f64() != Some(balance) {
            differences.push(format!("{event}: granted {granted}, balance {balance}, measured {measured}"));
        }
    }
    differences
}

fn aws(case: &Case) -> Result<Vec<String>, &'static str> {
    // Waits were recorded and took no time.
    let mut sets = vec!["backoff=none".to_owned(), "backoff_by_kind=[]".to_owned()];
    for (key, value) in &case.settings {
        match key.as_str() {
            "retry_spec" => sets.push(format!("retry_spec={value}")),
            // Of errors that the service itself calls a server's; none of these cases has one beside other failures.
            "default" | "retry_cost" => {}
            // By default the preset's.
            "capacity" if case.settings.contains_key("default") => {}
            _ => sets.push(format!("{key}={value}")),
        }
    }
    if case.id == "default_bucket_server_error_kind" {
        sets.push("retry_on=[590]".to_owned());
        sets.push("budget={ quota = { cost = 5, retried_refund = \"last_retry_of_client\" } }".to_owned());
    }
    let checked = if case.settings.contains_key("success_reward") { Checked::WHOLE_TOKENS } else { Checked::EXACTLY };
    Ok(calls::preset("aws-smithy-1.16", &sets)
        .map_or_else(|refusal| vec![refusal], |client| calls::differences(case, &client, &checked)))
}
