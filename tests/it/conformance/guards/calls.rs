//! Calls one after another on one client, which share its budget: attempts, outcome, waits and what is left of the
//! budget, call by call.

use super::case::{Case, instant, seconds};
use crate::conformance::grpc;
use crate::conformance::script::parsed;
use retrycast::policy::Client;
use retrycast::probe::{Called, Script, sequence_at};
use retrycast::random::Seed;
use retrycast::scenario;
use retrycast::units::{SimDuration, SimTime};
use serde_json::Value;

/// How exactly times were measured.
pub(crate) struct Checked {
    /// How much earlier and later than measured an attempt may be.
    early_s: f64,
    late_s: f64,
    /// Whether only whole tokens could be read.
    in_whole_tokens: bool,
}

impl Checked {
    /// By a clock, while the calls were really made: an attempt may have come late.
    pub(crate) const REAL_TIME: Checked = Checked { early_s: 0.011, late_s: 0.13, in_whole_tokens: false };
    /// On a clock that nobody waits for.
    pub(crate) const EXACTLY: Checked = Checked { early_s: 1e-6, late_s: 1e-6, in_whole_tokens: false };
    /// By a clock to a hundredth of a second, while hedges were really sent. What these take of a throttle's tokens is not
    /// modelled.
    pub(crate) const HEDGES: Checked = Checked { early_s: 0.006, late_s: 0.035, in_whole_tokens: false };
    /// The same as exactly, with tokens rounded down.
    pub(crate) const WHOLE_TOKENS: Checked = Checked { in_whole_tokens: true, ..Checked::EXACTLY };
}

/// The client of a preset.
pub(crate) fn preset(name: &str, sets: &[String]) -> Result<Client, String> {
    scenario::preset_client(name, sets).map_err(|refusal| format!("{refusal:?}"))
}

/// What differs between the measured calls and those of this client.
pub(crate) fn differences(case: &Case, client: &Client, checked: &Checked) -> Vec<String> {
    let scripts: Result<Vec<(SimTime, Script)>, String> =
        case.events.iter().map(|call| Ok((instant(call), parsed(&script(call))?))).collect();
    let scripts = match scripts {
        Ok(scripts) => scripts,
        Err(what) => return vec![what],
    };
    let found = sequence_at(client, scripts.iter().map(|(at, script)| (*at, script)), Seed(1));
    let mut differences = Vec::new();
    if found.len() != case.observed.len() {
        differences.push(format!("{} calls, measured {}", found.len(), case.observed.len()));
    }
    for (n, (call, measured)) in found.iter().zip(&case.observed).enumerate() {
        let differs = one(call, measured, checked).into_iter();
        differences.extend(differs.map(|what| format!("call {}: {what}", n + 1)));
    }
    differences
}

fn one(call: &Called, measured: &Value, checked: &Checked) -> Vec<String> {
    let mut differences = Vec::new();
    let mut same = |what: &str, found: &dyn std::fmt::Display, is: bool| {
        if !is {
            differences.push(format!("{what} {found}, measured {}", measured[what]));
        }
    };
    same("attempts", &call.attempts, measured["attempts"].as_u64() == Some(call.attempts));
    let delivered = matches!(measured["outcome"].as_str(), Some("OK" | "ok"));
    same("outcome", &call.outcome, (call.outcome == "ok") == delivered);
    if let Some(waits) = measured.get("waits_n") {
        same("waits_n", &call.waits, waits.as_u64() == Some(call.waits));
    }
    let tokens = measured.get("tokens").and_then(Value::as_f64);
    if let Some(left) = tokens.filter(|_| measured.get("attempt_times").is_none()) {
        let tokens = call.tokens.unwrap_or(f64::NAN);
        let tokens = if checked.in_whole_tokens { tokens.floor() } else { tokens };
        same("tokens", &tokens, (tokens - left).abs() < 1e-9);
    }
    let early_late = |found: SimDuration, seen: &Value| {
        let late = seen.as_f64().unwrap_or(f64::NAN) - found.as_secs_f64();
        -checked.early_s < late && late < checked.late_s
    };
    if let Some(waits) = measured["waits"].as_array() {
        let found: Vec<SimDuration> = call.sent.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        let is = found.len() == waits.len() && found.iter().zip(waits).all(|(wait, seen)| early_late(*wait, seen));
        same("waits", &format!("{found:?}"), is);
    }
    if let Some(times) = measured["attempt_times"].as_array() {
        let is = call.sent.len() == times.len() && call.sent.iter().zip(times).all(|(at, seen)| early_late(*at, seen));
        same("attempt_times", &format!("{:?}", call.sent), is);
        same("took", &call.took, early_late(call.took, &measured["took"]));
    }
    differences
}

/// The answers to a call, in the words of `probe`.
fn script(call: &Value) -> String {
    let answers = call["answers"].as_array().into_iter().flatten().map(|answer| {
        let slow = answer["delay"].as_f64().map(|delay| format!(" slow={}us", seconds(delay).as_nanos() / 1_000));
        let answer = match answer {
            Value::Number(status) => status.to_string(),
            answer if answer["ok"] == Value::Bool(true) => "200".to_owned(),
            answer => grpc::answer(answer).unwrap_or_default(),
        };
        answer + &slow.unwrap_or_default()
    });
    answers.collect::<Vec<_>>().join(", ")
}
