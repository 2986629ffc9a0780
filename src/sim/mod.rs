//! The engine: a discrete-event loop over flat records.
//!
//! The life of a task: it *arrives*; a job waits out its delay and queues for a worker, a turn starts at once; a *run*
//! takes its steps in order; each step walks through the client's stack, which says what comes next (send, sleep, back
//! to the queue, done); a request goes to the provider, which says at once what it will answer and when; when the
//! answer is back the walk goes on; where servers are few, it waits for one, and what it will get is known when its
//! service begins. A task ends once, delivered or failed; what has not ended at the horizon is
//! unfinished.
//!
//! Every task has at most one pending event, and one more that may have come to nothing when it comes: the end of its
//! patience in a guard's line. At one instant events come in the order of [`event_queue::Rank`]:
//! releases, completions, interventions, attempts, arrivals; then in the order in which they were scheduled.

mod answers;
mod bank;
mod billing;
mod bottom;
mod buckets;
mod budgets;
mod crew;
mod deliveries;
mod engine;
mod event;
pub mod event_queue;
mod groups;
mod hedge_limits;
mod hedging;
mod line;
mod marks;
mod observer;
mod origins;
mod places;
mod record;
mod services;
mod station;
mod streams;
mod workforce;
mod world;

use crate::metrics::recovery;
use crate::observe::{Outcome, PhasePlan};
use crate::random::Seed;
use crate::scenario::Scenario;

pub use observer::{Course, Fact, Fate, Observer, Unobserved};

/// Runs a scenario once.
///
/// Pure and infallible: the same scenario and seed give the same outcome, whatever the machine, the thread or the time.
pub fn simulate(scenario: &Scenario, seed: Seed) -> Outcome {
    simulate_observed(scenario, seed, &mut Unobserved)
}

/// Runs a scenario once and shows every fact to an observer.
///
/// Where the file does not fix the recovery phase, its end is found in a first pass, because what is counted by phase
/// must be counted as it happens; only the last pass is shown, and both may be ended early.
pub fn simulate_observed(scenario: &Scenario, seed: Seed, observer: &mut impl Observer) -> Outcome {
    let mut plan = PhasePlan::new(scenario, None);
    if PhasePlan::is_open(scenario) {
        let mut attendant = observer::Attendant { observer, goes_on: true };
        let first = engine::run(scenario, seed, plan, &mut attendant);
        if !attendant.goes_on {
            return first;
        }
        plan = PhasePlan::new(scenario, Some(recovery::recovered_at(scenario, &first.timeline)));
    }
    engine::run(scenario, seed, plan, observer)
}
