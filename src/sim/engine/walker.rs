//! What a stack needs while it is walked: the surroundings of one run.

use crate::observe::Clock;
use crate::observe::ledger::ClassLedger;
use crate::observe::timeline::{AnswerKind, ClassSeries};
use crate::policy::answer::{Answer, Outcome};
use crate::policy::circuit_breaker::Gate;
use crate::policy::deployments::Left;
use crate::policy::retry_budget::{Passage, RetryBudget};
use crate::policy::stack::{Host, Note};
use crate::random::{Key, Stream};
use crate::sim::bank::{Asker, Bank};
use crate::sim::record::Run;
use crate::sim::world::{Class, Stack, purpose};
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
    /// The client of its step.
    pub(super) stack: &'w Stack<'a>,
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
        self.run.asker(self.class, self.stack.shares_with)
    }
}

impl Walker<'_, '_> {
    /// A request ends that never got past a hop: the provider does not see it, but whoever looks at the client does.
    #[cold]
    fn is_answered_by_hop(&mut self, kind: AnswerKind) {
        self.series.answers[kind as usize][self.clock.narrow() as usize] += 1;
    }

    /// The uniform number of one request at a guard.
    #[cold]
    fn chance(&self, guard: usize) -> f64 {
        self.request_key(guard as u64).stream().next_unit()
    }

    /// The key of one request at the guard of this word.
    fn request_key(&self, guard: u64) -> Key {
        let (run, step) = (u64::from(self.run.task.runs), u64::from(self.run.step));
        let key = self.compiled.key.with(u64::from(self.run.task.index)).with(purpose::GUARD).with(guard);
        key.with(run << 32 | step).with(u64::from(self.run.calls) << 32 | u64::from(self.run.ordinal))
    }
}

impl Host for Walker<'_, '_> {
    type Source = Stream;

    fn draws(&self, element: usize, attempt: u32) -> Stream {
        let (run, step) = (u64::from(self.run.task.runs), u64::from(self.run.step));
        let key = self
            .compiled
            .key
            .with(u64::from(self.run.task.index))
            .with(purpose::JITTER)
            .with(self.stack.element_words[element])
            .with(run << 32 | step)
            .with(u64::from(self.run.calls) << 32 | u64::from(attempt));
        // A layer that begins anew within a call counts its attempts from one again.
        if self.stack.nests_in_call { key.with(u64::from(self.run.ordinal)) } else { key }.stream()
    }

    fn pass(&mut self, guard: usize, now: SimTime) -> Gate {
        if self.run.ordinal == 0 && self.bank.gates_retries(guard) {
            return Gate::Pass;
        }
        let asker = self.asker();
        let patience = self.stack.client.patience().timeouts.pool;
        let chance = if self.bank.is_by_chance(guard) { self.chance(guard) } else { 0.0 };
        let draws = if self.bank.chooses(guard) { self.request_key(self.bank.word(guard)) } else { self.compiled.key };
        let gate = self.bank.pass(guard, asker, self.slot, patience, (chance, draws), now);
        if gate == Gate::Park {
            self.bank.park(guard, asker, self.slot, now);
        }
        gate
    }

    fn passed_back(&mut self, guard: usize, answer: &Answer, now: SimTime) -> bool {
        self.bank.passed_back(guard, self.asker(), self.slot, answer, now)
    }

    fn chooses(&self, guard: usize) -> bool {
        self.bank.chooses(guard)
    }

    fn came_back(&mut self, guard: usize, place: usize, answer: &Answer, now: SimTime) -> Left {
        self.bank.came_back(guard, self.asker(), place, answer, now)
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
        let index = self.stack.budgets[element]?;
        let paid = self.bank.with_budget(index, asker, budget, now, |state| budget.failed(state, answer, wanted, now));
        if wanted {
            self.bank.note_retry(index, asker, paid.is_some(), now);
            self.ledger.cells[self.clock.cell() as usize].suppressed += u64::from(paid.is_none());
        }
        paid
    }

    fn keep(&mut self, _: usize, answer: &Answer) {
        self.bank.kept.set(self.class, self.slot, answer);
    }

    fn still_pays(&mut self, element: usize, budget: &RetryBudget) -> Option<Answer> {
        let asker = self.asker();
        let (index, now) = (self.stack.budgets[element]?, self.clock.now());
        if self.bank.with_budget(index, asker, budget, now, |state| budget.still_allows(state)) {
            return None;
        }
        self.bank.note_suppressed(index, now);
        self.ledger.cells[self.clock.cell() as usize].suppressed += 1;
        Some(self.bank.kept.of(self.class, self.slot))
    }

    fn repay(&mut self, element: usize, budget: &RetryBudget, last_cost: Option<u32>) {
        let asker = self.asker();
        if let Some(index) = self.stack.budgets[element] {
            let now = self.clock.now();
            self.bank.with_budget(index, asker, budget, now, |state| budget.succeeded(state, last_cost));
        }
    }

    fn call_passes(&mut self, element: usize, budget: &RetryBudget, passage: Passage, now: SimTime) {
        let asker = self.asker();
        if let Some(index) = self.stack.budgets[element] {
            self.bank.with_budget(index, asker, budget, now, |state| budget.passes(state, passage, now));
        }
    }

    fn note(&mut self, note: Note) {
        let cell = self.run.task.cell;
        let row = |element| self.stack.first_row + element;
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
            Note::RequestBegan => {
                self.run.task.requests += 1;
                self.ledger.cells[self.run.call_cell as usize].requests += 1;
                self.series.wide_requests[self.run.call_wide as usize] += 1;
            }
            Note::Entered(element) => self.ledger.layer(cell, row(element)).entered += 1,
            Note::Retried(element, wait) => {
                let counts = self.ledger.layer(cell, row(element));
                counts.retries += 1;
                counts.waited_nanos += wait.as_nanos();
            }
            Note::LeftAtGuard => self.is_answered_by_hop(AnswerKind::Lost),
            Note::GaveUp(element, why) => self.ledger.gave_up(cell, row(element), why),
            Note::Refused(element, why) => {
                if element < self.stack.hops {
                    let is_too_large = why == Outcome::TooLarge;
                    if let Some(refusals) = &mut self.ledger.refusals {
                        refusals.kept_back(self.run.call_cell, row(element), is_too_large, self.run.ordinal + 1);
                    }
                    self.is_answered_by_hop(if is_too_large { AnswerKind::Other } else { AnswerKind::Overloaded });
                }
                self.ledger.layer(cell, row(element)).refused += 1;
                if why == Outcome::ShortCircuited {
                    self.ledger.cells[self.clock.cell() as usize].short_circuited += 1;
                }
            }
        }
    }
}
