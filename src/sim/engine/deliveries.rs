//! Messages: handed out, acknowledged, put back, given up. All runs of one message are one attempt of the queue: the
//! first that ends decides what becomes of the job, and the others are for nothing.

use super::Engine;
use super::closing::count_requests;
use crate::observe::ledger::JobCounts;
use crate::policy::stack::Place;
use crate::sim::crew::Held;
use crate::sim::deliveries::{Message, NO_MESSAGE, Watch};
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::{Fate, Observer};
use crate::sim::record::{Doing, Run};
use crate::sim::workforce::Waiter;
use crate::traffic::Delivery;
use crate::units::{SimDuration, SimTime};

/// A queue that says nothing: what it hands out is gone from it.
static PLAIN: Delivery = Delivery {
    late: false,
    visibility: None,
    renews: false,
    at_once_after_crash: true,
    look_every: None,
    first_look: SimDuration::ZERO,
    held_delays: false,
    front: false,
    removes_all: false,
    receives_at_most: None,
    redeliveries_at_most: None,
    timeout: None,
    expires: None,
    deadline: None,
};

impl<'a, O: Observer> Engine<'a, O> {
    fn delivery(&self, class: u16) -> &'a Delivery {
        self.classes[class as usize].settings.queueing.delivery.as_deref().unwrap_or(&PLAIN)
    }

    fn jobs(&mut self, class: u16, task: u32) -> &mut JobCounts {
        let state = &mut self.states[class as usize];
        &mut state.ledger.cells[state.tasks.get(task).cell as usize].jobs
    }

    /// A job has arrived that is followed from now on.
    pub(super) fn job_is_followed(&mut self, class: u16, task: u32) {
        self.states[class as usize].deliveries.open(task);
        if let Some(deadline) = self.delivery(class).deadline {
            let due = self.now() + deadline;
            self.events.push(due, Rank::Intervene, Event::TaskIsDue { class, task }.pack());
        }
    }

    /// The job has its place in the queue: the message that stands for it there, if it is still wanted.
    pub(super) fn new_message(&mut self, class: u16, task: u32) -> Option<u32> {
        let deliveries = &mut self.states[class as usize].deliveries;
        if deliveries.docket(task).is_over {
            deliveries.docket(task).messages -= 1;
            self.forget_task(class, task);
            return None;
        }
        let message = Message { task, copies: 1, queued: 1, due: SimTime::NEVER, ..Message::default() };
        let message = deliveries.messages.insert(message);
        deliveries.docket(task).newest = Some(message);
        Some(message)
    }

    /// A job is to begin at `at` at the earliest, and its delay is spent in a process: says whether that is so, and then
    /// the job is in the queue.
    pub(super) fn delays_in_process(&mut self, class: u16, task: u32, at: SimTime, place: Place) -> bool {
        if !self.classes[class as usize].follows || !self.delivery(class).held_delays {
            return false;
        }
        let Some(message) = self.new_message(class, task) else { return true };
        self.states[class as usize].deliveries.messages.get_mut(message).not_before = at;
        let (force, member) = (self.classes[class as usize].force, self.classes[class as usize].member);
        self.forces[force as usize].enqueue(member, Waiter::Message(message), place == Place::Front);
        self.stirred |= 1 << force;
        true
    }

    /// The delay of a message is over that waits in a process, if it still does.
    pub(super) fn delay_ends(&mut self, class: u16, message: u32) {
        let force = self.classes[class as usize].force;
        if let Some(crew) = &mut self.forces[force as usize].crew {
            crew.delay_ends(Held { class, message });
        }
        self.stirred |= 1 << force;
    }

    /// Whether somebody who was taken out of the queue lies there in vain; then nothing is left of him.
    pub(super) fn is_void(&mut self, class: u16, waiter: Waiter) -> bool {
        let message = match waiter {
            Waiter::Run(run) => return self.was_dropped(class, run),
            Waiter::Task(_) => return false,
            Waiter::Message(message) => message,
        };
        let deliveries = &mut self.states[class as usize].deliveries;
        let (known, _) = deliveries.of_message(message);
        if known.is_cancelled {
            // It has left the count of those who wait before.
            known.copies -= 1;
            self.let_go(class, message);
            return true;
        }
        known.queued -= 1;
        if self.expires(class, message) {
            let workers = &mut self.forces[self.classes[class as usize].force as usize];
            workers.leave(self.classes[class as usize].member, 1);
            return true;
        }
        false
    }

    /// Whether the job of a message that is taken has waited too long; then it is given up.
    pub(super) fn expires(&mut self, class: u16, message: u32) -> bool {
        let Some(expires) = self.delivery(class).expires else { return false };
        let now = self.now();
        let state = &mut self.states[class as usize];
        let task = state.deliveries.messages.get(message).task;
        if now <= state.tasks.get(task).arrived + expires {
            return false;
        }
        let (known, docket) = state.deliveries.of_message(message);
        known.copies -= 1;
        (known.is_settled, known.is_delivered, known.due) = (true, false, SimTime::NEVER);
        let is_over = std::mem::replace(&mut docket.is_over, true);
        if !is_over {
            self.end_without_run(class, task, Fate::Abandoned, |_| {});
        }
        self.let_go(class, message);
        true
    }

    /// A message that waited is thrown away; its job ends unless another copy runs.
    pub(super) fn throw_message_away(&mut self, class: u16, message: u32) {
        let (known, docket) = self.states[class as usize].deliveries.of_message(message);
        known.copies -= 1;
        if docket.running == 0 && !docket.is_over {
            (known.is_settled, known.is_delivered, known.due) = (true, false, SimTime::NEVER);
            docket.is_over = true;
            let task = known.task;
            self.end_without_run(class, task, Fate::Abandoned, |_| {});
        }
        self.let_go(class, message);
    }

    /// The queue hands out a message.
    pub(super) fn hand_out(&mut self, class: u16, message: u32) {
        let delivery = self.delivery(class);
        let now = self.now();
        let (known, docket) = self.states[class as usize].deliveries.of_message(message);
        docket.receives += 1;
        known.is_delivered = true;
        known.due = SimTime::NEVER;
        if !delivery.renews {
            self.wind(class, message, now);
        }
    }

    /// The clock of a message begins: when it will be seen to be overdue.
    pub(super) fn wind(&mut self, class: u16, message: u32, from: SimTime) {
        let delivery = self.delivery(class);
        let Some(visibility) = delivery.visibility else { return };
        let due = seen(delivery, from + visibility);
        self.states[class as usize].deliveries.messages.get_mut(message).due = due;
        self.events.push(due, Rank::Attempt, Event::Overdue { class, message }.pack());
    }

    /// A worker begins with a message that is handed out to it, or that its process has.
    pub(super) fn begin_message(&mut self, class: u16, message: u32, worker: u32) {
        let force = self.classes[class as usize].force;
        let crew = self.forces[force as usize].crew.as_ref();
        let process = crew.map_or(0, |crew| crew.process(worker));
        if !crew.is_some_and(|crew| crew.prefetches()) {
            self.hand_out(class, message);
        }
        let delivery = self.delivery(class);
        let now = self.now();
        let (known, docket) = self.states[class as usize].deliveries.of_message(message);
        let (task, copy) = (known.task, known.starts);
        known.starts += 1;
        docket.running += 1;
        let running = u64::from(docket.running);
        self.note_copies(class, task);
        let jobs = self.jobs(class, task);
        jobs.copies += u64::from(copy > 0);
        jobs.most_copies = jobs.most_copies.max(running);
        if !delivery.late {
            self.acknowledge(class, message, process);
        }
        let ends = delivery.timeout.map_or(SimTime::NEVER, |timeout| now + timeout);
        let record = *self.states[class as usize].tasks.get(task);
        let run = self.new_run(class, record, task, worker);
        let state = &mut self.states[class as usize];
        // What a run sends is added to its job when it ends.
        let own = &mut state.runs.get_mut(run).task;
        own.requests = 0;
        state.tasks.get_mut(task).runs = own.runs;
        state.deliveries.set_watch(run, Watch { message, ends, process, copy, done: 0 });
        if ends < SimTime::NEVER {
            self.events.push(ends, Rank::Intervene, Event::RunTimesOut { class, run }.pack());
        }
        self.worker_has(class, worker, Some(run));
        self.start_run(class, run);
    }

    /// A message is acknowledged by a process.
    pub(super) fn acknowledge(&mut self, class: u16, message: u32, process: u32) {
        let removes_all = self.delivery(class).removes_all;
        let force = self.classes[class as usize].force as usize;
        if let Some(crew) = &mut self.forces[force].crew {
            crew.acknowledges(process, Held { class, message });
        }
        let known = self.states[class as usize].deliveries.messages.get_mut(message);
        (known.is_delivered, known.due) = (false, SimTime::NEVER);
        if removes_all {
            self.cancel(class, message);
        }
    }

    /// Copies of a message that wait are not run any more.
    pub(super) fn cancel(&mut self, class: u16, message: u32) {
        let known = self.states[class as usize].deliveries.messages.get_mut(message);
        known.is_cancelled = true;
        let queued = std::mem::take(&mut known.queued);
        let (force, member) = (self.classes[class as usize].force, self.classes[class as usize].member);
        self.forces[force as usize].leave(member, queued);
        self.stirred |= 1 << force;
    }

    /// A message that was handed out may be overdue.
    pub(super) fn overdue(&mut self, class: u16, message: u32) {
        let now = self.now();
        let known = self.states[class as usize].deliveries.messages.get_mut(message);
        if known.is_delivered && known.due == now {
            (known.is_delivered, known.due) = (false, SimTime::NEVER);
            self.put_back(class, message);
        }
    }

    /// A message comes back into the queue, if it may.
    pub(super) fn put_back(&mut self, class: u16, message: u32) {
        let delivery = self.delivery(class);
        let (known, docket) = self.states[class as usize].deliveries.of_message(message);
        if known.is_cancelled {
            return self.let_go(class, message);
        }
        let task = known.task;
        let most = |most: Option<u32>, count| most.is_some_and(|most| count >= most);
        if most(delivery.receives_at_most, docket.receives) || most(delivery.redeliveries_at_most, docket.redeliveries)
        {
            // A run that is under way may still decide.
            if docket.running == 0 && known.copies == 0 && !std::mem::replace(&mut docket.is_over, true) {
                known.is_settled = true;
                self.end_without_run(class, task, Fate::Failed, |jobs| jobs.dead += 1);
            }
            return self.let_go(class, message);
        }
        docket.redeliveries += 1;
        known.copies += 1;
        known.queued += 1;
        self.jobs(class, task).redelivered += 1;
        let (force, member) = (self.classes[class as usize].force, self.classes[class as usize].member);
        self.forces[force as usize].enqueue(member, Waiter::Message(message), delivery.front);
        self.stirred |= 1 << force;
    }

    /// Whether a job that has failed is not put back, because it has been handed out often enough.
    pub(super) fn is_dead_letter(&mut self, class: u16, run: u32) -> bool {
        let most = self.delivery(class).receives_at_most;
        let state = &mut self.states[class as usize];
        let task = state.runs.get(run).slot;
        most.is_some_and(|most| state.deliveries.docket(task).receives >= most)
    }

    /// What is known of a run whose job is followed.
    #[inline]
    pub(super) fn watch(&self, class: u16, run: u32) -> Option<Watch> {
        if !self.classes[class as usize].follows {
            return None;
        }
        Some(self.states[class as usize].deliveries.watch(run)).filter(|watch| watch.message != NO_MESSAGE)
    }

    /// A run is over: what it sent is its job's. Says whether it is the first of its message, which decides.
    pub(super) fn settles(&mut self, class: u16, run: u32, watch: Watch) -> bool {
        let late = self.delivery(class).late;
        self.leaves_job(class, run, watch);
        if late {
            self.acknowledge(class, watch.message, watch.process);
        }
        let (known, docket) = self.states[class as usize].deliveries.of_message(watch.message);
        !std::mem::replace(&mut known.is_settled, true) && !docket.is_over
    }

    /// A run of a job is no longer under way.
    pub(super) fn leaves_job(&mut self, class: u16, run: u32, watch: Watch) {
        let state = &mut self.states[class as usize];
        state.deliveries.set_watch(run, Watch::NONE);
        let sent = std::mem::take(&mut state.runs.get_mut(run).task.requests);
        state.tasks.get_mut(state.runs.get(run).slot).requests += sent;
        let (known, docket) = state.deliveries.of_message(watch.message);
        known.copies -= 1;
        docket.running -= 1;
        let task = known.task;
        self.note_copies(class, task);
    }

    /// The runs of a job that are under way may be others than before, or its fate may be known.
    fn note_copies(&mut self, class: u16, task: u32) {
        let bin = self.clock.narrow();
        self.states[class as usize].deliveries.note_copies(task, bin);
    }

    /// A run ends that has decided what becomes of its job.
    pub(super) fn end_job(
        &mut self,
        class: u16,
        run: u32,
        message: u32,
        fate: Fate,
        count: impl FnOnce(&mut JobCounts),
    ) {
        let Run { slot, worker, .. } = *self.states[class as usize].runs.get(run);
        count(self.jobs(class, slot));
        let docket = self.states[class as usize].deliveries.docket(slot);
        (docket.is_over, docket.has_failed) = (true, fate == Fate::Failed);
        self.note_copies(class, slot);
        self.count_fate(class, run, fate);
        self.states[class as usize].runs.remove(run);
        self.let_go(class, message);
        self.release(class, worker);
    }

    /// A run ends that has decided nothing.
    pub(super) fn end_wasted(&mut self, class: u16, run: u32, watch: Watch) {
        let Run { slot, worker, .. } = *self.states[class as usize].runs.get(run);
        self.jobs(class, slot).wasted_runs += 1;
        self.states[class as usize].runs.remove(run);
        self.let_go(class, watch.message);
        self.release(class, worker);
    }

    /// The fate of a job is known of which no run is under way that could have decided it.
    pub(super) fn end_without_run(&mut self, class: u16, task: u32, fate: Fate, count: impl FnOnce(&mut JobCounts)) {
        count(self.jobs(class, task));
        let state = &mut self.states[class as usize];
        let docket = state.deliveries.docket(task);
        (docket.is_over, docket.has_failed) = (true, fate == Fate::Failed);
        self.note_copies(class, task);
        let state = &mut self.states[class as usize];
        let record = *state.tasks.get(task);
        let step = record.next_step;
        let marks = crate::sim::marks::Marks::unpack(state.tasks.side(task)[step as usize]).0;
        // Fates are counted of a run.
        let run = state.runs.insert(Run { task: record, slot: task, step, marks, ..Run::default() });
        self.count_fate(class, run, fate);
        self.states[class as usize].runs.remove(run);
    }

    /// A message is forgotten when no copy of it is left and none can come back; and with the last one its job.
    pub(super) fn let_go(&mut self, class: u16, message: u32) {
        let (known, docket) = self.states[class as usize].deliveries.of_message(message);
        if known.copies > 0 || known.is_delivered {
            return;
        }
        let task = known.task;
        docket.messages -= 1;
        docket.newest = docket.newest.filter(|newest| *newest != message);
        self.states[class as usize].deliveries.messages.remove(message);
        self.forget_task(class, task);
    }

    fn forget_task(&mut self, class: u16, task: u32) {
        let state = &mut self.states[class as usize];
        let docket = *state.deliveries.docket(task);
        if docket.messages == 0 && docket.is_over {
            count_requests(&mut state.ledger, state.tasks.get(task), docket.has_failed);
            let ordinal = state.tasks.get(task).index;
            state.tasks.remove(task);
            self.bank.forget(class, ordinal);
            if let Some(billing) = &mut self.billing {
                billing.close(class, task, docket.has_failed, &mut state.ledger);
            }
        }
    }

    /// The run of the simulation ends: what is under way belongs to its jobs, and copies that are left are counted.
    pub(super) fn close_followed(&mut self, class: u16) {
        for run in self.states[class as usize].runs.slots() {
            let state = &mut self.states[class as usize];
            if state.runs.get(run).doing != Doing::Dropped && state.deliveries.watch(run).message != NO_MESSAGE {
                let sent = std::mem::take(&mut state.runs.get_mut(run).task.requests);
                state.tasks.get_mut(state.runs.get(run).slot).requests += sent;
            }
        }
        for message in self.states[class as usize].deliveries.messages.slots() {
            let (known, docket) = self.states[class as usize].deliveries.of_message(message);
            let (task, left) = (known.task, if known.is_cancelled { docket.running } else { known.copies });
            if docket.is_over {
                self.jobs(class, task).copies_left += u64::from(left);
            }
        }
    }
}

/// When somebody sees what happens at an instant.
fn seen(delivery: &Delivery, at: SimTime) -> SimTime {
    let Some(every) = delivery.look_every else { return at };
    let first = SimTime::ZERO + delivery.first_look;
    if at <= first {
        return first;
    }
    first + every.times((at - first).as_nanos().div_ceil(every.as_nanos()))
}
