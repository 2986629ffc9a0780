//! Statistics over replicates: quantiles, intervals and modes.

pub mod histogram;
pub mod quantile;
pub mod statistic;

pub use histogram::LatencyStore;
pub use statistic::{Mode, Statistic};
