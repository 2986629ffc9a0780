//! A retry policy answers four questions, each in a part of its own: *should* this be repeated (classification),
//! *may* it be (attempts, total time, budget), *when* (hint, backoff, jitter), and *where* the next try starts (a wait
//! that holds the worker, or a way back through the queue).

use super::answer::{Answer, Hint};
use super::backoff::{Backoff, Draws, LazyDraws};
use super::classify::{Classification, StatusSet};
use super::guard::Scope;
use super::hint::{HintRule, HintedWait};
use super::jitter::Jitter;
use super::retry_budget::RetryBudget;
use super::timeouts::Timeouts;
use crate::units::{SimDuration, SimTime};

/// The settings of one retry layer.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that some library has, and none excludes another")]
pub struct RetryPolicy {
    /// Which failures are repeated.
    pub retry_on: Classification,
    /// The limit on attempts, the first try included; `None` for no limit.
    pub max_attempts: Option<u32>,
    /// Limits on attempts after particular failures: so many of them are repeated, at most three such limits.
    pub retries_by_kind: Vec<(Classification, u32)>,
    /// The limit on the time since the layer was entered; `None` for no limit.
    pub deadline: Option<Deadline>,
    /// Whether the layer stops only when attempts *and* time are used up, not at the first of the two.
    pub stops_at_both: bool,
    /// The planned wait.
    pub backoff: Backoff,
    /// Its random part.
    pub jitter: Jitter,
    /// The planned wait after particular failures; the first that matches.
    pub backoff_by_kind: Vec<(Classification, Backoff)>,
    /// The longest own wait, jitter included; `None` for no limit.
    pub longest_wait: Option<SimDuration>,
    /// What hints and own waits are clamped to before jitter; `None` for no limit.
    pub wait_cap: Option<SimDuration>,
    /// What a server hint does to it.
    pub hint: HintRule,
    /// The statuses whose hints are looked at.
    pub hint_on: StatusSet,
    /// Whether a hint that is taken puts the backoff back to its first step.
    pub hint_resets_backoff: bool,
    /// The limit on retries as a whole.
    pub budget: Option<RetryBudget>,
    /// Who shares one budget: never [`Scope::Global`], because a budget belongs to its layer.
    pub budget_scope: Scope,
    /// The longest time of each phase of one attempt of this layer.
    pub timeout: Timeouts,
    /// Whether an attempt gets no more than what is left of the total time.
    pub timeout_shrinks: bool,
    /// Whether a wait of this layer keeps the worker.
    pub holds_worker: bool,
    /// What the caller of the library gets in the end.
    pub hands_back: HandsBack,
    /// Statuses that are repeated without using an attempt: of a job that is moved back into its queue because of a
    /// limit, and has not failed.
    pub uncounted: StatusSet,
    /// Statuses after which the wait is the whole queue's: nobody takes a job of it until it is over.
    pub holds_queue: StatusSet,
}

/// Which failed responses the caller of a library gets as they are; for all others it gets an exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandsBack {
    /// Of the HTTP errors that are not retried.
    pub unretried: StatusSet,
    /// Of the last HTTP errors, when retries are used up.
    pub exhausted: StatusSet,
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
    /// A wait that would end at the limit or past it is not taken.
    BeforeWaitStrict,
    /// Only the time already spent counts, so that one attempt may start past the limit.
    Elapsed,
    /// As `Elapsed`, but the last wait is cut to end at the limit.
    ElapsedCut,
    /// As `Elapsed`, and once more when the wait is over: it may end past the limit, but no attempt begins there. Then
    /// what comes out is a timeout, and no longer the failure that was to be repeated.
    BeforeAttempt,
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
    /// The step of the backoff: retries so far, since a hint last reset it.
    pub step: u32,
    /// Retries so far of the failures that have a limit of their own.
    pub by_kind: [u16; 3],
    /// What the last retry cost of the budget, plus 1; 0 where there was none.
    pub paid: u16,
    /// The first number that the last wait drew, in 65,536ths.
    pub drawn: u16,
}

impl LayerState {
    /// The state of a layer that is entered at `now`.
    pub const fn entered(now: SimTime) -> LayerState {
        LayerState { since: now, previous: SimDuration::ZERO, attempts: 1, step: 0, by_kind: [0; 3], paid: 0, drawn: 0 }
    }
}

/// How finely a layer remembers what it drew.
const DRAWN_STEPS: f64 = 65_536.0;

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
    /// The server asks for a wait above the cap, or for none at all.
    HintTooLong,
    /// The client failed over the hint itself.
    HintBroken,
    /// The retry budget does not allow it.
    Suppressed,
}

impl RetryPolicy {
    /// A policy that repeats nothing; the starting point of all others.
    pub const ONCE: RetryPolicy = RetryPolicy {
        retry_on: Classification::ANY,
        max_attempts: Some(1),
        retries_by_kind: Vec::new(),
        deadline: None,
        stops_at_both: false,
        backoff: Backoff::None,
        jitter: Jitter::None,
        backoff_by_kind: Vec::new(),
        longest_wait: None,
        wait_cap: None,
        hint: HintRule::Ignore,
        hint_on: StatusSet::ERRORS,
        hint_resets_backoff: false,
        budget: None,
        budget_scope: Scope::Client,
        timeout: Timeouts::NONE,
        timeout_shrinks: false,
        holds_worker: true,
        hands_back: HandsBack { unretried: StatusSet::EMPTY, exhausted: StatusSet::EMPTY },
        uncounted: StatusSet::EMPTY,
        holds_queue: StatusSet::EMPTY,
    };

    /// What to do at `now` after the attempt that ended with `answer`. A retry is entered into `state`. `pay` asks
    /// the layer's budget: with what is wanted, it says what it costs, or that it is not allowed.
    pub fn decide<D: Draws>(
        &self,
        state: &mut LayerState,
        answer: &Answer,
        now: SimTime,
        draws: impl Fn() -> D,
        pay: impl FnOnce(bool) -> Option<u32>,
    ) -> Decision {
        if !self.retry_on.repeats(answer) {
            return Decision::GiveUp(GiveUp::NotRetried);
        }
        let counts = !self.uncounted.contains(answer.status);
        let spent_attempts = counts && self.max_attempts.is_some_and(|limit| state.attempts >= limit);
        let kind = self.retries_by_kind.iter().position(|(kind, _)| kind.matches(answer));
        let spent_kind = kind.is_some_and(|kind| u32::from(state.by_kind[kind]) >= self.retries_by_kind[kind].1);
        if spent_kind || spent_attempts && !self.stops_at_both {
            return self.last_failure(pay, GiveUp::Exhausted);
        }
        let mut draws = LazyDraws::new(draws).after(f64::from(state.drawn) / DRAWN_STEPS);
        let Some(mut wait) = self.next_wait(state, answer, &mut draws) else {
            let broken = answer.hint == Hint::Fatal;
            return self.last_failure(pay, if broken { GiveUp::HintBroken } else { GiveUp::HintTooLong });
        };
        if let Some(deadline) = self.deadline {
            let spent = now - state.since;
            let over = match deadline.check {
                DeadlineCheck::BeforeWait => spent + wait > deadline.total,
                DeadlineCheck::BeforeWaitStrict => spent + wait >= deadline.total,
                DeadlineCheck::Elapsed | DeadlineCheck::ElapsedCut | DeadlineCheck::BeforeAttempt => {
                    spent >= deadline.total
                }
            };
            if over && (spent_attempts || !self.stops_at_both) {
                return self.last_failure(pay, GiveUp::Deadline);
            }
            if deadline.check == DeadlineCheck::ElapsedCut {
                wait = wait.min(deadline.total.saturating_sub(spent));
            }
        }
        let mut paid = 0;
        if self.budget.is_some() {
            match pay(true) {
                Some(cost) => paid = u16::try_from(cost).unwrap_or(u16::MAX - 1) + 1,
                None => return Decision::GiveUp(GiveUp::Suppressed),
            }
        }
        let resets = self.hint_resets_backoff && self.hint_in(answer).wait().is_some();
        state.attempts = state.attempts.saturating_add(u32::from(counts));
        state.step = if resets { 0 } else { state.step.saturating_add(1) };
        state.previous = wait;
        state.paid = paid;
        if let Some(first) = draws.first() {
            state.drawn = (first * DRAWN_STEPS).min(DRAWN_STEPS - 1.0) as u16;
        }
        if let Some(kind) = kind {
            state.by_kind[kind] = state.by_kind[kind].saturating_add(1);
        }
        Decision::Retry { at: now + wait }
    }

    /// Gives up after a failure that the layer would repeat: the budget hears of it.
    fn last_failure(&self, pay: impl FnOnce(bool) -> Option<u32>, why: GiveUp) -> Decision {
        if self.budget.is_some() {
            pay(false);
        }
        Decision::GiveUp(why)
    }

    /// The wait before the next attempt; `None` where the hint forbids one.
    fn next_wait(&self, state: &LayerState, answer: &Answer, draws: &mut impl Draws) -> Option<SimDuration> {
        let clamp = |wait: SimDuration| self.wait_cap.map_or(wait, |cap| wait.min(cap));
        let hinted = self.hint.read(self.hint_in(answer));
        if let HintedWait::Exactly { wait, jittered } = hinted {
            let wait = clamp(wait);
            return Some(if jittered { self.jitter.apply(wait, draws) } else { wait });
        }
        let backoff = self.backoff_after(answer);
        let own = clamp(backoff.wait(state.step.saturating_add(1), state.previous, draws));
        let planned = match hinted {
            HintedWait::AtLeast { hint, jittered: true } => own.max(clamp(hint)),
            _ => own,
        };
        let jittered = self.jitter.apply(planned, draws);
        let own = self.longest_wait.map_or(jittered, |longest| jittered.min(longest));
        match hinted {
            HintedWait::Own | HintedWait::AtLeast { jittered: true, .. } => Some(own),
            HintedWait::AtLeast { hint, jittered: false } => Some(own.max(clamp(hint))),
            HintedWait::Near { hint, beyond } => Some(hint.min(own + beyond).max(own)),
            HintedWait::Exactly { .. } | HintedWait::GiveUp => None,
        }
    }

    /// The hint of this answer, where the layer looks at it.
    pub fn hint_in(&self, answer: &Answer) -> Hint {
        if self.hint_on.contains(answer.status) { answer.hint } else { Hint::None }
    }

    /// The backoff that applies after this answer.
    pub fn backoff_after(&self, answer: &Answer) -> &Backoff {
        self.backoff_by_kind.iter().find(|(kind, _)| kind.matches(answer)).map_or(&self.backoff, |(_, backoff)| backoff)
    }

    /// The shortest and the longest own wait before retry number `n` (from 1), jitter included, hints left out.
    pub fn own_wait(&self, n: u32) -> (SimDuration, SimDuration) {
        self.own_wait_with(&self.backoff, n)
    }

    /// The shortest and the longest own wait with one of the policy's backoffs.
    pub fn own_wait_with(&self, backoff: &Backoff, n: u32) -> (SimDuration, SimDuration) {
        let clamp = |wait: SimDuration| self.wait_cap.map_or(wait, |cap| wait.min(cap));
        let (low, high) = self.jitter.range(clamp(backoff.shortest(n)), clamp(backoff.longest(n)));
        let longest = self.longest_wait.unwrap_or(SimDuration::MAX);
        (low.min(longest), high.min(longest))
    }

    /// Whether the total time ran out in the wait that has just ended, so that no attempt begins any more.
    pub fn is_over_after_wait(&self, state: &LayerState, now: SimTime) -> bool {
        self.deadline.is_some_and(|Deadline { total, check }| {
            check == DeadlineCheck::BeforeAttempt && now - state.since >= total
        })
    }

    /// What is left of the total time for an attempt that begins now, where it may not take more.
    pub fn left_at(&self, state: &LayerState, now: SimTime) -> Option<SimDuration> {
        let deadline = self.deadline.filter(|_| self.timeout_shrinks)?;
        Some(deadline.total.saturating_sub(now - state.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::hint::AboveCap;
    use crate::random::Seed;

    fn policy() -> RetryPolicy {
        RetryPolicy {
            max_attempts: Some(4),
            backoff: Backoff::Exponential {
                initial: SimDuration::from_millis(500),
                factor: 2.0,
                cap: SimDuration::from_secs(8),
            },
            jitter: Jitter::Subtract(0.25),
            hint: HintRule::Obey { cap: SimDuration::from_secs(3), above: AboveCap::Clamp, jittered: true },
            ..RetryPolicy::ONCE
        }
    }

    fn decide(policy: &RetryPolicy, state: &mut LayerState, answer: &Answer, now: SimTime) -> Decision {
        policy.decide(state, answer, now, || Seed(1).key().stream(), |_| None)
    }

    fn entered() -> LayerState {
        LayerState::entered(SimTime::ZERO)
    }

    #[test]
    fn a_clamped_hint_is_jittered_where_the_policy_says_so() {
        // The budgeted call path: hint 120 s, cap 3 s gives a wait in (2.25, 3] s (measured: 2.47 s in one run).
        let answer = Answer::refused(429).with_hint(Some(SimDuration::from_secs(120)));
        let Decision::Retry { at } = decide(&policy(), &mut entered(), &answer, SimTime::ZERO) else {
            panic!("a 429 is retried")
        };
        assert!(at.as_secs_f64() > 2.25 && at.as_secs_f64() <= 3.0);
    }

    #[test]
    fn the_longer_of_hint_and_own_wait_is_jittered_where_the_policy_says_so() {
        // axios-retry 4.5, exponential: a hint of 2 s waits 2 to 2.4 s (measured 2.001 to 2.373).
        let policy = RetryPolicy {
            jitter: Jitter::AddShare(0.2),
            hint: HintRule::AtLeast { jittered: true },
            backoff: Backoff::Fixed(SimDuration::from_millis(200)),
            ..policy()
        };
        let answer = Answer::refused(503).with_hint(Some(SimDuration::from_secs(2)));
        for (draw, wait) in [(0.0, 2.0), (1.0, 2.4)] {
            let draws = || crate::policy::backoff::Always(draw);
            let decision = policy.decide(&mut entered(), &answer, SimTime::ZERO, draws, |_| None);
            let Decision::Retry { at } = decision else { panic!("a 503 is retried") };
            assert_eq!(at.as_secs_f64(), wait);
        }
    }

    #[test]
    fn hints_count_only_with_statuses_that_are_looked_at() {
        // ky 1.14 looks for a hint after a 503, not after a 500 (measured: 2 s, 0.3 s).
        let policy = RetryPolicy {
            hint: HintRule::OBEY,
            hint_on: StatusSet::EMPTY.with(503),
            backoff: Backoff::Fixed(SimDuration::from_millis(300)),
            jitter: Jitter::None,
            ..policy()
        };
        for (status, wait) in [(503, 2.0), (500, 0.3)] {
            let answer = Answer::refused(status).with_hint(Some(SimDuration::from_secs(2)));
            let decision = decide(&policy, &mut entered(), &answer, SimTime::ZERO);
            assert_eq!(decision, Decision::Retry { at: SimTime::ZERO + SimDuration::from_secs_f64(wait) });
        }
    }

    #[test]
    fn a_wait_past_the_total_budget_is_not_taken() {
        let mut policy = policy();
        policy.deadline = Some(Deadline { total: SimDuration::from_secs(1), check: DeadlineCheck::BeforeWait });
        let answer = Answer::refused(429).with_hint(Some(SimDuration::from_secs(120)));
        let decision = decide(&policy, &mut entered(), &answer, SimTime::ZERO);
        assert_eq!(decision, Decision::GiveUp(GiveUp::Deadline));
    }

    #[test]
    fn the_last_attempt_is_not_followed_by_a_wait() {
        let mut state = LayerState { attempts: 4, ..entered() };
        let decision = decide(&policy(), &mut state, &Answer::refused(529), SimTime::ZERO);
        assert_eq!(decision, Decision::GiveUp(GiveUp::Exhausted));
    }

    #[test]
    fn stopping_at_both_goes_on_until_attempts_and_time_are_used() {
        // tenacity 9.2.1: attempt 3 AND delay 10, fixed 2 s: six attempts, at 0, 2, 4, 6, 8 and 10 s.
        let policy = RetryPolicy {
            max_attempts: Some(3),
            deadline: Some(Deadline { total: SimDuration::from_secs(10), check: DeadlineCheck::Elapsed }),
            stops_at_both: true,
            backoff: Backoff::Fixed(SimDuration::from_secs(2)),
            ..RetryPolicy::ONCE
        };
        let (mut state, mut now) = (entered(), SimTime::ZERO);
        while let Decision::Retry { at } = decide(&policy, &mut state, &Answer::refused(500), now) {
            now = at;
        }
        assert_eq!((state.attempts, now.as_secs_f64()), (6, 10.0));
    }

    #[test]
    fn a_cut_wait_ends_at_the_limit() {
        // backoff 2.2.1: expo without jitter and max_time 10 waits 1, 2, 4 and then 3 s.
        let policy = RetryPolicy {
            max_attempts: None,
            deadline: Some(Deadline { total: SimDuration::from_secs(10), check: DeadlineCheck::ElapsedCut }),
            backoff: Backoff::Exponential { initial: SimDuration::from_secs(1), factor: 2.0, cap: SimDuration::MAX },
            ..RetryPolicy::ONCE
        };
        let (mut state, mut now, mut waits) = (entered(), SimTime::ZERO, Vec::new());
        while let Decision::Retry { at } = decide(&policy, &mut state, &Answer::refused(500), now) {
            waits.push((at - now).as_secs_f64());
            now = at;
        }
        assert_eq!(waits, [1.0, 2.0, 4.0, 3.0]);
    }
}
