//! Callers that failed together retry together unless their waits differ at random. Libraries draw the random part
//! differently: over the whole wait, over a share of it, on top of it, in whole seconds.

use super::backoff::Draws;
use crate::units::{SimDuration, time::NANOS_PER_SEC};

/// The random part of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// None: the wait is exact.
    None,
    /// `U(0, wait)`.
    Full,
    /// Uniform from this up to the wait; a shorter wait is itself.
    DownTo(SimDuration),
    /// Full jitter in whole seconds, both ends included: a retry may come at once.
    FullWhole,
    /// `wait / 2 + U(0, wait / 2)`.
    Equal,
    /// `wait · (1 − share · U(0, 1))`: it only ever subtracts.
    Subtract(f64),
    /// `wait + U(0, amount)`.
    Add(SimDuration),
    /// `wait · (1 + share · U(0, 1))`: it only ever adds.
    AddShare(f64),
    /// `wait · (1 + share · U(−1, 1))`.
    PlusMinus(f64),
}

impl Jitter {
    /// `wait` with its random part.
    pub fn apply(&self, wait: SimDuration, draws: &mut impl Draws) -> SimDuration {
        match *self {
            Jitter::None => wait,
            Jitter::Add(amount) => wait + amount.scaled(draws.unit()),
            Jitter::Full
            | Jitter::DownTo(_)
            | Jitter::FullWhole
            | Jitter::Equal
            | Jitter::Subtract(_)
            | Jitter::AddShare(_)
            | Jitter::PlusMinus(_)
                if wait.is_zero() =>
            {
                wait
            }
            Jitter::Full => wait.scaled(draws.unit()),
            Jitter::DownTo(low) => low.min(wait) + wait.saturating_sub(low).scaled(draws.unit()),
            Jitter::FullWhole => {
                // Below 1 times the number of choices; the end of a range is 1 itself.
                let last = wait.as_nanos() / NANOS_PER_SEC;
                SimDuration::from_secs(((draws.unit() * (last + 1) as f64) as u64).min(last))
            }
            Jitter::Equal => wait.scaled(0.5 + 0.5 * draws.unit()),
            Jitter::Subtract(share) => wait.scaled(1.0 - share * draws.unit()),
            Jitter::AddShare(share) => wait.scaled(1.0 + share * draws.unit()),
            Jitter::PlusMinus(share) => wait.scaled(1.0 + share * (2.0 * draws.unit() - 1.0)),
        }
    }

    /// The shortest and the longest that `apply` can make of waits from `shortest` to `longest`.
    pub fn range(&self, shortest: SimDuration, longest: SimDuration) -> (SimDuration, SimDuration) {
        match *self {
            Jitter::None => (shortest, longest),
            Jitter::Full => (SimDuration::ZERO, longest),
            Jitter::DownTo(low) => (shortest.min(low), longest),
            Jitter::FullWhole => (SimDuration::ZERO, SimDuration::from_secs(longest.as_nanos() / NANOS_PER_SEC)),
            Jitter::Equal => (shortest.scaled(0.5), longest),
            Jitter::Subtract(share) => (shortest.scaled(1.0 - share), longest),
            Jitter::Add(amount) => (shortest, longest + amount),
            Jitter::AddShare(share) => (shortest, longest.scaled(1.0 + share)),
            Jitter::PlusMinus(share) => (shortest.scaled(1.0 - share), longest.scaled(1.0 + share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::backoff::{Always, LazyDraws};
    use crate::random::Seed;

    #[test]
    fn full_jitter_may_have_a_floor() {
        // tenacity 9.2.1: random exponential with min 1 waits exactly 1 s first, then 1 to 2, then 1 to 4 s.
        let from = Jitter::DownTo(SimDuration::from_secs(1));
        for seconds in [1, 2, 4] {
            let wait = SimDuration::from_secs(seconds);
            let ends = [0.0, 1.0].map(|end| from.apply(wait, &mut Always(end)));
            assert_eq!(ends, [SimDuration::from_secs(1), wait]);
            assert_eq!(from.range(wait, wait), (ends[0], ends[1]));
        }
        assert_eq!(from.apply(SimDuration::from_millis(5), &mut Always(1.0)), SimDuration::from_millis(5));
    }

    #[test]
    fn subtractive_jitter_never_lengthens_a_wait() {
        let wait = SimDuration::from_secs(4);
        for n in 0..10_000 {
            let mut draws = LazyDraws::new(|| Seed(3).key().with(n).stream());
            let got = Jitter::Subtract(0.25).apply(wait, &mut draws);
            assert!(got > SimDuration::from_secs(3) && got <= wait, "{got}");
        }
    }

    #[test]
    fn whole_second_jitter_reaches_both_ends() {
        // Celery 5.7: full jitter over the whole seconds 0 to 4.
        let draw = |n| {
            let mut draws = LazyDraws::new(|| Seed(3).key().with(n).stream());
            Jitter::FullWhole.apply(SimDuration::from_secs(4), &mut draws).as_nanos() / NANOS_PER_SEC
        };
        let mut seen: Vec<u64> = (0..200).map(draw).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn bounded_jitter_stays_above_its_bound() {
        // reqwest-retry 0.7, bounded: exactly 1 s, then up to 2, 4, 8 s, never below 1 s.
        let jitter = Jitter::DownTo(SimDuration::from_secs(1));
        for (wait, low, high) in [(1, 1, 1), (4, 1, 4)] {
            let range = [0.0, 1.0].map(|end| jitter.apply(SimDuration::from_secs(wait), &mut Always(end)));
            assert_eq!(range, [low, high].map(SimDuration::from_secs));
        }
    }
}
