//! What an experiment hands to reports and pictures.

use super::tracks::Track;
use crate::metrics::{Number, Tree};
use crate::observe::Timeline;
use crate::observe::alerts::AlertRecord;
use crate::random::Seed;
use crate::stats::Statistic;

/// One number of a report: of one run, or over replicates.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Of one run.
    One(Number),
    /// Over replicates; `None` where no replicate defines it.
    Many {
        /// The statistic.
        statistic: Option<Statistic>,
        /// Whether each value counts things.
        whole: bool,
    },
}

impl Figure {
    /// The number, or its mean over replicates, where it is defined.
    pub fn center(&self) -> Option<f64> {
        match self {
            Figure::One(number) => number.get(),
            Figure::Many { statistic, .. } => statistic.as_ref().map(|s| s.mean),
        }
    }

    /// The 5 % and 95 % quantiles over replicates.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Figure::One(_) => None,
            Figure::Many { statistic, .. } => statistic.as_ref().map(|s| (s.p5, s.p95)),
        }
    }
}

/// The 5 % and 95 % quantiles of a series over replicates, for each wide bin; NaN where it is not defined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// The 5 % quantiles.
    pub p5: Vec<f64>,
    /// The 95 % quantiles.
    pub p95: Vec<f64>,
}

/// The result of `run`: one run, or replicates of which the first is shown in full.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The seed; replicate 0 uses it as it is.
    pub seed: Seed,
    /// How many replicates were run; `None` for a single run.
    pub replicates: Option<u64>,
    /// The digest of the run, or the sum over replicates.
    pub digest: u64,
    /// The digest of the world, or the sum over replicates.
    pub world_digest: u64,
    /// All numbers: `classes`, `phases`, `recovery`, `limits`, `guards`.
    pub figures: Tree<Figure>,
    /// The series of the run with the seed itself.
    pub timeline: Timeline,
    /// For each class, the band over replicates of the share of tasks that met a 429; empty for a single run.
    pub share_429_bands: Vec<Band>,
    /// For each class, the band over replicates of the queue's length; empty for a single run.
    pub queue_bands: Vec<Band>,
    /// What each task of the run with the seed itself did; empty where the run is too large to be told so.
    pub tracks: Vec<Track>,
    /// For each alert, when it fired in the run with the seed itself.
    pub alerts: Vec<AlertRecord>,
}
