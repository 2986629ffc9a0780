//! A probe as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::probe::{Attempts, Probe, Span};
use crate::units::SimDuration;

/// The probe as text, for a terminal of at least 40 columns.
pub fn text(client: &str, answers: &str, probe: &Probe) -> String {
    let mut out = format!("{} · answers: {}\n\n", harmless(client), harmless(answers));
    let _ = writeln!(out, "{}", verdict(probe));
    out.push('\n');
    let width = probe.shown.iter().map(|shown| shown.answer.chars().count()).max().unwrap_or(0).clamp(6, 44);
    // Who never falls back is not asked which model is meant.
    let models = probe.shown.iter().filter_map(|shown| Some(shown.model.as_ref()?.chars().count())).max();
    let column = models.map(|longest| longest.clamp(5, 24));
    let model = |name: &str| column.map_or_else(String::new, |wide| format!("{:wide$}  ", shortened(name, wide)));
    let _ = writeln!(out, "  request  {}{:width$}  then", model("model"), "answer");
    for (n, shown) in probe.shown.iter().enumerate().take(SHOWN) {
        let then = match (probe.waits.get(n), &shown.retried_by) {
            (Some(wait), Some(layer)) => format!("{} ({layer})", waits(wait)),
            (Some(wait), None) => waits(wait),
            (None, _) => probe.outcome.clone(),
        };
        let answer = shortened(&harmless(&shown.answer), width);
        let asked = model(&harmless(shown.model.as_deref().unwrap_or("first")));
        let _ = writeln!(out, "  {:>7}  {asked}{answer:width$}  {then}", n + 1);
    }
    if probe.shown.len() > SHOWN {
        let _ = writeln!(out, "  … and {} more", probe.shown.len() - SHOWN);
    }
    if let Some(why) = &probe.why {
        let _ = writeln!(out, "\n  ends because {why}");
    }
    out
}

/// Below it an exact wait is told in seconds, as ranges are.
const MINUTE: SimDuration = SimDuration::from_secs(60);

/// The most attempts that are listed.
const SHOWN: usize = 40;

/// The text without what could steer a terminal.
fn harmless(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

fn verdict(probe: &Probe) -> String {
    let attempts = match &probe.attempts {
        Attempts::Always(1) => "1 request".to_owned(),
        Attempts::Always(n) => format!("{n} requests"),
        Attempts::Varying(counts) => {
            let (low, high) = ends(counts);
            format!("{low} to {high} requests")
        }
        Attempts::AtLeast(n) => format!("more than {n} requests"),
        Attempts::Endless => "requests without end".to_owned(),
    };
    let waiting = range(&probe.total_wait);
    let lasting = range(&probe.total);
    match probe.attempts {
        Attempts::Endless | Attempts::AtLeast(_) => format!("{attempts}: {}", probe.outcome),
        Attempts::Always(_) | Attempts::Varying(_) if waiting == lasting => {
            format!("{attempts}, {waiting} of waiting: {}", probe.outcome)
        }
        Attempts::Always(_) | Attempts::Varying(_) => {
            format!("{attempts}, {waiting} of waiting, {lasting} in all: {}", probe.outcome)
        }
    }
}

fn waits(wait: &Span) -> String {
    if wait.max.is_zero() {
        return "again at once".to_owned();
    }
    if wait.min == wait.max {
        return format!("waits {}", range(wait));
    }
    if wait.mean_s.is_nan() {
        return format!("waits {}", range(wait));
    }
    format!("waits {} (mean {})", range(wait), seconds(wait.mean_s))
}

fn range(span: &Span) -> String {
    if span.min == span.max && span.max >= MINUTE {
        return span.max.to_string();
    }
    if span.min == span.max {
        return seconds(span.max.as_secs_f64());
    }
    format!("{}–{}", short(span.min), seconds(span.max.as_secs_f64()))
}

/// Seconds to three places, without the unit.
fn short(time: SimDuration) -> String {
    let text = format!("{:.3}", time.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn seconds(value: f64) -> String {
    format!("{} s", short(SimDuration::from_secs_f64(value)))
}

fn ends(counts: &std::collections::BTreeMap<u64, u64>) -> (u64, u64) {
    let low = counts.keys().next().copied().unwrap_or(0);
    let high = counts.keys().next_back().copied().unwrap_or(0);
    (low, high)
}

/// The probe as JSON: `attempts`, `waits_s`, `total_wait_s`, `outcome` are a contract.
pub fn json(client: &str, answers: &str, probe: &Probe) -> Value {
    let attempts = match &probe.attempts {
        Attempts::Always(n) => json!(n),
        Attempts::Varying(counts) => {
            let (min, max) = ends(counts);
            let counts: serde_json::Map<String, Value> =
                counts.iter().map(|(attempts, times)| (attempts.to_string(), json!(times))).collect();
            json!({ "min": min, "max": max, "counts": counts })
        }
        Attempts::AtLeast(n) => json!({ "at_least": n }),
        Attempts::Endless => Value::Null,
    };
    let mut fields = json!({
        "format": "retrycast.probe/1",
        "client": client,
        "answers": answers,
        "attempts": attempts,
        "waits_s": probe.waits.iter().map(span).collect::<Vec<Value>>(),
        "total_wait_s": span(&probe.total_wait),
        "total_s": span(&probe.total),
        "outcome": probe.outcome,
        "why": probe.why,
        "retried_by": probe.shown.iter().filter_map(|shown| shown.retried_by.clone()).collect::<Vec<String>>(),
    });
    if probe.shown.iter().any(|shown| shown.model.is_some()) {
        fields["models"] = probe.shown.iter().map(|shown| shown.model.clone()).collect();
    }
    fields
}

fn span(span: &Span) -> Value {
    json!({ "min": span.min.as_secs_f64(), "mean": Some(span.mean_s).filter(|mean| !mean.is_nan()), "max": span.max.as_secs_f64() })
}
