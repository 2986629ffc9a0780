//! What the model does, held against what was measured: attempts and outcome exactly, each wait within the range that
//! the model gives, its mean within sampling error.

use super::case::Case;
use retrycast::probe::{Attempts, Probe};
use serde_json::Value;
use std::collections::BTreeMap;

/// All that differs.
pub(crate) fn differences(case: &Case, found: &Probe) -> Vec<String> {
    let held = [attempts(case, found), waits(case, found), outcome(case, found)];
    held.into_iter().filter_map(Result::err).collect()
}

fn attempts(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = &case.fields["attempts"];
    let (low, high) = match measured {
        Value::Number(n) => (n.as_u64().unwrap_or(0), n.as_u64().unwrap_or(0)),
        varying => (varying["min"].as_u64().unwrap_or(0), varying["max"].as_u64().unwrap_or(0)),
    };
    let fits = match &found.attempts {
        Attempts::Always(n) => low == *n && high == *n,
        Attempts::Varying(counts) => low != high && same_spread(counts, measured),
        Attempts::Endless => case.fields["outcome"] == "still retrying",
    };
    if fits { Ok(()) } else { Err(format!("attempts {:?}, measured {measured}", found.attempts)) }
}

/// Whether two spreads of attempts may be one: the means within four standard errors, and no extreme of either further
/// than one from what the other has seen, or from where a hundredth of it lies. Where only the extremes were kept, they
/// lie within the modelled ones: the probe asks more often than was measured.
fn same_spread(modelled: &BTreeMap<u64, u64>, measured: &Value) -> bool {
    let Some(counts) = measured["counts"].as_object() else {
        let [least, most] = ["min", "max"].map(|end| measured[end].as_u64());
        return modelled.keys().min().copied() <= least && modelled.keys().max().copied() >= most;
    };
    let counts: BTreeMap<u64, u64> =
        counts.iter().filter_map(|(attempts, times)| Some((attempts.parse().ok()?, times.as_u64()?))).collect();
    let (one, other) = (Spread::of(modelled), Spread::of(&counts));
    let error = (one.variance / one.n + other.variance / other.n).sqrt();
    let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= 1.0 + one.variance.max(other.variance).sqrt();
    (one.mean - other.mean).abs() <= 4.0 * error && near(one.least, other.least) && near(one.most, other.most)
}

struct Spread {
    n: f64,
    mean: f64,
    variance: f64,
    least: u64,
    most: u64,
}

impl Spread {
    fn of(counts: &BTreeMap<u64, u64>) -> Spread {
        let n = counts.values().sum::<u64>() as f64;
        let sum = |of: &dyn Fn(f64) -> f64| counts.iter().map(|(k, times)| of(*k as f64) * *times as f64).sum::<f64>();
        let mean = sum(&|attempts| attempts) / n;
        let variance = sum(&|attempts| (attempts - mean) * (attempts - mean)) / n;
        let [least, most] = [counts.keys().min(), counts.keys().max()].map(|end| end.copied().unwrap_or_default());
        Spread { n, mean, variance, least, most }
    }
}

/// How late a wait may seem that was measured by a clock, in seconds: a queue looks for jobs every 20 ms, or its worker
/// takes one a moment after it is due.
fn lateness_s(case: &Case) -> f64 {
    let noted = case.fields.get("note").and_then(Value::as_str).is_some_and(|note| note.contains("real time"));
    match (case.real_time, noted) {
        (true, _) => 0.03,
        (false, true) => 0.12,
        (false, false) => 0.002,
    }
}

fn waits(case: &Case, found: &Probe) -> Result<(), String> {
    let Some(measured) = case.fields.get("waits").and_then(Value::as_array) else { return Ok(()) };
    // A date has whole seconds, so that up to one second of it is gone when it is read.
    let date = case.script.iter().any(|entry| entry.to_string().contains("@date"));
    for (n, (wait, span)) in measured.iter().zip(&found.waits).enumerate() {
        let [min, max, mean] = ["min", "max", "mean"].map(|key| wait[key].as_f64().unwrap_or(f64::NAN));
        let repetitions = wait["n"].as_f64().unwrap_or(1.0).max(1.0);
        let (low, high) = (span.min.as_secs_f64(), span.max.as_secs_f64());
        let early = if date { 1.0 } else { 0.002 };
        if min < low - early || max > high + lateness_s(case) {
            return Err(format!("wait {} in [{min}, {max}] measured, [{low}, {high}] modelled", n + 1));
        }
        // Four standard errors of a uniform spread over the range; the probe's own mean has 400 samples. A spread over
        // whole seconds is wider than one over all times between its ends.
        let width = high - low;
        let whole = if case.in_whole_seconds() { 2.0 } else { 0.0 };
        let error = (width * (width + whole) / 12.0 * (1.0 / repetitions + 1.0 / 400.0)).sqrt() * 4.0;
        // A client without end is walked once, and once is no mean.
        let one = found.attempts == Attempts::Endless;
        if !date && !one && (mean - span.mean_s).abs() > error + lateness_s(case) + 0.001 {
            return Err(format!("wait {} mean {mean} measured, {} modelled ± {error}", n + 1, span.mean_s));
        }
    }
    Ok(())
}

fn outcome(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = case.fields.get("outcome").and_then(Value::as_str).unwrap_or("ok");
    let mut parts = measured.split(':');
    let kind = match parts.next() {
        Some("raise" | "failed") => "raised",
        Some("returned") => "returned",
        Some("still retrying") => "never stops",
        Some("n/a") => "",
        _ => "ok",
    };
    let status = parts.next_back().filter(|last| last.len() == 3 && last.bytes().all(|b| b.is_ascii_digit()));
    let fits = found.outcome.starts_with(kind)
        && status.is_none_or(|status| found.outcome.ends_with(status) || status == "200");
    if fits { Ok(()) } else { Err(format!("outcome `{}`, measured `{measured}`", found.outcome)) }
}
