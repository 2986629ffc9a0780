//! People quote one number for a stack of layers. Which number is true depends on the error: a layer multiplies only
//! what it repeats. This file lists the answers that an explanation tells apart, and all that a provider may choose
//! from.

use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::classify::MAX_STATUS;
use crate::policy::{Answer, Client, Code, Guard, Mechanism, Outcome, OutcomeSet, Role};
use crate::provider::{Limit, Provider, Respond};

/// Statuses that are always shown: a permanent fault, the two odd ones that client libraries repeat, a rate limit, a
/// server error, and two ways of saying overload.
const SHOWN: [u16; 7] = [400, 408, 409, 429, 500, 503, 529];

/// A kind of answer with a row of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerKind {
    /// Its word, such as `529`, `timeout`, `dropped`, `short_circuited`.
    pub word: String,
    /// The answer itself, without a hint.
    pub answer: Answer,
}

/// The answers that get a row: the usual ones, and whatever else this provider's limits and faults answer.
pub fn shown(provider: &Provider, guards: &[Guard], client: &Client) -> Vec<AnswerKind> {
    let mut statuses: Vec<u16> = SHOWN.to_vec();
    statuses.extend(provider.limits.iter().map(|limit| limit.status));
    statuses.extend(fault_answers(provider).filter(|answer| answer.status > 0).map(|answer| answer.status));
    statuses.sort_unstable();
    statuses.dedup();
    let mut answers: Vec<Answer> = statuses.into_iter().map(Answer::refused).collect();
    answers.extend(marked(provider));
    answers.extend([Answer::TIMED_OUT, Answer::DROPPED]);
    let without_status: Vec<Answer> = fault_answers(provider).filter(|answer| answer.status == 0).collect();
    for answer in without_status {
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    if rejecting_breaker(guards, client).is_some() {
        answers.push(Answer::SHORT_CIRCUITED);
    }
    answers.into_iter().map(|answer| AnswerKind { word: word_with_code(&answer, provider), answer }).collect()
}

/// Everything that a provider at its worst may answer: a success, every error status, every way of failing without
/// one, and the statuses with a word on retrying or with a code that this provider sends.
pub fn choices(provider: &Provider) -> Vec<Answer> {
    let failures = Outcome::ALL.into_iter().map(|(outcome, _)| outcome);
    let by_provider = |outcome: &Outcome| OutcomeSet::FAILURES.contains(*outcome) && outcome.was_sent();
    let mut all = vec![Answer::DELIVERED];
    all.extend(failures.filter(by_provider).map(Answer::failed));
    all.extend((400..=MAX_STATUS).map(Answer::refused));
    all.extend(marked(provider));
    all
}

/// What the faults answer, with their hints.
pub fn fault_answers(provider: &Provider) -> impl Iterator<Item = Answer> + '_ {
    provider.faults.iter().map(|fault| of_fault(&fault.respond))
}

/// What one fault answers, with its hint.
pub fn of_fault(respond: &Respond) -> Answer {
    respond.answer().unwrap_or(Answer::TIMED_OUT)
}

/// The provider's answers that carry a word on retrying or a code, each once.
fn marked(provider: &Provider) -> Vec<Answer> {
    let refusals = provider.limits.iter().map(Limit::refusal);
    let mut marked: Vec<Answer> = fault_answers(provider)
        .chain(refusals)
        .filter(|answer| answer.should_retry.is_some() || answer.code != Code::NONE)
        .map(|answer| answer.with_hint(None))
        .collect();
    marked.sort_by_key(|answer| (answer.status, answer.should_retry, answer.code));
    marked.dedup();
    marked
}

/// The word for an answer, with the name of its code where this provider sends it.
fn word_with_code(answer: &Answer, provider: &Provider) -> String {
    let of_faults = provider.faults.iter().filter_map(|fault| match &fault.respond {
        Respond::Status { code, .. } => code.as_deref(),
        Respond::Stream { .. }
        | Respond::Cut { .. }
        | Respond::Drop { .. }
        | Respond::Unreachable { .. }
        | Respond::Script(_)
        | Respond::Hang => None,
    });
    let mut codes = of_faults.chain(provider.limits.iter().filter_map(|limit| limit.code.as_deref()));
    match codes.find(|name| answer.code != Code::NONE && Code::named(name) == answer.code) {
        Some(code) => format!("{} {code}", word(answer)),
        None => word(answer),
    }
}

/// The word for an answer.
pub fn word(answer: &Answer) -> String {
    match answer.outcome {
        Outcome::Delivered => "200".into(),
        Outcome::Refused => match answer.should_retry {
            Some(retry) => format!("{} x-should-retry: {retry}", answer.status),
            None => answer.status.to_string(),
        },
        Outcome::TimedOut => "timeout".into(),
        Outcome::Dropped => "dropped".into(),
        Outcome::ConnectTimedOut
        | Outcome::PoolTimedOut
        | Outcome::Silent
        | Outcome::Unreachable
        | Outcome::CutShort
        | Outcome::StreamFailed
        | Outcome::StreamBroken
        | Outcome::ShortCircuited
        | Outcome::LimiterFull => answer.outcome.word().into(),
    }
}

/// The place of the innermost breaker that refuses when it is open, where the client has one.
pub fn rejecting_breaker(guards: &[Guard], client: &Client) -> Option<usize> {
    client.elements().iter().position(|element| match element.role {
        Role::Guard(guard) => rejects(&guards[guard]),
        Role::Retry(_) | Role::Queue(..) => false,
    })
}

/// Whether a guard can refuse.
pub fn rejects(guard: &Guard) -> bool {
    match &guard.mechanism {
        Mechanism::Breaker(breaker) => breaker.when_open == WhenOpen::Reject,
        Mechanism::Pacer(_) => false,
    }
}
