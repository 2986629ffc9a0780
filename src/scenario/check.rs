//! What only shows when the parts are seen together: a guard per worker where nobody works, a queue where nobody
//! queues, a request that would wait for ever, a retry that would go on at one instant.

use super::clients::ReadClient;
use super::endless;
use super::guards::ReadGuard;
use super::provider::ReadProvider;
use super::traffic::ReadClass;
use crate::document::{Fault, Faults};
use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::{Client, Mechanism, Outcome, Role, Scope};
use crate::provider::{Provider, Respond};
use crate::random::Distribution;
use crate::random::distribution::Shape;

/// The parts that fit together or do not.
pub(super) struct Parts<'a> {
    /// The provider.
    pub(super) provider: &'a ReadProvider<'a>,
    /// The guards.
    pub(super) guards: &'a [ReadGuard],
    /// The clients.
    pub(super) clients: &'a [ReadClient],
    /// The traffic classes.
    pub(super) classes: &'a [ReadClass],
}

/// Reports what does not fit together.
pub(super) fn check(parts: &Parts<'_>, faults: &Faults) {
    for class in parts.classes {
        check_turns(class, parts, faults);
    }
    if let Some(provider) = &parts.provider.provider {
        check_hangs(provider, parts, faults);
        check_instants(provider, parts, faults);
    }
}

/// Turns have neither a queue nor workers.
fn check_turns(class: &ReadClass, parts: &Parts<'_>, faults: &Faults) {
    if !class.class.is_live() {
        return;
    }
    let client = &parts.clients[class.class.client].client;
    if client.queue().is_some() {
        let message = format!("`{}` retries through a queue, and turns have none", client.name);
        let hint = "use a client without a layer of kind queue, or write `kind = \"jobs\"`";
        faults.add(Fault::new(class.client, message).hint(hint));
    }
    for element in client.elements() {
        let Role::Guard(index) = element.role else { continue };
        let ReadGuard { guard, scope } = &parts.guards[index];
        if guard.scope == Scope::Worker {
            let message = format!("turns have no workers, and `{}` uses this guard", class.class.name);
            faults.add(Fault::new(*scope, message).hint(r#"write scope = "class" or "client""#));
        }
    }
}

/// A request without an answer ends by a timeout or never.
fn check_hangs(provider: &Provider, parts: &Parts<'_>, faults: &Faults) {
    for (fault, hang) in provider.faults.iter().zip(&parts.provider.hangs) {
        let (Respond::Hang, Some(place)) = (&fault.respond, hang) else { continue };
        let waits_for_ever = |index: usize| {
            let class = &parts.classes[index].class;
            let client = &parts.clients[class.client].client;
            let struck = fault.probability[index].peak() > 0.0;
            let shrinks =
                client.elements().iter().filter_map(|element| element.role.policy()).any(|p| p.timeout_shrinks);
            (struck && client.timeout().is_none() && !shrinks).then_some((&class.name, &client.name))
        };
        if let Some((class, client)) = (0..parts.classes.len()).find_map(waits_for_ever) {
            let message = format!("a request of `{class}` would wait for ever: `{client}` has no timeout");
            faults.add(Fault::new(*place, message).hint(r#"give a layer of the client a `timeout`, such as "60s""#));
        }
    }
}

/// A layer with a total budget but without wait and without limit ends only if its attempts take time.
fn check_instants(provider: &Provider, parts: &Parts<'_>, faults: &Faults) {
    let instant = |after: &Distribution| *after.shape() == Shape::Constant(0.0);
    let free_limit = provider.limits.iter().any(|limit| instant(&limit.refusal_latency));
    let free_fault = provider.faults.iter().any(|fault| fault.respond.after().is_some_and(instant));
    for ReadClient { client, spinning } in parts.clients {
        for (index, place) in spinning {
            if endless::times_out_at_once(client, *index) {
                let message =
                    "retries without end and without wait, and a timeout that has shrunk to nothing takes no time";
                faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
            } else if free_limit || free_fault || rejected_inside(client, *index, parts.guards) {
                let message = "retries without end and without wait, and some refusals take no time";
                faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
            }
        }
    }
}

/// Whether a breaker inside this layer may refuse at once what the layer repeats.
fn rejected_inside(client: &Client, layer: usize, guards: &[ReadGuard]) -> bool {
    let repeats = client.elements()[layer]
        .role
        .policy()
        .is_some_and(|policy| policy.retry_on.outcomes.contains(Outcome::ShortCircuited));
    let rejects = |role: &Role| match role {
        Role::Guard(index) => matches!(
            &guards[*index].guard.mechanism,
            Mechanism::Breaker(breaker) if breaker.when_open == WhenOpen::Reject
        ),
        Role::Retry(_) | Role::Queue(..) => false,
    };
    repeats && client.elements()[..layer].iter().any(|element| rejects(&element.role))
}
