//! The decorators and the HTTP layer of Rust.

use super::{Case, Library, Setup, seconds};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 4] = [
    Library { file: "tokio-retry-0.3.2", tier: 2, preset: "tokio-retry-0.3", setup: tokio_retry },
    Library { file: "backon-1.6.0", tier: 2, preset: "backon-1.6", setup: backon },
    Library { file: "backoff-rust-0.4.0", tier: 2, preset: "backoff-rust-0.4", setup: backoff },
    Library { file: "reqwest-retry-0.7.0", tier: 2, preset: "reqwest-retry-0.7", setup: reqwest_retry },
];

/// How many tries were taken: these crates only give waits, and how many were asked for is in the case's name.
fn tries(case: &Case) -> i64 {
    case.fields["attempts"].as_i64().unwrap_or(1)
}

fn tokio_retry(case: &Case) -> Setup {
    let millis = case.whole("from_millis").or(case.whole("millis")).unwrap_or_default();
    let class = match case.word("wait") {
        Some("fixed") => "FixedInterval",
        Some("fibonacci") => "FibonacciBackoff",
        _ => "ExponentialBackoff",
    };
    let mut keys = vec![format!("from_millis = {millis}")];
    keys.extend(case.whole("factor").map(|factor| format!("factor = {factor}")));
    keys.extend(case.number("max_delay").map(|cap| format!("max_delay = \"{}\"", seconds(cap))));
    let mut sets =
        vec![format!("strategy={{ {class} = {{ {} }} }}", keys.join(", ")), format!("take={}", tries(case) - 1)];
    if case.is("jitter") {
        sets.push("map=jitter".to_owned());
    }
    Setup::Preset(sets)
}

fn backon(case: &Case) -> Setup {
    let mut sets = Vec::new();
    sets.extend(case.word("wait").map(|builder| format!("builder={builder}")));
    for word in ["max_delay", "total_delay"] {
        sets.extend(case.number(word).map(|time| format!("{word}={}", seconds(time))));
    }
    if case.is("jitter") {
        sets.push("jitter=true".to_owned());
    }
    match case.policy.get("max_times") {
        // Without end; the measurement took the first waits.
        Some(Value::Null) => sets.push(format!("max_times={}", tries(case) - 1)),
        Some(times) => sets.push(format!("max_times={times}")),
        None => {}
    }
    Setup::Preset(sets)
}

fn backoff(case: &Case) -> Setup {
    let mut sets = Vec::new();
    for word in ["multiplier", "randomization_factor"] {
        sets.extend(case.policy.get(word).map(|value| format!("{word}={value}")));
    }
    for word in ["initial_interval", "max_interval", "max_elapsed_time"] {
        sets.extend(case.number(word).map(|time| format!("{word}={}", seconds(time))));
    }
    if case.policy.get("max_elapsed_time") == Some(&Value::Null) {
        sets.extend(["max_elapsed_time=none".to_owned(), format!("max_attempts={}", tries(case))]);
    }
    Setup::Preset(sets)
}

fn reqwest_retry(case: &Case) -> Setup {
    if case.id == "middleware_error" {
        return Setup::OutOfScope("an error of another middleware: the model has no such failure");
    }
    let mut sets = Vec::new();
    sets.extend(case.whole("max_retries").map(|retries| format!("max_n_retries={retries}")));
    sets.extend(case.word("jitter").map(|jitter| format!("jitter={jitter}")));
    sets.extend(case.number("base").map(|base| format!("base={base}")));
    if let Some(bounds) = case.policy.get("bounds") {
        sets.push(format!("retry_bounds=[\"{}s\", \"{}s\"]", bounds[0], bounds[1]));
    }
    Setup::Preset(sets)
}
