//! The records of what is in flight: one for each task that has arrived and not ended, one for each run. They lie in
//! slabs, so that memory is proportional to what is in flight, not to what has passed, and nothing is allocated once
//! the slabs have grown to that size.

use super::answers::AnswerId;
use super::bank::Asker;
use super::marks::Marks;
use crate::observe::AnswerKind;
use crate::policy::retry::LayerState;
use crate::policy::stack::Cursor;
use crate::provider::AnsweredBy;
use crate::random::Key;
use crate::units::{SimDuration, SimTime};

/// No worker: a turn, or a job that sleeps without one.
pub(super) const NO_WORKER: u32 = u32::MAX;
/// The lowest bit of what stands above the number of a worker who is not one of its run's class: one more than the number
/// of the workforce to which he belongs.
const FOREIGN: u32 = 20;

/// A worker of another workforce than the one that a class begins with.
pub(super) const fn foreign(worker: u32, force: u16) -> u32 {
    worker | (force as u32 + 1) << FOREIGN
}

/// The workforce of such a worker; `None` for one of the class's own.
pub(super) const fn foreign_force(worker: u32) -> Option<u16> {
    match worker >> FOREIGN {
        0 => None,
        above => Some((above - 1) as u16),
    }
}

/// The number of a worker in his workforce.
pub(super) const fn own_number(worker: u32) -> u32 {
    worker & ((1 << FOREIGN) - 1)
}

/// No record of its own: a turn has one run, and all of it lies there.
pub(super) const NO_TASK: u32 = u32::MAX;

/// In the number of requests that a job has sent for a step: the step has its answer, and keeps it.
pub(super) const STEP_IS_DONE: u32 = 1 << 31;

/// A task that has arrived and not ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Task {
    pub(super) arrived: SimTime,
    /// Its ordinal among the tasks of its class.
    pub(super) index: u32,
    pub(super) requests: u32,
    pub(super) runs: u32,
    /// The cell in which it arrived.
    pub(super) cell: u16,
    /// The step at which its next run begins.
    pub(super) next_step: u8,
    pub(super) met: Met,
}

/// What a task has met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Met(u8);

impl Met {
    /// Whether nothing was met.
    pub(super) const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Marks a kind of answer as met; says whether it was new.
    pub(super) const fn mark(&mut self, kind: AnswerKind) -> bool {
        let bit = 1 << kind as u8;
        let new = self.0 & bit == 0;
        self.0 |= bit;
        new
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    /// A request is in flight; its answer is known to the engine and not yet to the run.
    #[default]
    InFlight,
    /// It waits for its next attempt.
    WaitingRetry,
    /// It waits for a limiter or a breaker.
    WaitingLimiter,
    /// It waits in the queue for a worker, to go on where it is.
    WaitingWorker,
    /// A request is on its way to the provider.
    Travelling,
    /// A request waits for a server, or is served by one of a limited number.
    AtServer,
    /// A request is in flight that will never be answered.
    Hanging,
    /// It waits for steps that run at once.
    Joining,
    /// Nobody wants it any more; its record is free when its pending event has come.
    Dropped,
}

/// One execution of a task. It carries the task with it: what an event needs lies in one place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) task: Task,
    /// Where the task's own record lies; `NO_TASK` for turns.
    pub(super) slot: u32,
    pub(super) worker: u32,
    /// The key of all draws of its step.
    pub(super) key: Key,
    /// Requests that the task has sent for the current step, over all its runs.
    pub(super) ordinal: u32,
    /// How its request in flight will be answered, and the length of the answer's hint.
    pub(super) answer: AnswerId,
    pub(super) hint: SimDuration,
    /// When its last request was sent, and in which narrow bin.
    pub(super) sent: SimTime,
    pub(super) sent_narrow: u16,
    /// The wide bin and the cell in which its last call began.
    pub(super) call_wide: u32,
    pub(super) call_cell: u16,
    pub(super) step: u8,
    pub(super) doing: Doing,
    /// The model that its last request asked for.
    pub(super) model: u8,
    /// The place among the class's clients of the one that was deployed when it began; 0 for the class's own.
    pub(super) deployed: u8,
    pub(super) cursor: Cursor,
    /// Calls begun in this step of this run.
    pub(super) calls: u32,
    pub(super) input_tokens: u32,
    pub(super) output_tokens: u32,
    /// Who answers the request in flight.
    pub(super) by: PackedSource,
    /// What is known of the requests of its step.
    pub(super) marks: Marks,
}

impl Run {
    /// The run as guards see it that it meets in this client.
    pub(super) const fn asker(&self, class: u16, client: u16) -> Asker {
        let Run { worker, input_tokens, output_tokens, task, step, calls, .. } = *self;
        Asker {
            class,
            client,
            worker,
            task: task.index,
            run: task.runs,
            step,
            call: calls,
            input_tokens,
            output_tokens,
        }
    }
}

/// Who answers, in two bytes: the service, nobody, then faults and limits of both kinds in turn, at the end the context
/// window and the full waiting room; and one bit for a limit that had room but for the retries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PackedSource(u16);

impl PackedSource {
    pub(super) const fn pack(by: AnsweredBy) -> PackedSource {
        PackedSource(match by {
            AnsweredBy::Service => 0,
            AnsweredBy::Nobody => 1,
            AnsweredBy::Fault(fault) => 2 + 3 * fault as u16,
            AnsweredBy::Limit(limit) => 3 + 3 * limit as u16,
            AnsweredBy::Slots(slots) => 4 + 3 * slots as u16,
            AnsweredBy::Window => u16::MAX,
            AnsweredBy::Full => u16::MAX - 1,
        })
    }

    /// The same of a request that was displaced by retries, or not.
    pub(super) const fn with_displaced(self, displaced: bool) -> PackedSource {
        PackedSource(if displaced { self.0 | Self::DISPLACED } else { self.0 })
    }

    /// Whether retries displaced the request.
    pub(super) const fn is_displaced(self) -> bool {
        self.0 < u16::MAX - 1 && self.0 & Self::DISPLACED != 0
    }

    /// Above all numbers of faults and limits, of which there are 64 each.
    const DISPLACED: u16 = 1 << 14;

    pub(super) const fn unpack(self) -> AnsweredBy {
        match if self.is_displaced() { self.0 & !Self::DISPLACED } else { self.0 } {
            0 => AnsweredBy::Service,
            1 => AnsweredBy::Nobody,
            u16::MAX => AnsweredBy::Window,
            n if n == u16::MAX - 1 => AnsweredBy::Full,
            n => {
                let (index, kind) = ((n as usize - 2) / 3, (n - 2) % 3);
                match kind {
                    0 => AnsweredBy::Fault(index),
                    1 => AnsweredBy::Limit(index),
                    _ => AnsweredBy::Slots(index),
                }
            }
        }
    }
}

/// Records of one kind, each with `stride` entries of a side array of its own.
#[derive(Clone, Debug)]
pub(super) struct Slab<T, S> {
    records: Vec<T>,
    side: Vec<S>,
    stride: usize,
    free: Vec<u32>,
}

impl<T: Copy + Default, S: Copy + Default> Slab<T, S> {
    pub(super) const fn new(stride: usize) -> Self {
        Slab { records: Vec::new(), side: Vec::new(), stride, free: Vec::new() }
    }

    /// Stores a record; its side entries are reset.
    pub(super) fn insert(&mut self, record: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.records[slot as usize] = record;
            self.side_of(slot).fill(S::default());
            return slot;
        }
        let slot = u32::try_from(self.records.len()).expect("fewer than 2^32 records in flight");
        self.records.push(record);
        self.side.resize(self.side.len() + self.stride, S::default());
        slot
    }

    /// Stores a copy of a record and of its side entries.
    pub(super) fn insert_copy(&mut self, of: u32) -> u32 {
        let slot = self.insert(self.records[of as usize]);
        let from = of as usize * self.stride;
        self.side.copy_within(from..from + self.stride, slot as usize * self.stride);
        slot
    }

    /// Gives the slot back.
    pub(super) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &T {
        &self.records[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.records[slot as usize]
    }

    /// Reads from a record and its side entries for no other reason than to have them at hand.
    #[inline]
    pub(super) fn fetch(&self, slot: u32) {
        std::hint::black_box(self.records[slot as usize]);
        std::hint::black_box(self.side.get(slot as usize * self.stride).copied());
    }

    /// The side entries of a record, to look at.
    pub(super) fn side(&self, slot: u32) -> &[S] {
        &self.side[slot as usize * self.stride..][..self.stride]
    }

    /// The side entries of a record.
    #[inline]
    pub(super) fn side_of(&mut self, slot: u32) -> &mut [S] {
        &mut self.side[slot as usize * self.stride..][..self.stride]
    }

    /// A record and its side entries.
    #[inline]
    pub(super) fn parts(&mut self, slot: u32) -> (&mut T, &mut [S]) {
        (&mut self.records[slot as usize], &mut self.side[slot as usize * self.stride..][..self.stride])
    }

    /// How many slots there are, used or free.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// All slots in use, ascending.
    pub(super) fn slots(&self) -> Vec<u32> {
        let mut free = vec![false; self.records.len()];
        self.free.iter().for_each(|slot| free[*slot as usize] = true);
        (0..self.records.len() as u32).filter(|slot| !free[*slot as usize]).collect()
    }
}

/// Jobs, each with the number of requests that it has sent for each of its steps.
pub(super) type Tasks = Slab<Task, u32>;
/// Runs, each with the state of its client's elements.
pub(super) type Runs = Slab<Run, LayerState>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_a_source_loses_nothing() {
        for by in [
            AnsweredBy::Service,
            AnsweredBy::Nobody,
            AnsweredBy::Window,
            AnsweredBy::Full,
            AnsweredBy::Fault(0),
            AnsweredBy::Fault(63),
            AnsweredBy::Limit(0),
            AnsweredBy::Limit(63),
            AnsweredBy::Slots(0),
            AnsweredBy::Slots(63),
        ] {
            assert_eq!(PackedSource::pack(by).unpack(), by);
            assert!(!PackedSource::pack(by).is_displaced());
            if let AnsweredBy::Limit(_) = by {
                let displaced = PackedSource::pack(by).with_displaced(true);
                assert!(displaced.is_displaced() && displaced.unpack() == by);
            }
        }
    }

    #[test]
    fn a_slab_reuses_its_slots_with_clean_sides() {
        let mut slab: Slab<u8, u32> = Slab::new(2);
        let first = slab.insert(1);
        slab.side_of(first)[1] = 9;
        slab.remove(first);
        let second = slab.insert(2);
        assert_eq!((first, slab.side_of(second).to_vec(), slab.slots()), (second, vec![0, 0], vec![first]));
    }
}
