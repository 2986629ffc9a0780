//! A sliding log: every charge is remembered until it is as old as the window. It is exact and the dearest to keep: the
//! log is as long as what is in the window.

use std::collections::VecDeque;

use crate::units::{SimDuration, SimTime};

/// The settings of a sliding log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    /// Units in any span of one period; at least 1.
    pub amount: u64,
    /// The period; longer than zero.
    pub per: SimDuration,
}

/// The charges that are younger than the period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlidingLogState {
    /// Each instant, ascending, and all that was charged until then, itself included.
    log: VecDeque<(SimTime, u128)>,
    /// All that was charged and has left the window.
    gone: u128,
}

impl SlidingLogState {
    fn total(&self) -> u128 {
        self.log.back().map_or(self.gone, |(_, total)| *total)
    }

    fn used(&self) -> u128 {
        self.total() - self.gone
    }
}

impl SlidingLog {
    /// Forgets what is as old as the period.
    fn prune(&self, state: &mut SlidingLogState, now: SimTime) {
        while let Some((_, total)) = state.log.front().copied().filter(|(at, _)| now.since(*at) >= self.per) {
            state.gone = total;
            state.log.pop_front();
        }
    }

    /// The place of the first charge that still counts.
    fn first(&self, state: &SlidingLogState, now: SimTime) -> usize {
        state.log.partition_point(|(at, _)| now.since(*at) >= self.per)
    }

    /// How long until no more than so much is used.
    fn until(&self, state: &SlidingLogState, left: u128, now: SimTime) -> SimDuration {
        if state.used() <= left {
            return SimDuration::ZERO;
        }
        // The first instant with whose charge enough has gone.
        let enough = state.total() - left;
        let first = state.log.partition_point(|(_, total)| *total < enough);
        state.log.get(first).map_or(SimDuration::ZERO, |(at, _)| (*at + self.per).since(now))
    }

    /// How long until so much fits; zero where it does, [`SimDuration::MAX`] where it never will.
    pub fn shortfall(&self, state: &mut SlidingLogState, units: u64, now: SimTime) -> SimDuration {
        self.prune(state, now);
        let Some(left) = self.amount.checked_sub(units) else { return SimDuration::MAX };
        self.until(state, u128::from(left), now)
    }

    /// How long until anything is left.
    pub fn until_any(&self, state: &mut SlidingLogState, now: SimTime) -> SimDuration {
        self.shortfall(state, 1, now)
    }

    /// Logs a charge, whether it fits or not.
    pub fn charge(&self, state: &mut SlidingLogState, units: u64, now: SimTime) {
        self.prune(state, now);
        let total = state.total() + u128::from(units);
        match state.log.back_mut() {
            Some((at, last)) if *at == now => *last = total,
            _ => state.log.push_back((now, total)),
        }
    }

    /// Takes back what was charged at an instant, as far as it is still in the log.
    pub fn refund(&self, state: &mut SlidingLogState, units: u64, charged: SimTime, now: SimTime) {
        self.prune(state, now);
        let first = state.log.partition_point(|(at, _)| *at < charged);
        let before = first.checked_sub(1).map_or(state.gone, |last| state.log[last].1);
        let Some((_, total)) = state.log.get(first).filter(|(at, _)| *at == charged) else { return };
        let back = u128::from(units).min(total - before);
        state.log.iter_mut().skip(first).for_each(|(_, total)| *total -= back);
    }

    /// The share that is left, from 0 to 1.
    pub fn share(&self, state: &SlidingLogState, now: SimTime) -> f64 {
        let first = self.first(state, now);
        let gone = first.checked_sub(1).map_or(state.gone, |last| state.log[last].1);
        1.0 - ((state.total() - gone) as f64 / self.amount as f64).min(1.0)
    }

    /// How long until the oldest charge leaves the window.
    pub fn until_next(&self, state: &SlidingLogState, now: SimTime) -> SimDuration {
        state.log.get(self.first(state, now)).map_or(SimDuration::ZERO, |(at, _)| (*at + self.per).since(now))
    }

    /// How long until the log is empty.
    pub fn until_empty(&self, state: &SlidingLogState, now: SimTime) -> SimDuration {
        state.log.back().map_or(SimDuration::ZERO, |(at, _)| (*at + self.per).since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(n)
    }

    const LOG: SlidingLog = SlidingLog { amount: 10, per: SimDuration::from_secs(60) };

    #[test]
    fn a_charge_counts_for_just_under_a_period() {
        let mut state = SlidingLogState::default();
        for n in [0, 10, 20] {
            LOG.charge(&mut state, 3, second(n));
        }
        // By hand: nine are used. One fits, two when the charge of 0 s is 60 s old, five with that of 10 s too.
        let wait =
            |state: &mut SlidingLogState, units| LOG.shortfall(state, units, second(30)).as_nanos() / 1_000_000_000;
        assert_eq!([1, 2, 4, 5, 8, 10].map(|units| wait(&mut state, units)), [0, 30, 30, 40, 50, 50]);
        assert_eq!(LOG.shortfall(&mut state, 11, second(30)), SimDuration::MAX);
        assert_eq!(LOG.shortfall(&mut state, 4, SimTime::from_nanos(59_999_999_999)), SimDuration::from_nanos(1));
        assert_eq!(LOG.shortfall(&mut state, 4, second(60)), SimDuration::ZERO);
    }

    #[test]
    fn a_refund_comes_out_of_its_own_charge() {
        let mut state = SlidingLogState::default();
        LOG.charge(&mut state, 6, second(0));
        LOG.charge(&mut state, 4, second(10));
        LOG.refund(&mut state, 9, second(10), second(20));
        assert_eq!(LOG.share(&state, second(20)), 0.4);
        LOG.refund(&mut state, 5, second(0), second(61));
        assert_eq!(LOG.share(&state, second(61)), 1.0);
    }

    #[test]
    fn the_log_is_no_longer_than_what_is_in_the_window() {
        let mut state = SlidingLogState::default();
        for n in 0..100_000 {
            LOG.charge(&mut state, 1, second(n));
            LOG.charge(&mut state, 1, second(n));
        }
        assert_eq!(state.log.len(), 60);
        assert!(state.log.capacity() <= 128);
    }
}
