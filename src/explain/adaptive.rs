//! What `explain` says of the settings of guards that adapt.

use super::outage::Bound;
use super::words;
use crate::policy::adaptive_limit::Algorithm;
use crate::policy::deployments::Pick;
use crate::policy::hint::HintRule;
use crate::policy::shared_gate::Opens;
use crate::policy::{AdaptiveConcurrency, CubicRate, Deployments, Mechanism, Ramp, SharedGate};
use crate::units::SimDuration;

/// A guard that adapts, without its scope; nothing of any other.
pub(super) fn words(mechanism: &Mechanism) -> String {
    match mechanism {
        Mechanism::Concurrency(limit) => limit_words(limit),
        Mechanism::Rate(rate) => rate_words(rate),
        Mechanism::Gate(gate) => gate_words(gate),
        Mechanism::Deployments(choice) => deployments_words(choice),
        Mechanism::Breaker(_)
        | Mechanism::Pacer(_)
        | Mechanism::Semaphore(_)
        | Mechanism::Size(_)
        | Mechanism::Throttle(_) => String::new(),
    }
}

/// An adaptive limit, without its scope.
fn limit_words(limit: &AdaptiveConcurrency) -> String {
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
fn gate_words(gate: &SharedGate) -> String {
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
fn rate_words(rate: &CubicRate) -> String {
    format!(
        "holds nobody back until a throttling response, then {} of the measured rate, at least {} requests a second, which \
         grows again along a cubic",
        words::percent(rate.beta),
        rate.min_rate
    )
}

/// A choice of deployments, without its scope.
fn deployments_words(choice: &Deployments) -> String {
    let how = match choice.pick {
        Pick::Random => "picks one of",
        Pick::RoundRobin => "takes turns among",
        Pick::First => "takes the first healthy one of",
    };
    let cooldown = choice.cooldown;
    format!(
        "{how} {} for each request, and a retry goes to a healthy one at once where there are several; one is left out for {} after a status that cools it or {} within {}, and when all are, it \
         refuses",
        words::counted(choice.to.len() as u64, "deployment"),
        words::duration(cooldown.lasts),
        words::counted(u64::from(cooldown.after), "failure"),
        words::duration(cooldown.within)
    )
}

/// What a choice of deployments does in an outage of all of them: so many failures in each cooldown, and more that were
/// under way.
pub(super) fn deployments_bound(name: &str, choice: &Deployments, instances: u64) -> Bound {
    let cooldown = choice.cooldown;
    let text = format!(
        "`{name}` lets {} of each of {} pass in each cooldown of {} while these count, and one where its status cools at once; \
         what is under way when one is left out, it does not bound",
        words::counted(u64::from(cooldown.after), "failure"),
        words::counted(choice.to.len() as u64, "deployment"),
        words::duration(cooldown.lasts)
    );
    Bound::of(name, "deployments", instances, text)
}

/// What comes after a break, where there is a ramp.
pub(super) fn then_ramps(ramp: Option<Ramp>) -> String {
    ramp.map_or_else(String::new, |ramp| format!(", then {}", ramp_words(&ramp)))
}

/// What a ramp does.
fn ramp_words(ramp: &Ramp) -> String {
    format!("lets {} pass, and all after {}", words::percent(ramp.from), words::duration(ramp.over))
}
