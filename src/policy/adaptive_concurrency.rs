//! A semaphore whose permits find themselves: every result that passes back through its place is a sample for an
//! [`Algorithm`], which says how many may be out from then on. Who finds no permit waits or is refused as before any
//! [`Semaphore`].

use super::adaptive_limit::{Algorithm, Bounds, Memory, Sample};
use super::answer::{Answer, Outcome};
use super::classify::{OutcomeSet, StatusSet, is_among};
use super::semaphore::Semaphore;
use crate::random::Key;
use crate::units::SimDuration;

/// The settings of an adaptive concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveConcurrency {
    /// How the limit learns.
    pub algorithm: Algorithm,
    /// Its bounds.
    pub bounds: Bounds,
    /// What happens to those who find no permit; its number of permits is the largest limit.
    pub semaphore: Semaphore,
    /// The failures that are drops.
    pub drops: (StatusSet, OutcomeSet),
    /// The failures that say nothing. Those that are drops are none of them.
    pub ignores: (StatusSet, OutcomeSet),
    /// How the limit grows until the first drop, where that is another way.
    pub slow_start: Option<SlowStart>,
}

/// The growth before the first drop, as TCP's: one more for each good result while the limit is at least half used, so
/// that it doubles from round to round; the first drop halves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStart {
    /// The limit that it begins with; at least 1.
    pub from: u32,
    /// The limit from which on the algorithm takes over, where no drop has come before.
    pub until: u32,
}

/// The state of one limit.
#[derive(Clone, Debug)]
pub struct LimitState {
    limit: f64,
    memory: Memory,
    starts_slowly: bool,
    /// The lowest limit so far.
    pub lowest: u32,
    /// The highest limit so far.
    pub highest: u32,
    /// Results that were drops.
    pub drops: u64,
}

impl LimitState {
    /// How many may be out now.
    pub const fn limit(&self) -> u32 {
        self.limit as u32
    }
}

impl AdaptiveConcurrency {
    /// The limit that it begins with.
    pub fn first(&self) -> u32 {
        self.slow_start.map_or(self.bounds.initial, |slow| slow.from)
    }

    /// A limit that has seen nothing. `draws` is a key of this limit alone.
    pub fn fresh(&self, draws: Key) -> LimitState {
        let first = self.first();
        LimitState {
            limit: f64::from(first),
            memory: self.algorithm.blank(draws),
            starts_slowly: self.slow_start.is_some(),
            lowest: first,
            highest: first,
            drops: 0,
        }
    }

    /// The semaphore that it is now.
    pub const fn now(&self, state: &LimitState) -> Semaphore {
        Semaphore { permits: state.limit(), ..self.semaphore }
    }

    /// A result passes back through its place, so long after its call passed inward, when `in_use` permits were out with
    /// its own.
    pub fn passed_back(&self, state: &mut LimitState, answer: &Answer, time: SimDuration, in_use: u32) {
        let dropped = is_among(answer, &self.drops.0, self.drops.1);
        let says_nothing = !answer.outcome.was_sent() || answer.outcome == Outcome::Cancelled;
        if says_nothing || !dropped && is_among(answer, &self.ignores.0, self.ignores.1) {
            return;
        }
        state.drops += u64::from(dropped);
        let sample = Sample { time, in_use, dropped };
        let learnt = self.algorithm.learns(state.limit, &mut state.memory, self.bounds, sample);
        state.limit = match self.slow_start {
            Some(slow) if state.starts_slowly => {
                let (limit, next) = (state.limit, slow.next(state.limit, sample));
                state.starts_slowly = next >= limit && next < f64::from(slow.until);
                next
            }
            Some(_) | None => learnt,
        };
        (state.lowest, state.highest) = (state.lowest.min(state.limit()), state.highest.max(state.limit()));
    }
}

impl SlowStart {
    fn next(self, limit: f64, sample: Sample) -> f64 {
        if sample.dropped {
            (limit / 2.0).floor().max(1.0)
        } else if f64::from(sample.in_use) * 2.0 >= limit {
            (limit + 1.0).min(f64::from(self.until))
        } else {
            limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::WhenFull;
    use crate::policy::adaptive_limit::Aimd;
    use crate::random::Seed;

    fn settings(slow_start: Option<SlowStart>) -> AdaptiveConcurrency {
        AdaptiveConcurrency {
            algorithm: Algorithm::Aimd(Aimd { backoff: 0.9, timeout: SimDuration::from_secs(5), by_rounds: true }),
            bounds: Bounds { initial: 10, min: 2, max: 100 },
            semaphore: Semaphore { permits: 100, when_full: WhenFull::Reject, line: None, is_pool: false },
            drops: (StatusSet::EMPTY.with(429), OutcomeSet::TIMEOUTS),
            ignores: (StatusSet::ERRORS, OutcomeSet::FAILURES),
            slow_start,
        }
    }

    fn after(settings: &AdaptiveConcurrency, answers: &[Answer]) -> LimitState {
        let mut state = settings.fresh(Seed(1).key());
        for answer in answers {
            let in_use = state.limit();
            settings.passed_back(&mut state, answer, SimDuration::from_millis(10), in_use);
        }
        state
    }

    #[test]
    fn what_was_never_sent_and_what_is_ignored_says_nothing() {
        let said = |answer| after(&settings(None), &[answer]).limit();
        let nothing = [Answer::refused(400), Answer::SHORT_CIRCUITED, Answer::CANCELLED];
        assert_eq!(nothing.map(said), [10; 3]);
        assert_eq!([Answer::refused(429), Answer::TIMED_OUT].map(said), [9; 2]);
        // Where nothing is ignored, a 400 is as good a result as any.
        let all = AdaptiveConcurrency { ignores: (StatusSet::EMPTY, OutcomeSet::EMPTY), ..settings(None) };
        assert!(after(&all, &[Answer::refused(400)]).limit > 10.0);
        let state = after(&settings(None), &[Answer::refused(429), Answer::refused(429)]);
        assert_eq!((state.limit(), state.lowest, state.highest, state.drops), (8, 8, 10, 2));
    }

    #[test]
    fn a_slow_start_doubles_each_round_until_the_first_drop() {
        // By hand: 1, and after one good result 2, after two more 4, after four more 8; a drop halves that, and from
        // there on four results add one, nearly.
        let slow = settings(Some(SlowStart { from: 1, until: 64 }));
        let good = |n| vec![Answer::DELIVERED; n];
        assert_eq!([0, 1, 3, 7].map(|n| after(&slow, &good(n)).limit()), [1, 2, 4, 8]);
        let mut answers = good(7);
        answers.push(Answer::refused(429));
        assert_eq!(after(&slow, &answers).limit(), 4);
        answers.extend(good(5));
        assert_eq!(after(&slow, &answers).limit(), 5);
        // Without a drop it ends where it is said to.
        let short = settings(Some(SlowStart { from: 1, until: 4 }));
        assert_eq!(after(&short, &good(3)).limit(), 4);
        assert_eq!(after(&short, &good(8)).limit(), 5);
    }
}
