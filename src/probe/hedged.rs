//! A hedged request under a script: several attempts that overlap.

use super::path::{Attempt, Budgets, ask};
use crate::policy::Role;
use crate::policy::answer::Answer;
use crate::policy::hedge::{Hedge, Onward};
use crate::policy::retry::LayerState;
use crate::policy::retry_budget::Passage;
use crate::policy::stack::Client;
use crate::provider::Script;
use crate::units::{SimDuration, SimTime};

/// What allows the requests of one hedge but the first: its budget, and how many may be out.
struct Purse<'b> {
    hedge: &'b Hedge,
    budgets: &'b mut Budgets,
    element: usize,
    /// What the last one cost, where one was sent.
    paid: Option<u32>,
}

impl Purse<'_> {
    fn passes(&mut self, passage: Passage, now: SimTime) {
        if let Some((budget, _)) = &self.hedge.budget {
            budget.passes(self.budgets.of(self.element, budget), passage, now);
        }
    }

    /// Whether one more may be sent while so many are out, after this failure or because the others are late.
    fn pays(&mut self, out: usize, after: Option<&Answer>, now: SimTime) -> bool {
        if self.hedge.at_most_out.is_some_and(|most| out >= most as usize) {
            return false;
        }
        let Some((budget, _)) = &self.hedge.budget else { return true };
        let paid = budget.pays(self.budgets.of(self.element, budget), after, now);
        self.paid = paid.or(self.paid);
        paid.is_some()
    }

    fn hears(&mut self, answer: &Answer, now: SimTime) {
        let Some((budget, _)) = &self.hedge.budget else { return };
        let state = self.budgets.of(self.element, budget);
        if answer.is_delivered() {
            budget.succeeded(state, self.paid);
        } else if !self.hedge.ends_with(answer) {
            budget.failed(state, answer, false, now);
        }
    }
}

/// Sends what the hedge sends from `now` on; when the winner comes back, and with what. The attempts are appended.
pub(super) fn hedged(
    client: &Client,
    hedge: &Hedge,
    script: &Script,
    states: &[LayerState],
    now: SimTime,
    budgets: &mut Budgets,
    attempts: &mut Vec<Attempt>,
) -> (SimTime, Answer) {
    let first = attempts.len();
    let element = client.elements().iter().position(|element| matches!(element.role, Role::Hedge(_)));
    let mut purse = Purse { hedge, budgets, element: element.unwrap_or(0), paid: None };
    purse.passes(Passage::Enters, now);
    let end = send_all(client, script, states, now, &mut purse, attempts);
    for _ in first + 1..attempts.len() {
        purse.passes(Passage::RetryEnds, end.0);
    }
    purse.passes(Passage::Leaves, end.0);
    end
}

fn send_all(
    client: &Client,
    script: &Script,
    states: &[LayerState],
    now: SimTime,
    purse: &mut Purse<'_>,
    attempts: &mut Vec<Attempt>,
) -> (SimTime, Answer) {
    let (hedge, first) = (purse.hedge, attempts.len());
    let (mut out, mut due): (Vec<usize>, _) = (Vec::new(), Some(now));
    let (mut after, mut last_failure) = (None, Answer::TIMED_OUT);
    let end = client.time_ends(states, now);
    loop {
        let next = out.iter().copied().min_by_key(|n| (attempts[*n].ended, *n));
        // At one instant answers come first.
        if let Some(at) = due.filter(|at| next.is_none_or(|n| *at < attempts[n].ended)) {
            let is_hedge = attempts.len() > first;
            // All that were sent have failed, and nobody waits for what would be due later.
            if at >= end && is_hedge {
                return (end, Answer::TIMED_OUT);
            }
            let hedges_out = out.iter().filter(|n| **n > first).count();
            if is_hedge && !purse.pays(hedges_out, after.take().as_ref(), at) {
                due = None;
                if out.is_empty() {
                    return (at, last_failure);
                }
                continue;
            }
            if let Some(last) = attempts[first..].last_mut() {
                last.retried_by = Some(purse.element);
            }
            let (ended, answer) = ask(client, script, states, at, attempts.len() as u64);
            out.push(attempts.len());
            attempts.push(Attempt { sent: at, ended, answer, route: client.route(states), retried_by: None });
            let more = attempts.len() - first < usize::from(hedge.max);
            due = hedge.delay.at_first().filter(|_| more).map(|delay| at + delay);
            continue;
        }
        let Some(n) = next else { return (SimTime::NEVER, Answer::TIMED_OUT) };
        let Attempt { ended, answer, .. } = attempts[n];
        out.retain(|other| *other != n);
        if ended == SimTime::NEVER {
            return (ended, answer);
        }
        purse.hears(&answer, ended);
        if hedge.ends_with(&answer) {
            for other in out {
                (attempts[other].ended, attempts[other].answer) = (ended, Answer::CANCELLED);
            }
            return (ended, answer);
        }
        if ended >= end && out.is_empty() {
            return (ended, answer);
        }
        last_failure = answer;
        due = match hedge.onward(&answer) {
            Onward::After(wait) => {
                after = Some(answer).filter(|_| wait == SimDuration::ZERO);
                // Also where nothing is due because nothing was measured.
                (attempts.len() - first < usize::from(hedge.max)).then(|| ended + wait)
            }
            Onward::NoMore => None,
            Onward::AsDue => due,
        };
        if due.is_none() && out.is_empty() {
            return (ended, answer);
        }
    }
}
