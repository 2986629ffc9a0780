//! The client-side rate of the AWS SDKs' `adaptive` retry mode: nothing is held back until the first throttling response;
//! from then on each request takes a token of a bucket, whose rate falls to seven tenths of the measured one at each
//! throttling response and grows again along a cubic (Ha, Rhee and Xu 2008, "CUBIC"): slowly near the rate that was too much,
//! fast beyond it. It never fills faster than twice the measured rate.
//!
//! Whoever finds no token sleeps for what is missing at the rate of that moment and looks again; nobody is promised a turn.

use super::answer::{Answer, Outcome};
use super::circuit_breaker::Gate;
use super::classify::{OutcomeSet, StatusSet, is_among};
use crate::random::math::pow;
use crate::units::{SimDuration, SimTime};

/// The settings of such a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicRate {
    /// Statuses that say "too fast".
    pub statuses: StatusSet,
    /// Failures without a status that say so.
    pub outcomes: OutcomeSet,
    /// What a throttling response multiplies the rate with; above 0 and below 1.
    pub beta: f64,
    /// How steep the cubic is, in requests per second and second cubed; above 0.
    pub scale: f64,
    /// The weight of the last measured rate against those before; above 0 and at most 1.
    pub smoothing: f64,
    /// What the rate never falls below, in requests per second; above 0.
    pub min_rate: f64,
}

impl CubicRate {
    /// How many times the measured rate the bucket may fill.
    const HEADROOM: f64 = 2.0;

    /// The time in which results are counted for the measured rate, in seconds.
    const MEASURED_OVER: f64 = 0.5;

    /// What is missing of a token that is there but for rounding.
    const ROUNDING: f64 = 1e-9;
}

/// The state of one rate. Times are in seconds, as in the library.
#[derive(Clone, Copy, Debug)]
pub struct RateState {
    /// The rate at the last throttling response.
    most: f64,
    /// How long after it the cubic is there again.
    plateau: f64,
    throttled_at: f64,
    /// Whether anybody is held back: after the first throttling response.
    is_on: bool,
    rate: f64,
    capacity: f64,
    tokens: f64,
    filled_at: f64,
    measured: f64,
    measured_at: f64,
    results: u32,
    /// The lowest rate since it holds back; `None` before.
    pub lowest: Option<f64>,
    /// The highest rate since it holds back.
    pub highest: f64,
}

impl RateState {
    /// The rate at which tokens flow in, in requests per second; `None` while nobody is held back.
    pub fn rate(&self) -> Option<f64> {
        self.is_on.then_some(self.rate)
    }

    /// The rate at which tokens flow in, whether or not anybody is held back, in requests per second.
    pub const fn inflow(&self) -> f64 {
        self.rate
    }

    /// The tokens that were there when it last looked.
    pub const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// The measured rate of results, in requests per second.
    pub const fn measured(&self) -> f64 {
        self.measured
    }
}

impl CubicRate {
    /// The rate of a client that has seen nothing.
    pub fn fresh(&self) -> RateState {
        RateState {
            most: 0.0,
            plateau: 0.0,
            throttled_at: 0.0,
            is_on: false,
            rate: self.min_rate.max(1.0),
            capacity: 1.0,
            tokens: 0.0,
            filled_at: 0.0,
            measured: 0.0,
            measured_at: 0.0,
            results: 0,
            lowest: None,
            highest: 0.0,
        }
    }

    /// What it says to someone who wants to pass.
    pub fn enter(&self, state: &mut RateState, now: SimTime) -> Gate {
        if !state.is_on {
            return Gate::Pass;
        }
        fill(state, now.as_secs_f64());
        let missing = 1.0 - state.tokens;
        if missing <= Self::ROUNDING {
            state.tokens = (state.tokens - 1.0).max(0.0);
            return Gate::Pass;
        }
        let nanos = (missing / state.rate * 1e9).ceil();
        Gate::Wait(now + SimDuration::from_nanos(nanos as u64))
    }

    /// Whether this answer says "too fast".
    pub fn counts(&self, answer: &Answer) -> bool {
        is_among(answer, &self.statuses, self.outcomes)
    }

    /// A result passes back. What was never sent is none.
    pub fn passed_back(&self, state: &mut RateState, answer: &Answer, now: SimTime) {
        if !answer.outcome.was_sent() || answer.outcome == Outcome::Cancelled {
            return;
        }
        let time = now.as_secs_f64();
        self.measure(state, time);
        let rate = if self.counts(answer) {
            let too_much = if state.is_on { state.measured.min(state.rate) } else { state.measured };
            (state.most, state.throttled_at, state.is_on) = (too_much, time, true);
            state.plateau = pow(too_much * (1.0 - self.beta) / self.scale, 1.0 / 3.0);
            too_much * self.beta
        } else {
            let from_plateau = time - state.throttled_at - state.plateau;
            self.scale * from_plateau * from_plateau * from_plateau + state.most
        };
        fill(state, time);
        let rate = rate.min(Self::HEADROOM * state.measured);
        state.rate = rate.max(self.min_rate);
        state.capacity = rate.max(1.0);
        state.tokens = state.tokens.min(state.capacity);
        if state.is_on {
            state.lowest = Some(state.lowest.map_or(state.rate, |lowest| lowest.min(state.rate)));
            state.highest = state.highest.max(state.rate);
        }
    }

    /// Counts a result; the rate is measured anew when the next half second has begun.
    fn measure(&self, state: &mut RateState, time: f64) {
        let slot = (time / Self::MEASURED_OVER).floor() * Self::MEASURED_OVER;
        state.results += 1;
        if slot > state.measured_at {
            let rate = f64::from(state.results) / (slot - state.measured_at);
            state.measured = rate * self.smoothing + state.measured * (1.0 - self.smoothing);
            (state.results, state.measured_at) = (0, slot);
        }
    }
}

/// Tokens flow in up to this instant.
fn fill(state: &mut RateState, time: f64) {
    state.tokens = (state.tokens + (time - state.filled_at) * state.rate).min(state.capacity);
    state.filled_at = time;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDK: CubicRate = CubicRate {
        statuses: StatusSet::EMPTY.with(429),
        outcomes: OutcomeSet::EMPTY,
        beta: 0.7,
        scale: 0.4,
        smoothing: 0.8,
        min_rate: 0.5,
    };

    fn at(millis: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_millis(millis)
    }

    #[test]
    fn the_first_throttling_response_turns_it_on() {
        // By hand: ten results in the first second are measured as 8 a second when the next half second begins, of which
        // 2 are counted for the half before: at 0.5 s six in 0.5 s, 12 * 0.8 = 9.6; at 1 s five in 0.5 s, 10 * 0.8 + 9.6 *
        // 0.2 = 9.92. Throttled then, the rate is 0.7 of that.
        let mut state = SDK.fresh();
        for n in 0..10 {
            assert_eq!(SDK.enter(&mut state, at(100 * n)), Gate::Pass);
            SDK.passed_back(&mut state, &Answer::DELIVERED, at(100 * n));
        }
        assert!((state.measured() - 9.6).abs() < 1e-9 && state.rate().is_none());
        SDK.passed_back(&mut state, &Answer::refused(429), at(1000));
        assert!((state.measured() - 9.92).abs() < 1e-9);
        assert!((state.rate().expect("it is on") - 6.944).abs() < 1e-9);
        // What was never sent is no result.
        SDK.passed_back(&mut state, &Answer::SHORT_CIRCUITED, at(1500));
        assert!((state.measured() - 9.92).abs() < 1e-9);
    }

    #[test]
    fn the_cubic_is_back_at_the_rate_that_was_too_much_on_its_plateau() {
        // The library's own test begins with 10 a second: the plateau is (10 * 0.3 / 0.4)^(1/3) = 1.957 s. By the formula
        // the cubic is 7 at once, 10 there, and 10.4 a second later.
        let mut state = SDK.fresh();
        (state.measured, state.measured_at) = (10.0, 100.0);
        SDK.passed_back(&mut state, &Answer::refused(429), SimTime::ZERO);
        assert!((state.plateau - 1.957_433_820_584_428).abs() < 1e-9);
        let after = |seconds: f64| {
            let mut state = state;
            SDK.passed_back(&mut state, &Answer::DELIVERED, SimTime::ZERO + SimDuration::from_secs_f64(seconds));
            state.rate().expect("it is on")
        };
        for (seconds, rate) in [(0.0, 7.0), (state.plateau, 10.0), (state.plateau + 1.0, 10.4)] {
            assert!((after(seconds) - rate).abs() < 1e-6, "{seconds}");
        }
        // Twice what is measured is the most.
        assert!((after(60.0) - 20.0).abs() < 1e-9);
    }
}
