//! Hedged requests: several are out for one, the first to succeed wins, and the others are dropped.

use super::Engine;
use crate::observe::WorkerActivity;
use crate::policy::Answer;
use crate::policy::hedge::{Hedge, Onward};
use crate::policy::retry_budget::{BudgetState, Passage, RetryBudget};
use crate::policy::stack::Input;
use crate::sim::bank::Asker;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::{Doing, NO_TASK, NO_WORKER};
use crate::sim::services::Served;
use crate::sim::station::Stage;
use crate::units::{SimDuration, SimTime};

/// What a request of a hedge that has landed leads to.
#[must_use]
#[derive(Clone, Copy)]
pub(super) enum Sequel {
    /// The others are waited for.
    Wait,
    /// One more goes out now.
    SendMore,
    /// This is what comes of the hedge.
    Over(Answer),
}

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn send_hedged(&mut self, class: u16, run: u32) {
        self.states[class as usize].hedging.begin(run);
        self.passes_budget(class, run, Passage::Enters);
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

    /// The run of whose hedge this is a request, if it is one.
    #[inline]
    pub(super) fn hedged_run(&self, class: u16, flight: u32) -> Option<u32> {
        if self.classes[class as usize].hedges { self.states[class as usize].hedging.parent(flight) } else { None }
    }

    /// Asks what pays for the hedges of the run's client, where something does.
    fn ask_budget<T>(
        &mut self,
        class: u16,
        run: u32,
        ask: impl FnOnce(&RetryBudget, &mut BudgetState, SimTime) -> T,
    ) -> Option<T> {
        let now = self.now();
        let record = self.states[class as usize].runs.get(run);
        let stack = self.classes[class as usize].of_run(record);
        let (budget, _) = stack.hedge?.budget.as_ref()?;
        let asker = record.asker(class, stack.shares_with);
        let place = stack.budgets[stack.hedge_at]?;
        Some(self.bank.with_budget(place, asker, budget, now, |state| ask(budget, state, now)))
    }

    /// One of a call's requests moves in the hedge of the run's client.
    fn passes_budget(&mut self, class: u16, run: u32, passage: Passage) {
        self.ask_budget(class, run, |budget, state, now| budget.passes(state, passage, now));
    }

    /// The place of the client's hedge among those that look at one another, and who asks.
    fn hedge_asker(&self, class: u16, run: u32) -> (Option<usize>, Asker) {
        let record = self.states[class as usize].runs.get(run);
        let stack = self.classes[class as usize].of_run(record);
        (stack.hedge_limit, record.asker(class, stack.shares_with))
    }

    /// Whether one more request of the run may be sent, after this failure or because the others are late; if so it is paid
    /// for and counted, and else no more go out for this one.
    fn may_hedge(&mut self, class: u16, run: u32, hedge: &Hedge, after: Option<&Answer>) -> bool {
        let now = self.now();
        let (place, asker) = self.hedge_asker(class, run);
        let mut allowed = self.hedge_limits.has_room(place, asker, hedge);
        if allowed && let Some(cost) = self.ask_budget(class, run, |budget, state, now| budget.pays(state, after, now))
        {
            allowed = cost.is_some();
            let stack = self.classes[class as usize].of_run(self.states[class as usize].runs.get(run));
            if let Some(place) = stack.budgets[stack.hedge_at] {
                self.bank.note_retry(place, asker, allowed, now);
            }
            if let Some(cost) = cost {
                self.states[class as usize].hedging.pay(run, cost);
            }
        }
        let state = &mut self.states[class as usize];
        if allowed {
            self.hedge_limits.count(place, asker, true);
            state.ledger.cells[state.runs.get(run).call_cell as usize].hedges += 1;
        } else {
            state.ledger.cells[self.clock.cell() as usize].suppressed_hedges += 1;
            state.hedging.stop(run);
        }
        allowed
    }

    /// One more request of the run takes off.
    fn send_one_more(&mut self, class: u16, run: u32) {
        let Some(hedge) = self.hedge_of(class, run) else { return };
        let now = self.now();
        let state = &mut self.states[class as usize];
        let flight = state.runs.insert_copy(run);
        state.first_tokens.forget(flight);
        state.services.keep(flight, Served::default());
        state.hedging.take_off(run, flight);
        if state.hedging.sent(run) > 1 {
            state.hedging.note_beside(true, self.clock.narrow());
        }
        self.send_off(class, flight);
        let state = &mut self.states[class as usize];
        let requests = std::mem::take(&mut state.runs.get_mut(flight).task.requests);
        let sent = *state.runs.get(flight);
        let record = state.runs.get_mut(run);
        record.task.requests = requests;
        (record.ordinal, record.model, record.marks) = (sent.ordinal, sent.model, sent.marks);
        (record.sent, record.sent_narrow, record.doing) = (sent.sent, sent.sent_narrow, sent.doing);
        (record.answer, record.hint, record.by) = (sent.answer, sent.hint, sent.by);
        // Whatever the last one had shown, this one has shown nothing yet.
        record.marks.send(false, false);
        let more = state.hedging.sent(run) < hedge.max;
        // Nobody waits for what would be due later.
        let (place, asker) = self.hedge_asker(class, run);
        let delay = if more { self.hedge_limits.delay(place, asker, hedge) } else { None };
        let next = delay.map(|delay| (now + delay).min(self.time_ends(class, run)));
        self.states[class as usize].hedging.expect(run, next);
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
        let Some(hedge) = self.hedge_of(class, run) else { return };
        let mut answer = Answer::TIMED_OUT;
        if self.time_ends(class, run) > now {
            if self.may_hedge(class, run, hedge, None) {
                return self.send_one_more(class, run);
            }
            let state = &self.states[class as usize];
            if state.hedging.count(run) > 0 {
                return;
            }
            let record = state.runs.get(run);
            answer = self.answers.get(record.answer).with(record.hint);
        }
        // All that were sent have failed, and there is no time for more of them, or they are not allowed.
        self.drop_flights(class, run);
        let worker = self.states[class as usize].runs.get(run).worker;
        if worker != NO_WORKER {
            self.worked(class, worker, WorkerActivity::WaitingRetry);
        }
        self.advance(class, run, Input::Answered(answer));
    }

    /// When the time for the run's present request is over, however many are sent for it.
    fn time_ends(&self, class: u16, run: u32) -> SimTime {
        let runs = &self.states[class as usize].runs;
        let record = runs.get(run);
        let client = self.classes[class as usize].of_run(record).client;
        client.time_ends(runs.side(run), self.now())
    }

    /// A request of the run's hedge has ended, as lies in its record.
    pub(super) fn flight_lands(&mut self, class: u16, run: u32, flight: u32) -> Sequel {
        let answer = self.land_flight(class, run, flight, Engine::land);
        let Some(hedge) = self.hedge_of(class, run) else { return Sequel::Over(answer) };
        self.hears(class, run, flight, hedge, &answer);
        let state = &mut self.states[class as usize];
        if answer.is_delivered() {
            state.first_tokens.hand_over(flight, run);
        }
        state.runs.remove(flight);
        let count = state.hedging.count(run);
        let is_over = self.time_ends(class, run) <= self.now();
        if hedge.ends_with(&answer) || is_over && count == 0 {
            self.drop_flights(class, run);
            return Sequel::Over(answer);
        }
        let may_send = !is_over && self.states[class as usize].hedging.may_send(run, hedge);
        match hedge.onward(&answer) {
            Onward::After(SimDuration::ZERO) if may_send => {
                if self.may_hedge(class, run, hedge, Some(&answer)) {
                    return Sequel::SendMore;
                }
            }
            Onward::After(wait) if may_send => {
                let due = self.now() + wait;
                self.states[class as usize].hedging.expect(run, Some(due));
                self.events.push(due, Rank::Attempt, Event::HedgeDue { class, run }.pack());
                return Sequel::Wait;
            }
            Onward::NoMore => self.states[class as usize].hedging.stop(run),
            Onward::AsDue if may_send && self.states[class as usize].hedging.expects(run) => return Sequel::Wait,
            Onward::AsDue | Onward::After(_) => {}
        }
        if count > 0 {
            return Sequel::Wait;
        }
        self.drop_flights(class, run);
        Sequel::Over(answer)
    }

    /// What pays for hedges, and what measures for them, learns how a request of one has ended.
    fn hears(&mut self, class: u16, run: u32, flight: u32, hedge: &Hedge, answer: &Answer) {
        let now = self.now();
        let paid = self.states[class as usize].hedging.paid(run);
        self.ask_budget(class, run, |budget, state, now| {
            if answer.is_delivered() {
                budget.succeeded(state, paid);
            } else if !hedge.ends_with(answer) {
                budget.failed(state, answer, false, now);
            }
        });
        if answer.is_delivered() {
            let (place, asker) = self.hedge_asker(class, run);
            let took = now - self.states[class as usize].runs.get(flight).sent;
            self.hedge_limits.measure(place, asker, hedge, took);
        }
    }

    /// Does what a landing leads to.
    pub(super) fn follow(&mut self, class: u16, run: u32, sequel: Sequel) {
        match sequel {
            Sequel::Wait => {}
            Sequel::SendMore => self.send_one_more(class, run),
            Sequel::Over(answer) => self.advance(class, run, Input::Answered(answer)),
        }
    }

    /// Ends a flight in this way; what is known of it is known of its run from then on.
    fn land_flight(
        &mut self,
        class: u16,
        run: u32,
        flight: u32,
        land: impl FnOnce(&mut Self, u16, u32) -> Answer,
    ) -> Answer {
        let runs = &mut self.states[class as usize].runs;
        // What others have done since it was sent is known.
        let mut marks = runs.get(run).marks;
        marks.enter(runs.get(flight).marks.in_flight());
        runs.get_mut(flight).marks = marks;
        let answer = land(self, class, flight);
        let state = &mut self.states[class as usize];
        let landed = *state.runs.get(flight);
        let record = state.runs.get_mut(run);
        (record.marks, record.answer, record.hint, record.by) = (landed.marks, landed.answer, landed.hint, landed.by);
        (record.sent, record.sent_narrow) = (landed.sent, landed.sent_narrow);
        if state.hedging.land(run, flight) {
            state.hedging.note_beside(false, self.clock.narrow());
            let (place, asker) = self.hedge_asker(class, run);
            self.hedge_limits.count(place, asker, false);
            self.passes_budget(class, run, Passage::RetryEnds);
        }
        answer
    }

    /// The hedge of the run is over, and nobody wants what is still out: what no server has begun goes first, so that none begins it now.
    pub(super) fn drop_flights(&mut self, class: u16, run: u32) {
        self.states[class as usize].hedging.expect(run, None);
        while let Some(flight) = self.next_to_drop(class, run) {
            let doing = self.states[class as usize].runs.get(flight).doing;
            self.land_flight(class, run, flight, |engine, class, flight| {
                if doing == Doing::Travelling { engine.turn_back(class, flight) } else { engine.leave(class, flight) }
            });
            let state = &mut self.states[class as usize];
            if matches!(doing, Doing::InFlight | Doing::Travelling) {
                let record = state.runs.get_mut(flight);
                (record.doing, record.slot, record.worker) = (Doing::Dropped, NO_TASK, NO_WORKER);
            } else {
                state.runs.remove(flight);
            }
        }
        self.passes_budget(class, run, Passage::Leaves);
    }

    fn next_to_drop(&self, class: u16, run: u32) -> Option<u32> {
        let flights = self.states[class as usize].hedging.flights_of(run);
        let is_served = |flight: &u32| {
            self.station.as_ref().is_some_and(|station| {
                station.of(class, *flight).is_some_and(|job| station.job(job).stage == Stage::InService)
            })
        };
        flights.iter().rev().find(|flight| !is_served(flight)).or(flights.last()).copied()
    }
}
