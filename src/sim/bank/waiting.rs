//! Who waits before a guard: in the line of a semaphore, or parked until the guard changes; and who goes on.

use super::adaptive::permits;
use super::noting::note_wait;
use super::{Asker, Bank, Parked, told_apart};
use crate::policy::answer::{Answer, Outcome};
use crate::policy::circuit_breaker::Gate;
use crate::sim::line::InLine;
use crate::units::{SimDuration, SimTime};

impl Bank<'_> {
    /// Somebody asks for a permit, or stands in line for one.
    pub(super) fn ask_for_a_permit(
        &mut self,
        guard: usize,
        instance: usize,
        asker: Asker,
        run: u32,
        patience: Option<SimDuration>,
        now: SimTime,
    ) -> Gate {
        let settings = &self.guards[guard];
        let Some((semaphore, state, line)) = permits(&settings.mechanism, &mut self.states[instance]) else {
            return Gate::Pass;
        };
        let in_line = line.len();
        let mut gate = semaphore.enter(state, in_line, now);
        for _ in 0..semaphore.falls(in_line, gate) {
            let Some(waiter) = line.call_up() else { break };
            self.counts[guard].waited += now - waiter.since;
            note_wait(&mut self.tracks, guard, waiter.since, now);
            self.fallen.push((waiter.class, waiter.run));
            self.falling.push((waiter.class, waiter.run));
            self.resumed = true;
        }
        if let Gate::Line(until) = &mut gate {
            let patience = patience.filter(|_| semaphore.is_pool).unwrap_or(SimDuration::MAX);
            *until = (*until).min(now + patience);
        }
        if gate == Gate::Pass && settings.learns_from_times() {
            self.passages[guard].set(asker.class, run, now, state.in_use);
        }
        if told_apart(settings.scope) {
            self.homes[guard].set(asker.class, run, instance);
        }
        gate
    }

    /// A permit comes back with a result, and goes to the first in line, where it is still one; or to more of them.
    pub(super) fn give_back(&mut self, guard: usize, asker: Asker, run: u32, answer: &Answer, now: SimTime) {
        let instance = if told_apart(self.guards[guard].scope) {
            self.homes[guard].of(asker.class, run)
        } else {
            self.instance(guard, asker, now)
        };
        self.learn(guard, instance, asker, run, answer, now);
        let settings = &self.guards[guard];
        let Some((semaphore, state, line)) = permits(&settings.mechanism, &mut self.states[instance]) else { return };
        semaphore.leave(state);
        while line.len() > 0 && semaphore.hands_on(state) {
            let Some(next) = line.call_up() else { break };
            if settings.learns_from_times() {
                self.passages[guard].set(next.class, next.run, now, state.in_use);
            }
            self.counts[guard].waited += now - next.since;
            note_wait(&mut self.tracks, guard, next.since, now);
            self.woken.push((next.class, next.run));
            self.resumed = true;
        }
        self.note(guard, instance, now);
    }

    /// The run stands in line before this guard.
    pub(in crate::sim) fn stand_in_line(&mut self, guard: usize, asker: Asker, waiter: InLine) {
        let instance = self.instance(guard, asker, waiter.since);
        if let Some((_, _, line)) = permits(&self.guards[guard].mechanism, &mut self.states[instance]) {
            line.join(waiter);
        }
    }

    /// The run gives up if it still stands in line, until now, before this guard; says how that ends for the layers
    /// outside.
    pub(in crate::sim) fn give_up(&mut self, guard: usize, asker: Asker, run: u32, now: SimTime) -> Option<Outcome> {
        let instance = self.instance(guard, asker, now);
        let (semaphore, _, line) = permits(&self.guards[guard].mechanism, &mut self.states[instance])?;
        if let Some(place) = self.fallen.iter().position(|fallen| *fallen == (asker.class, run)) {
            self.fallen.swap_remove(place);
            self.refused_late(guard, now);
            return Some(semaphore.refusal());
        }
        let waiter = line.give_up(asker.class, run, now)?;
        self.waited(guard, waiter.since, now);
        // A client may be less patient with a hop than the hop's guard is.
        if semaphore.patience().is_some_and(|longest| waiter.since + longest <= now) {
            self.refused_late(guard, now);
        }
        Some(semaphore.refusal())
    }

    /// The run waits until the guard changes.
    pub(in crate::sim) fn park(&mut self, guard: usize, asker: Asker, run: u32, now: SimTime) {
        let instance = self.instance(guard, asker, now);
        self.parked.push(Parked { instance, class: asker.class, run, since: now });
    }

    /// The run no longer waits before this guard: whether an event of it is still to come, if it stood there; else it has
    /// been let in.
    pub(in crate::sim) fn leave_line(&mut self, guard: usize, asker: Asker, run: u32, now: SimTime) -> Option<bool> {
        let instance = self.instance(guard, asker, now);
        if let Some(place) = self.fallen.iter().position(|fallen| *fallen == (asker.class, run)) {
            self.fallen.swap_remove(place);
            return Some(true);
        }
        if let Some((_, _, line)) = permits(&self.guards[guard].mechanism, &mut self.states[instance]) {
            let waiter = line.leave(asker.class, run)?;
            self.waited(guard, waiter.since, now);
            return Some(false);
        }
        self.unpark(guard, asker.class, run, now).then_some(false)
    }

    /// The run no longer waits for this guard to change; says whether it did.
    pub(in crate::sim) fn unpark(&mut self, guard: usize, class: u16, run: u32, now: SimTime) -> bool {
        let Some(at) = self.parked.iter().position(|parked| (parked.class, parked.run) == (class, run)) else {
            return false;
        };
        let since = self.parked.remove(at).since;
        self.waited(guard, since, now);
        true
    }

    /// Those who wait for this instance go on, in the order of their coming.
    pub(super) fn wake(&mut self, guard: usize, instance: usize, now: SimTime) {
        self.resumed = true;
        let (woken, waited) = (&mut self.woken, &mut self.counts[guard].waited);
        let tracks = &mut self.tracks;
        self.parked.retain(|parked| {
            let stays = parked.instance != instance;
            if !stays {
                woken.push((parked.class, parked.run));
                *waited += now - parked.since;
                note_wait(tracks, guard, parked.since, now);
            }
            stays
        });
    }

    /// Takes the runs that a full line has thrown out.
    pub(in crate::sim) fn take_falling(&mut self) -> std::vec::Drain<'_, (u16, u32)> {
        self.falling.drain(..)
    }

    /// Takes the runs that have waited long enough.
    pub(in crate::sim) fn take_woken(&mut self) -> std::vec::Drain<'_, (u16, u32)> {
        self.woken.drain(..)
    }
}
