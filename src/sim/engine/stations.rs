//! Requests at servers of finite capacity: on their way, waiting, served, left. Until its service begins nobody knows
//! when a request will be answered, so its run has no event of its own; the job has.

use super::Engine;
use crate::policy::Course;
use crate::policy::answer::{Answer, Hint, Outcome};
use crate::provider::capacity::Late;
use crate::provider::receive::as_read;
use crate::provider::{Abandoned, AnsweredBy, Request, Verdict};
use crate::random::Key;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::{Doing, NO_TASK, PackedSource};
use crate::sim::services::Served;
use crate::sim::station::{Job, NOBODY, Stage, Station};
use crate::units::{SimDuration, SimTime};

impl<'a, O: Observer> Engine<'a, O> {
    /// A request that passed the limits goes to the servers.
    pub(super) fn go_to_servers(&mut self, class: u16, run: u32, verdict: &Verdict, request: &Request<'_>) {
        let now = self.now();
        let unanswered = unanswered(&verdict.course);
        let seen = self.way(class, run).map_or(unanswered, |way| way.unanswered());
        let (record, layers) = self.states[class as usize].runs.parts(run);
        record.doing = Doing::AtServer;
        let client = self.classes[class as usize].of_run(record).client;
        let patience = client.gives_up(layers, record.sent, &seen).map_or(SimTime::NEVER, |(at, _)| at);
        let job = Job {
            class,
            run,
            sender: request.sender,
            model: record.model,
            call_cell: record.call_cell,
            sent: record.sent,
            patience,
            course: verdict.course,
            ..Job::default()
        };
        let ticket = self.provider.serves_until(now, SimTime::NEVER, request, &unanswered);
        let job = Job { ticket, ..job };
        let id = self.station().insert(job);
        if let Some(billing) = &mut self.billing {
            let state = &self.states[class as usize];
            let record = state.runs.get(run);
            let home = if record.slot == NO_TASK { state.home(run) } else { record.slot };
            billing.comes_to_servers(id, &job, home, record, request.size());
        }
        if self.streams.is_some() {
            self.job_may_be_cut(class, run, id, verdict, request);
        }
        if patience < SimTime::NEVER {
            self.await_job(id, patience, Rank::Intervene, Event::PatienceEnds { job: id });
        }
        if verdict.course.written > now {
            self.await_job(id, verdict.course.written, Rank::Attempt, Event::ReachesServer { job: id });
        } else {
            self.at_server(id);
        }
    }

    /// The request has come to the servers.
    pub(super) fn reaches_server(&mut self, id: u32) {
        let job = *self.station().job(id);
        if job.run == NOBODY && job.stage == Stage::Coming {
            self.job_is_over(id, Station::end);
        } else if job.stage == Stage::Coming {
            self.at_server(id);
        }
        self.station().has_come(id);
    }

    fn at_server(&mut self, id: u32) {
        let (now, bin) = (self.now(), self.clock.narrow());
        let station = self.station();
        station.counts.arrived += 1;
        let class = station.job(id).class;
        let late = station.settings.late;
        if late == Late::Refused && self.would_be_late(id, class) {
            let station = self.station();
            station.counts.refused += 1;
            station.counts.late += 1;
            return self.refuse_at_server(id);
        }
        let station = self.station();
        if station.is_free(now) {
            self.take_turn(id);
        } else if station.has_room(class) {
            station.join(id, now);
            station.note(bin);
        } else {
            station.counts.refused += 1;
            self.refuse_at_server(id);
        }
    }

    /// The job's turn has come: a server begins with it, or passes it over because it would be late.
    fn take_turn(&mut self, id: u32) {
        let now = self.now();
        if self.station().settings.late != Late::Dropped || !self.is_late(id, now) {
            return self.begin_service(id);
        }
        let is_alone = self.station().job(id).run == NOBODY;
        self.job_is_over(id, |station, id| {
            station.pass(id);
            if is_alone {
                station.end(id);
            }
        });
    }

    /// Whether the caller of a request that has just come would have left before its answer.
    fn would_be_late(&mut self, id: u32, class: u16) -> bool {
        let now = self.now();
        let begins = self.station().may_begin(class, now);
        self.is_late(id, begins)
    }

    /// Whether the caller of the job leaves before it is answered if its service begins at `begins`.
    fn is_late(&mut self, id: u32, begins: SimTime) -> bool {
        let station = self.station();
        let (settings, job) = (station.settings, *station.job(id));
        if job.patience == SimTime::NEVER {
            return false;
        }
        let servers = settings.servers.at(begins).max(1);
        let in_service = if begins > self.now() { servers } else { self.station().busy() + 1 };
        let course = settings.served(&job.course, begins, settings.factor(in_service));
        match job.run {
            NOBODY => course.first > job.patience,
            _ => self.leaves_service(&Job { course, ..job }).is_some(),
        }
    }

    /// A server begins with the job: now it is known when it ends, and whether its caller waits that long.
    fn begin_service(&mut self, id: u32) {
        let (now, bin, horizon) = (self.now(), self.clock.narrow(), self.scenario.horizon);
        let station = self.station();
        let in_service = station.begin(id, now);
        station.note(bin);
        let settings = station.settings;
        let job = station.job_mut(id);
        job.course = settings.served(&job.course, now, settings.factor(in_service));
        let job = *job;
        station.will_be_done(job.course.ends, true);
        self.provider.begins_serving(job.ticket, now, &job.course);
        self.await_output();
        let nanos = (job.course.ends.min(horizon) - now).as_nanos();
        let cell = &mut self.states[job.class as usize].ledger.cells[job.call_cell as usize];
        cell.server_nanos += nanos;
        cell.wasted_server_nanos += if job.run == NOBODY { nanos } else { 0 };
        if job.course.ends < SimTime::NEVER {
            self.await_job(id, job.course.ends, Rank::Complete, Event::ServiceEnds { job: id });
        }
        if job.run != NOBODY
            && let Some((at, _)) = self.leaves_service(&job)
            && at != job.patience
        {
            self.await_job(id, at, Rank::Intervene, Event::PatienceEnds { job: id });
        }
    }

    /// When the caller of a job in service gives up, if it does not wait to its end.
    fn leaves_service(&self, job: &Job) -> Option<(SimTime, Outcome)> {
        let state = &self.states[job.class as usize];
        let client = self.classes[job.class as usize].of_run(state.runs.get(job.run)).client;
        client.gives_up(state.runs.side(job.run), job.sent, &self.seen(job, &job.course))
    }

    /// A server has done with the job.
    pub(super) fn service_ends(&mut self, id: u32) {
        let job = *self.station().job(id);
        if job.stage == Stage::InService {
            self.job_is_over(id, Station::stop);
            if job.run != NOBODY {
                self.station().leave(id);
            }
            if job.run == NOBODY {
                self.serve_waiting();
            } else if self.scenario.provider.network.is_some() {
                self.serve_waiting();
                self.answer_travels(&job);
            } else {
                self.answers_at_once(&job, &Answer::DELIVERED, AnsweredBy::Service, SimTime::NEVER);
            }
        }
        self.station().has_come(id);
    }

    /// The caller of a job that is over has its answer. Who has waited goes before those whom this answer sends on; but
    /// what it makes vain waits no more.
    fn answers_at_once(&mut self, job: &Job, answer: &Answer, by: AnsweredBy, at: SimTime) {
        let Job { class, run, .. } = *job;
        if let Some(parent) = self.hedged_run(class, run) {
            self.answer_from_server(job, answer, by, true, at);
            let sequel = self.flight_lands(class, parent, run);
            self.serve_waiting();
            return self.follow(class, parent, sequel);
        }
        self.serve_waiting();
        self.answer_from_server(job, answer, by, true, at);
        self.request_ends(class, run);
    }

    /// A limit stops the answer that a server is making: its caller sees this.
    pub(super) fn cut_at_server(&mut self, id: u32, answer: &Answer, by: AnsweredBy) {
        let (now, horizon) = (self.now(), self.scenario.horizon);
        let job = *self.station().job(id);
        if job.stage != Stage::InService {
            return;
        }
        let spared = (job.course.ends.min(horizon) - now).as_nanos();
        let cell = &mut self.states[job.class as usize].ledger.cells[job.call_cell as usize];
        cell.server_nanos -= spared;
        cell.wasted_server_nanos -= if job.run == NOBODY { spared } else { 0 };
        self.job_is_over(id, Station::stop);
        if job.run != NOBODY {
            self.station().leave(id);
        }
        if job.run == NOBODY {
            self.serve_waiting();
        } else {
            self.answers_at_once(&job, answer, by, now);
        }
    }

    /// The answer of a service that is over goes back to its caller, who may have left when it is there.
    fn answer_travels(&mut self, job: &Job) {
        let (now, horizon) = (self.now(), self.scenario.horizon);
        let (at, answer) = match self.leaves_service(job) {
            None => (self.seen(job, &job.course).ends, Answer::DELIVERED),
            Some((at, outcome)) => {
                let nanos = (now.min(horizon) - job.since).as_nanos();
                self.states[job.class as usize].ledger.cells[job.call_cell as usize].wasted_server_nanos += nanos;
                (at.max(now), Answer::failed(outcome))
            }
        };
        if self.classes[job.class as usize].cancels() {
            // Who leaves while it travels has let the servers work for nothing.
            let wasted = answer != Answer::DELIVERED;
            let served = Served { from: job.since, until: now, wasted, ..Served::default() };
            self.states[job.class as usize].services.keep(job.run, served);
        }
        self.answer_from_server(job, &answer, AnsweredBy::Service, true, at);
        self.events.push(at, Rank::Complete, Event::RequestEnds { class: job.class, run: job.run }.pack());
    }

    /// The instants at which the number of servers changes.
    pub(super) fn schedule_changes(&mut self) {
        let Some(station) = &self.station else { return };
        for at in station.settings.servers.changes() {
            self.events.push(at, Rank::Release, Event::CapacityChanges.pack());
        }
    }

    /// There may be more servers now.
    pub(super) fn capacity_changes(&mut self) {
        self.serve_waiting();
    }

    fn serve_waiting(&mut self) {
        let (now, bin) = (self.now(), self.clock.narrow());
        while self.station().is_free(now) {
            let Some(next) = self.station().next() else { break };
            if self.station().passes_over(next) {
                self.station().counts.skipped += 1;
                self.job_is_over(next, Station::end);
            } else {
                self.take_turn(next);
            }
        }
        self.station().note(bin);
    }

    /// The caller has waited long enough, if it waits still and nothing has come in time.
    pub(super) fn patience_ends(&mut self, id: u32) {
        let now = self.now();
        let job = *self.station().job(id);
        if job.run != NOBODY {
            let left = match job.stage {
                Stage::Coming | Stage::Waiting | Stage::Passed => {
                    let state = &self.states[job.class as usize];
                    let client = self.classes[job.class as usize].of_run(state.runs.get(job.run)).client;
                    let seen = self.seen(&job, &unanswered(&job.course));
                    client.gives_up(state.runs.side(job.run), job.sent, &seen)
                }
                Stage::InService => self.leaves_service(&job),
                Stage::Over => None,
            };
            if let Some((_, outcome)) = left.filter(|(at, _)| *at <= now) {
                self.leave_server(id, &Answer::failed(outcome), now);
                self.request_ends(job.class, job.run);
            }
        }
        self.station().has_come(id);
    }

    /// The caller of the job leaves now and has seen this.
    pub(super) fn leave_server(&mut self, id: u32, seen: &Answer, now: SimTime) {
        let (abandoned, horizon) = (self.scenario.provider.abandoned, self.scenario.horizon);
        let job = *self.station().job(id);
        let is_served = job.stage == Stage::InService;
        // Who leaves before its turn comes is late by then, where the servers look.
        let looks = self.station().settings.late == Late::Dropped;
        let carried_out = match abandoned {
            // What is not written yet does not arrive.
            Abandoned::Served => is_served || !looks && job.stage != Stage::Coming,
            Abandoned::Skipped | Abandoned::Dequeued => is_served,
            Abandoned::Cancelled => false,
        };
        let station = self.station();
        station.counts.left_in_service += u64::from(is_served);
        station.counts.left_waiting += u64::from(!is_served);
        station.leave(id);
        if is_served {
            let nanos = |from: SimTime| (job.course.ends.min(horizon) - from).as_nanos();
            let spared = if abandoned == Abandoned::Cancelled { nanos(now) } else { 0 };
            let cell = &mut self.states[job.class as usize].ledger.cells[job.call_cell as usize];
            cell.server_nanos -= spared;
            cell.wasted_server_nanos += nanos(job.since) - spared;
            if abandoned == Abandoned::Cancelled {
                self.job_is_over(id, Station::stop);
                self.serve_waiting();
            }
        } else if job.stage == Stage::Waiting && matches!(abandoned, Abandoned::Dequeued | Abandoned::Cancelled) {
            self.station().take_out(id);
            self.job_is_over(id, Station::end);
            let bin = self.clock.narrow();
            self.station().note(bin);
        }
        if job.stage == Stage::Passed {
            self.station().end(id);
        }
        // Of what no server has begun nothing was shown.
        let job = if is_served { job } else { Job { course: unanswered(&job.course), ..job } };
        self.answer_from_server(&job, seen, AnsweredBy::Service, carried_out && job.stage != Stage::Passed, now);
    }

    /// There is no room: the request comes back.
    fn refuse_at_server(&mut self, id: u32) {
        let now = self.now();
        let job = *self.station().job(id);
        let settings = self.station().settings;
        self.station().leave(id);
        self.job_is_over(id, Station::end);
        let way = self.way(job.class, job.run);
        let (record, layers) = self.states[job.class as usize].runs.parts(job.run);
        let client = self.classes[job.class as usize].of_run(record).client;
        let key = record.key.with(u64::from(record.ordinal) - 1).with(Key::word("capacity"));
        let at = now + SimDuration::from_secs_f64(settings.refusal_latency.sample(&mut key.stream()));
        let hint = settings.hint.map_or(Hint::None, |form| Hint::After(form.hint(SimDuration::ZERO)));
        let answer = as_read(Answer { hint, ..settings.refusal() }, &[], client.grammar());
        let course = Course { first: at, quiet: at, resumes: at, ends: at, ..job.course };
        let seen = way.map_or(course, |way| way.seen(&course));
        let (at, answer) = match client.gives_up(layers, job.sent, &seen) {
            None => (seen.ends, answer),
            Some((at, outcome)) => (at.max(now), Answer::failed(outcome)),
        };
        self.answer_from_server(&Job { course, ..job }, &answer, AnsweredBy::Full, false, at);
        self.events.push(at, Rank::Complete, Event::RequestEnds { class: job.class, run: job.run }.pack());
    }

    /// What the run will see of its request at `at` lies in its record.
    fn answer_from_server(&mut self, job: &Job, answer: &Answer, by: AnsweredBy, carried_out: bool, at: SimTime) {
        let course = self.seen(job, &job.course);
        let step = self.states[job.class as usize].runs.get(job.run).step;
        let is_stream = self.classes[job.class as usize].settings.steps[step as usize].first_token.is_some();
        let state = &mut self.states[job.class as usize];
        let record = state.runs.get_mut(job.run);
        (record.answer, record.hint) = self.answers.number(answer);
        record.by = PackedSource::pack(by);
        record.doing = Doing::InFlight;
        record.marks.send(carried_out, super::requests::breaks_off(answer, at, &course));
        if is_stream && answer.is_delivered() {
            state.first_tokens.keep(job.run, course.first);
        }
    }

    /// The servers have done with the job, in this way: it no longer counts as in flight.
    fn job_is_over(&mut self, id: u32, end: impl FnOnce(&mut Station<'a>, u32)) {
        let (now, job) = (self.now(), *self.station().job(id));
        if let Some(billing) = &mut self.billing {
            billing.leaves_servers(id, &job, now, &mut self.states[job.class as usize].ledger);
        }
        end(self.station(), id);
        self.provider.stops_serving(now, SimTime::NEVER, job.sender, job.model, job.ticket);
    }

    fn await_job(&mut self, id: u32, at: SimTime, rank: Rank, event: Event) {
        self.station().job_mut(id).pending += 1;
        self.events.push(at, rank, event.pack());
    }

    /// The servers; only requests at them come here.
    fn station(&mut self) -> &mut Station<'a> {
        self.station.as_mut().expect("a job is at the servers of a provider that has some")
    }
}

/// A request of which nothing ever comes back.
const fn unanswered(course: &Course) -> Course {
    const NEVER: SimTime = SimTime::NEVER;
    Course {
        first: NEVER,
        quiet: NEVER,
        resumes: NEVER,
        ends: NEVER,
        connected: course.connected,
        written: course.written,
    }
}
