//! What goes wrong on the provider's side, when, for whom, and what it answers then.
//!
//! A fault draws one uniform per request, keyed by its own name and the request's key, and strikes when it lies below
//! the probability of that instant. Two runs with different policies so share the draw of the n-th request of a step
//! although they send it at different times.

use super::fault_terms::FaultTerms;
use super::model::ModelSet;
use super::profile::Profile;
use super::script::Script;
use crate::policy::answer::{Answer, Code, Outcome};
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

/// A half-open span of time: `from` belongs to it, `to` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub from: SimTime,
    /// The first instant after it.
    pub to: SimTime,
}

impl Window {
    /// Whether the instant lies in the window.
    pub fn contains(&self, now: SimTime) -> bool {
        self.from <= now && now < self.to
    }

    /// How long it lasts.
    pub fn length(&self) -> SimDuration {
        self.to - self.from
    }
}

/// What a struck request gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Respond {
    /// An HTTP error.
    Status {
        /// The status, from 400 to 599.
        status: u16,
        /// Seconds until it is back.
        after: Distribution,
        /// The hint it carries.
        hint: Option<SimDuration>,
        /// The word on retrying it carries.
        should_retry: Option<bool>,
        /// The code in the error's body.
        code: Option<String>,
    },
    /// A stream begins with status 200 and does not come to its end.
    Stream {
        /// How it ends instead.
        how: StreamFault,
        /// Seconds until the client notices.
        after: Distribution,
    },
    /// The connection is closed in the middle of an answer that is no stream.
    Cut {
        /// Seconds until it is.
        after: Distribution,
    },
    /// The connection is closed without an answer.
    Drop {
        /// Seconds until it is.
        after: Distribution,
    },
    /// The connection is refused.
    Unreachable {
        /// Seconds until it is.
        after: Distribution,
    },
    /// Nothing ever comes back.
    Hang,
    /// The connection is never made.
    ConnectHang,
    /// A stream falls silent in its middle.
    Silence {
        /// Seconds until it does.
        at: Distribution,
        /// Seconds until it goes on and is served to its end; `None` never.
        gap: Option<Distribution>,
    },
    /// The request is served, and the first byte of its answer comes no sooner than this, in seconds.
    SlowFirstToken(Distribution),
    /// Nobody is struck: the servers are fewer or slower in its window, which their settings know.
    Degraded,
    /// The task's first request gets the first of these answers, its second the second, and so on.
    Script(Script),
}

impl Respond {
    /// What the client sees in the end; `None` where nothing ever comes back, where it is served, or where a script says
    /// it one by one.
    pub fn answer(&self) -> Option<Answer> {
        let outcome = match self {
            Respond::Status { status, hint, should_retry, code, .. } => {
                let code = code.as_deref().map_or(Code::NONE, Code::named);
                return Some(Answer { should_retry: *should_retry, code, ..Answer::refused(*status).with_hint(*hint) });
            }
            Respond::Stream { how, .. } => how.outcome(),
            Respond::Cut { .. } => Outcome::CutShort,
            Respond::Drop { .. } => Outcome::Dropped,
            Respond::Unreachable { .. } => Outcome::Unreachable,
            Respond::ConnectHang => Outcome::ConnectTimedOut,
            Respond::Silence { .. } => Outcome::Silent,
            Respond::Hang | Respond::Degraded | Respond::SlowFirstToken(_) | Respond::Script(_) => return None,
        };
        Some(Answer::failed(outcome))
    }

    /// Seconds until the client sees it; `None` where it never does, or where something else says when.
    pub const fn after(&self) -> Option<&Distribution> {
        match self {
            Respond::Status { after, .. }
            | Respond::Stream { after, .. }
            | Respond::Cut { after }
            | Respond::Drop { after }
            | Respond::Unreachable { after } => Some(after),
            Respond::Hang
            | Respond::ConnectHang
            | Respond::Silence { .. }
            | Respond::Degraded
            | Respond::SlowFirstToken(_)
            | Respond::Script(_) => None,
        }
    }

    /// Whether a struck request is served all the same, only otherwise: it must fit into the limits as any other.
    pub const fn is_served(&self) -> bool {
        matches!(self, Respond::SlowFirstToken(_) | Respond::Silence { gap: Some(_), .. })
    }
}

/// How a stream ends that does not come to its end. Its status was 200: who looks at statuses alone sees no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// An error instead of its first token.
    Failed,
    /// An error, or a closed connection, after some output.
    Broken,
    /// Nothing more comes, and the client's idle timeout ends it.
    Silent,
}

impl StreamFault {
    /// All of them, each with its word in scenario files.
    pub const ALL: [(StreamFault, &'static str); 3] =
        [(StreamFault::Failed, "failed"), (StreamFault::Broken, "broken"), (StreamFault::Silent, "silent")];

    /// What the client sees.
    pub const fn outcome(self) -> Outcome {
        match self {
            StreamFault::Failed => Outcome::StreamFailed,
            StreamFault::Broken => Outcome::StreamBroken,
            StreamFault::Silent => Outcome::Silent,
        }
    }
}

/// The most windows of a fault that are phases each.
pub const MOST_PHASES: usize = 12;

/// One kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Its name; draws are keyed by it.
    pub name: String,
    /// When it can strike, of several windows from the first to the end of the last; `None` is always.
    pub window: Option<Window>,
    /// How probable it is that it strikes a request, for each traffic class by index.
    pub probability: Vec<Profile>,
    /// What a struck request gets.
    pub respond: Respond,
    /// The models whose requests it strikes.
    pub models: ModelSet,
    /// Whether the server carries a struck request out although its answer fails; `None` as [`carries_out`] says.
    pub carried_out: Option<bool>,
    /// Its terms; `None` where it is plain.
    pub terms: Option<Box<FaultTerms>>,
}

impl Fault {
    /// Its windows, each with the name of its phase; none where it is always there, and one from the first to the end of
    /// the last where they are many.
    pub fn windows(&self) -> Vec<(&str, Window)> {
        match (&self.terms, self.window) {
            (Some(terms), _) if (2..=MOST_PHASES).contains(&terms.windows.len()) => {
                terms.windows.iter().map(|(name, window)| (name.as_str(), *window)).collect()
            }
            (_, window) => window.into_iter().map(|window| (self.name.as_str(), window)).collect(),
        }
    }

    /// How long it lasts at a stretch: the longest of its windows, or where it comes in episodes the mean of those;
    /// `None` where it is always there.
    pub fn stretch(&self) -> Option<SimDuration> {
        let several = self.terms.iter().flat_map(|terms| &terms.windows).map(|(_, window)| window.length()).max();
        let window = several.or_else(|| self.window.map(|window| window.length()));
        let episodes = self.terms.as_ref().and_then(|terms| terms.episodes.as_ref());
        let mean = episodes.filter(|follows| follows.otherwise == 0.0);
        let mean = mean.map(|follows| SimDuration::from_secs_f64(follows.path.on.mean()));
        match (window, mean) {
            (Some(window), Some(mean)) => Some(window.min(mean)),
            (window, mean) => window.or(mean),
        }
    }

    /// Whether requests of this class at this step can be struck.
    pub fn strikes(&self, class: usize, step: usize) -> bool {
        let at_step = self.terms.as_ref().is_none_or(|terms| terms.strikes_step(class, step as u8));
        at_step && self.peak(class) > 0.0
    }

    /// Whether it comes and goes, and strikes nobody while it is off.
    pub fn comes_in_episodes(&self) -> bool {
        let episodes = self.terms.as_ref().and_then(|terms| terms.episodes.as_ref());
        episodes.is_some_and(|follows| follows.otherwise == 0.0)
    }

    /// The largest probability with which it strikes requests of a class.
    pub fn peak(&self, class: usize) -> f64 {
        if self.terms.as_ref().is_some_and(|terms| terms.steps.get(class) == Some(&0)) {
            return 0.0;
        }
        let episodes = self.terms.as_ref().and_then(|terms| terms.episodes.as_ref());
        let otherwise = episodes.map_or(0.0, |follows| follows.otherwise);
        self.probability.get(class).map_or(1.0, Profile::peak).max(otherwise)
    }
}

/// Whether a server has carried out what a client sees end so, unless a fault says otherwise: it has where some of the
/// answer was there, for it answers when it has done its work.
pub const fn carries_out(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Delivered | Outcome::CutShort | Outcome::StreamBroken | Outcome::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_but_silence_comes_back_after_a_while() {
        let after = || Distribution::constant(1.5);
        let status = Respond::Status {
            status: 429,
            after: after(),
            hint: Some(SimDuration::from_secs(7)),
            should_retry: Some(false),
            code: Some("spent".to_owned()),
        };
        let refused = Answer {
            should_retry: Some(false),
            code: Code::named("spent"),
            ..Answer::refused(429).with_hint(Some(SimDuration::from_secs(7)))
        };
        let failed = |outcome| Some(Answer::failed(outcome));
        for (respond, answer) in [
            (status, Some(refused)),
            (Respond::Stream { how: StreamFault::Failed, after: after() }, failed(Outcome::StreamFailed)),
            (Respond::Stream { how: StreamFault::Broken, after: after() }, failed(Outcome::StreamBroken)),
            (Respond::Stream { how: StreamFault::Silent, after: after() }, failed(Outcome::Silent)),
            (Respond::Cut { after: after() }, failed(Outcome::CutShort)),
            (Respond::Drop { after: after() }, failed(Outcome::Dropped)),
            (Respond::Unreachable { after: after() }, failed(Outcome::Unreachable)),
            (Respond::Hang, None),
        ] {
            assert_eq!((respond.answer(), respond.after().is_some()), (answer, answer.is_some()), "{respond:?}");
        }
    }
}
