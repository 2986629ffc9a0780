//! Where the settings of a step's client are written. A layer that a step changes is set in the step, and the queue
//! around another client in the class's own.

use super::warning::Warning;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;

/// The places of the settings of one step's client.
pub(super) struct StepSettings {
    /// Beginnings of paths, each with what stands there instead; the first that fits is taken.
    moved: Vec<(String, String)>,
}

impl StepSettings {
    /// The places for a step of a class.
    pub(super) fn of(scenario: &Scenario, class: &TrafficClass, step: usize) -> StepSettings {
        let (own, step) = (scenario.client_of(class), &class.steps[step]);
        let Some(other) = step.other.map(|other| &class.others[other]) else {
            return StepSettings { moved: Vec::new() };
        };
        let layers = |name: &str| format!("clients.{name}.layers.");
        let mut moved = Vec::new();
        if let Some(queue) = own.queue_element().map(|at| &own.elements()[at].name) {
            let of = |name| format!("{}{queue}.", layers(name));
            moved.push((of(&other.client.name), of(&own.name)));
        }
        let base = &scenario.clients[other.shares_with];
        let inside = other.client.queue_element().unwrap_or(other.client.elements().len());
        let from = base.queue_element().unwrap_or(base.elements().len());
        if other.client.elements()[..inside] != base.elements()[..from] {
            let there = format!("traffic.{}.steps.{}.with.", class.name, step.name);
            moved.push((layers(&other.client.name), there));
        }
        StepSettings { moved }
    }

    /// The warning with its settings where the step has them.
    pub(super) fn place(&self, mut warning: Warning) -> Warning {
        warning.path = self.moved(&warning.path);
        // What is to be set stands between back-ticks.
        let parts = warning.hint.split('`').enumerate();
        let parts = parts.map(|(n, part)| if n % 2 == 1 { self.moved(part) } else { part.to_owned() });
        warning.hint = parts.collect::<Vec<String>>().join("`");
        warning
    }

    fn moved(&self, path: &str) -> String {
        let fits = |(from, to): &(String, String)| path.strip_prefix(from.as_str()).map(|rest| format!("{to}{rest}"));
        self.moved.iter().find_map(fits).unwrap_or_else(|| path.to_owned())
    }
}
