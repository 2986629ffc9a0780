//! People quote one number for a stack of layers. Which number is true depends on the error: a layer multiplies only
//! what it repeats. This file lists the answers that an explanation tells apart, and all that a provider may choose
//! from.

use crate::policy::classify::MAX_STATUS;
use crate::policy::header::HintGrammar;
use crate::policy::{Answer, Client, Code, Guard, Outcome, OutcomeSet, Role};
use crate::provider::model::{WINDOW_CODE, window_exceeded};
use crate::provider::{Limit, Provider, Respond, Slots};
use crate::units::SimTime;

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
    statuses.extend(provider.slots.iter().map(|slots| slots.status));
    statuses.extend(
        fault_answers(provider, client.grammar()).filter(|answer| answer.status > 0).map(|answer| answer.status),
    );
    statuses.sort_unstable();
    statuses.dedup();
    let mut answers: Vec<Answer> = statuses.into_iter().map(Answer::refused).collect();
    answers.extend(marked(provider));
    answers.extend([Answer::TIMED_OUT, Answer::DROPPED]);
    let without_status: Vec<Answer> =
        fault_answers(provider, client.grammar()).filter(|answer| answer.status == 0).collect();
    for answer in without_status {
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    answers.extend(refusals(guards, client));
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

/// What the faults answer, with the hints that this grammar reads.
pub fn fault_answers(provider: &Provider, grammar: &HintGrammar) -> impl Iterator<Item = Answer> {
    provider.faults.iter().flat_map(|fault| of_fault(&fault.respond, grammar))
}

/// What one fault answers, with its hint: one answer, or the different failures of a script.
pub fn of_fault(respond: &Respond, grammar: &HintGrammar) -> Vec<Answer> {
    let Respond::Script(script) = respond else { return vec![respond.answer().unwrap_or(Answer::TIMED_OUT)] };
    let mut answers = Vec::new();
    for entry in script.entries() {
        let answer = entry.answer(grammar, SimTime::ZERO);
        if !answer.is_delivered() && !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    answers
}

/// The provider's answers that carry a word on retrying or a code, each once.
fn marked(provider: &Provider) -> Vec<Answer> {
    let refusals = provider.limits.iter().map(Limit::refusal).chain(provider.slots.iter().map(Slots::refusal));
    let mut marked: Vec<Answer> = fault_answers(provider, &HintGrammar::default())
        .chain(refusals)
        .chain(has_windows(provider).then(window_exceeded))
        .filter(|answer| answer.should_retry.is_some() || answer.code != Code::NONE)
        .map(|answer| answer.with_hint(None))
        .collect();
    marked.sort_by_key(|answer| (answer.status, answer.should_retry, answer.code));
    marked.dedup();
    marked
}

fn has_windows(provider: &Provider) -> bool {
    provider.models.iter().any(|model| model.context_window.is_some())
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
        | Respond::Hang
        | Respond::ConnectHang
        | Respond::Silence { .. }
        | Respond::Degraded
        | Respond::SlowFirstToken(_) => None,
    });
    let of_limits = provider.limits.iter().filter_map(|limit| limit.code.as_deref());
    let of_slots = provider.slots.iter().filter_map(|slots| slots.code.as_deref());
    let window = has_windows(provider).then_some(WINDOW_CODE);
    let mut codes = of_faults.chain(of_limits).chain(of_slots).chain(window);
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
        | Outcome::WriteTimedOut
        | Outcome::PoolTimedOut
        | Outcome::Silent
        | Outcome::Unreachable
        | Outcome::CutShort
        | Outcome::StreamFailed
        | Outcome::StreamBroken
        | Outcome::ShortCircuited
        | Outcome::LimiterFull
        | Outcome::TooLarge
        | Outcome::Cancelled => answer.outcome.word().into(),
    }
}

/// What the client's own guards can refuse with, each once, innermost first.
pub fn refusals(guards: &[Guard], client: &Client) -> Vec<Answer> {
    let mut all = Vec::new();
    for element in client.elements() {
        let Role::Guard(guard) = element.role else { continue };
        all.extend(refusal(&guards[guard], client).filter(|answer| !all.contains(answer)));
    }
    all
}

/// The place of the innermost guard that can refuse with this answer, where the client has one.
pub fn refusing(guards: &[Guard], client: &Client, answer: &Answer) -> Option<usize> {
    client.elements().iter().position(|element| match element.role {
        Role::Guard(guard) => refusal(&guards[guard], client).as_ref() == Some(answer),
        Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => false,
    })
}

/// What a refusal of this guard is for the layers of this client outside; `None` where it never refuses. A wait for a
/// pool's connection may end by the client's own timeout for it.
pub fn refusal(guard: &Guard, client: &Client) -> Option<Answer> {
    if let Some(choice) = guard.deployments() {
        return Some(Answer { status: choice.status, ..Answer::SHORT_CIRCUITED });
    }
    let gives_up = guard.is_pool() && client.patience().timeouts.pool.is_some();
    guard.mechanism.refusal().or(gives_up.then_some(Outcome::PoolTimedOut)).map(Answer::failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Script;

    #[test]
    fn a_script_answers_with_each_of_its_failures() {
        let script = Script::parse("529, 503, 529, hang, 200", 0.0).unwrap();
        let answers = of_fault(&Respond::Script(script), &HintGrammar::default());
        assert_eq!(answers, [Answer::refused(529), Answer::refused(503), Answer::TIMED_OUT]);
    }
}
