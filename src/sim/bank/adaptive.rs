//! What guards need that learn from results: when a call passed inward, how many were past the place then, and how far a
//! guard is open now.

use super::{Asker, Bank, State};
use crate::observe::outcome::GuardLevel;
use crate::policy::answer::Answer;
use crate::policy::guard::Mechanism;
use crate::policy::semaphore::{Semaphore, SemaphoreState};
use crate::sim::line::Line;
use crate::units::SimTime;

/// When each run passed a guard inward, and how many were past it then, itself included; class by class.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages(Vec<Vec<(SimTime, u32)>>);

impl Passages {
    /// The run passes now.
    pub(super) fn set(&mut self, class: u16, run: u32, now: SimTime, in_use: u32) {
        let (class, run) = (class as usize, run as usize);
        if self.0.len() <= class {
            self.0.resize_with(class + 1, Vec::new);
        }
        if self.0[class].len() <= run {
            self.0[class].resize(run + 1, (SimTime::ZERO, 0));
        }
        self.0[class][run] = (now, in_use);
    }

    /// When the run, which has passed, did so, and how many were past the guard then.
    fn of(&self, class: u16, run: u32) -> (SimTime, u32) {
        self.0[class as usize][run as usize]
    }
}

/// A semaphore as it is now, with its state and its line; `None` where the guard is none.
pub(super) fn permits<'s>(
    mechanism: &Mechanism,
    state: &'s mut State,
) -> Option<(Semaphore, &'s mut SemaphoreState, &'s mut Line)> {
    match (mechanism, state) {
        (Mechanism::Semaphore(semaphore), State::Semaphore(state, line)) => Some((*semaphore, state, line)),
        (Mechanism::Concurrency(settings), State::Concurrency(state, line, limit)) => {
            Some((settings.now(limit), state, line))
        }
        _ => None,
    }
}

impl Bank<'_> {
    /// A result passes back to a limit that learns from it.
    pub(super) fn learn(
        &mut self,
        guard: usize,
        instance: usize,
        asker: Asker,
        run: u32,
        answer: &Answer,
        now: SimTime,
    ) {
        if let (Mechanism::Concurrency(settings), State::Concurrency(_, _, limit)) =
            (&self.guards[guard].mechanism, &mut self.states[instance])
        {
            let (since, in_use) = self.passages[guard].of(asker.class, run);
            settings.passed_back(limit, answer, now - since, in_use);
        }
    }
}

impl State {
    /// Where it has been, where it adapts and has begun to.
    pub(super) fn seen(&self) -> Option<GuardLevel> {
        match self {
            State::Concurrency(_, _, limit) => {
                Some(GuardLevel::at_end(f64::from(limit.limit()), limit.lowest, limit.highest))
            }
            State::Rate(rate) => Some(GuardLevel::at_end(rate.rate()?, rate.lowest?, rate.highest)),
            State::Breaker(_)
            | State::Pacer(_)
            | State::Semaphore(..)
            | State::Size
            | State::Throttle(_)
            | State::Gate(_)
            | State::Deployments(_) => None,
        }
    }
}
