//! What guards are shown: responses of the provider, and results that pass outward through their places.

use super::{Asker, Bank, State};
use crate::policy::answer::Answer;
use crate::policy::circuit_breaker::BreakerCounts;
use crate::policy::deployments::Left;
use crate::policy::guard::Mechanism;
use crate::units::SimTime;

impl Bank<'_> {
    /// A response of the provider is shown to a guard that counts these.
    pub(in crate::sim) fn record(&mut self, guard: usize, asker: Asker, answer: &Answer, now: SimTime) {
        let instance = self.instance(guard, asker, now);
        if let (Mechanism::Gate(gate), State::Gate(state)) = (&self.guards[guard].mechanism, &mut self.states[instance])
        {
            gate.record(state, answer, now);
            return self.note(guard, instance, now);
        }
        self.count(guard, instance, answer, false, now);
    }

    /// A result is shown to a breaker; says whether the layers outside see a short circuit in its place.
    fn count(&mut self, guard: usize, instance: usize, answer: &Answer, of_a_probe: bool, now: SimTime) -> bool {
        let (Mechanism::Breaker(breaker), State::Breaker(state)) =
            (&self.guards[guard].mechanism, &mut self.states[instance])
        else {
            return false;
        };
        let recorded = breaker.record(state, answer, of_a_probe, now);
        let hides = recorded.opens && breaker.hides_the_last_failure;
        self.note(guard, instance, now);
        if recorded.ends_half_open {
            self.wake(guard, instance, now);
        }
        hides
    }

    /// A result passes outward through the guard's place; says whether the layers outside see a short circuit in its
    /// place.
    pub(in crate::sim) fn passed_back(
        &mut self,
        guard: usize,
        asker: Asker,
        run: u32,
        answer: &Answer,
        now: SimTime,
    ) -> bool {
        if self.guards[guard].has_permits() {
            self.give_back(guard, asker, run, answer, now);
            return false;
        }
        let instance = self.instance(guard, asker, now);
        if let (Mechanism::Throttle(throttle), State::Throttle(state)) =
            (&self.guards[guard].mechanism, &mut self.states[instance])
        {
            throttle.passed_back(state, answer, now);
            return false;
        }
        if let (Mechanism::Rate(rate), State::Rate(state)) = (&self.guards[guard].mechanism, &mut self.states[instance])
        {
            rate.passed_back(state, answer, now);
            self.note(guard, instance, now);
            return false;
        }
        let of_a_probe = self.probes[guard].as_mut().is_some_and(|probes| probes.back(asker.class, run));
        let hides = self.counts_results(guard) && self.count(guard, instance, answer, of_a_probe, now);
        if answer.outcome.was_sent() {
            return hides;
        }
        if let (Mechanism::Breaker(breaker), State::Breaker(state)) =
            (&self.guards[guard].mechanism, &mut self.states[instance])
            && breaker.probe_was_not_sent(state)
        {
            self.note(guard, instance, now);
            self.wake(guard, instance, now);
        }
        hides
    }

    /// A result of the deployment at this place comes back; says what is left for a retry.
    pub(in crate::sim) fn came_back(
        &mut self,
        guard: usize,
        asker: Asker,
        place: usize,
        answer: &Answer,
        now: SimTime,
    ) -> Left {
        let instance = self.instance(guard, asker, now);
        match (&self.guards[guard].mechanism, &mut self.states[instance]) {
            (Mechanism::Deployments(deployments), State::Deployments(state)) => {
                deployments.came_back(state, place, answer, now)
            }
            _ => Left::Same,
        }
    }

    /// Whether the guard counts the results that pass outward through its place.
    fn counts_results(&self, guard: usize) -> bool {
        self.guards[guard].breaker().is_some_and(|breaker| breaker.counts == BreakerCounts::Results)
    }
}
