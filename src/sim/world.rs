//! A scenario compiled for the loop: what is looked up by name or computed from settings is an index or a constant
//! here.

use crate::observe::AnswerIndex;
use crate::policy::circuit_breaker::BreakerCounts;
use crate::policy::guard::Mechanism;
use crate::policy::stack::{Client, Element, Role};
use crate::provider::{Abandoned, Provider, Respond};
use crate::random::stream::mix;
use crate::random::{Distribution, Key, Seed};
use crate::scenario::Scenario;
use crate::traffic::{Idempotency, TrafficClass};

/// One traffic class, compiled.
pub(super) struct Class<'a> {
    pub(super) settings: &'a TrafficClass,
    pub(super) client: &'a Client,
    /// The key that the class's draws start from.
    pub(super) key: Key,
    /// The key word of each step's name.
    pub(super) step_words: Vec<u64>,
    /// The key word of each element's name, innermost first.
    pub(super) element_words: Vec<u64>,
    /// For each element, its retry budget among all; `None` where it has none.
    pub(super) budgets: Vec<Option<usize>>,
    /// Guards of the client that every response feeds.
    pub(super) fed_by_responses: Vec<usize>,
    /// Breakers of the client that pause workers while open.
    pub(super) pausing: Vec<usize>,
}

/// Purposes of draws that are not named after anything.
pub(super) mod purpose {
    /// The token counts of a step.
    pub(crate) const TOKENS: u64 = u64::from_be_bytes(*b"  tokens");
    /// The service time of a request.
    pub(crate) const SERVICE: u64 = u64::from_be_bytes(*b" service");
    /// The time until the first token of its answer.
    pub(crate) const FIRST_TOKEN: u64 = u64::from_be_bytes(*b"f. token");
    /// The time until its connection stands.
    pub(crate) const CONNECT: u64 = u64::from_be_bytes(*b" connect");
    /// The time until it is written.
    pub(crate) const WRITE: u64 = u64::from_be_bytes(*b"   write");
    /// The jitter of a client's elements.
    pub(crate) const JITTER: u64 = u64::from_be_bytes(*b"  jitter");
    /// Arrivals of a class.
    pub(crate) const ARRIVALS: u64 = u64::from_be_bytes(*b"arrivals");
}

/// All classes of a scenario, compiled.
pub(super) fn classes(scenario: &Scenario, seed: Seed) -> Vec<Class<'_>> {
    scenario
        .traffic
        .iter()
        .map(|settings| {
            let client = scenario.client_of(settings);
            let guards = || {
                client.elements().iter().filter_map(|element| match &element.role {
                    Role::Guard(guard) => Some(*guard),
                    Role::Retry(_) | Role::Queue(..) => None,
                })
            };
            let breaker = |guard: usize| match &scenario.guards[guard].mechanism {
                Mechanism::Breaker(breaker) => Some(breaker),
                Mechanism::Pacer(_) => None,
            };
            Class {
                settings,
                client,
                key: seed.key().named(&settings.name),
                step_words: settings.steps.iter().map(|step| Key::word(&step.name)).collect(),
                element_words: client.elements().iter().map(|element| Key::word(&element.name)).collect(),
                budgets: budgets(scenario, settings.client),
                fed_by_responses: guards()
                    .filter(|g| breaker(*g).is_some_and(|b| b.counts == BreakerCounts::Responses))
                    .collect(),
                pausing: guards().filter(|g| breaker(*g).is_some_and(|b| b.pauses_workers)).collect(),
            }
        })
        .collect()
}

/// The answers that a scenario can produce.
pub(super) fn answer_index(scenario: &Scenario) -> AnswerIndex {
    let limits = scenario.provider.limits.iter().map(|limit| limit.status);
    let faults = scenario.provider.faults.iter().flat_map(|fault| match &fault.respond {
        Respond::Status { status, .. } => vec![*status],
        Respond::Script(script) => script.statuses(),
        Respond::Stream { .. }
        | Respond::Cut { .. }
        | Respond::Drop { .. }
        | Respond::Unreachable { .. }
        | Respond::Hang
        | Respond::ConnectHang
        | Respond::Silence { .. }
        | Respond::SlowFirstToken(_) => Vec::new(),
    });
    let slots = scenario.provider.slots.iter().map(|slots| slots.status);
    let statuses: Vec<u16> = limits.chain(slots).chain(faults).collect();
    AnswerIndex::new(&statuses)
}

/// A digest of the world's settings: what is no event, and yet must be equal for two worlds to be the same one.
pub(super) fn settings_digest(scenario: &Scenario) -> u64 {
    let mut words = vec![format!("{}", scenario.horizon.as_nanos())];
    for limit in &scenario.provider.limits {
        let (amount, per, capacity) = (limit.bucket.amount(), limit.bucket.per(), limit.bucket.capacity());
        let refusal = (limit.status, limit.refusal_latency.shape(), limit.hint);
        words.push(format!("{} {} {amount} {per:?} {capacity:?} {refusal:?}", limit.name, limit.counts.word()));
    }
    for fault in &scenario.provider.faults {
        words.push(format!("{} {:?} {:?} {:?}", fault.name, fault.window, fault.probability, fault.respond));
    }
    for class in &scenario.traffic {
        words.push(format!("{} {:?}", class.name, class.enqueue_delay));
        for step in &class.steps {
            let shapes = [&step.input_tokens, &step.output_tokens, &step.latency].map(Distribution::shape);
            words.push(format!("{} {shapes:?}", step.name));
            let phases = [&step.first_token, &step.connect, &step.write];
            if phases.iter().any(|phase| phase.is_some()) || step.idempotency != Idempotency::None {
                words.push(format!("{phases:?} {:?}", step.idempotency));
            }
        }
    }
    let Provider { slots, abandoned, faults, .. } = &scenario.provider;
    if !slots.is_empty() || *abandoned != Abandoned::default() {
        words.push(format!("{slots:?} {abandoned:?}"));
    }
    let told = faults.iter().filter_map(|fault| Some((&fault.name, fault.carried_out?)));
    words.extend(told.map(|(name, carried_out)| format!("{name} {carried_out}")));
    words.iter().fold(0, |digest, word| mix(digest ^ Key::word(word)))
}

/// The place of each element's retry budget among all budgets of the scenario, client by client.
fn budgets(scenario: &Scenario, client: usize) -> Vec<Option<usize>> {
    let has_budget = |element: &Element| element.role.policy().is_some_and(|policy| policy.budget.is_some());
    let earlier = &scenario.clients[..client];
    let mut next = earlier.iter().flat_map(Client::elements).filter(|element| has_budget(element)).count();
    let own = scenario.clients[client].elements().iter();
    own.map(|element| {
        has_budget(element).then(|| {
            next += 1;
            next - 1
        })
    })
    .collect()
}
