//! What only shows when the parts are seen together: a guard per worker where nobody works, a queue where nobody
//! queues, a request that would wait for ever, a retry that would go on at one instant.

use super::clients::ReadClient;
use super::endless;
use super::guards::ReadGuard;
use super::limit_check;
use super::provider::ReadProvider;
use super::scopes::check_places;
use super::traffic::ReadClass;
use crate::document::{Fault, Faults, Place};
use crate::policy::{Client, Element, Outcome, Role, Scope};
use crate::provider::capacity::Late;
use crate::provider::{self, Respond};
use crate::random::distribution::Shape;
use crate::random::{Distribution, math};
use crate::traffic::Step;

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
    /// The guard of this number.
    pub(super) fn guard(&self, index: usize) -> Option<&'a ReadGuard> {
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
    limit_check::check(parts, faults);
    check_cache(parts, faults);
    check_stopped_answers(parts, faults);
    let instant = has_instant_refusals(parts.provider);
    for read in parts.clients.iter().flatten() {
        check_line(&read.client, parts, faults);
        check_places(&read.client, parts, faults);
        check_spinning(&read.client, &read.spinning, instant, parts, faults);
    }
    for read in parts.classes.iter().flatten().flat_map(|class| &class.others) {
        check_line(&read.settings.client, parts, faults);
        check_places(&read.settings.client, parts, faults);
        check_spinning(&read.settings.client, &read.spinning, instant, parts, faults);
    }
}

/// A limit that stops an answer looks at the one request of a caller.
fn check_stopped_answers(parts: &Parts<'_>, faults: &Faults) {
    let limits = parts.provider.limits.iter().flatten();
    let mut stopping = limits.filter(|limit| limit.terms.as_ref().is_some_and(|terms| terms.when_used_up.is_some()));
    let Some(limit) = stopping.next() else { return };
    for class in parts.classes.iter().flatten() {
        let what = if class.class.has_groups() {
            format!("steps of `{}` run at once", class.class.name)
        } else if matches!(parts.provider.network, Some(None)) {
            continue;
        } else {
            "requests travel".to_owned()
        };
        let message = format!("{what}, which is not modelled where a limit stops answers");
        let hint = format!("leave that out, or `when_used_up` of `{}`", limit.name);
        faults.add(Fault::new(class.client, message).hint(hint));
    }
}

/// A cache looks at blocks, which only a trace knows.
fn check_cache(parts: &Parts<'_>, faults: &Faults) {
    let (Some(Some(_)), Some(place)) = (&parts.provider.cache, parts.provider.cache_place) else { return };
    let is_used = |class: &ReadClass| {
        let sizes = class.class.sizes.as_ref();
        sizes.is_some_and(|sizes| sizes.input_of != 0 && sizes.block_count() > 0)
    };
    if parts.classes.iter().all(|class| class.as_ref().is_some_and(|class| !is_used(class))) {
        let message = "no step takes its input from a trace that says the blocks of it";
        let hint =
            r#"name the column, columns = { hash_ids = "hash_ids", … }, and let a step say input_tokens = "trace""#;
        faults.add(Fault::new(place, message).hint(hint));
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
    let others = class.others.iter().map(|other| &other.settings.client);
    let elements: Vec<&Element> = std::iter::once(client).chain(others).flat_map(Client::elements).collect();
    let has_own = |element: &&&Element| element.role.budget().is_some_and(|(_, scope)| scope == Scope::Worker);
    let counts_alone =
        |element: &&&Element| matches!(&element.role, Role::Hedge(hedge) if hedge.scope == Scope::Worker);
    if let Some(hedge) = elements.iter().find(counts_alone) {
        let message = format!("turns have no workers, and each would count the hedges of `{}` alone", hedge.name);
        faults.add(Fault::new(class.client, message).hint(r#"write scope = "process" in the hedge, or leave it out"#));
    }
    if let Some(layer) = elements.iter().find(has_own) {
        let message = format!("turns have no workers, and each would have its own budget of `{}`", layer.name);
        faults.add(Fault::new(class.client, message).hint(r#"write scope = "process" in the budget, or leave it out"#));
    }
    let mut guards: Vec<usize> = elements.iter().filter_map(|element| element.role.guard()).collect();
    guards.sort_unstable();
    guards.dedup();
    for index in guards {
        let Some(ReadGuard { guard, scope, .. }) = parts.guard(index) else { continue };
        if guard.scope == Scope::Worker {
            let message = format!("turns have no workers, and `{}` uses this guard", class.class.name);
            faults.add(Fault::new(*scope, message).hint(r#"write scope = "class" or "client""#));
        }
    }
}

/// Whoever holds a permit and wants another one of the same semaphore may wait for itself.
fn check_line(client: &Client, parts: &Parts<'_>, faults: &Faults) {
    let mut seen = Vec::new();
    for element in client.elements() {
        let Role::Guard(index) = element.role else { continue };
        let Some(read) = parts.guard(index) else { continue };
        if read.guard.has_permits() && seen.contains(&index) {
            let (guard, client) = (&read.guard.name, &client.name);
            let message =
                format!("`{client}` passes `{guard}` twice, and would wait for a permit that it holds itself");
            faults.add(Fault::new(read.name, message).hint("keep one of its elements"));
        }
        seen.push(index);
    }
}

/// A request without an answer ends by a timeout or never.
fn check_hang(fault: &provider::Fault, hang: Place, parts: &Parts<'_>, faults: &Faults) {
    for (index, class) in parts.classes.iter().enumerate() {
        let Some(class) = class.as_ref().filter(|_| fault.peak(index) > 0.0) else { continue };
        let Some(own) = parts.client_of(class).filter(|read| !read.doubtful) else { continue };
        let of_step = |step: &Step| step.other.map_or(&own.client, |other| &class.others[other].settings.client);
        let waits = |client: &&Client| {
            let mut policies = client.elements().iter().filter_map(|element| element.role.policy());
            let ends = client.patience().timeouts.until_answered().is_some() || client.hops_end_waiting();
            !ends && !policies.any(|policy| policy.timeout_shrinks)
        };
        let steps = class.class.steps.iter().enumerate().filter(|(step, _)| fault.strikes(index, *step));
        if let Some(client) = steps.map(|(_, step)| of_step(step)).find(waits) {
            let (class, client) = (&class.class.name, &client.name);
            let message = format!("a request of `{class}` would wait for ever: `{client}` has no timeout");
            faults.add(Fault::new(hang, message).hint(r#"give a layer of the client a `timeout`, such as "60s""#));
            return;
        }
    }
}

/// Whether some refusal of the provider may take no time at all.
fn has_instant_refusals(provider: &ReadProvider<'_>) -> bool {
    let network = provider.network.iter().flatten();
    let mut ways = network.flat_map(|network| network.send.iter().chain(&network.receive));
    if ways.any(|time| !is_often_instant(time)) {
        return false;
    }
    let limits = provider.limits.iter().flatten().any(|limit| is_often_instant(&limit.refusal_latency));
    let slots = provider.slots.iter().any(|slots| is_often_instant(&slots.refusal_latency));
    let rooms = provider.capacity.iter().flatten();
    let full = rooms.into_iter().any(|capacity| {
        let is_bounded = capacity.shares.iter().any(|share| capacity.room.min(*share) < u32::MAX);
        (is_bounded || capacity.late == Late::Refused) && is_often_instant(&capacity.refusal_latency)
    });
    let fails_at_once = |respond: &Respond| match respond {
        Respond::Script(script) => script.fails_at_once(),
        respond => respond.after().is_some_and(is_often_instant),
    };
    let faults = provider.faults.iter().flatten().any(|fault| fails_at_once(&fault.respond));
    let windows = provider.models.iter().flatten().any(|model| model.context_window.is_some());
    limits || slots || full || faults || windows
}

/// Whether a time comes out as zero, on the clock of whole nanoseconds, so often that what waits for nothing else
/// stands still: where its mean is far above its ordinary draws, nearly all of them are rounded away.
pub(super) fn is_often_instant(time: &Distribution) -> bool {
    /// Half a nanosecond, in seconds: what is below is no time on the clock.
    const ROUNDED_AWAY: f64 = 0.5e-9;
    /// A thousandth of the draws: a run of a thousand retries then takes the time of the other draws.
    const RARE_Z: f64 = 3.09;
    match *time.shape() {
        Shape::Constant(seconds) => seconds < ROUNDED_AWAY,
        // Of a uniform distribution half the draws are above the middle, and the bound is generous.
        Shape::Uniform { high, .. } => high < 1_000.0 * ROUNDED_AWAY,
        Shape::Exponential { mean } => mean < 1_000.0 * ROUNDED_AWAY,
        Shape::LogNormal { mean, sigma } => {
            math::ln(mean) - 0.5 * sigma * sigma - RARE_Z * sigma < math::ln(ROUNDED_AWAY)
        }
        Shape::Normal { mean, sd } => mean + sd < 1_000.0 * ROUNDED_AWAY,
        // Near zero P(X < x) is about (x / scale)^k / Γ(k + 1), with k = 1 / cv².
        Shape::Gamma { mean, cv } => {
            let k = 1.0 / (cv * cv);
            k * math::ln(ROUNDED_AWAY * k / mean) - libm::lgamma(k + 1.0) > math::ln(0.001)
        }
        // P(X < x) is about (x / scale)^shape.
        Shape::Weibull { mean, shape } => {
            shape * math::ln(ROUNDED_AWAY * libm::tgamma(1.0 + 1.0 / shape) / mean) > math::ln(0.001)
        }
    }
}

/// A layer with a total budget but without wait and without limit ends only if its attempts take time.
fn check_spinning(client: &Client, spinning: &[(usize, Place)], instant: bool, parts: &Parts<'_>, faults: &Faults) {
    for (index, place) in spinning {
        if client.elements()[*index].role.policy().is_none_or(|policy| policy.deadline.is_none()) {
            // Without a budget it has been refused already.
            continue;
        }
        if endless::times_out_at_once(client, *index) {
            let message =
                "retries without end and without wait, and a timeout that has shrunk to nothing takes no time";
            faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
        } else if instant || rejected_inside(client, *index, parts) {
            let message = "retries without end and without wait, and some refusals take no time";
            faults.add(Fault::new(*place, message).hint("limit the attempts, or give it a wait"));
        }
    }
}

/// Whether a guard inside this layer may refuse at once what the layer repeats.
fn rejected_inside(client: &Client, layer: usize, parts: &Parts<'_>) -> bool {
    let policy = client.elements()[layer].role.policy();
    let repeats = |refusal: Outcome| policy.is_some_and(|policy| policy.retry_on.outcomes.contains(refusal));
    let rejects = |role: &Role| match role {
        Role::Guard(index) => parts.guard(*index).is_some_and(|read| {
            let mechanism = &read.guard.mechanism;
            mechanism.refuses_at_once() && mechanism.refusal().is_some_and(repeats)
        }),
        Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => false,
    };
    client.elements()[..layer].iter().any(|element| rejects(&element.role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::units::SimDuration;

    #[test]
    fn what_rounds_to_no_time_is_instant_and_what_seldom_does_is_not() {
        let instant = [
            Shape::Constant(0.0),
            Shape::Uniform { low: 0.0, high: 1e-9 },
            Shape::Exponential { mean: 1e-9 },
            // The mean is made by one draw in a million: the median is 1 ns · exp(−50).
            Shape::LogNormal { mean: 1e-9, sigma: 10.0 },
            Shape::LogNormal { mean: 1.0, sigma: 10.0 },
            Shape::Normal { mean: 1e-9, sd: 1e-9 },
            Shape::Gamma { mean: 0.2, cv: 10.0 },
            Shape::Weibull { mean: 1e-3, shape: 0.1 },
        ];
        let slow = [
            Shape::Constant(1e-9),
            Shape::Uniform { low: 0.0, high: 0.2 },
            Shape::Exponential { mean: 0.05 },
            Shape::LogNormal { mean: 0.2, sigma: 1.5 },
            Shape::Normal { mean: 0.1, sd: 0.3 },
            Shape::Gamma { mean: 0.2, cv: 1.0 },
            Shape::Weibull { mean: 0.2, shape: 0.8 },
        ];
        for (shapes, expected) in [(&instant[..], true), (&slow[..], false)] {
            for shape in shapes {
                let time = Distribution::new(shape.clone()).unwrap();
                assert_eq!(is_often_instant(&time), expected, "{shape:?}");
                // Measured: zeros on the clock among ten thousand draws.
                let mut stream = Seed(1).key().named("instant").stream();
                let is_zero = |_: &u32| SimDuration::from_secs_f64(time.sample(&mut stream)).is_zero();
                let zeros = (0..10_000).filter(is_zero).count();
                assert_eq!(zeros > 0, expected, "{shape:?}: {zeros}");
            }
        }
    }
}
