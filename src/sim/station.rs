//! The provider's servers at work: which requests wait, which are served. A request is a *job* here from its admission
//! until its service is over and no event names it any more; its caller may have left long before.
//!
//! Lines are chains through the jobs themselves, so that whoever leaves is taken out at once, wherever it stands, and
//! nothing is allocated once there have been as many jobs.

use crate::observe::outcome::CapacityCounts;
use crate::observe::series::PeakSeries;
use crate::policy::Course;
use crate::provider::capacity::{Capacity, Order};
use crate::provider::{Abandoned, Ticket};
use crate::units::{SimDuration, SimTime};

/// No job, or nobody who waits for it.
pub(super) const NOBODY: u32 = u32::MAX;

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way to the server.
    #[default]
    Coming,
    /// In the waiting room.
    Waiting,
    /// Passed over for being late; its caller does not know and waits.
    Passed,
    /// A server works on it.
    InService,
    /// Over; only an event still names it.
    Over,
}

/// A request at the servers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Job {
    pub(super) class: u16,
    /// The run that waits for it, or `NOBODY`.
    pub(super) run: u32,
    pub(super) stage: Stage,
    pub(super) sender: u8,
    pub(super) model: u8,
    /// Pending events that name it.
    pub(super) pending: u8,
    /// The cell in which its call began.
    pub(super) call_cell: u16,
    pub(super) sent: SimTime,
    /// When it joined the waiting room, and then when its service began.
    pub(super) since: SimTime,
    /// When its caller gives up if nothing of the answer has come by then.
    pub(super) patience: SimTime,
    /// What its caller would see: from the beginning of its service on, what it will see.
    pub(super) course: Course,
    /// By what name limits know it that are not done with it.
    pub(super) ticket: Ticket,
    /// Its neighbours in the line in which it waits.
    pub(super) previous: u32,
    pub(super) next: u32,
}

/// A line of waiting jobs.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
}

/// The servers and the waiting room.
pub(super) struct Station<'a> {
    pub(super) settings: &'a Capacity,
    abandoned: Abandoned,
    jobs: Vec<Job>,
    free: Vec<u32>,
    /// One line, or with priorities one for each of them, the lowest number first.
    lines: Vec<Line>,
    /// The line of each class.
    line_of: Vec<usize>,
    waiting: u32,
    busy: u32,
    /// Of each line, the work of those that wait in it, in nanoseconds; and the sum of the instants at which those in
    /// service will be done. Only where somebody is refused by them.
    work: Vec<u64>,
    done_nanos: u128,
    /// For each class and run, its job.
    job_of: Vec<Vec<u32>>,
    pub(super) counts: CapacityCounts,
    waiting_series: PeakSeries,
    busy_series: PeakSeries,
}

impl<'a> Station<'a> {
    pub(super) fn new(settings: &'a Capacity, abandoned: Abandoned, bins: usize) -> Station<'a> {
        let mut priorities = settings.priorities.clone();
        if settings.order != Order::Priority {
            priorities.fill(0);
        }
        let mut levels = priorities.clone();
        levels.sort_unstable();
        levels.dedup();
        let level = |priority: &u8| levels.iter().position(|level| level == priority).unwrap_or(0);
        Station {
            settings,
            abandoned,
            jobs: Vec::new(),
            free: Vec::new(),
            lines: vec![Line { first: NOBODY, last: NOBODY }; levels.len().max(1)],
            line_of: priorities.iter().map(level).collect(),
            waiting: 0,
            busy: 0,
            work: vec![0; levels.len().max(1)],
            done_nanos: 0,
            job_of: vec![Vec::new(); priorities.len()],
            counts: CapacityCounts::default(),
            waiting_series: PeakSeries::new(bins),
            busy_series: PeakSeries::new(bins),
        }
    }

    /// A request comes.
    pub(super) fn insert(&mut self, job: Job) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(Job::default());
            self.jobs.len() as u32 - 1
        });
        self.jobs[id as usize] = Job { previous: NOBODY, next: NOBODY, ..job };
        let runs = &mut self.job_of[job.class as usize];
        if runs.len() <= job.run as usize {
            runs.resize(job.run as usize + 1, NOBODY);
        }
        runs[job.run as usize] = id;
        id
    }

    pub(super) fn job(&self, id: u32) -> &Job {
        &self.jobs[id as usize]
    }

    pub(super) fn job_mut(&mut self, id: u32) -> &mut Job {
        &mut self.jobs[id as usize]
    }

    /// The job of this run, if its request is at the servers.
    pub(super) fn of(&self, class: u16, run: u32) -> Option<u32> {
        self.job_of[class as usize].get(run as usize).copied().filter(|job| *job != NOBODY)
    }

    /// Whether a server is free for one more.
    pub(super) fn is_free(&self, now: SimTime) -> bool {
        self.busy < self.settings.servers.at(now)
    }

    /// Whether there is room for one more of this class to wait.
    pub(super) fn has_room(&self, class: u16) -> bool {
        self.waiting < self.settings.room.min(self.settings.shares[class as usize])
    }

    /// The job joins those that wait.
    pub(super) fn join(&mut self, id: u32, now: SimTime) {
        let class = self.jobs[id as usize].class as usize;
        let line = self.line_of[class];
        let is_last_first = self.settings.order == Order::Lifo;
        let Line { first, last } = self.lines[line];
        let job = &mut self.jobs[id as usize];
        (job.stage, job.since) = (Stage::Waiting, now);
        (job.previous, job.next) = if is_last_first { (NOBODY, first) } else { (last, NOBODY) };
        let (neighbour, line) = (if is_last_first { first } else { last }, &mut self.lines[line]);
        if is_last_first {
            line.first = id;
            if neighbour == NOBODY {
                line.last = id;
            } else {
                self.jobs[neighbour as usize].previous = id;
            }
        } else {
            line.last = id;
            if neighbour == NOBODY {
                line.first = id;
            } else {
                self.jobs[neighbour as usize].next = id;
            }
        }
        self.work[self.line_of[class]] += work_of(&self.jobs[id as usize]);
        self.waiting += 1;
        self.counts.most_waiting = self.counts.most_waiting.max(self.waiting);
    }

    /// Takes a job out of its line, wherever it stands.
    pub(super) fn take_out(&mut self, id: u32) {
        let Job { class, previous, next, .. } = self.jobs[id as usize];
        let line = self.line_of[class as usize];
        match previous {
            NOBODY => self.lines[line].first = next,
            previous => self.jobs[previous as usize].next = next,
        }
        match next {
            NOBODY => self.lines[line].last = previous,
            next => self.jobs[next as usize].previous = previous,
        }
        self.work[line] -= work_of(&self.jobs[id as usize]);
        self.waiting -= 1;
    }

    /// When a request of this class could begin that comes now, if nobody leaves or comes: what is to be done before it,
    /// over the servers.
    pub(super) fn may_begin(&self, class: u16, now: SimTime) -> SimTime {
        if self.is_free(now) {
            return now;
        }
        let servers = u64::from(self.settings.servers.at(now).max(1));
        let before = match self.settings.order {
            Order::Lifo => 0,
            Order::Fifo | Order::Priority => self.work[..=self.line_of[class as usize]].iter().sum(),
        };
        let under_way = self.done_nanos.saturating_sub(u128::from(now.as_nanos()) * u128::from(self.busy));
        let under_way = SimDuration::from_nanos(u64::try_from(under_way).unwrap_or(u64::MAX) / servers);
        let work = SimDuration::from_nanos(before / servers).scaled(self.settings.factor(self.busy));
        self.settings.done(now + under_way, work)
    }

    /// A job in service will be done at this instant, or will not be after all.
    pub(super) fn will_be_done(&mut self, at: SimTime, is_so: bool) {
        let nanos = u128::from(at.as_nanos());
        self.done_nanos = if is_so { self.done_nanos + nanos } else { self.done_nanos - nanos };
    }

    /// How many are in service.
    pub(super) const fn busy(&self) -> u32 {
        self.busy
    }

    /// The job's turn has come, and it is passed over for being late.
    pub(super) fn pass(&mut self, id: u32) {
        self.jobs[id as usize].stage = Stage::Passed;
        self.counts.late += 1;
    }

    /// Who is served next, if somebody waits; out of its line.
    pub(super) fn next(&mut self) -> Option<u32> {
        let id = self.lines.iter().map(|line| line.first).find(|first| *first != NOBODY)?;
        self.take_out(id);
        Some(id)
    }

    /// Whether the server passes this job over, whose turn has come: its caller has left, and it looks.
    pub(super) fn passes_over(&self, id: u32) -> bool {
        self.abandoned == Abandoned::Skipped && self.jobs[id as usize].run == NOBODY
    }

    /// A server begins with the job; says how many are in service then.
    pub(super) fn begin(&mut self, id: u32, now: SimTime) -> u32 {
        let job = &mut self.jobs[id as usize];
        if job.stage == Stage::Waiting {
            self.counts.waited_nanos += (now - job.since).as_nanos();
        }
        (job.stage, job.since) = (Stage::InService, now);
        self.busy += 1;
        self.counts.started += 1;
        self.counts.most_busy = self.counts.most_busy.max(self.busy);
        self.busy
    }

    /// The server has done with it, or has left it.
    pub(super) fn stop(&mut self, id: u32) {
        debug_assert_eq!(self.jobs[id as usize].stage, Stage::InService, "a server stops what it began");
        self.will_be_done(self.jobs[id as usize].course.ends, false);
        self.busy -= 1;
        self.end(id);
    }

    /// Nothing more is done for the job.
    pub(super) fn end(&mut self, id: u32) {
        self.jobs[id as usize].stage = Stage::Over;
        self.free_if_over(id);
    }

    /// Nobody waits for the job any more.
    pub(super) fn leave(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        self.job_of[job.class as usize][job.run as usize] = NOBODY;
        job.run = NOBODY;
    }

    /// An event that named the job has come.
    pub(super) fn has_come(&mut self, id: u32) {
        self.jobs[id as usize].pending -= 1;
        self.free_if_over(id);
    }

    fn free_if_over(&mut self, id: u32) {
        let job = &self.jobs[id as usize];
        if job.stage == Stage::Over && job.pending == 0 {
            self.free.push(id);
        }
    }

    /// Notes how many wait and how many are served.
    pub(super) fn note(&mut self, bin: u32) {
        self.waiting_series.set(bin, self.waiting);
        self.busy_series.set(bin, self.busy);
    }

    /// The counts, and the peaks of those that wait and those that are served, bin by bin.
    pub(super) fn finish(mut self) -> (CapacityCounts, Vec<u32>, Vec<u32>) {
        self.counts.waiting_at_end = self.waiting;
        (self.counts, self.waiting_series.finish(), self.busy_series.finish())
    }
}

/// What a waiting job asks of a server, in nanoseconds.
const fn work_of(job: &Job) -> u64 {
    let (written, ends) = (job.course.written.as_nanos(), job.course.ends.as_nanos());
    ends.saturating_sub(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(order: Order, abandoned: Abandoned) -> Vec<u32> {
        let settings = Capacity { order, priorities: vec![2, 0], ..Capacity::without_limit(2) };
        let mut station = Station::new(&settings, abandoned, 1);
        // Runs 0, 1, 2 of class 0 and run 3 of class 1 wait; run 1 leaves.
        let ids: Vec<u32> = (0..4)
            .map(|run| {
                let class = u16::from(run == 3);
                let id = station.insert(Job { class, run, ..Job::default() });
                station.join(id, SimTime::ZERO);
                id
            })
            .collect();
        station.leave(ids[1]);
        if abandoned == Abandoned::Dequeued {
            station.take_out(ids[1]);
        }
        let turns: Vec<u32> = std::iter::from_fn(|| station.next()).collect();
        turns.into_iter().filter(|id| !station.passes_over(*id)).collect()
    }

    #[test]
    fn the_order_says_who_is_next_and_who_has_left_is_served_passed_over_or_gone() {
        assert_eq!(served(Order::Fifo, Abandoned::Served), [0, 1, 2, 3]);
        assert_eq!(served(Order::Lifo, Abandoned::Served), [3, 2, 1, 0]);
        assert_eq!(served(Order::Priority, Abandoned::Served), [3, 0, 1, 2]);
        assert_eq!(served(Order::Fifo, Abandoned::Skipped), [0, 2, 3]);
        assert_eq!(served(Order::Lifo, Abandoned::Dequeued), [3, 2, 0]);
    }

    #[test]
    fn a_slot_is_free_again_when_the_job_is_over_and_no_event_names_it() {
        let settings = Capacity::without_limit(1);
        let mut station = Station::new(&settings, Abandoned::Served, 1);
        let first = station.insert(Job { pending: 1, ..Job::default() });
        station.begin(first, SimTime::ZERO);
        station.leave(first);
        station.stop(first);
        assert_eq!(station.insert(Job::default()), 1);
        station.has_come(first);
        assert_eq!(station.insert(Job { run: 1, ..Job::default() }), first);
    }
}
