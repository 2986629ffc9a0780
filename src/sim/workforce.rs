//! The workers of a class, or of a pool that several classes share, and the queues in front of them. An idle worker takes
//! the job that is next; among idle workers the one that became idle last goes first, and before that the one with the
//! lowest number.

use super::crew::Crew;
use crate::observe::WorkerActivity;
use crate::observe::series::PeakSeries;
use crate::units::{SimDuration, SimTime};
use std::collections::VecDeque;

/// Who waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A task that wants a new run.
    Task(u32),
    /// A run that slept without a worker and goes on.
    Run(u32),
    /// A message of a class whose jobs are followed one by one.
    Message(u32),
}

/// Somebody in the queue, and where: a smaller number is nearer to the front.
#[derive(Clone, Copy, Debug)]
struct Queued {
    order: i64,
    waiter: Waiter,
}

/// What one class has in front of the workers, and what they did for it.
pub(super) struct Member {
    /// The class.
    pub(super) class: u16,
    /// A larger one goes first.
    priority: u32,
    queue: VecDeque<Queued>,
    /// How many of them wait; others lie there in vain.
    waiting: u32,
    /// How many operators keep workers from its jobs.
    pauses: u32,
    lengths: PeakSeries,
    /// Worker-nanoseconds in each narrow bin, by activity.
    work: [Vec<u64>; 5],
}

/// The workers of one class or pool.
pub(super) struct Workforce {
    idle: Vec<u32>,
    /// Since when each worker does what it does.
    since: Vec<SimTime>,
    members: Vec<Member>,
    /// The numbers of the first and the last who were put into the queue.
    ends: (i64, i64),
    bin: SimDuration,
    /// What is known of workers that come and go, or take jobs ahead.
    pub(super) crew: Option<Box<Crew>>,
}

impl Workforce {
    /// So many workers, of which the first are there.
    pub(super) fn new(workers: u32, bin: SimDuration, crew: Option<Box<Crew>>) -> Workforce {
        let at_first = crew.as_ref().map_or(workers, |crew| crew.here());
        Workforce {
            idle: (0..at_first).rev().collect(),
            since: vec![SimTime::ZERO; workers as usize],
            members: Vec::new(),
            ends: (0, 0),
            bin,
            crew,
        }
    }

    /// One more class; says which one it is among those who share the workers.
    pub(super) fn join(&mut self, class: u16, priority: u32, bins: usize) -> u8 {
        let has_workers = !self.since.is_empty();
        self.members.push(Member {
            class,
            priority,
            queue: VecDeque::new(),
            waiting: 0,
            pauses: 0,
            lengths: PeakSeries::new(bins),
            work: std::array::from_fn(|_| if has_workers { vec![0; bins] } else { Vec::new() }),
        });
        (self.members.len() - 1) as u8
    }

    /// The classes that share the workers.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Puts somebody into the queue; how long it is shows when idle workers have looked.
    pub(super) fn enqueue(&mut self, member: u8, waiter: Waiter, first: bool) {
        let member = &mut self.members[member as usize];
        member.waiting += 1;
        if first {
            self.ends.0 -= 1;
            member.queue.push_front(Queued { order: self.ends.0, waiter });
        } else {
            self.ends.1 += 1;
            member.queue.push_back(Queued { order: self.ends.1, waiter });
        }
    }

    /// The one whose queue is looked at next, those left out of which a bit is set.
    #[inline]
    pub(super) fn next(&self, left_out: u64) -> Option<u8> {
        if let [only] = self.members.as_slice() {
            return (left_out == 0 && !only.queue.is_empty() && only.pauses == 0).then_some(0);
        }
        let asked =
            self.members.iter().enumerate().filter(|(at, member)| left_out >> at & 1 == 0 && member.pauses == 0);
        let fronts = asked.filter_map(|(at, member)| Some((at, member.priority, member.queue.front()?.order)));
        fronts.min_by_key(|(_, priority, order)| (std::cmp::Reverse(*priority), *order)).map(|(at, ..)| at as u8)
    }

    /// Who is at the front of this queue; somebody is.
    pub(super) fn front(&self, member: u8) -> Waiter {
        self.members[member as usize].queue.front().expect("somebody waits").waiter
    }

    /// Takes out who is at the front of this queue; somebody is.
    pub(super) fn pop(&mut self, member: u8) -> Waiter {
        self.members[member as usize].queue.pop_front().expect("somebody waits").waiter
    }

    /// Takes out who is at the front of this queue, if anybody is.
    pub(super) fn pop_any(&mut self, member: u8) -> Option<Waiter> {
        self.members[member as usize].queue.pop_front().map(|queued| queued.waiter)
    }

    /// So many of a queue have been taken out, or lie there in vain.
    pub(super) fn leave(&mut self, member: u8, count: u32) {
        self.members[member as usize].waiting -= count;
    }

    /// An operator keeps workers from the jobs of a class, or no longer does.
    pub(super) fn pause(&mut self, member: u8, ends: bool) {
        let pauses = &mut self.members[member as usize].pauses;
        *pauses = if ends { *pauses - 1 } else { *pauses + 1 };
    }

    /// Whether operators keep workers from the jobs of a class.
    pub(super) fn is_paused(&self, member: u8) -> bool {
        self.members[member as usize].pauses > 0
    }

    /// Takes out all that lie in the queue of a class, with how many of them wait and how many operators keep workers
    /// from them.
    pub(super) fn take_all(&mut self, member: u8) -> (Vec<Waiter>, u32, u32) {
        let member = &mut self.members[member as usize];
        let all = member.queue.drain(..).map(|queued| queued.waiter).collect();
        (all, std::mem::take(&mut member.waiting), std::mem::take(&mut member.pauses))
    }

    /// Puts all that lay in another queue behind those of this one.
    pub(super) fn put_all(&mut self, member: u8, (all, waiting, pauses): (Vec<Waiter>, u32, u32)) {
        let member = &mut self.members[member as usize];
        for waiter in all {
            self.ends.1 += 1;
            member.queue.push_back(Queued { order: self.ends.1, waiter });
        }
        member.waiting += waiting;
        member.pauses += pauses;
    }

    /// The place of a class among those who share the workers.
    pub(super) fn member_of(&self, class: u16) -> Option<u8> {
        self.members.iter().position(|member| member.class == class).map(|at| at as u8)
    }

    /// How many jobs of a class wait.
    pub(super) fn waiting_of(&self, member: u8) -> usize {
        self.members[member as usize].waiting as usize
    }

    /// How many wait in all.
    pub(super) fn waiting(&self) -> u32 {
        self.members.iter().map(|member| member.waiting).sum()
    }

    /// The idle workers; the last one goes first.
    pub(super) fn idle(&self) -> &[u32] {
        &self.idle
    }

    /// The idle worker at this place begins to work.
    pub(super) fn take(&mut self, position: usize, now: SimTime) -> u32 {
        let worker = self.idle.remove(position);
        self.since[worker as usize] = now;
        worker
    }

    /// The worker is idle now; what has become of it meanwhile is the crew's affair.
    pub(super) fn release(&mut self, worker: u32) {
        self.idle.push(worker);
    }

    /// The worker is no longer among the idle ones; says whether it was.
    pub(super) fn withdraw(&mut self, worker: u32) -> bool {
        let place = self.idle.iter().position(|idle| *idle == worker);
        place.map(|place| self.idle.remove(place)).is_some()
    }

    /// Closes what the worker did for a class until now and says since when it did it.
    pub(super) fn close(&mut self, member: u8, worker: u32, activity: WorkerActivity, now: SimTime) -> SimTime {
        let from = std::mem::replace(&mut self.since[worker as usize], now);
        add(&mut self.members[member as usize].work[activity as usize], self.bin, from, now);
        from
    }

    /// Notes how many wait after all who could have been given to a worker: who is taken at once has not waited.
    pub(super) fn note_lengths(&mut self, narrow: u32) {
        for member in &mut self.members {
            member.lengths.set(narrow, member.waiting);
        }
    }

    /// For each class the queue's peaks and the worker-seconds by activity; and how long workers were without a job in
    /// each bin, which is told of a class where the workers are its own.
    pub(super) fn finish(self, horizon: SimTime, is_pool: bool) -> (Vec<MemberSeries>, Vec<f32>) {
        let bins = self.members.first().map_or(0, |member| member.work[0].len());
        let there = self.crew.map_or_else(
            || {
                let (workers, width) = (self.since.len() as u64, self.bin.as_nanos());
                let start = |bin| bin as u64 * width;
                let bins = 0..bins;
                bins.map(|bin| workers * (horizon.as_nanos().min(start(bin) + width) - start(bin))).collect()
            },
            Crew::there,
        );
        let mut members = self.members;
        let busy = |bin: usize| members.iter().flat_map(|member| &member.work).map(|series| series[bin]).sum::<u64>();
        let idle: Vec<u64> = there.iter().enumerate().map(|(bin, there)| there - busy(bin)).collect();
        if let ([own], false, true) = (members.as_mut_slice(), is_pool, bins > 0) {
            own.work[WorkerActivity::Idle as usize].clone_from(&idle);
        }
        let seconds = |series: &Vec<u64>| series.iter().map(|nanos| (*nanos as f64 / 1e9) as f32).collect();
        let series = members.into_iter().map(|member| MemberSeries {
            class: member.class,
            queue: member.lengths.finish(),
            work: std::array::from_fn(|activity| seconds(&member.work[activity])),
        });
        (series.collect(), seconds(&idle))
    }
}

/// The series of a class in front of workers.
pub(super) struct MemberSeries {
    pub(super) class: u16,
    /// The longest queue in each narrow bin.
    pub(super) queue: Vec<u32>,
    /// Worker-seconds in each narrow bin, by activity.
    pub(super) work: [Vec<f32>; 5],
}

/// Adds a span of time to the bins in which it lies.
pub(super) fn add(bins: &mut [u64], width: SimDuration, from: SimTime, to: SimTime) {
    let width = width.as_nanos();
    let (mut at, end) = (from.as_nanos(), to.as_nanos());
    while at < end {
        let bin = (at / width) as usize;
        let to = end.min((bin as u64 + 1) * width);
        bins[bin] += to - at;
        at = to;
    }
}
