//! A record knows its answer before the run does. Answers differ in few ways but for the length of their hint, so each
//! way is kept once, with all that is counted by it, and a record keeps its number and the hint: ten bytes.

use crate::observe::alerts::Places;
use crate::observe::{AnswerIndex, AnswerKind, WorkerActivity};
use crate::policy::answer::{Answer, Hint};
use crate::units::SimDuration;

/// The number of an answer among those that differ in more than their hint's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerId(u16);

/// An answer and what is counted by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The answer; where it has a hint, its length is zero.
    answer: Answer,
    /// Its place among the answers that are counted apart.
    pub(super) place: usize,
    pub(super) kind: AnswerKind,
    /// What a worker does in a request that ends so.
    pub(super) activity: WorkerActivity,
}

impl Known {
    /// Whether it is this answer but for the length of the hint.
    #[inline]
    fn is(&self, answer: &Answer) -> bool {
        let own = &self.answer;
        let same_hint = match (own.hint, answer.hint) {
            (Hint::After(_), Hint::After(_)) => true,
            (own, other) => own == other,
        };
        own.outcome == answer.outcome
            && own.status == answer.status
            && own.should_retry == answer.should_retry
            && own.code == answer.code
            && same_hint
    }

    /// The answer with a hint of this length, if it has one.
    #[inline]
    pub(super) fn with(&self, hint: SimDuration) -> Answer {
        let hint = match self.answer.hint {
            Hint::After(_) => Hint::After(hint),
            other @ (Hint::None | Hint::Blank | Hint::Never | Hint::Fatal) => other,
        };
        Answer { hint, ..self.answer }
    }
}

/// All answers that were given so far.
pub(super) struct Answers {
    known: Vec<Known>,
    index: AnswerIndex,
    places: Places,
}

impl Answers {
    pub(super) fn new(index: AnswerIndex) -> Answers {
        let mut answers = Answers { known: Vec::new(), places: index.places(), index };
        answers.learn(&Answer::DELIVERED);
        answers
    }

    /// The number of an answer and the length of its hint.
    #[inline]
    pub(super) fn number(&mut self, answer: &Answer) -> (AnswerId, SimDuration) {
        let wait = answer.hint.wait().unwrap_or_default();
        let number = self.known.iter().position(|known| known.is(answer)).unwrap_or_else(|| self.learn(answer));
        // A provider has at most 64 limits and 64 faults, each with one way to answer.
        (AnswerId(number as u16), wait)
    }

    #[cold]
    fn learn(&mut self, answer: &Answer) -> usize {
        let hint = if answer.hint.wait().is_some() { Hint::After(SimDuration::ZERO) } else { answer.hint };
        let delivered = answer.is_delivered();
        self.known.push(Known {
            answer: Answer { hint, ..*answer },
            place: self.index.of(answer),
            kind: AnswerKind::of(answer),
            activity: if delivered { WorkerActivity::Serving } else { WorkerActivity::Refused },
        });
        assert!(u16::try_from(self.known.len()).is_ok(), "a provider has fewer ways to answer");
        self.known.len() - 1
    }

    /// The answer of this number.
    #[inline]
    pub(super) fn get(&self, id: AnswerId) -> &Known {
        &self.known[id.0 as usize]
    }

    /// The places of those that alerts tell apart.
    pub(super) const fn places(&self) -> &Places {
        &self.places
    }

    /// The answers that are counted apart.
    pub(super) fn into_index(self) -> AnswerIndex {
        self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::answer::{Code, Outcome};

    #[test]
    fn numbering_an_answer_loses_nothing() {
        let refused = Answer::refused(429);
        let mut answers = Answers::new(AnswerIndex::new(&[429, 500, 400], false));
        for answer in [
            Answer::DELIVERED,
            Answer::TIMED_OUT,
            Answer::failed(Outcome::StreamBroken),
            refused,
            refused.with_hint(Some(SimDuration::ZERO)),
            refused.with_hint(Some(SimDuration::from_secs(7))),
            Answer { hint: Hint::Fatal, ..refused },
            Answer { should_retry: Some(false), hint: Hint::Blank, ..Answer::refused(500) },
            Answer { should_retry: Some(false), code: Code::named("spend"), ..Answer::refused(500) },
            Answer { should_retry: Some(true), hint: Hint::Never, ..Answer::refused(400) },
        ] {
            let (id, hint) = answers.number(&answer);
            assert_eq!(answers.get(id).with(hint), answer);
        }
        // Both hints after a 429 share a number.
        assert_eq!(answers.known.len(), 9);
    }
}
