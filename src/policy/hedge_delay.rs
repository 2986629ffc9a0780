//! When a hedge sends its next request: after a time that is stated, or after one that follows what was measured, such as
//! the 95th percentile of the latest answers, so that about one request in twenty is sent twice (Dean and Barroso 2013).
//!
//! What is measured is the time of each request that was answered, from when it was sent, losers and failures left out, as
//! tower's hedge has it. A slow request that its rival beats is therefore not seen, and the delay sinks below the true
//! percentile where hedges win often: the budget bounds what that costs.

use crate::units::SimDuration;

/// How long after one request of a hedge the next one goes out.
#[derive(Clone, Debug, PartialEq)]
pub enum HedgeDelay {
    /// So long; zero sends all at once.
    Fixed(SimDuration),
    /// As long as most of the latest answers took.
    Measured(MeasuredDelay),
}

/// A delay that follows the latest answers.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDelay {
    /// The share of the answers that came sooner or then, above 0, at most 1.
    pub quantile: f64,
    /// How many of the latest answers are looked at; 1 to [`MeasuredDelay::MOST`].
    pub of_last: u32,
    /// From how many on; until then the delay is `at_first`. At most `of_last`.
    pub after: u32,
    /// The delay until so many are there; without one nothing is hedged until then.
    pub at_first: Option<SimDuration>,
    /// The delay is no shorter.
    pub at_least: SimDuration,
}

impl HedgeDelay {
    /// The delay before anything was measured; `None` where nothing is hedged then.
    pub fn at_first(&self) -> Option<SimDuration> {
        match self {
            HedgeDelay::Fixed(delay) => Some(*delay),
            HedgeDelay::Measured(measured) => measured.at_first.map(|delay| delay.max(measured.at_least)),
        }
    }

    /// The longest that it can be; `None` where what is measured says it.
    pub const fn longest(&self) -> Option<SimDuration> {
        match self {
            HedgeDelay::Fixed(delay) => Some(*delay),
            HedgeDelay::Measured(_) => None,
        }
    }
}

impl MeasuredDelay {
    /// The most answers that are looked at.
    pub const MOST: u32 = 1_000;

    /// The place among so many times, the shortest first and counted from 0, of the one that this share does not exceed:
    /// the nearest rank, ⌈quantile · count⌉.
    fn rank(&self, count: usize) -> usize {
        // A product such as 0.95 · 20 may be a hair above a whole number.
        let rank = (self.quantile * count as f64 - 1e-9).ceil().max(1.0) as usize;
        rank.min(count) - 1
    }
}

/// The latest answers' times, at most so many as are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatestTimes {
    /// In the order of their coming, round and round.
    came: Vec<SimDuration>,
    /// The same, the shortest first.
    sorted: Vec<SimDuration>,
    /// Where the oldest lies, once there are as many as are looked at.
    oldest: usize,
}

impl LatestTimes {
    /// None yet, with room for all that will be looked at.
    pub fn none(delay: &MeasuredDelay) -> LatestTimes {
        let most = delay.of_last as usize;
        LatestTimes { came: Vec::with_capacity(most), sorted: Vec::with_capacity(most), oldest: 0 }
    }

    /// One more answer took so long; where there are enough, the oldest is forgotten.
    pub fn add(&mut self, delay: &MeasuredDelay, took: SimDuration) {
        if self.came.len() < delay.of_last as usize {
            self.came.push(took);
        } else {
            let old = std::mem::replace(&mut self.came[self.oldest], took);
            self.oldest = (self.oldest + 1) % self.came.len();
            self.sorted.remove(self.sorted.partition_point(|known| *known < old));
        }
        self.sorted.insert(self.sorted.partition_point(|known| *known <= took), took);
    }

    /// The delay now; `None` where nothing is hedged yet.
    pub fn delay(&self, delay: &MeasuredDelay) -> Option<SimDuration> {
        let count = self.sorted.len();
        let now = if count < delay.after as usize { delay.at_first? } else { self.sorted[delay.rank(count)] };
        Some(now.max(delay.at_least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(quantile: f64, of_last: u32, after: u32) -> MeasuredDelay {
        MeasuredDelay { quantile, of_last, after, at_first: None, at_least: SimDuration::from_millis(30) }
    }

    #[test]
    fn the_delay_is_the_nearest_rank_of_the_latest_answers() {
        // By hand: of 20, 40, …, 200 ms the 50 % are 100 ms, the 90 % 180 ms, the 91 % and all 200 ms, a thousandth 20 ms,
        // which is less than is allowed.
        let of = |quantile: f64| {
            let settings = delay(quantile, 10, 10);
            let mut times = LatestTimes::none(&settings);
            for n in [7, 3, 10, 1, 5, 8, 2, 9, 4, 6] {
                assert_eq!(times.delay(&settings), None);
                times.add(&settings, SimDuration::from_millis(20 * n));
            }
            times.delay(&settings).unwrap().as_secs_f64()
        };
        assert_eq!([of(0.5), of(0.9), of(0.91), of(1.0), of(0.001)], [0.1, 0.18, 0.2, 0.2, 0.03]);
        assert_eq!([0.95, 0.05, 0.3].map(|q| delay(q, 20, 1).rank(20)), [18, 0, 5]);
    }

    #[test]
    fn the_oldest_answer_is_forgotten() {
        // By hand: the median of the last three, of 1 to 9 s, in whole seconds, with a 5 that comes twice.
        let settings = delay(0.5, 3, 1);
        let mut times = LatestTimes::none(&settings);
        let medians = [5, 1, 9, 5, 5, 2, 3].map(|seconds| {
            times.add(&settings, SimDuration::from_secs(seconds));
            times.delay(&settings).unwrap().as_secs_f64()
        });
        assert_eq!(medians, [5.0, 1.0, 5.0, 5.0, 5.0, 5.0, 3.0]);
    }

    #[test]
    fn a_delay_is_stated_until_enough_was_measured() {
        let settings = MeasuredDelay { at_first: Some(SimDuration::from_secs(1)), ..delay(0.5, 9, 2) };
        let mut times = LatestTimes::none(&settings);
        let delays = [4, 8].map(|seconds| {
            times.add(&settings, SimDuration::from_secs(seconds));
            times.delay(&settings).unwrap().as_secs_f64()
        });
        assert_eq!(delays, [1.0, 4.0]);
    }
}
