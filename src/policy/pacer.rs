//! A pacer is a limiter on the client's side: it reserves before the call and so keeps a class within its share of a
//! limit that others use too. Whoever finds it empty waits its turn, in the order of asking.

use super::circuit_breaker::Gate;
use super::cold_start::{ColdStart, Warmth};
use super::token_bucket::{TokenBucket, TokenBucketState};
use crate::units::{SimDuration, SimTime};
use std::collections::VecDeque;

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
    /// How often it credits the time that callers slept, which says how tokens flow in.
    pub slept: Slept,
}

/// How often the time that a caller slept for its tokens flows into the bucket: once, where it flows evenly and callers
/// reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slept {
    /// Once: the tokens that flowed in are the ones that it waited for.
    #[default]
    Once,
    /// Twice. A published bucket reads its clock before it sleeps and sets its level to zero after, without reading the
    /// clock again: the next caller is credited the same time once more. Callers take their turn under a lock, the
    /// sleeper keeps it, so every second one sleeps and every other one passes at once: twice the rate.
    Twice,
    /// Never: tokens flow in at the ends of periods, all at once.
    Steps(Steps),
    /// Never: no bucket but a log, of requests. No more than the amount start within any period, and those who would start at one
    /// instant after a wait do so in even steps of the period.
    Log,
    /// Never: nothing is reserved. Whoever finds too little asks again when it should be there, and may find that others
    /// have taken it meanwhile.
    AsksAgain,
    /// Never: no bucket, but a rate that begins at a third and warms up.
    Warms(ColdStart),
}

/// How a bucket that is filled in steps begins, and where its periods begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Tokens in hand at the start; `None` is a full bucket.
    pub starts_with: Option<u64>,
    /// Whether the first taker after the bucket was full begins a period; otherwise periods follow the clock.
    pub from_first: bool,
}

impl Slept {
    /// How often the time of a sleep flows in.
    pub const fn times(self) -> f64 {
        match self {
            Slept::Once | Slept::Steps(_) | Slept::Log | Slept::AsksAgain | Slept::Warms(_) => 1.0,
            Slept::Twice => 2.0,
        }
    }
}

/// The state of a pacer.
#[derive(Clone, Debug, PartialEq)]
pub struct PacerState {
    bucket: TokenBucketState,
    /// When the lock is free again; only a bucket that credits sleep twice has one.
    free: SimTime,
    /// What a bucket that is filled in steps holds; negative where it lends.
    level: i64,
    /// Where the period begins that was seen last.
    period: SimTime,
    /// The last starts, of a pacer that keeps a log of them.
    log: VecDeque<SimTime>,
    /// How warm one is that warms up.
    warmth: Option<Warmth>,
}

impl Pacer {
    /// A bucket as it starts, as a rule full, and nobody sleeping.
    pub fn full(&self, now: SimTime) -> PacerState {
        let level = match self.slept {
            Slept::Steps(Steps { starts_with: Some(tokens), .. }) => tokens,
            _ => self.bucket.capacity_whole(),
        };
        let warmth = match self.slept {
            Slept::Warms(cold) => Some(cold.cold(self.highest_rate(), now)),
            _ => None,
        };
        let bucket = self.bucket.full(now);
        PacerState { bucket, free: now, level: signed(level), period: now, log: VecDeque::new(), warmth }
    }

    /// The most that it lets pass in the long run, per second.
    pub fn highest_rate(&self) -> f64 {
        self.slept.times() * self.bucket.amount() as f64 / self.bucket.per().as_secs_f64()
    }

    /// Takes tokens, and says how long the taker must wait for them. Reservations are served in the order in which they
    /// are made, and none is too large to be served at last.
    pub fn reserve(&self, state: &mut PacerState, tokens: u64, now: SimTime) -> SimDuration {
        match self.slept {
            Slept::Once | Slept::AsksAgain => self.bucket.reserve(&mut state.bucket, tokens, now),
            Slept::Twice => self.reserve_twice(state, tokens, now),
            Slept::Log => self.reserve_in_log(state, now),
            Slept::Steps(steps) => self.reserve_in_steps(steps, state, tokens, now),
            Slept::Warms(cold) => {
                let rate = self.highest_rate();
                let warmth = state.warmth.get_or_insert_with(|| cold.cold(rate, now));
                cold.reserve(warmth, rate, tokens, now) - now
            }
        }
    }

    fn reserve_in_log(&self, state: &mut PacerState, now: SimTime) -> SimDuration {
        let (per, amount) = (self.bucket.per(), self.bucket.amount());
        let mut start = now;
        if state.log.len() as u64 >= amount {
            let freed = state.log.pop_front().map_or(now, |first| first + per);
            let last = state.log.back().copied().unwrap_or(SimTime::ZERO);
            start = freed.max(now);
            if last > now && last >= start {
                start = last + SimDuration::from_nanos(per.as_nanos() / amount);
            }
        }
        state.log.push_back(start);
        start.since(now)
    }

    /// How long it takes until its bucket is full, if nobody takes more; `None` where it has none that fills evenly.
    pub fn until_full(&self, state: &PacerState, now: SimTime) -> Option<SimDuration> {
        match self.slept {
            Slept::Once | Slept::Twice | Slept::AsksAgain => {
                // Of one with a lock, the state is that of the next turn.
                let turn = now.max(state.free);
                Some(turn - now + self.bucket.shortfall(&state.bucket, self.bucket.capacity_whole(), turn))
            }
            Slept::Steps(_) | Slept::Log | Slept::Warms(_) => None,
        }
    }

    /// What it says to who wants to pass with so many tokens.
    pub fn enter(&self, state: &mut PacerState, tokens: u64, now: SimTime) -> Gate {
        if self.slept == Slept::AsksAgain {
            // What is more than the bucket holds passes when it is full, and leaves a debt.
            let missing = self.bucket.shortfall(&state.bucket, tokens.min(self.bucket.capacity_whole()), now);
            if !missing.is_zero() {
                // Timers are late: who comes at the very instant at which they are there is before.
                return Gate::Wait(now + missing + SimDuration::from_nanos(1));
            }
            self.bucket.withdraw(&mut state.bucket, tokens, now);
            return Gate::Pass;
        }
        let wait = self.reserve(state, tokens, now);
        if wait.is_zero() { Gate::Pass } else { Gate::Reserved(now + wait) }
    }

    fn reserve_in_steps(&self, steps: Steps, state: &mut PacerState, tokens: u64, now: SimTime) -> SimDuration {
        let (per, capacity) = (self.bucket.per(), signed(self.bucket.capacity_whole()));
        let amount = signed(self.bucket.amount());
        let ended = now.since(state.period).as_nanos() / per.as_nanos();
        state.period += per.times(ended);
        state.level = state.level.saturating_add(signed(ended).saturating_mul(amount)).min(capacity);
        if steps.from_first && state.level == capacity {
            state.period = now;
        }
        state.level = state.level.saturating_sub(signed(tokens));
        if state.level >= 0 {
            return SimDuration::ZERO;
        }
        let missing = state.level.unsigned_abs().div_ceil(self.bucket.amount());
        (state.period + per.times(missing)).since(now)
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

/// As a level, which may be below zero.
fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
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

    /// When callers get through that come at these instants, in milliseconds, at five a second in steps.
    fn in_steps(steps: Steps, callers: &[u64]) -> Vec<u64> {
        let bucket = TokenBucket::new(5, SimDuration::from_secs(1), SimDuration::from_secs(1)).unwrap();
        let pacer = Pacer { counts: Counts::Requests, bucket, slept: Slept::Steps(steps) };
        let mut state = pacer.full(SimTime::ZERO);
        let through = |at: &u64| {
            let now = SimTime::ZERO + SimDuration::from_millis(*at);
            at + pacer.reserve(&mut state, 1, now).as_nanos() / 1_000_000
        };
        callers.iter().map(through).collect()
    }

    #[test]
    fn a_bucket_that_is_filled_in_steps_lets_so_many_pass_at_each_step() {
        // By hand: five in hand, five more at each whole second, and no more than five after idleness.
        let clock = Steps { starts_with: None, from_first: false };
        assert_eq!(in_steps(clock, &[300; 12]), [[300; 5].as_slice(), &[1_000; 5], &[2_000; 2]].concat());
        assert_eq!(in_steps(clock, &[9_300; 6]), [9_300, 9_300, 9_300, 9_300, 9_300, 10_000]);
        // It starts with two.
        let two = Steps { starts_with: Some(2), ..clock };
        assert_eq!(in_steps(two, &[300, 300, 300]), [300, 300, 1_000]);
        // The period of who comes to a full bucket begins with him, and the next one where it ends.
        let first = Steps { from_first: true, ..clock };
        assert_eq!(in_steps(first, &[300; 11]), [[300; 5].as_slice(), &[1_300; 5], &[2_300]].concat());
        assert_eq!(in_steps(first, &[300, 9_700, 9_900, 9_900, 9_900, 9_900, 9_900])[5..], [9_900, 10_700]);
    }

    #[test]
    fn who_asks_again_may_be_overtaken_by_who_needs_less() {
        // By hand: of five in hand four are taken; four more need 0.6 s at five a second, one needs nothing and takes the
        // last, so that at 0.6 s three are there, and the fourth 0.2 s later.
        let bucket = TokenBucket::new(5, SimDuration::from_secs(1), SimDuration::from_secs(1)).unwrap();
        let pacer = Pacer { counts: Counts::Requests, bucket, slept: Slept::AsksAgain };
        let (mut state, start) = (pacer.full(SimTime::ZERO), SimTime::ZERO);
        let at = |millis| start + SimDuration::from_millis(millis);
        let again = |millis| Gate::Wait(at(millis) + SimDuration::from_nanos(1));
        assert_eq!(pacer.enter(&mut state, 4, start), Gate::Pass);
        assert_eq!(pacer.enter(&mut state, 4, start), again(600));
        assert_eq!(pacer.enter(&mut state, 1, start), Gate::Pass);
        assert_eq!(pacer.enter(&mut state, 4, at(600)), again(800));
        assert_eq!(pacer.enter(&mut state, 4, at(800)), Gate::Pass);
        // Eight pass when five are there, and leave three to make up for.
        assert_eq!(pacer.enter(&mut state, 8, at(1_800)), Gate::Pass);
        assert_eq!(pacer.enter(&mut state, 1, at(1_800)), again(2_600));
    }

    #[test]
    fn a_log_lets_no_more_than_the_amount_start_within_any_period() {
        let bucket = TokenBucket::new(2, SimDuration::from_secs(1), SimDuration::from_secs(1)).unwrap();
        let pacer = Pacer { counts: Counts::Requests, bucket, slept: Slept::Log };
        let mut state = pacer.full(SimTime::ZERO);
        let through = |at: u64| {
            at + pacer.reserve(&mut state, 1, SimTime::ZERO + SimDuration::from_millis(at)).as_nanos() / 1_000_000
        };
        // By hand: each starts a second after the one two before it; those of 3,000 would both start at 4,000, of which
        // the second goes half a second later.
        let starts = [0, 900, 900, 1_000, 3_000, 3_000, 3_000, 3_000].map(through);
        assert_eq!(starts, [0, 900, 1_000, 1_900, 3_000, 3_000, 4_000, 4_500]);
    }
}
