//! Libraries that make calls wait: bottleneck, aiolimiter, the Rust crate leaky-bucket, p-throttle, p-limit, and what
//! npm's limiter does to those who wait.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::crowd::{differences, starts};
use super::{Case, Library};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 5] = [
    Library { file: "bottleneck-2.19.5", most_left_out: 3, held: bottleneck },
    Library { file: "aiolimiter-1.3.0", most_left_out: 10, held: aiolimiter },
    Library { file: "leaky-bucket-1.1.2", most_left_out: 10, held: leaky },
    Library { file: "p-throttle-8.1.1", most_left_out: 10, held: throttle },
    Library { file: "p-limit-7.3.3", most_left_out: 10, held: limit },
];

type Held = Result<Vec<String>, &'static str>;

fn setting(case: &Case, key: &str) -> Option<f64> {
    case.settings.get(key).and_then(Value::as_f64)
}

/// A bucket of input tokens: so many in so many seconds, of which it holds so many.
fn pacer(amount: f64, per: f64, capacity: f64, more: &str) -> String {
    let [per, capacity] = [per, capacity * per / amount].map(|seconds| format!("{:.0}us", seconds * 1e6));
    format!(
        "pacer = {{ counts = \"input_tokens\", amount = {amount}, per = \"{per}\", capacity = \"{capacity}\"{more} }}"
    )
}

/// Timers of its own take some milliseconds for each start.
const HOPS: f64 = 0.02;

fn bottleneck(case: &Case) -> Held {
    let mut guards = Vec::new();
    let milliseconds = |key: &str| setting(case, key).map(|value| value / 1_000.0);
    let min_time = milliseconds("minTime").unwrap_or_default();
    if min_time > 0.0 {
        guards.push(pacer(1.0, min_time, 1.0, ""));
    }
    let starts_with = setting(case, "reservoir").unwrap_or_default();
    let in_steps = format!(", flow = \"steps\", starts_with = {starts_with}");
    if let Some(every) = milliseconds("reservoirRefreshInterval") {
        // A refresh is done by the first heartbeat that finds it due.
        let heartbeat = milliseconds("heartbeatInterval").unwrap_or(every);
        let every = (every / heartbeat - 1e-9).ceil() * heartbeat;
        guards.push(pacer(starts_with, every, starts_with, &in_steps));
    } else if let Some(every) = milliseconds("reservoirIncreaseInterval") {
        let amount = setting(case, "reservoirIncreaseAmount").unwrap_or_default();
        let most = setting(case, "reservoirIncreaseMaximum").unwrap_or_default();
        guards.push(pacer(amount, every, most, &in_steps));
    } else if starts_with > 0.0 {
        // What is never filled again is filled long after the end.
        guards.push(pacer(starts_with, 1e6, starts_with, &in_steps));
    }
    if let Some(permits) = setting(case, "maxConcurrent") {
        let penalty = milliseconds("penalty").unwrap_or(if min_time > 0.0 { 15.0 * min_time } else { 5.0 });
        let when_full = match (setting(case, "highWater"), case.settings.get("strategy").and_then(Value::as_str)) {
            (Some(0.0), _) => ", when_full = \"reject\"".to_owned(),
            (Some(most), Some("LEAK")) => format!(", line_at_most = {most}, line_full = \"drop_first\""),
            (Some(most), Some("BLOCK")) => {
                format!(", line_at_most = {most}, line_full = \"block\", block_for = \"{penalty}s\"")
            }
            // All jobs of these cases are of one priority.
            (Some(most), _) => format!(", line_at_most = {most}"),
            _ => String::new(),
        };
        guards.push(format!("semaphore = {{ permits = {permits}{when_full} }}"));
    }
    Ok(differences(case, starts(case, &guards, 100.0), HOPS))
}

fn aiolimiter(case: &Case) -> Held {
    let (rate, per) = (setting(case, "max_rate").unwrap_or_default(), setting(case, "time_period").unwrap_or_default());
    let guards = [pacer(rate, per, rate, ", when_empty = \"ask_again\""), format!("size = {{ at_most = {rate} }}")];
    Ok(differences(case, starts(case, &guards, 100.0), 1e-6))
}

fn leaky(case: &Case) -> Held {
    let [max, initial, refill, interval] =
        ["max", "initial", "refill", "interval"].map(|key| setting(case, key).unwrap_or_default());
    let guard = pacer(refill, interval, max, &format!(", flow = \"steps\", starts_with = {initial}"));
    let mut starts = starts(case, &[guard], 100.0);
    if let (false, Ok(starts)) = (case.settings["fair"] == true, &mut starts) {
        // Nobody is promised a turn: the waiter that looks after the bucket is served last.
        let waiting = starts.iter().position(|start| *start > Some(0.0)).unwrap_or_default();
        starts[waiting..].rotate_right(1);
    }
    Ok(differences(case, starts, 1e-6))
}

fn throttle(case: &Case) -> Held {
    let (limit, per) =
        (setting(case, "limit").unwrap_or_default(), setting(case, "interval").unwrap_or_default() / 1e3);
    if case.settings.contains_key("strict") {
        let per = per * 1e3;
        let guard = format!("pacer = {{ counts = \"requests\", amount = {limit}, per = \"{per}ms\", flow = \"log\" }}");
        return Ok(differences(case, starts(case, &[guard], 100.0), 1e-6));
    }
    let guard = pacer(limit, per, limit, ", flow = \"steps\", aligned = \"first_request\"");
    Ok(differences(case, starts(case, &[guard], 100.0), 1e-6))
}

fn limit(case: &Case) -> Held {
    let guard = format!("semaphore = {{ permits = {} }}", case.settings["concurrency"]);
    Ok(differences(case, starts(case, &[guard], 100.0), 1e-5))
}

/// Waiting calls of npm's limiter.
pub(crate) fn npm(case: &Case) -> Held {
    let amount = setting(case, "tokensPerInterval").unwrap_or_default();
    let guard = if case.settings["class"] == "TokenBucket" {
        // It starts empty, and looks again when a token should be there.
        let more = ", flow = \"steps\", starts_with = 0";
        pacer(1.0, 1.0 / amount, setting(case, "bucketSize").unwrap_or_default(), more)
    } else if case.id == "rate_acquire_3_of_5" {
        return Err("a call that does not fit into the rest of a period leaves the rest unused");
    } else {
        pacer(amount, 1.0, amount, ", flow = \"steps\", aligned = \"first_request\"")
    };
    let size = format!("size = {{ at_most = {amount} }}");
    Ok(differences(case, starts(case, &[guard, size], 100.0), 1e-6))
}
