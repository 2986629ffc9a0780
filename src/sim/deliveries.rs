//! Jobs that are followed one by one: which messages stand for them, who has been handed one, and what is left of a job
//! whose fate is known. A message may be handed out more than once; all of its runs together are one attempt of the
//! queue, and the first of them that ends decides.

use super::record::Slab;
use crate::observe::series::PeakSeries;
use crate::units::SimTime;

/// No message.
pub(super) const NO_MESSAGE: u32 = u32::MAX;

/// One entry of a job in the queue, with all copies of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    /// The job's slot.
    pub(super) task: u32,
    /// Copies that wait in the queue or in a process, and those that run.
    pub(super) copies: u32,
    /// Those of them that wait in the queue.
    pub(super) queued: u32,
    /// How often a run of it has begun.
    pub(super) starts: u32,
    /// When a run of it may begin.
    pub(super) not_before: SimTime,
    /// Whether the queue has handed it out and waits for an acknowledgement.
    pub(super) is_delivered: bool,
    /// When it is overdue, if it is handed out and the clock runs.
    pub(super) due: SimTime,
    /// Whether one of its runs has ended, so that the others are for nothing.
    pub(super) is_settled: bool,
    /// Whether copies that wait are not to be run any more.
    pub(super) is_cancelled: bool,
}

/// What is known of a job beside its record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Docket {
    /// Messages that there are, and waits for a place in the queue.
    pub(super) messages: u32,
    /// Whether its fate is known.
    pub(super) is_over: bool,
    /// Whether it has failed.
    pub(super) has_failed: bool,
    /// How often it has been handed out, and put back without a result.
    pub(super) receives: u32,
    pub(super) redeliveries: u32,
    /// Runs of it that are under way.
    pub(super) running: u32,
    /// Those of them that were counted as copies.
    copies: u32,
    /// Its newest message, as long as it is there; `None` once that was forgotten.
    pub(super) newest: Option<u32>,
}

/// What is known of a run beside its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    /// The message that it came from.
    pub(super) message: u32,
    /// When its time is over.
    pub(super) ends: SimTime,
    /// The process that it began in.
    pub(super) process: u32,
    /// How many runs of its message had begun before.
    pub(super) copy: u32,
    /// The steps of groups that it has done, one bit each.
    pub(super) done: u64,
}

impl Watch {
    /// Nothing is known.
    pub(super) const NONE: Watch = Watch { message: NO_MESSAGE, ends: SimTime::NEVER, process: 0, copy: 0, done: 0 };
}

/// The messages of a class; empty where its jobs are not followed.
pub(super) struct Deliveries {
    pub(super) messages: Slab<Message, u8>,
    /// By the slot of the task.
    dockets: Vec<Docket>,
    /// By run.
    watches: Vec<Watch>,
    /// Copies in flight now, and over time.
    copies: u32,
    series: Option<PeakSeries>,
}

impl Deliveries {
    /// Nothing so far; with a series of so many bins where jobs are followed.
    pub(super) fn new(bins: Option<usize>) -> Deliveries {
        let series = bins.map(PeakSeries::new);
        Deliveries { messages: Slab::new(0), dockets: Vec::new(), watches: Vec::new(), copies: 0, series }
    }

    /// The runs of a job may be others than before: beside the first they are copies, and all are when its fate is known.
    pub(super) fn note_copies(&mut self, task: u32, bin: u32) {
        let docket = &mut self.dockets[task as usize];
        let copies = if docket.is_over { docket.running } else { docket.running.saturating_sub(1) };
        let before = std::mem::replace(&mut docket.copies, copies);
        if before != copies {
            self.copies = self.copies + copies - before;
            if let Some(series) = &mut self.series {
                series.set(bin, self.copies);
            }
        }
    }

    /// The most copies in flight in each bin; nothing where jobs are not followed.
    pub(super) fn take_series(&mut self) -> Vec<u32> {
        self.series.take().map_or_else(Vec::new, PeakSeries::finish)
    }

    /// A job has arrived, and waits for its place in the queue.
    pub(super) fn open(&mut self, task: u32) {
        if self.dockets.len() <= task as usize {
            self.dockets.resize(task as usize + 1, Docket::default());
        }
        self.dockets[task as usize] = Docket { messages: 1, ..Docket::default() };
    }

    pub(super) fn docket(&mut self, task: u32) -> &mut Docket {
        &mut self.dockets[task as usize]
    }

    /// What is known of a run.
    pub(super) fn watch(&self, run: u32) -> Watch {
        self.watches.get(run as usize).copied().unwrap_or(Watch::NONE)
    }

    /// This is known of a run from now on.
    pub(super) fn set_watch(&mut self, run: u32, watch: Watch) {
        if self.watches.len() <= run as usize {
            self.watches.resize(run as usize + 1, Watch::NONE);
        }
        self.watches[run as usize] = watch;
    }

    /// The message that a run came from, and the job's docket.
    pub(super) fn of_message(&mut self, message: u32) -> (&mut Message, &mut Docket) {
        let message = self.messages.get_mut(message);
        let docket = &mut self.dockets[message.task as usize];
        (message, docket)
    }
}
