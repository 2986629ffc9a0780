//! Where a walk through a stack stands, what it is told, and what has to happen next.

use super::answer::{Answer, Outcome};
use super::element::Requeue;
use crate::units::SimTime;

/// Where an execution stands in its client's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub(super) at: u8,
    /// Whether a guard, not a retry layer, is being waited for, and asks again.
    pub(super) at_gate: bool,
    /// Whether this walk is one of several at once within a run: it ends below the queue.
    pub(super) is_part: bool,
}

impl Cursor {
    /// The beginning of one of several walks at once within a run.
    pub const PART: Cursor = Cursor { at: 0, at_gate: false, is_part: true };

    /// Whether this walk is one of several at once within a run.
    pub const fn is_part(self) -> bool {
        self.is_part
    }

    /// The first element that has been passed from the outside.
    pub(super) const fn inside(self) -> usize {
        self.at as usize + self.at_gate as usize
    }

    pub(super) const fn stand(&mut self, at: usize, at_gate: bool) {
        (self.at, self.at_gate) = (at as u8, at_gate);
    }

    /// The index of the element at which the execution waits.
    pub const fn element(self) -> usize {
        self.at as usize
    }
}

/// What happened while nobody was looking at the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A step begins.
    Begin,
    /// The wait is over.
    Woken,
    /// The provider answered, or its silence ended.
    Answered(Answer),
    /// Several walks at once within the run have ended, and the queue hears of it.
    Joined(Answer),
    /// The guard at whose place it stood in line refuses it after all.
    Refused(Outcome),
}

/// What has to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A request goes out.
    Send,
    /// Nothing until this instant.
    Sleep {
        /// When to go on.
        until: SimTime,
        /// What is waited for.
        why: Waiting,
        /// Whether the worker is kept meanwhile.
        holds_worker: bool,
    },
    /// Nothing until a guard on the way changes; then it is asked again. Where it stands in a hop, its client waits until
    /// this instant at most.
    Park(SimTime),
    /// Nothing until a guard on the way calls it up, which then lets it pass, or until this instant, when the guard
    /// refuses.
    Line(SimTime),
    /// The run is over and failed; the queue wants another one.
    Requeue {
        /// When the job may be taken again.
        at: SimTime,
        /// Where it is put and where it goes on.
        requeue: Requeue,
        /// Whether the whole queue is held until then, and the job put back at once.
        holds_queue: bool,
    },
    /// The step is over, with this answer; if it failed, so is the task.
    Done(Answer),
}

/// What a sleeping execution waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Its next attempt.
    Retry,
    /// A limiter or a breaker on its own side.
    Limiter,
}
