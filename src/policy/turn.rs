//! Where a walk through a stack turns: a guard is asked, and a layer decides.

use super::answer::Answer;
use super::circuit_breaker::Gate;
use super::deployments::Left;
use super::fallback::Fallback;
use super::host::{Host, Note};
use super::retry::{Decision, GiveUp, LayerState, RetryPolicy};
use super::retry_budget::RetryBudget;
use super::stack::Client;
use crate::units::SimTime;

impl Client {
    /// What the guard of element `at` says to someone who wants to pass. A fallback that has gone on asks its model itself:
    /// no deployment is picked inside of it.
    #[inline]
    pub(super) fn asked(
        &self,
        at: usize,
        guard: usize,
        states: &mut [LayerState],
        now: SimTime,
        host: &mut impl Host,
    ) -> Gate {
        states[at].attempts = 0;
        if self.falls_back && host.chooses(guard) && self.has_fallen_back(at, states) {
            return Gate::Pass;
        }
        host.pass(guard, now)
    }

    fn has_fallen_back(&self, inside: usize, states: &[LayerState]) -> bool {
        let outside = self.elements.iter().zip(states).skip(inside + 1);
        let mut fallbacks = outside.filter(|(element, _)| element.role.is_fallback());
        fallbacks.any(|(_, state)| Fallback::target(state).is_some())
    }
}

/// When element `at` tries again, or `None` where it hands the failure on. Where another deployment is left it
/// goes there at once, and where none is it gives up. It waits until `longest` at most: a hop's client may leave before.
pub(super) fn decide(
    policy: &RetryPolicy,
    at: usize,
    states: &mut [LayerState],
    answer: &Answer,
    now: SimTime,
    (left, longest): (Left, SimTime),
    host: &mut impl Host,
) -> Option<SimTime> {
    if left == Left::None {
        host.note(Note::GaveUp(at, GiveUp::NotRetried));
        return None;
    }
    let attempt = states[at].attempts;
    // The policy asks the host for two things, one after the other: random numbers and the budget.
    let host = std::cell::RefCell::new(host);
    let pay = |wanted| {
        let budget = policy.budget.as_ref()?;
        host.borrow_mut().pay(at, budget, answer, wanted, now)
    };
    let decision = policy.decide(&mut states[at], answer, now, || host.borrow().draws(at, attempt), pay);
    let host = host.into_inner();
    match decision {
        Decision::Retry { at: until } => {
            let until = if left == Left::Another { now } else { until };
            if policy.budget.as_ref().is_some_and(RetryBudget::is_asked_after_the_wait) {
                host.keep(at, answer);
            }
            host.note(Note::Retried(at, until.min(longest).since(now)));
            Some(until)
        }
        Decision::GiveUp(why) => {
            host.note(Note::GaveUp(at, why));
            None
        }
    }
}
