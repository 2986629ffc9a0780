//! Runs that do not come to their end: their time is over, their worker dies, nobody wants their job any more.

use super::Engine;
use crate::observe::WorkerActivity;
use crate::policy::answer::Answer;
use crate::policy::stack::{Cursor, Input};
use crate::sim::deliveries::Watch;
use crate::sim::observer::{Fate, Observer};
use crate::sim::record::{Doing, NO_TASK, NO_WORKER, Run};
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    /// The time of a run is over, if it is still the one of which this was said: its queue sees a timeout.
    pub(super) fn run_times_out(&mut self, class: u16, run: u32) {
        let now = self.now();
        if self.watch(class, run).is_none_or(|watch| watch.ends != now) {
            return;
        }
        let run = self.kill(class, run);
        let record = *self.states[class as usize].runs.get(run);
        self.states[class as usize].ledger.cells[record.task.cell as usize].jobs.timed_out_runs += 1;
        self.advance(class, run, Input::Joined(Answer::TIMED_OUT));
    }

    /// The time of a job is over, if it is still the one of which this was said: it is dropped, wherever it is.
    pub(super) fn task_is_due(&mut self, class: u16, task: u32) {
        let now = self.now();
        let deadline = self.classes[class as usize].settings.queueing.delivery.as_ref().and_then(|d| d.deadline);
        let state = &mut self.states[class as usize];
        let docket = *state.deliveries.docket(task);
        let is_same = deadline.is_some_and(|deadline| state.tasks.get(task).arrived + deadline == now);
        if !is_same || docket.is_over || docket.messages == 0 {
            return;
        }
        state.deliveries.docket(task).is_over = true;
        // Most jobs have no run, and one message.
        let runs = if docket.running > 0 { self.states[class as usize].runs.slots() } else { Vec::new() };
        for run in runs {
            let record = self.states[class as usize].runs.get(run);
            let is_own = record.slot == task && record.doing != Doing::Dropped;
            if is_own && let Some(watch) = self.watch(class, run) {
                let run = self.kill(class, run);
                self.settles(class, run, watch);
                let worker = self.states[class as usize].runs.get(run).worker;
                self.states[class as usize].runs.remove(run);
                self.release(class, worker);
            }
        }
        self.end_without_run(class, task, Fate::Abandoned, |_| {});
        let deliveries = &mut self.states[class as usize].deliveries;
        let docket = *deliveries.docket(task);
        let messages = match docket.newest {
            _ if docket.messages == 0 => Vec::new(),
            Some(only) if docket.messages == 1 => vec![only],
            _ => deliveries.messages.slots(),
        };
        for message in messages {
            let known = self.states[class as usize].deliveries.messages.get_mut(message);
            if known.task == task {
                (known.is_delivered, known.due, known.is_settled) = (false, SimTime::NEVER, true);
                self.cancel(class, message);
                self.let_go(class, message);
            }
        }
    }

    /// Ends what a run is doing, and gives another record that stands where the run stood outside of its step: what is
    /// pending for the old one finds nobody.
    pub(super) fn kill(&mut self, class: u16, run: u32) -> u32 {
        let record = *self.states[class as usize].runs.get(run);
        let mut is_pending = false;
        if record.doing == Doing::Joining {
            for member in self.states[class as usize].groups.members(run) {
                self.rest(class, member);
                self.drop_member(class, member);
                self.leave_group(class, member, run);
                let state = &mut self.states[class as usize];
                state.groups.is_last(run);
                if state.runs.get(member).doing != Doing::Dropped {
                    state.runs.remove(member);
                }
            }
        } else {
            self.rest(class, run);
            self.drop_member(class, run);
            is_pending = self.states[class as usize].runs.get(run).doing == Doing::Dropped;
            self.leave_step(class, run);
        }
        let watch = self.states[class as usize].deliveries.watch(run);
        let state = &mut self.states[class as usize];
        let before = *state.runs.get(run);
        let layers = state.runs.side(run).to_vec();
        let stands = state.runs.insert(Run { doing: Doing::InFlight, cursor: Cursor::default(), ..before });
        state.runs.side_of(stands).copy_from_slice(&layers);
        state.first_tokens.forget(stands);
        state.deliveries.set_watch(stands, Watch { ends: SimTime::NEVER, ..watch });
        state.deliveries.set_watch(run, Watch::NONE);
        if is_pending {
            let old = state.runs.get_mut(run);
            (old.slot, old.worker, old.task.requests) = (NO_TASK, NO_WORKER, 0);
        } else {
            state.runs.remove(run);
        }
        self.worker_has(class, before.worker, Some(stands));
        stands
    }

    /// What the worker of a run that waits did until now.
    fn rest(&mut self, class: u16, run: u32) {
        let Run { worker, doing, .. } = *self.states[class as usize].runs.get(run);
        let activity = match doing {
            Doing::WaitingRetry => WorkerActivity::WaitingRetry,
            Doing::WaitingLimiter => WorkerActivity::WaitingLimiter,
            Doing::WaitingWorker => {
                // It waits in the queue in vain from now on.
                let (force, member) = (self.classes[class as usize].force, self.classes[class as usize].member);
                return self.forces[force as usize].leave(member, 1);
            }
            Doing::InFlight
            | Doing::AtServer
            | Doing::Hanging
            | Doing::Joining
            | Doing::Travelling
            | Doing::Dropped => {
                return;
            }
        };
        if worker != NO_WORKER {
            self.worked(class, worker, activity);
        }
    }
}
