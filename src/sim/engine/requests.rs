//! Requests: sent, judged by the provider, ended by an answer or a timeout.

use super::Engine;
use crate::observe::AnswerKind;
use crate::observe::ledger::{ClassLedger, Counts};
use crate::observe::timeline::ClassSeries;
use crate::policy::Course;
use crate::policy::answer::{Answer, Outcome};
use crate::policy::stack::Input;
use crate::provider::{Abandoned, AnsweredBy, Request, Service, Verdict};
use crate::random::Distribution;
use crate::random::stream::mix;
use crate::sim::bank::Asker;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fact, Observer};
use crate::sim::record::{Doing, Marks, NO_WORKER, PackedSource, Run};
use crate::sim::world::purpose;
use crate::traffic::Idempotency;
use crate::units::{SimDuration, SimTime};

impl<O: Observer> Engine<'_, O> {
    pub(super) fn send(&mut self, class: u16, run: u32) {
        let now = self.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let step = record.step as usize;
        let key = record.key.with(u64::from(record.ordinal));
        record.ordinal += 1;
        record.task.requests += 1;
        let settings = &compiled.settings.steps[step];
        let draw =
            |time: &Distribution, purpose| SimDuration::from_secs_f64(time.sample(&mut key.with(purpose).stream()));
        let phase = |time: &Option<Distribution>, purpose| time.as_ref().map(|time| draw(time, purpose));
        let request = Request {
            class,
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
            key,
            connect: phase(&settings.connect, purpose::CONNECT).unwrap_or_default(),
            write: phase(&settings.write, purpose::WRITE).unwrap_or_default(),
            ordinal: record.task.requests - 1,
            grammar: compiled.client.grammar(),
        };
        let service = || Service {
            first_token: phase(&settings.first_token, purpose::FIRST_TOKEN),
            takes: draw(&settings.latency, purpose::SERVICE),
        };
        let arrives = request.arrives(now);
        let is_lost = arrives.ends > now && compiled.client.gives_up(layers, now, &arrives).is_some();
        let verdict = if is_lost { Verdict::lost(arrives) } else { self.provider.receive(now, &request, service) };

        let cell = record.call_cell as usize;
        let counts = &mut state.ledger.cells[cell];
        counts.requests += 1;
        counts.repeated_output += u64::from(record.marks.has_shown_output());
        state.series.wide_requests[record.call_wide as usize] += 1;
        record.sent = now;
        record.sent_narrow = self.clock.narrow() as u16;
        record.doing = Doing::InFlight;
        let course = &verdict.course;
        let left = compiled.client.gives_up(layers, now, course);
        let (at, answer) = match left {
            None => (course.ends, verdict.answer),
            Some((at, outcome)) => (at, Answer::failed(outcome)),
        };
        let is_cancelled = left.is_some() && self.scenario.provider.abandoned == Abandoned::Cancelled;
        let works_until = if is_cancelled { verdict.works_until.min(at) } else { verdict.works_until };
        if works_until > course.written {
            let horizon = self.scenario.horizon;
            let worked = (works_until.min(horizon) - course.written.min(horizon)).as_nanos();
            counts.server_nanos += worked;
            counts.wasted_server_nanos += if left.is_some() { worked } else { 0 };
        }
        if verdict.admitted {
            self.provider.serves_until(works_until);
            self.slots.iter_mut().for_each(|slots| slots.admitted += 1);
        }
        let is_served = verdict.by == AnsweredBy::Service;
        let carried_out = verdict.carried_out && !(is_cancelled && is_served);
        record.marks.send(carried_out, breaks_off(&answer, at, course));
        if settings.first_token.is_some() && answer.is_delivered() {
            state.first_tokens.keep(run, course.first);
        }
        (record.answer, record.hint) = self.answers.number(&answer);
        record.by = PackedSource::pack(verdict.by);
        self.count_at_limits(verdict.by, &request);
        if at < SimTime::NEVER {
            self.events.push(at, Rank::Complete, Event::RequestEnds { class, run }.pack());
        }
    }

    pub(super) fn count_at_limits(&mut self, by: AnsweredBy, request: &Request) {
        match by {
            AnsweredBy::Fault(_) | AnsweredBy::Nobody => {}
            AnsweredBy::Slots(slots) => self.slots[slots].refused += 1,
            AnsweredBy::Limit(limit) => {
                let settings = &self.scenario.provider.limits[limit];
                let cost = settings.counts.cost(request.input_tokens, request.output_tokens);
                self.limits[limit].refused += 1;
                self.limits[limit].impossible += u64::from(!settings.bucket.can_ever_fit(cost));
            }
            AnsweredBy::Service => {
                let narrow = self.clock.narrow();
                for (limit, level) in self.provider.levels().iter().enumerate() {
                    self.limits[limit].admitted += 1;
                    self.levels[limit].fell(narrow, level);
                }
            }
        }
    }

    /// An answer is back, or the timeout has passed.
    pub(super) fn request_ends(&mut self, class: u16, run: u32) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let known = self.answers.get(record.answer);
        let answer = known.with(record.hint);
        let activity = known.activity;
        state.ledger.answered(record.call_cell, known.place);
        state.series.answers[known.kind as usize][record.sent_narrow as usize] += 1;
        let idempotency = self.classes[class as usize].settings.steps[record.step as usize].idempotency;
        let is_effect = take_effect(&mut record.marks, idempotency, &mut state.ledger.cells[record.call_cell as usize]);
        meet(record, known.kind, self.timeline.wide, &mut state.ledger, &mut state.series);
        let record = *record;

        let key = record.key.with(u64::from(record.ordinal));
        let fact = now.as_nanos() << 12 | u64::from(answer.status) ^ (answer.outcome as u64) << 10;
        self.digest = self.digest.wrapping_add(mix(key.bits() ^ mix(fact)));
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
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
            is_effect,
        });
        let asker = Asker {
            class,
            worker: record.worker,
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
        };
        for guard in &self.classes[class as usize].fed_by_responses {
            self.bank.record(*guard, asker, &answer, now);
        }
        if record.worker != NO_WORKER {
            self.worked(class, record.worker, activity);
        }
        self.advance(class, run, Input::Answered(answer));
    }
}

/// Whether an attempt that ends so at `at` has shown its caller some output that was not all of it.
fn breaks_off(answer: &Answer, at: SimTime, course: &Course) -> bool {
    match answer.outcome {
        Outcome::CutShort | Outcome::StreamBroken | Outcome::Silent => true,
        Outcome::Delivered => false,
        _ => course.has_begun_before(at),
    }
}

/// A request ends. Says whether the server did what it asked for, and counts it.
fn take_effect(marks: &mut Marks, idempotency: Idempotency, counts: &mut Counts) -> bool {
    let is_known = match idempotency {
        Idempotency::None => false,
        Idempotency::Call => marks.has_effect_in_call(),
        Idempotency::Task => marks.has_effect(),
    };
    let is_effect = marks.is_carried_out() && !is_known;
    if is_effect {
        counts.effects += 1;
        counts.repeated_effects += u64::from(marks.has_effect());
    }
    marks.end();
    is_effect
}

/// The run's task meets an answer of this kind.
fn meet(run: &mut Run, kind: AnswerKind, wide: SimDuration, ledger: &mut ClassLedger, series: &mut ClassSeries) {
    let task = &mut run.task;
    match kind {
        AnswerKind::Throttled => {
            ledger.cells[run.call_cell as usize].requests_with_429 += 1;
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
}
