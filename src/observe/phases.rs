//! Phases and cells. Phases are the spans of time that a report speaks of; they may overlap. Cells are the pieces
//! between all their edges: an event is counted once, in its cell, and a phase is a range of cells.

use super::outcome::Phase;
use crate::provider::Window;
use crate::scenario::Scenario;
use crate::units::SimTime;

/// The name of the phase before the first fault window.
pub const BEFORE: &str = "before";
/// The name of the phase from the end of the last fault window until things are back.
pub const RECOVERY: &str = "recovery";
/// The name of the phase after the recovery.
pub const AFTER: &str = "after";

/// The edges of all phases of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhasePlan {
    phases: Vec<Phase>,
    /// Starts of cells, ascending; the first is the beginning of the run.
    cell_starts: Vec<SimTime>,
}

impl PhasePlan {
    /// The phases of a scenario. `recovered` is when things were back after the last fault window, where the file
    /// does not fix the recovery phase itself and an earlier pass has found it out.
    pub fn new(scenario: &Scenario, recovered: Option<SimTime>) -> PhasePlan {
        let phases = phases(scenario, recovered);
        let mut edges: Vec<SimTime> = phases.iter().flat_map(|phase| [phase.window.from, phase.window.to]).collect();
        edges.push(SimTime::ZERO);
        edges.retain(|edge| *edge < scenario.horizon);
        edges.sort_unstable();
        edges.dedup();
        PhasePlan { phases, cell_starts: edges }
    }

    /// Whether the end of the recovery phase depends on the run itself.
    pub fn is_open(scenario: &Scenario) -> bool {
        !scenario.fault_windows().is_empty() && !scenario.phases.iter().any(|phase| phase.name == RECOVERY)
    }

    /// The phases in order.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.cell_starts.len()
    }

    /// The cell of an instant.
    pub fn cell_at(&self, now: SimTime) -> usize {
        self.cell_starts.partition_point(|start| *start <= now) - 1
    }

    /// When this cell begins.
    pub fn cell_start(&self, cell: usize) -> SimTime {
        self.cell_starts[cell]
    }

    /// When the cell after this one begins; never for the last.
    pub fn cell_end(&self, cell: usize) -> SimTime {
        self.cell_starts.get(cell + 1).copied().unwrap_or(SimTime::NEVER)
    }

    /// The cells of a phase.
    pub fn cells_of(&self, phase: &Phase) -> std::ops::Range<usize> {
        let from = self.cell_starts.partition_point(|start| *start < phase.window.from);
        let to = self.cell_starts.partition_point(|start| *start < phase.window.to);
        from..to.max(from)
    }
}

fn phases(scenario: &Scenario, recovered: Option<SimTime>) -> Vec<Phase> {
    let own = |name: &str| scenario.phases.iter().find(|phase| phase.name == name).map(|phase| phase.window);
    let windows = scenario.fault_windows();
    let mut out: Vec<Phase> = Vec::new();
    let mut add = |name: &str, window: Window, always: bool| {
        let window = own(name).unwrap_or(window);
        let window = Window { from: window.from.min(scenario.horizon), to: window.to.min(scenario.horizon) };
        if (always || window.from < window.to) && !out.iter().any(|phase| phase.name == name) {
            out.push(Phase { name: name.to_owned(), window });
        }
    };
    if let (Some((_, first)), Some(end)) = (windows.first(), windows.iter().map(|(_, window)| window.to).max()) {
        add(BEFORE, Window { from: SimTime::ZERO, to: first.from }, false);
        for (name, window) in &windows {
            add(name, *window, false);
        }
        let recovery = Window { from: end, to: recovered.unwrap_or(scenario.horizon) };
        // Its length may differ between replicates, down to zero, so it is there in all of them.
        add(RECOVERY, recovery, true);
        let recovery = own(RECOVERY).unwrap_or(recovery);
        add(AFTER, Window { from: recovery.to, to: scenario.horizon }, true);
    }
    for phase in &scenario.phases {
        add(&phase.name, phase.window, false);
    }
    out.sort_by_key(|phase| (phase.window.from, phase.window.to));
    out
}
