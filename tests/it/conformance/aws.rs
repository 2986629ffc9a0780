//! The SDKs of AWS for Python and Rust, with their retry quotas.

use super::{Case, Library, Setup, seconds};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 3] = [
    Library { file: "botocore-1.40.0", tier: 1, preset: "botocore-1.40", setup: botocore },
    Library { file: "botocore-1.44.8", tier: 1, preset: "botocore-1.44", setup: botocore },
    Library { file: "aws-smithy-runtime-1.16.2", tier: 1, preset: "aws-smithy-1.16", setup: smithy },
];

fn botocore(case: &Case) -> Setup {
    if case.id.starts_with("adaptive_rate_limiter") {
        return Setup::OutOfScope("the client-side rate limiter of the adaptive mode is a guard, not a retry layer");
    }
    let mut sets = Vec::new();
    if let Some(mode) = case.policy.get("mode").and_then(Value::as_str).filter(|mode| *mode != "(default)") {
        sets.push(format!("mode={mode}"));
    }
    for key in ["max_attempts", "total_max_attempts"] {
        sets.extend(case.whole(key).map(|attempts| format!("{key}={attempts}")));
    }
    sets.extend(case.number("timeout").map(|timeout| format!("read_timeout={}", seconds(timeout))));
    Setup::Preset(sets)
}

fn smithy(case: &Case) -> Setup {
    let setting = |(key, value): (&String, &Value)| match value.as_f64() {
        _ if key == "default" => None,
        Some(number) if key.ends_with("_backoff") => Some(format!("{key}={}", seconds(number))),
        _ => Some(format!("{key}={value}")),
    };
    Setup::Preset(case.policy.iter().filter_map(setting).collect())
}
