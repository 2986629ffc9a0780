//! A token bucket in exact integer arithmetic. The level is kept in *token-periods*, tokens × nanoseconds of the
//! period, so that the refill over any span is a whole number: no drift over days, the same bytes on every machine.

use crate::units::{SimDuration, SimTime};

/// The settings of a bucket that refills continuously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Tokens that flow in during one period; at least 1.
    amount: u64,
    /// The period; longer than zero.
    per: SimDuration,
    /// The most tokens that the bucket holds, as the time it takes to refill them.
    capacity: SimDuration,
}

/// The level of a bucket. It starts full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucketState {
    /// Token-periods; negative where the bucket lends.
    level: i128,
    at: SimTime,
}

impl TokenBucketState {
    /// Whether this level is lower than the other.
    pub const fn is_below(&self, other: &TokenBucketState) -> bool {
        self.level < other.level
    }
}

impl TokenBucket {
    /// A bucket of `amount` tokens per period that holds what flows in during `capacity`; `None` where one is zero.
    pub const fn new(amount: u64, per: SimDuration, capacity: SimDuration) -> Option<Self> {
        if amount == 0 || per.is_zero() || capacity.is_zero() {
            None
        } else {
            Some(TokenBucket { amount, per, capacity })
        }
    }

    /// Tokens per period.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// The period.
    pub const fn per(&self) -> SimDuration {
        self.per
    }

    /// How long an empty bucket takes to fill.
    pub const fn capacity(&self) -> SimDuration {
        self.capacity
    }

    /// The most tokens that the bucket holds.
    pub fn capacity_tokens(&self) -> f64 {
        self.amount as f64 * self.capacity.as_nanos() as f64 / self.per.as_nanos() as f64
    }

    /// The most whole tokens that the bucket holds.
    pub fn capacity_whole(&self) -> u64 {
        u64::try_from(self.full_level() / self.cost(1)).unwrap_or(u64::MAX)
    }

    /// The bucket with another amount for each period, and so with a capacity in proportion.
    #[must_use]
    pub const fn with_amount(self, amount: u64) -> Self {
        TokenBucket { amount, ..self }
    }

    /// A full bucket.
    pub const fn full(&self, now: SimTime) -> TokenBucketState {
        TokenBucketState { level: self.full_level(), at: now }
    }

    /// A bucket with nothing in it.
    pub const fn empty(&self, now: SimTime) -> TokenBucketState {
        TokenBucketState { level: 0, at: now }
    }

    const fn full_level(&self) -> i128 {
        self.amount as i128 * self.capacity.as_nanos() as i128
    }

    const fn cost(&self, tokens: u64) -> i128 {
        tokens as i128 * self.per.as_nanos() as i128
    }

    /// Whether a request of this size fits into a full bucket.
    pub const fn can_ever_fit(&self, tokens: u64) -> bool {
        self.cost(tokens) <= self.full_level()
    }

    fn level_at(&self, state: &TokenBucketState, now: SimTime) -> i128 {
        let refilled = state.level + self.amount as i128 * (now - state.at).as_nanos() as i128;
        refilled.min(self.full_level())
    }

    /// The state at `now`, what flowed in since included.
    pub fn refilled(&self, state: &TokenBucketState, now: SimTime) -> TokenBucketState {
        TokenBucketState { level: self.level_at(state, now), at: now }
    }

    /// The share of the capacity that was there when the state was last touched, from 0 (empty or in debt) to 1.
    pub fn share_of(&self, state: &TokenBucketState) -> f64 {
        state.level.max(0) as f64 / self.full_level() as f64
    }

    /// Takes the tokens if they are there; else takes nothing and says how long they would need to gather.
    pub fn admit(&self, state: &mut TokenBucketState, tokens: u64, now: SimTime) -> Result<(), SimDuration> {
        let shortfall = self.shortfall(state, tokens, now);
        if shortfall.is_zero() {
            self.withdraw(state, tokens, now);
            return Ok(());
        }
        Err(shortfall)
    }

    /// How long the tokens need to gather, rounded up to the nanosecond; zero where they are there.
    pub fn shortfall(&self, state: &TokenBucketState, tokens: u64, now: SimTime) -> SimDuration {
        let missing = self.cost(tokens) - self.level_at(state, now);
        if missing <= 0 { SimDuration::ZERO } else { ceil_div(missing, self.amount) }
    }

    /// How long until anything at all is there, be it less than a token.
    pub fn until_any(&self, state: &TokenBucketState, now: SimTime) -> SimDuration {
        let level = self.level_at(state, now);
        if level > 0 { SimDuration::ZERO } else { ceil_div(1 - level, self.amount) }
    }

    /// Takes the tokens as far as they are there, parts of them too: no debt is made.
    pub fn drain(&self, state: &mut TokenBucketState, tokens: u64, now: SimTime) {
        let level = self.level_at(state, now);
        *state = TokenBucketState { level: (level - self.cost(tokens)).max(level.min(0)), at: now };
    }

    /// Gives tokens back; what does not fit is lost.
    pub fn deposit(&self, state: &mut TokenBucketState, tokens: u64, now: SimTime) {
        state.level = (self.level_at(state, now) + self.cost(tokens)).min(self.full_level());
        state.at = now;
    }

    /// Takes the tokens whether they are there or not: the level may go into debt.
    pub fn withdraw(&self, state: &mut TokenBucketState, tokens: u64, now: SimTime) {
        state.level = self.level_at(state, now) - self.cost(tokens);
        state.at = now;
    }

    /// Takes the tokens in any case and says how long the taker must wait until the debt is paid: reservations are
    /// served in the order in which they were made, and none is too large to be served at last.
    pub fn reserve(&self, state: &mut TokenBucketState, tokens: u64, now: SimTime) -> SimDuration {
        self.withdraw(state, tokens, now);
        if state.level >= 0 { SimDuration::ZERO } else { ceil_div(-state.level, self.amount) }
    }
}

/// `missing / amount` nanoseconds, rounded up; `missing` is positive.
fn ceil_div(missing: i128, amount: u64) -> SimDuration {
    let nanos = missing.unsigned_abs().div_ceil(u128::from(amount));
    SimDuration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_a_second_is_exact_over_ten_days() {
        // By hand: capacity 10, one per second; after draining, exactly one admission per whole second, no drift.
        let bucket = TokenBucket::new(1, SimDuration::from_secs(1), SimDuration::from_secs(10)).unwrap();
        let mut state = bucket.full(SimTime::ZERO);
        for _ in 0..10 {
            assert!(bucket.admit(&mut state, 1, SimTime::ZERO).is_ok());
        }
        for second in 1..864_000_u64 {
            let now = SimTime::ZERO + SimDuration::from_secs(second);
            assert!(bucket.admit(&mut state, 1, now).is_ok());
            assert_eq!(bucket.admit(&mut state, 1, now), Err(SimDuration::from_secs(1)));
        }
    }

    #[test]
    fn the_wait_for_a_refused_request_is_the_time_to_fit() {
        // A published error of a provider: limit 10,000 a minute, 8,782 used, 8,172 asked for: "try again in 41.724 s".
        let bucket = TokenBucket::new(10_000, SimDuration::from_mins(1), SimDuration::from_mins(1)).unwrap();
        let mut state = bucket.full(SimTime::ZERO);
        bucket.withdraw(&mut state, 8_782, SimTime::ZERO);
        assert_eq!(bucket.admit(&mut state, 8_172, SimTime::ZERO), Err(SimDuration::from_millis(41_724)));
    }

    #[test]
    fn reservations_queue_up_behind_each_other() {
        let bucket = TokenBucket::new(1, SimDuration::from_secs(1), SimDuration::from_secs(1)).unwrap();
        let mut state = bucket.full(SimTime::ZERO);
        let waits: Vec<u64> =
            (0..3).map(|_| bucket.reserve(&mut state, 2, SimTime::ZERO).as_nanos() / 1_000_000_000).collect();
        assert_eq!(waits, [1, 3, 5]);
    }
}
