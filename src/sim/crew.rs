//! Workers that are not simply there: they die and come back, their number follows the queue, and a process may have
//! taken messages out of the queue for them before they are free.

use super::workforce::add;
use crate::observe::series::PeakSeries;
use crate::traffic::{Scale, WorkerPool};
use crate::units::{SimDuration, SimTime};
use std::collections::VecDeque;

/// What a worker is, whether it works or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It takes jobs.
    Here,
    /// It has died and is not back.
    Down,
    /// There is none with this number.
    Gone,
    /// It is being started.
    Starting,
}

/// A message that a process has taken for its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// The class.
    pub(super) class: u16,
    /// The message.
    pub(super) message: u32,
}

/// What one process has taken out of the queue.
#[derive(Clone, Debug, Default)]
struct Buffer {
    /// What waits in it, the next one first.
    waits: VecDeque<Held>,
    /// What waits in it for its time.
    delayed: Vec<Held>,
    /// The different messages that it has been handed and not acknowledged.
    held: Vec<Held>,
    /// How many of those it may have.
    room: usize,
    /// Its workers that live, and those that there are, dead ones with them.
    up: u32,
    members: u32,
}

/// What was counted of a crew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CrewCounts {
    /// How often a worker died.
    pub(super) crashes: u64,
    /// The most workers that were there at once, and the fewest.
    pub(super) most: u32,
    pub(super) fewest: u32,
}

/// The state of a pool's workers.
pub(super) struct Crew {
    presence: Vec<Presence>,
    /// Since when each worker is what it is.
    since: Vec<SimTime>,
    /// The run that each worker has.
    runs: Vec<Option<(u16, u32)>>,
    /// How many busy workers are to go when they are free.
    pub(super) leaving: u32,
    here: u32,
    buffers: Vec<Buffer>,
    /// How many messages wait in processes for a worker.
    buffered: usize,
    /// How many messages each worker adds to the room of its process, where workers come and go.
    room_of_each: Option<usize>,
    processes: u32,
    /// Worker-nanoseconds in each narrow bin: there, and dead.
    there: Vec<u64>,
    down: Vec<u64>,
    counts: CrewCounts,
    numbers: PeakSeries,
    bin: SimDuration,
    /// Since when another number of workers has been wanted at every look, and the one nearest to that of now.
    pub(super) trend: Trend,
}

/// A number of workers that is wanted for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Trend {
    /// As many as there are.
    #[default]
    None,
    /// More of them since then, this many at least.
    Up(SimTime, u32),
    /// Fewer of them since then, this many at most.
    Down(SimTime, u32),
}

impl Crew {
    /// The crew of a pool, where its workers are not simply there.
    pub(super) fn of(pool: &WorkerPool, bins: usize, bin: SimDuration) -> Crew {
        let (workers, here) = (pool.workers as usize, pool.at_first());
        let of_process = |process: u32| (pool.workers - process).div_ceil(pool.processes) as usize;
        let each = pool.prefetch.unwrap_or(0) as usize;
        let room_of_each = pool.scale.is_some().then_some(each);
        let buffer = |process| {
            let members = here.saturating_sub(process).div_ceil(pool.processes);
            let room = if room_of_each.is_some() { members as usize } else { of_process(process) } * each;
            Buffer { room, up: members, members, ..Buffer::default() }
        };
        let buffers = (0..pool.processes).map(buffer).collect();
        let mut crew = Crew {
            presence: vec![Presence::Gone; workers],
            since: vec![SimTime::ZERO; workers],
            runs: vec![None; workers],
            leaving: 0,
            here,
            buffers: if pool.prefetch.is_some() { buffers } else { Vec::new() },
            buffered: 0,
            room_of_each,
            processes: pool.processes,
            there: vec![0; bins],
            down: vec![0; bins],
            counts: CrewCounts { crashes: 0, most: here, fewest: here },
            numbers: PeakSeries::new(bins),
            bin,
            trend: Trend::None,
        };
        crew.presence[..here as usize].fill(Presence::Here);
        crew.numbers.set(0, here);
        crew
    }

    /// How many workers take jobs, or would if they were free.
    pub(super) const fn here(&self) -> u32 {
        self.here
    }

    /// How many workers there are or will be soon, those left out that are to go.
    pub(super) fn staying(&self) -> u32 {
        let gone = self.presence.iter().filter(|presence| **presence == Presence::Gone).count();
        (self.presence.len() - gone) as u32 - self.leaving
    }

    /// What a worker is.
    pub(super) fn presence(&self, worker: u32) -> Presence {
        self.presence[worker as usize]
    }

    /// Since when it is that.
    pub(super) fn since(&self, worker: u32) -> SimTime {
        self.since[worker as usize]
    }

    /// The first worker that is not there.
    pub(super) fn first_gone(&self) -> Option<u32> {
        self.presence.iter().position(|presence| *presence == Presence::Gone).map(|worker| worker as u32)
    }

    /// The last worker that is being started.
    pub(super) fn last_starting(&self) -> Option<u32> {
        self.presence.iter().rposition(|presence| *presence == Presence::Starting).map(|worker| worker as u32)
    }

    /// A worker becomes something else.
    pub(super) fn becomes(&mut self, worker: u32, presence: Presence, now: SimTime, narrow: u32) {
        self.close(worker, now);
        let before = std::mem::replace(&mut self.presence[worker as usize], presence);
        self.here -= u32::from(before == Presence::Here);
        self.here += u32::from(presence == Presence::Here);
        let process = self.process(worker) as usize;
        if let Some(buffer) = self.buffers.get_mut(process) {
            let is_member = |presence| u32::from(matches!(presence, Presence::Here | Presence::Down));
            buffer.up -= u32::from(before == Presence::Here);
            buffer.up += u32::from(presence == Presence::Here);
            buffer.members -= is_member(before);
            buffer.members += is_member(presence);
            if let Some(each) = self.room_of_each {
                buffer.room = buffer.members as usize * each;
            }
        }
        self.counts.crashes += u64::from(presence == Presence::Down);
        self.counts.most = self.counts.most.max(self.here);
        self.counts.fewest = self.counts.fewest.min(self.here);
        self.numbers.set(narrow, self.here);
    }

    fn close(&mut self, worker: u32, now: SimTime) {
        let from = std::mem::replace(&mut self.since[worker as usize], now);
        match self.presence[worker as usize] {
            Presence::Here => add(&mut self.there, self.bin, from, now),
            Presence::Down => add(&mut self.down, self.bin, from, now),
            Presence::Gone | Presence::Starting => {}
        }
    }

    /// The run that a worker has from now on.
    pub(super) fn works_on(&mut self, worker: u32, run: Option<(u16, u32)>) {
        self.runs[worker as usize] = run;
    }

    /// The run that a worker has.
    pub(super) fn run_of(&self, worker: u32) -> Option<(u16, u32)> {
        self.runs[worker as usize]
    }

    /// The process of a worker.
    pub(super) const fn process(&self, worker: u32) -> u32 {
        worker % self.processes
    }

    /// Whether processes take messages ahead.
    pub(super) fn prefetches(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// The process that takes this message next: one that has it or room for it, the one that has the fewest, the first
    /// of those.
    pub(super) fn taker(&self, message: Held) -> Option<u32> {
        let mut best: Option<(usize, u32)> = None;
        for (buffer, process) in self.buffers.iter().zip(0..) {
            let has = buffer.held.len();
            if buffer.up == 0 || best.is_some_and(|(fewest, _)| fewest <= has) {
                continue;
            }
            if has < buffer.room || buffer.held.contains(&message) {
                best = Some((has, process));
                if has == 0 {
                    break;
                }
            }
        }
        best.map(|(_, process)| process)
    }

    /// Whether a message waits in some process for a worker.
    pub(super) const fn has_buffered(&self) -> bool {
        self.buffered > 0
    }

    /// The processes that have messages and no worker any more.
    pub(super) fn deserted(&self) -> Vec<u32> {
        let deserted = |buffer: &Buffer| buffer.members == 0 && !(buffer.waits.is_empty() && buffer.delayed.is_empty());
        self.buffers.iter().zip(0..).filter(|(buffer, _)| deserted(buffer)).map(|(_, process)| process).collect()
    }

    /// A process takes a message, of which a run may begin at once or not yet; what waits for its time takes no room.
    pub(super) fn buffer(&mut self, process: u32, message: Held, is_due: bool) {
        let buffer = &mut self.buffers[process as usize];
        if !is_due {
            return buffer.delayed.push(message);
        }
        buffer.waits.push_back(message);
        self.buffered += 1;
        if !buffer.held.contains(&message) {
            buffer.held.push(message);
        }
    }

    /// A message that waits in a process may be taken by its workers from now on.
    pub(super) fn delay_ends(&mut self, message: Held) {
        let of_process = |buffer: &Buffer| buffer.delayed.iter().position(|held| *held == message);
        let found = self.buffers.iter().zip(0..).find_map(|(buffer, process)| Some((process, of_process(buffer)?)));
        if let Some((process, at)) = found {
            self.buffers[process as usize].delayed.remove(at);
            self.buffer(process, message, true);
        }
    }

    /// The message that the worker takes next of those that its process has.
    pub(super) fn next_of(&self, worker: u32) -> Option<Held> {
        self.buffers[self.process(worker) as usize].waits.front().copied()
    }

    /// Takes out the message that the worker takes next.
    pub(super) fn pop_of(&mut self, worker: u32) {
        let process = self.process(worker) as usize;
        self.buffered -= usize::from(self.buffers[process].waits.pop_front().is_some());
    }

    /// A process has acknowledged a message.
    pub(super) fn acknowledges(&mut self, process: u32, message: Held) {
        if let Some(buffer) = self.buffers.get_mut(process as usize) {
            buffer.held.retain(|held| *held != message);
        }
    }

    /// A process has died: what it had taken, what waited in it first.
    pub(super) fn loses(&mut self, process: u32) -> Vec<Held> {
        let Some(buffer) = self.buffers.get_mut(process as usize) else { return Vec::new() };
        buffer.held.clear();
        self.buffered -= buffer.waits.len();
        buffer.waits.drain(..).chain(buffer.delayed.drain(..)).collect()
    }

    /// The run is over: what was counted, and the series.
    pub(super) fn end(&mut self, horizon: SimTime) -> (CrewCounts, Vec<u64>, Vec<u32>) {
        for worker in 0..self.presence.len() as u32 {
            self.close(worker, horizon);
        }
        let numbers = std::mem::replace(&mut self.numbers, PeakSeries::new(0));
        (self.counts, self.down.clone(), numbers.finish())
    }

    /// Worker-nanoseconds in each bin.
    pub(super) fn there(self: Box<Self>) -> Vec<u64> {
        self.there
    }
}

/// How many workers are wanted for so many waiting jobs, of `to` at most.
pub(super) fn wanted(scale: &Scale, waiting: u32, to: u32) -> u32 {
    waiting.div_ceil(scale.jobs_per_worker).clamp(scale.from, to)
}

impl Trend {
    /// What a look finds: so many are wanted, and so many there are. Gives how many there are to be from now on, if
    /// that is another number.
    pub(super) fn look(&mut self, scale: &Scale, wanted: u32, there: u32, now: SimTime) -> Option<u32> {
        *self = match (*self, wanted.cmp(&there)) {
            (_, std::cmp::Ordering::Equal) => Trend::None,
            (Trend::Up(since, least), std::cmp::Ordering::Greater) => Trend::Up(since, least.min(wanted)),
            (_, std::cmp::Ordering::Greater) => Trend::Up(now, wanted),
            (Trend::Down(since, most), std::cmp::Ordering::Less) => Trend::Down(since, most.max(wanted)),
            (_, std::cmp::Ordering::Less) => Trend::Down(now, wanted),
        };
        let (since, number, after) = match *self {
            Trend::None => return None,
            Trend::Up(since, number) => (since, number, scale.up_after),
            Trend::Down(since, number) => (since, number, scale.down_after),
        };
        let is_due = now - since >= after;
        if is_due {
            *self = Trend::None;
        }
        is_due.then_some(number)
    }
}
