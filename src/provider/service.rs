//! Serving a request: how long it takes, when its first byte comes, and what becomes of it when its caller leaves.

use crate::policy::Course;
use crate::units::{SimDuration, SimTime};

/// What a provider does with a request whose caller has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Abandoned {
    /// It is served to its end, for nobody.
    #[default]
    Served,
    /// It keeps its place in the waiting room, and when its turn comes it is passed over. What is in service goes on.
    Skipped,
    /// It is taken out of the waiting room when the caller leaves. What is in service goes on.
    Dequeued,
    /// It is taken out of the waiting room, and a service ends, when the caller leaves.
    Cancelled,
}

/// How long the service of one request takes, from when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Until the first byte of a stream; `None` for an answer that is there all at once.
    pub first_token: Option<SimDuration>,
    /// Until all of it is there.
    pub takes: SimDuration,
}

impl Service {
    /// An answer that is there all at once after so long.
    pub const fn whole(takes: SimDuration) -> Service {
        Service { first_token: None, takes }
    }

    /// Until the first byte.
    pub fn first(&self) -> SimDuration {
        self.first_token.map_or(self.takes, |first| first.min(self.takes))
    }

    /// The same service with its first byte no sooner than this: all that follows comes so much later.
    #[must_use]
    pub fn slowed(self, first: SimDuration) -> Service {
        let (own, first) = (self.first(), self.first().max(first));
        Service { first_token: self.first_token.map(|_| first), takes: self.takes + first.saturating_sub(own) }
    }

    /// What a client sees of it that is connected and has written its request at these instants.
    pub fn course(&self, connected: SimTime, written: SimTime) -> Course {
        let (first, ends) = (written + self.first(), written + self.takes);
        Course { connected, written, first, quiet: first, resumes: first, ends }
    }

    /// The same with a silence of this length so long after the request was written; none where it is over before.
    pub fn course_with_gap(&self, connected: SimTime, written: SimTime, at: SimDuration, gap: SimDuration) -> Course {
        let smooth = self.course(connected, written);
        if at >= self.takes {
            return smooth;
        }
        let quiet = written + at;
        Course { first: smooth.first.min(quiet), quiet, resumes: quiet + gap, ends: smooth.ends + gap, ..smooth }
    }

    /// A stream that falls silent for good, so long after the request was written.
    pub fn course_into_silence(&self, connected: SimTime, written: SimTime, at: SimDuration) -> Course {
        let (first, quiet) = (written + self.first().min(at), written + at);
        Course { connected, written, first, quiet, resumes: SimTime::NEVER, ends: SimTime::NEVER }
    }

    /// A stream that breaks off so long after the request was written.
    pub fn course_broken_off(&self, connected: SimTime, written: SimTime, after: SimDuration) -> Course {
        Service { first_token: self.first_token, takes: after }.course(connected, written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> SimDuration {
        SimDuration::from_secs(seconds)
    }

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + secs(seconds)
    }

    #[test]
    fn a_slow_first_byte_delays_all_that_follows() {
        // By hand: a first byte after 2 s of 10 s that comes after 90 s moves the end to 98 s; a whole answer is its
        // own first byte.
        let streamed = Service { first_token: Some(secs(2)), takes: secs(10) };
        assert_eq!(streamed.slowed(secs(90)), Service { first_token: Some(secs(90)), takes: secs(98) });
        assert_eq!(streamed.slowed(secs(1)), streamed);
        assert_eq!(Service::whole(secs(10)).slowed(secs(90)), Service::whole(secs(90)));
    }

    #[test]
    fn a_gap_moves_the_end_and_a_first_byte_is_never_later_than_the_silence_after_it() {
        let streamed = Service { first_token: Some(secs(2)), takes: secs(10) };
        let with_gap = streamed.course_with_gap(at(0), at(1), secs(3), secs(25));
        let expected =
            Course { connected: at(0), written: at(1), first: at(3), quiet: at(4), resumes: at(29), ends: at(36) };
        assert_eq!(with_gap, expected);
        assert_eq!(streamed.course_with_gap(at(0), at(1), secs(10), secs(25)), streamed.course(at(0), at(1)));
        let silent = Service::whole(secs(10)).course_into_silence(at(0), at(0), secs(3));
        assert_eq!(
            (silent.first, silent.quiet, silent.resumes, silent.ends),
            (at(3), at(3), SimTime::NEVER, SimTime::NEVER)
        );
    }
}
