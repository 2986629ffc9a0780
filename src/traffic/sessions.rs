//! Closed loops: sessions that have one task at a time and think before they bring the next one, so that what slows
//! answers down also slows arrivals down.

use crate::provider::Window;
use crate::random::{Distribution, Key};
use crate::units::{SimDuration, SimTime};

/// A number of sessions that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// How many there are.
    pub count: u32,
    /// Seconds from the fate of a session's task until its next one arrives.
    pub think: Distribution,
    /// When sessions begin, at its start, and from when on no task arrives any more.
    pub window: Window,
    /// The time over which their beginnings are spread evenly, each at random; nothing for all at once.
    pub over: SimDuration,
    /// Whether a session brings its first task when it begins, and not a think time later.
    pub at_once: bool,
    /// How many tasks a session has; `None` for no end.
    pub tasks: Option<Distribution>,
    /// Seconds from the fate of its last task until a session begins anew; `None` where it never does.
    pub rest: Option<Distribution>,
}

/// Where one session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// How many tasks it has brought so far.
    brought: u32,
    /// How many are left, the next one included, of those that it was to have since it last began.
    left: u32,
}

/// Purposes of the draws of a session.
const BEGIN: u64 = u64::from_be_bytes(*b"s. begin");
const THINK: u64 = u64::from_be_bytes(*b"s. think");
const TASKS: u64 = u64::from_be_bytes(*b"s. tasks");
const REST: u64 = u64::from_be_bytes(*b" s. rest");

impl Sessions {
    /// When the first task of a session arrives; `key` is of this session alone.
    pub fn first(&self, session: &mut Session, key: Key) -> Option<SimTime> {
        let spread = if self.over.is_zero() { 0.0 } else { key.with(BEGIN).stream().next_unit() };
        let begins = self.window.from + SimDuration::from_secs_f64(self.over.as_secs_f64() * spread);
        self.begins(session, key, begins)
    }

    /// When the next task of a session arrives, whose last one met its fate now; `None` where none does.
    pub fn next(&self, session: &mut Session, key: Key, now: SimTime) -> Option<SimTime> {
        if session.left == 0 {
            let rest = self.rest.as_ref()?;
            let begins = now + drawn(rest, key, REST, *session);
            return self.begins(session, key, begins);
        }
        self.brings(session, now + drawn(&self.think, key, THINK, *session))
    }

    fn begins(&self, session: &mut Session, key: Key, at: SimTime) -> Option<SimTime> {
        session.left = match &self.tasks {
            None => u32::MAX,
            Some(tasks) => {
                let mut draws = key.with(TASKS).with(u64::from(session.brought)).stream();
                (tasks.sample(&mut draws) + 0.5).max(1.0) as u32
            }
        };
        let think = if self.at_once { SimDuration::ZERO } else { drawn(&self.think, key, THINK, *session) };
        self.brings(session, at + think)
    }

    fn brings(&self, session: &mut Session, at: SimTime) -> Option<SimTime> {
        session.brought = session.brought.wrapping_add(1);
        if self.tasks.is_some() {
            session.left -= 1;
        }
        (at < self.window.to).then_some(at)
    }

    /// The mean time from one task of a session to its next one, in seconds, where answering takes this long; of a
    /// session that ends for good, while it lasts.
    pub fn period(&self, answering: f64) -> f64 {
        let think = self.think.mean();
        let Some(tasks) = &self.tasks else { return think + answering };
        let tasks = tasks.mean().max(1.0);
        let thinks = if self.at_once { tasks - 1.0 } else { tasks };
        answering + (think * thinks + self.rest.as_ref().map_or(0.0, Distribution::mean)) / tasks
    }

    /// The most tasks to be expected in a span where answering takes this long on average, in seconds: the law of
    /// interactive response times, X ≤ N / (Z + R) (Denning and Buzen 1978, "The operational analysis of queueing network
    /// models"). What sessions bring when they begin does not count beside it in the long run.
    pub fn most(&self, span: Window, answering: f64) -> f64 {
        let cut = Window { from: self.window.from.max(span.from), to: self.window.to.min(span.to) };
        if cut.from >= cut.to {
            return 0.0;
        }
        let count = f64::from(self.count);
        let all = cut.length().as_secs_f64() / self.period(answering).max(1e-9) * count;
        match (&self.tasks, &self.rest) {
            (Some(tasks), None) => all.min(count * tasks.mean().max(1.0)),
            _ => all,
        }
    }

    /// Twice, or any other factor, as many sessions; those that were there stay as they are.
    #[must_use]
    pub fn times(&self, factor: f64) -> Sessions {
        Sessions { count: (f64::from(self.count) * factor).round().max(1.0) as u32, ..self.clone() }
    }

    /// How the number of arrivals in a long time varies beside that of a Poisson process, as variance over mean: that of
    /// a renewal process of think times, and of whole rounds where sessions end and begin anew.
    pub fn wildness(&self) -> f64 {
        let cv2 = |times: &Distribution| {
            if times.mean() > 0.0 { times.variance() / (times.mean() * times.mean()) } else { 0.0 }
        };
        let Some(tasks) = &self.tasks else { return cv2(&self.think) };
        let mean = tasks.mean().max(1.0);
        let rounds = self.rest.as_ref().map_or(0.0, cv2);
        cv2(&self.think).max(mean * (rounds + cv2(tasks)))
    }

    /// The most tasks that arrive at one instant.
    pub fn burst(&self) -> u64 {
        let in_step = self.over.is_zero() && (self.at_once || self.think.variance() == 0.0);
        if in_step { u64::from(self.count) } else { 1 }
    }
}

/// A time of a session, drawn for the task that it brings next.
fn drawn(time: &Distribution, key: Key, purpose: u64, session: Session) -> SimDuration {
    SimDuration::from_secs_f64(time.sample(&mut key.with(purpose).with(u64::from(session.brought)).stream()))
}
