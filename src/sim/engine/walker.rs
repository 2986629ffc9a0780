//! What a stack needs while it is walked: the surroundings of one run.

use crate::observe::Clock;
use crate::observe::ledger::ClassLedger;
use crate::observe::timeline::ClassSeries;
use crate::policy::answer::Answer;
use crate::policy::circuit_breaker::Gate;
use crate::policy::retry_budget::{Passage, RetryBudget};
use crate::policy::stack::{Host, Note};
use crate::random::{Key, Stream};
use crate::sim::bank::{Asker, Bank};
use crate::sim::record::Run;
use crate::sim::world::{Class, purpose};
use crate::units::SimTime;

impl Class<'_> {
    /// The key of all draws of one step of one task.
    #[inline]
    pub(super) fn step_key(&self, task: u32, step: usize) -> Key {
        self.key.with(u64::from(task)).with(self.step_words[step])
    }
}

/// What a stack needs while it is walked: the surroundings of one run.
pub(super) struct Walker<'w, 'a> {
    pub(super) class: u16,
    pub(super) compiled: &'w Class<'a>,
    pub(super) run: &'w mut Run,
    /// The run's place in its slab.
    pub(super) slot: u32,
    pub(super) bank: &'w mut Bank<'a>,
    pub(super) ledger: &'w mut ClassLedger,
    pub(super) series: &'w mut ClassSeries,
    pub(super) clock: &'w Clock,
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
                self.run.marks.begin_call();
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
