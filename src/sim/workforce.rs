//! The workers of a class and the queue in front of them. An idle worker takes the job at the front; among idle
//! workers the one that became idle last goes first, and before that the one with the lowest number.

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
}

/// The workers of one class.
pub(super) struct Workforce {
    idle: Vec<u32>,
    /// Since when each worker does what it does.
    since: Vec<SimTime>,
    queue: VecDeque<Waiter>,
    lengths: PeakSeries,
    /// Worker-nanoseconds in each narrow bin, by activity.
    work: [Vec<u64>; 5],
    bin: SimDuration,
    /// Until when the workers are paused, if that instant is already scheduled.
    pub(super) paused_until: Option<SimTime>,
    /// How many operators have paused them.
    pub(super) pauses: u32,
}

impl Workforce {
    pub(super) fn new(workers: u32, bins: usize, bin: SimDuration) -> Workforce {
        Workforce {
            idle: (0..workers).rev().collect(),
            since: vec![SimTime::ZERO; workers as usize],
            queue: VecDeque::new(),
            lengths: PeakSeries::new(bins),
            work: std::array::from_fn(|_| if workers > 0 { vec![0; bins] } else { Vec::new() }),
            bin,
            paused_until: None,
            pauses: 0,
        }
    }

    /// Puts somebody into the queue; how long it is shows when idle workers have looked.
    pub(super) fn enqueue(&mut self, waiter: Waiter, first: bool) {
        if first {
            self.queue.push_front(waiter);
        } else {
            self.queue.push_back(waiter);
        }
    }

    /// Whether there is a job that somebody may take.
    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty() && self.pauses == 0
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The idle workers; the last one goes first.
    pub(super) fn idle(&self) -> &[u32] {
        &self.idle
    }

    /// Gives the job at the front to the idle worker at this place; there is both.
    pub(super) fn assign(&mut self, position: usize, now: SimTime) -> (u32, Waiter) {
        let worker = self.idle.remove(position);
        let waiter = self.queue.pop_front().expect("somebody waits");
        self.since[worker as usize] = now;
        (worker, waiter)
    }

    pub(super) fn release(&mut self, worker: u32) {
        self.idle.push(worker);
    }

    /// Closes what the worker did until now and says since when it did it.
    pub(super) fn close(&mut self, worker: u32, activity: WorkerActivity, now: SimTime) -> SimTime {
        let from = std::mem::replace(&mut self.since[worker as usize], now);
        let bins = &mut self.work[activity as usize];
        let width = self.bin.as_nanos();
        let (mut at, end) = (from.as_nanos(), now.as_nanos());
        while at < end {
            let bin = (at / width) as usize;
            let to = end.min((bin as u64 + 1) * width);
            bins[bin] += to - at;
            at = to;
        }
        from
    }

    /// Notes how many wait after all who could have been given to a worker: who is taken at once has not waited.
    pub(super) fn note_length(&mut self, narrow: u32) {
        self.lengths.set(narrow, self.queue.len() as u32);
    }

    /// The queue's peaks and the worker-seconds by activity, idle time filled in.
    pub(super) fn finish(self, horizon: SimTime) -> (Vec<u32>, [Vec<f32>; 5]) {
        let workers = self.since.len() as u64;
        let width = self.bin.as_nanos();
        let mut work = self.work;
        for bin in 0..work[0].len() {
            let start = bin as u64 * width;
            let there = workers * (horizon.as_nanos().min(start + width) - start);
            let busy: u64 = work.iter().map(|series| series[bin]).sum();
            work[WorkerActivity::Idle as usize][bin] = there - busy;
        }
        let seconds = work.map(|series| series.iter().map(|nanos| (*nanos as f64 / 1e9) as f32).collect());
        (self.lengths.finish(), seconds)
    }
}
