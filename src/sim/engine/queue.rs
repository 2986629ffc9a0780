//! Jobs in the queue, and the workers who take them.

use super::Engine;
use crate::policy::circuit_breaker::Pause;
use crate::policy::stack::{Input, Place, Requeue};
use crate::sim::bank::Asker;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::{NO_WORKER, foreign};
use crate::sim::workforce::Waiter;
use crate::sim::world::Class;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn enqueue(&mut self, class: u16, waiter: Waiter, place: Place) {
        let Class { force, member, follows, .. } = self.classes[class as usize];
        let waiter = match waiter {
            Waiter::Task(task) if follows => match self.new_message(class, task) {
                Some(message) => Waiter::Message(message),
                None => return,
            },
            waiter => waiter,
        };
        self.forces[force as usize].enqueue(member, waiter, place == Place::Front);
        self.stirred |= 1 << force;
    }

    /// Lets those go on for whom a guard has changed, and idle workers take jobs until nothing is stirred any more.
    pub(super) fn settle(&mut self) {
        if self.bank.resumed {
            self.bank.resumed = false;
            let now = self.clock.now();
            for (class, run) in self.bank.take_woken() {
                self.events.push(now, Rank::Release, Event::LimiterWaitEnds { class, run }.pack());
            }
            for (class, run) in self.bank.take_falling() {
                self.events.push(now, Rank::Attempt, Event::LineEnds { class, run }.pack());
            }
            let pausing = self.classes.iter().filter(|class| !class.pausing.is_empty());
            self.stirred |= pausing.fold(0, |stirred, class| stirred | 1 << class.force);
        }
        while self.stirred != 0 {
            let force = self.stirred.trailing_zeros() as u16;
            self.stirred &= self.stirred - 1;
            self.dispatch(force);
        }
    }

    /// Gives jobs to idle workers as long as there are both.
    fn dispatch(&mut self, force: u16) {
        if self.forces[force as usize].crew.as_ref().is_some_and(|crew| crew.prefetches()) {
            self.dispatch_ahead(force);
        } else {
            // Classes that no idle worker may work for now.
            let mut passed_over = 0;
            while let Some(member) = self.forces[force as usize].next(passed_over) {
                let Some(position) = self.free_worker(force, member) else {
                    if self.forces[force as usize].idle().is_empty() {
                        break;
                    }
                    passed_over |= 1 << member;
                    continue;
                };
                let waiter = self.forces[force as usize].pop(member);
                let class = self.forces[force as usize].members()[member as usize].class;
                if self.classes[class as usize].follows && self.is_void(class, waiter) {
                    continue;
                }
                let now = self.now();
                let workers = &mut self.forces[force as usize];
                workers.leave(member, 1);
                let worker = workers.take(position, now);
                let is_foreign = self.classes[class as usize].home.0 != force;
                self.set_to_work(class, waiter, if is_foreign { foreign(worker, force) } else { worker });
            }
        }
        self.forces[force as usize].note_lengths(self.clock.narrow());
    }

    /// A worker begins with whom it has taken out of the queue.
    pub(super) fn set_to_work(&mut self, class: u16, waiter: Waiter, worker: u32) {
        let state = &mut self.states[class as usize];
        match waiter {
            Waiter::Task(slot) => {
                let task = *state.tasks.get(slot);
                self.begin_run(class, task, slot, worker);
            }
            Waiter::Run(run) => {
                state.runs.get_mut(run).worker = worker;
                self.worker_has(class, worker, Some(run));
                self.advance(class, run, Input::Woken);
            }
            Waiter::Message(message) => self.begin_message(class, message, worker),
        }
    }

    /// The place among the idle workers of the one that takes the next job of a class, if there is one who may.
    pub(super) fn free_worker(&mut self, force: u16, member: u8) -> Option<usize> {
        let workers = &self.forces[force as usize];
        let class = workers.members()[member as usize].class;
        let compiled = &self.classes[class as usize];
        if compiled.pausing.is_empty() {
            return workers.idle().len().checked_sub(1);
        }
        let now = self.clock.now();
        let mut earliest = SimTime::NEVER;
        for (position, worker) in workers.idle().iter().enumerate().rev() {
            let mut free = true;
            for (guard, client) in &compiled.pausing {
                let (client, worker) = (*client, *worker);
                let asker = Asker::of_worker(class, client, worker);
                match self.bank.pause(*guard, asker, now) {
                    Pause::No => {}
                    // Its change stirs the class again.
                    Pause::UntilItChanges => free = false,
                    Pause::Until(until) => (free, earliest) = (false, earliest.min(until)),
                }
            }
            if free {
                return Some(position);
            }
        }
        let paused_until = &mut self.states[class as usize].paused_until;
        if earliest < SimTime::NEVER && *paused_until != Some(earliest) {
            *paused_until = Some(earliest);
            self.events.push(earliest, Rank::Release, Event::PauseEnds { class }.pack());
        }
        None
    }

    /// Whether neither a breaker nor an operator keeps a worker from the jobs of a class.
    pub(super) fn may_work(&mut self, class: u16, worker: u32) -> bool {
        let now = self.clock.now();
        let Class { force, member, .. } = self.classes[class as usize];
        if self.forces[force as usize].is_paused(member) {
            return false;
        }
        for (guard, client) in &self.classes[class as usize].pausing {
            let asker = Asker::of_worker(class, *client, worker);
            match self.bank.pause(*guard, asker, now) {
                Pause::No => continue,
                Pause::UntilItChanges => {}
                Pause::Until(until) if self.states[class as usize].paused_until == Some(until) => {}
                Pause::Until(until) => {
                    self.states[class as usize].paused_until = Some(until);
                    self.events.push(until, Rank::Release, Event::PauseEnds { class }.pack());
                }
            }
            return false;
        }
        true
    }

    /// The whole queue of a class is held until an instant; the job that met the limit is put back at once, in front.
    pub(super) fn hold_queue(&mut self, class: u16, until: SimTime, requeue: Requeue) -> (SimTime, Requeue) {
        let now = self.now();
        let Class { force, member, .. } = self.classes[class as usize];
        let cell = self.clock.cell() as usize;
        let state = &mut self.states[class as usize];
        let held = state.held_until.unwrap_or(now);
        let jobs = &mut state.ledger.cells[cell].jobs;
        jobs.holds += 1;
        if until > held {
            let end = until.min(self.scenario.horizon);
            jobs.held_nanos += end.since(held.min(end)).as_nanos();
            if state.held_until.replace(until).is_none() {
                self.forces[force as usize].pause(member, false);
            }
            self.events.push(until, Rank::Release, Event::PauseEnds { class }.pack());
        }
        (now, Requeue { place: Place::Front, ..requeue })
    }

    pub(super) fn pause_ends(&mut self, class: u16) {
        let now = self.now();
        let Class { force, member, .. } = self.classes[class as usize];
        let state = &mut self.states[class as usize];
        if state.held_until.is_some_and(|until| until <= now) {
            state.held_until = None;
            self.forces[force as usize].pause(member, true);
        }
        self.states[class as usize].paused_until = None;
        self.stirred |= 1 << self.classes[class as usize].force;
    }

    pub(super) fn release(&mut self, class: u16, worker: u32) {
        if worker != NO_WORKER {
            let (force, _, worker) = self.place_of(class, worker);
            self.stirred |= 1 << force;
            if self.forces[force as usize].crew.is_some() {
                return self.release_in_crew(force, worker);
            }
            self.forces[force as usize].release(worker);
        }
    }
}
