//! gRPC for Node and for Python: retries that are throttled, pushback, and hedges.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::calls::{self, Checked};
use super::{Case, Library};
use crate::conformance::client_of;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 2] = [
    Library { file: "grpc-js-1.14.7", most_left_out: 3, held: node },
    Library { file: "grpcio-1.85.3", most_left_out: 10, held: python },
];

fn python(case: &Case) -> Result<Vec<String>, &'static str> {
    let sets = [policy(case), throttling(case, None)].concat();
    let client = calls::preset("grpcio-1.85", &sets);
    Ok(client.map_or_else(|refusal| vec![refusal], |client| calls::differences(case, &client, &Checked::REAL_TIME)))
}

/// The service config's retry policy in the words of the presets.
fn policy(case: &Case) -> Vec<String> {
    let policy = case.settings["methodConfig"][0]["retryPolicy"].as_object();
    policy.into_iter().flatten().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Its throttle, with the share of the tokens that others have left.
fn throttling(case: &Case, left: Option<f64>) -> Vec<String> {
    let Some(throttling) = case.settings.get("retryThrottling") else { return Vec::new() };
    let left = left.map_or_else(String::new, |left| format!(", left = {left}"));
    let (tokens, ratio) = (&throttling["maxTokens"], &throttling["tokenRatio"]);
    vec![format!("retryThrottling={{ maxTokens = {tokens}, tokenRatio = {ratio}{left} }}")]
}

fn node(case: &Case) -> Result<Vec<String>, &'static str> {
    let hedging = &case.settings["methodConfig"][0]["hedgingPolicy"];
    if hedging.is_object() {
        let differences = |client| calls::differences(case, &client, &Checked::HEDGES);
        return Ok(client_of(&hedged(hedging)).map_or_else(|refusal| vec![refusal], differences));
    }
    // What the channels before it, of the same process and to the same target, have left of their tokens.
    let left = match case.id.as_str() {
        "throttle_shared_by_channels_second_same_target" => Some(5.0 / 10.0),
        "throttle_shared_by_channels_third_bigger_bucket" => Some(3.0 / 10.0),
        _ => None,
    };
    let policy = policy(case);
    // A throttle is of a retry policy.
    let throttling = if policy.is_empty() { Vec::new() } else { throttling(case, left) };
    let client = calls::preset("grpc-js-1.14", &[policy, throttling].concat());
    Ok(client.map_or_else(|refusal| vec![refusal], |client| calls::differences(case, &client, &Checked::EXACTLY)))
}

/// A scenario whose client hedges so. Its retry layer only brings the header of the pushback.
fn hedged(hedging: &Value) -> String {
    let text = |key: &str| hedging[key].as_str().unwrap_or_default();
    // More are cut to five.
    let most = hedging["maxAttempts"].as_u64().unwrap_or_default().min(5);
    let delay = text("hedgingDelay");
    assert_eq!(hedging["nonFatalStatusCodes"], serde_json::json!(["UNAVAILABLE"]), "503 in a scenario");
    format!(
        "horizon = \"1h\"\n[clients.c]\nlayers = [{{ hedge = {{ max = {most}, delay = \"{delay}\", on = [503], \
         after_failure = \"next\", hint = \"obey\" }} }}, {{ preset = \"grpc-js-1.14\" }}]\n\
         [traffic.t]\nkind = \"jobs\"\nworkers = 1\nclient = \"c\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
    )
}
