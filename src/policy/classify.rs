//! Should this be retried at all? A layer names the statuses, the kinds of failure and the error codes that it
//! repeats, and the codes that it never does; an explicit `x-should-retry` of the server overrides them where the
//! layer reads it.

use super::answer::{Answer, Code, Hint, Outcome};

/// The highest status that an HTTP answer can carry here.
pub const MAX_STATUS: u16 = 599;

/// A set of HTTP statuses from 0 to 599.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSet([u64; 10]);

impl StatusSet {
    /// No status.
    pub const EMPTY: StatusSet = StatusSet([0; 10]);
    /// Every status that is not a success.
    pub const ERRORS: StatusSet = StatusSet::EMPTY.with_range(400, MAX_STATUS);

    /// This set and the statuses from `low` to `high`, both included.
    #[must_use]
    pub const fn with_range(mut self, low: u16, high: u16) -> Self {
        let mut status = low;
        while status <= high && status <= MAX_STATUS {
            self.0[(status / 64) as usize] |= 1 << (status % 64);
            status += 1;
        }
        self
    }

    /// This set and one more status.
    #[must_use]
    pub const fn with(self, status: u16) -> Self {
        self.with_range(status, status)
    }

    /// All of both sets.
    #[must_use]
    pub fn and(self, other: StatusSet) -> Self {
        StatusSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Whether the status is in the set.
    pub const fn contains(&self, status: u16) -> bool {
        status <= MAX_STATUS && self.0[(status / 64) as usize] >> (status % 64) & 1 == 1
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 10]
    }

    /// The statuses in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..=MAX_STATUS).filter(|&status| self.contains(status))
    }
}

/// A set of outcomes other than a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeSet(u16);

impl OutcomeSet {
    /// No outcome.
    pub const EMPTY: OutcomeSet = OutcomeSet(0);
    /// Every timeout before an answer begins: waiting for a connection of the pool, connecting, writing the request,
    /// waiting for the answer.
    pub const TIMEOUTS: OutcomeSet = OutcomeSet::EMPTY
        .with(Outcome::TimedOut)
        .with(Outcome::ConnectTimedOut)
        .with(Outcome::WriteTimedOut)
        .with(Outcome::PoolTimedOut);
    /// Every failed connection: refused, dropped, cut short.
    pub const CONNECTION: OutcomeSet =
        OutcomeSet::EMPTY.with(Outcome::Unreachable).with(Outcome::Dropped).with(Outcome::CutShort);
    /// Every failure without a status.
    pub const FAILURES: OutcomeSet = OutcomeSet::TIMEOUTS
        .and(OutcomeSet::CONNECTION)
        .with(Outcome::Silent)
        .with(Outcome::StreamFailed)
        .with(Outcome::StreamBroken)
        .with(Outcome::ShortCircuited)
        .with(Outcome::LimiterFull)
        .with(Outcome::TooLarge);

    /// This set and one more outcome.
    #[must_use]
    pub const fn with(self, outcome: Outcome) -> Self {
        OutcomeSet(self.0 | 1 << outcome as u16)
    }

    /// All of both sets.
    #[must_use]
    pub const fn and(self, other: OutcomeSet) -> Self {
        OutcomeSet(self.0 | other.0)
    }

    /// This set without one outcome.
    #[must_use]
    pub const fn without(self, outcome: Outcome) -> Self {
        OutcomeSet(self.0 & !(1 << outcome as u16))
    }

    /// Whether the outcome is in the set.
    pub const fn contains(self, outcome: Outcome) -> bool {
        self.0 >> outcome as u16 & 1 == 1
    }

    /// Whether all of the other set is in this one.
    pub const fn covers(self, other: OutcomeSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Which failures a layer repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classification {
    /// Statuses that are repeated.
    pub statuses: StatusSet,
    /// Statuses that are repeated only where the server gives a hint.
    pub statuses_with_hint: StatusSet,
    /// Failures without a status that are repeated.
    pub outcomes: OutcomeSet,
    /// Error codes that are repeated whatever the status.
    pub codes: Vec<Code>,
    /// Error codes that are never repeated: permanent errors in the clothes of temporary ones.
    pub never: Vec<Code>,
    /// Whether the server's `x-should-retry` overrides all of the above.
    pub obeys_should_retry: bool,
}

impl Classification {
    /// Every failure, whatever it is: what a bare decorator and a bare job queue repeat.
    pub const ANY: Classification = Classification {
        statuses: StatusSet::ERRORS,
        statuses_with_hint: StatusSet::EMPTY,
        outcomes: OutcomeSet::FAILURES,
        codes: Vec::new(),
        never: Vec::new(),
        obeys_should_retry: false,
    };

    /// Whether the layer may repeat after this answer.
    pub fn repeats(&self, answer: &Answer) -> bool {
        if let (true, Some(word)) = (self.obeys_should_retry, answer.should_retry) {
            return word && !answer.is_delivered();
        }
        self.matches(answer)
    }

    /// Whether the answer is one of those named, `x-should-retry` left out.
    pub fn matches(&self, answer: &Answer) -> bool {
        if answer.code != Code::NONE {
            if self.never.contains(&answer.code) {
                return false;
            }
            if self.codes.contains(&answer.code) {
                return true;
            }
        }
        is_among(answer, &self.statuses, self.outcomes)
            || answer.hint != Hint::None && is_among(answer, &self.statuses_with_hint, OutcomeSet::EMPTY)
    }
}

/// Whether an answer is one of these failures: a refusal goes by its status, every other by its outcome.
#[inline]
pub(super) fn is_among(answer: &Answer, statuses: &StatusSet, outcomes: OutcomeSet) -> bool {
    match answer.outcome {
        Outcome::Delivered => false,
        Outcome::Refused => statuses.contains(answer.status),
        Outcome::TimedOut
        | Outcome::ConnectTimedOut
        | Outcome::WriteTimedOut
        | Outcome::PoolTimedOut
        | Outcome::Silent
        | Outcome::Unreachable
        | Outcome::Dropped
        | Outcome::CutShort
        | Outcome::StreamFailed
        | Outcome::StreamBroken
        | Outcome::ShortCircuited
        | Outcome::LimiterFull
        | Outcome::TooLarge
        | Outcome::Cancelled => outcomes.contains(answer.outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    fn sdk() -> Classification {
        Classification {
            statuses: StatusSet::EMPTY.with(408).with(409).with(429).with_range(500, 599),
            outcomes: OutcomeSet::TIMEOUTS.and(OutcomeSet::CONNECTION),
            obeys_should_retry: true,
            ..Classification::default()
        }
    }

    #[test]
    fn the_header_overrides_the_status_both_ways() {
        let mut answer = Answer::refused(400);
        assert!(!sdk().repeats(&answer));
        answer.should_retry = Some(true);
        assert!(sdk().repeats(&answer));
        let mut answer = Answer::refused(500);
        assert!(sdk().repeats(&answer));
        answer.should_retry = Some(false);
        assert!(!sdk().repeats(&answer));
    }

    #[test]
    fn a_permanent_code_is_not_repeated_whatever_its_status() {
        let mut careful = sdk();
        careful.never.push(Code::named("enforced_spend_limit_reached"));
        let answer = Answer { code: Code::named("enforced_spend_limit_reached"), ..Answer::refused(429) };
        assert!(sdk().repeats(&answer));
        assert!(!careful.repeats(&answer));
    }

    #[test]
    fn some_statuses_are_repeated_only_with_a_hint() {
        // urllib3 2.8: 413, 429 and 503 are repeated by default only where a Retry-After came with them.
        let pool = Classification { statuses_with_hint: StatusSet::EMPTY.with(503), ..Classification::default() };
        assert!(!pool.repeats(&Answer::refused(503)));
        assert!(pool.repeats(&Answer::refused(503).with_hint(Some(SimDuration::from_secs(1)))));
    }
}
