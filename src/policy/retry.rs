//! A retry policy answers four questions, each in a part of its own: *should* this be repeated (classification),
//! *may* it be (attempts, total time), *when* (hint, backoff, jitter), and *where* the next try starts (a wait that
//! holds the worker, or a way back through the queue).

use super::answer::Answer;
use super::backoff::{Backoff, Jitter};
use super::classify::Classification;
use super::hint::{HintRule, HintedWait};
use crate::random::Stream;
use crate::units::{SimDuration, SimTime};

/// The settings of one retry layer.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Which failures are repeated.
    pub retry_on: Classification,
    /// The limit on attempts, the first try included; `None` for no limit.
    pub max_attempts: Option<u32>,
    /// The limit on the time since the layer was entered; `None` for no limit.
    pub deadline: Option<Deadline>,
    /// The planned wait.
    pub backoff: Backoff,
    /// Its random part.
    pub jitter: Jitter,
    /// What a server hint does to it.
    pub hint: HintRule,
    /// The longest planned wait: hint and backoff are cut to it before jitter; `None` for no cap.
    pub wait_cap: Option<SimDuration>,
    /// The longest time one attempt of this layer may take; `None` for no limit.
    pub timeout: Option<SimDuration>,
    /// Whether a wait of this layer keeps the worker.
    pub holds_worker: bool,
}

/// A limit on the total time that a layer may spend, and when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The total time, from when the layer is entered.
    pub total: SimDuration,
    /// Whether the wait that would come next is counted.
    pub check: DeadlineCheck,
}

/// When a total time limit is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineCheck {
    /// A wait that would end past the limit is not taken.
    BeforeWait,
    /// Only the time already spent counts, so that one attempt may start past the limit.
    Elapsed,
}

/// What changes in a layer between its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerState {
    /// When the layer was entered.
    pub since: SimTime,
    /// The wait that was last taken.
    pub previous: SimDuration,
    /// Attempts begun, the first included.
    pub attempts: u32,
}

/// What a layer does after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Try again at this instant.
    Retry {
        /// When.
        at: SimTime,
    },
    /// Hand the failure outward.
    GiveUp(GiveUp),
}

/// Why a layer hands a failure outward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The layer does not repeat this kind of failure.
    NotRetried,
    /// All attempts are used.
    Exhausted,
    /// The total time is over, or the next wait would pass it.
    Deadline,
    /// The server asks for a wait above the cap.
    HintTooLong,
}

impl RetryPolicy {
    /// What to do at `now` after the attempt that ended with `answer`. A retry is entered into `state`.
    pub fn decide(
        &self,
        state: &mut LayerState,
        answer: &Answer,
        now: SimTime,
        stream: impl Fn() -> Stream,
    ) -> Decision {
        if !self.retry_on.repeats(answer) {
            return Decision::GiveUp(GiveUp::NotRetried);
        }
        if self.max_attempts.is_some_and(|limit| state.attempts >= limit) {
            return Decision::GiveUp(GiveUp::Exhausted);
        }
        let own = || {
            let planned = self.backoff.wait(state.attempts, state.previous, &stream);
            self.jitter.apply(self.capped(planned), &stream)
        };
        let wait = match self.hint.read(answer.hint) {
            HintedWait::Own => own(),
            HintedWait::Exactly { wait, jittered: true } => self.jitter.apply(self.capped(wait), &stream),
            HintedWait::Exactly { wait, jittered: false } => self.capped(wait),
            HintedWait::AtLeast(hint) => own().max(self.capped(hint)),
            HintedWait::GiveUp => return Decision::GiveUp(GiveUp::HintTooLong),
        };
        if let Some(deadline) = self.deadline {
            let spent = now - state.since;
            let over = match deadline.check {
                DeadlineCheck::BeforeWait => spent + wait > deadline.total,
                DeadlineCheck::Elapsed => spent >= deadline.total,
            };
            if over {
                return Decision::GiveUp(GiveUp::Deadline);
            }
        }
        state.attempts += 1;
        state.previous = wait;
        Decision::Retry { at: now + wait }
    }

    /// A planned wait, cut to the cap.
    fn capped(&self, wait: SimDuration) -> SimDuration {
        self.wait_cap.map_or(wait, |cap| wait.min(cap))
    }

    /// The shortest and the longest own wait before retry number `n` (from 1), jitter included, hints left out.
    pub fn own_wait(&self, n: u32) -> (SimDuration, SimDuration) {
        self.jitter.range(self.capped(self.backoff.shortest(n)), self.capped(self.backoff.longest(n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::hint::AboveCap;
    use crate::random::Seed;

    fn policy() -> RetryPolicy {
        RetryPolicy {
            retry_on: Classification::ANY,
            max_attempts: Some(4),
            deadline: None,
            backoff: Backoff::Exponential {
                initial: SimDuration::from_millis(500),
                factor: 2.0,
                cap: SimDuration::from_secs(8),
            },
            jitter: Jitter::Subtract(0.25),
            hint: HintRule::Obey { cap: SimDuration::from_secs(3), above: AboveCap::Clamp, jittered: true },
            wait_cap: None,
            timeout: None,
            holds_worker: true,
        }
    }

    fn entered() -> LayerState {
        LayerState { since: SimTime::ZERO, previous: SimDuration::ZERO, attempts: 1 }
    }

    #[test]
    fn a_clamped_hint_is_jittered_where_the_policy_says_so() {
        // The budgeted call path: hint 120 s, cap 3 s gives a wait in (2.25, 3] s (measured: 2.47 s in one run).
        let answer = Answer::refused(429).with_hint(Some(SimDuration::from_secs(120)));
        let Decision::Retry { at } = policy().decide(&mut entered(), &answer, SimTime::ZERO, || Seed(1).key().stream())
        else {
            panic!("a 429 is retried")
        };
        assert!(at.as_secs_f64() > 2.25 && at.as_secs_f64() <= 3.0);
    }

    #[test]
    fn a_wait_cap_cuts_hints_and_ladders_before_jitter() {
        let mut policy = policy();
        policy.hint = HintRule::Obey { cap: SimDuration::MAX, above: AboveCap::Clamp, jittered: false };
        policy.wait_cap = Some(SimDuration::from_secs(3));
        let answer = Answer::refused(429).with_hint(Some(SimDuration::from_secs(120)));
        let decision = policy.decide(&mut entered(), &answer, SimTime::ZERO, || Seed(1).key().stream());
        assert_eq!(decision, Decision::Retry { at: SimTime::ZERO + SimDuration::from_secs(3) });
        // By hand: the fifth step of the ladder is 8 s, cut to 3 s, less up to a quarter.
        assert_eq!(policy.own_wait(5), (SimDuration::from_millis(2_250), SimDuration::from_secs(3)));
    }

    #[test]
    fn a_wait_past_the_total_budget_is_not_taken() {
        let mut policy = policy();
        policy.deadline = Some(Deadline { total: SimDuration::from_secs(1), check: DeadlineCheck::BeforeWait });
        let answer = Answer::refused(429).with_hint(Some(SimDuration::from_secs(120)));
        let decision = policy.decide(&mut entered(), &answer, SimTime::ZERO, || Seed(1).key().stream());
        assert_eq!(decision, Decision::GiveUp(GiveUp::Deadline));
    }

    #[test]
    fn the_last_attempt_is_not_followed_by_a_wait() {
        let mut state = LayerState { attempts: 4, ..entered() };
        let decision = policy().decide(&mut state, &Answer::refused(529), SimTime::ZERO, || Seed(1).key().stream());
        assert_eq!(decision, Decision::GiveUp(GiveUp::Exhausted));
    }
}
