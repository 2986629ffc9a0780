//! Many calls on one client, which share its budgets.

use super::case::Case;
use super::script::{answer, parsed, script};
use retrycast::policy::Client;
use retrycast::probe::{Called, Script, sequence};
use retrycast::random::Seed;
use serde_json::Value;

/// Holds the attempts of all calls against the measured ones: each call meets the script from its beginning, or they
/// come in phases with an answer of their own.
pub(crate) fn check(case: &Case, client: &Client) -> Result<(), String> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let phases: Vec<&Value> = case.script.iter().filter(|entry| entry.get("phase").is_some()).collect();
    let scripts: Vec<(Script, usize)> = if phases.is_empty() {
        vec![(parsed(&script(case))?, number(&case.fields["calls"]))]
    } else {
        let phase = |phase: &&Value| Ok((parsed(&answer(phase, &Value::Null, false, None))?, number(&phase["calls"])));
        phases.iter().map(phase).collect::<Result<_, String>>()?
    };
    let all = scripts.iter().flat_map(|(script, times)| std::iter::repeat_n(script, *times));
    let found = sequence(client, all, Seed(1));
    let attempts: u64 = found.iter().map(|call| call.attempts).sum();
    if case.fields["attempts"].as_u64() != Some(attempts) {
        return Err(format!("attempts {attempts} in all, measured {}", case.fields["attempts"]));
    }
    let retries = |calls: &[Called]| calls.iter().map(|call| call.attempts - 1).sum::<u64>();
    for (key, phase) in [("drain_retries", 0), ("probe_retries", 2)] {
        let Some(measured) = case.fields.get(key).and_then(Value::as_u64) else { continue };
        let from: usize = scripts[..phase].iter().map(|(_, times)| times).sum();
        let retries = retries(&found[from..from + scripts[phase].1]);
        if retries != measured {
            return Err(format!("{key} {retries}, measured {measured}"));
        }
    }
    per_call(case, &found)
}

/// The attempts of each call. Where the client timed out, a request could reach the server late and be counted with the
/// next call, so that the sums may differ by one in between.
fn per_call(case: &Case, found: &[Called]) -> Result<(), String> {
    let Some(measured) = case.fields.get("per_call_attempts").and_then(Value::as_array) else { return Ok(()) };
    let late = u64::from(case.script.iter().any(|entry| entry.get("delay").is_some()));
    let (mut seen, mut modelled) = (0, 0);
    for (n, (call, measured)) in found.iter().zip(measured).enumerate() {
        (modelled, seen) = (modelled + call.attempts, seen + measured.as_u64().unwrap_or(0));
        if modelled.abs_diff(seen) > late {
            return Err(format!("{modelled} attempts until call {}, measured {seen}", n + 1));
        }
    }
    Ok(())
}
