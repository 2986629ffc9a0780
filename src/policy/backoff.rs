//! Backoff is the planned wait before the next attempt; its random part is [`Jitter`].
//!
//! Without jitter, callers that failed together retry together: the retries arrive as a spike as sharp as the one
//! that caused them (Brooker 2015, "Exponential Backoff and Jitter"). Shapes are named as there, plus the ones that
//! client libraries use: a share that only subtracts (the Stainless SDKs), an amount that only adds (tenacity), whole
//! seconds (Celery).

use super::jitter::Jitter;
use crate::random::{Stream, math};
use crate::units::SimDuration;

/// Random numbers for one wait, drawn only when something asks.
pub trait Draws {
    /// The next uniform in [0, 1).
    fn unit(&mut self) -> f64;

    /// The first number of the wait before this one, where it is known; at an end of a range, the other end.
    fn earlier(&self) -> Option<f64> {
        None
    }
}

impl Draws for Stream {
    fn unit(&mut self) -> f64 {
        self.next_unit()
    }
}

/// Draws whose source is made when the first number is asked for.
#[derive(Debug)]
pub struct LazyDraws<F, D> {
    make: F,
    source: Option<D>,
    earlier: Option<f64>,
    first: Option<f64>,
}

impl<D: Draws, F: Fn() -> D> LazyDraws<F, D> {
    /// Draws from what `make` will make.
    pub const fn new(make: F) -> Self {
        LazyDraws { make, source: None, earlier: None, first: None }
    }

    /// The same draws, after a wait whose first number was this.
    #[must_use]
    pub const fn after(mut self, earlier: f64) -> Self {
        self.earlier = Some(earlier);
        self
    }

    /// The first number that was drawn.
    pub const fn first(&self) -> Option<f64> {
        self.first
    }
}

impl<D: Draws, F: Fn() -> D> Draws for LazyDraws<F, D> {
    fn unit(&mut self) -> f64 {
        let unit = self.source.get_or_insert_with(&self.make).unit();
        self.first.get_or_insert(unit);
        unit
    }

    fn earlier(&self) -> Option<f64> {
        self.source.as_ref().and_then(Draws::earlier).or(self.earlier)
    }
}

/// Always the same number: an end of a range.
#[derive(Clone, Copy, Debug)]
pub struct Always(pub f64);

impl Draws for Always {
    fn unit(&mut self) -> f64 {
        self.0
    }

    fn earlier(&self) -> Option<f64> {
        Some(1.0 - self.0)
    }
}

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
        /// What each further wait is multiplied by; above 0, below 1 the waits shrink.
        factor: f64,
        /// The longest wait.
        cap: SimDuration,
    },
    /// `initial` times the Fibonacci numbers 1, 1, 2, 3, 5, …, at most `cap`.
    Fibonacci {
        /// The first two waits.
        initial: SimDuration,
        /// The longest wait.
        cap: SimDuration,
    },
    /// `unit · (n − 1 + offset)^power`.
    Power {
        /// The unit.
        unit: SimDuration,
        /// What is added to the number of earlier retries.
        offset: u32,
        /// The power.
        power: u32,
    },
    /// The listed waits in order; the last one repeats.
    List(Vec<SimDuration>),
    /// Uniform between two bounds, times the number of the retry where `per_retry`.
    Uniform {
        /// The lower bound.
        low: SimDuration,
        /// The upper bound.
        high: SimDuration,
        /// Whether both bounds grow with the number of the retry.
        per_retry: bool,
    },
    /// `U(initial, 3 · previous)`, at most `cap`, where `previous` starts as `initial` (Brooker 2015, "decorrelated
    /// jitter").
    Decorrelated {
        /// The shortest wait.
        initial: SimDuration,
        /// The longest wait.
        cap: SimDuration,
    },
    /// The first of these for the first retry, the second for the second, and so on, each at its own step; the last one
    /// goes on.
    Chain(Vec<Backoff>),
    /// An exponential ladder whose rungs are spread until no gap is left between them: retry number `n` comes at a
    /// random point of `factor^t · tanh √(4t)`, n − 1 ≤ t < n, in units of `initial / 1.4`, so that the median of the
    /// first wait is about `initial`; each wait is the way from the last point, at most `cap` ("decorrelated jitter
    /// V2" of Polly).
    Smooth {
        /// The median of the first wait.
        initial: SimDuration,
        /// What each further wait is multiplied by, about; at least 1.
        factor: f64,
        /// The longest wait.
        cap: SimDuration,
    },
    /// All of these added up.
    Sum(Vec<Backoff>),
    /// That backoff with a jitter of its own, and then at most so long.
    Jittered {
        /// The backoff.
        of: Box<Backoff>,
        /// Its random part.
        jitter: Jitter,
        /// The longest wait, jitter included.
        longest: SimDuration,
    },
    /// That backoff, but never shorter than this.
    AtLeast(SimDuration, Box<Backoff>),
    /// That backoff, but the first retry is at once.
    FirstAtOnce(Box<Backoff>),
}

impl Backoff {
    /// The wait before retry number `n` (from 1), before jitter. `previous` is the wait that was last taken, zero
    /// before the first; only decorrelated backoff looks at it.
    pub fn wait(&self, n: u32, previous: SimDuration, draws: &mut impl Draws) -> SimDuration {
        match self {
            Backoff::None => SimDuration::ZERO,
            Backoff::Fixed(wait) => *wait,
            Backoff::Linear { initial, step, cap } => (*initial + step.times(u64::from(n.saturating_sub(1)))).min(*cap),
            Backoff::Exponential { initial, factor, cap } => exponential(*initial, *factor, *cap, n),
            Backoff::Fibonacci { initial, cap } => fibonacci(*initial, *cap, n),
            Backoff::Power { unit, offset, power } => {
                unit.times(u64::from(n.saturating_sub(1)).saturating_add(u64::from(*offset)).saturating_pow(*power))
            }
            Backoff::List(waits) => waits[(n.max(1) as usize - 1).min(waits.len() - 1)],
            Backoff::Uniform { low, high, per_retry } => {
                let wait = *low + high.saturating_sub(*low).scaled(draws.unit());
                if *per_retry { wait.times(u64::from(n)) } else { wait }
            }
            Backoff::Decorrelated { initial, cap } => {
                let top = previous.max(*initial).scaled(3.0);
                (*initial + top.saturating_sub(*initial).scaled(draws.unit())).min(*cap)
            }
            Backoff::Chain(parts) => parts[(n.max(1) as usize - 1).min(parts.len() - 1)].wait(n, previous, draws),
            Backoff::Smooth { initial, factor, cap } => {
                let place = |rung: u32, unit: f64| smooth_place(*factor, f64::from(rung) + unit);
                let here = place(n.saturating_sub(1), draws.unit());
                if here == f64::INFINITY {
                    return *cap;
                }
                let before = if n <= 1 { 0.0 } else { place(n - 2, draws.earlier().unwrap_or(0.5)) };
                initial.scaled(((here - before) / 1.4).max(0.0)).min(*cap)
            }
            Backoff::Sum(parts) => parts.iter().map(|part| part.wait(n, previous, draws)).sum(),
            Backoff::Jittered { of, jitter, longest } => {
                let planned = of.wait(n, previous, draws);
                jitter.apply(planned, draws).min(*longest)
            }
            Backoff::AtLeast(floor, backoff) => backoff.wait(n, previous, draws).max(*floor),
            Backoff::FirstAtOnce(_) if n <= 1 => SimDuration::ZERO,
            Backoff::FirstAtOnce(backoff) => backoff.wait(n, previous, draws),
        }
    }

    /// The longest wait before retry number `n`, jitter left out.
    pub fn longest(&self, n: u32) -> SimDuration {
        match self {
            Backoff::Decorrelated { initial, cap } => exponential(initial.scaled(3.0), 3.0, *cap, n),
            _ => self.wait(n, SimDuration::ZERO, &mut Always(1.0)),
        }
    }

    /// The shortest wait before retry number `n`, jitter left out.
    pub fn shortest(&self, n: u32) -> SimDuration {
        self.wait(n, SimDuration::ZERO, &mut Always(0.0))
    }
}

/// `initial · factorⁿ⁻¹` capped, by repeated multiplication: the platform's `powi` is not the same everywhere.
fn exponential(initial: SimDuration, factor: f64, cap: SimDuration, n: u32) -> SimDuration {
    let mut wait = initial;
    for _ in 1..n {
        if wait >= cap && factor >= 1.0 || factor == 1.0 || wait.is_zero() {
            break;
        }
        let next = wait.scaled(factor);
        // A ladder that shrinks stands still at the last nanosecond.
        if next == wait {
            break;
        }
        wait = next;
    }
    wait.min(cap)
}

/// Where a smoothed ladder stands at rung `t`; far up, where no wait ends any more, at infinity.
fn smooth_place(factor: f64, t: f64) -> f64 {
    math::pow(factor, t) * math::tanh((4.0 * t).sqrt())
}

fn fibonacci(initial: SimDuration, cap: SimDuration, n: u32) -> SimDuration {
    let (mut wait, mut next) = (initial, initial);
    for _ in 1..n {
        if wait >= cap || initial.is_zero() {
            break;
        }
        (wait, next) = (next, wait + next);
    }
    wait.min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::units::time::NANOS_PER_SEC;

    const SDK: Backoff =
        Backoff::Exponential { initial: SimDuration::from_millis(500), factor: 2.0, cap: SimDuration::from_secs(8) };

    fn seconds(backoff: &Backoff, upto: u32) -> Vec<f64> {
        (1..=upto).map(|n| backoff.longest(n).as_secs_f64()).collect()
    }

    #[test]
    fn the_sdk_ladder_doubles_to_its_cap() {
        // anthropic-python 1.13.0: 0.5 s doubling to 8 s.
        assert_eq!(seconds(&SDK, 7), [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
    }

    #[test]
    fn the_first_retry_of_a_connection_pool_is_at_once() {
        // urllib3 2.8.0 with backoff_factor 1: 0, 2, 4, 8, 16 s.
        let doubling =
            Backoff::Exponential { initial: SimDuration::from_secs(1), factor: 2.0, cap: SimDuration::from_secs(120) };
        assert_eq!(seconds(&Backoff::FirstAtOnce(Box::new(doubling)), 5), [0.0, 2.0, 4.0, 8.0, 16.0]);
    }

    #[test]
    fn waits_add_up_and_have_floors() {
        // tenacity 9.2.1: fixed 1 plus exponential 1 gives 2, 3, 5, 9, 17; exponential from 4 to 10 gives 4, 4, 4, 8, 10.
        let second = SimDuration::from_secs(1);
        let doubling = |cap| Backoff::Exponential { initial: second, factor: 2.0, cap };
        let sum = Backoff::Sum(vec![Backoff::Fixed(second), doubling(SimDuration::MAX)]);
        assert_eq!(seconds(&sum, 5), [2.0, 3.0, 5.0, 9.0, 17.0]);
        let floored = Backoff::AtLeast(SimDuration::from_secs(4), Box::new(doubling(SimDuration::from_secs(10))));
        assert_eq!(seconds(&floored, 5), [4.0, 4.0, 4.0, 8.0, 10.0]);
    }

    #[test]
    fn a_chain_goes_on_with_its_last_part_at_its_own_step() {
        let second = SimDuration::from_secs(1);
        let doubling = Backoff::Exponential { initial: second, factor: 2.0, cap: SimDuration::MAX };
        let chain = Backoff::Chain(vec![Backoff::None, Backoff::Fixed(second), doubling]);
        assert_eq!(seconds(&chain, 5), [0.0, 1.0, 4.0, 8.0, 16.0]);
    }

    #[test]
    fn a_part_may_have_a_jitter_of_its_own() {
        // tenacity 9.2.1: exponential jitter with initial 1, jitter 2 and max 10 waits 1 to 3, 2 to 4, 4 to 6, 8 to 10
        // and then exactly 10 s.
        let second = SimDuration::from_secs(1);
        let part = Backoff::Jittered {
            of: Box::new(Backoff::Exponential { initial: second, factor: 2.0, cap: SimDuration::MAX }),
            jitter: Jitter::Add(second.times(2)),
            longest: second.times(10),
        };
        let whole = Backoff::Sum(vec![Backoff::Fixed(second), part]);
        let ends = |n| [whole.shortest(n), whole.longest(n)].map(SimDuration::as_secs_f64);
        assert_eq!([1, 2, 3, 4, 5].map(ends), [[2.0, 4.0], [3.0, 5.0], [5.0, 7.0], [9.0, 11.0], [11.0, 11.0]]);
    }

    #[test]
    fn fibonacci_waits_grow_as_the_rabbits_do() {
        // backoff 2.2.1, fibo without jitter.
        let fibo = Backoff::Fibonacci { initial: SimDuration::from_secs(1), cap: SimDuration::MAX };
        assert_eq!(seconds(&fibo, 7), [1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0]);
        assert_eq!(fibo.longest(u32::MAX), SimDuration::MAX);
    }

    #[test]
    fn an_uncapped_ladder_saturates_instead_of_overflowing() {
        let ladder = Backoff::Exponential { initial: SimDuration::from_secs(1), factor: 10.0, cap: SimDuration::MAX };
        assert_eq!(ladder.longest(u32::MAX), SimDuration::MAX);
        let power = Backoff::Power { unit: SimDuration::from_secs(1), offset: u32::MAX, power: u32::MAX };
        assert_eq!(power.longest(u32::MAX), SimDuration::MAX);
    }

    #[test]
    fn a_smoothed_ladder_telescopes() {
        // Whatever is drawn, all waits together end where the last one was drawn: with units of 1/2, at
        // 2^3.5 · tanh √14 / 1.4 = 8.073 s after four retries from 1 s. The ends of a single wait, by hand: of the
        // first 0 and 2 · tanh 2 / 1.4, of the third 0 and (8 · tanh √12 − 2 · tanh 2) / 1.4.
        let ladder = Backoff::Smooth { initial: SimDuration::from_secs(1), factor: 2.0, cap: SimDuration::MAX };
        let mut total = 0.0;
        for n in 1..=4 {
            let mut draws = LazyDraws::new(|| Half).after(0.5);
            total += ladder.wait(n, SimDuration::ZERO, &mut draws).as_secs_f64();
            assert_eq!(draws.first(), Some(0.5));
        }
        assert!((total - 8.073).abs() < 0.001, "{total}");
        assert_eq!(ladder.shortest(1), SimDuration::ZERO);
        assert_eq!(ladder.shortest(3), SimDuration::ZERO);
        assert!((ladder.longest(1).as_secs_f64() - 1.377_2).abs() < 1e-4);
        assert!((ladder.longest(3).as_secs_f64() - 4.325_9).abs() < 1e-3, "{}", ladder.longest(3));
        assert_eq!(ladder.longest(u32::MAX), SimDuration::MAX);
    }

    struct Half;

    impl Draws for Half {
        fn unit(&mut self) -> f64 {
            0.5
        }
    }

    #[test]
    fn a_list_repeats_its_last_wait() {
        let list = Backoff::List(vec![SimDuration::from_secs(180), SimDuration::from_secs(600)]);
        assert_eq!([1, 2, 3, 9].map(|n| list.longest(n).as_nanos() / NANOS_PER_SEC), [180, 600, 600, 600]);
    }

    #[test]
    fn decorrelated_waits_stay_within_their_bounds() {
        let backoff = Backoff::Decorrelated { initial: SimDuration::from_millis(5), cap: SimDuration::from_secs(2) };
        let mut previous = SimDuration::ZERO;
        for n in 1..2_000 {
            let mut draws = LazyDraws::new(|| Seed(1).key().with(u64::from(n)).stream());
            previous = backoff.wait(n, previous, &mut draws);
            assert!(previous >= SimDuration::from_millis(5) && previous <= SimDuration::from_secs(2));
        }
    }
}
