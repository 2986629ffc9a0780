//! Limits that find themselves: how many may be in flight at once is learnt from how long results take and how many are
//! dropped. The three algorithms are those of Netflix' library `concurrency-limits`, each with its defaults: loss decides
//! (AIMD, as in TCP Reno), the gradient of a short against a long average of times (Gradient2), or the queue that the
//! times betray (Vegas).
//!
//! A limit is kept as a real number and used rounded down. A sample is one result: its time, how many were in flight when
//! it set out, itself included, and whether it was dropped. No algorithm grows a limit that is not half used.

use crate::random::Key;
use crate::units::SimDuration;

/// How a limit learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease.
    Aimd(Aimd),
    /// The gradient of the times.
    Gradient(Gradient),
    /// The queue that is inferred from the times.
    Vegas(Vegas),
}

/// Additive increase, multiplicative decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    /// What a drop multiplies the limit with; at least 0.5 and below 1.
    pub backoff: f64,
    /// Whoever takes longer than this is dropped, too.
    pub timeout: SimDuration,
    /// Whether the limit grows by one for each round of as many results as it allows, instead of for each result.
    pub by_rounds: bool,
}

/// The gradient of a result's time against the long average; drops say nothing to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    /// How many times the long average a result may take before the limit shrinks; at least 1.
    pub tolerance: f64,
    /// The weight of a new limit against the old one; above 0 and at most 1.
    pub smoothing: f64,
    /// The results over which the long average goes.
    pub long_window: u32,
    /// How many may queue: what the limit is let grow by while times stay good.
    pub queue: u32,
}

/// The queue that is inferred from the times, as in TCP Vegas. What is `None` follows the whole part of the limit's
/// decimal logarithm, which is at least 1: once, of `alpha` three times and of `beta` six times that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vegas {
    /// The queue below which the limit grows.
    pub alpha: Option<u32>,
    /// The queue above which it shrinks; and what it grows by while there is no queue.
    pub beta: Option<u32>,
    /// The queue that is none.
    pub threshold: Option<u32>,
    /// What it grows by.
    pub increase: Option<u32>,
    /// What it shrinks by.
    pub decrease: Option<u32>,
    /// The weight of a new limit against the old one; above 0 and at most 1.
    pub smoothing: f64,
    /// The shortest time is taken anew after so many times the limit of results, or down to half of that by chance.
    pub probe: u32,
}

/// The bounds of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What it begins with.
    pub initial: u32,
    /// What it never falls below; at least 1.
    pub min: u32,
    /// What it never rises above.
    pub max: u32,
}

/// One result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How long it took.
    pub time: SimDuration,
    /// How many were in flight when it set out, itself included.
    pub in_use: u32,
    /// Whether it was dropped.
    pub dropped: bool,
}

/// What an algorithm remembers of one limit.
#[derive(Clone, Copy, Debug)]
pub enum Memory {
    /// Nothing but the limit.
    Aimd,
    /// The long average.
    Gradient(LongAverage),
    /// The shortest time, and when it is taken anew.
    Vegas(Shortest),
}

/// An exponential average that begins with a plain one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongAverage {
    value: f64,
    sum: f64,
    count: u32,
}

/// The shortest time seen.
#[derive(Clone, Copy, Debug)]
pub struct Shortest {
    time: SimDuration,
    results: u32,
    /// How often it was taken anew.
    probes: u64,
    /// The labelled numbers from which the share is drawn of the results until then.
    draws: Key,
}

impl LongAverage {
    /// The results of the plain average.
    const WARM_UP: u32 = 10;

    fn add(&mut self, sample: f64, window: u32) -> f64 {
        if self.count < Self::WARM_UP {
            self.count += 1;
            self.sum += sample;
            self.value = self.sum / f64::from(self.count);
        } else {
            let weight = 2.0 / (f64::from(window) + 1.0);
            self.value = self.value * (1.0 - weight) + sample * weight;
        }
        self.value
    }
}

impl Algorithm {
    /// What it remembers before the first result. `draws` is a key of this limit alone.
    pub fn blank(&self, draws: Key) -> Memory {
        match self {
            Algorithm::Aimd(_) => Memory::Aimd,
            Algorithm::Gradient(_) => Memory::Gradient(LongAverage::default()),
            Algorithm::Vegas(_) => Memory::Vegas(Shortest { time: SimDuration::ZERO, results: 0, probes: 0, draws }),
        }
    }

    /// The limit after a result.
    pub fn learns(&self, limit: f64, memory: &mut Memory, bounds: Bounds, sample: Sample) -> f64 {
        match (self, memory) {
            (Algorithm::Aimd(aimd), _) => {
                aimd.learns(limit, sample).clamp(f64::from(bounds.min), f64::from(bounds.max))
            }
            (Algorithm::Gradient(gradient), Memory::Gradient(long)) => gradient.learns(limit, long, bounds, sample),
            (Algorithm::Vegas(vegas), Memory::Vegas(shortest)) => vegas.learns(limit, shortest, bounds, sample),
            (Algorithm::Gradient(_) | Algorithm::Vegas(_), _) => limit,
        }
    }

    /// The word for it in scenario files.
    pub const fn word(&self) -> &'static str {
        match self {
            Algorithm::Aimd(_) => "aimd",
            Algorithm::Gradient(_) => "gradient",
            Algorithm::Vegas(_) => "vegas",
        }
    }
}

impl Aimd {
    fn learns(&self, limit: f64, sample: Sample) -> f64 {
        if sample.dropped || sample.time > self.timeout {
            (limit * self.backoff).floor()
        } else if f64::from(sample.in_use) * 2.0 < limit {
            limit
        } else if self.by_rounds {
            limit + 1.0 / limit
        } else {
            limit + 1.0
        }
    }
}

impl Gradient {
    fn learns(&self, limit: f64, long: &mut LongAverage, bounds: Bounds, sample: Sample) -> f64 {
        let short = nanos(sample);
        let average = long.add(short, self.long_window);
        if average / short > 2.0 {
            long.value *= 0.95;
        }
        if f64::from(sample.in_use) < limit / 2.0 {
            return limit;
        }
        let gradient = (self.tolerance * average / short).clamp(0.5, 1.0);
        let wanted = limit * gradient + f64::from(self.queue);
        let smooth = limit * (1.0 - self.smoothing) + wanted * self.smoothing;
        smooth.clamp(f64::from(bounds.min), f64::from(bounds.max))
    }
}

impl Vegas {
    fn learns(&self, limit: f64, shortest: &mut Shortest, bounds: Bounds, sample: Sample) -> f64 {
        let time = sample.time.max(SimDuration::from_nanos(1));
        shortest.results += 1;
        let share = 0.5 + 0.5 * shortest.draws.with(shortest.probes).unit();
        if share * f64::from(self.probe) * limit <= f64::from(shortest.results) {
            *shortest = Shortest { time, results: 0, probes: shortest.probes + 1, draws: shortest.draws };
            return limit;
        }
        if shortest.time.is_zero() || time < shortest.time {
            shortest.time = time;
            return limit;
        }
        let log = log10(limit);
        let of = |said: Option<u32>, times: u32| f64::from(said.unwrap_or(times * log));
        let queue = (limit * (1.0 - shortest.time.as_nanos() as f64 / time.as_nanos() as f64)).ceil();
        let wanted = if sample.dropped {
            limit - of(self.decrease, 1)
        } else if f64::from(sample.in_use) * 2.0 < limit {
            return limit;
        } else if queue <= of(self.threshold, 1) {
            limit + of(self.beta, 6)
        } else if queue < of(self.alpha, 3) {
            limit + of(self.increase, 1)
        } else if queue > of(self.beta, 6) {
            limit - of(self.decrease, 1)
        } else {
            return limit;
        };
        let wanted = wanted.clamp(f64::from(bounds.min), f64::from(bounds.max));
        (1.0 - self.smoothing) * limit + self.smoothing * wanted
    }
}

/// A time that can divide.
fn nanos(sample: Sample) -> f64 {
    sample.time.as_nanos().max(1) as f64
}

/// The whole part of a limit's decimal logarithm, at least 1; from a thousand on the whole part of its square root, as in
/// the library.
fn log10(limit: f64) -> u32 {
    let limit = limit as u32;
    if limit < 1000 { limit.max(1).ilog10().max(1) } else { f64::from(limit).sqrt() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    const WIDE: Bounds = Bounds { initial: 20, min: 1, max: 1000 };

    fn sample(millis: u64, in_use: u32) -> Sample {
        Sample { time: SimDuration::from_millis(millis), in_use, dropped: false }
    }

    /// The limits after each of these samples.
    fn limits(algorithm: Algorithm, first: f64, bounds: Bounds, samples: &[Sample]) -> Vec<f64> {
        let mut memory = algorithm.blank(Seed(1).key());
        let mut limit = first;
        let learn = |sample: &Sample| {
            limit = algorithm.learns(limit, &mut memory, bounds, *sample);
            limit
        };
        samples.iter().map(learn).collect()
    }

    #[test]
    fn loss_takes_a_tenth_and_use_adds_one() {
        // The library's own test: 10 becomes 11 after a good result, 9 after a drop. By hand: 5.5 s are a drop too, 10 *
        // 0.9 = 9; 4 of 9 in use are too few to grow, 5 are enough; 10 * 0.9 = 9, which the bounds raise to 10.
        let aimd = Aimd { backoff: 0.9, timeout: SimDuration::from_secs(5), by_rounds: false };
        let all = |bounds, samples: &[Sample]| limits(Algorithm::Aimd(aimd), 10.0, bounds, samples);
        let dropped = Sample { dropped: true, ..sample(1, 10) };
        assert_eq!(all(WIDE, &[sample(1, 10)]), [11.0]);
        assert_eq!(all(WIDE, &[dropped]), [9.0]);
        assert_eq!(all(WIDE, &[sample(5500, 9), sample(1, 4), sample(1, 5)]), [9.0, 9.0, 10.0]);
        assert_eq!(
            all(Bounds { min: 10, max: 11, ..WIDE }, &[dropped, sample(1, 9), sample(1, 9)]),
            [10.0, 11.0, 11.0]
        );
        // By rounds: ten results add one, nearly: 10 + 1/10 + 1/10.1.
        let slow = Algorithm::Aimd(Aimd { by_rounds: true, ..aimd });
        let grown = limits(slow, 10.0, WIDE, &[sample(1, 10); 2]);
        assert!((grown[1] - (10.1 + 1.0 / 10.1)).abs() < 1e-12);
    }

    #[test]
    fn the_gradient_follows_the_times() {
        // By hand, with the library's defaults. Equal times have the gradient 1: 20 * 0.8 + 24 * 0.2 = 20.8. Then four
        // times the time: the long average is (10 + 40) / 2 = 25, the gradient 1.5 * 25 / 40 = 0.9375, the limit
        // 20.8 * 0.8 + (20.8 * 0.9375 + 4) * 0.2 = 21.34. Half of it unused: nothing moves.
        let gradient = Algorithm::Gradient(Gradient { tolerance: 1.5, smoothing: 0.2, long_window: 600, queue: 4 });
        let seen = limits(gradient, 20.0, WIDE, &[sample(10, 20), sample(40, 20), sample(40, 10)]);
        for (limit, expected) in seen.iter().zip([20.8, 21.34, 21.34]) {
            assert!((limit - expected).abs() < 1e-9, "{seen:?}");
        }
        // A hundredfold time is no more than the gradient 0.5, and a drop says nothing.
        let (fast, slow) = (sample(10, 20), Sample { dropped: true, ..sample(1000, 20) });
        let samples: Vec<Sample> = [fast; 10].into_iter().chain([slow]).collect();
        let seen = limits(gradient, 20.0, Bounds { max: 20, ..WIDE }, &samples);
        assert!((seen[9] - 20.0).abs() < 1e-12 && (seen[10] - (20.0 * 0.8 + 14.0 * 0.2)).abs() < 1e-9, "{seen:?}");
    }

    #[test]
    fn the_long_average_begins_with_a_plain_one() {
        // The library's own test: 10 to 19 give 10, 10.5 … 14.5; then a hundred in a window of 100 gives 16.2.
        let mut long = LongAverage::default();
        for n in 0..10 {
            assert!((long.add(f64::from(n + 10), 100) - (10.0 + 0.5 * f64::from(n))).abs() < 1e-12);
        }
        assert!((long.add(100.0, 100) - 16.2).abs() < 0.1);
    }

    #[test]
    fn the_queue_is_inferred_from_the_times() {
        // By hand, with the library's defaults at a limit of 20, whose logarithm is 1: alpha 3, beta 6, threshold 1, step
        // 1. The first result is the shortest. No queue adds beta; 20 * (1 - 10/11) = 1.8 is a queue of 2, below alpha:
        // one more; 20 * (1 - 10/12) = 3.3, 4: nothing; 20 * (1 - 10/15) = 6.7, 7 above beta: one less; a drop: one less.
        let vegas = Vegas {
            alpha: None,
            beta: None,
            threshold: None,
            increase: None,
            decrease: None,
            smoothing: 1.0,
            probe: 30,
        };
        let after = |vegas: Vegas, second| limits(Algorithm::Vegas(vegas), 20.0, WIDE, &[sample(10, 20), second])[1];
        let dropped = Sample { dropped: true, ..sample(10, 20) };
        let all = [sample(10, 20), sample(11, 20), sample(12, 20), sample(15, 20), dropped, sample(10, 9)];
        assert_eq!(all.map(|second| after(vegas, second)), [26.0, 21.0, 20.0, 19.0, 19.0, 20.0]);
        // Half the smoothing, half the step; a step that is said.
        assert_eq!(after(Vegas { smoothing: 0.5, ..vegas }, sample(10, 20)), 23.0);
        assert_eq!(after(Vegas { decrease: Some(5), ..vegas }, dropped), 15.0);
    }

    #[test]
    fn the_shortest_time_is_taken_anew() {
        // Ten times a limit of 1 are at most ten results and at least five; then 20 ms are the shortest, and no queue.
        let vegas = Vegas {
            alpha: Some(3),
            beta: Some(6),
            threshold: Some(0),
            increase: Some(0),
            decrease: Some(0),
            smoothing: 1.0,
            probe: 10,
        };
        let bounds = Bounds { initial: 1, min: 1, max: 50 };
        let samples: Vec<Sample> = [sample(10, 1)].into_iter().chain([sample(20, 1); 12]).collect();
        let seen = limits(Algorithm::Vegas(vegas), 1.0, bounds, &samples);
        let grows = seen.iter().position(|limit| *limit > 1.0).expect("it grows");
        assert!((5..=10).contains(&grows), "{seen:?}");
    }
}
