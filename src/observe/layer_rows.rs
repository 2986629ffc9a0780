//! Where the counts of a class's layers lie in its ledger. Each client of the class has a row for each of its elements;
//! a class with several clients, or with hops, also has a row for what reaches the provider by each. Readers see layers by name: what one name did
//! in all clients together.

use super::ledger::LayerCounts;
use crate::scenario::Scenario;
use crate::traffic::{LayerOrder, TrafficClass};

/// The rows of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRows<'a> {
    names: Vec<&'a str>,
    has_queue: bool,
    stacks: Vec<StackRows>,
    len: usize,
}

/// The rows of one of its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StackRows {
    first: usize,
    /// For each element the place of its name.
    names: Vec<usize>,
    wire: Option<usize>,
}

impl<'a> LayerRows<'a> {
    /// The rows of a class.
    pub fn of(scenario: &'a Scenario, class: &'a TrafficClass) -> LayerRows<'a> {
        let names = LayerOrder::of(scenario.clients_of(class)).names;
        let (mut stacks, mut len) = (Vec::new(), 0);
        for client in scenario.clients_of(class) {
            let elements = client.elements();
            let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
            let is_counted = !class.others.is_empty() || !client.hops().is_empty();
            let wire = is_counted.then_some(len + elements.len());
            let names = elements.iter().map(|element| place(&element.name)).collect();
            stacks.push(StackRows { first: len, names, wire });
            len += elements.len() + usize::from(wire.is_some());
        }
        let has_queue = scenario.client_of(class).queue().is_some();
        LayerRows { names, has_queue, stacks, len }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The row of the innermost element of this client of the class.
    pub fn first_of(&self, client: usize) -> usize {
        self.stacks[client].first
    }

    /// The row in which what reaches the provider by this client of the class is counted as entered; `None` in a class
    /// with one client and no hops.
    pub fn wire_of(&self, client: usize) -> Option<usize> {
        self.stacks[client].wire
    }

    /// The names of all layers, innermost first.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// The names of the layers inside the queue, innermost first.
    pub fn inside(&self) -> &[&'a str] {
        &self.names[..self.names.len() - usize::from(self.has_queue)]
    }

    /// What each name counted in all clients together.
    pub fn by_name(&self, rows: &[LayerCounts]) -> Vec<LayerCounts> {
        let mut counts = vec![LayerCounts::default(); self.names.len()];
        for stack in &self.stacks {
            for (element, name) in stack.names.iter().enumerate() {
                counts[*name].add(&rows[stack.first + element]);
            }
        }
        counts
    }

    /// How often each place inside the queue was passed inward, innermost first and the requests before all. A client
    /// without the layer of a place passes it all the same: so the factors of the layers multiply to the whole.
    pub fn passages(&self, rows: &[LayerCounts], requests: u64) -> Vec<u64> {
        let inside = self.inside().len();
        let mut passages = vec![0; inside + 1];
        for stack in &self.stacks {
            let mut passed = stack.wire.map_or(requests, |wire| rows[wire].entered);
            passages[0] += passed;
            for (name, sum) in passages[1..].iter_mut().enumerate() {
                if let Some(element) = stack.names.iter().position(|own| *own == name) {
                    passed = rows[stack.first + element].entered;
                }
                *sum += passed;
            }
        }
        passages
    }
}
