//! Steps that run at once: a run forks into members and goes on when they have all ended, or when one has failed and
//! the others are dropped.

use super::Engine;
use crate::policy::answer::Answer;
use crate::policy::hops::Standing;
use crate::policy::stack::{Cursor, Input};
use crate::sim::deliveries::Watch;
use crate::sim::marks::Marks;
use crate::sim::observer::Observer;
use crate::sim::record::{Doing, NO_TASK, Run, STEP_IS_DONE, Task};
use crate::traffic::WhenOneFails;

impl<O: Observer> Engine<'_, O> {
    /// Begins what the run is to do next: its step, or the group that begins with it. Says whether the run itself has
    /// begun a step.
    pub(super) fn begin_stage(&mut self, class: u16, run: u32) -> bool {
        let compiled = &self.classes[class as usize];
        if compiled.has_groups {
            let first = self.states[class as usize].runs.get(run).step;
            let end = compiled.settings.stage_end(first as usize) as u8;
            if end - first > 1 {
                self.fork(class, run, first, end);
                return false;
            }
        }
        self.begin_step(class, run);
        true
    }

    fn fork(&mut self, class: u16, run: u32, first: u8, end: u8) {
        let state = &mut self.states[class as usize];
        let record = state.runs.get_mut(run);
        (record.doing, record.marks) = (Doing::Joining, Marks::default());
        state.groups.open(run);
        for step in first..end {
            let state = &mut self.states[class as usize];
            let Run { task, slot, worker, deployed, .. } = *state.runs.get(run);
            if slot != NO_TASK && state.tasks.side_of(slot)[step as usize] & STEP_IS_DONE != 0 {
                continue;
            }
            let task = Task { requests: 0, ..task };
            let member = Run { task, slot, worker, deployed, step, cursor: Cursor::PART, ..Run::default() };
            let member = state.runs.insert(member);
            state.first_tokens.forget(member);
            state.groups.add(run, member);
            self.begin_step(class, member);
            self.advance(class, member, Input::Begin);
            if self.states[class as usize].groups.failed(run).is_some() && self.drops(class) {
                break;
            }
        }
        self.member_is_gone(class, run);
    }

    /// The run that waits for this one, if it is a member of a group.
    #[inline]
    pub(super) fn parent_of(&self, class: u16, run: u32) -> Option<u32> {
        if self.classes[class as usize].has_groups { self.states[class as usize].groups.parent(run) } else { None }
    }

    fn drops(&self, class: u16) -> bool {
        self.classes[class as usize].settings.when_one_fails == WhenOneFails::Cancel
    }

    /// The step of a member is over, with this answer.
    pub(super) fn member_ends(&mut self, class: u16, member: u32, parent: u32, answer: &Answer) {
        self.leave_group(class, member, parent);
        let state = &mut self.states[class as usize];
        let Run { slot, step, marks, .. } = *state.runs.get(member);
        state.runs.remove(member);
        state.first_tokens.join(member, parent);
        if !answer.is_delivered() {
            state.runs.get_mut(parent).marks.fail_member(marks);
            state.groups.fail(parent, *answer);
            if self.drops(class) {
                self.drop_members(class, parent);
            }
        } else if self.classes[class as usize].follows {
            // Other copies of the job know nothing of it, until this one has decided.
            let watch = state.deliveries.watch(parent);
            state.deliveries.set_watch(parent, Watch { done: watch.done | 1 << step, ..watch });
        } else if slot != NO_TASK {
            state.tasks.side_of(slot)[step as usize] |= STEP_IS_DONE;
        }
        self.member_is_gone(class, parent);
    }

    /// What the member has sent is its task's.
    pub(super) fn leave_group(&mut self, class: u16, member: u32, parent: u32) {
        self.leave_step(class, member);
        let state = &mut self.states[class as usize];
        state.groups.remove(member);
        let sent = std::mem::take(&mut state.runs.get_mut(member).task.requests);
        state.runs.get_mut(parent).task.requests += sent;
    }

    /// The run goes on when it waits for nobody any more.
    fn member_is_gone(&mut self, class: u16, run: u32) {
        let state = &mut self.states[class as usize];
        if !state.groups.is_last(run) {
            return;
        }
        let answer = state.groups.failed(run).unwrap_or(Answer::DELIVERED);
        let record = state.runs.get_mut(run);
        let mut first = Marks::default();
        if record.slot != NO_TASK {
            // Members have counted what was sent for the step that the run stands at.
            (first, record.ordinal) = Marks::unpack(state.tasks.side_of(record.slot)[record.step as usize]);
        }
        record.marks.join(first);
        self.advance(class, run, Input::Joined(answer));
    }

    /// Nobody wants what the other members do.
    fn drop_members(&mut self, class: u16, run: u32) {
        for member in self.states[class as usize].groups.members(run) {
            self.drop_member(class, member);
            self.leave_group(class, member, run);
            let state = &mut self.states[class as usize];
            state.groups.is_last(run);
            if state.runs.get(member).doing != Doing::Dropped {
                state.runs.remove(member);
            }
        }
    }

    /// Ends what a run without members is doing. Where an event is pending for it, its record stays until then.
    pub(super) fn drop_member(&mut self, class: u16, member: u32) {
        let now = self.now();
        let doing = self.states[class as usize].runs.get(member).doing;
        let (standing, is_pending) = match doing {
            Doing::InFlight | Doing::AtServer | Doing::Hanging | Doing::Travelling
                if self.hedge_of(class, member).is_some() =>
            {
                self.drop_flights(class, member);
                (Standing::InFlight, false)
            }
            Doing::InFlight | Doing::AtServer | Doing::Hanging => {
                self.leave(class, member);
                (Standing::InFlight, doing == Doing::InFlight)
            }
            Doing::Travelling => {
                self.turn_back(class, member);
                (Standing::InFlight, true)
            }
            // A member has no members, keeps its worker, and is dropped once.
            Doing::WaitingLimiter => match self.leaves_line(class, member) {
                Some(is_pending) => (Standing::InLine, is_pending),
                None => (Standing::Asleep, true),
            },
            Doing::WaitingRetry | Doing::WaitingWorker | Doing::Joining | Doing::Dropped => (Standing::Asleep, true),
        };
        let (stack, layers, mut host) = self.surroundings(class, member);
        let cursor = host.run.cursor;
        stack.client.cancel(layers, cursor, standing, now, &mut host);
        if is_pending {
            host.run.doing = Doing::Dropped;
        }
    }

    /// Takes the run out of a guard's line: whether an event of it is still to come, if it stood in one.
    fn leaves_line(&mut self, class: u16, run: u32) -> Option<bool> {
        let (guard, asker) = self.guard_before(class, run)?;
        self.bank.leave_line(guard, asker, run, self.clock.now())
    }

    /// Whether the run was dropped before this event of it came; then its record is free now.
    pub(super) fn was_dropped(&mut self, class: u16, run: u32) -> bool {
        if !self.classes[class as usize].cancels() {
            return false;
        }
        let runs = &mut self.states[class as usize].runs;
        let dropped = runs.get(run).doing == Doing::Dropped;
        if dropped {
            runs.remove(run);
        }
        dropped
    }
}
