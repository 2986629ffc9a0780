//! The course of a run: its steps, its walks through the stack, its waits, its end.

use super::Engine;
use super::closing::count_requests;
use super::walker::Walker;
use crate::observe::WorkerActivity;
use crate::policy::answer::Outcome;
use crate::policy::retry::LayerState;
use crate::policy::stack::{Input, Next, Place, Requeue, Resume, Waiting};
use crate::random::stream::mix;
use crate::random::{Distribution, Stream};
use crate::sim::bank::Asker;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::line::InLine;
use crate::sim::marks::Marks;
use crate::sim::observer::{Fact, Fate, Observer};
use crate::sim::origins::NO_ORIGIN;
use crate::sim::record::{Doing, NO_TASK, NO_WORKER, Run, STEP_IS_DONE, Task};
use crate::sim::workforce::Waiter;
use crate::sim::world::{Stack, purpose};
use crate::units::SimTime;

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn begin_run(&mut self, class: u16, task: Task, slot: u32, worker: u32) {
        let run = self.new_run(class, task, slot, worker);
        self.start_run(class, run);
    }

    /// The record of a run that begins.
    pub(super) fn new_run(&mut self, class: u16, mut task: Task, slot: u32, worker: u32) -> u32 {
        let now = self.now();
        let state = &mut self.states[class as usize];
        task.runs += 1;
        state.ledger.cells[task.cell as usize].runs += 1;
        let compiled = &self.classes[class as usize];
        let deployed = if compiled.deploys.is_empty() { 0 } else { compiled.deployed(now, worker, task.index) };
        let run = state.runs.insert(Run { task, slot, worker, step: task.next_step, deployed, ..Run::default() });
        state.first_tokens.forget(run);
        if self.classes[class as usize].counts_sends && slot == NO_TASK {
            state.begin_sends(run);
        }
        if let Some(billing) = self.billing.as_mut().filter(|_| slot == NO_TASK) {
            billing.open(class, run, task.cell);
        }
        if state.origins.are_kept() && slot == NO_TASK {
            state.origins.keep(run);
        }
        let stack = self.classes[class as usize].stack(task.next_step, deployed);
        if let Some(queue) = stack.client.queue_element() {
            let (saved, layer) = (&mut state.queue_states[slot as usize], &mut state.runs.side_of(run)[queue]);
            if task.runs == 1 {
                *saved = LayerState::entered(now);
                state.ledger.layer(task.cell, stack.first_row + queue).entered += 1;
            }
            *layer = *saved;
        }
        run
    }

    pub(super) fn start_run(&mut self, class: u16, run: u32) {
        if self.begin_stage(class, run) {
            self.advance(class, run, Input::Begin);
        }
    }

    pub(super) fn begin_step(&mut self, class: u16, run: u32) {
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        let step = record.step as usize;
        let settings = &compiled.settings.steps[step];
        record.calls = 0;
        let known = if record.slot == NO_TASK { 0 } else { state.tasks.side_of(record.slot)[step] & !STEP_IS_DONE };
        (record.marks, record.ordinal) = Marks::unpack(known);
        record.key = compiled.step_key(record.task.index, step);
        let mut draws = record.key.with(purpose::TOKENS).stream();
        record.input_tokens = tokens(&settings.input_tokens, &mut draws);
        record.output_tokens = tokens(&settings.output_tokens, &mut draws);
        if let Some(sizes) = &compiled.settings.sizes {
            let origin = if sizes.need_origin() {
                let home = if compiled.has_groups { state.groups.home(run) } else { run };
                state.origins.of(if record.slot == NO_TASK { home } else { record.slot })
            } else {
                NO_ORIGIN
            };
            let own = (record.input_tokens, record.output_tokens);
            let said = sizes.of(record.task.index, origin, step, own, &mut draws);
            (record.input_tokens, record.output_tokens) = said;
        }
        if compiled.follows {
            let copy = state.deliveries.watch(if compiled.has_groups { state.groups.home(run) } else { run }).copy;
            if copy > 0 {
                record.key = record.key.with(purpose::COPY).with(u64::from(copy));
            }
        }
        state.ledger.cells[record.task.cell as usize].steps_reached += 1;
    }

    /// Keeps what the job's own record must know of the run's current step.
    pub(super) fn leave_step(&mut self, class: u16, run: u32) {
        let state = &mut self.states[class as usize];
        let record = state.runs.get(run);
        if record.slot != NO_TASK {
            let known = &mut state.tasks.side_of(record.slot)[record.step as usize];
            let marks = record.marks.pack(record.ordinal);
            *known = if self.classes[class as usize].follows { Marks::join_copies(*known, marks) } else { marks };
        }
    }

    /// Goes on to this step; where it has another client, the queue's state moves to its place there.
    pub(super) fn go_to_step(&mut self, class: u16, run: u32, step: u8) {
        let compiled = &self.classes[class as usize];
        let (record, layers) = self.states[class as usize].runs.parts(run);
        let deployed = record.deployed;
        let queue_of = |step| compiled.stack(step, deployed).client.queue_element();
        let before = queue_of(record.step);
        record.step = step;
        if let (Some(from), Some(to)) = (before, queue_of(record.step)) {
            layers[to] = layers[from];
        }
    }

    pub(super) fn wait_ends(&mut self, class: u16, run: u32, activity: WorkerActivity) {
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
    pub(super) fn worked(&mut self, class: u16, worker: u32, activity: WorkerActivity) {
        let now = self.now();
        let (force, member, worker) = self.place_of(class, worker);
        let mut from = self.forces[force as usize].close(member, worker, activity, now);
        let state = &mut self.states[class as usize];
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
    pub(super) fn advance(&mut self, class: u16, run: u32, input: Input) {
        let mut input = input;
        loop {
            let next = self.walk(class, run, input);
            match next {
                Next::Send => return self.send(class, run),
                Next::Sleep { until, why, holds_worker } => return self.sleep(class, run, until, why, holds_worker),
                Next::Park(until) => return self.park(class, run, until),
                Next::Line(until) => return self.stand_in_line(class, run, until),
                Next::Requeue { at, requeue, holds_queue } => {
                    let (at, requeue) = if holds_queue { self.hold_queue(class, at, requeue) } else { (at, requeue) };
                    return self.requeue(class, run, at, requeue);
                }
                Next::Done(answer) => {
                    if let Some(parent) = self.parent_of(class, run) {
                        return self.member_ends(class, run, parent, &answer);
                    }
                    if !answer.is_delivered() {
                        return self.end_task(class, run, Fate::Failed);
                    }
                    let settings = self.classes[class as usize].settings;
                    let next = settings.stage_end(self.states[class as usize].runs.get(run).step as usize);
                    if next == settings.steps.len() {
                        return self.end_task(class, run, Fate::Delivered);
                    }
                    self.leave_step(class, run);
                    self.go_to_step(class, run, next as u8);
                    if !self.begin_stage(class, run) {
                        return;
                    }
                    input = Input::Begin;
                }
            }
        }
    }

    /// One walk through the client's stack.
    pub(super) fn walk(&mut self, class: u16, run: u32, input: Input) -> Next {
        let now = self.clock.now();
        let (stack, layers, mut host) = self.surroundings(class, run);
        let mut cursor = host.run.cursor;
        let next = stack.client.advance(layers, &mut cursor, input, now, &mut host);
        host.run.cursor = cursor;
        next
    }

    /// The client of the run's step, the states of its elements, and what they need of the world.
    #[inline]
    pub(super) fn surroundings(&mut self, class: u16, run: u32) -> (&Stack<'a>, &mut [LayerState], Walker<'_, 'a>) {
        let compiled = &self.classes[class as usize];
        let state = &mut self.states[class as usize];
        let (record, layers) = state.runs.parts(run);
        let stack = compiled.of_run(record);
        let walker = Walker {
            class,
            compiled,
            stack,
            run: record,
            slot: run,
            bank: &mut self.bank,
            ledger: &mut state.ledger,
            series: &mut state.series,
            clock: &self.clock,
        };
        (stack, layers, walker)
    }

    pub(super) fn sleep(&mut self, class: u16, run: u32, until: SimTime, why: Waiting, holds_worker: bool) {
        let record = self.states[class as usize].runs.get_mut(run);
        let event;
        (record.doing, event) = match why {
            Waiting::Retry => (Doing::WaitingRetry, Event::RetryWaitEnds { class, run }),
            Waiting::Limiter => (Doing::WaitingLimiter, Event::LimiterWaitEnds { class, run }),
        };
        debug_assert!(until >= self.clock.now(), "nobody wakes in the past");
        self.events.push(until, Rank::Attempt, event.pack());
        // The other steps of a group go on with the worker.
        if !holds_worker && !record.cursor.is_part() {
            let worker = std::mem::replace(&mut record.worker, NO_WORKER);
            self.release(class, worker);
        }
    }

    /// The run waits until a guard changes, or until nobody waits for it.
    fn park(&mut self, class: u16, run: u32, until: SimTime) {
        self.states[class as usize].runs.get_mut(run).doing = Doing::WaitingLimiter;
        if until < SimTime::NEVER {
            self.events.push(until, Rank::Attempt, Event::LineEnds { class, run }.pack());
        }
    }

    /// The run waits until a guard calls it up, or until it gives up.
    pub(super) fn stand_in_line(&mut self, class: u16, run: u32, until: SimTime) {
        let now = self.now();
        self.states[class as usize].runs.get_mut(run).doing = Doing::WaitingLimiter;
        let Some((guard, asker)) = self.guard_before(class, run) else { return };
        self.bank.stand_in_line(guard, asker, InLine { class, run, since: now, until });
        if until < SimTime::NEVER {
            // Behind the releases of its instant: a permit that comes back then is in time.
            self.events.push(until, Rank::Attempt, Event::LineEnds { class, run }.pack());
        }
    }

    /// The run's patience is over, if it stands in line still: it may have been called up, or be another run by now.
    pub(super) fn line_ends(&mut self, class: u16, run: u32) {
        let now = self.now();
        if self.states[class as usize].runs.get(run).doing != Doing::WaitingLimiter {
            return;
        }
        let Some((guard, asker)) = self.guard_before(class, run) else { return };
        let Some(why) = self.bank.give_up(guard, asker, run, now).or_else(|| self.leaves_hold(class, run)) else {
            return;
        };
        if asker.worker != NO_WORKER {
            self.worked(class, asker.worker, WorkerActivity::WaitingLimiter);
        }
        self.advance(class, run, Input::Refused(why));
    }

    /// Whether the run has waited for a breaker of a hop as long as its client waits for the hop; then it stands there no
    /// more.
    fn leaves_hold(&mut self, class: u16, run: u32) -> Option<Outcome> {
        let now = self.now();
        let (guard, asker) = self.guard_before(class, run)?;
        let runs = &self.states[class as usize].runs;
        let record = runs.get(run);
        let client = self.classes[class as usize].of_run(record).client;
        let is_left = client.has_left_hops(runs.side(run), now) && self.bank.unpark(guard, asker.class, run, now);
        is_left.then_some(Outcome::ShortCircuited)
    }

    /// The guard at which the run stands, if it is one, and the run as the guard sees it.
    pub(super) fn guard_before(&self, class: u16, run: u32) -> Option<(usize, Asker)> {
        let record = self.states[class as usize].runs.get(run);
        let stack = self.classes[class as usize].of_run(record);
        let guard = stack.client.elements().get(record.cursor.element())?.role.guard()?;
        Some((guard, record.asker(class, stack.shares_with)))
    }

    /// The run failed and the queue wants another one.
    pub(super) fn requeue(&mut self, class: u16, run: u32, at: SimTime, requeue: Requeue) {
        let now = self.now();
        self.leave_step(class, run);
        let watch = self.watch(class, run);
        if let Some(watch) = watch
            && !self.settles(class, run, watch)
        {
            return self.end_wasted(class, run, watch);
        }
        if let Some(watch) = watch
            && self.is_dead_letter(class, run)
        {
            return self.end_job(class, run, watch.message, Fate::Failed, |jobs| jobs.dead += 1);
        }
        let state = &mut self.states[class as usize];
        let Run { mut task, slot, worker, step, deployed, .. } = *state.runs.get(run);
        if let Some(queue) = self.classes[class as usize].stack(step, deployed).client.queue_element() {
            state.queue_states[slot as usize] = state.runs.side_of(run)[queue];
        }
        task.next_step = match requeue.resume {
            Resume::Restart => {
                state.tasks.side_of(slot).iter_mut().for_each(|requests| *requests &= !STEP_IS_DONE);
                0
            }
            Resume::FailedStep => step,
        };
        if let Some(watch) = watch {
            if requeue.resume == Resume::FailedStep {
                let done =
                    |(step, requests): (usize, &mut u32)| *requests |= STEP_IS_DONE * (watch.done >> step & 1) as u32;
                state.tasks.side_of(slot).iter_mut().enumerate().for_each(done);
            }
            state.tasks.get_mut(slot).next_step = task.next_step;
            state.deliveries.docket(slot).messages += 1;
            self.let_go(class, watch.message);
        } else {
            *state.tasks.get_mut(slot) = task;
        }
        let state = &mut self.states[class as usize];
        state.runs.remove(run);
        if at > now && self.delays_in_process(class, slot, at, requeue.place) {
            // It waits for its time in a process.
        } else if at > now {
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

    pub(super) fn end_task(&mut self, class: u16, run: u32, fate: Fate) {
        if let Some(watch) = self.watch(class, run) {
            self.leave_step(class, run);
            if self.settles(class, run, watch) {
                self.end_job(class, run, watch.message, fate, |_| {});
            } else {
                self.end_wasted(class, run, watch);
            }
            return;
        }
        let state = &mut self.states[class as usize];
        let Run { task, slot, worker, .. } = *state.runs.get(run);
        state.runs.remove(run);
        if slot != NO_TASK {
            state.tasks.remove(slot);
        }
        count_requests(&mut state.ledger, &task, fate == Fate::Failed);
        if let Some(billing) = &mut self.billing {
            let home = if slot == NO_TASK { run } else { slot };
            billing.close(class, home, fate == Fate::Failed, &mut state.ledger);
        }
        self.count_fate(class, run, fate);
        self.release(class, worker);
    }

    /// Counts how a task ends whose last run, or the one that decided, this was.
    pub(super) fn count_fate(&mut self, class: u16, run: u32, fate: Fate) {
        let now = self.now();
        let state = &mut self.states[class as usize];
        let Run { task, slot, marks, .. } = *state.runs.get(run);
        let cell = task.cell as usize;
        match fate {
            Fate::Delivered => {
                state.ledger.cells[cell].delivered += 1;
                state.ledger.latencies[cell].record(now - task.arrived);
                if let Some(delivered) = state.series.deliveries.get_mut(self.clock.narrow() as usize) {
                    *delivered += 1;
                }
                if let Some(first) = state.first_tokens.of(run) {
                    state.ledger.first_tokens[cell].record(first - task.arrived);
                }
            }
            Fate::Failed => {
                state.ledger.cells[cell].failed += 1;
                state.ledger.cells[cell].failed_with_effect += u64::from(marks.has_failed_with_effect());
                state.series.failures[self.clock.narrow() as usize] += 1;
            }
            Fate::Abandoned => state.ledger.cells[cell].jobs.abandoned += 1,
        }
        let key = self.classes[class as usize].key.with(u64::from(task.index));
        self.digest = self.digest.wrapping_add(mix(key.with(fate as u64).bits() ^ mix(!now.as_nanos())));
        self.show(|| Fact::TaskEnded { class, task: task.index, at: now, fate });
        if !self.classes[class as usize].follows {
            self.bank.forget(class, task.index);
        }
        if self.states[class as usize].origins.has_loops() {
            self.session_thinks(class, if slot == NO_TASK { run } else { slot });
        }
    }
}

/// A whole number of tokens.
fn tokens(distribution: &Distribution, draws: &mut Stream) -> u32 {
    (distribution.sample(draws) + 0.5) as u32
}
