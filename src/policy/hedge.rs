//! A hedge does not wait for a failure: while a request is still out it sends the same again, and takes what comes back
//! first (Dean and Barroso 2013, "The tail at scale"). It buys a short tail with extra load, and in an overload, when
//! every request is late, with the most extra load at the worst moment.

use super::answer::Answer;
use super::classify::Classification;
use crate::units::SimDuration;

/// The settings of a hedge.
#[derive(Clone, Debug, PartialEq)]
pub struct Hedge {
    /// The most requests that are out for one, the first included; from 2 to [`Hedge::MOST`].
    pub max: u8,
    /// How long after the last request the next one goes out; zero sends all at once.
    pub delay: SimDuration,
    /// Failures after which the others may still win. Any other failure ends the request at once, as a success does.
    pub goes_on_after: Classification,
    /// Whether such a failure sends the next request at once instead of waiting out the delay (as gRPC does).
    pub next_after_failure: bool,
}

impl Hedge {
    /// The most requests at a time for one: what gRPC allows (gRFC A6).
    pub const MOST: u8 = 5;

    /// Whether an answer ends the request, or the others may still bring a better one.
    pub fn ends_with(&self, answer: &Answer) -> bool {
        answer.is_delivered() || !self.goes_on_after.repeats(answer)
    }
}
