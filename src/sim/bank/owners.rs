//! Instances of guards and retry budgets that live no longer than a call, a run or a task: made when their owner first
//! asks, and gone with it. What it costs is paid by scenarios that have such a scope.

use std::collections::BTreeMap;

use super::{Asker, Bank, State};
use crate::policy::{Guard, Scope};
use crate::units::SimTime;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// An instance and its owner.
#[derive(Clone, Copy)]
struct Owned {
    /// The guard or budget, by the number that the bank gives it.
    of: usize,
    run: u32,
    step: u8,
    call: u32,
    /// Where its state lies.
    place: usize,
    /// The next instance of the same task.
    next: u32,
}

/// Where a state lies.
pub(super) enum Place {
    /// The owner has asked before.
    Known(usize),
    /// Somebody else's was there, who is gone.
    Used(usize),
}

/// Who owns which instance.
#[derive(Default)]
pub(super) struct Owners {
    /// The first instance of each task in flight, by class and ordinal.
    first: BTreeMap<(u16, u32), u32>,
    all: Vec<Owned>,
    /// Entries of `all` that are free.
    free: Vec<u32>,
    /// Places whose owner is gone, by guard or budget.
    spare: BTreeMap<usize, Vec<usize>>,
}

impl Owners {
    /// Where the state of who asks lies; `make` makes room for one more.
    pub(super) fn place(&mut self, of: usize, scope: Scope, asker: Asker, make: impl FnOnce() -> usize) -> Place {
        // A task has one for all its runs, a run one for all its steps.
        let (run, step, call) = match scope {
            Scope::Task => (0, 0, 0),
            Scope::Run => (asker.run, 0, 0),
            _ => (asker.run, asker.step, asker.call),
        };
        let task = (asker.class, asker.task);
        let first = self.first.get(&task).copied().unwrap_or(NONE);
        let mut at = first;
        while at != NONE {
            let owned = &mut self.all[at as usize];
            if (owned.of, owned.run, owned.step) == (of, run, step) {
                let is_same = std::mem::replace(&mut owned.call, call) == call;
                return if is_same { Place::Known(owned.place) } else { Place::Used(owned.place) };
            }
            at = owned.next;
        }
        let spare = self.spare.get_mut(&of).and_then(Vec::pop);
        let place = spare.unwrap_or_else(make);
        let owned = Owned { of, run, step, call, place, next: first };
        let entry = self.free.pop().unwrap_or(self.all.len() as u32);
        if entry as usize == self.all.len() {
            self.all.push(owned);
        } else {
            self.all[entry as usize] = owned;
        }
        self.first.insert(task, entry);
        if spare.is_some() { Place::Used(place) } else { Place::Known(place) }
    }

    /// The task is over: what it owned is free for others.
    pub(super) fn forget(&mut self, class: u16, task: u32) {
        let mut at = self.first.remove(&(class, task)).unwrap_or(NONE);
        while at != NONE {
            let Owned { of, place, next, .. } = self.all[at as usize];
            self.spare.entry(of).or_default().push(place);
            self.free.push(at);
            at = next;
        }
    }
}

impl Bank<'_> {
    /// The instance of a guard that its owner brings along.
    #[cold]
    pub(super) fn own_instance(&mut self, guard: usize, asker: Asker, now: SimTime) -> usize {
        let Guard { mechanism, scope, .. } = &self.guards[guard];
        let (states, owned, key) = (&mut self.states, &mut self.owned, self.keys[guard]);
        let make = || {
            states.push(State::fresh(mechanism, key.with(states.len() as u64)));
            owned.push(guard);
            states.len() - 1
        };
        match self.owners.place(guard, *scope, asker, make) {
            Place::Known(place) => place,
            Place::Used(place) => {
                self.begin_anew(guard, place, now);
                place
            }
        }
    }

    /// An instance forgets all.
    pub(super) fn begin_anew(&mut self, guard: usize, place: usize, now: SimTime) {
        let state = &mut self.states[place];
        // Nobody is in a line whose owner is gone.
        state.close(&mut self.counts[guard], now);
        *state = State::fresh(&self.guards[guard].mechanism, self.keys[guard].with(place as u64));
    }

    /// A task is over, and what it owned.
    #[inline]
    pub(in crate::sim) fn forget(&mut self, class: u16, task: u32) {
        if self.has_owners {
            self.owners.forget(class, task);
        }
    }

    /// A worker has died, or with `process` the process that it was: a new one has guards and budgets of its own.
    pub(in crate::sim) fn dies(&mut self, asker: Asker, process: bool, now: SimTime) {
        let dies = |scope: Scope| scope == Scope::Worker || process && scope == Scope::Process;
        for (guard, settings) in self.guards.iter().enumerate() {
            // Permits come back with the runs that held them.
            if dies(settings.scope) && !settings.has_permits() {
                let place = self.instance(guard, asker, now);
                self.begin_anew(guard, place, now);
                self.note(guard, place, now);
                self.wake(guard, place, now);
            }
        }
        for budget in 0..self.budget_settings.len() {
            let settings = self.budget_settings[budget];
            if dies(self.budget_bases[budget].1) {
                self.with_budget(budget, asker, settings, now, |state| *state = settings.full());
            }
        }
    }

    /// The instance of a budget that its owner brings along.
    #[cold]
    pub(super) fn own_budget(&mut self, budget: usize, asker: Asker) -> usize {
        let (settings, scope) = (self.budget_settings[budget], self.budget_bases[budget].1);
        let budgets = &mut self.budgets;
        let make = || {
            budgets.push(settings.full());
            budgets.len() - 1
        };
        match self.owners.place(self.guards.len() + budget, scope, asker, make) {
            Place::Known(place) => place,
            Place::Used(place) => {
                self.budgets[place] = settings.full();
                place
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(task: u32, run: u32, step: u8, call: u32) -> Asker {
        Asker { class: 0, client: 0, worker: 0, task, run, step, call, input_tokens: 0, output_tokens: 0 }
    }

    #[test]
    fn an_instance_lives_as_long_as_its_owner_and_its_place_longer() {
        let (mut owners, mut places) = (Owners::default(), 0);
        let mut place = |owners: &mut Owners, scope, asker| {
            let make = || {
                places += 1;
                places - 1
            };
            match owners.place(7, scope, asker, make) {
                Place::Known(place) => (place, false),
                Place::Used(place) => (place, true),
            }
        };
        // By hand: a task keeps one over two runs, a run over two calls, and a call has its own.
        assert_eq!(place(&mut owners, Scope::Task, asker(1, 1, 0, 1)), (0, false));
        assert_eq!(place(&mut owners, Scope::Task, asker(1, 2, 3, 9)), (0, false));
        assert_eq!(place(&mut owners, Scope::Run, asker(2, 1, 0, 1)), (1, false));
        assert_eq!(place(&mut owners, Scope::Run, asker(2, 1, 1, 2)), (1, false));
        assert_eq!(place(&mut owners, Scope::Run, asker(2, 2, 0, 1)), (2, false));
        assert_eq!(place(&mut owners, Scope::Call, asker(3, 1, 0, 1)), (3, false));
        assert_eq!(place(&mut owners, Scope::Call, asker(3, 1, 0, 2)), (3, true));
        assert_eq!(place(&mut owners, Scope::Call, asker(3, 1, 0, 2)), (3, false));
        // Places are taken again once their owner is gone, and only then.
        owners.forget(0, 2);
        assert_eq!(place(&mut owners, Scope::Run, asker(4, 1, 0, 1)), (1, true));
        assert_eq!(place(&mut owners, Scope::Run, asker(4, 2, 0, 1)), (2, true));
        assert_eq!(place(&mut owners, Scope::Run, asker(4, 3, 0, 1)), (4, false));
    }
}
