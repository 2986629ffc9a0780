//! A pacer that warms up, as Guava's `SmoothWarmingUp` does: who comes after a pause, or first of all, is let through at a
//! third of the rate, which grows to the whole one while requests come.
//!
//! It stores permits while nobody comes. With none stored a permit takes the even interval 1 ÷ rate; stored above a threshold
//! it takes longer, up to three intervals when it is full. The area under that line from full to the threshold is the time of
//! the warming up.

use crate::units::{SimDuration, SimTime};

/// The settings of the warming up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdStart {
    /// How long the warming up takes where requests come as fast as they may.
    pub over: SimDuration,
}

/// What a pacer that warms up remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmth {
    /// Permits stored; as many as there is room for is cold.
    stored: f64,
    /// When the next caller may pass.
    free: SimTime,
}

/// How many even intervals a permit takes when it is cold.
const COLD: f64 = 3.0;

impl ColdStart {
    /// The permits up to which nothing is slower, and the most that are stored; at so many a second.
    fn permits(self, rate: f64) -> (f64, f64) {
        let even = self.over.as_secs_f64() * rate;
        let threshold = 0.5 * even;
        (threshold, threshold + 2.0 * even / (1.0 + COLD))
    }

    /// A pacer through which nobody has come yet.
    pub fn cold(self, rate: f64, now: SimTime) -> Warmth {
        Warmth { stored: self.permits(rate).1, free: now }
    }

    /// Takes so many permits, and says when the taker passes: the next one pays for them.
    pub fn reserve(self, state: &mut Warmth, rate: f64, permits: u64, now: SimTime) -> SimTime {
        let (threshold, most) = self.permits(rate);
        if now > state.free {
            let cooled = (now - state.free).as_secs_f64() * most / self.over.as_secs_f64();
            state.stored = most.min(state.stored + cooled);
            state.free = now;
        }
        let passes = state.free;
        let wanted = permits as f64;
        let spent = wanted.min(state.stored);
        // In even intervals: what lies above the threshold under the rising line, the rest at the even pace.
        let slope = (COLD - 1.0) / (most - threshold);
        let above = (state.stored - threshold).clamp(0.0, spent);
        let height = |stored: f64| 1.0 + (stored - threshold).max(0.0) * slope;
        let slow = above * 0.5 * (height(state.stored) + height(state.stored - above));
        let time = (slow + wanted - above) / rate;
        state.stored -= spent;
        state.free += SimDuration::from_secs_f64(time);
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_third_of_the_rate_and_ends_at_the_whole_one() {
        // By hand from the published formulas, at one a second and 4 s: threshold 0.5 * 4 = 2, most 2 + 2 * 4 / (1 + 3) = 4,
        // slope (3 - 1) / (4 - 2) = 1. From 4 to 3 stored the line falls from 3 to 2, 2.5 s; from 3 to 2 to 1, 1.5 s; below
        // it is even. The four seconds between the first and the third are the warming up.
        let cold = ColdStart { over: SimDuration::from_secs(4) };
        let mut state = cold.cold(1.0, SimTime::ZERO);
        let mut next = |now: f64| {
            let now = SimTime::ZERO + SimDuration::from_secs_f64(now);
            cold.reserve(&mut state, 1.0, 1, now).as_secs_f64()
        };
        assert_eq!([0.0; 6].map(&mut next), [0.0, 2.5, 4.0, 5.0, 6.0, 7.0]);
        // Eight seconds until all is paid. A pause of two seconds then stores two permits, which are no slower; one of
        // four more after the next is cold again.
        assert_eq!([10.0, 10.0].map(&mut next), [10.0, 11.0]);
        assert_eq!([20.0, 20.0, 20.0].map(&mut next), [20.0, 22.5, 24.0]);
        // The library's own test at two a second and 4 s: waits of 0, 1.38, 1.13, 0.88, 0.63, 0.5, 0.5 seconds.
        let mut state = cold.cold(2.0, SimTime::ZERO);
        let all = [(); 7].map(|()| cold.reserve(&mut state, 2.0, 1, SimTime::ZERO).as_secs_f64());
        for (n, wait) in [1.38, 1.13, 0.88, 0.63, 0.5, 0.5].into_iter().enumerate() {
            assert!((all[n + 1] - all[n] - wait).abs() < 0.0051, "{all:?}");
        }
        // Who takes three at once passes, and the next one pays.
        let mut state = cold.cold(1.0, SimTime::ZERO);
        let at_once = [3, 1].map(|permits| cold.reserve(&mut state, 1.0, permits, SimTime::ZERO).as_secs_f64());
        assert_eq!(at_once, [0.0, 5.0]);
    }
}
