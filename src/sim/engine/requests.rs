//! Requests: sent, judged by the provider, ended by an answer or a timeout.

use super::Engine;
use super::inputs::{cached_tokens, keep_input};
use crate::observe::AnswerKind;
use crate::observe::ledger::{ClassLedger, Counts};
use crate::observe::outcome::SlotCounts;
use crate::observe::timeline::ClassSeries;
use crate::policy::Course;
use crate::policy::answer::{Answer, Outcome};
use crate::policy::stack::Input;
use crate::provider::network::Way;
use crate::provider::{Abandoned, AnsweredBy, Fare, Provider, Request, Service, Verdict};
use crate::random::Distribution;
use crate::random::stream::mix;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::marks::Marks;
use crate::sim::observer::{Fact, Observer};
use crate::sim::record::{Doing, NO_TASK, NO_WORKER, PackedSource, Task};
use crate::sim::services::Served;
use crate::sim::world::purpose;
use crate::units::{SimDuration, SimTime};

impl<O: Observer> Engine<'_, O> {
    pub(super) fn send(&mut self, class: u16, run: u32) {
        if self.hedge_of(class, run).is_some() {
            return self.send_hedged(class, run);
        }
        self.send_off(class, run);
    }

    /// Sends a request whose end, where it is known, is an event of the run's record.
    pub(super) fn send_off(&mut self, class: u16, run: u32) {
        let ends = self.transmit(class, run);
        let may_be_cut = self.streams.as_mut().is_some_and(|streams| std::mem::take(&mut streams.is_last));
        if ends < SimTime::NEVER {
            let event = if may_be_cut { Event::StreamEnds { class, run } } else { Event::RequestEnds { class, run } };
            self.events.push(ends, Rank::Complete, event.pack());
        }
    }

    /// Sends a request of the run: when it will end, if ever. How, lies in the run's record.
    pub(super) fn transmit(&mut self, class: u16, run: u32) -> SimTime {
        let now = self.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let stack = compiled.of_run(record);
        record.ordinal += 1;
        record.sent = now;
        record.sent_narrow = self.clock.narrow() as u16;
        let cell = &mut state.ledger.cells[record.call_cell as usize];
        cell.provider_requests += 1;
        cell.repeated_output += u64::from(record.marks.has_shown_output());
        // Behind a hop the request was counted when it left the client.
        if !stack.has_hops {
            record.task.requests += 1;
            cell.requests += 1;
            state.series.wide_requests[record.call_wide as usize] += 1;
        }
        let home = || if record.slot == NO_TASK { state.groups.home(state.hedging.run_of(run)) } else { record.slot };
        let counts_sends = compiled.counts_sends.then(home);
        let ordinal = match counts_sends {
            Some(home) => counted(&mut state.sends[home as usize]),
            None => record.task.requests - 1,
        };
        if let Some(wire) = stack.wire {
            state.ledger.layer(record.task.cell, wire).entered += 1;
        }
        if self.scenario.provider.network.is_some() {
            return self.depart(class, run, ordinal);
        }
        self.present(class, run, ordinal, None)
    }

    /// The provider looks at the run's request, which has come this way: when it will end, if ever. How, lies in the run's
    /// record.
    #[inline]
    pub(super) fn present(&mut self, class: u16, run: u32, ordinal: u32, way: Option<Way>) -> SimTime {
        let now = self.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let step = record.step as usize;
        let stack = compiled.of_run(record);
        let key = record.key.with(u64::from(record.ordinal) - 1);
        let settings = &compiled.settings.steps[step];
        let draw =
            |time: &Distribution, purpose| SimDuration::from_secs_f64(time.sample(&mut key.with(purpose).stream()));
        let phase = |time: &Option<Distribution>, purpose| time.as_ref().map(|time| draw(time, purpose));
        let model = stack.model(compiled.models[step], layers);
        record.model = model;
        let request = Request {
            class,
            input_tokens: record.input_tokens,
            cached_tokens: cached_tokens(compiled.settings, record, self.cache.as_ref(), now),
            output_tokens: record.output_tokens,
            max_tokens: settings.max_tokens,
            key,
            model,
            connect: phase(&settings.connect, purpose::CONNECT).filter(|_| way.is_none()).unwrap_or_default(),
            write: phase(&settings.write, purpose::WRITE).filter(|_| way.is_none()).unwrap_or_default(),
            sender: settings.sender.unwrap_or(class as u8),
            step: record.step,
            is_first: record.ordinal == 1,
            ordinal,
            grammar: stack.client.grammar(),
        };
        let own = self.scenario.provider.models.get(model as usize).and_then(|model| model.latency.as_ref());
        let capacity = self.scenario.provider.capacity.as_ref();
        let service = || {
            let alone = Service {
                first_token: phase(&settings.first_token, purpose::FIRST_TOKEN),
                takes: draw(own.unwrap_or(&settings.latency), purpose::SERVICE),
            };
            capacity.map_or(alone, |capacity| capacity.with_tokens(alone, request.input_tokens, request.output_tokens))
        };
        let arrives = request.arrives(now);
        let is_lost = match &way {
            None => arrives.ends > now && stack.client.gives_up(layers, now, &arrives).is_some(),
            Some(way) => now < way.arrives,
        };
        let verdict = if is_lost { Verdict::lost(arrives) } else { self.provider.receive(now, &request, service) };

        keep_input(&mut self.cache, &verdict, compiled.settings, &mut state.ledger, record, &request);
        if self.station.is_some() && verdict.admitted {
            return self.transmit_to_servers(class, run, &verdict, &request);
        }
        let course = &verdict.course;
        let seen = match &way {
            None => *course,
            Some(way) if is_lost => way.unanswered(),
            Some(way) => way.seen(course),
        };
        let left = stack.client.gives_up(layers, record.sent, &seen);
        let (at, answer) = match left {
            None => (seen.ends, verdict.answer),
            Some((at, outcome)) => (at, Answer::failed(outcome)),
        };
        // What is on its way back is done.
        let stops = left.is_some_and(|(at, _)| way.is_none() || at < verdict.works_until);
        let is_cancelled = stops && self.scenario.provider.abandoned == Abandoned::Cancelled;
        let mut served = Served::of(&verdict, left.map(|(at, _)| at), is_cancelled);
        count_service(&mut state.ledger.cells[record.call_cell as usize], &served, self.scenario.horizon);
        if served.admitted {
            served.ticket = self.provider.serves_until(now, served.until, &request, course);
            count_in_flight(&self.scenario.provider, &mut self.slots, &request);
        }
        if compiled.cancels() {
            state.services.keep(run, served);
        }
        let carried_out = verdict.carried_out && !(is_cancelled && verdict.by == AnsweredBy::Service);
        record.marks.send(carried_out, breaks_off(&answer, at, &seen));
        if settings.first_token.is_some() && answer.is_delivered() {
            state.first_tokens.keep(run, seen.first);
        }
        (record.answer, record.hint) = self.answers.number(&answer);
        record.by = PackedSource::pack(verdict.by).with_displaced(verdict.displaced);
        if let Some(billing) = &mut self.billing {
            let home = if record.slot == NO_TASK { state.groups.home(state.hedging.run_of(run)) } else { record.slot };
            let fare = Fare::of(&verdict, &self.scenario.provider.faults, &request, || service().takes);
            billing.keep((class, run), home, record, fare, is_cancelled.then_some(at));
        }
        if let Some(models) = &mut state.ledger.models {
            models.sent(record.call_cell, model);
        }
        record.doing = if at == SimTime::NEVER { Doing::Hanging } else { Doing::InFlight };
        self.count_at_limits(&verdict, &request);
        self.may_be_cut(class, run, served, &request, at);
        at
    }

    /// The rest of it where the request will wait for a server.
    fn transmit_to_servers(&mut self, class: u16, run: u32, verdict: &Verdict, request: &Request<'_>) -> SimTime {
        let state = &mut self.states[class as usize];
        if self.classes[class as usize].cancels() {
            // The servers know what they do for it.
            state.services.keep(run, Served::default());
        }
        let call_cell = state.runs.get(run).call_cell;
        if let Some(models) = &mut state.ledger.models {
            models.sent(call_cell, request.model);
        }
        count_in_flight(&self.scenario.provider, &mut self.slots, request);
        self.count_at_limits(verdict, request);
        self.go_to_servers(class, run, verdict, request);
        SimTime::NEVER
    }

    pub(super) fn count_at_limits(&mut self, verdict: &Verdict, request: &Request) {
        match verdict.by {
            AnsweredBy::Fault(_) | AnsweredBy::Nobody | AnsweredBy::Window | AnsweredBy::Full => {}
            // A script has answered in its place.
            AnsweredBy::Service if !verdict.admitted => {}
            AnsweredBy::Slots(slots) => {
                self.slots[slots].refused += 1;
                self.levels_fell(request);
            }
            AnsweredBy::Limit(limit) => {
                self.levels_fell(request);
                self.limits[limit].refused += 1;
                let limits = self.provider.limits();
                self.limits[limit].impossible += u64::from(limits.can_never_admit(limit, request));
            }
            AnsweredBy::Service => {
                let (narrow, now) = (self.clock.narrow(), self.clock.now());
                for (index, limit) in self.scenario.provider.limits.iter().enumerate() {
                    if !limit.covers(request.sender, request.model) {
                        continue;
                    }
                    self.limits[index].admitted += 1;
                    let (meter, level) = self.provider.limits().of(index);
                    self.levels[index].fell(narrow, now, meter, level);
                }
            }
        }
    }

    /// A refused request may have been charged as well, and others since the last one that was admitted.
    fn levels_fell(&mut self, request: &Request<'_>) {
        let limits = self.provider.limits();
        if !limits.charges_refused() && !limits.charges_later() {
            return;
        }
        let (narrow, now) = (self.clock.narrow(), self.clock.now());
        for (index, limit) in self.scenario.provider.limits.iter().enumerate() {
            if limit.covers(request.sender, request.model) {
                let (meter, level) = self.provider.limits().of(index);
                self.levels[index].fell(narrow, now, meter, level);
            }
        }
    }

    /// An answer is back, or the timeout has passed.
    pub(super) fn request_ends(&mut self, class: u16, run: u32) {
        if let Some(parent) = self.hedged_run(class, run) {
            let sequel = self.flight_lands(class, parent, run);
            return self.follow(class, parent, sequel);
        }
        let answer = self.land(class, run);
        self.advance(class, run, Input::Answered(answer));
    }

    /// Nobody wants the request in the run's record any more: the server works for nobody, or stops.
    pub(super) fn leave(&mut self, class: u16, run: u32) -> Answer {
        let (now, horizon) = (self.now(), self.scenario.horizon);
        if let Some(streams) = &mut self.streams {
            streams.leave(class, run);
        }
        if let Some(job) = self.station.as_ref().and_then(|station| station.of(class, run)) {
            self.leave_server(job, &Answer::CANCELLED, now);
            return self.land(class, run);
        }
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let served = state.services.of(run);
        let cell = &mut state.ledger.cells[record.call_cell as usize];
        if !served.wasted {
            cell.wasted_server_nanos += served.nanos_from(served.from, horizon);
        }
        // What is not written yet does not arrive.
        let stops = self.scenario.provider.abandoned == Abandoned::Cancelled || served.from > now;
        if stops && served.until > now {
            let spared = served.nanos_from(now, horizon);
            cell.server_nanos -= spared;
            cell.wasted_server_nanos -= spared;
            if served.admitted {
                let sender = self.classes[class as usize].settings.steps[record.step as usize].sender;
                let sender = sender.unwrap_or(class as u8);
                self.provider.stops_serving(now, served.until, sender, record.model, served.ticket);
            }
            if record.by.unpack() == AnsweredBy::Service {
                record.marks.spare();
            }
            if let Some(billing) = &mut self.billing {
                if served.from > now {
                    billing.spare(class, run);
                } else {
                    billing.cut(class, run, now);
                }
            }
        }
        (record.answer, record.hint) = self.answers.number(&Answer::CANCELLED);
        self.land(class, run)
    }

    /// Counts how the request in the run's record ended.
    pub(super) fn land(&mut self, class: u16, run: u32) -> Answer {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let known = self.answers.get(record.answer);
        let answer = known.with(record.hint);
        let activity = known.activity;
        state.ledger.answered(record.call_cell, known.place);
        if let Some(models) = &mut state.ledger.models {
            models.answered(record.call_cell, record.model, known.place, &answer, record.by.unpack());
        }
        if answer.outcome == Outcome::Refused
            && let Some(refusals) = &mut state.ledger.refusals
        {
            let by = record.by;
            refusals.refused(record.call_cell, known.place, by.unpack(), record.ordinal, by.is_displaced());
        }
        if let Some(billing) = &mut self.billing {
            billing.land(class, run, answer.is_delivered(), &mut state.ledger);
        }
        let word = state.ledger.models.as_ref().map_or(0, |models| models.word(record.model));
        state.series.answers[known.kind as usize][record.sent_narrow as usize] += 1;
        let follows = self.classes[class as usize].follows && record.slot != NO_TASK;
        if follows {
            record.marks.learn(state.tasks.side_of(record.slot)[record.step as usize]);
        }
        let idempotency = self.classes[class as usize].settings.steps[record.step as usize].idempotency;
        let is_effect = record.marks.take_effect(idempotency, &mut state.ledger.cells[record.call_cell as usize]);
        let record = *record;
        let produced = self.streams.as_mut().and_then(|streams| streams.produced.take());
        let output_tokens = produced.unwrap_or(record.output_tokens);
        let home = state.home(run);
        let task = if follows {
            let known = &mut state.tasks.side_of(record.slot)[record.step as usize];
            *known = Marks::join_copies(*known, record.marks.pack(0));
            state.tasks.get_mut(record.slot)
        } else {
            &mut state.runs.get_mut(home).task
        };
        meet(task, record.call_cell, known.kind, self.timeline.wide, &mut state.ledger, &mut state.series);

        let key = record.key.with(u64::from(record.ordinal));
        let fact = now.as_nanos() << 12 | u64::from(answer.status) ^ (answer.outcome as u64) << 10;
        self.digest = self.digest.wrapping_add(mix(key.bits() ^ mix(fact) ^ word));
        self.show(|| Fact::RequestEnded {
            class,
            task: record.task.index,
            run: record.task.runs,
            step: record.step,
            call: record.calls,
            ordinal: record.ordinal,
            sent: record.sent,
            at: now,
            answer,
            by: record.by.unpack(),
            model: record.model,
            input_tokens: record.input_tokens,
            output_tokens,
            is_effect,
        });
        let stack = self.classes[class as usize].of_run(&record);
        let asker = record.asker(class, stack.shares_with);
        if answer.outcome != Outcome::Cancelled {
            for guard in &stack.fed_by_responses {
                self.bank.record(*guard, asker, &answer, now);
            }
        }
        if record.worker != NO_WORKER {
            self.worked(class, record.worker, activity);
        }
        answer
    }
}

/// Counts the server's time for a request.
fn count_service(counts: &mut Counts, served: &Served, horizon: SimTime) {
    let worked = served.nanos_from(served.from, horizon);
    counts.server_nanos += worked;
    counts.wasted_server_nanos += if served.wasted { worked } else { 0 };
}

/// A request passes the limits on requests in flight.
fn count_in_flight(provider: &Provider, counts: &mut [SlotCounts], request: &Request<'_>) {
    for (slots, counts) in provider.slots.iter().zip(counts) {
        counts.admitted += u64::from(slots.covers(request.sender, request.model));
    }
}

/// How many there were before this one.
const fn counted(sends: &mut u32) -> u32 {
    *sends += 1;
    *sends - 1
}

/// Whether an attempt that ends so at `at` has shown its caller some output that was not all of it.
pub(super) fn breaks_off(answer: &Answer, at: SimTime, course: &Course) -> bool {
    match answer.outcome {
        Outcome::CutShort | Outcome::StreamBroken | Outcome::Silent => true,
        Outcome::Delivered => false,
        _ => course.has_begun_before(at),
    }
}

/// The task meets an answer of this kind, in a call that began in this cell.
fn meet(
    task: &mut Task,
    call_cell: u16,
    kind: AnswerKind,
    wide: SimDuration,
    ledger: &mut ClassLedger,
    series: &mut ClassSeries,
) {
    let is_first = task.met.is_nothing();
    match kind {
        AnswerKind::Throttled => {
            ledger.cells[call_cell as usize].requests_with_429 += 1;
            if task.met.mark(kind) {
                ledger.cells[task.cell as usize].tasks_with_429 += 1;
                series.wide_with_429[(task.arrived.as_nanos() / wide.as_nanos()) as usize] += 1;
            }
        }
        AnswerKind::Overloaded => {
            if task.met.mark(kind) {
                ledger.cells[task.cell as usize].tasks_with_overload += 1;
            }
        }
        AnswerKind::Delivered | AnswerKind::Lost | AnswerKind::Other => {}
    }
    ledger.cells[task.cell as usize].tasks_refused += u64::from(is_first && !task.met.is_nothing());
}
