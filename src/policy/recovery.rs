//! How an open circuit breaker comes back: how long it stays open, how it tries whether the upstream is well again, and
//! what it makes of results that come late.

use super::circuit_breaker::WhenOpen;
use crate::units::{SimDuration, SimTime};

/// How long a breaker stays open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenTime {
    /// After it was closed.
    pub first: SimDuration,
    /// What the time is multiplied by whenever it opens again without having been closed; at least 1.
    pub factor: f64,
    /// The longest time.
    pub cap: SimDuration,
    /// Whether who comes at the very end of the time is still refused.
    pub end_included: bool,
}

/// How a breaker tries whether the upstream is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfOpen {
    /// Results that must come back well before it closes after the open time; 0 closes it at once.
    pub probes: u32,
    /// The most probes that are out at a time.
    pub at_once: u32,
    /// What happens to everybody else.
    pub others: Others,
}

/// What a half-open breaker does to those who are not needed as probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They are refused.
    Reject,
    /// They wait until it closes or opens, and ask again.
    Wait,
    /// They pass, as probes too.
    Pass,
}

/// What results do that come back late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// A failure that comes back while the breaker is open starts the open time over.
    pub failure_restarts: bool,
    /// A probe that comes back when others have ended the half-open phase decides all the same: a success closes the
    /// open breaker, a failure opens the closed one.
    pub probes_decide: bool,
}

/// What becomes of what was seen when a breaker closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnClose {
    /// It is forgotten.
    Clear,
    /// It is kept.
    Keep,
    /// It is forgotten, and the result that closed the breaker is the first of the new ones.
    CountProbe,
}

impl OpenTime {
    /// Always the same time, up to its very end.
    pub const fn fixed(time: SimDuration) -> OpenTime {
        OpenTime { first: time, factor: 1.0, cap: SimDuration::MAX, end_included: false }
    }

    /// The end of an open time that begins now.
    pub(super) fn end(&self, time: SimDuration, now: SimTime) -> SimTime {
        now + time + SimDuration::from_nanos(u64::from(self.end_included))
    }

    /// The open time after this one.
    pub(super) fn next(&self, time: SimDuration) -> SimDuration {
        time.scaled(self.factor).min(self.cap)
    }
}

impl HalfOpen {
    /// So many probes, all of them at once; the others are treated as by an open breaker.
    pub const fn with(probes: u32, when_open: WhenOpen) -> HalfOpen {
        let others = match when_open {
            WhenOpen::Reject => Others::Reject,
            WhenOpen::Hold => Others::Wait,
        };
        HalfOpen { probes, at_once: probes, others }
    }

    /// Whether one more may pass while so many are out and so many came back well.
    pub(super) const fn admits(&self, out: u32, well: u32) -> bool {
        matches!(self.others, Others::Pass) || out < self.at_once && out + well < self.probes
    }
}

impl Late {
    /// Nothing.
    pub const IGNORED: Late = Late { failure_restarts: false, probes_decide: false };
}
