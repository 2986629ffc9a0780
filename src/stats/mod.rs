//! Statistics over replicates and over tasks: quantiles, intervals, pairs, modes and stores of latencies.

pub mod histogram;
pub mod modes;
pub mod paired;
pub mod proportion;
pub mod quantile;
pub mod statistic;

pub use histogram::LatencyStore;
pub use modes::Mode;
pub use paired::{Paired, Shift};
pub use statistic::Statistic;
