//! The end of a wait is not always the beginning of an attempt. A layer may sleep past its own total time; where it looks at
//! the clock when it wakes, it makes no further attempt. And a budget may be asked only then.

use super::answer::Answer;
use super::element::Role;
use super::host::{Host, Note};
use super::retry::{GiveUp, LayerState};
use super::stack::{Client, Cursor};
use crate::units::SimTime;

impl Client {
    /// The layer whose wait has just ended and that makes no further attempt, with what it hands on: its total time was
    /// over first, or its budget does not pay.
    pub(super) fn overslept(
        &self,
        states: &[LayerState],
        cursor: Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Option<(usize, Answer)> {
        let at = cursor.at as usize;
        let Role::Retry(policy) = &self.elements[at].role else { return None };
        if policy.is_over_after_wait(&states[at], now) {
            host.note(Note::GaveUp(at, GiveUp::Deadline));
            self.drop_parts(at, at + 1, states, now, host);
            return Some((at, Answer::TIMED_OUT));
        }
        let answer = self.is_unpaid(at, host)?;
        host.note(Note::GaveUp(at, GiveUp::Suppressed));
        self.drop_parts(at, at + 1, states, now, host);
        Some((at, answer))
    }

    /// The failure before the wait that is over, where the budget of this element is asked now and does not pay.
    pub(super) fn is_unpaid(&self, at: usize, host: &mut impl Host) -> Option<Answer> {
        let budget = self.elements[at].role.policy()?.budget.as_ref()?;
        if budget.is_asked_after_the_wait() { host.still_pays(at, budget) } else { None }
    }
}
