//! Everything that one run produced, as plain data.

use super::alerts::AlertRecord;
use super::ledger::{AnswerIndex, ClassLedger};
use super::phases::PhasePlan;
use super::timeline::Timeline;
use crate::policy::Deployments;
use crate::policy::deployments::DeploymentCounts;
use crate::provider::Window;
use crate::random::Seed;
use crate::units::SimDuration;

/// A phase of the run, as it was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When.
    pub window: Window,
}

/// What was counted of one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Requests that it let through.
    pub admitted: u64,
    /// Requests that it refused.
    pub refused: u64,
    /// Requests that can never fit into it.
    pub impossible: u64,
    /// Answers that it stopped because their output used it up.
    pub cut_short: u64,
}

/// What was counted of one limit on requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Requests that it let through.
    pub admitted: u64,
    /// Requests that it refused.
    pub refused: u64,
    /// The most that were in flight at once.
    pub most_in_flight: u32,
}

/// What was counted at the provider's servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityCounts {
    /// Requests that came to the servers.
    pub arrived: u64,
    /// Those that found no room.
    pub refused: u64,
    /// Those whose service began.
    pub started: u64,
    /// Those that were passed over because their callers had left.
    pub skipped: u64,
    /// Those that were passed over or refused because they could not be answered in time.
    pub late: u64,
    /// Those whose callers left while they waited.
    pub left_waiting: u64,
    /// Those whose callers left while they were served.
    pub left_in_service: u64,
    /// The most that waited at once.
    pub most_waiting: u32,
    /// The most that were served at once.
    pub most_busy: u32,
    /// How many wait when the run ends.
    pub waiting_at_end: u32,
    /// How long those had waited whose service began, in nanoseconds in all.
    pub waited_nanos: u64,
}

/// What was counted of one pool of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolCounts {
    /// How often a worker died.
    pub crashes: u64,
    /// The most workers that were there at once.
    pub most_workers: u32,
    /// The fewest.
    pub fewest_workers: u32,
    /// Worker-seconds with a job of some class.
    pub busy_s: f64,
    /// Worker-seconds without one.
    pub idle_s: f64,
    /// Worker-seconds in which a dead worker was not back.
    pub down_s: f64,
}

/// What was counted of one guard, over all its instances.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GuardCounts {
    /// How often a breaker opened.
    pub trips: u64,
    /// How often it refused.
    pub refused: u64,
    /// How often it let someone wait.
    pub waits: u64,
    /// How long in all.
    pub waited: SimDuration,
    /// The most permits of one instance of a semaphore that were out at once.
    pub most_in_use: u64,
    /// Permits that are out when the run ends.
    pub in_use: u64,
    /// How often a gate closed.
    pub closings: u64,
    /// How long it was closed in all.
    pub closed_for: SimDuration,
    /// What a guard has learnt that adapts.
    pub level: Option<GuardLevel>,
    /// What became of each deployment, in the order of the file.
    pub deployments: [DeploymentCounts; Deployments::MOST],
}

/// Where a guard that adapts has been: a limit of concurrency in permits, a rate in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardLevel {
    /// The instances that have one.
    instances: u64,
    /// The sum of their levels when the run ends.
    at_end: f64,
    /// The lowest of any of them.
    pub lowest: f64,
    /// The highest of any of them.
    pub highest: f64,
}

impl GuardLevel {
    /// Of one instance.
    pub fn at_end(level: f64, lowest: impl Into<f64>, highest: impl Into<f64>) -> GuardLevel {
        GuardLevel { instances: 1, at_end: level, lowest: lowest.into(), highest: highest.into() }
    }

    /// Of all of these.
    #[must_use]
    pub fn with(self, other: GuardLevel) -> GuardLevel {
        GuardLevel {
            instances: self.instances + other.instances,
            at_end: self.at_end + other.at_end,
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
        }
    }

    /// The mean of the instances' levels when the run ends.
    pub fn mean_at_end(&self) -> f64 {
        self.at_end / self.instances as f64
    }
}

/// Everything that one run produced.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: Seed,
    /// The digest of all facts of the run: equal for equal runs, whatever the machine.
    pub digest: u64,
    /// The digest of the world alone, its settings and arrivals: equal across policies.
    pub world_digest: u64,
    /// Phases and cells.
    pub plan: PhasePlan,
    /// The answers that are counted apart.
    pub answers: AnswerIndex,
    /// One ledger for each traffic class.
    pub classes: Vec<ClassLedger>,
    /// One for each limit.
    pub limits: Vec<LimitCounts>,
    /// One for each limit on requests in flight.
    pub slots: Vec<SlotCounts>,
    /// At the servers, where they are limited.
    pub capacity: Option<CapacityCounts>,
    /// One for each guard.
    pub guards: Vec<GuardCounts>,
    /// One for each pool of workers.
    pub pools: Vec<PoolCounts>,
    /// One for each alert.
    pub alerts: Vec<AlertRecord>,
    /// Series over time.
    pub timeline: Timeline,
}
