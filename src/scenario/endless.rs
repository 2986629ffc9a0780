//! A layer without end and without wait would retry for ever at one instant: simulated time would stand still. Whether
//! one does depends on the failure, so the layer is asked about each of those that it can meet.
//!
//! A wait counts that late retries still have: a list repeats its last one, a ladder that shrinks ends at zero, and a
//! first retry at once says nothing about the later ones. A random wait counts where it is not always zero.

use super::layer::Layer;
use crate::policy::classify::MAX_STATUS;
use crate::policy::header::{HeaderRule, HintGrammar, Take};
use crate::policy::hint::HintedWait;
use crate::policy::retry::DeadlineCheck;
use crate::policy::{
    Answer, Backoff, Classification, Client, Code, Hint, Outcome, OutcomeSet, RetryBudget, RetryPolicy,
};
use crate::units::{SimDuration, SimTime};

/// Whether a layer can retry without end and without wait, its total time left out.
pub(super) fn spins(layer: &Layer) -> bool {
    let policy = &layer.policy;
    let is_limited = policy.max_attempts.is_some() && !policy.stops_at_both;
    if is_limited && policy.uncounted.is_empty() {
        return false;
    }
    let blank = layer.grammar.as_ref().is_some_and(reads_blanks);
    let goes_on = |answer: &Answer| !is_limited || policy.uncounted.contains(answer.status);
    answers(policy, blank).into_iter().any(|answer| goes_on(&answer) && spins_on(policy, &answer))
}

fn spins_on(policy: &RetryPolicy, answer: &Answer) -> bool {
    let limited = policy.retries_by_kind.iter().any(|(kind, _)| kind.matches(answer));
    let paid = policy
        .budget
        .as_ref()
        .is_some_and(|budget| budget.failed(&mut budget.full(), answer, true, SimTime::ZERO) != Some(0));
    let own = match policy.hint.read(policy.hint_in(answer)) {
        HintedWait::Own => true,
        HintedWait::Exactly { .. } | HintedWait::AtLeast { .. } | HintedWait::Near { .. } | HintedWait::GiveUp => false,
    };
    policy.retry_on.repeats(answer) && !limited && !paid && own && late_wait(policy, answer).is_zero()
}

/// Whether a header can be a hint without a wait in it.
fn reads_blanks(grammar: &HintGrammar) -> bool {
    let takes = |rule: &HeaderRule| {
        let numbers = [rule.zero, rule.negative, rule.fraction, rule.exponent, rule.not_a_number, rule.infinite];
        numbers.into_iter().chain([rule.date, rule.past, rule.unreadable]).any(|take| take == Take::OwnBackoff)
    };
    grammar.rules.iter().any(takes)
}

/// One failure of each kind that the layer tells apart: statuses with a hint and without, failures without a status,
/// each with each code. Where the server's word counts, it says to go on. `blank` hints are those without a wait in
/// them.
fn answers(policy: &RetryPolicy, blank: bool) -> Vec<Answer> {
    let kinds = classifications(policy);
    let should_retry = policy.retry_on.obeys_should_retry.then_some(true);
    let named = kinds.iter().flat_map(|kind| kind.codes.iter().chain(&kind.never)).copied();
    let codes = told_apart(std::iter::once(Code::NONE).chain(named), |code| {
        kinds.iter().map(|kind| (kind.codes.contains(code), kind.never.contains(code))).collect()
    });
    let statuses = told_apart(400..=MAX_STATUS, |status| {
        let seen = (policy.hint_on.contains(*status), policy.uncounted.contains(*status));
        let of = |kind: &&Classification| (kind.statuses.contains(*status), kind.statuses_with_hint.contains(*status));
        std::iter::once(seen).chain(kinds.iter().map(of)).collect()
    });
    let hints = [Hint::None, Hint::After(SimDuration::MAX)].into_iter().chain(blank.then_some(Hint::Blank));
    let mut answers: Vec<Answer> = Vec::new();
    for hint in hints {
        for code in &codes {
            let refused = |status: &u16| Answer { should_retry, hint, code: *code, ..Answer::refused(*status) };
            answers.extend(statuses.iter().map(refused));
        }
    }
    let outcomes = Outcome::ALL.into_iter().filter(|(outcome, _)| OutcomeSet::FAILURES.contains(*outcome));
    answers.extend(outcomes.map(|(outcome, _)| Answer::failed(outcome)));
    answers
}

/// One of those that look alike.
fn told_apart<T>(all: impl Iterator<Item = T>, look: impl Fn(&T) -> Vec<(bool, bool)>) -> Vec<T> {
    let mut looks: Vec<Vec<(bool, bool)>> = Vec::new();
    all.filter(|one| {
        let look = look(one);
        let new = !looks.contains(&look);
        if new {
            looks.push(look);
        }
        new
    })
    .collect()
}

/// Everything by which the layer tells failures apart.
fn classifications(policy: &RetryPolicy) -> Vec<&Classification> {
    let costs = match &policy.budget {
        Some(RetryBudget::Quota(quota)) => quota.costs.as_slice(),
        Some(
            RetryBudget::Throttle(_)
            | RetryBudget::Deposits(_)
            | RetryBudget::ActiveShare(_)
            | RetryBudget::FailureShare(_),
        )
        | None => &[],
    };
    let backoffs = policy.backoff_by_kind.iter().map(|(kind, _)| kind);
    let limits = policy.retries_by_kind.iter().map(|(kind, _)| kind);
    std::iter::once(&policy.retry_on).chain(backoffs).chain(limits).chain(costs.iter().map(|(kind, _)| kind)).collect()
}

/// The longest own wait of late retries after this answer.
fn late_wait(policy: &RetryPolicy, answer: &Answer) -> SimDuration {
    let wait = late(policy.backoff_after(answer)).min(policy.wait_cap.unwrap_or(SimDuration::MAX));
    let (_, longest) = policy.jitter.range(SimDuration::ZERO, wait);
    longest.min(policy.longest_wait.unwrap_or(SimDuration::MAX))
}

/// What the waits of a backoff come to, at their longest.
fn late(backoff: &Backoff) -> SimDuration {
    match backoff {
        Backoff::None => SimDuration::ZERO,
        Backoff::Fixed(wait) => *wait,
        Backoff::Linear { initial, step, cap } => {
            if step.is_zero() {
                (*initial).min(*cap)
            } else {
                *cap
            }
        }
        Backoff::Exponential { initial, cap, .. } if initial.is_zero() => (*initial).min(*cap),
        Backoff::Exponential { factor, .. } if *factor < 1.0 => SimDuration::ZERO,
        Backoff::Exponential { initial, factor, cap } => {
            if *factor > 1.0 {
                *cap
            } else {
                (*initial).min(*cap)
            }
        }
        Backoff::Fibonacci { initial, cap } | Backoff::Decorrelated { initial, cap } => {
            if initial.is_zero() {
                SimDuration::ZERO
            } else {
                *cap
            }
        }
        Backoff::Power { unit, .. } => {
            if unit.is_zero() {
                SimDuration::ZERO
            } else {
                SimDuration::MAX
            }
        }
        Backoff::List(waits) => waits.last().copied().unwrap_or_default(),
        Backoff::Uniform { high, .. } => *high,
        Backoff::Chain(parts) => parts.last().map(late).unwrap_or_default(),
        Backoff::Smooth { initial, factor, .. } if initial.is_zero() || *factor <= 1.0 => SimDuration::ZERO,
        Backoff::Smooth { cap, .. } => *cap,
        Backoff::Sum(parts) => parts.iter().map(late).sum(),
        Backoff::Jittered { of, jitter, longest } => jitter.range(SimDuration::ZERO, late(of)).1.min(*longest),
        Backoff::AtLeast(floor, backoff) => late(backoff).max(*floor),
        Backoff::FirstAtOnce(backoff) => late(backoff),
    }
}

/// Whether a layer that spins may do so with timeouts of no length: its own time or that of a layer around it is over,
/// and what is left of it is all that a request gets.
pub(super) fn times_out_at_once(client: &Client, layer: usize) -> bool {
    let shrinks = |policy: &RetryPolicy| policy.timeout_shrinks;
    let mut around = client.elements()[layer + 1..].iter().filter_map(|element| element.role.policy());
    let own = client.elements()[layer].role.policy();
    let goes_on_at_the_end = |policy: &RetryPolicy| match policy.deadline.map(|deadline| deadline.check) {
        Some(DeadlineCheck::BeforeWait) => true,
        None
        | Some(
            DeadlineCheck::BeforeWaitStrict
            | DeadlineCheck::Elapsed
            | DeadlineCheck::ElapsedCut
            | DeadlineCheck::BeforeAttempt,
        ) => false,
    };
    around.any(shrinks) || own.is_some_and(|policy| shrinks(policy) && goes_on_at_the_end(policy))
}
