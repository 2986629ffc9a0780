//! Backoff is the planned wait before the next attempt, jitter its random part.
//!
//! Without jitter, callers that failed together retry together: the retries arrive as a spike as sharp as the one
//! that caused them (Brooker 2015, "Exponential Backoff and Jitter"). Shapes are named as there, plus the ones that
//! client libraries use: a share that only subtracts (the Stainless SDKs), an amount that only adds (tenacity).

use crate::random::Stream;
use crate::units::SimDuration;

/// The planned wait before retry number `n` (the first retry is number 1), before jitter.
#[derive(Clone, Debug, PartialEq)]
pub enum Backoff {
    /// Retry at once.
    None,
    /// The same wait every time.
    Fixed(SimDuration),
    /// `initial + (n − 1) · step`, at most `cap`.
    Linear {
        /// The first wait.
        initial: SimDuration,
        /// What each further wait adds.
        step: SimDuration,
        /// The longest wait.
        cap: SimDuration,
    },
    /// `initial · factorⁿ⁻¹`, at most `cap`.
    Exponential {
        /// The first wait.
        initial: SimDuration,
        /// What each further wait is multiplied by; at least 1.
        factor: f64,
        /// The longest wait.
        cap: SimDuration,
    },
    /// The listed waits in order; the last one repeats.
    List(Vec<SimDuration>),
    /// `U(initial, 3 · previous)`, at most `cap`, where `previous` starts as `initial` (Brooker 2015, "decorrelated
    /// jitter"). It is random by itself; a jitter is not added.
    Decorrelated {
        /// The shortest wait.
        initial: SimDuration,
        /// The longest wait.
        cap: SimDuration,
    },
}

/// The random part of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// None: the wait is exact.
    None,
    /// `U(0, wait)`.
    Full,
    /// `wait / 2 + U(0, wait / 2)`.
    Equal,
    /// `wait · (1 − share · U(0, 1))`: it only ever subtracts.
    Subtract(f64),
    /// `wait + U(0, amount)`.
    Add(SimDuration),
    /// `wait · (1 + share · U(−1, 1))`.
    PlusMinus(f64),
}

impl Backoff {
    /// The wait before retry number `n` (from 1), before jitter. `previous` is the wait that was last taken, zero
    /// before the first; only decorrelated backoff looks at it, and only it draws.
    pub fn wait(&self, n: u32, previous: SimDuration, stream: impl FnOnce() -> Stream) -> SimDuration {
        match self {
            Backoff::None => SimDuration::ZERO,
            Backoff::Fixed(wait) => *wait,
            Backoff::Linear { initial, step, cap } => (*initial + step.times(u64::from(n.saturating_sub(1)))).min(*cap),
            Backoff::Exponential { initial, factor, cap } => exponential(*initial, *factor, *cap, n),
            Backoff::List(waits) => waits[(n.max(1) as usize - 1).min(waits.len() - 1)],
            Backoff::Decorrelated { initial, cap } => {
                let top = previous.max(*initial).scaled(3.0);
                (*initial + top.saturating_sub(*initial).scaled(stream().next_unit())).min(*cap)
            }
        }
    }

    /// The longest wait before retry number `n`, jitter left out.
    pub fn longest(&self, n: u32) -> SimDuration {
        match self {
            Backoff::Decorrelated { initial, cap } => exponential(initial.scaled(3.0), 3.0, *cap, n),
            Backoff::None
            | Backoff::Fixed(_)
            | Backoff::Linear { .. }
            | Backoff::Exponential { .. }
            | Backoff::List(_) => self.wait(n, SimDuration::ZERO, never_drawn),
        }
    }

    /// The shortest wait before retry number `n`, jitter left out.
    pub fn shortest(&self, n: u32) -> SimDuration {
        match self {
            Backoff::Decorrelated { initial, cap } => (*initial).min(*cap),
            Backoff::None
            | Backoff::Fixed(_)
            | Backoff::Linear { .. }
            | Backoff::Exponential { .. }
            | Backoff::List(_) => self.wait(n, SimDuration::ZERO, never_drawn),
        }
    }
}

fn never_drawn() -> Stream {
    unreachable!("only decorrelated backoff draws")
}

/// `initial · factorⁿ⁻¹` capped, by repeated multiplication: the platform's `powi` is not the same everywhere.
fn exponential(initial: SimDuration, factor: f64, cap: SimDuration, n: u32) -> SimDuration {
    let mut wait = initial;
    for _ in 1..n {
        if wait >= cap || factor == 1.0 || wait.is_zero() {
            break;
        }
        wait = wait.scaled(factor);
    }
    wait.min(cap)
}

impl Jitter {
    /// `wait` with its random part; the stream is asked for only where something is drawn.
    pub fn apply(&self, wait: SimDuration, stream: impl FnOnce() -> Stream) -> SimDuration {
        match *self {
            Jitter::None => wait,
            _ if wait.is_zero() && !matches!(self, Jitter::Add(_)) => wait,
            Jitter::Full => wait.scaled(stream().next_unit()),
            Jitter::Equal => wait.scaled(0.5 + 0.5 * stream().next_unit()),
            Jitter::Subtract(share) => wait.scaled(1.0 - share * stream().next_unit()),
            Jitter::Add(amount) => wait + amount.scaled(stream().next_unit()),
            Jitter::PlusMinus(share) => wait.scaled(1.0 + share * (2.0 * stream().next_unit() - 1.0)),
        }
    }

    /// The shortest and the longest that `apply` can make of waits from `shortest` to `longest`.
    pub fn range(&self, shortest: SimDuration, longest: SimDuration) -> (SimDuration, SimDuration) {
        match *self {
            Jitter::None => (shortest, longest),
            Jitter::Full => (SimDuration::ZERO, longest),
            Jitter::Equal => (shortest.scaled(0.5), longest),
            Jitter::Subtract(share) => (shortest.scaled(1.0 - share), longest),
            Jitter::Add(amount) => (shortest, longest + amount),
            Jitter::PlusMinus(share) => (shortest.scaled(1.0 - share), longest.scaled(1.0 + share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    const SDK: Backoff =
        Backoff::Exponential { initial: SimDuration::from_millis(500), factor: 2.0, cap: SimDuration::from_secs(8) };

    #[test]
    fn the_sdk_ladder_doubles_to_its_cap() {
        // anthropic-python 1.13.0: 0.5 s doubling to 8 s.
        let waits: Vec<u64> = (1..=7).map(|n| SDK.longest(n).as_nanos() / 1_000_000).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    }

    #[test]
    fn subtractive_jitter_never_lengthens_a_wait() {
        let wait = SimDuration::from_secs(4);
        for n in 0..10_000 {
            let got = Jitter::Subtract(0.25).apply(wait, || Seed(3).key().with(n).stream());
            assert!(got > SimDuration::from_secs(3) && got <= wait, "{got}");
        }
    }

    #[test]
    fn an_uncapped_ladder_saturates_instead_of_overflowing() {
        let ladder = Backoff::Exponential { initial: SimDuration::from_secs(1), factor: 10.0, cap: SimDuration::MAX };
        assert_eq!(ladder.longest(u32::MAX), SimDuration::MAX);
    }

    #[test]
    fn a_list_repeats_its_last_wait() {
        let list = Backoff::List(vec![SimDuration::from_secs(180), SimDuration::from_secs(600)]);
        assert_eq!([1, 2, 3, 9].map(|n| list.longest(n).as_nanos() / 1_000_000_000), [180, 600, 600, 600]);
    }

    #[test]
    fn decorrelated_waits_stay_within_their_bounds() {
        let backoff = Backoff::Decorrelated { initial: SimDuration::from_millis(5), cap: SimDuration::from_secs(2) };
        let mut previous = SimDuration::ZERO;
        for n in 1..2_000 {
            previous = backoff.wait(n, previous, || Seed(1).key().with(u64::from(n)).stream());
            assert!(previous >= SimDuration::from_millis(5) && previous <= SimDuration::from_secs(2));
        }
    }
}
