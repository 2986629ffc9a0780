//! The retry budgets of a scenario and who shares them.

use crate::policy::Scope;
use crate::policy::retry_budget::RetryBudget;
use crate::policy::stack::{Client, Element, Kind};
use crate::scenario::Scenario;

/// All retry budgets of a scenario. Each layer of a client has one; a step's client shares those of the client that it
/// comes from, but for a layer whose budget the step changes: that is another one.
pub(super) struct Budgets<'a> {
    /// Their settings.
    pub(super) all: Vec<(&'a RetryBudget, Scope)>,
    /// The client and the layer of each.
    pub(super) names: Vec<[&'a str; 2]>,
    /// For each class, each of its clients and each element, its place among them.
    pub(super) places: Vec<Vec<Vec<Option<usize>>>>,
}

impl<'a> Budgets<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Budgets<'a> {
        let (mut all, mut names) = (Vec::new(), Vec::new());
        let mut add = |client: &'a Client, element: &'a Element| {
            all.push(budget_of(element)?);
            names.push([client.name.as_str(), element.name.as_str()]);
            Some(all.len() - 1)
        };
        let own: Vec<Vec<Option<usize>>> = scenario
            .clients
            .iter()
            .map(|client| client.elements().iter().map(|element| add(client, element)).collect())
            .collect();
        let shared = |element: &Element, client: usize| {
            let known = &scenario.clients[client];
            let at = known.elements().iter().position(|known| known.name == element.name)?;
            own[client][at].filter(|_| budget_of(&known.elements()[at]) == budget_of(element))
        };
        let places = scenario.traffic.iter().map(|class| {
            let others = class.others.iter().map(|other| {
                let elements = other.client.elements().iter();
                let places = elements.map(|element| {
                    let owner = if element.kind == Kind::Queue { class.client } else { other.shares_with };
                    budget_of(element).and_then(|_| shared(element, owner).or_else(|| add(&other.client, element)))
                });
                places.collect()
            });
            std::iter::once(own[class.client].clone()).chain(others.collect::<Vec<_>>()).collect()
        });
        let places = places.collect();
        Budgets { all, names, places }
    }
}

fn budget_of(element: &Element) -> Option<(&RetryBudget, Scope)> {
    let policy = element.role.policy()?;
    Some((policy.budget.as_ref()?, policy.budget_scope))
}
