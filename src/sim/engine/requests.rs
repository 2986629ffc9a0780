//! Requests: sent, judged by the provider, ended by an answer or a timeout.

use super::Engine;
use crate::observe::AnswerKind;
use crate::observe::ledger::ClassLedger;
use crate::observe::timeline::ClassSeries;
use crate::policy::answer::{Answer, Outcome};
use crate::policy::stack::Input;
use crate::provider::{AnsweredBy, Request, Verdict};
use crate::random::stream::mix;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fact, Observer};
use crate::sim::record::{Doing, NO_TASK, NO_WORKER, PackedSource, Task};
use crate::sim::world::purpose;
use crate::units::{SimDuration, SimTime};

impl<O: Observer> Engine<'_, O> {
    pub(super) fn send(&mut self, class: u16, run: u32) {
        if self.hedge_of(class, run).is_some() {
            return self.send_hedged(class, run);
        }
        let ends = self.transmit(class, run);
        if ends < SimTime::NEVER {
            self.events.push(ends, Rank::Complete, Event::RequestEnds { class, run }.pack());
        }
    }

    /// Sends a request of the run: when it will end, if ever. How, lies in the run's record.
    pub(super) fn transmit(&mut self, class: u16, run: u32) -> SimTime {
        let now = self.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let step = record.step as usize;
        let stack = compiled.stack(record.step);
        let key = record.key.with(u64::from(record.ordinal));
        record.ordinal += 1;
        let cell = &mut state.ledger.cells[record.call_cell as usize];
        cell.provider_requests += 1;
        // Behind a hop the request was counted when it left the client.
        if !stack.has_hops {
            record.task.requests += 1;
            cell.requests += 1;
            state.series.wide_requests[record.call_wide as usize] += 1;
        }
        let ordinal = if compiled.counts_sends {
            let home = if record.slot == NO_TASK { state.groups.home(run) } else { record.slot };
            let sends = &mut state.sends[home as usize];
            *sends += 1;
            *sends - 1
        } else {
            record.task.requests - 1
        };
        if let Some(wire) = stack.wire {
            state.ledger.layer(record.task.cell, wire).entered += 1;
        }
        let (input_tokens, output_tokens) = (record.input_tokens, record.output_tokens);
        let grammar = stack.client.grammar();
        let model = stack.model(compiled.models[step], layers);
        record.model = model;
        let request = Request { class, input_tokens, output_tokens, key, model, ordinal, grammar };
        let own = self.scenario.provider.models.get(model as usize).and_then(|model| model.latency.as_ref());
        let latency = own.unwrap_or(&compiled.settings.steps[step].latency);
        let service = || SimDuration::from_secs_f64(latency.sample(&mut key.with(purpose::SERVICE).stream()));
        let verdict = self.provider.receive(now, &request, service);

        record.sent = now;
        record.sent_narrow = self.clock.narrow() as u16;
        record.doing = Doing::InFlight;
        let patience = stack.client.timeout_at(layers, now).map_or(SimTime::NEVER, |timeout| now + timeout);
        let (at, answer) = match verdict {
            // A completion exactly at its deadline counts as one.
            Verdict::Answered { at, answer, .. } if at <= patience => (at, answer),
            Verdict::Answered { .. } | Verdict::Never { .. } => (patience, Answer::TIMED_OUT),
        };
        (record.answer, record.hint) = self.answers.number(&answer);
        let (Verdict::Answered { by, .. } | Verdict::Never { by }) = verdict;
        record.by = PackedSource::pack(by);
        if let Some(models) = &mut state.ledger.models {
            models.sent(record.call_cell, model);
        }
        if at == SimTime::NEVER {
            record.doing = Doing::Hanging;
        }
        self.count_at_limits(by, &request);
        at
    }

    pub(super) fn count_at_limits(&mut self, by: AnsweredBy, request: &Request) {
        match by {
            AnsweredBy::Fault(_) | AnsweredBy::Window => {}
            AnsweredBy::Limit(limit) => {
                let settings = &self.scenario.provider.limits[limit];
                let cost = settings.counts.cost(request.input_tokens, request.output_tokens);
                self.limits[limit].refused += 1;
                self.limits[limit].impossible += u64::from(!settings.bucket.can_ever_fit(cost));
            }
            AnsweredBy::Service => {
                let narrow = self.clock.narrow();
                for (limit, level) in self.provider.levels().iter().enumerate() {
                    if !self.scenario.provider.limits[limit].models.contains(request.model) {
                        continue;
                    }
                    self.limits[limit].admitted += 1;
                    self.levels[limit].fell(narrow, level);
                }
            }
        }
    }

    /// An answer is back, or the timeout has passed.
    pub(super) fn request_ends(&mut self, class: u16, run: u32) {
        let answer = self.land(class, run);
        self.advance(class, run, Input::Answered(answer));
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
        let word = state.ledger.models.as_ref().map_or(0, |models| models.word(record.model));
        state.series.answers[known.kind as usize][record.sent_narrow as usize] += 1;
        let record = *record;
        let home = if self.classes[class as usize].has_groups { state.groups.home(run) } else { run };
        let task = &mut state.runs.get_mut(home).task;
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
            output_tokens: record.output_tokens,
        });
        let stack = self.classes[class as usize].stack(record.step);
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

/// The task meets an answer of this kind, in a call that began in this cell.
fn meet(
    task: &mut Task,
    call_cell: u16,
    kind: AnswerKind,
    wide: SimDuration,
    ledger: &mut ClassLedger,
    series: &mut ClassSeries,
) {
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
}
