//! The event loop. It owns the state of a run and interprets what stacks, the provider and guards decide; it decides
//! nothing itself.

use super::answers::Answers;
use super::bank::{Asker, Bank};
use super::event::Event;
use super::event_queue::{EventQueue, Rank};
use super::record::{Doing, NO_TASK, NO_WORKER, PackedSource, Run, Runs, Task, Tasks};
use super::workforce::{Waiter, Workforce};
use super::world::{self, Class, purpose};
use crate::observe::ledger::ClassLedger;
use crate::observe::outcome::LimitCounts;
use crate::observe::series::LevelSeries;
use crate::observe::timeline::ClassSeries;
use crate::observe::{AnswerKind, Clock, Outcome, PhasePlan, Timeline, WorkerActivity};
use crate::policy::answer::Answer;
use crate::policy::circuit_breaker::{Gate, Pause};
use crate::policy::retry::LayerState;
use crate::policy::retry_budget::{Passage, RetryBudget};
use crate::policy::stack::{Host, Input, Next, Note, Place, Requeue, Resume, Waiting};
use crate::provider::{AnsweredBy, ProviderState, Request, Verdict};
use crate::random::stream::mix;
use crate::random::{Distribution, Key, Seed, Stream};
use crate::scenario::Scenario;
use crate::traffic::arrivals::ArrivalState;
use crate::units::{SimDuration, SimTime};

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All its steps were answered.
    Delivered,
    /// It was given up.
    Failed,
}

/// Something that happened in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// A task arrived.
    TaskArrived {
        /// The index of its class.
        class: u16,
        /// Its ordinal in its class.
        task: u32,
        /// When.
        at: SimTime,
    },
    /// A request came back, or its silence ended.
    RequestEnded {
        /// The index of the class.
        class: u16,
        /// The task's ordinal in its class.
        task: u32,
        /// The run, from 1.
        run: u32,
        /// The step's index.
        step: u8,
        /// The call within the run's step, from 1.
        call: u32,
        /// The request within all requests of the task for the step, from 1.
        ordinal: u32,
        /// When it was sent.
        sent: SimTime,
        /// When it ended.
        at: SimTime,
        /// How it ended.
        answer: Answer,
        /// Who answered, or whose silence it was.
        by: AnsweredBy,
        /// Its input tokens.
        input_tokens: u32,
        /// The output tokens of a full answer.
        output_tokens: u32,
    },
    /// A task ended.
    TaskEnded {
        /// The index of its class.
        class: u16,
        /// Its ordinal in its class.
        task: u32,
        /// When.
        at: SimTime,
        /// How.
        fate: Fate,
    },
}

/// Someone who is shown every fact and may end the run early.
pub trait Observer {
    /// Whether there is anyone: facts are not even put together for nobody.
    const WATCHES: bool = true;

    /// A fact; `false` ends the run here.
    fn see(&mut self, fact: &Fact) -> bool;
}

/// Nobody.
pub struct Unobserved;

impl Observer for Unobserved {
    const WATCHES: bool = false;

    fn see(&mut self, _: &Fact) -> bool {
        true
    }
}

/// What changes of one class during a run.
struct ClassState {
    tasks: Tasks,
    runs: Runs,
    /// The queue layer's state of each task; empty without a queue layer.
    queue_states: Vec<LayerState>,
    force: Workforce,
    arrivals: Vec<ArrivalState>,
    arrived: u32,
    ledger: ClassLedger,
    series: ClassSeries,
}

/// The state of a run.
struct Engine<'a, O> {
    scenario: &'a Scenario,
    plan: PhasePlan,
    clock: Clock,
    events: EventQueue,
    provider: ProviderState<'a>,
    bank: Bank<'a>,
    classes: Vec<Class<'a>>,
    states: Vec<ClassState>,
    answers: Answers,
    timeline: Timeline,
    levels: Vec<LevelSeries>,
    limits: Vec<LimitCounts>,
    /// Classes, one bit each, whose queue or workers have changed: idle workers look for jobs once an event is
    /// handled, not in the middle of it, so that a thousand runs that fail at one instant do not nest.
    stirred: u64,
    digest: u64,
    world_digest: u64,
    stopped: bool,
    observer: &'a mut O,
}

/// Runs a scenario once, counting by these phases.
pub(super) fn run<'a, O: Observer>(
    scenario: &'a Scenario,
    seed: Seed,
    plan: PhasePlan,
    observer: &'a mut O,
) -> Outcome {
    let mut engine = Engine::new(scenario, seed, plan, observer);
    engine.schedule_first_arrivals();
    while let Some((now, event)) = engine.events.pop_until(scenario.horizon) {
        engine.clock.move_to(now, &engine.plan);
        if engine.events.take_refilled() {
            engine.fetch_records();
        }
        engine.handle(Event::unpack(event));
        engine.settle();
        if O::WATCHES && engine.stopped {
            break;
        }
    }
    engine.finish(seed)
}

impl<'a, O: Observer> Engine<'a, O> {
    fn new(scenario: &'a Scenario, seed: Seed, plan: PhasePlan, observer: &'a mut O) -> Self {
        let classes = world::classes(scenario, seed);
        let answers = world::answer_index(scenario);
        let with_workers: Vec<bool> = scenario.traffic.iter().map(|class| class.workers() > 0).collect();
        let mut timeline = Timeline::new(scenario.length(), &with_workers, scenario.provider.limits.len());
        let states = classes
            .iter()
            .zip(timeline.classes.drain(..))
            .map(|(class, series)| {
                let elements = class.client.elements().len();
                let arrival_key = class.key.with(purpose::ARRIVALS);
                let processes = class.settings.arrivals.iter().zip(0..);
                ClassState {
                    tasks: Tasks::new(class.settings.steps.len()),
                    runs: Runs::new(elements),
                    queue_states: Vec::new(),
                    force: Workforce::new(class.settings.workers(), timeline.bins, timeline.bin),
                    arrivals: processes.map(|(process, n)| process.start(arrival_key.with(n))).collect(),
                    arrived: 0,
                    ledger: ClassLedger::new(plan.cells(), elements, answers.names().len()),
                    series,
                }
            })
            .collect();
        let limits = &scenario.provider.limits;
        Engine {
            scenario,
            clock: Clock::new(&plan, &timeline),
            plan,
            events: EventQueue::new(),
            provider: ProviderState::new(&scenario.provider),
            bank: Bank::new(scenario),
            classes,
            states,
            answers: Answers::new(answers),
            levels: limits.iter().map(|limit| LevelSeries::new(limit.bucket, timeline.bins, timeline.bin)).collect(),
            limits: vec![LimitCounts::default(); limits.len()],
            timeline,
            stirred: 0,
            digest: 0,
            world_digest: world::settings_digest(scenario),
            stopped: false,
            observer,
        }
    }

    fn now(&self) -> SimTime {
        self.clock.now()
    }

    /// Reads from the records of all events that are next. With 100,000 runs in flight a record comes from memory, and
    /// the loop would wait for each in turn, a quarter of its time; a processor fetches some dozen at once.
    #[cold]
    fn fetch_records(&self) {
        for event in self.events.next_few() {
            if let Some((class, run)) = Event::unpack(event).run() {
                self.states[class as usize].runs.fetch(run);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::TaskArrives { class, process } => self.task_arrives(class, process),
            Event::JobQueued { class, task } => self.enqueue(class, Waiter::Task(task), Place::Back),
            Event::JobQueuedFirst { class, task } => self.enqueue(class, Waiter::Task(task), Place::Front),
            Event::RequestEnds { class, run } => self.request_ends(class, run),
            Event::RetryWaitEnds { class, run } => self.wait_ends(class, run, WorkerActivity::WaitingRetry),
            Event::LimiterWaitEnds { class, run } => self.wait_ends(class, run, WorkerActivity::WaitingLimiter),
            Event::PauseEnds { class } => self.pause_ends(class),
        }
    }

    // Arrivals.

    fn schedule_first_arrivals(&mut self) {
        for class in 0..self.classes.len() as u16 {
            for process in 0..self.classes[class as usize].settings.arrivals.len() as u32 {
                let first = self.next_arrival(class, process);
                self.schedule_arrival(class, process, first);
            }
        }
    }

    fn next_arrival(&mut self, class: u16, process: u32) -> Option<SimTime> {
        let settings = &self.classes[class as usize].settings.arrivals[process as usize];
        settings.next(&mut self.states[class as usize].arrivals[process as usize])
    }

    fn schedule_arrival(&mut self, class: u16, process: u32, at: Option<SimTime>) {
        if let Some(at) = at {
            self.events.push(at, Rank::Arrive, Event::TaskArrives { class, process }.pack());
        }
    }

    fn task_arrives(&mut self, class: u16, process: u32) {
        // Drawn first and scheduled last: its place in the queue waits for a logarithm, and nothing else need wait with it.
        let next = self.next_arrival(class, process);
        let (now, cell, narrow, wide) = (self.now(), self.clock.cell(), self.clock.narrow(), self.clock.wide());
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let index = state.arrived;
        state.arrived += 1;
        state.ledger.cells[cell as usize].offered += 1;
        state.series.arrivals[narrow as usize] += 1;
        state.series.wide_arrivals[wide as usize] += 1;
        let fact = mix(compiled.key.with(u64::from(index)).bits() ^ mix(now.as_nanos()));
        self.world_digest = self.world_digest.wrapping_add(fact);
        self.digest = self.digest.wrapping_add(fact);
        let task = Task { arrived: now, index, cell, ..Task::default() };
        self.show(|| Fact::TaskArrived { class, task: index, at: now });
        if self.classes[class as usize].settings.is_live() {
            self.begin_run(class, task, NO_TASK, NO_WORKER);
        } else {
            self.job_arrives(class, task);
        }
        self.schedule_arrival(class, process, next);
    }

    fn job_arrives(&mut self, class: u16, task: Task) {
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let slot = state.tasks.insert(task);
        if compiled.client.queue().is_some() && state.queue_states.len() <= slot as usize {
            state.queue_states.resize(slot as usize + 1, LayerState::default());
        }
        let delay = compiled.settings.enqueue_delay;
        if delay.is_zero() {
            self.enqueue(class, Waiter::Task(slot), Place::Back);
        } else {
            let at = self.now() + delay;
            self.events.push(at, Rank::Attempt, Event::JobQueued { class, task: slot }.pack());
        }
    }

    // The queue and its workers.

    fn enqueue(&mut self, class: u16, waiter: Waiter, place: Place) {
        self.states[class as usize].force.enqueue(waiter, place == Place::Front);
        self.stirred |= 1 << class;
    }

    /// Lets those go on for whom a guard has changed, and idle workers take jobs until nothing is stirred any more.
    fn settle(&mut self) {
        if self.bank.resumed {
            self.bank.resumed = false;
            let now = self.clock.now();
            for (class, run) in self.bank.take_woken() {
                self.events.push(now, Rank::Release, Event::LimiterWaitEnds { class, run }.pack());
            }
            let pausing = self.classes.iter().enumerate().filter(|(_, class)| !class.pausing.is_empty());
            self.stirred |= pausing.fold(0, |stirred, (class, _)| stirred | 1 << class);
        }
        while self.stirred != 0 {
            let class = self.stirred.trailing_zeros() as u16;
            self.stirred &= self.stirred - 1;
            self.dispatch(class);
        }
    }

    /// Gives jobs to idle workers as long as there are both.
    fn dispatch(&mut self, class: u16) {
        while let Some(position) = self.free_worker(class) {
            let now = self.now();
            let state = &mut self.states[class as usize];
            match state.force.assign(position, now) {
                (worker, Waiter::Task(slot)) => {
                    let task = *state.tasks.get(slot);
                    self.begin_run(class, task, slot, worker);
                }
                (worker, Waiter::Run(run)) => {
                    state.runs.get_mut(run).worker = worker;
                    self.advance(class, run, Input::Woken);
                }
            }
        }
        self.states[class as usize].force.note_length(self.clock.narrow());
    }

    /// The place among the idle workers of the one that takes the next job, if there is a job and one who may.
    fn free_worker(&mut self, class: u16) -> Option<usize> {
        let compiled = &self.classes[class as usize];
        let force = &mut self.states[class as usize].force;
        if !force.has_work() {
            return None;
        }
        if compiled.pausing.is_empty() {
            return force.idle().len().checked_sub(1);
        }
        let now = self.clock.now();
        let mut earliest = SimTime::NEVER;
        for (position, worker) in force.idle().iter().enumerate().rev() {
            let asker = Asker { class, worker: *worker, input_tokens: 0, output_tokens: 0 };
            let mut free = true;
            for guard in &compiled.pausing {
                match self.bank.pause(*guard, asker, now) {
                    Pause::No => {}
                    // Its change stirs the class again.
                    Pause::UntilItChanges => free = false,
                    Pause::Until(until) => (free, earliest) = (false, earliest.min(until)),
                }
            }
            if free {
                return Some(position);
            }
        }
        if earliest < SimTime::NEVER && force.paused_until != Some(earliest) {
            force.paused_until = Some(earliest);
            self.events.push(earliest, Rank::Release, Event::PauseEnds { class }.pack());
        }
        None
    }

    fn pause_ends(&mut self, class: u16) {
        self.states[class as usize].force.paused_until = None;
        self.stirred |= 1 << class;
    }

    fn release(&mut self, class: u16, worker: u32) {
        if worker != NO_WORKER {
            self.states[class as usize].force.release(worker);
            self.stirred |= 1 << class;
        }
    }

    // Runs.

    fn begin_run(&mut self, class: u16, mut task: Task, slot: u32, worker: u32) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        task.runs += 1;
        state.ledger.cells[task.cell as usize].runs += 1;
        let run = state.runs.insert(Run { task, slot, worker, step: task.next_step, ..Run::default() });
        if let Some(queue) = self.classes[class as usize].client.queue_element() {
            let (saved, layer) = (&mut state.queue_states[slot as usize], &mut state.runs.side_of(run)[queue]);
            if task.runs == 1 {
                *saved = LayerState::entered(now);
                state.ledger.layer(task.cell, queue).entered += 1;
            }
            *layer = *saved;
        }
        self.begin_step(class, run);
        self.advance(class, run, Input::Begin);
    }

    fn begin_step(&mut self, class: u16, run: u32) {
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let step = record.step as usize;
        let settings = &compiled.settings.steps[step];
        record.calls = 0;
        record.ordinal = if record.slot == NO_TASK { 0 } else { state.tasks.side_of(record.slot)[step] };
        record.key = compiled.step_key(record.task.index, step);
        let mut draws = record.key.with(purpose::TOKENS).stream();
        record.input_tokens = tokens(&settings.input_tokens, &mut draws);
        record.output_tokens = tokens(&settings.output_tokens, &mut draws);
        state.ledger.cells[record.task.cell as usize].steps_reached += 1;
    }

    /// Keeps what the job's own record must know of the run's current step.
    fn leave_step(&mut self, class: u16, run: u32) {
        let state = &mut self.states[class as usize];
        let record = state.runs.get(run);
        if record.slot != NO_TASK {
            state.tasks.side_of(record.slot)[record.step as usize] = record.ordinal;
        }
    }

    fn wait_ends(&mut self, class: u16, run: u32, activity: WorkerActivity) {
        let record = self.states[class as usize].runs.get_mut(run);
        let worker = record.worker;
        if worker != NO_WORKER {
            self.worked(class, worker, activity);
        } else if !self.classes[class as usize].settings.is_live() {
            record.doing = Doing::WaitingWorker;
            return self.enqueue(class, Waiter::Run(run), Place::Back);
        }
        self.advance(class, run, Input::Woken);
    }

    /// The worker did this until now.
    fn worked(&mut self, class: u16, worker: u32, activity: WorkerActivity) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let mut from = state.force.close(worker, activity, now);
        let mut cell = self.clock.cell() as usize;
        if from < self.plan.cell_start(cell) {
            cell = self.plan.cell_at(from);
        }
        while from < now {
            let to = now.min(self.plan.cell_end(cell));
            state.ledger.worked(cell, activity, to - from);
            (from, cell) = (to, cell + 1);
        }
    }

    /// Moves a run on as far as nothing has to be waited for.
    fn advance(&mut self, class: u16, run: u32, input: Input) {
        let mut input = input;
        loop {
            let next = self.walk(class, run, input);
            match next {
                Next::Send => return self.send(class, run),
                Next::Sleep { until, why, holds_worker } => return self.sleep(class, run, until, why, holds_worker),
                Next::Park => return self.states[class as usize].runs.get_mut(run).doing = Doing::WaitingLimiter,
                Next::Requeue { at, requeue } => return self.requeue(class, run, at, requeue),
                Next::Done(answer) if answer.is_delivered() => {
                    let record = self.states[class as usize].runs.get(run);
                    if record.step as usize + 1 == self.classes[class as usize].settings.steps.len() {
                        return self.end_task(class, run, Fate::Delivered);
                    }
                    self.leave_step(class, run);
                    self.states[class as usize].runs.get_mut(run).step += 1;
                    self.begin_step(class, run);
                    input = Input::Begin;
                }
                Next::Done(_) => return self.end_task(class, run, Fate::Failed),
            }
        }
    }

    /// One walk through the client's stack.
    fn walk(&mut self, class: u16, run: u32, input: Input) -> Next {
        let now = self.clock.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let mut cursor = record.cursor;
        let mut host = Walker {
            class,
            compiled,
            run: record,
            slot: run,
            bank: &mut self.bank,
            ledger: &mut state.ledger,
            series: &mut state.series,
            clock: &self.clock,
        };
        let next = compiled.client.advance(layers, &mut cursor, input, now, &mut host);
        record.cursor = cursor;
        next
    }

    fn sleep(&mut self, class: u16, run: u32, until: SimTime, why: Waiting, holds_worker: bool) {
        let record = self.states[class as usize].runs.get_mut(run);
        let event;
        (record.doing, event) = match why {
            Waiting::Retry => (Doing::WaitingRetry, Event::RetryWaitEnds { class, run }),
            Waiting::Limiter => (Doing::WaitingLimiter, Event::LimiterWaitEnds { class, run }),
        };
        self.events.push(until, Rank::Attempt, event.pack());
        if !holds_worker {
            let worker = std::mem::replace(&mut record.worker, NO_WORKER);
            self.release(class, worker);
        }
    }

    /// The run failed and the queue wants another one.
    fn requeue(&mut self, class: u16, run: u32, at: SimTime, requeue: Requeue) {
        let now = self.now();
        self.leave_step(class, run);
        let state = &mut self.states[class as usize];
        let Run { mut task, slot, worker, step, .. } = *state.runs.get(run);
        if let Some(queue) = self.classes[class as usize].client.queue_element() {
            state.queue_states[slot as usize] = state.runs.side_of(run)[queue];
        }
        task.next_step = match requeue.resume {
            Resume::Restart => 0,
            Resume::FailedStep => step,
        };
        *state.tasks.get_mut(slot) = task;
        state.runs.remove(run);
        if at > now {
            let event = match requeue.place {
                Place::Back => Event::JobQueued { class, task: slot },
                Place::Front => Event::JobQueuedFirst { class, task: slot },
            };
            self.events.push(at, Rank::Attempt, event.pack());
        } else {
            // The job is back in the queue before its worker looks for the next one.
            self.enqueue(class, Waiter::Task(slot), requeue.place);
        }
        self.release(class, worker);
    }

    fn end_task(&mut self, class: u16, run: u32, fate: Fate) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let Run { task, slot, worker, .. } = *state.runs.get(run);
        state.runs.remove(run);
        if slot != NO_TASK {
            state.tasks.remove(slot);
        }
        count_requests(&mut state.ledger, &task, fate == Fate::Failed);
        let cell = task.cell as usize;
        match fate {
            Fate::Delivered => {
                state.ledger.cells[cell].delivered += 1;
                state.ledger.latencies[cell].record(now - task.arrived);
            }
            Fate::Failed => {
                state.ledger.cells[cell].failed += 1;
                state.series.failures[self.clock.narrow() as usize] += 1;
            }
        }
        let key = self.classes[class as usize].key.with(u64::from(task.index));
        self.digest = self.digest.wrapping_add(mix(key.with(fate as u64).bits() ^ mix(!now.as_nanos())));
        self.show(|| Fact::TaskEnded { class, task: task.index, at: now, fate });
        self.release(class, worker);
    }

    // Requests.

    fn send(&mut self, class: u16, run: u32) {
        let now = self.now();
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let step = record.step as usize;
        let key = record.key.with(u64::from(record.ordinal));
        record.ordinal += 1;
        record.task.requests += 1;
        let (input_tokens, output_tokens) = (record.input_tokens, record.output_tokens);
        let ordinal = record.task.requests - 1;
        let grammar = compiled.client.grammar();
        let request = Request { class, input_tokens, output_tokens, key, ordinal, grammar };
        let latency = &compiled.settings.steps[step].latency;
        let service = || SimDuration::from_secs_f64(latency.sample(&mut key.with(purpose::SERVICE).stream()));
        let verdict = self.provider.receive(now, &request, service);

        let cell = record.call_cell as usize;
        state.ledger.cells[cell].requests += 1;
        state.series.wide_requests[record.call_wide as usize] += 1;
        record.sent = now;
        record.sent_narrow = self.clock.narrow() as u16;
        record.doing = Doing::InFlight;
        let patience = compiled.client.timeout_at(layers, now).map_or(SimTime::NEVER, |timeout| now + timeout);
        let (at, answer) = match verdict {
            // A completion exactly at its deadline counts as one.
            Verdict::Answered { at, answer, .. } if at <= patience => (at, answer),
            Verdict::Answered { .. } | Verdict::Never { .. } => (patience, Answer::TIMED_OUT),
        };
        (record.answer, record.hint) = self.answers.number(&answer);
        let (Verdict::Answered { by, .. } | Verdict::Never { by }) = verdict;
        record.by = PackedSource::pack(by);
        self.count_at_limits(by, &request);
        if at < SimTime::NEVER {
            self.events.push(at, Rank::Complete, Event::RequestEnds { class, run }.pack());
        }
    }

    fn count_at_limits(&mut self, by: AnsweredBy, request: &Request) {
        match by {
            AnsweredBy::Fault(_) => {}
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
    fn request_ends(&mut self, class: u16, run: u32) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let known = self.answers.get(record.answer);
        let answer = known.with(record.hint);
        let activity = known.activity;
        state.ledger.answered(record.call_cell, known.place);
        state.series.answers[known.kind as usize][record.sent_narrow as usize] += 1;
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

    fn show(&mut self, fact: impl FnOnce() -> Fact) {
        if O::WATCHES && !self.observer.see(&fact()) {
            self.stopped = true;
        }
    }

    // The end.

    fn finish(mut self, seed: Seed) -> Outcome {
        let horizon = self.scenario.horizon;
        self.clock.move_to(SimTime::from_nanos(horizon.as_nanos() - 1), &self.plan);
        self.clock.stop_at(horizon);
        for class in 0..self.classes.len() as u16 {
            self.close_class(class);
        }
        let mut timeline = self.timeline;
        timeline.limits = self.levels.into_iter().map(LevelSeries::finish).collect();
        let mut classes = Vec::with_capacity(self.states.len());
        for state in self.states {
            let mut series = state.series;
            let (queue, workers) = state.force.finish(horizon);
            (series.queue, series.workers) = (queue, workers);
            timeline.classes.push(series);
            classes.push(state.ledger);
        }
        Outcome {
            seed,
            digest: self.digest,
            world_digest: self.world_digest,
            plan: self.plan,
            answers: self.answers.into_index(),
            classes,
            limits: self.limits,
            guards: self.bank.finish(),
            timeline,
        }
    }

    /// Counts what is in flight when the run ends.
    fn close_class(&mut self, class: u16) {
        for run in self.states[class as usize].runs.slots() {
            let record = *self.states[class as usize].runs.get(run);
            let activity = match record.doing {
                Doing::InFlight => self.answers.get(record.answer).activity,
                Doing::WaitingRetry => WorkerActivity::WaitingRetry,
                Doing::WaitingLimiter => WorkerActivity::WaitingLimiter,
                Doing::WaitingWorker => WorkerActivity::Idle,
            };
            if record.worker != NO_WORKER {
                self.worked(class, record.worker, activity);
            }
        }
        // A job is counted where its newest numbers are: in its run while it has one.
        let state = &mut self.states[class as usize];
        let mut in_run = vec![false; state.tasks.len()];
        for run in state.runs.slots() {
            let record = state.runs.get(run);
            count_requests(&mut state.ledger, &record.task, false);
            if record.slot != NO_TASK {
                in_run[record.slot as usize] = true;
            }
        }
        for slot in state.tasks.slots() {
            if !in_run[slot as usize] {
                count_requests(&mut state.ledger, state.tasks.get(slot), false);
            }
        }
    }
}

/// Counts the requests of a task that has ended, or that the horizon cut off.
fn count_requests(ledger: &mut ClassLedger, task: &Task, failed: bool) {
    let requests = u64::from(task.requests);
    let counts = &mut ledger.cells[task.cell as usize];
    counts.task_requests += requests;
    counts.max_task_requests = counts.max_task_requests.max(requests);
    if failed {
        counts.max_failed_task_requests = counts.max_failed_task_requests.max(requests);
    }
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

/// A whole number of tokens.
fn tokens(distribution: &Distribution, draws: &mut Stream) -> u32 {
    (distribution.sample(draws) + 0.5) as u32
}

impl Class<'_> {
    /// The key of all draws of one step of one task.
    #[inline]
    fn step_key(&self, task: u32, step: usize) -> Key {
        self.key.with(u64::from(task)).with(self.step_words[step])
    }
}

/// What a stack needs while it is walked: the surroundings of one run.
struct Walker<'w, 'a> {
    class: u16,
    compiled: &'w Class<'a>,
    run: &'w mut Run,
    /// The run's place in its slab.
    slot: u32,
    bank: &'w mut Bank<'a>,
    ledger: &'w mut ClassLedger,
    series: &'w mut ClassSeries,
    clock: &'w Clock,
}

impl Walker<'_, '_> {
    fn asker(&self) -> Asker {
        Asker {
            class: self.class,
            worker: self.run.worker,
            input_tokens: self.run.input_tokens,
            output_tokens: self.run.output_tokens,
        }
    }
}

impl Host for Walker<'_, '_> {
    type Source = Stream;

    fn draws(&self, element: usize, attempt: u32) -> Stream {
        let (run, step) = (u64::from(self.run.task.runs), u64::from(self.run.step));
        self.compiled
            .key
            .with(u64::from(self.run.task.index))
            .with(purpose::JITTER)
            .with(self.compiled.element_words[element])
            .with(run << 32 | step)
            .with(u64::from(self.run.calls) << 32 | u64::from(attempt))
            .stream()
    }

    fn pass(&mut self, guard: usize, now: SimTime) -> Gate {
        let asker = self.asker();
        let gate = self.bank.pass(guard, asker, now);
        if gate == Gate::Park {
            self.bank.park(guard, asker, self.slot, now);
        }
        gate
    }

    fn passed_back(&mut self, guard: usize, answer: &Answer, now: SimTime) {
        self.bank.passed_back(guard, self.asker(), answer, now);
    }

    fn pay(
        &mut self,
        element: usize,
        budget: &RetryBudget,
        answer: &Answer,
        wanted: bool,
        now: SimTime,
    ) -> Option<u32> {
        let asker = self.asker();
        let state = self.bank.budget(self.compiled.budgets[element]?, asker);
        let paid = budget.failed(state, answer, wanted, now);
        if wanted && paid.is_none() {
            self.ledger.cells[self.clock.cell() as usize].suppressed += 1;
        }
        paid
    }

    fn repay(&mut self, element: usize, budget: &RetryBudget, last_cost: Option<u32>) {
        let asker = self.asker();
        if let Some(index) = self.compiled.budgets[element] {
            budget.succeeded(self.bank.budget(index, asker), last_cost);
        }
    }

    fn call_passes(&mut self, element: usize, budget: &RetryBudget, passage: Passage, now: SimTime) {
        let asker = self.asker();
        if let Some(index) = self.compiled.budgets[element] {
            budget.passes(self.bank.budget(index, asker), passage, now);
        }
    }

    fn note(&mut self, note: Note) {
        let cell = self.run.task.cell;
        match note {
            Note::CallBegan => {
                self.run.calls += 1;
                self.run.call_cell = self.clock.cell();
                self.run.call_wide = self.clock.wide();
                self.ledger.cells[self.clock.cell() as usize].calls += 1;
                self.series.wide_calls[self.clock.wide() as usize] += 1;
            }
            Note::CallEnded(_) => {}
            Note::Entered(element) => self.ledger.layer(cell, element).entered += 1,
            Note::Retried(element, wait) => {
                let counts = self.ledger.layer(cell, element);
                counts.retries += 1;
                counts.waited_nanos += wait.as_nanos();
            }
            Note::GaveUp(element, why) => self.ledger.gave_up(cell, element, why),
            Note::Refused(element) => {
                self.ledger.layer(cell, element).refused += 1;
                self.ledger.cells[self.clock.cell() as usize].short_circuited += 1;
            }
        }
    }
}
