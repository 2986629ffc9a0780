//! Where an instant falls: its cell and its bins. Time only moves forward in a run, so the place is kept and moved on
//! when an edge is passed; dividing at every event would cost more than the counting itself.

use super::phases::PhasePlan;
use super::timeline::Timeline;
use crate::units::{SimDuration, SimTime};

/// The cell and the bins of the current instant.
#[derive(Clone, Debug)]
pub struct Clock {
    now: SimTime,
    /// The earliest edge after `now`.
    edge: SimTime,
    cell: u16,
    narrow: u32,
    wide: u32,
    bin: SimDuration,
    wide_bin: SimDuration,
}

impl Clock {
    /// A clock at the beginning of the run.
    pub fn new(plan: &PhasePlan, timeline: &Timeline) -> Clock {
        let mut clock = Clock {
            now: SimTime::ZERO,
            edge: SimTime::ZERO,
            cell: 0,
            narrow: 0,
            wide: 0,
            bin: timeline.bin,
            wide_bin: timeline.wide,
        };
        clock.turn(plan);
        clock
    }

    /// Moves the clock to `now`, which is not before where it stands.
    #[inline]
    pub fn move_to(&mut self, now: SimTime, plan: &PhasePlan) {
        self.now = now;
        if now >= self.edge {
            self.turn(plan);
        }
    }

    #[cold]
    fn turn(&mut self, plan: &PhasePlan) {
        let nanos = self.now.as_nanos();
        self.cell = plan.cell_at(self.now) as u16;
        self.narrow = (nanos / self.bin.as_nanos()) as u32;
        self.wide = (nanos / self.wide_bin.as_nanos()) as u32;
        let next_narrow = SimTime::ZERO + self.bin.times(u64::from(self.narrow) + 1);
        let next_wide = SimTime::ZERO + self.wide_bin.times(u64::from(self.wide) + 1);
        self.edge = plan.cell_end(self.cell as usize).min(next_narrow).min(next_wide);
    }

    /// The run ends at `horizon`: it stands in the last cell and bins although it belongs to none.
    pub const fn stop_at(&mut self, horizon: SimTime) {
        self.now = horizon;
    }

    /// The current instant.
    #[inline]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Its cell.
    #[inline]
    pub const fn cell(&self) -> u16 {
        self.cell
    }

    /// Its narrow bin.
    #[inline]
    pub const fn narrow(&self) -> u32 {
        self.narrow
    }

    /// Its wide bin.
    #[inline]
    pub const fn wide(&self) -> u32 {
        self.wide
    }
}
