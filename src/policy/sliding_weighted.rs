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
    /// Whether what still counts of the window before is rounded down to a whole unit.
    pub whole: bool,
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
        // before · (per − elapsed) ≤ room · per; rounded down, less than the next whole unit.
        let most = if self.whole { (room + 1) * per - 1 } else { room * per };
        Some((per - (most / u128::from(before)).min(per)) as u64)
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
        let before = u128::from(at.before) * (per - elapsed);
        let before = if self.whole { before / per * per } else { before };
        let used = before + u128::from(at.present) * per;
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
        let before = at.before as f64 * rest;
        let before = if self.whole { before.floor() } else { before };
        1.0 - ((before + at.present as f64) / self.amount as f64).min(1.0)
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

    const WINDOW: SlidingWeighted = SlidingWeighted { amount: 100, per: SimDuration::from_secs(60), whole: false };

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

    #[test]
    fn what_counts_of_the_window_before_may_be_rounded_down() {
        // By hand: of ten in the first minute 10 · 59.9 ÷ 60 = 9.98 count at 60.1 s, and so nine: one fits, for two no
        // more than eight may count, which is so as soon as less than nine do, right behind 66 s.
        let window = SlidingWeighted { amount: 10, whole: true, ..WINDOW };
        let mut state = SlidingWeightedState::default();
        window.charge(&mut state, 10, second(59));
        let now = second(60) + SimDuration::from_millis(100);
        assert_eq!(window.until_any(&state, now), SimDuration::ZERO);
        assert_eq!(window.shortfall(&state, 1, now), SimDuration::ZERO);
        assert_eq!(window.shortfall(&state, 2, now), SimDuration::from_millis(5_900) + SimDuration::from_nanos(1));
        assert_eq!(window.shortfall(&state, 1, second(60)), SimDuration::from_nanos(1));
        assert!((window.share(&state, now) - 0.1).abs() < 1e-12);
    }
}
