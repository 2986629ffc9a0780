//! A hedge does not wait for a failure: while a request is still out it sends the same again, and takes what comes back
//! first (Dean and Barroso 2013, "The tail at scale"). It buys a short tail with extra load, and in an overload, when
//! every request is late, with the most extra load at the worst moment.

use super::answer::{Answer, Hint};
use super::classify::Classification;
use super::guard::Scope;
use super::hedge_delay::HedgeDelay;
use super::retry_budget::RetryBudget;
use crate::units::SimDuration;

/// The settings of a hedge.
#[derive(Clone, Debug, PartialEq)]
pub struct Hedge {
    /// The most requests that are out for one, the first included; from 2 to [`Hedge::MOST`].
    pub max: u8,
    /// How long after the last request the next one goes out.
    pub delay: HedgeDelay,
    /// Failures after which the others may still win. Any other failure ends the request at once, as a success does.
    pub goes_on_after: Classification,
    /// Whether such a failure sends the next request at once instead of waiting out the delay (as gRPC does).
    pub next_after_failure: bool,
    /// Whether a hint that comes with such a failure says when the next request goes out, or that none does (as gRPC's
    /// pushback).
    pub obeys_hints: bool,
    /// What pays for every request but the first, and who shares it. What enters it is a request of the hedge's caller.
    pub budget: Option<(RetryBudget, Scope)>,
    /// The most requests, first ones left out, that are out at once of all who share this; at least 1.
    pub at_most_out: Option<u32>,
    /// Who shares the number that are out, and what is measured for the delay.
    pub scope: Scope,
}

/// What a failure that ends nothing does to the next request of a hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// It goes out when it was due.
    AsDue,
    /// It goes out after so long; zero is at once.
    After(SimDuration),
    /// No more go out; what is still out may succeed.
    NoMore,
}

impl Hedge {
    /// The most requests at a time for one: what gRPC allows (gRFC A6).
    pub const MOST: u8 = 5;

    /// Whether an answer ends the request, or the others may still bring a better one.
    pub fn ends_with(&self, answer: &Answer) -> bool {
        answer.is_delivered() || !self.goes_on_after.repeats(answer)
    }

    /// What becomes of the next request after a failure that does not end the hedge.
    pub const fn onward(&self, answer: &Answer) -> Onward {
        match answer.hint {
            Hint::After(wait) if self.obeys_hints => Onward::After(wait),
            Hint::Never if self.obeys_hints => Onward::NoMore,
            _ if self.next_after_failure => Onward::After(SimDuration::ZERO),
            _ => Onward::AsDue,
        }
    }
}
