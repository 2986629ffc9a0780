//! The way between callers and the provider: how long a request travels before it is there, and how long its answer
//! travels back. Both are part of what a caller waits for and no part of what the provider does.

use crate::policy::Course;
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

/// How long requests and answers travel.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Seconds from when a request is written until it is there; `None` for no time.
    pub send: Option<Distribution>,
    /// Seconds from when something of an answer leaves the provider until its caller has it; `None` for no time.
    pub receive: Option<Distribution>,
}

/// The way of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// When its connection stands.
    pub connected: SimTime,
    /// When it is written.
    pub written: SimTime,
    /// When it is at the provider.
    pub arrives: SimTime,
    /// How long its answer travels.
    pub back: SimDuration,
}

impl Way {
    /// What its caller sees of a request of which nothing ever comes back.
    pub const fn unanswered(&self) -> Course {
        const NEVER: SimTime = SimTime::NEVER;
        let Way { connected, written, .. } = *self;
        Course { connected, written, first: NEVER, quiet: NEVER, resumes: NEVER, ends: NEVER }
    }

    /// What its caller sees of what leaves the provider like this. A connection that is never made is none here either.
    pub fn seen(&self, course: &Course) -> Course {
        let later = |instant: SimTime| if instant == SimTime::NEVER { instant } else { instant + self.back };
        let is_made = course.connected < SimTime::NEVER;
        let own = |instant: SimTime| if is_made { instant } else { SimTime::NEVER };
        let [first, quiet, resumes, ends] = [course.first, course.quiet, course.resumes, course.ends].map(later);
        Course { connected: own(self.connected), written: own(self.written), first, quiet, resumes, ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    #[test]
    fn a_caller_sees_all_of_an_answer_so_much_later() {
        let way = Way { connected: at(1), written: at(2), arrives: at(5), back: SimDuration::from_secs(3) };
        let silent =
            Course { first: at(6), quiet: at(7), resumes: SimTime::NEVER, ends: SimTime::NEVER, ..way.unanswered() };
        let seen = way.seen(&silent);
        assert_eq!((seen.connected, seen.written, seen.first, seen.quiet), (at(1), at(2), at(9), at(10)));
        assert_eq!((seen.resumes, seen.ends), (SimTime::NEVER, SimTime::NEVER));
    }

    #[test]
    fn a_connection_that_is_never_made_is_refused_when_the_refusal_is_back() {
        let way = Way { connected: at(1), written: at(2), arrives: at(5), back: SimDuration::from_secs(3) };
        assert_eq!(way.seen(&Course::without_connection(at(6))), Course::without_connection(at(9)));
        assert_eq!(way.seen(&Course::without_connection(SimTime::NEVER)), Course::without_connection(SimTime::NEVER));
    }
}
