//! Jobs in the queue, and the workers who take them.

use super::Engine;
use crate::policy::circuit_breaker::Pause;
use crate::policy::stack::{Input, Place};
use crate::sim::bank::Asker;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::NO_WORKER;
use crate::sim::workforce::Waiter;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn enqueue(&mut self, class: u16, waiter: Waiter, place: Place) {
        self.states[class as usize].force.enqueue(waiter, place == Place::Front);
        self.stirred |= 1 << class;
    }

    /// Lets those go on for whom a guard has changed, and idle workers take jobs until nothing is stirred any more.
    pub(super) fn settle(&mut self) {
        if self.bank.resumed {
            self.bank.resumed = false;
            let now = self.clock.now();
            for (class, run) in self.bank.take_woken() {
                self.events.push(now, Rank::Release, Event::LimiterWaitEnds { class, run }.pack());
            }
            let pausing = self.classes.iter().enumerate().filter(|(_, class)| !class.pausing.is_empty());
            self.stirred |= pausing.fold(0, |stirred, (class, _)| stirred | 1 << class);
        }
        while self.stirred != 0 {
            let class = self.stirred.trailing_zeros() as u16;
            self.stirred &= self.stirred - 1;
            self.dispatch(class);
        }
    }

    /// Gives jobs to idle workers as long as there are both.
    pub(super) fn dispatch(&mut self, class: u16) {
        while let Some(position) = self.free_worker(class) {
            let now = self.now();
            let state = &mut self.states[class as usize];
            match state.force.assign(position, now) {
                (worker, Waiter::Task(slot)) => {
                    let task = *state.tasks.get(slot);
                    self.begin_run(class, task, slot, worker);
                }
                (worker, Waiter::Run(run)) => {
                    state.runs.get_mut(run).worker = worker;
                    self.advance(class, run, Input::Woken);
                }
            }
        }
        self.states[class as usize].force.note_length(self.clock.narrow());
    }

    /// The place among the idle workers of the one that takes the next job, if there is a job and one who may.
    pub(super) fn free_worker(&mut self, class: u16) -> Option<usize> {
        let compiled = &self.classes[class as usize];
        let force = &mut self.states[class as usize].force;
        if !force.has_work() {
            return None;
        }
        if compiled.pausing.is_empty() {
            return force.idle().len().checked_sub(1);
        }
        let now = self.clock.now();
        let mut earliest = SimTime::NEVER;
        for (position, worker) in force.idle().iter().enumerate().rev() {
            let mut free = true;
            for (guard, client) in &compiled.pausing {
                let (client, worker) = (*client, *worker);
                let asker = Asker { class, client, worker, task: 0, input_tokens: 0, output_tokens: 0 };
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
        if earliest < SimTime::NEVER && force.paused_until != Some(earliest) {
            force.paused_until = Some(earliest);
            self.events.push(earliest, Rank::Release, Event::PauseEnds { class }.pack());
        }
        None
    }

    pub(super) fn pause_ends(&mut self, class: u16) {
        self.states[class as usize].force.paused_until = None;
        self.stirred |= 1 << class;
    }

    pub(super) fn release(&mut self, class: u16, worker: u32) {
        if worker != NO_WORKER {
            self.states[class as usize].force.release(worker);
            self.stirred |= 1 << class;
        }
    }
}
