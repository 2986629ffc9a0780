//! One element of a stack in plain words: what it repeats, how often, how long it waits, what it makes of a hint, and
//! where a retried job goes.

use super::answers::AnswerKind;
use super::guard_words::guard_words;
use super::hedge_words;
use super::ladder::{Ladder, attempts_bound};
use super::words;
use super::worst::unit;
use crate::policy::hint::AboveCap;
use crate::policy::retry::DeadlineCheck;
use crate::policy::stack::{Place, Requeue, Resume};
use crate::policy::{
    Backoff, Classification, Client, Element, Fallback, Guard, Hedge, HintRule, Jitter, Kind, Outcome, OutcomeSet,
    RetryPolicy, Role, StatusSet,
};
use crate::units::SimDuration;

/// A hint longer than this is no bound for anyone: some client libraries cap hints only where their timer would
/// overflow, at 49.7 days.
const PRACTICAL_BOUND: SimDuration = SimDuration::from_secs(3_600);

/// One element of a client, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerExplanation {
    /// Its name.
    pub name: String,
    /// Where it belongs.
    pub kind: Kind,
    /// The preset it came from.
    pub preset: Option<String>,
    /// Settings that came from the preset and that the file does not spell out.
    pub unspoken: Vec<String>,
    /// What it does.
    pub part: Part,
}

/// What an element does.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// It repeats failures.
    Retry(Repetition),
    /// It gates; in words.
    Guard {
        /// The guard's name in the scenario.
        guard: String,
        /// What it does, in words.
        words: String,
    },
}

/// What a retry layer does.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// What one attempt is called: a run, a call, a request, or a try.
    pub unit: &'static str,
    /// The failures it repeats, in the words of a scenario file.
    pub retries: Vec<String>,
    /// Whether it repeats each kind of answer, by the answer's word.
    pub repeats: Vec<(String, bool)>,
    /// The most attempts, the first included and a total time limit considered; `None` is without bound.
    pub max_attempts: Option<u64>,
    /// Its waits.
    pub ladder: Ladder,
    /// The shape of its waits, in words.
    pub wait_words: String,
    /// What it makes of a hint, in words.
    pub hint_words: String,
    /// The longest wait that a hint can cause; `None` where it has no bound of less than an hour.
    pub hint_bound: Option<SimDuration>,
    /// Whether a wait keeps the worker.
    pub holds_worker: bool,
    /// The longest time that one attempt waits for an answer in one piece.
    pub timeout: Option<SimDuration>,
    /// The limit on the layer's total time, in words.
    pub deadline_words: Option<String>,
    /// Where a retried job goes; only a queue has it.
    pub requeue: Option<Requeue>,
}

impl LayerExplanation {
    /// The explanation of element `at` of a client.
    pub fn of(client: &Client, at: usize, guards: &[Guard], kinds: &[AnswerKind]) -> LayerExplanation {
        let element = &client.elements()[at];
        let kinds = &seen_at(client, at, kinds)[..];
        let part = match &element.role {
            Role::Retry(policy) => Part::Retry(repetition(policy, unit(client, at), None, kinds)),
            Role::Queue(policy, requeue) => Part::Retry(repetition(policy, unit(client, at), Some(*requeue), kinds)),
            Role::Hedge(hedge) => Part::Retry(hedging(hedge, kinds)),
            Role::Fallback(fallback) => Part::Retry(falling_back(fallback, kinds)),
            Role::Guard(guard) => {
                Part::Guard { guard: guards[*guard].name.clone(), words: guard_words(&guards[*guard]) }
            }
        };
        let Element { name, kind, preset, unspoken, .. } = element;
        LayerExplanation { name: name.clone(), kind: *kind, preset: preset.clone(), unspoken: unspoken.clone(), part }
    }

    /// What the element repeats and how; `None` for a guard.
    pub const fn repetition(&self) -> Option<&Repetition> {
        match &self.part {
            Part::Retry(repetition) => Some(repetition),
            Part::Guard { .. } => None,
        }
    }
}

/// The kinds of answers as an element of the client sees them, each under the word for what the provider did.
fn seen_at(client: &Client, at: usize, kinds: &[AnswerKind]) -> Vec<AnswerKind> {
    kinds.iter().map(|kind| AnswerKind { answer: client.seen_at(at, &kind.answer), ..kind.clone() }).collect()
}

impl Repetition {
    /// Where a retried job goes, in words; `None` where nothing goes through a queue.
    pub fn requeue_words(&self) -> Option<(&'static str, &'static str)> {
        let requeue = self.requeue?;
        let place = match requeue.place {
            Place::Back => "back of the queue",
            Place::Front => "front of the queue",
        };
        let resume = match requeue.resume {
            Resume::Restart => "restarts at step 1",
            Resume::FailedStep => "resumes at the failed step",
        };
        Some((place, resume))
    }
}

fn repetition(policy: &RetryPolicy, unit: &'static str, requeue: Option<Requeue>, kinds: &[AnswerKind]) -> Repetition {
    Repetition {
        unit,
        retries: retry_words(&policy.retry_on),
        repeats: kinds.iter().map(|kind| (kind.word.clone(), policy.retry_on.repeats(&kind.answer))).collect(),
        max_attempts: attempts_bound(policy),
        ladder: Ladder::own(policy),
        wait_words: wait_words(&policy.backoff, policy.jitter) + &words::held(&status_words(&policy.holds_queue)),
        hint_words: hint_words(policy),
        hint_bound: hint_bound(policy),
        holds_worker: policy.holds_worker && requeue.is_none(),
        timeout: policy.timeout.until_answered(),
        deadline_words: policy.deadline.map(|deadline| {
            let total = words::duration(deadline.total);
            match deadline.check {
                DeadlineCheck::BeforeWait => format!("stops before a wait that would pass {total}"),
                DeadlineCheck::BeforeWaitStrict => format!("stops before a wait that would reach {total}"),
                DeadlineCheck::Elapsed => format!("stops once {total} are over; one attempt may start later"),
                DeadlineCheck::BeforeAttempt => {
                    format!("begins no attempt once {total} are over, however long it sleeps")
                }
                DeadlineCheck::ElapsedCut => format!("cuts its last wait to end at {total}"),
            }
        }),
        requeue,
    }
}

/// A fallback, as a layer that repeats with the next model.
fn falling_back(fallback: &Fallback, kinds: &[AnswerKind]) -> Repetition {
    let targets: Vec<String> = fallback.to.iter().map(|model| format!("`{model}`")).collect();
    Repetition {
        wait_words: format!("then {} at once", targets.join(", then ")),
        hint_words: "asks its first model again when it is called again".into(),
        ..repetition(fallback.policy(), "model", None, kinds)
    }
}

/// A hedge, as a layer that repeats what is late.
fn hedging(hedge: &Hedge, kinds: &[AnswerKind]) -> Repetition {
    let max = u64::from(hedge.max);
    let at_once = if hedge.next_after_failure { ", or at once after a failure" } else { "" };
    Repetition {
        unit: "request",
        retries: vec!["what is late".into()],
        repeats: kinds.iter().map(|kind| (kind.word.clone(), !hedge.ends_with(&kind.answer))).collect(),
        max_attempts: Some(max),
        ladder: Ladder::own(&RetryPolicy {
            max_attempts: Some(u32::from(hedge.max)),
            backoff: Backoff::Fixed(hedge.delay.at_first().unwrap_or_default()),
            ..RetryPolicy::ONCE
        }),
        wait_words: format!(
            "one more {} while none is back{at_once}{}",
            hedge_words::pace(&hedge.delay),
            hedge_words::bounds(hedge)
        ),
        hint_words: hedge_words::hints(hedge).into(),
        hint_bound: None,
        holds_worker: true,
        timeout: None,
        deadline_words: None,
        requeue: None,
    }
}

/// The longest wait that a hint can cause; `None` where it has no bound of less than an hour.
pub fn hint_bound(policy: &RetryPolicy) -> Option<SimDuration> {
    policy.hint.longest().filter(|longest| *longest <= PRACTICAL_BOUND)
}

/// What a layer repeats, in the words of a scenario file.
pub fn retry_words(classification: &Classification) -> Vec<String> {
    if (Classification { obeys_should_retry: false, ..classification.clone() }) == Classification::ANY {
        return vec!["any failure".into()];
    }
    let mut words = status_words(&classification.statuses);
    let mut left = classification.outcomes;
    for (group, word) in [(OutcomeSet::TIMEOUTS, "timeout"), (OutcomeSet::CONNECTION, "connection")] {
        if left.covers(group) {
            words.push(word.to_owned());
            left = Outcome::ALL.iter().fold(
                left,
                |left, (outcome, _)| {
                    if group.contains(*outcome) { left.without(*outcome) } else { left }
                },
            );
        }
    }
    words
        .extend(Outcome::ALL.iter().filter(|(outcome, _)| left.contains(*outcome)).map(|(_, word)| (*word).to_owned()));
    words
}

fn status_words(statuses: &StatusSet) -> Vec<String> {
    let whole = |hundred: u16| (hundred..hundred + 100).all(|status| statuses.contains(status));
    let mut words: Vec<String> = Vec::new();
    for (hundred, word) in [(400, "4xx"), (500, "5xx")] {
        if whole(hundred) {
            words.push(word.into());
            continue;
        }
        let mut members = (hundred..hundred + 100).filter(|status| statuses.contains(*status)).peekable();
        while let Some(first) = members.next() {
            let mut last = first;
            while let Some(next) = members.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => words.push(first.to_string()),
                1 => words.extend([first.to_string(), last.to_string()]),
                2.. => words.push(format!("{first}..{last}")),
            }
        }
    }
    words
}

/// The shape of waits and their random part, in words.
pub fn wait_words(backoff: &Backoff, jitter: Jitter) -> String {
    let planned = backoff_words(backoff);
    match backoff {
        Backoff::None | Backoff::Decorrelated { .. } | Backoff::Smooth { .. } if jitter == Jitter::None => planned,
        _ => jittered_words(&planned, jitter),
    }
}

fn jittered_words(planned: &str, jitter: Jitter) -> String {
    match jitter {
        Jitter::None => format!("{planned}, no jitter"),
        Jitter::Full => format!("{planned}, full jitter"),
        Jitter::DownTo(low) => format!("{planned}, jitter down to {}", words::duration(low)),
        Jitter::FullWhole => format!("{planned}, full jitter in whole seconds"),
        Jitter::Equal => format!("{planned}, equal jitter"),
        Jitter::Subtract(share) => format!("{planned}, −{} jitter", words::percent(share)),
        Jitter::Add(amount) => format!("{planned}, up to {} more", words::duration(amount)),
        Jitter::AddShare(share) => format!("{planned}, up to {} more", words::percent(share)),
        Jitter::PlusMinus(share) => format!("{planned}, ±{} jitter", words::percent(share)),
    }
}

fn backoff_words(backoff: &Backoff) -> String {
    let time = words::duration;
    let up_to = |cap: SimDuration| if cap < SimDuration::MAX { format!(" to {}", time(cap)) } else { String::new() };
    match backoff {
        Backoff::None => "at once".to_owned(),
        Backoff::Fixed(wait) => format!("fixed {}", time(*wait)),
        Backoff::Linear { initial, step, cap } => {
            format!("{} and {} more each{}", time(*initial), time(*step), up_to(*cap))
        }
        Backoff::Exponential { initial, factor, cap } if *factor == 2.0 => {
            format!("{} doubling{}", time(*initial), up_to(*cap))
        }
        Backoff::Exponential { initial, factor, cap } => format!("{} × {factor}ⁿ{}", time(*initial), up_to(*cap)),
        Backoff::List(waits) => {
            let waits: Vec<String> = waits.iter().map(|wait| time(*wait)).collect();
            format!("after {}", waits.join(", "))
        }
        Backoff::Decorrelated { initial, cap } => format!("decorrelated from {}{}", time(*initial), up_to(*cap)),
        Backoff::Smooth { initial, factor, cap } => {
            format!("{} × {factor}ⁿ{}, spread without gaps", time(*initial), up_to(*cap))
        }
        Backoff::Fibonacci { initial, cap } => format!("{} × 1, 1, 2, 3, 5, …{}", time(*initial), up_to(*cap)),
        Backoff::Power { unit, offset: 0, power } => format!("{} × retriesᵖ with p = {power}", time(*unit)),
        Backoff::Power { unit, offset, power } => format!("{} × (retries + {offset})ᵖ with p = {power}", time(*unit)),
        Backoff::Uniform { low, high, per_retry } => {
            let grows = if *per_retry { ", times the retry's number" } else { "" };
            format!("{} to {} at random{grows}", time(*low), time(*high))
        }
        Backoff::Chain(parts) => {
            format!("{}, the last repeats", parts.iter().map(backoff_words).collect::<Vec<String>>().join(", then "))
        }
        Backoff::Jittered { of, jitter, longest } => {
            let planned = jittered_words(&backoff_words(of), *jitter);
            if *longest < SimDuration::MAX { format!("{planned}, at most {}", time(*longest)) } else { planned }
        }
        Backoff::Sum(parts) => parts.iter().map(backoff_words).collect::<Vec<String>>().join(" plus "),
        Backoff::AtLeast(floor, backoff) => format!("{}, at least {}", backoff_words(backoff), time(*floor)),
        Backoff::FirstAtOnce(backoff) => format!("at once, then {}", backoff_words(backoff)),
    }
}

fn hint_words(policy: &RetryPolicy) -> String {
    match policy.hint {
        HintRule::Ignore => "ignores retry-after".into(),
        HintRule::AtLeast { .. } => "waits retry-after at least".into(),
        HintRule::Near { beyond } => format!("waits retry-after, at most {} beyond its own", words::duration(beyond)),
        HintRule::Obey { .. } if hint_bound(policy).is_none() => "obeys retry-after, without bound".into(),
        HintRule::Obey { cap, above, .. } => {
            let cap = words::duration(cap);
            match above {
                AboveCap::OwnBackoff => format!("obeys retry-after to {cap}, above it waits its own"),
                AboveCap::GiveUp => format!("obeys retry-after to {cap}, above it gives up"),
                AboveCap::Clamp => format!("obeys retry-after, at most {cap}"),
                AboveCap::AtOnce => format!("obeys retry-after to {cap}, above it its timer overflows: at once"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{fixed, sdk};

    #[test]
    fn classifications_are_said_in_the_words_of_a_file() {
        assert_eq!(retry_words(&sdk(3).retry_on), ["408", "409", "429", "5xx", "timeout", "connection"]);
        assert_eq!(retry_words(&Classification::ANY), ["any failure"]);
        let odd = StatusSet::EMPTY.with_range(500, 504).with(529).with(429).with(428);
        assert_eq!(status_words(&odd), ["428", "429", "500..504", "529"]);
    }

    #[test]
    fn waits_and_hints_are_said_in_words() {
        let waits = |policy: &RetryPolicy| wait_words(&policy.backoff, policy.jitter);
        assert_eq!(waits(&sdk(3)), "0.5 s doubling to 8 s, −25 % jitter");
        assert_eq!(waits(&fixed(4, SimDuration::from_secs(2))), "fixed 2 s, no jitter");
        assert_eq!(waits(&fixed(4, SimDuration::ZERO)), "at once");
        assert_eq!(hint_words(&sdk(3)), "obeys retry-after, without bound");
        let hint = HintRule::Obey { cap: SimDuration::from_secs(60), above: AboveCap::OwnBackoff, jittered: false };
        assert_eq!(hint_words(&RetryPolicy { hint, ..sdk(3) }), "obeys retry-after to 60 s, above it waits its own");
    }
}
