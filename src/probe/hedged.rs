//! A hedged request under a script: several attempts that overlap.

use super::path::{Attempt, ask};
use crate::policy::Role;
use crate::policy::answer::Answer;
use crate::policy::hedge::{Hedge, Onward};
use crate::policy::retry::LayerState;
use crate::policy::stack::Client;
use crate::provider::Script;
use crate::units::SimTime;

/// Sends what the hedge sends from `now` on; when the winner comes back, and with what. The attempts are appended.
pub(super) fn hedged(
    client: &Client,
    hedge: &Hedge,
    script: &Script,
    states: &[LayerState],
    now: SimTime,
    attempts: &mut Vec<Attempt>,
) -> (SimTime, Answer) {
    let first = attempts.len();
    let element = client.elements().iter().position(|element| matches!(element.role, Role::Hedge(_)));
    let (mut out, mut due): (Vec<usize>, _) = (Vec::new(), Some(now));
    let end = client.time_ends(states, now);
    loop {
        let next = out.iter().copied().min_by_key(|n| (attempts[*n].ended, *n));
        // At one instant answers come first.
        if let Some(at) = due.filter(|at| next.is_none_or(|n| *at < attempts[n].ended)) {
            // All that were sent have failed, and nobody waits for what would be due later.
            if at >= end && attempts.len() > first {
                return (end, Answer::TIMED_OUT);
            }
            if let Some(last) = attempts[first..].last_mut() {
                last.retried_by = element;
            }
            let (ended, answer) = ask(client, script, states, at, attempts.len() as u64);
            out.push(attempts.len());
            attempts.push(Attempt { sent: at, ended, answer, route: client.route(states), retried_by: None });
            due = (attempts.len() - first < usize::from(hedge.max)).then(|| at + hedge.delay);
            continue;
        }
        let Some(n) = next else { return (SimTime::NEVER, Answer::TIMED_OUT) };
        let Attempt { ended, answer, .. } = attempts[n];
        out.retain(|other| *other != n);
        if ended == SimTime::NEVER {
            return (ended, answer);
        }
        if hedge.ends_with(&answer) {
            for other in out {
                (attempts[other].ended, attempts[other].answer) = (ended, Answer::CANCELLED);
            }
            return (ended, answer);
        }
        if ended >= end && out.is_empty() {
            return (ended, answer);
        }
        due = match hedge.onward(&answer) {
            Onward::After(wait) => due.map(|_| ended + wait),
            Onward::NoMore => None,
            Onward::AsDue => due,
        };
        if due.is_none() && out.is_empty() {
            return (ended, answer);
        }
    }
}
