//! A throttle on the client's side that adapts to what the provider accepts (Beyer and others 2016, "Site Reliability
//! Engineering", chapter 21): while requests are more than `k` times the accepted ones, it refuses by chance, with the
//! probability (requests − k · accepts) / (requests + 1). Its own refusals count as requests, so that of an overload the
//! provider sees about `k` times what it accepts, whatever is asked for; and a few always go through, so that it
//! notices when the provider is well again.

use super::answer::{Answer, Outcome};
use super::circuit_breaker::Gate;
use super::classify::{OutcomeSet, StatusSet, is_among};
use super::slots::{Slots, Tally};
use crate::units::SimTime;

/// The settings of a throttle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveThrottle {
    /// Statuses that are no acceptance.
    pub statuses: StatusSet,
    /// Failures without a status that are none.
    pub outcomes: OutcomeSet,
    /// How many requests there may be for each accepted one; at least 1.
    pub k: f64,
    /// How long it remembers.
    pub window: Slots,
}

impl AdaptiveThrottle {
    /// A throttle that has seen nothing.
    pub fn empty(&self) -> Tally {
        self.window.empty()
    }

    /// The probability with which the next request is refused.
    pub fn refuses(&self, state: &Tally) -> f64 {
        let [requests, accepts] = state.sums().map(f64::from);
        ((requests - self.k * accepts) / (requests + 1.0)).max(0.0)
    }

    /// What it says to someone who wants to pass; `chance` is uniform in 0..1.
    pub fn enter(&self, state: &mut Tally, chance: f64, now: SimTime) -> Gate {
        // What is too old goes first.
        self.window.add(state, [0, 0], now);
        let refused = chance < self.refuses(state);
        self.window.add(state, [1, 0], now);
        if refused { Gate::Refuse(Outcome::ShortCircuited) } else { Gate::Pass }
    }

    /// A result passes back through its place. What was never sent is no acceptance and no refusal of the provider: it
    /// counts as accepted, so that what stops it does not make the throttle refuse.
    pub fn passed_back(&self, state: &mut Tally, answer: &Answer, now: SimTime) {
        if !answer.outcome.was_sent() || !is_among(answer, &self.statuses, self.outcomes) {
            self.window.add(state, [0, 1], now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    const TWO: AdaptiveThrottle = AdaptiveThrottle {
        statuses: StatusSet::EMPTY.with(503),
        outcomes: OutcomeSet::EMPTY,
        k: 2.0,
        window: Slots { time: SimDuration::from_mins(2), number: 10, move_with_time: true },
    };

    #[test]
    fn it_refuses_by_the_formula() {
        // By hand: 10 requests of which 3 were accepted, (10 - 2 * 3) / 11; half of them accepted, nothing.
        for (accepted, refuses) in [(3, 4.0 / 11.0), (5, 0.0), (0, 10.0 / 11.0)] {
            let mut state = TWO.empty();
            for n in 0..10 {
                assert_eq!(TWO.enter(&mut state, 0.999, SimTime::ZERO), Gate::Pass);
                let answer = if n < accepted { Answer::DELIVERED } else { Answer::refused(503) };
                TWO.passed_back(&mut state, &answer, SimTime::ZERO);
            }
            assert!((TWO.refuses(&state) - refuses).abs() < 1e-12, "{accepted}");
            let chance = f64::max(refuses - 1e-9, 0.0);
            let next = TWO.enter(&mut state, chance, SimTime::ZERO);
            assert_eq!(next == Gate::Pass, refuses == 0.0, "{accepted}");
        }
    }

    #[test]
    fn it_forgets_after_its_time() {
        let mut state = TWO.empty();
        TWO.enter(&mut state, 0.5, SimTime::ZERO);
        assert!(TWO.refuses(&state) > 0.0);
        assert_eq!(TWO.enter(&mut state, 0.0, SimTime::ZERO + SimDuration::from_mins(2)), Gate::Pass);
    }
}
