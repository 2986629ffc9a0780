//! What an operator does during a run, at its time. A deploy needs no event: each run looks which client is there when it
//! begins.

use super::Engine;
use crate::scenario::Act;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fate, Observer};
use crate::sim::record::{NO_WORKER, Run, foreign_force, own_number};
use crate::sim::workforce::Waiter;
use crate::sim::world::Class;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn schedule_interventions(&mut self) {
        for (intervention, index) in self.scenario.interventions.iter().zip(0..) {
            let undone = match intervention.act {
                Act::Pause { .. } | Act::Move { .. } => intervention.until,
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
            Act::Move { class, .. } => {
                let there = if undoes { self.classes[class].home } else { self.moves[index as usize] };
                self.move_queue(class as u16, there);
            }
            Act::Deploy { .. } | Act::Limit { .. } => {}
        }
    }

    /// The queue of a class stands before other workers from now on, and so do all who wait in it; who has begun stays.
    fn move_queue(&mut self, class: u16, (force, member): (u16, u8)) {
        let settings = &mut self.classes[class as usize];
        let from = (settings.force, settings.member);
        if from != (force, member) {
            (settings.force, settings.member) = (force, member);
            let queue = self.forces[from.0 as usize].take_all(from.1);
            self.forces[force as usize].put_all(member, queue);
            self.stirred |= 1 << from.0 | 1 << force;
        }
    }

    /// The workforce of a run's worker, the class's place there, and the worker's number among its workers.
    #[inline]
    pub(super) fn place_of(&self, class: u16, worker: u32) -> (u16, u8, u32) {
        let home = self.classes[class as usize].home;
        match foreign_force(worker) {
            None => (home.0, home.1, worker),
            Some(force) => {
                let member = self.forces[force as usize].member_of(class).unwrap_or_default();
                (force, member, own_number(worker))
            }
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
