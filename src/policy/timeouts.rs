//! How long an attempt may take, phase by phase. HTTP clients time each phase for itself: connecting, sending the
//! request, waiting for the first byte, and, where the answer is a stream, every gap in it. So an attempt may last much
//! longer than any of its timeouts, unless one limit stands over all of it.
//!
//! [`Course`] is what an attempt would show its client, [`Timeouts::gives_up`] says where the client stops looking.

use super::answer::Outcome;
use crate::units::{SimDuration, SimTime};

/// The longest time of each phase of an attempt; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Option<SimDuration>,
    /// From then until the request is written.
    pub write: Option<SimDuration>,
    /// From then until the first byte of the answer, and each gap after it.
    pub read: Option<SimDuration>,
    /// For a free connection of the client's own pool.
    pub pool: Option<SimDuration>,
    /// Each gap between the events of a stream, seen by a timer.
    pub idle: Option<SimDuration>,
    /// Each gap between the events of a stream, seen only when the next event comes: a guard that looks at the clock
    /// inside the loop over the events. It never sees a stream that stays silent.
    pub idle_at_next_event: Option<SimDuration>,
    /// From the beginning of the attempt to its end.
    pub total: Option<SimDuration>,
}

/// What an attempt would show its client, and when, if the client waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// When the connection stands; `NEVER` where it never does.
    pub connected: SimTime,
    /// When the request is written.
    pub written: SimTime,
    /// When the first byte of the answer is there.
    pub first: SimTime,
    /// When the stream falls silent; `first` where it does not.
    pub quiet: SimTime,
    /// When it goes on; `quiet` where it is never silent, `NEVER` where it stays so.
    pub resumes: SimTime,
    /// When the answer, or what stands in its place, is complete.
    pub ends: SimTime,
}

/// How long a client waits for what of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Patience {
    /// The longest time of each phase, total times that shrink it left out.
    pub timeouts: Timeouts,
    /// Whether some layer's attempts get no more than what is left of its total time.
    pub shrinks: bool,
    /// Which phases take time in the client's world.
    pub phases: Phases,
    /// The shortest of all timeouts: what is over sooner meets none.
    shortest: SimDuration,
}

impl Patience {
    /// Nothing of a request but its answer takes time.
    pub fn new(timeouts: Timeouts, shrinks: bool) -> Patience {
        let shortest = timeouts.shortest().unwrap_or(SimDuration::MAX);
        Patience { timeouts, shrinks, phases: Phases::default(), shortest }
    }

    /// When a request is given up that is sent at `sent` and would go like this, and what is seen then; `None` where
    /// it comes to its own end first. It gets no more time than is `left`.
    #[inline]
    pub fn gives_up(&self, sent: SimTime, left: Option<SimDuration>, course: &Course) -> Option<(SimTime, Outcome)> {
        let in_time = sent + left.map_or(self.shortest, |left| left.min(self.shortest));
        if course.ends <= in_time {
            return None;
        }
        self.timeouts.within(left).gives_up(sent, course)
    }
}

/// Which phases of a request can take time in a world, beside waiting for an answer in one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Connecting.
    pub connect: bool,
    /// Writing the request.
    pub write: bool,
    /// The flow of an answer that has begun.
    pub stream: bool,
}

impl Course {
    /// An answer that is there all at once at `at`, to a request that took no time to send.
    #[inline]
    pub const fn at_once(sent: SimTime, at: SimTime) -> Course {
        Course { connected: sent, written: sent, first: at, quiet: at, resumes: at, ends: at }
    }

    /// A connection that is never made; `ends` is when that is known.
    pub const fn without_connection(ends: SimTime) -> Course {
        Course { ends, ..Course::at_once(SimTime::NEVER, SimTime::NEVER) }
    }

    /// Whether some of the answer was there before `at`.
    pub fn has_begun_before(&self, at: SimTime) -> bool {
        self.first < at
    }
}

impl Timeouts {
    /// No limit at all.
    pub const NONE: Timeouts = Timeouts {
        connect: None,
        write: None,
        read: None,
        pool: None,
        idle: None,
        idle_at_next_event: None,
        total: None,
    };

    /// One duration for every phase, as HTTP clients take it: an attempt may last longer.
    pub const fn each(limit: SimDuration) -> Timeouts {
        Timeouts { connect: Some(limit), write: Some(limit), read: Some(limit), pool: Some(limit), ..Timeouts::NONE }
    }

    /// The one duration that holds for every phase, where nothing else is limited.
    pub fn alike(&self) -> Option<SimDuration> {
        self.read.filter(|limit| *self == Timeouts::each(*limit))
    }

    /// The shorter of both in every phase.
    #[must_use]
    pub fn and(self, other: Timeouts) -> Timeouts {
        Timeouts {
            connect: shorter(self.connect, other.connect),
            write: shorter(self.write, other.write),
            read: shorter(self.read, other.read),
            pool: shorter(self.pool, other.pool),
            idle: shorter(self.idle, other.idle),
            idle_at_next_event: shorter(self.idle_at_next_event, other.idle_at_next_event),
            total: shorter(self.total, other.total),
        }
    }

    /// The longest time for an answer that never begins, or that is there all at once, on a connection that stands.
    pub fn until_answered(&self) -> Option<SimDuration> {
        shorter(self.read, self.total)
    }

    /// The longest time of an attempt where these phases take time: phases add up, and a stream that flows may go on
    /// for ever. `None` where nothing bounds it.
    pub fn longest(&self, phases: Phases) -> Option<SimDuration> {
        let phase = |is_there: bool, limit: Option<SimDuration>| if is_there { limit } else { Some(SimDuration::ZERO) };
        let flow = |is_there: bool| (!is_there).then_some(SimDuration::ZERO);
        let sum =
            [phase(phases.connect, self.connect), phase(phases.write, self.write), self.read, flow(phases.stream)];
        shorter(sum.into_iter().sum(), self.total)
    }

    /// Whether a connection that is never made is given up.
    pub fn ends_connecting(&self) -> bool {
        self.connect.is_some() || self.total.is_some()
    }

    /// Whether a stream that stays silent is given up.
    pub fn ends_silence(&self) -> bool {
        self.read.is_some() || self.idle.is_some() || self.total.is_some()
    }

    /// The shortest limit of all: what is complete within it meets none of them.
    pub fn shortest(&self) -> Option<SimDuration> {
        let phases = [self.connect, self.write, self.read, self.idle, self.idle_at_next_event, self.total];
        phases.into_iter().flatten().min()
    }

    /// The same with no more than this for the whole attempt.
    #[must_use]
    pub fn within(self, left: Option<SimDuration>) -> Timeouts {
        Timeouts { total: shorter(self.total, left), ..self }
    }

    /// When the client gives up an attempt that it began at `sent`, and what it sees then; `None` where the attempt
    /// comes to its own end first. What comes at the very instant of a limit is in time.
    pub fn gives_up(&self, sent: SimTime, course: &Course) -> Option<(SimTime, Outcome)> {
        let total = after(sent, self.total);
        let phase = self.phase(sent, course).filter(|(at, _)| *at <= total);
        phase.or_else(|| (course.ends > total).then_some((total, Outcome::TimedOut)))
    }

    /// The first phase that takes too long. Phases follow one another, so the first in order is the first in time.
    fn phase(&self, sent: SimTime, course: &Course) -> Option<(SimTime, Outcome)> {
        let limit = after(sent, self.connect);
        if course.connected.min(course.ends) > limit {
            return Some((limit, Outcome::ConnectTimedOut));
        }
        if course.connected == SimTime::NEVER {
            return None;
        }
        let limit = after(course.connected, self.write);
        if course.written > limit {
            return Some((limit, Outcome::WriteTimedOut));
        }
        let limit = after(course.written, self.read);
        if course.first > limit {
            return Some((limit, Outcome::TimedOut));
        }
        let limit = after(course.quiet, shorter(self.read, self.idle));
        if course.resumes > limit {
            return Some((limit, Outcome::Silent));
        }
        let is_late = course.resumes > after(course.quiet, self.idle_at_next_event);
        (is_late && course.resumes < SimTime::NEVER).then_some((course.resumes, Outcome::Silent))
    }
}

/// The shorter of two limits.
pub fn shorter(one: Option<SimDuration>, other: Option<SimDuration>) -> Option<SimDuration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn after(instant: SimTime, limit: Option<SimDuration>) -> SimTime {
    limit.map_or(SimTime::NEVER, |limit| instant + limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn secs(seconds: u64) -> SimDuration {
        SimDuration::from_secs(seconds)
    }

    /// Connected after 2 s, written after 3 s, first byte after 10 s, silent from 15 s to 40 s, complete after 60 s.
    fn course() -> Course {
        Course { connected: at(2), written: at(3), first: at(10), quiet: at(15), resumes: at(40), ends: at(60) }
    }

    #[test]
    fn each_phase_has_its_own_limit_and_its_own_word() {
        // By hand, from the course above: 2 s, 1 s, 7 s and 25 s are just in time.
        let none = Timeouts::NONE;
        for (timeouts, expected) in [
            (none, None),
            (Timeouts { connect: Some(secs(2)), ..none }, None),
            (Timeouts { connect: Some(secs(1)), ..none }, Some((at(1), Outcome::ConnectTimedOut))),
            (Timeouts { write: Some(secs(1)), ..none }, None),
            (Timeouts { write: Some(secs(0)), ..none }, Some((at(2), Outcome::WriteTimedOut))),
            (Timeouts { read: Some(secs(25)), ..none }, None),
            (Timeouts { read: Some(secs(24)), ..none }, Some((at(39), Outcome::Silent))),
            (Timeouts { read: Some(secs(6)), ..none }, Some((at(9), Outcome::TimedOut))),
            (Timeouts { idle: Some(secs(20)), read: Some(secs(24)), ..none }, Some((at(35), Outcome::Silent))),
            // Seen at the next event only: five seconds late.
            (Timeouts { idle_at_next_event: Some(secs(20)), ..none }, Some((at(40), Outcome::Silent))),
            (Timeouts { idle_at_next_event: Some(secs(25)), ..none }, None),
            (Timeouts { total: Some(secs(60)), ..none }, None),
            (Timeouts { total: Some(secs(59)), ..none }, Some((at(59), Outcome::TimedOut))),
            (Timeouts { total: Some(secs(30)), idle: Some(secs(20)), ..none }, Some((at(30), Outcome::TimedOut))),
            (Timeouts { pool: Some(secs(1)), ..none }, None),
        ] {
            assert_eq!(timeouts.gives_up(SimTime::ZERO, &course()), expected, "{timeouts:?}");
        }
    }

    #[test]
    fn what_is_never_connected_or_stays_silent_is_left_by_its_own_timeout_alone() {
        let never = Course::without_connection(SimTime::NEVER);
        let silent = Course { resumes: SimTime::NEVER, ends: SimTime::NEVER, ..course() };
        let gives_up = |timeouts: Timeouts, course: &Course| timeouts.gives_up(SimTime::ZERO, course);
        let none = Timeouts::NONE;
        let connect = Timeouts { connect: Some(secs(5)), ..none };
        assert_eq!(gives_up(connect, &never), Some((at(5), Outcome::ConnectTimedOut)));
        assert_eq!(gives_up(Timeouts { read: Some(secs(5)), idle: Some(secs(5)), ..none }, &never), None);
        assert_eq!(gives_up(Timeouts { idle: Some(secs(20)), ..none }, &silent), Some((at(35), Outcome::Silent)));
        // A guard that looks at the clock when an event comes never looks again.
        let late = Timeouts { idle_at_next_event: Some(secs(20)), ..none };
        assert_eq!(gives_up(late, &silent), None);
        assert!(!late.ends_silence() && !none.ends_connecting() && connect.ends_connecting());
    }

    #[test]
    fn phases_add_up_and_a_stream_has_no_end() {
        let five = Timeouts::each(SimDuration::from_secs(5));
        let longest = |connect, write, stream| five.longest(Phases { connect, write, stream });
        assert_eq!(longest(false, false, false), Some(secs(5)));
        assert_eq!((longest(true, false, false), longest(true, true, false)), (Some(secs(10)), Some(secs(15))));
        assert_eq!(longest(false, false, true), None);
        let all = Phases { connect: true, write: true, stream: true };
        assert_eq!(Timeouts { total: Some(secs(9)), ..five }.longest(all), Some(secs(9)));
        assert_eq!(Timeouts { read: Some(secs(3)), ..Timeouts::NONE }.longest(Phases { connect: true, ..all }), None);
    }

    #[test]
    fn within_its_shortest_limit_nothing_is_given_up() {
        let all = Timeouts { idle: Some(secs(4)), total: Some(secs(9)), ..Timeouts::each(SimDuration::from_secs(5)) };
        assert_eq!((all.shortest(), Timeouts::NONE.shortest()), (Some(secs(4)), None));
        assert_eq!(all.gives_up(SimTime::ZERO, &Course::at_once(SimTime::ZERO, at(4))), None);
        assert_eq!((all.alike(), Timeouts::each(SimDuration::from_secs(5)).alike()), (None, Some(secs(5))));
    }
}
