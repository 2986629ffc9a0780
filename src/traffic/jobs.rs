//! How jobs come to workers: pools of workers that several classes share, how many of them there are, when they die, and
//! what the queue does with a message that is handed out and not acknowledged.

use crate::random::Distribution;
use crate::units::SimDuration;

/// A named pool of workers. The classes of jobs that name it share its workers, which are spread over its processes in
/// turn.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerPool {
    /// Its name.
    pub name: String,
    /// How many workers; the most that there may be, where their number follows the queue.
    pub workers: u32,
    /// How many processes they are spread over, in turn.
    pub processes: u32,
    /// Which class goes first.
    pub order: PoolOrder,
    /// How many messages each process takes out of the queue for each of its workers; `None` where a worker takes one
    /// when it is free.
    pub prefetch: Option<u32>,
    /// When workers die; `None` for never.
    pub crashes: Option<Crashes>,
    /// How their number follows the queue; `None` where it is fixed.
    pub scale: Option<Scale>,
}

impl WorkerPool {
    /// How many workers there are when the run begins.
    pub fn at_first(&self) -> u32 {
        self.scale.as_ref().map_or(self.workers, |scale| scale.from)
    }
}

/// Whose job an idle worker takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolOrder {
    /// The one that was put into the queue first, whatever its class.
    #[default]
    Fifo,
    /// One of the class with the largest number; within a number the one that was queued first.
    Priority,
}

/// When workers of a pool die.
#[derive(Clone, Debug, PartialEq)]
pub struct Crashes {
    /// Seconds that one lives, from its start.
    pub every: Distribution,
    /// How long until it is there again.
    pub restart: SimDuration,
    /// Whether a whole process dies with all of its workers.
    pub of_process: bool,
}

/// How the number of workers follows the queue: at every look so many are wanted as the waiting jobs divided by
/// `jobs_per_worker`, rounded up, within the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The fewest workers, and how many there are at first.
    pub from: u32,
    /// How many waiting jobs call for one worker.
    pub jobs_per_worker: u32,
    /// The time between two looks.
    pub look_every: SimDuration,
    /// How long more workers must have been wanted at every look.
    pub up_after: SimDuration,
    /// How long fewer workers must have been wanted at every look.
    pub down_after: SimDuration,
    /// From the decision until a new worker takes jobs.
    pub start: SimDuration,
}

/// How the jobs of a class queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queueing {
    /// The pool that works on them; `None` where the class has workers of its own.
    pub pool: Option<usize>,
    /// Which goes first in a pool that looks at it: the larger one.
    pub priority: u32,
    /// How messages are handed out and how long jobs may take; `None` where a job that is handed out is gone from the
    /// queue and may take as long as it likes.
    pub delivery: Option<Box<Delivery>>,
}

/// How the queue hands out messages, and the limits on a job's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of some queue, and none excludes another")]
pub struct Delivery {
    /// Whether a message is acknowledged when its run ends; otherwise when it begins.
    pub late: bool,
    /// After how long a message that is handed out and not acknowledged is put back; `None` for never.
    pub visibility: Option<SimDuration>,
    /// Whether a worker that lives keeps its message from being put back, so that only a crash brings it back.
    pub renews: bool,
    /// Whether a message whose holder has died comes back at once; otherwise when it is overdue.
    pub at_once_after_crash: bool,
    /// The time between two looks for overdue messages; `None` where each is seen at its instant.
    pub look_every: Option<SimDuration>,
    /// The first look.
    pub first_look: SimDuration,
    /// Whether a job that is not to begin before some time is handed out at once, and waits in a process; otherwise it waits
    /// before the queue.
    pub held_delays: bool,
    /// Whether a message is put back at the front of the queue.
    pub front: bool,
    /// Whether an acknowledgement takes the copies out of the queue that wait there; otherwise it only ends the clock of
    /// the copy that was handed out last.
    pub removes_all: bool,
    /// A job whose message has been handed out so often is not put back any more; `None` for no limit.
    pub receives_at_most: Option<u32>,
    /// A job whose message has been put back so often without a result is not put back any more; `None` for no limit.
    pub redeliveries_at_most: Option<u32>,
    /// How long a run may take: then it is killed, and has failed.
    pub timeout: Option<SimDuration>,
    /// How long after its arrival a job may start: one that is taken later is dropped.
    pub expires: Option<SimDuration>,
    /// How long after its arrival a job may end: then it is dropped, wherever it is.
    pub deadline: Option<SimDuration>,
}

impl Delivery {
    /// Whether a message may come back although a run of it is under way or over, given whether its pool takes messages
    /// out ahead of time.
    pub const fn makes_copies(&self, prefetches: bool) -> bool {
        self.visibility.is_some() && !self.renews && (self.late || prefetches)
    }

    /// The most runs that the delivery alone makes of one message; `None` where nothing bounds them.
    pub fn most_runs(&self, prefetches: bool, crashes: bool) -> Option<u64> {
        let comes_back = self.makes_copies(prefetches) || crashes && (self.late || prefetches);
        if !comes_back {
            return Some(1);
        }
        let again = self.redeliveries_at_most.map(|most| u64::from(most) + 1);
        again.into_iter().chain(self.receives_at_most.map(u64::from)).min()
    }
}
