//! State that belongs to elements of clients and has no name of its own, and who shares it: retry budgets, and what hedges
//! know of one another. Each element of a client has one; a step's client shares those of the client that it comes from, but
//! for an element whose settings the step changes: that is another one.

use crate::policy::retry_budget::RetryBudget;
use crate::policy::stack::{Client, Element, Kind};
use crate::policy::{Hedge, HedgeDelay, Role, Scope};
use crate::scenario::Scenario;

/// All states of one sort.
pub(super) struct Shared<'a, T> {
    /// Their settings.
    pub(super) all: Vec<(T, Scope)>,
    /// The client and the layer of each.
    pub(super) names: Vec<[&'a str; 2]>,
    /// For each class, each of its clients and each element, its place among them.
    pub(super) places: Vec<Vec<Vec<Option<usize>>>>,
}

/// All retry budgets of a scenario, those of hedges among them.
pub(super) type Budgets<'a> = Shared<'a, &'a RetryBudget>;

/// All hedges of a scenario that look at one another.
pub(super) type Hedges<'a> = Shared<'a, &'a Hedge>;

impl<'a> Budgets<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Budgets<'a> {
        Shared::read(scenario, |element| element.role.budget())
    }
}

impl<'a> Hedges<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Hedges<'a> {
        Shared::read(scenario, |element| match &element.role {
            Role::Hedge(hedge) => {
                let measures = matches!(hedge.delay, HedgeDelay::Measured(_));
                (measures || hedge.at_most_out.is_some()).then_some((hedge, hedge.scope))
            }
            Role::Retry(_) | Role::Queue(..) | Role::Guard(_) | Role::Fallback(_) => None,
        })
    }
}

impl<'a, T: Copy + PartialEq> Shared<'a, T> {
    fn read(scenario: &'a Scenario, of: impl Fn(&'a Element) -> Option<(T, Scope)>) -> Shared<'a, T> {
        let (mut all, mut names) = (Vec::new(), Vec::new());
        let mut add = |client: &'a Client, element: &'a Element| {
            all.push(of(element)?);
            names.push([client.name.as_str(), element.name.as_str()]);
            Some(all.len() - 1)
        };
        let own: Vec<Vec<Option<usize>>> = scenario
            .clients
            .iter()
            .map(|client| client.elements().iter().map(|element| add(client, element)).collect())
            .collect();
        let shared = |element: &'a Element, client: usize| {
            let known = &scenario.clients[client];
            let at = known.elements().iter().position(|known| known.name == element.name)?;
            own[client][at].filter(|_| of(&known.elements()[at]) == of(element))
        };
        let places = scenario.traffic.iter().map(|class| {
            let others = class.others.iter().map(|other| {
                let elements = other.client.elements().iter();
                let places = elements.map(|element| {
                    let owner = if element.kind == Kind::Queue { class.client } else { other.shares_with };
                    of(element).and_then(|_| shared(element, owner).or_else(|| add(&other.client, element)))
                });
                places.collect()
            });
            std::iter::once(own[class.client].clone()).chain(others.collect::<Vec<_>>()).collect()
        });
        let places = places.collect();
        Shared { all, names, places }
    }
}
