//! What a layer sees come back from the inside: an answer of the provider, or the reason why there is none.

use crate::units::SimDuration;

/// How one attempt ended, as the layer around it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    /// The provider delivered: status 200, to its end.
    Delivered,
    /// The provider refused or failed with an HTTP status.
    Refused,
    /// No answer within the attempt's timeout.
    TimedOut,
    /// The connection was not established within its timeout.
    ConnectTimedOut,
    /// No connection of the client's own pool became free within its timeout.
    PoolTimedOut,
    /// A stream fell silent for longer than its idle timeout.
    Silent,
    /// The connection was refused.
    Unreachable,
    /// The connection was closed without an answer.
    Dropped,
    /// The connection was closed in the middle of an answer that is not a stream.
    CutShort,
    /// A stream began with status 200 and failed before its first token.
    StreamFailed,
    /// A stream failed after some output.
    StreamBroken,
    /// An open circuit breaker let nothing out.
    ShortCircuited,
    /// A limiter on the client's side refused: at once, or after the longest wait that it allows.
    LimiterFull,
    /// The client found the request larger than it may be, before it was sent. No wait makes it smaller.
    TooLarge,
    /// Nobody wanted it any more before it was answered: another request was faster.
    Cancelled,
    /// The request was not written within its timeout.
    WriteTimedOut,
}

impl Outcome {
    /// All outcomes, each with its word in scenario files.
    pub const ALL: [(Outcome, &'static str); 16] = [
        (Outcome::Delivered, "ok"),
        (Outcome::Refused, "refused"),
        (Outcome::TimedOut, "read_timeout"),
        (Outcome::ConnectTimedOut, "connect_timeout"),
        (Outcome::PoolTimedOut, "pool_timeout"),
        (Outcome::Silent, "silence"),
        (Outcome::Unreachable, "unreachable"),
        (Outcome::Dropped, "drop"),
        (Outcome::CutShort, "cut"),
        (Outcome::StreamFailed, "stream_failed"),
        (Outcome::StreamBroken, "stream_broken"),
        (Outcome::ShortCircuited, "short_circuited"),
        (Outcome::LimiterFull, "limiter_full"),
        (Outcome::TooLarge, "too_large"),
        (Outcome::Cancelled, "cancelled"),
        (Outcome::WriteTimedOut, "write_timeout"),
    ];

    /// Its word in scenario files.
    pub fn word(self) -> &'static str {
        Outcome::ALL[self as usize].1
    }

    /// The outcome of this place in [`Outcome::ALL`].
    pub fn from_index(index: u8) -> Option<Outcome> {
        Outcome::ALL.get(index as usize).map(|(outcome, _)| *outcome)
    }

    /// Whether a request was on its way to the provider when this happened.
    pub const fn was_sent(self) -> bool {
        !matches!(self, Outcome::ShortCircuited | Outcome::LimiterFull | Outcome::PoolTimedOut | Outcome::TooLarge)
    }
}

/// What a server's hint comes to once the client has read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// None, or none that this client can use.
    #[default]
    None,
    /// Wait this long; zero is at once.
    After(SimDuration),
    /// There is one, but without a wait in it: the client waits as long as it would by itself.
    Blank,
    /// Do not retry.
    Never,
    /// The client fails over the header itself instead of retrying.
    Fatal,
}

impl Hint {
    /// The wait, where there is one.
    pub const fn wait(self) -> Option<SimDuration> {
        match self {
            Hint::After(wait) => Some(wait),
            Hint::None | Hint::Blank | Hint::Never | Hint::Fatal => None,
        }
    }
}

/// The code that an error body names, such as `enforced_spend_limit_reached`, as a number; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(u64);

impl Code {
    /// No code.
    pub const NONE: Code = Code(0);

    /// The code of this name.
    pub fn named(name: &str) -> Code {
        Code(crate::random::Key::word(name))
    }
}

/// One answer, with everything that a retry layer may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The HTTP status; 0 where no answer came. A short circuit may have the one with which it goes on outward.
    pub status: u16,
    /// The server's explicit word on retrying (`x-should-retry`), where it gave one.
    pub should_retry: Option<bool>,
    /// How long the server asks to wait (`retry-after` and its relatives), as the client reads it.
    pub hint: Hint,
    /// The code in the error's body.
    pub code: Code,
}

impl Answer {
    /// A success: status 200.
    pub const DELIVERED: Answer =
        Answer { outcome: Outcome::Delivered, status: 200, ..Answer::failed(Outcome::Refused) };
    /// The attempt's timeout passed.
    pub const TIMED_OUT: Answer = Answer::failed(Outcome::TimedOut);
    /// The connection was dropped.
    pub const DROPPED: Answer = Answer::failed(Outcome::Dropped);
    /// Nobody wanted it any more.
    pub const CANCELLED: Answer = Answer::failed(Outcome::Cancelled);
    /// A circuit breaker was open.
    pub const SHORT_CIRCUITED: Answer = Answer::failed(Outcome::ShortCircuited);

    /// A refusal with this HTTP status, without a hint.
    pub const fn refused(status: u16) -> Answer {
        Answer { status, ..Answer::failed(Outcome::Refused) }
    }

    /// A failure without a status.
    pub const fn failed(outcome: Outcome) -> Answer {
        Answer { outcome, status: 0, should_retry: None, hint: Hint::None, code: Code::NONE }
    }

    /// The same answer with a hint; `None` is no hint.
    #[must_use]
    pub const fn with_hint(mut self, hint: Option<SimDuration>) -> Answer {
        self.hint = match hint {
            Some(wait) => Hint::After(wait),
            None => Hint::None,
        };
        self
    }

    /// What the client of a gateway, a proxy or a mesh sees of a failure behind it. Whoever answers in the provider's
    /// place has a status to say: 504 when it waited in vain, 502 when the connection failed, 503 for what its own guards
    /// refused, 413 for what it found too large (RFC 9110, 15.5 and 15.6). A stream that fell silent is broken off.
    #[must_use]
    pub const fn through_a_hop(self) -> Answer {
        match self.outcome {
            Outcome::TimedOut | Outcome::ConnectTimedOut | Outcome::WriteTimedOut => Answer::refused(504),
            Outcome::Unreachable | Outcome::Dropped => Answer::refused(502),
            Outcome::ShortCircuited if self.status != 0 => Answer::refused(self.status),
            Outcome::ShortCircuited | Outcome::LimiterFull | Outcome::PoolTimedOut => Answer::refused(503),
            Outcome::TooLarge => Answer::refused(413),
            Outcome::Silent => Answer::failed(Outcome::StreamBroken),
            Outcome::Delivered
            | Outcome::Refused
            | Outcome::CutShort
            | Outcome::StreamFailed
            | Outcome::StreamBroken
            | Outcome::Cancelled => self,
        }
    }

    /// What is outside of a layer that hands this failure on: a short circuit that has a status of its own is told from a
    /// response only by the layer next to it.
    #[must_use]
    pub const fn beyond_a_layer(self) -> Answer {
        match self.outcome {
            Outcome::ShortCircuited if self.status != 0 => Answer::refused(self.status),
            _ => self,
        }
    }

    /// Whether the caller has what it wanted.
    pub const fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_outcomes_is_in_the_order_of_the_enum() {
        for (index, (outcome, word)) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!((outcome as usize, outcome.word()), (index, word));
        }
    }
}
