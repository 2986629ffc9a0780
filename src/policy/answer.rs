//! What a layer sees come back from the inside: an answer of the provider, or the reason why there is none.

use crate::units::SimDuration;

/// How one attempt ended, as the layer around it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider delivered: status 200.
    Delivered,
    /// The provider refused or failed with an HTTP status.
    Refused,
    /// No answer within the attempt's timeout.
    TimedOut,
    /// The connection was closed without an answer.
    Dropped,
    /// An open circuit breaker let nothing out.
    ShortCircuited,
}

/// One answer, with everything that a retry layer may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The HTTP status; 0 where no answer came.
    pub status: u16,
    /// The server's explicit word on retrying (`x-should-retry`), where it gave one.
    pub should_retry: Option<bool>,
    /// How long the server asks to wait (`retry-after`), where it does.
    pub hint: Option<SimDuration>,
}

impl Answer {
    /// A success: status 200.
    pub const DELIVERED: Answer = Answer::of(Outcome::Delivered, 200);
    /// The attempt's timeout passed.
    pub const TIMED_OUT: Answer = Answer::of(Outcome::TimedOut, 0);
    /// The connection was dropped.
    pub const DROPPED: Answer = Answer::of(Outcome::Dropped, 0);
    /// A circuit breaker was open.
    pub const SHORT_CIRCUITED: Answer = Answer::of(Outcome::ShortCircuited, 0);

    /// A refusal with this HTTP status, without a hint.
    pub const fn refused(status: u16) -> Answer {
        Answer::of(Outcome::Refused, status)
    }

    const fn of(outcome: Outcome, status: u16) -> Answer {
        Answer { outcome, status, should_retry: None, hint: None }
    }

    /// The same answer with a hint.
    #[must_use]
    pub const fn with_hint(mut self, hint: Option<SimDuration>) -> Answer {
        self.hint = hint;
        self
    }

    /// Whether the caller has what it wanted.
    pub const fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered)
    }
}
