//! Finite capacity: servers that each work on one request at a time, and a waiting room before them. Faults are causes
//! that a scenario states; here an overload emerges. A queue that grows past the patience of its callers makes them
//! retry, their retries lengthen the queue, and work goes on for callers who have left: the loop by which an overload
//! outlives its cause (Bronson, Aghayev, Charapko and Zhu 2021, "Metastable failures in distributed systems").
//!
//! What a request asks of a server is *work*: its drawn time, at speed 1 and alone. How long that takes depends on how
//! many are in service when it begins and on the speed of the servers while it lasts; the state draws nothing, so that
//! two policies meet the same work.

use super::fault::Window;
use super::limit::HintForm;
use super::service::Service;
use crate::policy::Course;
use crate::policy::answer::{Answer, Code};
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

/// Millionths: a speed of 1.
const FULL_SPEED: u32 = 1_000_000;

/// Who is served next of those that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Who came first.
    #[default]
    Fifo,
    /// Who came last.
    Lifo,
    /// Who is of the class with the lowest priority number, among these who came first.
    Priority,
}

/// What becomes of a request that cannot be answered before its caller gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is served: nobody looks.
    #[default]
    Served,
    /// It is passed over when its turn comes.
    Dropped,
    /// It is refused when it comes, where what is to be done before it and for it takes too long.
    Refused,
}

/// The settings of the provider's servers.
#[derive(Clone, PartialEq)]
pub struct Capacity {
    /// How many servers there are from each instant on; the first instant is the beginning.
    pub servers: Steps,
    /// How fast they work from each instant on, in millionths.
    pub speed: Steps,
    /// How many requests may wait.
    pub room: u32,
    /// How many may be waiting at most for one more of a class to be let in; by class.
    pub shares: Vec<u32>,
    /// Who is served next.
    pub order: Order,
    /// The priority of each class: the lowest number goes first.
    pub priorities: Vec<u8>,
    /// How many times as long a service takes that begins with so many in service, itself included: straight lines
    /// between points, the last piece going on.
    pub slowdown: Vec<(u32, f64)>,
    /// What each input token adds to the work, before the first byte.
    pub per_input_token: SimDuration,
    /// What each output token adds to the work.
    pub per_output_token: SimDuration,
    /// The status of a request that finds no room.
    pub status: u16,
    /// Seconds until it is back.
    pub refusal_latency: Distribution,
    /// Its hint; `None` for none.
    pub hint: Option<HintForm>,
    /// The code in its body.
    pub code: Option<String>,
    /// What becomes of a request that cannot be answered before its caller gives up.
    pub late: Late,
}

impl std::fmt::Debug for Capacity {
    /// All settings; what becomes of who is late only where somebody looks.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("Capacity");
        all.field("servers", &self.servers).field("speed", &self.speed).field("room", &self.room);
        all.field("shares", &self.shares).field("order", &self.order).field("priorities", &self.priorities);
        all.field("slowdown", &self.slowdown).field("per_input_token", &self.per_input_token);
        all.field("per_output_token", &self.per_output_token).field("status", &self.status);
        all.field("refusal_latency", &self.refusal_latency).field("hint", &self.hint).field("code", &self.code);
        if self.late != Late::default() {
            all.field("late", &self.late);
        }
        all.finish()
    }
}

/// A whole number that changes at instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    // Invariant: at least one step, the first at the beginning, times strictly ascending.
    steps: Vec<(SimTime, u32)>,
}

impl Steps {
    /// A number that never changes.
    pub fn constant(value: u32) -> Steps {
        Steps { steps: vec![(SimTime::ZERO, value)] }
    }

    /// A constant with other numbers in these windows, in order of their beginning; `None` where two of them overlap.
    #[must_use]
    pub fn in_windows(self, windows: &[(Window, u32)]) -> Option<Steps> {
        let base = self.steps[0].1;
        let mut steps = self.steps;
        for (window, value) in windows {
            // Where one window ends and the next begins, nothing lies between.
            let last = steps.len() - 1;
            match window.from.cmp(&steps[last].0) {
                std::cmp::Ordering::Less => return None,
                std::cmp::Ordering::Equal => steps[last].1 = *value,
                std::cmp::Ordering::Greater => steps.push((window.from, *value)),
            }
            steps.push((window.to, base));
        }
        Some(Steps { steps })
    }

    /// The number at `now`.
    #[inline]
    pub fn at(&self, now: SimTime) -> u32 {
        self.steps[self.steps.partition_point(|(from, _)| *from <= now) - 1].1
    }

    /// The instants at which it changes.
    pub fn changes(&self) -> impl Iterator<Item = SimTime> + '_ {
        self.steps.iter().skip(1).map(|(from, _)| *from)
    }

    /// Its largest number from the beginning on.
    #[must_use]
    pub fn undisturbed(&self) -> Steps {
        Steps::constant(self.most())
    }

    /// The largest number.
    pub fn most(&self) -> u32 {
        self.steps.iter().map(|(_, value)| *value).max().unwrap_or(0)
    }

    /// The pieces from `from` on: until when each lasts, and its number.
    fn pieces(&self, from: SimTime) -> impl Iterator<Item = (SimTime, u32)> + '_ {
        let first = self.steps.partition_point(|(begins, _)| *begins <= from) - 1;
        (first..self.steps.len())
            .map(|at| (self.steps.get(at + 1).map_or(SimTime::NEVER, |next| next.0), self.steps[at].1))
    }
}

impl Capacity {
    /// Any number of servers at full speed, each alone.
    pub fn without_limit(classes: usize) -> Capacity {
        Capacity {
            servers: Steps::constant(u32::MAX),
            speed: Steps::constant(FULL_SPEED),
            room: u32::MAX,
            shares: vec![u32::MAX; classes],
            order: Order::default(),
            priorities: vec![0; classes],
            slowdown: Vec::new(),
            per_input_token: SimDuration::ZERO,
            per_output_token: SimDuration::ZERO,
            status: 503,
            refusal_latency: super::default_refusal_latency(),
            hint: None,
            code: None,
            late: Late::default(),
        }
    }

    /// A speed as a whole number of millionths.
    pub fn millionths(speed: f64) -> u32 {
        (speed * f64::from(FULL_SPEED) + 0.5) as u32
    }

    /// How many times as long a service takes that begins with so many in service, itself included.
    pub fn factor(&self, in_service: u32) -> f64 {
        let (points, x) = (&self.slowdown, f64::from(in_service));
        let next = points.partition_point(|(n, _)| *n <= in_service);
        let line = |(x0, y0): (u32, f64), (x1, y1): (u32, f64)| {
            y0 + (y1 - y0) * (x - f64::from(x0)) / (f64::from(x1) - f64::from(x0))
        };
        match (next.checked_sub(1), points.get(next)) {
            (None, None) => 1.0,
            (None, Some(first)) => first.1,
            (Some(last), Some(next)) => line(points[last], *next),
            (Some(last), None) if last > 0 => line(points[last - 1], points[last]).max(0.0),
            (Some(last), None) => points[last].1,
        }
    }

    /// When work that begins at `from` is done; `NEVER` where the servers stand still for good before.
    pub fn done(&self, from: SimTime, work: SimDuration) -> SimTime {
        let mut at = from;
        // Nanoseconds of work times a million, so that nothing is rounded but the end.
        let mut left = u128::from(work.as_nanos()) * u128::from(FULL_SPEED);
        for (until, speed) in self.speed.pieces(from) {
            if left == 0 {
                return at;
            }
            if speed > 0 {
                let needs = left.div_ceil(u128::from(speed));
                if until == SimTime::NEVER || needs <= u128::from((until - at).as_nanos()) {
                    return at + SimDuration::from_nanos(u64::try_from(needs).unwrap_or(u64::MAX));
                }
                left -= u128::from((until - at).as_nanos()) * u128::from(speed);
            }
            at = until;
        }
        if left == 0 { at } else { SimTime::NEVER }
    }

    /// What its client sees of a request whose service begins at `from`, where alone and at once it would have gone
    /// like this.
    pub fn served(&self, course: &Course, from: SimTime, factor: f64) -> Course {
        let moved = |instant: SimTime| {
            if instant == SimTime::NEVER {
                return SimTime::NEVER;
            }
            let work = instant.since(course.written);
            self.done(from, if factor == 1.0 { work } else { work.scaled(factor) })
        };
        let [first, quiet, resumes, ends] = [course.first, course.quiet, course.resumes, course.ends].map(moved);
        Course { first, quiet, resumes, ends, ..*course }
    }

    /// The service of a request of so many tokens that takes this long without them.
    pub fn with_tokens(&self, service: Service, input: u32, output: u32) -> Service {
        let reading = self.per_input_token.times(u64::from(input));
        let takes = service.takes + reading + self.per_output_token.times(u64::from(output));
        Service { first_token: service.first_token.map(|first| first + reading), takes }
    }

    /// The answer to a request that finds no room, without its hint.
    pub fn refusal(&self) -> Answer {
        Answer { code: self.code.as_deref().map_or(Code::NONE, Code::named), ..Answer::refused(self.status) }
    }

    /// Whether it can keep anybody waiting, or slow anybody down.
    pub fn is_felt(&self) -> bool {
        *self != Capacity::without_limit(self.shares.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn with_speed(changes: &[(u64, f64)]) -> Capacity {
        let end = |n: usize| changes.get(n + 1).map_or(SimTime::NEVER, |(from, _)| at(*from));
        let windows = changes.iter().enumerate();
        let windows: Vec<(Window, u32)> = windows
            .map(|(n, (from, speed))| (Window { from: at(*from), to: end(n) }, Capacity::millionths(*speed)))
            .collect();
        let speed = Steps::constant(FULL_SPEED).in_windows(&windows).unwrap();
        Capacity { speed, ..Capacity::without_limit(0) }
    }

    #[test]
    fn work_stands_still_in_a_freeze_and_is_slow_at_half_speed() {
        // By hand: 5 s of work from second 8, frozen from 10 to 20, goes on for 3 s; at half speed from 20 it takes 6.
        let work = SimDuration::from_secs(5);
        assert_eq!(with_speed(&[(10, 0.0), (20, 1.0)]).done(at(8), work), at(23));
        assert_eq!(with_speed(&[(10, 0.0), (20, 0.5)]).done(at(8), work), at(26));
        assert_eq!(with_speed(&[(10, 0.0), (20, 1.0)]).done(at(12), work), at(25));
        assert_eq!(with_speed(&[(10, 0.0)]).done(at(8), work), SimTime::NEVER);
        // What is done at the very instant of the freeze is done.
        assert_eq!(with_speed(&[(10, 0.0)]).done(at(5), work), at(10));
        assert_eq!(with_speed(&[]).done(at(5), SimDuration::ZERO), at(5));
    }

    #[test]
    fn service_slows_down_along_straight_lines() {
        let capacity = Capacity { slowdown: vec![(0, 1.0), (100, 2.0), (200, 6.0)], ..Capacity::without_limit(0) };
        assert_eq!([0, 50, 100, 150, 200, 250].map(|n| capacity.factor(n)), [1.0, 1.5, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Capacity::without_limit(0).factor(1_000), 1.0);
        let late = Capacity { slowdown: vec![(100, 2.0)], ..Capacity::without_limit(0) };
        assert_eq!([1, 100, 900].map(|n| late.factor(n)), [2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_service_that_begins_late_moves_all_that_its_client_sees() {
        let course =
            Course { connected: at(0), written: at(1), first: at(3), quiet: at(4), resumes: at(6), ends: at(11) };
        let served = Capacity::without_limit(0).served(&course, at(21), 2.0);
        let expected = Course { first: at(25), quiet: at(27), resumes: at(31), ends: at(41), ..course };
        assert_eq!(served, expected);
    }
}
