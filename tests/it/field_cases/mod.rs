//! Situations that people have reported in public, restated as small scenarios with the answer worked out by hand, or
//! measured on the library itself. Each is a scenario file, given as text.
//!
//! - `layers`: what layers multiply to, and what "retries", "attempts" and "runs" mean where.
//! - `errors`: errors that never clear, and those that come inside an answer.
//! - `limits`: what limits count, when they count it, and who is left with nothing.
//! - `hints`: what the server asks for, and what each generation of clients makes of it.
//! - `timeouts`: how long a timeout times its tries is.
//! - `ladders`: how long waits really are, and which overload they outlast.
//! - `quotas`: how many retries of an outage a quota pays for, and who shares it.
//! - `table`: what is right and what comes out, side by side, for `docs/validation.md`.
//! - `workers`: who waits for workers that sleep, and who is left with nothing.

mod errors;
mod hints;
mod ladders;
mod layers;
mod limits;
mod outlived;
mod queues;
mod quotas;
mod table;
mod timeouts;
mod workers;

use retrycast::sim::Fact;

use super::stage::{Run, facts, read};

/// The ladder of the SDKs, so many attempts.
pub(super) fn sdk(attempts: u32, more: &str) -> String {
    format!(
        r#"{{ name = "sdk", max_attempts = {attempts}, retry_on = [408, 409, 429, "5xx", "timeout", "connection"],
           backoff = {{ exponential = {{ initial = "500ms", cap = "8s" }} }}, jitter = {{ subtract = "25%" }}{more} }}"#
    )
}

/// Jobs for one worker.
pub(super) fn jobs(faults: &str, layers: &str, arrivals: &str, latency: &str) -> Run {
    let text = format!(
        r#"
        horizon = "24h"
        {faults}
        [clients.stack]
        layers = [{layers}]
        [traffic.job]
        kind = "jobs"
        client = "stack"
        workers = 1
        arrivals = {arrivals}
        steps = [{{ name = "ask", input_tokens = 1, latency = "{latency}" }}]
        "#
    )
    // Layers may be written over several lines here, which TOML does not know within braces.
    .replace(",\n           ", ", ");
    Run::of(&read(&text), 1)
}

pub(super) const ONE: &str = r#"{ at = ["0s"] }"#;

/// The requests of one failing job.
#[track_caller]
pub(super) fn failing(faults: &str, layers: &str) -> u64 {
    let run = jobs(faults, layers, ONE, "1s");
    assert_eq!(run.count("classes.job.failed"), 1);
    run.count("classes.job.requests")
}

pub(super) fn always(respond: &str) -> String {
    format!("[provider.faults.down]\nrespond = {{ {respond} }}")
}

/// The instants at which the only task of a text sends its requests, in seconds.
pub(super) fn instants(text: &str) -> Vec<f64> {
    let sent = |fact: &Fact| match fact {
        Fact::RequestEnded { sent, .. } => Some(sent.as_secs_f64()),
        Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    };
    facts(&read(text), 1).iter().filter_map(sent).collect()
}
