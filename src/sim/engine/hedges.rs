//! Hedged requests: several are out for one, the first to succeed wins, and the others are dropped.

use super::Engine;
use crate::observe::WorkerActivity;
use crate::policy::Answer;
use crate::policy::hedge::{Hedge, Onward};
use crate::policy::stack::Input;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::NO_WORKER;
use crate::units::{SimDuration, SimTime};

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn send_hedged(&mut self, class: u16, run: u32) {
        self.states[class as usize].hedging.begin(run);
        self.send_one_more(class, run);
    }

    /// The hedge of the run's client, if it has one.
    #[inline]
    pub(super) fn hedge_of(&self, class: u16, run: u32) -> Option<&'a Hedge> {
        let compiled = &self.classes[class as usize];
        if !compiled.hedges {
            return None;
        }
        let record = self.states[class as usize].runs.get(run);
        compiled.of_run(record).hedge
    }

    /// One more request of the run takes off.
    fn send_one_more(&mut self, class: u16, run: u32) {
        let ends = self.transmit(class, run);
        let now = self.now();
        let Some(hedge) = self.hedge_of(class, run) else { return };
        let more = self.states[class as usize].hedging.sent(run) + 1 < hedge.max;
        // Nobody waits for what would be due later.
        let next = more.then(|| (now + hedge.delay).min(self.time_ends(class, run)));
        let state = &mut self.states[class as usize];
        let flight =
            state.hedging.take_off(run, state.runs.get(run), state.services.of(run), ends < SimTime::NEVER, next);
        if let Some(billing) = &mut self.billing {
            billing.take_off(class, run, flight);
        }
        if ends < SimTime::NEVER {
            self.events.push(ends, Rank::Complete, Event::FlightEnds { class, flight }.pack());
        }
        if let Some(next) = next {
            self.events.push(next, Rank::Attempt, Event::HedgeDue { class, run }.pack());
        }
    }

    /// The delay is over; the event means nothing where an answer has come since.
    pub(super) fn hedge_due(&mut self, class: u16, run: u32) {
        let now = self.now();
        if !self.states[class as usize].hedging.is_due(run, now) {
            return;
        }
        if self.time_ends(class, run) > now {
            return self.send_one_more(class, run);
        }
        // All that were sent have failed, and the time for more of them is over.
        self.drop_flights(class, run);
        let worker = self.states[class as usize].runs.get(run).worker;
        if worker != NO_WORKER {
            self.worked(class, worker, WorkerActivity::WaitingRetry);
        }
        self.advance(class, run, Input::Answered(Answer::TIMED_OUT));
    }

    /// When the time for the run's present request is over, however many are sent for it.
    fn time_ends(&self, class: u16, run: u32) -> SimTime {
        let runs = &self.states[class as usize].runs;
        let record = runs.get(run);
        let client = self.classes[class as usize].of_run(record).client;
        client.time_ends(runs.side(run), self.now())
    }

    pub(super) fn flight_ends(&mut self, class: u16, flight: u32) {
        let state = &mut self.states[class as usize];
        let hedging = &mut state.hedging;
        let known = hedging.flight(flight);
        let Some(run) = hedging.end(flight) else { return };
        known.enter(state.runs.get_mut(run));
        if let Some(billing) = &mut self.billing {
            billing.enter(class, flight, run);
        }
        let answer = self.land(class, run);
        let Some(hedge) = self.hedge_of(class, run) else { return };
        let state = &mut self.states[class as usize];
        state.hedging.leave(run, state.runs.get_mut(run));
        if answer.is_delivered() {
            state.first_tokens.correct(run, known.first());
        }
        let count = state.hedging.count(run);
        let is_over = self.time_ends(class, run) <= self.now();
        if hedge.ends_with(&answer) || is_over && count == 0 {
            self.drop_flights(class, run);
            return self.advance(class, run, Input::Answered(answer));
        }
        let may_send = !is_over && self.states[class as usize].hedging.may_send(run, hedge);
        match hedge.onward(&answer) {
            Onward::After(SimDuration::ZERO) if may_send => return self.send_one_more(class, run),
            Onward::After(wait) if may_send => {
                let due = self.now() + wait;
                self.states[class as usize].hedging.postpone(run, due);
                return self.events.push(due, Rank::Attempt, Event::HedgeDue { class, run }.pack());
            }
            Onward::NoMore => self.states[class as usize].hedging.stop(run),
            Onward::AsDue if may_send => return,
            Onward::AsDue | Onward::After(_) => {}
        }
        if self.states[class as usize].hedging.count(run) == 0 {
            self.advance(class, run, Input::Answered(answer));
        }
    }

    /// Nobody wants what is still out for the run.
    pub(super) fn drop_flights(&mut self, class: u16, run: u32) {
        loop {
            let state = &mut self.states[class as usize];
            let record = state.runs.get_mut(run);
            let Some((flight, served)) = state.hedging.lose(run, record) else {
                state.hedging.leave(run, record);
                return;
            };
            state.services.keep(run, served);
            if let Some(billing) = &mut self.billing {
                billing.enter(class, flight, run);
            }
            self.leave(class, run);
        }
    }
}
