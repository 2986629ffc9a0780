//! What an operator does during a run, at its time. A deploy needs no event: each run looks which client is there when it
//! begins.

use super::Engine;
use crate::scenario::Act;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fate, Observer};
use crate::sim::record::{NO_WORKER, Run};
use crate::sim::workforce::Waiter;
use crate::sim::world::Class;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn schedule_interventions(&mut self) {
        for (intervention, index) in self.scenario.interventions.iter().zip(0..) {
            let undone = match intervention.act {
                Act::Pause { .. } => intervention.until,
                // A breaker knows by itself how long it stays open.
                Act::Purge { .. } | Act::Trip { .. } => SimTime::NEVER,
                Act::Deploy { .. } | Act::Limit { .. } => continue,
            };
            for (at, undoes) in [(intervention.at, false), (undone, true)] {
                if at < SimTime::NEVER {
                    self.events.push(at, Rank::Release, Event::Intervenes { index, undoes }.pack());
                }
            }
        }
    }

    pub(super) fn intervenes(&mut self, index: u32, undoes: bool) {
        let intervention = &self.scenario.interventions[index as usize];
        match intervention.act {
            Act::Pause { class } => {
                let Class { force, member, .. } = self.classes[class];
                self.forces[force as usize].pause(member, undoes);
                self.stirred |= 1 << force;
            }
            Act::Purge { class } => self.purge(class as u16),
            Act::Trip { guard } => {
                let until = Some(intervention.until).filter(|until| *until < SimTime::NEVER);
                self.bank.open_by_hand(guard, until, self.clock.now());
                // Workers may have to stop, or to look again when it closes.
                self.stirred |= self.classes.iter().fold(0, |all, class| all | 1 << class.force);
            }
            Act::Deploy { .. } | Act::Limit { .. } => {}
        }
    }

    /// Throws away the jobs of a class that wait.
    fn purge(&mut self, class: u16) {
        let Class { force, member, follows, .. } = self.classes[class as usize];
        while let Some(waiter) = self.forces[force as usize].pop_any(member) {
            if follows && self.is_void(class, waiter) {
                continue;
            }
            self.forces[force as usize].leave(member, 1);
            match waiter {
                Waiter::Task(slot) => self.throw_away(class, slot),
                Waiter::Run(run) => self.end_task(class, run, Fate::Abandoned),
                Waiter::Message(message) => self.throw_message_away(class, message),
            }
        }
        self.stirred |= 1 << force;
    }

    /// Ends a task that has no run.
    fn throw_away(&mut self, class: u16, slot: u32) {
        let state = &mut self.states[class as usize];
        let task = *state.tasks.get(slot);
        let run = state.runs.insert(Run { task, slot, worker: NO_WORKER, step: task.next_step, ..Run::default() });
        state.first_tokens.forget(run);
        self.end_task(class, run, Fate::Abandoned);
    }
}
