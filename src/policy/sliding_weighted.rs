//! A sliding window by two counters: the window before counts in proportion to how much of it a span of one period would
//! still cover. Products of counts and nanoseconds are whole numbers, so that nothing is rounded.

use crate::units::{SimDuration, SimTime};

/// The settings of a sliding window of two counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWeighted {
    /// Units in a span of one period, as estimated; at least 1.
    pub amount: u64,
    /// The period; longer than zero.
    pub per: SimDuration,
}

/// What was used of the window that was touched last, and of the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlidingWeightedState {
    index: u64,
    present: u64,
    before: u64,
}

impl SlidingWeighted {
    const fn index(&self, at: SimTime) -> u64 {
        at.as_nanos() / self.per.as_nanos()
    }

    fn at(&self, state: &SlidingWeightedState, now: SimTime) -> SlidingWeightedState {
        let index = self.index(now);
        match index - state.index.min(index) {
            0 => *state,
            1 => SlidingWeightedState { index, present: 0, before: state.present },
            _ => SlidingWeightedState { index, present: 0, before: 0 },
        }
    }

    /// How long the window must have gone on until what was before leaves room for so much: `None` where it never does.
    fn elapses(&self, before: u64, present: u128) -> Option<u64> {
        let per = u128::from(self.per.as_nanos());
        let room = u128::from(self.amount).checked_sub(present)?;
        if before == 0 {
            return Some(0);
        }
        // before · (per − elapsed) ≤ room · per
        Some((per - (room * per / u128::from(before)).min(per)) as u64)
    }

    /// How long until so much fits; zero where it does, [`SimDuration::MAX`] where it never will.
    pub fn shortfall(&self, state: &SlidingWeightedState, units: u64, now: SimTime) -> SimDuration {
        if units > self.amount {
            return SimDuration::MAX;
        }
        let state = self.at(state, now);
        let per = self.per.as_nanos();
        let elapsed = now.as_nanos() % per;
        if let Some(due) = self.elapses(state.before, u128::from(state.present) + u128::from(units)) {
            return SimDuration::from_nanos(due.saturating_sub(elapsed));
        }
        // In the next window, whose own count is nothing yet.
        let next = self.elapses(state.present, u128::from(units)).unwrap_or(per);
        SimDuration::from_nanos(per - elapsed + next)
    }

    /// How long until anything is left.
    pub fn until_any(&self, state: &SlidingWeightedState, now: SimTime) -> SimDuration {
        let (at, per) = (self.at(state, now), u128::from(self.per.as_nanos()));
        let elapsed = u128::from(now.as_nanos()) % per;
        let used = u128::from(at.before) * (per - elapsed) + u128::from(at.present) * per;
        if used < u128::from(self.amount) * per { SimDuration::ZERO } else { self.shortfall(state, 1, now) }
    }

    /// Counts, whether it fits or not.
    pub fn charge(&self, state: &mut SlidingWeightedState, units: u64, now: SimTime) {
        *state = self.at(state, now);
        state.present = state.present.saturating_add(units);
    }

    /// Takes back what was charged at an instant; nothing where its window counts no more.
    pub fn refund(&self, state: &mut SlidingWeightedState, units: u64, charged: SimTime, now: SimTime) {
        *state = self.at(state, now);
        let index = self.index(charged);
        if index == state.index {
            state.present = state.present.saturating_sub(units);
        } else if index + 1 == state.index {
            state.before = state.before.saturating_sub(units);
        }
    }

    /// The share that is left, from 0 to 1.
    pub fn share(&self, state: &SlidingWeightedState, now: SimTime) -> f64 {
        let (at, per) = (self.at(state, now), self.per.as_nanos());
        let rest = (per - now.as_nanos() % per) as f64 / per as f64;
        1.0 - ((at.before as f64 * rest + at.present as f64) / self.amount as f64).min(1.0)
    }

    /// How long until the window ends.
    pub const fn until_reset(&self, now: SimTime) -> SimDuration {
        SimDuration::from_nanos(self.per.as_nanos() - now.as_nanos() % self.per.as_nanos())
    }

    /// How long until nothing is used.
    pub fn until_empty(&self, state: &SlidingWeightedState, now: SimTime) -> SimDuration {
        match self.at(state, now) {
            SlidingWeightedState { present: 1.., .. } => self.until_reset(now) + self.per,
            SlidingWeightedState { before: 1.., .. } => self.until_reset(now),
            _ => SimDuration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(n)
    }

    const WINDOW: SlidingWeighted = SlidingWeighted { amount: 100, per: SimDuration::from_secs(60) };

    #[test]
    fn the_window_before_counts_by_the_part_that_is_still_covered() {
        // By hand: 80 in the first minute. At 75 s three quarters of it count, 60: 40 fit. For 60 no more than 40 may
        // count, which is so at 90 s.
        let mut state = SlidingWeightedState::default();
        WINDOW.charge(&mut state, 80, second(59));
        assert_eq!(WINDOW.shortfall(&state, 40, second(75)), SimDuration::ZERO);
        assert_eq!(WINDOW.shortfall(&state, 41, second(75)), SimDuration::from_nanos(750_000_000));
        assert_eq!(WINDOW.shortfall(&state, 60, second(75)), SimDuration::from_secs(15));
        // With 30 more in this minute, 80 never fit in it; in the next one 20 of the 30 may count, at 140 s.
        WINDOW.charge(&mut state, 30, second(75));
        assert_eq!(WINDOW.shortfall(&state, 80, second(75)), SimDuration::from_secs(65));
        assert_eq!(WINDOW.shortfall(&state, 101, second(75)), SimDuration::MAX);
        assert_eq!(WINDOW.until_empty(&state, second(75)), SimDuration::from_secs(105));
        assert_eq!(WINDOW.share(&state, second(200)), 1.0);
    }
}
