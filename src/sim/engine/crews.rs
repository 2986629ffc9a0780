//! Workers that die and come back, and pools whose number of workers follows the queue.

use super::Engine;
use crate::sim::bank::Asker;
use crate::sim::crew::{Held, Presence, wanted};
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fate, Observer};
use crate::sim::record::NO_WORKER;
use crate::sim::world::purpose;
use crate::traffic::WorkerPool;
use crate::units::{SimDuration, SimTime};

impl<'a, O: Observer> Engine<'a, O> {
    fn pool(&self, force: u16) -> Option<&'a WorkerPool> {
        Some(&self.scenario.pools[self.pools[force as usize]?])
    }

    /// The first looks and the first deaths.
    pub(super) fn schedule_crews(&mut self) {
        for force in 0..self.forces.len() as u16 {
            let Some(pool) = self.pool(force) else { continue };
            if let Some(scale) = &pool.scale {
                let at = SimTime::ZERO + scale.look_every;
                self.events.push(at, Rank::Intervene, Event::PoolLooks { force }.pack());
            }
            if let Some(crashes) = &pool.crashes {
                let units = if crashes.of_process { pool.processes } else { pool.workers };
                for unit in 0..units {
                    self.schedule_crash(force, unit, SimDuration::ZERO);
                }
            }
        }
    }

    /// Draws how long a worker or a process lives that starts after a while.
    fn schedule_crash(&mut self, force: u16, unit: u32, after: SimDuration) {
        let Some(pool) = self.pool(force) else { return };
        let Some(crashes) = &pool.crashes else { return };
        let starts = self.now() + after;
        let key = self.worker_key.named(&pool.name).with(u64::from(unit)).with(starts.as_nanos());
        let lives = crashes.every.sample(&mut key.with(purpose::CRASHES).stream());
        let at = starts + SimDuration::from_secs_f64(lives);
        self.events.push(at, Rank::Intervene, Event::Crash { force, unit }.pack());
    }

    /// A worker dies, or a process with all of its workers.
    pub(super) fn crash(&mut self, force: u16, unit: u32) {
        let Some(pool) = self.pool(force) else { return };
        let Some(crashes) = &pool.crashes else { return };
        self.schedule_crash(force, unit, crashes.restart);
        let (step, first) = if crashes.of_process { (pool.processes, unit) } else { (pool.workers, unit) };
        let (now, narrow) = (self.now(), self.clock.narrow());
        for worker in (first..pool.workers).step_by(step as usize) {
            let workers = &mut self.forces[force as usize];
            let Some(crew) = &mut workers.crew else { return };
            if crew.presence(worker) != Presence::Here {
                continue;
            }
            let run = crew.run_of(worker);
            crew.becomes(worker, Presence::Down, now, narrow);
            workers.withdraw(worker);
            if let Some((class, run)) = run {
                self.lose_run(class, run);
            }
            let class = self.forces[force as usize].members().first().map_or(0, |member| member.class);
            self.bank.dies(Asker::of_worker(class, 0, worker), crashes.of_process, now);
            self.events.push(now + crashes.restart, Rank::Release, Event::WorkerStarts { force, worker }.pack());
        }
        if crashes.of_process {
            let lost = self.forces[force as usize].crew.as_mut().map(|crew| crew.loses(unit)).unwrap_or_default();
            for held in lost {
                self.lose_message(held.class, held.message);
            }
        }
        self.stirred |= 1 << force;
    }

    /// The worker of a run has died.
    fn lose_run(&mut self, class: u16, run: u32) {
        let Some(before) = self.watch(class, run) else { return };
        let run = self.kill(class, run);
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        record.worker = NO_WORKER;
        let cell = record.task.cell;
        state.ledger.cells[cell as usize].jobs.crashed_runs += 1;
        let is_late = self.classes[class as usize].settings.queueing.delivery.as_ref().is_some_and(|d| d.late);
        if !is_late {
            // Nobody else knows of it.
            let decides = self.settles(class, run, before);
            let can_come = self.states[class as usize].deliveries.messages.get(before.message).copies > 0;
            if decides && !can_come {
                return self.end_job(class, run, before.message, Fate::Failed, |jobs| jobs.lost += 1);
            }
            let known = self.states[class as usize].deliveries.messages.get_mut(before.message);
            known.is_settled &= !decides;
            self.states[class as usize].runs.remove(run);
            return self.let_go(class, before.message);
        }
        self.leaves_job(class, run, before);
        self.states[class as usize].runs.remove(run);
        let crew = &mut self.forces[self.classes[class as usize].force as usize].crew;
        if let Some(crew) = crew {
            crew.acknowledges(before.process, Held { class, message: before.message });
        }
        self.lose_hold(class, before.message);
    }

    /// A process has died that had taken a message.
    fn lose_message(&mut self, class: u16, message: u32) {
        let known = self.states[class as usize].deliveries.messages.get_mut(message);
        known.copies -= 1;
        self.lose_hold(class, message);
    }

    /// Nobody has this copy of a message any more: it comes back, at once where the queue notices that its holder has
    /// died, else when it is overdue.
    fn lose_hold(&mut self, class: u16, message: u32) {
        let delivery = self.classes[class as usize].settings.queueing.delivery.as_ref();
        let waits = delivery.is_some_and(|delivery| delivery.visibility.is_some() && !delivery.at_once_after_crash);
        let renews = delivery.is_some_and(|delivery| delivery.renews);
        let now = self.now();
        let known = self.states[class as usize].deliveries.messages.get_mut(message);
        if known.is_delivered && waits {
            if renews {
                self.wind(class, message, now);
            }
            return;
        }
        let is_lost = known.copies == 0 && !known.is_settled && !known.is_cancelled;
        let comes_back = std::mem::take(&mut known.is_delivered) || is_lost;
        if comes_back && !known.is_cancelled {
            self.put_back(class, message);
        } else {
            self.let_go(class, message);
        }
    }

    /// A worker is there, for the first time or again.
    pub(super) fn worker_starts(&mut self, force: u16, worker: u32) {
        let Some(pool) = self.pool(force) else { return };
        let (now, narrow) = (self.now(), self.clock.narrow());
        let workers = &mut self.forces[force as usize];
        let Some(crew) = &mut workers.crew else { return };
        let after = match crew.presence(worker) {
            Presence::Down => pool.crashes.as_ref().map(|crashes| crashes.restart),
            Presence::Starting => pool.scale.as_ref().map(|scale| scale.start),
            Presence::Here | Presence::Gone => None,
        };
        // One that was sent away and called again starts anew.
        if after.is_some_and(|after| crew.since(worker) + after == now) {
            crew.becomes(worker, Presence::Here, now, narrow);
            workers.release(worker);
            self.stirred |= 1 << force;
        }
    }

    /// A worker of a pool has no job any more.
    pub(super) fn release_in_crew(&mut self, force: u16, worker: u32) {
        let (now, narrow) = (self.now(), self.clock.narrow());
        let workers = &mut self.forces[force as usize];
        let Some(crew) = &mut workers.crew else { return };
        crew.works_on(worker, None);
        if crew.leaving > 0 && crew.presence(worker) == Presence::Here {
            crew.leaving -= 1;
            crew.becomes(worker, Presence::Gone, now, narrow);
            self.give_back(force);
        } else if crew.presence(worker) == Presence::Here {
            workers.release(worker);
        }
    }

    /// A worker of a pool has this run from now on.
    #[inline]
    pub(super) fn worker_has(&mut self, class: u16, worker: u32, run: Option<u32>) {
        if worker == NO_WORKER {
            return;
        }
        let (force, _, worker) = self.place_of(class, worker);
        if let Some(crew) = &mut self.forces[force as usize].crew {
            crew.works_on(worker, run.map(|run| (class, run)));
        }
    }

    /// A pool looks how many workers it wants.
    pub(super) fn pool_looks(&mut self, force: u16) {
        let Some(pool) = self.pool(force) else { return };
        let Some(scale) = &pool.scale else { return };
        let (now, narrow) = (self.now(), self.clock.narrow());
        self.events.push(now + scale.look_every, Rank::Intervene, Event::PoolLooks { force }.pack());
        let workers = &mut self.forces[force as usize];
        let Some(mut crew) = workers.crew.take() else { return };
        let there = crew.staying();
        let number = crew.trend.look(scale, wanted(scale, workers.waiting(), pool.workers), there, now);
        for _ in there..number.unwrap_or(there) {
            // Who was to go stays before a new one is started.
            if crew.leaving > 0 {
                crew.leaving -= 1;
            } else if let Some(worker) = crew.first_gone() {
                crew.becomes(worker, Presence::Starting, now, narrow);
                self.events.push(now + scale.start, Rank::Release, Event::WorkerStarts { force, worker }.pack());
            }
        }
        for _ in number.unwrap_or(there)..there {
            if let Some(worker) = crew.last_starting() {
                crew.becomes(worker, Presence::Gone, now, narrow);
            } else if let Some(worker) = workers.idle().iter().copied().max() {
                workers.withdraw(worker);
                crew.becomes(worker, Presence::Gone, now, narrow);
            } else {
                crew.leaving += 1;
            }
        }
        workers.crew = Some(crew);
        self.give_back(force);
    }
}
