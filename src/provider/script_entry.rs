//! One answer of a scripted server: what it is, and what the phases of its request take.

use super::service::Service;
use crate::policy::Course;
use crate::policy::answer::{Answer, Code, Hint, Outcome};
use crate::policy::header::{HintGrammar, HintHeader, Said};
use crate::units::{SimDuration, SimTime};

/// The most hints of one answer.
pub(super) const MOST_HINTS: usize = 16;

/// One scripted answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As it was written, without its fields' quotes.
    pub text: String,
    /// Until it is there, once the request is written; `None` never.
    pub after: Option<SimDuration>,
    /// What else its phases take.
    pub(super) phases: Phases,
    pub(super) outcome: Outcome,
    pub(super) status: u16,
    pub(super) should_retry: Option<bool>,
    pub(super) code: Code,
    pub(super) hints: Vec<(HintHeader, Said)>,
    /// Which of the hints are dates: the later they are read, the shorter is the wait.
    pub(super) dates: Vec<bool>,
}

/// What the phases of a request take beside its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Phases {
    pub(super) connect: Option<SimDuration>,
    pub(super) write: Option<SimDuration>,
    pub(super) first_token: Option<SimDuration>,
    /// When the answer falls silent.
    pub(super) at: Option<SimDuration>,
    /// For how long, where it goes on.
    pub(super) gap: Option<SimDuration>,
}

impl Entry {
    /// The answer as a client with this grammar sees it when it comes at `now`.
    pub fn answer(&self, grammar: &HintGrammar, now: SimTime) -> Answer {
        let (outcome, status, should_retry, code) = (self.outcome, self.status, self.should_retry, self.code);
        let hint = if self.dates.contains(&true) { self.read_at(grammar, now) } else { grammar.read(&self.hints) };
        Answer { outcome, status, should_retry, hint, code }
    }

    /// What the hints come to at `now`: dates are waits from then on.
    fn read_at(&self, grammar: &HintGrammar, now: SimTime) -> Hint {
        let passed = (now - SimTime::ZERO).as_secs_f64();
        let mut hints = [(HintHeader::RetryAfter, Said::Unreadable); MOST_HINTS];
        for ((place, hint), is_date) in hints.iter_mut().zip(&self.hints).zip(&self.dates) {
            *place = match *hint {
                (header, Said::Date(wait)) if *is_date => (header, Said::Date(wait - passed)),
                as_it_was => as_it_was,
            };
        }
        grammar.read(&hints[..self.hints.len()])
    }

    /// Whether it is what was asked for.
    pub fn is_delivered(&self) -> bool {
        self.outcome == Outcome::Delivered
    }

    /// Whether the connection stands and nothing ever comes back.
    pub fn hangs(&self) -> bool {
        self.outcome == Outcome::TimedOut
    }

    /// What a client would see of it, and when, that takes so long to connect and to write its request.
    pub fn course(&self, sent: SimTime, connect: SimDuration, write: SimDuration) -> Course {
        let Phases { first_token, at, gap, .. } = self.phases;
        let connected = sent + connect + self.phases.connect.unwrap_or_default();
        let written = connected + write + self.phases.write.unwrap_or_default();
        let Some(takes) = self.after else {
            return match self.outcome {
                Outcome::ConnectTimedOut => Course::without_connection(SimTime::NEVER),
                Outcome::Silent => {
                    let begins = Service { first_token, takes: SimDuration::MAX };
                    begins.course_into_silence(connected, written, at.unwrap_or_default())
                }
                _ => Service::whole(SimDuration::MAX).course(connected, written),
            };
        };
        if self.outcome == Outcome::Unreachable {
            return Course::without_connection(sent + takes);
        }
        let service = Service { first_token, takes };
        match (at, gap) {
            (Some(at), Some(gap)) => service.course_with_gap(connected, written, at, gap),
            _ => service.course(connected, written),
        }
    }
}
