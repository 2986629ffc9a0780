//! The waits of one retry layer, one after the other, are its ladder. What matters in an outage is the length of the
//! whole ladder against the length of the window: a layer whose waits add up to 1.5 s is over long before a minute of
//! 429s is, however many attempts it is said to have.

use crate::policy::hint::HintedWait;
use crate::policy::retry::DeadlineCheck;
use crate::policy::{Hint, HintRule, Jitter, RetryPolicy};
use crate::units::SimDuration;

/// Rungs that are added up one by one; past these the waits count as constant, so that a million attempts with a
/// slowly growing wait take no time to explain.
const EXACT: u64 = 2_000;

/// A range of durations; [`SimDuration::MAX`] stands for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The shortest.
    pub from: SimDuration,
    /// The longest.
    pub to: SimDuration,
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span { from: SimDuration::ZERO, to: SimDuration::ZERO };

    /// This range after that one.
    #[must_use]
    pub fn then(self, next: Span) -> Span {
        Span { from: self.from + next.from, to: self.to + next.to }
    }

    /// This range so many times; `None` is without end.
    #[must_use]
    pub fn times(self, number: Option<u64>) -> Span {
        let times = |time: SimDuration| match number {
            Some(number) => time.times(number),
            None if time.is_zero() => time,
            None => SimDuration::MAX,
        };
        Span { from: times(self.from), to: times(self.to) }
    }

    /// The upper end, where it has a bound.
    pub fn bound(&self) -> Option<SimDuration> {
        (self.to < SimDuration::MAX).then_some(self.to)
    }
}

/// The waits of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// The first few own waits, hints left out; each repeats the backoff's shape with its jitter.
    pub waits: Vec<Span>,
    /// All own waits together, when every attempt fails and takes no time.
    pub total: Span,
}

impl Ladder {
    /// The ladder of a layer, hints left out.
    pub fn own(policy: &RetryPolicy) -> Ladder {
        Ladder::with_hint(policy, None)
    }

    /// The ladder of a layer when every answer carries this hint.
    pub fn with_hint(policy: &RetryPolicy, hint: Option<SimDuration>) -> Ladder {
        let Some(rung) = rung(policy, hint) else { return Ladder { waits: Vec::new(), total: Span::ZERO } };
        let retries = policy.max_attempts.map(|attempts| u64::from(attempts.saturating_sub(1)));
        let waits = (1..=retries.unwrap_or(8).min(8)).map(|n| rung(n as u32)).collect();
        Ladder { waits, total: within_deadline(policy, sum(&rung, retries), &rung) }
    }
}

/// Each wait of the layer by the number of the retry; `None` where the hint ends it.
fn rung(policy: &RetryPolicy, hint: Option<SimDuration>) -> Option<impl Fn(u32) -> Span + '_> {
    let read = policy.hint.read(hint.map_or(Hint::None, Hint::After));
    (read != HintedWait::GiveUp).then_some(move |n: u32| {
        let (from, to) = policy.own_wait(n);
        match read {
            HintedWait::Own | HintedWait::GiveUp => Span { from, to },
            HintedWait::Exactly { wait, jittered } => {
                let wait = policy.wait_cap.map_or(wait, |cap| wait.min(cap));
                let jitter = if jittered { policy.jitter } else { Jitter::None };
                let (from, to) = jitter.range(wait, wait);
                Span { from, to }
            }
            HintedWait::AtLeast { hint, jittered } => {
                let jitter = if jittered { policy.jitter } else { Jitter::None };
                let (low, high) = jitter.range(hint, hint);
                Span { from: from.max(low), to: to.max(high) }
            }
            HintedWait::Near { hint, beyond } => {
                Span { from: hint.min(from + beyond).max(from), to: hint.min(to + beyond).max(to) }
            }
        }
    })
}

fn sum(rung: &impl Fn(u32) -> Span, retries: Option<u64>) -> Span {
    let exact = retries.unwrap_or(EXACT).min(EXACT);
    let total = (1..=exact).fold(Span::ZERO, |total, n| total.then(rung(n as u32)));
    let last = rung(exact.max(1) as u32);
    match retries {
        None => total.then(last.times(None)),
        Some(retries) if retries > exact => {
            // Waits never shrink, so the last exact one bounds the rest from below and the very last from above.
            let rest = retries - exact;
            let longest = rung(u32::try_from(retries).unwrap_or(u32::MAX));
            total.then(Span { from: last.from.times(rest), to: longest.to.times(rest) })
        }
        Some(_) => total,
    }
}

/// Cuts the sum at the layer's total time limit.
fn within_deadline(policy: &RetryPolicy, total: Span, rung: &impl Fn(u32) -> Span) -> Span {
    let Some(deadline) = policy.deadline else { return total };
    let last = rung(policy.max_attempts.map_or(EXACT as u32, |attempts| attempts.saturating_sub(1).max(1))).to;
    let limit = match deadline.check {
        DeadlineCheck::BeforeWait | DeadlineCheck::BeforeWaitStrict | DeadlineCheck::ElapsedCut => deadline.total,
        DeadlineCheck::Elapsed | DeadlineCheck::BeforeAttempt => deadline.total + last,
    };
    Span { from: total.from.min(deadline.total.saturating_sub(last)), to: total.to.min(limit) }
}

/// The most attempts that a layer can make; `None` without bound. A total time limit counts by the shortest waits.
pub fn attempts_bound(policy: &RetryPolicy) -> Option<u64> {
    // What uses no attempt has no limit.
    let limit = policy.max_attempts.map(u64::from).filter(|_| policy.uncounted.is_empty());
    let Some(deadline) = policy.deadline else { return limit };
    if policy.stops_at_both {
        // Until both are used up; how many fit into the time depends on what the attempts themselves take.
        return None;
    }
    let mut spent = SimDuration::ZERO;
    // The shortest wait is an own one or a hint; a hint may be as short as it likes where the rule obeys it.
    let shortest = |n: u32| match policy.hint {
        HintRule::Obey { .. } => SimDuration::ZERO,
        HintRule::Ignore | HintRule::AtLeast { .. } | HintRule::Near { .. } => policy.own_wait(n).0,
    };
    for attempts in 1..EXACT {
        if limit.is_some_and(|limit| attempts >= limit) {
            return limit;
        }
        let after = spent + shortest(attempts as u32);
        let over = match deadline.check {
            DeadlineCheck::BeforeWait => after > deadline.total,
            DeadlineCheck::BeforeWaitStrict | DeadlineCheck::BeforeAttempt => after >= deadline.total,
            DeadlineCheck::Elapsed | DeadlineCheck::ElapsedCut => spent >= deadline.total,
        };
        if over {
            return Some(attempts);
        }
        spent = after;
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{fixed, sdk};
    use crate::policy::Backoff;
    use crate::policy::retry::Deadline;

    fn seconds(value: f64) -> SimDuration {
        SimDuration::from_secs_f64(value)
    }

    #[test]
    fn the_sdk_ladder_adds_up_to_the_sums_worked_out_by_hand() {
        // By hand: 0.5 s doubling to 8 s gives S = 1.5, 23.5, 31.5, 39.5, 47.5 s; jitter takes up to a quarter.
        for (retries, s) in [(2, 1.5), (6, 23.5), (7, 31.5), (8, 39.5), (9, 47.5)] {
            let total = Ladder::own(&sdk(retries + 1)).total;
            assert_eq!(total, Span { from: seconds(0.75 * s), to: seconds(s) }, "{retries} retries");
        }
    }

    #[test]
    fn a_layer_without_end_waits_without_bound() {
        let endless = RetryPolicy { max_attempts: None, ..fixed(1, seconds(2.0)) };
        assert_eq!(Ladder::own(&endless).total.bound(), None);
        assert_eq!(attempts_bound(&endless), None);
    }

    #[test]
    fn a_million_slow_rungs_are_bounded_from_both_sides() {
        let policy = RetryPolicy {
            backoff: Backoff::Linear { initial: seconds(1.0), step: SimDuration::ZERO, cap: SimDuration::MAX },
            ..fixed(1_000_000, seconds(1.0))
        };
        assert_eq!(Ladder::own(&policy).total, Span { from: seconds(999_999.0), to: seconds(999_999.0) });
    }

    #[test]
    fn a_total_time_limit_bounds_attempts_as_the_library_checks_it() {
        // Measured: exponential 1, 2, 4, … with "stop after 5 s" tries at 0, 1, 3 and 7; with "stop before 5 s" at
        // 0, 1 and 3.
        let policy = |check| RetryPolicy {
            max_attempts: None,
            backoff: Backoff::Exponential { initial: seconds(1.0), factor: 2.0, cap: SimDuration::MAX },
            deadline: Some(Deadline { total: seconds(5.0), check }),
            ..fixed(1, SimDuration::ZERO)
        };
        assert_eq!(attempts_bound(&policy(DeadlineCheck::Elapsed)), Some(4));
        assert_eq!(attempts_bound(&policy(DeadlineCheck::BeforeWait)), Some(3));
    }

    #[test]
    fn a_hinted_ladder_waits_as_the_server_says() {
        let total = Ladder::with_hint(&sdk(3), Some(seconds(120.0))).total;
        assert_eq!(total, Span { from: seconds(240.0), to: seconds(240.0) });
        let total = Ladder::with_hint(&fixed(4, seconds(2.0)), Some(seconds(120.0))).total;
        assert_eq!(total, Span { from: seconds(6.0), to: seconds(6.0) });
    }

    #[test]
    fn a_hidden_cap_and_full_jitter_make_the_wait_that_is_got() {
        // By hand: a base of an hour under a cap of 10 minutes with full jitter waits U(0, 10 min) each time: two
        // retries 0 to 20 min, not the 3 h that the base suggests.
        let policy = RetryPolicy {
            backoff: Backoff::Exponential { initial: seconds(3_600.0), factor: 2.0, cap: seconds(600.0) },
            jitter: Jitter::Full,
            ..fixed(3, SimDuration::ZERO)
        };
        let ladder = Ladder::own(&policy);
        assert_eq!(ladder.waits, [Span { from: SimDuration::ZERO, to: seconds(600.0) }; 2]);
        assert_eq!(ladder.total, Span { from: SimDuration::ZERO, to: seconds(1_200.0) });
    }
}
