//! How long can it take? A course is the worst way through a stack or a part of it: every attempt is used, and each
//! costs its wait. The waits of an inner layer are paid once for every attempt of all layers around it, so they add up
//! as requests do.
//!
//! Queueing, the waits of pacers and breakers, and the time until a worker is free come on top; they depend on the
//! load, and only a run can tell them.

use super::ladder::{Ladder, Span, attempts_bound};
use crate::policy::stack::Resume;
use crate::policy::{Answer, Client, Hedge, RetryPolicy, Role};
use crate::units::SimDuration;

/// The worst way through a stack or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// Requests; `None` is without bound.
    pub requests: Option<u64>,
    /// Waits that keep the worker.
    pub held: Span,
    /// Waits that free it, such as the queue's intervals.
    pub freed: Span,
    /// Waits, and requests that each run into their timeout; without a timeout there is no bound.
    pub wall: Span,
}

impl Course {
    /// One request, which takes as long as its timeout.
    pub fn request(timeout: Option<SimDuration>) -> Course {
        let time = timeout.unwrap_or(SimDuration::MAX);
        Course { requests: Some(1), held: Span::ZERO, freed: Span::ZERO, wall: Span { from: time, to: time } }
    }

    /// All waits.
    pub fn waits(&self) -> Span {
        self.held.then(self.freed)
    }

    /// This course so many times.
    #[must_use]
    pub fn times(self, number: Option<u64>) -> Course {
        Course {
            requests: product(self.requests, number),
            held: self.held.times(number),
            freed: self.freed.times(number),
            wall: self.wall.times(number),
        }
    }

    /// This course and then another one.
    #[must_use]
    pub fn then(self, next: Course) -> Course {
        Course {
            requests: self.requests.zip(next.requests).and_then(|(one, other)| one.checked_add(other)),
            held: self.held.then(next.held),
            freed: self.freed.then(next.freed),
            wall: self.wall.then(next.wall),
        }
    }

    /// Whichever of two courses costs more, each cost for itself.
    #[must_use]
    pub fn or(self, other: Course) -> Course {
        let later = |one: Span, other: Span| Span { from: one.from.max(other.from), to: one.to.max(other.to) };
        Course {
            requests: self.requests.zip(other.requests).map(|(one, other)| one.max(other)),
            held: later(self.held, other.held),
            freed: later(self.freed, other.freed),
            wall: later(self.wall, other.wall),
        }
    }

    /// This course beside another one that runs at the same time.
    #[must_use]
    pub fn beside(self, other: Course) -> Course {
        let requests = self.requests.zip(other.requests).map(|(one, other)| one.saturating_add(other));
        Course { requests, ..self.or(other) }
    }

    /// This course and the waits of one layer's ladder.
    #[must_use]
    fn with_ladder(self, ladder: Span, holds_worker: bool) -> Course {
        let wall = self.wall.then(ladder);
        if holds_worker {
            Course { held: self.held.then(ladder), wall, ..self }
        } else {
            Course { freed: self.freed.then(ladder), wall, ..self }
        }
    }

    /// All requests of a hedge, each as late as it can be.
    #[must_use]
    fn hedged(self, hedge: &Hedge) -> Course {
        // What is measured has no bound of its own but the time of a request.
        let longest = hedge.delay.longest().unwrap_or(self.wall.to);
        let more = longest.times(u64::from(hedge.max) - 1);
        let wall = Span { from: self.wall.from, to: self.wall.to + more };
        Course { requests: product(self.requests, Some(u64::from(hedge.max))), wall, ..self }
    }

    /// This course where nobody waits longer than this for it.
    #[must_use]
    fn within(self, patience: Option<SimDuration>) -> Course {
        let Some(most) = patience else { return self };
        let cut = |span: Span| Span { from: span.from.min(most), to: span.to.min(most) };
        Course { held: cut(self.held), freed: cut(self.freed), wall: cut(self.wall), ..self }
    }

    /// All attempts of a layer around this course.
    #[must_use]
    fn around(self, policy: &RetryPolicy, hint: Option<SimDuration>) -> Course {
        let ladder = Ladder::with_hint(policy, hint);
        let gives_up = ladder.waits.is_empty();
        let attempts = if gives_up { Some(1) } else { attempts_bound(policy) };
        let course = self.times(attempts).with_ladder(ladder.total, policy.holds_worker);
        let Some(deadline) = policy.deadline else { return course };
        // The last attempt may begin when the total time is all but over.
        let latest = self.wall.to + deadline.total;
        Course { wall: Span { from: course.wall.from.min(latest), to: course.wall.to.min(latest) }, ..course }
    }
}

/// The course up to each element, innermost first, when every layer whose flag is set uses all its attempts; a guard
/// has the course of what is inside it. With `hint`, every answer carries it.
pub fn courses(client: &Client, repeats: impl Fn(&RetryPolicy) -> bool, hint: Option<SimDuration>) -> Vec<Course> {
    courses_by_place(client, |_, policy| repeats(policy), hint)
}

/// The same with flags by the place of the layer too.
fn courses_by_place(
    client: &Client,
    repeats: impl Fn(usize, &RetryPolicy) -> bool,
    hint: Option<SimDuration>,
) -> Vec<Course> {
    let mut course = Course::request(client.innermost_timeout());
    let hops = client.hops().len();
    let through = client.elements().iter().enumerate().map(|(at, element)| {
        course = match &element.role {
            Role::Retry(policy) if repeats(at, policy) => course.around(policy, hint),
            Role::Queue(policy, _) if repeats(at, policy) => {
                course.around(&RetryPolicy { holds_worker: false, ..policy.clone() }, hint)
            }
            Role::Hedge(hedge) => course.hedged(hedge),
            Role::Fallback(fallback) if repeats(at, fallback.policy()) => course.around(fallback.policy(), hint),
            Role::Retry(_) | Role::Queue(..) | Role::Guard(_) | Role::Fallback(_) => course,
        };
        if at + 1 == hops {
            course = course.within(client.timeout());
        }
        course
    });
    through.collect()
}

/// The course of one step over all runs, when every request gets `answer`, its hint included.
pub fn of_answer(client: &Client, answer: &Answer) -> Course {
    courses_by_place(client, |at, policy| policy.retry_on.repeats(&client.seen_at(at, answer)), answer.hint.wait())
        .last()
        .copied()
        .unwrap_or_else(|| Course::request(client.innermost_timeout()))
}

/// The course of a whole task whose stages have steps with these clients, those of one stage at once: every step passes on its last request, the last one fails,
/// and every run is used.
pub fn of_task(stages: &[Vec<&Client>], repeats: impl Fn(&Client, &RetryPolicy) -> bool) -> Course {
    let mut whole = Course { requests: Some(0), held: Span::ZERO, freed: Span::ZERO, wall: Span::ZERO };
    let mut longest = whole;
    for stage in stages {
        let courses = stage.iter().map(|client| {
            let inside = client.queue_element().unwrap_or(client.elements().len());
            let all = courses(client, |policy| repeats(client, policy), None);
            if inside == 0 { Course::request(client.innermost_timeout()) } else { all[inside - 1] }
        });
        let Some(stage) = courses.reduce(Course::beside) else { continue };
        (whole, longest) = (whole.then(stage), longest.or(stage));
    }
    let Some((policy, requeue)) =
        stages.iter().flatten().find_map(|client| client.queue().filter(|(policy, _)| repeats(client, policy)))
    else {
        return whole;
    };
    let runs = attempts_bound(policy);
    let all = match requeue.resume {
        Resume::Restart => whole.times(runs),
        Resume::FailedStep => whole.then(longest.times(runs.map(|runs| runs - 1))),
    };
    all.with_ladder(Ladder::own(policy).total, false)
}

/// The product of two numbers of which each may have no bound.
pub fn product(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(left), Some(right)) => left.checked_mul(right),
        (None, _) | (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, fixed, incident, inner, sdk};
    use crate::policy::Timeouts;

    fn seconds(value: f64) -> SimDuration {
        SimDuration::from_secs_f64(value)
    }

    #[test]
    fn a_timeout_is_paid_by_every_attempt() {
        // By hand: timeout 30 s, two retries: 3 · 30 + (1.125, 1.5] s; with 600 s: 1801.125 to 1801.5 s.
        for (timeout, from, to) in [(30.0, 91.125, 91.5), (600.0, 1_801.125, 1_801.5)] {
            let policy = RetryPolicy { timeout: Timeouts::each(seconds(timeout)), ..sdk(3) };
            let client = client("c", vec![inner("sdk", policy)]);
            assert_eq!(of_answer(&client, &Answer::TIMED_OUT).wall, Span { from: seconds(from), to: seconds(to) });
        }
    }

    #[test]
    fn the_incidents_sleeps_are_those_worked_out_by_hand() {
        // By hand, old: a step sleeps 4 · (0.5 + 1) + 3 · 2 = 12 s at most, a job 36 · 1.5 + 9 · 6 = 108 s.
        let old = incident(false);
        let step = courses(&old.clients[0], |_| true, None)[1];
        assert_eq!(step.held, Span { from: seconds(10.5), to: seconds(12.0) });
        assert_eq!(of_task(&vec![vec![&old.clients[0]]; 3], |_, _| true).held.to, seconds(108.0));
        // New: 5 · (0.5 + 1 + 2) = 17.5 s of sleeps, 180 + 600 s of intervals.
        let new = of_task(&vec![vec![&incident(true).clients[0]]; 3], |_, _| true);
        assert_eq!((new.requests, new.held.to, new.freed.to), (Some(20), seconds(17.5), seconds(780.0)));
        // At a timeout of 600 s: 108 · 600 s = 18 h against 20 · 600 s = 3.3 h.
        assert_eq!(new.wall.to, seconds(12_797.5));
    }

    #[test]
    fn a_hint_that_a_layer_gives_up_on_ends_its_ladder() {
        let policy = RetryPolicy {
            hint: crate::policy::HintRule::Obey {
                cap: seconds(120.0),
                above: crate::policy::hint::AboveCap::GiveUp,
                jittered: false,
            },
            ..sdk(3)
        };
        let client = client("c", vec![inner("sdk", policy), inner("again", fixed(2, seconds(1.0)))]);
        let course = of_answer(&client, &Answer::refused(429).with_hint(Some(seconds(171.0))));
        assert_eq!((course.requests, course.waits().to), (Some(2), seconds(1.0)));
    }

    #[test]
    fn a_total_time_limit_bounds_the_wall_time_too() {
        // By hand: 8 s of budget, and one last attempt of 10 s that begins just before; not 5 · 10 s and waits.
        let deadline = crate::policy::retry::Deadline {
            total: seconds(8.0),
            check: crate::policy::retry::DeadlineCheck::BeforeWait,
        };
        let policy = RetryPolicy { timeout: Timeouts::each(seconds(10.0)), deadline: Some(deadline), ..sdk(5) };
        let client = client("c", vec![inner("sdk", policy)]);
        assert_eq!(of_answer(&client, &Answer::TIMED_OUT).wall.to, seconds(18.0));
    }
}
