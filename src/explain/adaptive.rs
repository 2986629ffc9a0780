//! What `explain` says of guards that adapt.

use super::outage::Bound;
use super::words;
use crate::policy::adaptive_limit::Algorithm;
use crate::policy::hint::HintRule;
use crate::policy::shared_gate::Opens;
use crate::policy::{AdaptiveConcurrency, CubicRate, Ramp, SharedGate};
use crate::units::SimDuration;

/// An adaptive limit, without its scope.
pub(super) fn limit_words(limit: &AdaptiveConcurrency) -> String {
    let bounds = limit.bounds;
    let learns = match limit.algorithm {
        Algorithm::Aimd(aimd) => {
            format!("one more while results are good, {} of it after a drop", words::percent(aimd.backoff))
        }
        Algorithm::Gradient(gradient) => {
            format!("fewer while results take more than {} times their long average", gradient.tolerance)
        }
        Algorithm::Vegas(_) => "more or fewer by the queue that the times of results betray".to_owned(),
    };
    let starts = match limit.slow_start {
        Some(slow) => format!("{}, doubling from round to round until the first drop", slow.from),
        None => bounds.initial.to_string(),
    };
    let rest = super::concurrency::without_permit(&limit.semaphore, "refusal");
    format!("{} to {} permits, at first {starts}: {learns}; {rest}", bounds.min, bounds.max)
}

/// A gate, without its scope.
pub(super) fn gate_words(gate: &SharedGate) -> String {
    let does = if gate.rejects { "refuses all" } else { "lets all wait" };
    let own = words::duration(gate.time);
    let time = match gate.hint {
        HintRule::Ignore => own,
        HintRule::Obey { .. } | HintRule::AtLeast { .. } | HintRule::Near { .. } => {
            format!("as long as retry-after asks, else {own}")
        }
    };
    let bound = match gate.at_most {
        SimDuration::MAX => String::new(),
        most => format!(", {} at most", words::duration(most)),
    };
    let opens = match gate.opens {
        Opens::All => "then lets all pass at once".to_owned(),
        Opens::Spread(over) => format!("then lets them pass spread over {}", words::duration(over)),
        Opens::Each(one) => format!("then lets one pass each {}", words::duration(one)),
        Opens::Ramp(ramp) => format!("then {}", ramp_words(&ramp)),
    };
    format!("{does} after a response that closes it, {time}{bound}, {opens}")
}

/// An adaptive rate, without its scope.
pub(super) fn rate_words(rate: &CubicRate) -> String {
    format!(
        "holds nobody back until a throttling response, then {} of the measured rate, at least {} requests a second, which \
         grows again along a cubic",
        words::percent(rate.beta),
        rate.min_rate
    )
}

/// What a gate does in an outage: nothing bounds how many are under way when it closes.
pub(super) fn gate_bound(name: &str, gate: &SharedGate, instances: u64) -> Bound {
    let own = words::duration(gate.time);
    let text = format!(
        "`{name}` lets nobody pass for {own} after each response that closes it without a hint; how many go when it opens, \
         it does not bound"
    );
    Bound::of(name, "gate", instances, text)
}

/// What an adaptive rate does in an outage: it falls only where the outage's answers are what it counts.
pub(super) fn rate_bound(name: &str, rate: &CubicRate, instances: u64) -> Bound {
    let text = format!(
        "`{name}` falls to {} requests a second where every answer is one that it counts; it holds nobody back before the \
         first of them",
        rate.min_rate
    );
    Bound::of(name, "rate", instances, text)
}

/// What comes after a break, where there is a ramp.
pub(super) fn then_ramps(ramp: Option<Ramp>) -> String {
    ramp.map_or_else(String::new, |ramp| format!(", then {}", ramp_words(&ramp)))
}

/// What a ramp does.
fn ramp_words(ramp: &Ramp) -> String {
    format!("lets {} pass, and all after {}", words::percent(ramp.from), words::duration(ramp.over))
}
