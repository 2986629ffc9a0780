//! Hops stand between the client and the provider and retry by themselves. The client waits for the hop as a whole: when
//! its timeout passes, it sees a timeout, whatever the hop is doing, and the hop drops what it has under way. Of what
//! fails behind the hop it sees the status with which the hop answers.

use super::answer::Answer;
use super::element::Role;
use super::fallback::Fallback;
use super::retry::LayerState;
use super::retry_budget::Passage;
use super::stack::{Client, Cursor, Host};
use super::timeouts::shorter;
use crate::units::{SimDuration, SimTime};

/// What an execution is doing that has begun a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its request is out.
    InFlight,
    /// It stands in line at a guard, which it has not passed.
    InLine,
    /// It sleeps where its cursor stands.
    Asleep,
}

impl Client {
    /// What is left for a request of a hop: until the client leaves, or the hop's own total time is over where its
    /// attempts get no more than that.
    pub(super) fn left_in_hops(&self, states: &[LayerState], now: SimTime) -> Option<SimDuration> {
        let left = self.patience_with_hops(states).map(|until| until.since(now));
        if !self.hop_patience.shrinks {
            return left;
        }
        let hops = self.hops().iter().zip(states);
        shorter(left, hops.filter_map(|(element, state)| element.role.policy()?.left_at(state, now)).min())
    }

    /// Until when a request that is sent now, and others in its place, may take at most: a total time that shrinks their
    /// timeouts, or the client of a hop, ends them all.
    pub fn time_ends(&self, states: &[LayerState], now: SimTime) -> SimTime {
        let left = if self.hop_edge > 0 { self.left_in_hops(states, now) } else { self.left_at(states, now) };
        left.map_or(SimTime::NEVER, |left| now + left)
    }

    /// Until when the client waits for what it has sent to a hop.
    fn patience_with_hops(&self, states: &[LayerState]) -> Option<SimTime> {
        // The outermost hop was entered when the request left the client.
        let entered = states[self.hop_edge.checked_sub(1)?].since;
        Some(entered + self.client_timeout_at(states, entered)?)
    }

    /// Whether the client has given up on the hop by now: it then sees a timeout, and the hop no longer matters.
    pub fn has_left_hops(&self, states: &[LayerState], now: SimTime) -> bool {
        self.hop_edge > 0 && self.patience_with_hops(states).is_some_and(|until| until <= now)
    }

    /// Whether the client has a timeout with which it may give up on a hop.
    pub fn ever_leaves_hops(&self) -> bool {
        self.hop_edge > 0 && (self.patience().shrinks || self.patience().timeouts.until_answered().is_some())
    }

    /// Whether a hop gives up a request of its own to which no answer comes.
    pub fn hops_end_waiting(&self) -> bool {
        self.hop_edge > 0 && self.hop_patience.timeouts.until_answered().is_some()
    }

    /// Whether the walk stands at a hop.
    pub(super) const fn is_in_hops(&self, cursor: Cursor) -> bool {
        (cursor.at as usize) < self.hop_edge
    }

    /// What element `at` sees of an answer that the provider gave, or its absence.
    #[must_use]
    pub fn seen_at(&self, at: usize, answer: &Answer) -> Answer {
        if self.hop_edge > 0 && at >= self.hop_edge { answer.through_a_hop() } else { *answer }
    }

    /// What the element outside of `at` sees of an answer that `at` lets out.
    #[inline]
    pub(super) const fn let_out(&self, at: usize, answer: Answer) -> Answer {
        if at + 1 == self.hop_edge { answer.through_a_hop() } else { answer }
    }

    /// Gives back what the elements from `from` to `to` hold for somebody who no longer wants an answer.
    pub(super) fn drop_parts(&self, from: usize, to: usize, states: &[LayerState], now: SimTime, host: &mut impl Host) {
        for (at, state) in states.iter().enumerate().take(to).skip(from) {
            match &self.elements[at].role {
                // Of a deployment that was picked for it nothing is learnt.
                Role::Guard(_) if Fallback::target(state).is_some() => {}
                Role::Guard(guard) => {
                    // A result that nobody waits for is nobody's short circuit.
                    host.passed_back(*guard, &Answer::SHORT_CIRCUITED, now);
                }
                Role::Retry(policy) | Role::Queue(policy, _) | Role::Fallback(Fallback { policy, .. }) => {
                    if let Some(budget) = &policy.budget {
                        if state.paid > 0 {
                            host.call_passes(at, budget, Passage::RetryEnds, now);
                        }
                        host.call_passes(at, budget, Passage::Leaves, now);
                    }
                }
                Role::Hedge(_) => {}
            }
        }
    }

    /// Drops an execution that has begun a step and not ended it: what its elements hold is given back.
    pub fn cancel(
        &self,
        states: &[LayerState],
        cursor: Cursor,
        standing: Standing,
        now: SimTime,
        host: &mut impl Host,
    ) {
        let from = match standing {
            Standing::InFlight => 0,
            Standing::InLine => cursor.at as usize + 1,
            Standing::Asleep => cursor.inside(),
        };
        self.drop_parts(from, self.queue_edge, states, now, host);
    }

    /// A hop's wait ends where the client gives up on the hop.
    pub(super) fn no_longer_than_the_client_waits(&self, until: SimTime, at: usize, states: &[LayerState]) -> SimTime {
        if at >= self.hop_edge {
            return until;
        }
        self.patience_with_hops(states).map_or(until, |patience| until.min(patience))
    }
}
