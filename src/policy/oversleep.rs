//! A layer may sleep past its own total time. Where it looks at the clock when it wakes, it makes no further attempt.

use super::element::Role;
use super::host::{Host, Note};
use super::retry::{GiveUp, LayerState};
use super::stack::{Client, Cursor};
use crate::units::SimTime;

impl Client {
    /// The layer whose wait has just ended, where its total time was over first: it makes no further attempt.
    pub(super) fn overslept(
        &self,
        states: &[LayerState],
        cursor: Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Option<usize> {
        let at = cursor.at as usize;
        let Role::Retry(policy) = &self.elements[at].role else { return None };
        if !policy.is_over_after_wait(&states[at], now) {
            return None;
        }
        host.note(Note::GaveUp(at, GiveUp::Deadline));
        self.drop_parts(at, at + 1, states, now, host);
        Some(at)
    }
}
