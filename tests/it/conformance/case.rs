//! The measured cases as they stand in a file: what was set, what the server answered, and what came of it.

use serde_json::{Map, Value};
use std::path::Path;

/// One measured case.
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) id: String,
    pub(crate) policy: Map<String, Value>,
    pub(crate) script: Vec<Value>,
    pub(crate) fields: Map<String, Value>,
    /// Whether waits were really waited, and measured by a clock.
    pub(crate) real_time: bool,
}

impl Case {
    /// A setting as a number.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.policy.get(key)?.as_f64()
    }

    /// A setting as a whole number.
    pub(crate) fn whole(&self, key: &str) -> Option<i64> {
        self.policy.get(key)?.as_i64()
    }

    /// A setting as a word.
    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.policy.get(key)?.as_str()
    }

    /// Whether all waits were whole seconds.
    pub(crate) fn in_whole_seconds(&self) -> bool {
        let samples = self.fields.get("samples").and_then(Value::as_array);
        let waits = samples.into_iter().flatten().filter_map(Value::as_array).flatten().filter_map(Value::as_f64);
        waits.into_iter().all(|wait| wait.fract() == 0.0)
    }

    /// Whether a setting is there and true.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.policy.get(key) == Some(&Value::Bool(true))
    }
}

/// Seconds as a duration of a scenario.
pub(crate) fn seconds(value: f64) -> String {
    format!("{}us", (value * 1e6).round() as u64)
}

/// The cases of a file.
pub(crate) fn read(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document: Value = serde_json::from_str(&text).expect("a conformance file is JSON");
    let real_time = document["backend"].as_str().is_some_and(|backend| backend.contains("real time"));
    let cases = document["cases"].as_array().expect("a conformance file has cases");
    cases
        .iter()
        .map(|case| Case {
            file: file.to_owned(),
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            policy: case["policy"].as_object().cloned().unwrap_or_default(),
            script: case["script"].as_array().cloned().unwrap_or_default(),
            fields: case.as_object().cloned().unwrap_or_default(),
            real_time,
        })
        .collect()
}
