//! The provider at work: what it answers to a request, and when. It borrows nothing of the engine, so a real clock can
//! drive it as well as a simulated one.

use super::fault::{Fault, Respond};
use super::limit::Limit;
use super::model::window_exceeded;
use super::profile::Piece;
use super::script::Script;
use super::{Provider, Request};
use crate::policy::answer::{Answer, Hint};
use crate::policy::header::{HintGrammar, HintHeader, Said};
use crate::policy::token_bucket::TokenBucketState;
use crate::random::Key;
use crate::units::time::NANOS_PER_SEC;
use crate::units::{SimDuration, SimTime};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is answered.
    Answered {
        /// When the answer is back.
        at: SimTime,
        /// The answer.
        answer: Answer,
        /// Who gave it.
        by: AnsweredBy,
    },
    /// Nothing ever comes back.
    Never {
        /// Whose silence it is.
        by: AnsweredBy,
    },
}

/// Who answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The fault of this index.
    Fault(usize),
    /// The limit of this index.
    Limit(usize),
    /// The service itself.
    Service,
    /// The model's context window, into which the request does not fit.
    Window,
}

/// The provider in a run.
#[derive(Clone, Debug)]
pub struct ProviderState<'a> {
    settings: &'a Provider,
    levels: Vec<TokenBucketState>,
    /// For each fault the name's key word, so that its draws do not depend on its place in the file.
    fault_words: Vec<u64>,
    /// For each fault and class the piece of its probability that was last looked at. Time hardly moves between two
    /// requests; to look each of them up in the profile took a tenth of the event loop's time.
    chances: Vec<Vec<Piece>>,
    limit_words: Vec<u64>,
    /// What each fault answers; `None` where nothing ever comes back.
    fault_answers: Vec<Option<Answer>>,
    /// How each limit refuses, without its hint.
    refusals: Vec<Answer>,
    /// The context window of each model; empty where none has one.
    windows: Vec<u32>,
}

/// Purposes of a request's draws, beyond those named after faults and limits.
const FAULT_LATENCY: u64 = 0x006c_6174_656e_6379;

impl<'a> ProviderState<'a> {
    /// A provider with full limits.
    pub fn new(settings: &'a Provider) -> Self {
        ProviderState {
            settings,
            levels: settings.limits.iter().map(|limit| limit.bucket.full(SimTime::ZERO)).collect(),
            chances: settings.faults.iter().map(first_pieces).collect(),
            fault_words: settings.faults.iter().map(|fault| Key::word(&fault.name)).collect(),
            limit_words: settings.limits.iter().map(|limit| Key::word(&limit.name)).collect(),
            fault_answers: settings.faults.iter().map(|fault| fault.respond.answer()).collect(),
            refusals: settings.limits.iter().map(Limit::refusal).collect(),
            windows: windows(settings),
        }
    }

    /// What becomes of a request that arrives at `now`; `service` is asked how long it takes to serve, if it is.
    pub fn receive(&mut self, now: SimTime, request: &Request<'_>, service: impl FnOnce() -> SimDuration) -> Verdict {
        if self.windows.get(request.model as usize).is_some_and(|window| request.input_tokens > *window) {
            return Verdict::Answered { at: now, answer: window_exceeded(), by: AnsweredBy::Window };
        }
        for (index, fault) in self.settings.faults.iter().enumerate() {
            if self.strikes(index, now, request) {
                return self.fault_verdict(index, fault, now, request);
            }
        }
        if let Some((index, shortfall)) = self.longest_shortfall(now, request) {
            let limit = &self.settings.limits[index];
            let mut draws = request.key.with(self.limit_words[index]).stream();
            let at = now + SimDuration::from_secs_f64(limit.refusal_latency.sample(&mut draws));
            let hint = limit.hint.map_or(Hint::None, |form| Hint::After(form.hint(shortfall)));
            let answer = as_read(Answer { hint, ..self.refusals[index] }, request.grammar);
            return Verdict::Answered { at, answer, by: AnsweredBy::Limit(index) };
        }
        for (limit, level) in self.settings.limits.iter().zip(&mut self.levels) {
            if limit.models.contains(request.model) {
                limit.bucket.withdraw(level, cost(limit, request), now);
            }
        }
        Verdict::Answered { at: now + service(), answer: Answer::DELIVERED, by: AnsweredBy::Service }
    }

    /// The level of each limit, in the order of the settings.
    pub fn levels(&self) -> &[TokenBucketState] {
        &self.levels
    }

    #[inline]
    fn strikes(&mut self, fault: usize, now: SimTime, request: &Request<'_>) -> bool {
        let settings = &self.settings.faults[fault];
        if !settings.models.contains(request.model) || settings.window.is_some_and(|window| !window.contains(now)) {
            return false;
        }
        let piece = &mut self.chances[fault][request.class as usize];
        if !piece.span.contains(now) {
            *piece = settings.probability[request.class as usize].piece(now);
        }
        let probability = piece.at(now);
        probability > 0.0 && request.key.with(self.fault_words[fault]).unit() < probability
    }

    fn fault_verdict(&self, index: usize, fault: &Fault, now: SimTime, request: &Request<'_>) -> Verdict {
        if let Respond::Script(script) = &fault.respond {
            return scripted(script, index, now, request);
        }
        let (Some(answer), Some(after)) = (self.fault_answers[index], fault.respond.after()) else {
            return Verdict::Never { by: AnsweredBy::Fault(index) };
        };
        let mut draws = request.key.with(self.fault_words[index]).with(FAULT_LATENCY).stream();
        let at = now + SimDuration::from_secs_f64(after.sample(&mut draws));
        Verdict::Answered { at, answer: as_read(answer, request.grammar), by: AnsweredBy::Fault(index) }
    }

    /// The limit that the request would have to wait for longest, and how long; `None` where it fits into all.
    fn longest_shortfall(&self, now: SimTime, request: &Request<'_>) -> Option<(usize, SimDuration)> {
        let mut longest: Option<(usize, SimDuration)> = None;
        for (index, (limit, level)) in self.settings.limits.iter().zip(&self.levels).enumerate() {
            if !limit.models.contains(request.model) {
                continue;
            }
            let shortfall = limit.bucket.shortfall(level, cost(limit, request), now);
            if !shortfall.is_zero() && longest.is_none_or(|(_, known)| shortfall > known) {
                longest = Some((index, shortfall));
            }
        }
        longest
    }
}

fn windows(settings: &Provider) -> Vec<u32> {
    if settings.models.iter().all(|model| model.context_window.is_none()) {
        return Vec::new();
    }
    settings.models.iter().map(|model| model.context_window.unwrap_or(u32::MAX)).collect()
}

/// The answer of a script to a request.
fn scripted(script: &Script, fault: usize, now: SimTime, request: &Request<'_>) -> Verdict {
    let entry = script.entry(u64::from(request.ordinal));
    let Some(after) = entry.after else { return Verdict::Never { by: AnsweredBy::Fault(fault) } };
    let answer = entry.answer(request.grammar, now + after);
    let by = if answer.is_delivered() { AnsweredBy::Service } else { AnsweredBy::Fault(fault) };
    Verdict::Answered { at: now + after, answer, by }
}

/// The answer with its hint as the client reads it from a `retry-after` header.
fn as_read(answer: Answer, grammar: &HintGrammar) -> Answer {
    let Hint::After(wait) = answer.hint else { return answer };
    let seconds = wait.as_secs_f64();
    let whole = wait.as_nanos().is_multiple_of(NANOS_PER_SEC);
    let said = if whole { Said::Whole(seconds) } else { Said::Fraction(seconds) };
    Answer { hint: grammar.read(&[(HintHeader::RetryAfter, said)]), ..answer }
}

fn first_pieces(fault: &Fault) -> Vec<Piece> {
    fault.probability.iter().map(|profile| profile.piece(SimTime::ZERO)).collect()
}

fn cost(limit: &Limit, request: &Request<'_>) -> u64 {
    limit.counts.cost(request.input_tokens, request.output_tokens)
}
