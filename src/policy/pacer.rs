//! A pacer is a limiter on the client's side: it reserves before the call and so keeps a class within its share of a
//! limit that others use too. Whoever finds it empty waits its turn, in the order of asking.

use super::token_bucket::{TokenBucket, TokenBucketState};
use crate::units::{SimDuration, SimTime};

/// What a limiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Requests: each costs 1.
    Requests,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Input and output tokens together.
    TotalTokens,
    /// Input tokens that do not come from a cache; only limits of a provider can tell.
    UncachedInputTokens,
    /// Tokens of requests in flight; only limits of a provider do.
    TokensInFlight,
    /// Money, in dollars; only limits of a provider do.
    Spend,
}

impl Counts {
    /// What a request of this size costs, without a cache and without prices.
    #[inline]
    pub const fn cost(self, input_tokens: u32, output_tokens: u32) -> u64 {
        match self {
            Counts::Requests => 1,
            Counts::InputTokens | Counts::UncachedInputTokens => input_tokens as u64,
            Counts::OutputTokens => output_tokens as u64,
            Counts::TotalTokens | Counts::TokensInFlight | Counts::Spend => input_tokens as u64 + output_tokens as u64,
        }
    }

    /// The word for it in scenario files.
    pub const fn word(self) -> &'static str {
        match self {
            Counts::Requests => "requests",
            Counts::InputTokens => "input_tokens",
            Counts::OutputTokens => "output_tokens",
            Counts::TotalTokens => "total_tokens",
            Counts::UncachedInputTokens => "uncached_input_tokens",
            Counts::TokensInFlight => "tokens_in_flight",
            Counts::Spend => "spend",
        }
    }
}

/// The settings of a client-side token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacer {
    /// What is counted.
    pub counts: Counts,
    /// How fast and how bursty it may flow.
    pub bucket: TokenBucket,
    /// How often it credits the time that it slept.
    pub slept: Slept,
}

/// How often the time that a caller slept for its tokens flows into the bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slept {
    /// Once: the tokens that flowed in are the ones that it waited for.
    #[default]
    Once,
    /// Twice. A published bucket reads its clock before it sleeps and sets its level to zero after, without reading the
    /// clock again: the next caller is credited the same time once more. Callers take their turn under a lock, the
    /// sleeper keeps it, so every second one sleeps and every other one passes at once: twice the rate.
    Twice,
}

impl Slept {
    /// How often the time of a sleep flows in.
    pub const fn times(self) -> f64 {
        match self {
            Slept::Once => 1.0,
            Slept::Twice => 2.0,
        }
    }
}

/// The state of a pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacerState {
    bucket: TokenBucketState,
    /// When the lock is free again; only a bucket that credits sleep twice has one.
    free: SimTime,
}

impl Pacer {
    /// A full bucket, and nobody sleeping.
    pub const fn full(&self, now: SimTime) -> PacerState {
        PacerState { bucket: self.bucket.full(now), free: now }
    }

    /// The most that it lets pass in the long run, per second.
    pub fn highest_rate(&self) -> f64 {
        self.slept.times() * self.bucket.amount() as f64 / self.bucket.per().as_secs_f64()
    }

    /// Takes tokens, and says how long the taker must wait for them. Reservations are served in the order in which they
    /// are made, and none is too large to be served at last.
    pub fn reserve(&self, state: &mut PacerState, tokens: u64, now: SimTime) -> SimDuration {
        match self.slept {
            Slept::Once => self.bucket.reserve(&mut state.bucket, tokens, now),
            Slept::Twice => self.reserve_twice(state, tokens, now),
        }
    }

    fn reserve_twice(&self, state: &mut PacerState, tokens: u64, now: SimTime) -> SimDuration {
        let turn = now.max(state.free);
        let missing = self.bucket.shortfall(&state.bucket, tokens, turn);
        if missing.is_zero() {
            self.bucket.withdraw(&mut state.bucket, tokens, turn);
        } else {
            // The level after the sleep, under the time before it.
            state.bucket = self.bucket.empty(turn);
        }
        state.free = turn + missing;
        state.free - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten a second, and one in hand.
    fn pacer(slept: Slept) -> Pacer {
        let bucket = TokenBucket::new(10, SimDuration::from_secs(1), SimDuration::from_millis(100)).unwrap();
        Pacer { counts: Counts::Requests, bucket, slept }
    }

    /// When callers that all come at the start get through, in milliseconds.
    fn herd(slept: Slept, callers: usize) -> Vec<u64> {
        let (pacer, now) = (pacer(slept), SimTime::ZERO);
        let mut state = pacer.full(now);
        (0..callers).map(|_| pacer.reserve(&mut state, 1, now).as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn a_bucket_that_credits_its_sleep_twice_lets_every_second_caller_pass_for_nothing() {
        // By hand, level · clock: 1 · 0 passes; 0 · 0 sleeps to 100 with the clock at 0; then 100 ms are credited, which
        // is one token, so the next passes at 100; the next sleeps to 200, and so on.
        assert_eq!(herd(Slept::Twice, 7), [0, 100, 100, 200, 200, 300, 300]);
        assert_eq!(herd(Slept::Once, 7), [0, 100, 200, 300, 400, 500, 600]);
    }

    #[test]
    fn one_caller_in_a_loop_gets_twice_the_rate_too() {
        // By hand: 1 of the full bucket, then two each 100 ms: 201 within ten seconds, against 101.
        for (slept, expected) in [(Slept::Twice, 201), (Slept::Once, 101)] {
            let pacer = pacer(slept);
            let (mut state, mut now, mut passed) = (pacer.full(SimTime::ZERO), SimTime::ZERO, 0);
            loop {
                now = now + pacer.reserve(&mut state, 1, now);
                if now > SimTime::ZERO + SimDuration::from_secs(10) {
                    break;
                }
                passed += 1;
            }
            assert_eq!(passed, expected);
        }
    }

    #[test]
    fn nothing_is_credited_twice_where_nobody_sleeps() {
        // By hand: one every 100 ms is what flows in; both buckets let each pass as it comes.
        for slept in [Slept::Once, Slept::Twice] {
            let pacer = pacer(slept);
            let mut state = pacer.full(SimTime::ZERO);
            for n in 0..50 {
                let now = SimTime::ZERO + SimDuration::from_millis(100).times(n);
                assert_eq!(pacer.reserve(&mut state, 1, now), SimDuration::ZERO, "{n}");
            }
        }
    }

    #[test]
    fn the_credit_of_a_long_sleep_is_cut_at_the_capacity() {
        // By hand: five tokens need 0.4 s with one in hand; after the sleep no more than one is credited, so that the
        // next five sleep 0.4 s again.
        let pacer = pacer(Slept::Twice);
        let mut state = pacer.full(SimTime::ZERO);
        let waits = [0; 3].map(|_| pacer.reserve(&mut state, 5, SimTime::ZERO).as_nanos() / 1_000_000);
        assert_eq!(waits, [400, 800, 1_200]);
    }
}
