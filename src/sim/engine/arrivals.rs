//! Tasks arrive: turns start at once, jobs wait out their delay and queue.

use super::Engine;
use crate::policy::retry::LayerState;
use crate::policy::stack::Place;
use crate::random::stream::mix;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fact, Observer};
use crate::sim::origins::NO_ORIGIN;
use crate::sim::record::{NO_TASK, NO_WORKER, Task};
use crate::sim::workforce::Waiter;
use crate::traffic::ArrivalProcess;
use crate::units::{SimDuration, SimTime};

impl<O: Observer> Engine<'_, O> {
    pub(super) fn schedule_first_arrivals(&mut self) {
        for class in 0..self.classes.len() as u16 {
            for process in 0..self.classes[class as usize].settings.arrivals.len() as u32 {
                let first = self.next_arrival(class, process);
                self.schedule_arrival(class, process, first);
            }
            for session in 0..self.states[class as usize].origins.sessions() {
                let first = self.states[class as usize].origins.first(session);
                self.schedule_session(class, session, first);
            }
        }
    }

    pub(super) fn next_arrival(&mut self, class: u16, process: u32) -> Option<SimTime> {
        let settings = &self.classes[class as usize].settings.arrivals[process as usize];
        settings.next(&mut self.states[class as usize].arrivals[process as usize])
    }

    pub(super) fn schedule_arrival(&mut self, class: u16, process: u32, at: Option<SimTime>) {
        if let Some(at) = at {
            self.events.push(at, Rank::Arrive, Event::TaskArrives { class, process }.pack());
        }
    }

    pub(super) fn task_arrives(&mut self, class: u16, process: u32) {
        // Drawn first and scheduled last: its place in the queue waits for a logarithm, and nothing else need wait with it.
        let origin = self.states[class as usize].arrivals[process as usize].origin();
        let next = self.next_arrival(class, process);
        let process_settings = &self.classes[class as usize].settings.arrivals[process as usize];
        let delay = match process_settings {
            // What is there when the run begins has waited out its delay.
            ArrivalProcess::Backlog(_) => SimDuration::ZERO,
            _ => self.classes[class as usize].settings.enqueue_delay,
        };
        if let Some(origin) = origin {
            self.states[class as usize].origins.arriving = origin;
        }
        self.arrive(class, delay);
        if origin.is_some() {
            self.states[class as usize].origins.arriving = NO_ORIGIN;
        }
        self.schedule_arrival(class, process, next);
    }

    fn schedule_session(&mut self, class: u16, session: u32, at: Option<SimTime>) {
        if let Some(at) = at {
            self.events.push(at, Rank::Arrive, Event::SessionBrings { class, session }.pack());
        }
    }

    pub(super) fn session_brings(&mut self, class: u16, session: u32) {
        self.states[class as usize].origins.arriving = session;
        self.arrive(class, self.classes[class as usize].settings.enqueue_delay);
        self.states[class as usize].origins.arriving = NO_ORIGIN;
    }

    /// The task in this slot has met its fate: where it comes from a closed loop, a think time begins.
    pub(super) fn session_thinks(&mut self, class: u16, slot: u32) {
        let now = self.now();
        let origins = &mut self.states[class as usize].origins;
        let session = origins.of(slot);
        // Arrivals of open processes have none, or another kind of origin.
        if session < origins.sessions() {
            let next = origins.next(session, now);
            self.schedule_session(class, session, next);
        }
    }

    /// A task arrives; a job is in the queue after this delay.
    fn arrive(&mut self, class: u16, delay: SimDuration) {
        let (now, cell, narrow, wide) = (self.now(), self.clock.cell(), self.clock.narrow(), self.clock.wide());
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let index = state.arrived;
        state.arrived += 1;
        state.ledger.cells[cell as usize].offered += 1;
        state.series.arrivals[narrow as usize] += 1;
        state.series.wide_arrivals[wide as usize] += 1;
        let fact = mix(compiled.key.with(u64::from(index)).bits() ^ mix(now.as_nanos()));
        if !state.origins.has_loops() {
            self.world_digest = self.world_digest.wrapping_add(fact);
        }
        self.digest = self.digest.wrapping_add(fact);
        let task = Task { arrived: now, index, cell, ..Task::default() };
        self.show(|| Fact::TaskArrived { class, task: index, at: now });
        if self.classes[class as usize].settings.is_live() {
            self.begin_run(class, task, NO_TASK, NO_WORKER);
        } else {
            self.job_arrives(class, task, delay);
        }
    }

    fn job_arrives(&mut self, class: u16, task: Task, delay: SimDuration) {
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let slot = state.tasks.insert(task);
        if compiled.stacks[0].client.queue().is_some() && state.queue_states.len() <= slot as usize {
            state.queue_states.resize(slot as usize + 1, LayerState::default());
        }
        if compiled.counts_sends {
            state.begin_sends(slot);
        }
        if state.origins.are_kept() {
            state.origins.keep(slot);
        }
        if let Some(billing) = &mut self.billing {
            billing.open(class, slot, task.cell);
        }
        if self.classes[class as usize].follows {
            self.job_is_followed(class, slot);
        }
        if delay.is_zero() {
            self.enqueue(class, Waiter::Task(slot), Place::Back);
        } else if !self.delays_in_process(class, slot, self.now() + delay, Place::Back) {
            let at = self.now() + delay;
            self.events.push(at, Rank::Attempt, Event::JobQueued { class, task: slot }.pack());
        }
    }
}
