//! What a row is called, and how its numbers are written.

use crate::experiment::Measure;
use crate::experiment::measure::{Kind, Of, Part};
use crate::report::quantity::{TimeUnit, Unit};
use crate::report::words::readable;

/// The name of a measure with the phase that it is of.
pub fn label(measure: &Measure) -> String {
    let name = short(measure);
    match &measure.part {
        Part::Phase(phase) if !matches!(measure.of, Of::Layer { .. }) => format!("{name}, {}", readable(phase)),
        Part::Phase(_) | Part::Whole => name,
    }
}

/// The name of a measure below a heading that says whose it is and in which phase.
pub(super) fn short(measure: &Measure) -> String {
    match (&measure.of, measure.key.as_str()) {
        (Of::Layer { .. }, "runs") => "queue".to_owned(),
        (Of::Layer { .. }, "steps_reached") => "steps reached".to_owned(),
        (Of::Layer { .. }, key) => readable(key),
        (Of::Limit(name), "below_tenth_s") => format!("`{name}` below a tenth"),
        (Of::Limit(name), _) => format!("refused by `{name}`"),
        (Of::Run, "recovery.total_s") => "recovery".to_owned(),
        (Of::Run, "recovery.queue_s") => "queue back".to_owned(),
        (Of::Run, "recovery.live_429_s") => "live 429s back".to_owned(),
        (Of::Run, _) => "requests per call back".to_owned(),
        (Of::Class { .. }, key) => of_class(key).to_owned(),
    }
}

fn of_class(key: &str) -> &str {
    match key {
        "amplification_by_task" => "to the end",
        "requests_per_call_peak" => "peak per call",
        "max_requests_per_task" => "most requests of one",
        "tasks_with_429" => "with a 429",
        "tasks_with_429_share" => "share with a 429",
        "requests_429_share" => "requests answered 429",
        "failed_share" => "share failed",
        "not_delivered_share" => "not delivered",
        "repeated_effects" => "effects repeated",
        "failed_with_effect" => "failed with effect",
        "wasted_server_s" => "server time wasted",
        "refusals.of_limits.met_retries" => "retries refused",
        "refusals.of_limits.caused_by_retries_share" => "refusals by retries",
        "bill.total" => "bill",
        "bill.retries" => "bill of retries",
        "bill.unreceived" => "bill for nobody",
        "bill.failed_tasks" => "bill of the failed",
        "bill.cost_per_delivered" => "cost of one delivered",
        "latency_all_s.p50" => "p50 of all",
        "latency_all_s.p95" => "p95 of all",
        "latency_all_s.max" => "last of all",
        "latency_s.p50" => "p50 of the delivered",
        "latency_s.p95" => "p95 of the delivered",
        "latency_s.max" => "slowest delivered",
        key => key,
    }
}

/// The unit in which the numbers of a row are written, given the largest of them.
pub fn unit(kind: Kind, largest: f64) -> Unit {
    match kind {
        Kind::Count => Unit::Count,
        Kind::Ratio => Unit::Ratio,
        Kind::Share => Unit::Share,
        Kind::Seconds => Unit::Time(TimeUnit::of(largest)),
        Kind::Money => Unit::Money,
    }
}
