//! What a walk through a stack needs of the world around it, and what it tells those who count.

use super::answer::{Answer, Outcome};
use super::backoff::Draws;
use super::circuit_breaker::Gate;
use super::deployments::Left;
use super::retry::GiveUp;
use super::retry_budget::{Passage, RetryBudget};
use crate::units::{SimDuration, SimTime};

/// Something that happened at an element, for those who count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A call began: application code asked the client.
    CallBegan,
    /// The call came back.
    CallEnded(Answer),
    /// A request left the client for a hop.
    RequestBegan,
    /// An element was reached from the outside.
    Entered(usize),
    /// A retry layer goes for one more attempt after this wait.
    Retried(usize, SimDuration),
    /// A retry layer handed a failure outward.
    GaveUp(usize, GiveUp),
    /// A guard refused, for this reason.
    Refused(usize, Outcome),
    /// The client gave up on a hop whose guard still kept the request back.
    LeftAtGuard,
}

/// What a stack needs of the world around it.
pub trait Host {
    /// Where random numbers come from.
    type Source: Draws;
    /// The random numbers of one wait of the element at this index: keyed by its name, run, call and attempt.
    fn draws(&self, element: usize, attempt: u32) -> Self::Source;
    /// What the guard says to someone who wants to pass.
    fn pass(&mut self, guard: usize, now: SimTime) -> Gate;
    /// A result passes outward through the guard's place; says whether the layers outside see a short circuit in its
    /// place.
    fn passed_back(&mut self, guard: usize, answer: &Answer, now: SimTime) -> bool;
    /// Whether the guard picks among deployments.
    fn chooses(&self, _guard: usize) -> bool {
        false
    }
    /// The result of an attempt comes back for which the guard picked the deployment at this place; says what is
    /// left for a retry.
    fn came_back(&mut self, _guard: usize, _place: usize, _answer: &Answer, _now: SimTime) -> Left {
        Left::Same
    }
    /// The retry budget of the element at this index hears of a failure; says what a retry costs, where one is wanted
    /// and allowed.
    fn pay(&mut self, element: usize, budget: &RetryBudget, answer: &Answer, wanted: bool, now: SimTime)
    -> Option<u32>;
    /// A retry is waited for whose budget, of the element at this index, is asked when the wait is over.
    fn keep(&mut self, _element: usize, _answer: &Answer) {}
    /// Asks such a budget; where it does not pay, gives back the failure that was to be repeated.
    fn still_pays(&mut self, _element: usize, _budget: &RetryBudget) -> Option<Answer> {
        None
    }
    /// The retry budget of the element at this index hears of a success, after a last retry that cost so much.
    fn repay(&mut self, element: usize, budget: &RetryBudget, last_cost: Option<u32>);
    /// The retry budget of the element at this index hears of a call that moves.
    fn call_passes(&mut self, element: usize, budget: &RetryBudget, passage: Passage, now: SimTime);
    /// Something to count.
    fn note(&mut self, note: Note);
}
