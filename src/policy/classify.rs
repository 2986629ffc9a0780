//! Should this be retried at all? A layer names the statuses and the kinds of failure that it repeats; an explicit
//! `x-should-retry` of the server overrides both where the layer reads it.

use super::answer::{Answer, Outcome};

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

    /// Whether the status is in the set.
    pub const fn contains(&self, status: u16) -> bool {
        status <= MAX_STATUS && self.0[(status / 64) as usize] >> (status % 64) & 1 == 1
    }

    /// The statuses in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..=MAX_STATUS).filter(|&status| self.contains(status))
    }
}

/// Which failures a layer repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// Statuses that are repeated.
    pub statuses: StatusSet,
    /// Whether a timeout is.
    pub timeouts: bool,
    /// Whether a dropped connection is.
    pub drops: bool,
    /// Whether a call that an open breaker refused is.
    pub short_circuited: bool,
    /// Whether the server's `x-should-retry` overrides all of the above.
    pub obeys_should_retry: bool,
}

impl Classification {
    /// Every failure, whatever it is: what a bare decorator and a bare job queue repeat.
    pub const ANY: Classification = Classification {
        statuses: StatusSet::ERRORS,
        timeouts: true,
        drops: true,
        short_circuited: true,
        obeys_should_retry: false,
    };

    /// Whether the layer may repeat after this answer.
    pub fn repeats(&self, answer: &Answer) -> bool {
        if let (true, Some(word)) = (self.obeys_should_retry, answer.should_retry) {
            return word;
        }
        match answer.outcome {
            Outcome::Delivered => false,
            Outcome::Refused => self.statuses.contains(answer.status),
            Outcome::TimedOut => self.timeouts,
            Outcome::Dropped => self.drops,
            Outcome::ShortCircuited => self.short_circuited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_overrides_the_status_both_ways() {
        let sdk = Classification {
            statuses: StatusSet::EMPTY.with(408).with(409).with(429).with_range(500, 599),
            timeouts: true,
            drops: true,
            short_circuited: false,
            obeys_should_retry: true,
        };
        let mut answer = Answer::refused(400);
        assert!(!sdk.repeats(&answer));
        answer.should_retry = Some(true);
        assert!(sdk.repeats(&answer));
        let mut answer = Answer::refused(500);
        assert!(sdk.repeats(&answer));
        answer.should_retry = Some(false);
        assert!(!sdk.repeats(&answer));
    }
}
