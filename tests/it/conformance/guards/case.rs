//! The measured cases of guards as they stand in a file: what was set, what happened in which order, and what the guard
//! made of each of these events.

use retrycast::units::{SimDuration, SimTime};
use serde_json::{Map, Value};
use std::path::Path;

/// One measured case.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) settings: Map<String, Value>,
    /// One entry for each single event, in order.
    pub(crate) events: Vec<Value>,
    /// What was seen, one entry for each single event unless the file says otherwise.
    pub(crate) observed: Vec<Value>,
}

/// The instant of an event or of an observation.
pub(crate) fn instant(entry: &Value) -> SimTime {
    SimTime::ZERO + seconds(entry["t"].as_f64().unwrap_or_default())
}

/// Measured seconds, which have at most a few decimals.
pub(crate) fn seconds(value: f64) -> SimDuration {
    SimDuration::from_nanos((value * 1e6).round() as u64 * 1_000)
}

/// The cases of a file.
pub(crate) fn read(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/guards").join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document: Value = serde_json::from_str(&text).expect("a conformance file is JSON");
    let cases = document["cases"].as_array().expect("a conformance file has cases");
    let single = |case: &Value, key: &str| case[key].as_array().into_iter().flatten().flat_map(each).collect();
    cases
        .iter()
        .map(|case| Case {
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            settings: case["settings"].as_object().cloned().unwrap_or_default(),
            events: single(case, "events"),
            observed: single(case, "observed"),
        })
        .collect()
}

/// An entry as often as its `n` says; one that moves so many at once keeps the number.
fn each(entry: &Value) -> Vec<Value> {
    let n = entry["n"].as_u64().unwrap_or(1);
    if matches!(entry["op"].as_str(), Some("deposit" | "withdraw")) {
        return vec![entry.clone()];
    }
    let mut single = entry.clone();
    if let Some(table) = single.as_object_mut() {
        table.remove("n");
    }
    vec![single; usize::try_from(n).expect("a number of events")]
}
