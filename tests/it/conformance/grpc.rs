//! gRPC for Node. Its statuses are words, which stand here as the HTTP statuses that they map to, with the word as the
//! error code.

use super::{Case, Library, Setup};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 1] = [Library { file: "grpc-js-1.14.7", tier: 1, preset: "grpc-js-1.14", setup }];

fn setup(case: &Case) -> Setup {
    let policy = case.policy.get("retryPolicy").and_then(Value::as_object);
    let options = case.policy.get("channel_options").and_then(Value::as_object);
    let setting = |(key, value): (&String, &Value)| match key.as_str() {
        "grpc.enable_retries" => format!("enable_retries={}", value != 0),
        key => format!("{}={value}", key.trim_start_matches("grpc-node.")),
    };
    let policy = policy.into_iter().flatten().map(setting);
    Setup::Preset(policy.chain(options.into_iter().flatten().map(setting)).collect())
}

/// An answer of a gRPC server, in the words of `probe`; `None` where it is none.
pub(crate) fn answer(entry: &Value) -> Option<String> {
    let word = entry["status"].as_str()?;
    if entry["headers_first"] == Value::Bool(true) {
        // Once headers are there the call belongs to its answer, whatever becomes of it.
        return Some("stream_failed".to_owned());
    }
    let status = match word {
        "UNAVAILABLE" => 503,
        "RESOURCE_EXHAUSTED" => 429,
        "INTERNAL" => 500,
        "INVALID_ARGUMENT" => 400,
        other => panic!("no HTTP status is known for {other}"),
    };
    let pushback = match &entry["pushback"] {
        Value::Null => String::new(),
        Value::String(text) => format!(" grpc-retry-pushback-ms='{text}'"),
        number => format!(" grpc-retry-pushback-ms='{number}'"),
    };
    Some(format!("{status} error_code={word}{pushback}"))
}
