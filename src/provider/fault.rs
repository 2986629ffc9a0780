//! What goes wrong on the provider's side, when, for whom, and what it answers then.
//!
//! A fault draws one uniform per request, keyed by its own name and the request's key, and strikes when it lies below
//! the probability of that instant. Two runs with different policies so share the draw of the n-th request of a step
//! although they send it at different times.

use super::profile::Profile;
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

/// A half-open span of time: `from` belongs to it, `to` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub from: SimTime,
    /// The first instant after it.
    pub to: SimTime,
}

impl Window {
    /// Whether the instant lies in the window.
    pub fn contains(&self, now: SimTime) -> bool {
        self.from <= now && now < self.to
    }

    /// How long it lasts.
    pub fn length(&self) -> SimDuration {
        self.to - self.from
    }
}

/// What a struck request gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Respond {
    /// An HTTP error.
    Status {
        /// The status, from 400 to 599.
        status: u16,
        /// Seconds until it is back.
        after: Distribution,
        /// The hint it carries.
        hint: Option<SimDuration>,
        /// The word on retrying it carries.
        should_retry: Option<bool>,
    },
    /// The connection is closed without an answer.
    Drop {
        /// Seconds until it is.
        after: Distribution,
    },
    /// Nothing ever comes back.
    Hang,
}

/// One kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Its name; draws are keyed by it.
    pub name: String,
    /// When it can strike; `None` is always.
    pub window: Option<Window>,
    /// How probable it is that it strikes a request, for each traffic class by index.
    pub probability: Vec<Profile>,
    /// What a struck request gets.
    pub respond: Respond,
}
