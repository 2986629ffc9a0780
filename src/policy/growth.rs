//! A limit on growth: usage may rise freely up to a floor, and above it by no more than a share over the busiest period
//! of a while before. Who keeps to the steps can go on for ever; who jumps is refused although every other limit has
//! room.

use std::collections::VecDeque;

use crate::units::{SimDuration, SimTime};

/// The settings of a limit on growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Units in one period that are always allowed; at least 1.
    pub amount: u64,
    /// The period in which usage is counted, aligned to the clock; longer than zero.
    pub per: SimDuration,
    /// How much more than the busiest period is allowed, in millionths of it.
    pub by_millionths: u64,
    /// How many periods back the busiest is looked for; at least 1.
    pub periods: u32,
}

/// What was used in the present period and in those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrowthState {
    index: u64,
    used: u64,
    /// The periods before, the latest last; those that are not there used nothing.
    before: VecDeque<u64>,
}

impl Growth {
    const fn index(&self, at: SimTime) -> u64 {
        at.as_nanos() / self.per.as_nanos()
    }

    fn move_to(&self, state: &mut GrowthState, now: SimTime) {
        let passed = self.index(now).saturating_sub(state.index);
        if passed == 0 {
            return;
        }
        let most = self.periods as usize;
        let idle = usize::try_from(passed - 1).unwrap_or(most).min(most);
        for used in std::iter::once(state.used).chain(std::iter::repeat_n(0, idle)) {
            if state.before.len() == most {
                state.before.pop_front();
            }
            state.before.push_back(used);
        }
        (state.index, state.used) = (self.index(now), 0);
    }

    /// What is allowed in the present period.
    pub fn allowed(&self, state: &mut GrowthState, now: SimTime) -> u64 {
        self.move_to(state, now);
        self.allowed_after(state)
    }

    fn allowed_after(&self, state: &GrowthState) -> u64 {
        let busiest = state.before.iter().copied().max().unwrap_or_default();
        let more = u128::from(busiest) * u128::from(1_000_000 + self.by_millionths) / 1_000_000;
        u64::try_from(more).unwrap_or(u64::MAX).max(self.amount)
    }

    /// How long until so much may fit: zero where it does, else until the next period, which allows more if this one was
    /// the busiest.
    pub fn shortfall(&self, state: &mut GrowthState, units: u64, now: SimTime) -> SimDuration {
        let allowed = self.allowed(state, now);
        if state.used.saturating_add(units) <= allowed { SimDuration::ZERO } else { self.until_reset(now) }
    }

    /// Counts, whether it fits or not.
    pub fn charge(&self, state: &mut GrowthState, units: u64, now: SimTime) {
        self.move_to(state, now);
        state.used = state.used.saturating_add(units);
    }

    /// Takes back what was charged at an instant; nothing where its period is over.
    pub fn refund(&self, state: &mut GrowthState, units: u64, charged: SimTime, now: SimTime) {
        self.move_to(state, now);
        if self.index(charged) == state.index {
            state.used = state.used.saturating_sub(units);
        }
    }

    /// The share that is left of what is allowed, from 0 to 1.
    pub fn share(&self, state: &GrowthState, now: SimTime) -> f64 {
        if self.index(now) > state.index {
            return 1.0;
        }
        1.0 - (state.used as f64 / self.allowed_after(state) as f64).min(1.0)
    }

    /// How long until the next period.
    pub const fn until_reset(&self, now: SimTime) -> SimDuration {
        SimDuration::from_nanos(self.per.as_nanos() - now.as_nanos() % self.per.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_above_the_floor_may_grow_by_half_in_fifteen_minutes() {
        // By hand: the floor is 100 a minute; after a minute with 100, 150 are allowed, then 225. When the busiest is
        // fifteen minutes ago it no longer counts.
        let growth = Growth { amount: 100, per: SimDuration::from_mins(1), by_millionths: 500_000, periods: 15 };
        let mut state = GrowthState::default();
        let minute = |n| SimTime::ZERO + SimDuration::from_mins(n);
        for (n, allowed) in [(0, 100), (1, 150), (2, 225)] {
            assert_eq!(growth.allowed(&mut state, minute(n)), allowed);
            growth.charge(&mut state, allowed, minute(n));
            assert_eq!(growth.shortfall(&mut state, 1, minute(n)), SimDuration::from_mins(1));
        }
        assert_eq!(growth.allowed(&mut state, minute(17)), 337);
        assert_eq!(growth.allowed(&mut state, minute(18)), 100);
    }
}
