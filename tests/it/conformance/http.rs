//! HTTP clients of Python and npm that repeat by status and method.

use super::{Case, Library, Setup, seconds};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 7] = [
    Library { file: "urllib3-2.8.0", tier: 1, preset: "urllib3-2.8", setup: urllib3 },
    Library { file: "requests-2.34.2", tier: 1, preset: "requests-2.34", setup: urllib3 },
    Library { file: "httpx-retries-0.6.0", tier: 2, preset: "httpx-retries-0.6", setup: httpx },
    Library { file: "undici-retryagent-7.30.2", tier: 2, preset: "undici-retryagent-7.30", setup: npm },
    Library { file: "got-14.6.6", tier: 2, preset: "got-14.6", setup: npm },
    Library { file: "ky-1.14.3", tier: 2, preset: "ky-1.14", setup: npm },
    Library { file: "axios-retry-4.5.0", tier: 2, preset: "axios-retry-4.5", setup: npm },
];

/// Its durations are given in seconds, its jitter among them.
fn urllib3(case: &Case) -> Setup {
    let mut sets = python(case, &["backoff_factor", "backoff_jitter", "backoff_max", "retry_after_max"]);
    if case.id.contains("_timeout") {
        // These were measured with a timeout of the pool, which their settings do not name.
        sets.push("timeout=100ms".to_owned());
    }
    Setup::Preset(sets)
}

/// As urllib3, but its jitter is a share.
fn httpx(case: &Case) -> Setup {
    Setup::Preset(python(case, &["backoff_factor", "total_timeout"]))
}

fn python(case: &Case, in_seconds: &[&str]) -> Vec<String> {
    let setting = |(key, value): (&String, &Value)| match value.as_f64() {
        _ if key == "default" => None,
        _ if value.is_null() => Some(format!("{key}=any")),
        Some(number) if in_seconds.contains(&key.as_str()) => Some(format!("{key}={}", seconds(number))),
        _ => Some(format!("{key}={value}")),
    };
    case.policy.iter().filter_map(setting).collect()
}

/// Settings of the libraries for npm that are durations, in milliseconds.
const IN_MILLISECONDS: [&str; 4] = ["minTimeout", "maxTimeout", "maxRetryAfter", "backoffLimit"];

fn npm(case: &Case) -> Setup {
    let inner = case.policy.get("retry").and_then(Value::as_object);
    let setting = |(key, value): (&String, &Value)| match (value.as_f64(), value.as_str()) {
        _ if key == "default" || key == "retry" => None,
        (Some(number), _) if IN_MILLISECONDS.contains(&key.as_str()) => Some(format!("{key}={number}ms")),
        (_, Some(word)) => Some(format!("{key}={}", word.trim_end_matches("()"))),
        _ => Some(format!("{key}={value}")),
    };
    Setup::Preset(case.policy.iter().chain(inner.into_iter().flatten()).filter_map(setting).collect())
}
