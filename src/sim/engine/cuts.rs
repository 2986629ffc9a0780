//! Answers that a limit stops: their output has used it up while they flowed. What was there is the answer, or the stream
//! breaks off.

use super::Engine;
use crate::policy::answer::{Answer, Outcome};
use crate::provider::terms::UsedUp;
use crate::provider::{AnsweredBy, Cut, Request, Verdict};
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::PackedSource;
use crate::sim::services::Served;
use crate::sim::station::NOBODY;
use crate::sim::streams::Streaming;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    /// A request that was admitted is served; its run sees its end at `ends`. Says whether a limit may stop it.
    pub(super) fn may_be_cut(
        &mut self,
        class: u16,
        run: u32,
        served: Served,
        request: &Request<'_>,
        ends: SimTime,
    ) -> bool {
        let Some(streams) = &mut self.streams else { return false };
        if served.ticket.place().is_none() {
            return false;
        }
        let record = self.states[class as usize].runs.get(run);
        let step = &self.classes[class as usize].settings.steps[record.step as usize];
        let streaming = Streaming {
            ticket: served.ticket,
            class,
            run,
            job: NOBODY,
            sender: request.sender,
            model: request.model,
            is_stream: step.first_token.is_some(),
            call_cell: record.call_cell,
            served,
        };
        streams.begin(streaming, ends);
        self.await_output();
        true
    }

    /// The same of a request at the servers, whose run has no event of its own.
    pub(super) fn job_may_be_cut(&mut self, class: u16, run: u32, job: u32, verdict: &Verdict, request: &Request<'_>) {
        let ticket = self.station.as_ref().map(|station| station.job(job).ticket).unwrap_or_default();
        let served = Served { from: verdict.course.written, ticket, ..Served::default() };
        if self.may_be_cut(class, run, served, request, SimTime::NEVER)
            && let Some(streams) = &mut self.streams
        {
            streams.is_job(ticket, job);
        }
    }

    /// Plans an event for when the next output has flowed.
    pub(super) fn await_output(&mut self) {
        let Some(streams) = &mut self.streams else { return };
        let Some(due) = self.provider.next_due() else { return };
        if due < streams.due {
            streams.due = due;
            self.events.push(due, Rank::Release, Event::OutputIsDue.pack());
        }
    }

    /// Output has flowed, and is charged.
    pub(super) fn output_is_due(&mut self) {
        let now = self.now();
        if let Some(streams) = &mut self.streams
            && streams.due <= now
        {
            streams.due = SimTime::NEVER;
        }
        while let Some(cut) = self.provider.next_cut(now) {
            self.cut_short(cut);
        }
        self.await_output();
    }

    /// The end that was planned of a request.
    pub(super) fn stream_ends(&mut self, class: u16, run: u32) {
        let now = self.now();
        let is_planned = self.streams.as_mut().is_some_and(|streams| streams.ends(class, run, now));
        if is_planned && !self.was_dropped(class, run) {
            self.request_ends(class, run);
        }
    }

    fn cut_short(&mut self, cut: Cut) {
        let (now, horizon) = (self.now(), self.scenario.horizon);
        let Some(streaming) = self.streams.as_mut().and_then(|streams| streams.cut(cut.ticket)) else { return };
        self.limits[cut.limit].cut_short += 1;
        let terms = self.scenario.provider.limits[cut.limit].terms.as_ref();
        let how = terms.and_then(|terms| terms.when_used_up).unwrap_or(UsedUp::Cut);
        let answer = match how {
            UsedUp::Cut => Answer::DELIVERED,
            UsedUp::Break if streaming.is_stream => Answer::failed(Outcome::StreamBroken),
            UsedUp::Break => Answer::failed(Outcome::CutShort),
        };
        let by = if how == UsedUp::Cut { AnsweredBy::Service } else { AnsweredBy::Limit(cut.limit) };
        if let Some(streams) = &mut self.streams {
            streams.produced = Some(cut.produced);
        }
        if streaming.job == NOBODY {
            let Streaming { class, run, sender, model, served, .. } = streaming;
            let cell = &mut self.states[class as usize].ledger.cells[streaming.call_cell as usize];
            let spared = served.nanos_from(now, horizon);
            cell.server_nanos -= spared;
            cell.wasted_server_nanos -= if served.wasted { spared } else { 0 };
            self.provider.stops_serving(now, served.until, sender, model, served.ticket);
            if run != NOBODY {
                if let Some(billing) = &mut self.billing {
                    billing.cut(class, run, now);
                }
                let record = self.states[class as usize].runs.get_mut(run);
                (record.answer, record.hint) = self.answers.number(&answer);
                record.by = PackedSource::pack(by);
                record.marks.send(true, !answer.is_delivered());
                self.request_ends(class, run);
            }
        } else {
            self.cut_at_server(streaming.job, &answer, by);
        }
        if let Some(streams) = &mut self.streams {
            streams.produced = None;
        }
    }
}
