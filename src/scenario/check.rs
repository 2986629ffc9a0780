//! What only shows when the parts are seen together: a guard per worker where nobody works, a queue where nobody
//! queues, a request that would wait for ever, a retry that would go on at one instant.

use super::clients::ReadClient;
use super::endless;
use super::guards::ReadGuard;
use super::provider::ReadProvider;
use super::traffic::ReadClass;
use crate::document::{Fault, Faults, Place};
use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::{Client, Mechanism, Outcome, Role, Scope};
use crate::provider;
use crate::random::Distribution;
use crate::random::distribution::Shape;

/// The parts that fit together or do not; `None` stands for one that is wrong by itself.
pub(super) struct Parts<'a> {
    /// The provider.
    pub(super) provider: &'a ReadProvider<'a>,
    /// The guards.
    pub(super) guards: &'a [Option<ReadGuard>],
    /// The clients.
    pub(super) clients: &'a [Option<ReadClient>],
    /// The traffic classes.
    pub(super) classes: &'a [Option<ReadClass>],
}

impl<'a> Parts<'a> {
    fn guard(&self, index: usize) -> Option<&'a ReadGuard> {
        self.guards.get(index)?.as_ref()
    }

    fn client_of(&self, class: &ReadClass) -> Option<&'a ReadClient> {
        self.clients.get(class.class.client)?.as_ref()
    }
}

/// Reports what does not fit together.
pub(super) fn check(parts: &Parts<'_>, faults: &Faults) {
    for class in parts.classes.iter().flatten() {
        check_turns(class, parts, faults);
    }
    for (fault, hang) in parts.provider.faults.iter().zip(&parts.provider.hangs) {
        if let (Some(fault), Some(hang)) = (fault, hang) {
            check_hang(fault, *hang, parts, faults);
        }
    }
    let instant = has_instant_refusals(parts.provider);
    for read in parts.clients.iter().flatten() {
        check_spinning(read, instant, parts, faults);
    }
}

/// Turns have neither a queue nor workers.
fn check_turns(class: &ReadClass, parts: &Parts<'_>, faults: &Faults) {
    let Some(ReadClient { client, .. }) = parts.client_of(class).filter(|_| class.class.is_live()) else { return };
    if client.queue().is_some() {
        let message = format!("`{}` retries through a queue, and turns have none", client.name);
        let hint = "use a client without a layer of kind queue, or write `kind = \"jobs\"`";
        faults.add(Fault::new(class.client, message).hint(hint));
    }
    for element in client.elements() {
        let Role::Guard(index) = element.role else { continue };
        let Some(ReadGuard { guard, scope }) = parts.guard(index) else { continue };
        if guard.scope == Scope::Worker {
            let message = format!("turns have no workers, and `{}` uses this guard", class.class.name);
            faults.add(Fault::new(*scope, message).hint(r#"write scope = "class" or "client""#));
        }
    }
}

/// A request without an answer ends by a timeout or never.
fn check_hang(fault: &provider::Fault, hang: Place, parts: &Parts<'_>, faults: &Faults) {
    for (index, class) in parts.classes.iter().enumerate() {
        let Some(class) = class.as_ref().filter(|_| fault.probability[index].peak() > 0.0) else { continue };
        let Some(client) = parts.client_of(class).filter(|read| !read.doubtful) else { continue };
        let mut policies = client.client.elements().iter().filter_map(|element| element.role.policy());
        if client.client.timeout().is_none() && !policies.any(|policy| policy.timeout_shrinks) {
            let (class, client) = (&class.class.name, &client.client.name);
            let message = format!("a request of `{class}` would wait for ever: `{client}` has no timeout");
            faults.add(Fault::new(hang, message).hint(r#"give a layer of the client a `timeout`, such as "60s""#));
            return;
        }
    }
}

/// Whether some refusal of the provider takes no time at all.
fn has_instant_refusals(provider: &ReadProvider<'_>) -> bool {
    let instant = |after: &Distribution| *after.shape() == Shape::Constant(0.0);
    let limits = provider.limits.iter().flatten().any(|limit| instant(&limit.refusal_latency));
    let faults = provider.faults.iter().flatten().any(|fault| fault.respond.after().is_some_and(instant));
    limits || faults
}

/// A layer with a total budget but without wait and without limit ends only if its attempts take time.
fn check_spinning(read: &ReadClient, instant: bool, parts: &Parts<'_>, faults: &Faults) {
    for (index, place) in &read.spinning {
        if read.client.elements()[*index].role.policy().is_none_or(|policy| policy.deadline.is_none()) {
            // Without a budget it has been refused already.
            continue;
        }
        if endless::times_out_at_once(&read.client, *index) {
            let message =
                "retries without end and without wait, and a timeout that has shrunk to nothing takes no time";
            faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
        } else if instant || rejected_inside(&read.client, *index, parts) {
            let message = "retries without end and without wait, and some refusals take no time";
            faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
        }
    }
}

/// Whether a breaker inside this layer may refuse at once what the layer repeats.
fn rejected_inside(client: &Client, layer: usize, parts: &Parts<'_>) -> bool {
    let policy = client.elements()[layer].role.policy();
    let repeats = policy.is_some_and(|policy| policy.retry_on.outcomes.contains(Outcome::ShortCircuited));
    let rejects = |role: &Role| match role {
        Role::Guard(index) => parts.guard(*index).is_some_and(|read| match &read.guard.mechanism {
            Mechanism::Breaker(breaker) => breaker.when_open == WhenOpen::Reject,
            Mechanism::Pacer(_) => false,
        }),
        Role::Retry(_) | Role::Queue(..) => false,
    };
    repeats && client.elements()[..layer].iter().any(|element| rejects(&element.role))
}
