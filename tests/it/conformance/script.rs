//! The measured answers in the words of `probe`.

use super::case::{Case, seconds};
use super::grpc;
use retrycast::probe::Script;
use serde_json::Value;

/// The script of a case, in the words of `probe`.
pub(crate) fn script(case: &Case) -> String {
    script_of(case, &case.script)
}

/// Such a script of one step of a case.
pub(crate) fn script_of(case: &Case, entries: &[Value]) -> String {
    let streamed = case.is("stream");
    let took = case.number("attempt_duration").or(case.fields.get("attempt_duration").and_then(Value::as_f64));
    let took = took.filter(|took| *took > 0.0);
    // Where a function was measured, not a library that calls one.
    if entries.is_empty() {
        return "500".to_owned();
    }
    let mut answers = Vec::new();
    for entry in entries {
        let times = entry["times"].as_u64().unwrap_or(1);
        for _ in 0..times {
            let raised = case.fields.get("raises").unwrap_or(&entry["raise"]);
            answers.push(answer(entry, raised, streamed, took));
        }
    }
    answers.join(", ")
}

/// The status of an exception that a library raises for one.
fn status_of(exception: &str) -> &'static str {
    match exception {
        "BadRequest" => "400",
        "TooManyRequests" => "429",
        "ServiceUnavailable" => "503",
        "GatewayTimeout" => "504",
        _ => "500",
    }
}

/// One answer.
pub(crate) fn answer(entry: &Value, raised: &Value, streamed: bool, took: Option<f64>) -> String {
    if let Some(answer) = grpc::answer(entry) {
        return answer;
    }
    let body = entry["body"].as_str().unwrap_or_default();
    let status = entry["status"].as_u64();
    let mut words = Vec::new();
    if let Some(delay) = entry["delay"].as_f64().or(took) {
        words.push(format!("slow={}", seconds(delay)));
    }
    words.push(match (entry["drop"].as_str(), status) {
        _ if entry["refused"] == Value::Bool(true) => "unreachable".to_owned(),
        _ if entry["raise"] == Value::Bool(true) || entry["raise_in_step"].is_u64() || entry["jobs"].is_string() => {
            "500".to_owned()
        }
        _ if entry["raise"].is_string() => status_of(raised.as_str().unwrap_or_default()).to_owned(),
        _ if entry["ok"] == Value::Bool(true) => "200".to_owned(),
        (Some("before"), _) => "drop".to_owned(),
        (Some(_), Some(200)) if streamed => "stream_broken".to_owned(),
        (Some(_), _) => "cut".to_owned(),
        (None, Some(200)) if streamed && body.contains("error event") => "stream_broken".to_owned(),
        (None, status) => status.map_or_else(|| "drop".to_owned(), |status| status.to_string()),
    });
    if let Some(headers) = entry["headers"].as_object() {
        for (name, value) in headers.iter().filter(|(name, _)| *name != "content-type") {
            words.push(format!("{name}='{}'", value.as_str().unwrap_or_default()));
        }
    }
    let code = &entry["body"]["error"]["details"]["error_code"];
    if let Some(code) = code.as_str() {
        words.push(format!("error_code={code}"));
    }
    words.join(" ")
}

/// A script, at an instant at which no date in it is past.
pub(crate) fn parsed(text: &str) -> Result<Script, String> {
    Script::parse(text, 1_767_225_600.0).map_err(|faults| format!("{text}: {faults:?}"))
}
