//! A leaky bucket used as a meter: what is charged is poured in, and it drains at a constant rate. A request fits where
//! it does not run over. It decides as a token bucket of the same capacity; its level says how full it is, as the
//! utilisation of a deployment does.

use crate::units::{SimDuration, SimTime};

/// The settings of a bucket that drains continuously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyBucket {
    /// Units that drain during one period; at least 1.
    pub amount: u64,
    /// The period; longer than zero.
    pub per: SimDuration,
    /// The most that the bucket holds, as the time in which so much drains.
    pub capacity: SimDuration,
}

/// How full a bucket is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeakyBucketState {
    /// Units × nanoseconds of the period; above the capacity where more was poured in than fits.
    level: u128,
    at: SimTime,
}

impl LeakyBucket {
    const fn brim(&self) -> u128 {
        self.amount as u128 * self.capacity.as_nanos() as u128
    }

    const fn cost(&self, units: u64) -> u128 {
        units as u128 * self.per.as_nanos() as u128
    }

    fn level_at(&self, state: &LeakyBucketState, now: SimTime) -> u128 {
        state.level.saturating_sub(u128::from(self.amount) * u128::from(now.since(state.at).as_nanos()))
    }

    /// The time in which so much drains, rounded up.
    fn drains(&self, level: u128) -> SimDuration {
        SimDuration::from_nanos(u64::try_from(level.div_ceil(u128::from(self.amount))).unwrap_or(u64::MAX))
    }

    /// The largest request that fits into an empty bucket.
    pub fn largest(&self) -> u64 {
        u64::try_from(self.brim() / u128::from(self.per.as_nanos())).unwrap_or(u64::MAX)
    }

    /// How long until so much fits; zero where it does, [`SimDuration::MAX`] where it never will.
    pub fn shortfall(&self, state: &LeakyBucketState, units: u64, now: SimTime) -> SimDuration {
        let Some(room) = self.brim().checked_sub(self.cost(units)) else { return SimDuration::MAX };
        self.drains(self.level_at(state, now).saturating_sub(room))
    }

    /// How long until it is not full.
    pub fn until_any(&self, state: &LeakyBucketState, now: SimTime) -> SimDuration {
        self.drains((self.level_at(state, now) + 1).saturating_sub(self.brim()))
    }

    /// Pours in as far as it fits, parts of units too.
    pub fn fill(&self, state: &mut LeakyBucketState, units: u64, now: SimTime) {
        let level = self.level_at(state, now);
        *state = LeakyBucketState { level: (level + self.cost(units)).min(level.max(self.brim())), at: now };
    }

    /// Pours in, whether it fits or not.
    pub fn charge(&self, state: &mut LeakyBucketState, units: u64, now: SimTime) {
        *state = LeakyBucketState { level: self.level_at(state, now) + self.cost(units), at: now };
    }

    /// Takes out again, as far as it is there.
    pub fn refund(&self, state: &mut LeakyBucketState, units: u64, now: SimTime) {
        *state = LeakyBucketState { level: self.level_at(state, now).saturating_sub(self.cost(units)), at: now };
    }

    /// The state at `now`, what drained since included.
    pub fn drained(&self, state: &LeakyBucketState, now: SimTime) -> LeakyBucketState {
        LeakyBucketState { level: self.level_at(state, now), at: now }
    }

    /// The share of the capacity that is free, from 0 to 1.
    pub fn share(&self, state: &LeakyBucketState, now: SimTime) -> f64 {
        1.0 - (self.level_at(state, now) as f64 / self.brim() as f64).min(1.0)
    }

    /// How long until it is empty.
    pub fn until_empty(&self, state: &LeakyBucketState, now: SimTime) -> SimDuration {
        self.drains(self.level_at(state, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_at_its_brim_is_free_again_when_enough_has_drained() {
        // By hand: 600 a minute, ten seconds of capacity hold 100. After 80, another 50 fit in 3 s, when 30 have drained;
        // 101 never do.
        let bucket = LeakyBucket { amount: 600, per: SimDuration::from_mins(1), capacity: SimDuration::from_secs(10) };
        let mut state = LeakyBucketState::default();
        assert_eq!(bucket.largest(), 100);
        bucket.charge(&mut state, 80, SimTime::ZERO);
        assert_eq!(bucket.shortfall(&state, 50, SimTime::ZERO), SimDuration::from_secs(3));
        assert_eq!(bucket.shortfall(&state, 20, SimTime::ZERO), SimDuration::ZERO);
        assert_eq!(bucket.shortfall(&state, 101, SimTime::ZERO), SimDuration::MAX);
        assert_eq!(bucket.until_any(&state, SimTime::ZERO), SimDuration::ZERO);
        // Poured over: 60 too many are gone after 6 s, and a nanosecond later there is room.
        bucket.charge(&mut state, 80, SimTime::ZERO);
        assert_eq!(bucket.until_any(&state, SimTime::ZERO), SimDuration::from_nanos(6_000_000_001));
        bucket.refund(&mut state, 1_000, SimTime::ZERO);
        assert_eq!(bucket.share(&state, SimTime::ZERO), 1.0);
    }
}
