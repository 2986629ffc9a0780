//! The waiting room before the provider's servers. Where it holds more than the servers do in the time that callers
//! wait, every answer comes too late, and all the work is for callers who have left.

use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::queue::Queue;
use super::scale::Scale;
use super::steps::Bins;
use crate::provider::Capacity;
use crate::units::SimTime;

/// The panel of the waiting room; none where servers are not limited or nobody waited.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    panel(view).into_iter().collect()
}

fn panel(view: &View<'_>) -> Option<Panel> {
    let facts = &view.facts;
    let waiting = &facts.result.timeline.waiting;
    let group = view.axis.group(view.bin(), 2.0);
    let peak = |bins: &[u32], _: f64| f64::from(bins.iter().max().copied().unwrap_or(0));
    let length = Bins::gather(waiting, view.bin(), group, view.end(), peak);
    let most = length.most(view.axis);
    if waiting.is_empty() || most <= 0.0 {
        return None;
    }
    let failures = Bins::gather(&vec![0_u32; waiting.len()], view.bin(), group, view.end(), |_, _| 0.0);
    Some(Panel {
        title: "Requests waiting for a server".to_string(),
        how: vec![format!("most in each {}", number::each(length.width))],
        height: 96.0,
        above: 0.0,
        scale: Scale::covering(1.15 * most, 3.0, true),
        unit: Unit::None,
        note: note(view),
        body: Body::Queue(Queue { class: 0, length, band: None, failures }),
    })
}

/// How much of what the servers did was for nobody.
fn note(view: &View<'_>) -> Option<Note> {
    let facts = &view.facts;
    let sum = |key: &str| -> f64 {
        facts.scenario.traffic.iter().filter_map(|class| facts.value(&["classes", &class.name, key])).sum()
    };
    let (all, wasted) = (sum("server_s"), sum("wasted_server_s"));
    if all <= 0.0 {
        return None;
    }
    Some(Note::new(number::share(wasted / all), "of the servers' time was for callers who had left".to_string()))
}

/// How many servers there are, and for how many there is room.
pub(super) fn size(capacity: &Capacity) -> Option<String> {
    let servers = capacity.servers.at(SimTime::ZERO);
    if servers == u32::MAX {
        return None;
    }
    let room = if capacity.room == u32::MAX {
        "an endless queue".to_string()
    } else {
        format!("room for {}", number::count(f64::from(capacity.room)))
    };
    Some(format!("{} with {room}", number::of(f64::from(servers), "server")))
}
