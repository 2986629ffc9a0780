//! One leg of a walk through a stack: how it ends, and what a retry layer decides where an answer comes by.

use super::answer::{Answer, Outcome};
use super::host::{Host, Note};
use super::retry::{Decision, LayerState, RetryPolicy};
use super::stack::Next;
use crate::units::SimTime;

/// How a walk outward ends.
pub(super) enum Walk {
    /// Nothing more can be done now.
    Stops(Next),
    /// It turns round and goes on inward below this element.
    GoesOn(usize),
}

/// How a walk inward ends.
pub(super) enum Inward {
    /// Nothing more can be done now.
    Stops(Next),
    /// A guard refused: it turns round and goes on outward from this element on.
    Refused(usize, Outcome),
}

/// When element `at` tries again, or `None` where it hands the failure on.
pub(super) fn decide(
    policy: &RetryPolicy,
    at: usize,
    states: &mut [LayerState],
    answer: &Answer,
    now: SimTime,
    host: &mut impl Host,
) -> Option<SimTime> {
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
            host.note(Note::Retried(at, until - now));
            Some(until)
        }
        Decision::GiveUp(why) => {
            host.note(Note::GaveUp(at, why));
            None
        }
    }
}
