//! Which phases of a request take time in a world: what bounds a request depends on it.

use crate::policy::timeouts::Phases;
use crate::provider::{Provider, Respond};
use crate::traffic::{Step, TrafficClass};

/// The phases that take time for some request of the scenario.
pub(super) fn phases(provider: &Provider, traffic: &[TrafficClass]) -> Phases {
    let step = |takes: fn(&Step) -> bool| traffic.iter().flat_map(|class| &class.steps).any(takes);
    let fault = |does: fn(&Respond) -> bool| provider.faults.iter().any(|fault| does(&fault.respond));
    Phases {
        connect: step(|step| step.connect.is_some()),
        write: step(|step| step.write.is_some()),
        stream: step(|step| step.first_token.is_some()) || fault(|respond| matches!(respond, Respond::Silence { .. })),
    }
}
