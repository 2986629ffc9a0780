//! The records of what is in flight: one for each task that has arrived and not ended, one for each run. They lie in
//! slabs, so that memory is proportional to what is in flight, not to what has passed, and nothing is allocated once
//! the slabs have grown to that size.

use super::answers::AnswerId;
use crate::observe::AnswerKind;
use crate::policy::retry::LayerState;
use crate::policy::stack::Cursor;
use crate::provider::AnsweredBy;
use crate::random::Key;
use crate::units::{SimDuration, SimTime};

/// No worker: a turn, or a job that sleeps without one.
pub(super) const NO_WORKER: u32 = u32::MAX;
/// No record of its own: a turn has one run, and all of it lies there.
pub(super) const NO_TASK: u32 = u32::MAX;

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
    /// Marks a kind of answer as met; says whether it was new.
    pub(super) const fn mark(&mut self, kind: AnswerKind) -> bool {
        let bit = 1 << kind as u8;
        let new = self.0 & bit == 0;
        self.0 |= bit;
        new
    }
}

/// What is known of the requests of a run's current step, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// The server has carried the step out.
    const EFFECT: u8 = 1;
    /// The last request had shown some output when it failed.
    const OUTPUT: u8 = 1 << 1;
    /// What of them outlives the run.
    const KEPT: u8 = Marks::EFFECT | Marks::OUTPUT;
    /// The server has carried it out in this call.
    const EFFECT_IN_CALL: u8 = 1 << 2;
    /// The request in flight is carried out.
    const WILL_BE_EFFECT: u8 = 1 << 3;
    /// The request in flight fails after some output.
    const WILL_SHOW_OUTPUT: u8 = 1 << 4;
    /// Where the marks lie in a number that counts requests.
    const SHIFT: u32 = 30;

    /// The marks and the number of requests that were stored together.
    pub(super) const fn unpack(stored: u32) -> (Marks, u32) {
        (Marks((stored >> Marks::SHIFT) as u8), stored & ((1 << Marks::SHIFT) - 1))
    }

    /// What outlives the run, and the number of requests, in one number.
    pub(super) const fn pack(self, requests: u32) -> u32 {
        ((self.0 & Marks::KEPT) as u32) << Marks::SHIFT | requests
    }

    /// Whether the server has carried the step out.
    pub(super) const fn has_effect(self) -> bool {
        self.0 & Marks::EFFECT != 0
    }

    /// Whether it has in this call.
    pub(super) const fn has_effect_in_call(self) -> bool {
        self.0 & Marks::EFFECT_IN_CALL != 0
    }

    /// Whether the last request had shown some output when it failed.
    pub(super) const fn has_shown_output(self) -> bool {
        self.0 & Marks::OUTPUT != 0
    }

    /// Whether the request that ends is carried out.
    pub(super) const fn is_carried_out(self) -> bool {
        self.0 & Marks::WILL_BE_EFFECT != 0
    }

    /// A call begins.
    pub(super) const fn begin_call(&mut self) {
        self.0 &= !Marks::EFFECT_IN_CALL;
    }

    /// A request is sent of which so much is known.
    pub(super) const fn send(&mut self, carried_out: bool, shows_output: bool) {
        self.0 &= !(Marks::WILL_BE_EFFECT | Marks::WILL_SHOW_OUTPUT | Marks::OUTPUT);
        self.0 |= (carried_out as u8 * Marks::WILL_BE_EFFECT) | (shows_output as u8 * Marks::WILL_SHOW_OUTPUT);
    }

    /// The request in flight ends.
    pub(super) const fn end(&mut self) {
        if self.is_carried_out() {
            self.0 |= Marks::EFFECT | Marks::EFFECT_IN_CALL;
        }
        if self.0 & Marks::WILL_SHOW_OUTPUT != 0 {
            self.0 |= Marks::OUTPUT;
        }
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

/// Who answers, in two bytes: the service, nobody, then faults and limits of both kinds in turn.
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
        })
    }

    pub(super) const fn unpack(self) -> AnsweredBy {
        match self.0 {
            0 => AnsweredBy::Service,
            1 => AnsweredBy::Nobody,
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

/// When the first token of each run's last streamed answer came. It lies apart from the records, which are read at every
/// event, and is empty where nothing is streamed.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstTokens(Vec<SimTime>);

impl FirstTokens {
    /// A run begins in this slot.
    #[inline]
    pub(super) fn forget(&mut self, run: u32) {
        if let Some(first) = self.0.get_mut(run as usize) {
            *first = SimTime::NEVER;
        }
    }

    /// Keeps when the first token of this run's answer comes.
    pub(super) fn keep(&mut self, run: u32, first: SimTime) {
        let slot = run as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, SimTime::NEVER);
        }
        self.0[slot] = first;
    }

    /// When it came, if one did.
    #[inline]
    pub(super) fn of(&self, run: u32) -> Option<SimTime> {
        self.0.get(run as usize).copied().filter(|first| *first < SimTime::NEVER)
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
            AnsweredBy::Fault(0),
            AnsweredBy::Fault(63),
            AnsweredBy::Limit(0),
            AnsweredBy::Limit(63),
            AnsweredBy::Slots(0),
            AnsweredBy::Slots(63),
        ] {
            assert_eq!(PackedSource::pack(by).unpack(), by);
        }
    }

    #[test]
    fn marks_know_what_was_done_in_the_step_in_the_call_and_last() {
        let mut marks = Marks::default();
        marks.begin_call();
        marks.send(true, true);
        assert!(!marks.has_effect() && marks.is_carried_out() && !marks.has_shown_output());
        marks.end();
        assert!(marks.has_effect() && marks.has_effect_in_call() && marks.has_shown_output());
        marks.begin_call();
        marks.send(false, false);
        marks.end();
        assert!(marks.has_effect() && !marks.has_effect_in_call() && !marks.has_shown_output());
        // What was done in the step outlives a run, beside the number of its requests.
        let (kept, requests) = Marks::unpack(marks.pack(1_000_000));
        assert!(kept.has_effect() && !kept.is_carried_out() && requests == 1_000_000);
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
