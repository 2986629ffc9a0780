//! Statistics over replicates and over tasks: quantiles, intervals, modes and stores of latencies.

pub mod histogram;
pub mod modes;
pub mod quantile;
pub mod statistic;

pub use histogram::LatencyStore;
pub use modes::Mode;
pub use statistic::Statistic;
