//! How the instances of a guard that can shut stood to those who came, over time.

use super::spans::Spans;
use crate::units::SimTime;

/// How an instance stands to those who come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// It lets everybody through.
    Open,
    /// It lets nobody through until then; after that it is ajar for a while, and open from then on.
    Shut {
        /// Until when.
        until: SimTime,
        /// Until when it is ajar at most: not after `until` where it opens at once, [`SimTime::NEVER`] where somebody must
        /// come and try.
        ajar_until: SimTime,
    },
    /// It lets a few through to try.
    Ajar,
}

/// All instances of a guard.
#[derive(Clone, Debug)]
pub(super) struct Doors {
    /// How each instance stands, since when.
    pub(super) now: Vec<(Door, SimTime)>,
    /// How often each has been shut.
    pub(super) times: Vec<u32>,
    /// Time for which they let nobody through.
    pub(super) shut: Spans,
    /// Time for which they let some through.
    pub(super) ajar: Spans,
    /// How often they were shut, in each bin.
    pub(super) trips: Vec<u32>,
}

impl Doors {
    /// So many that are open; `none` are spans in which nothing is.
    pub(super) fn new(instances: usize, bins: usize, none: Spans) -> Doors {
        Doors {
            now: vec![(Door::Open, SimTime::ZERO); instances],
            times: vec![0; instances],
            shut: none.clone(),
            ajar: none,
            trips: vec![0; bins],
        }
    }

    /// All of them stand like this when the run begins.
    pub(super) fn begin(&mut self, door: Door) {
        self.now.fill((door, SimTime::ZERO));
    }

    /// An instance stands like this from now on.
    pub(super) fn turn(&mut self, instance: usize, door: Door, now: SimTime) {
        let (stood, since) = std::mem::replace(&mut self.now[instance], (door, now));
        match stood {
            Door::Open => {}
            Door::Ajar => self.ajar.add(since, now, 1.0),
            Door::Shut { until, ajar_until } => {
                self.shut.add(since, until.min(now), 1.0);
                self.ajar.add(until.max(since), ajar_until.min(now), 1.0);
            }
        }
    }
}
