//! Everything that one run produced, as plain data.

use super::timeline::Timeline;
use crate::provider::Window;
use crate::random::Seed;

/// A phase of the run, as it was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When.
    pub window: Window,
}

/// Everything that one run produced.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: Seed,
    /// The digest of all facts of the run: equal for equal runs, whatever the machine.
    pub digest: u64,
    /// The digest of arrivals, token counts and fault draws alone: equal across policies.
    pub world_digest: u64,
    /// The phases in order.
    pub phases: Vec<Phase>,
    /// Series over time.
    pub timeline: Timeline,
}
