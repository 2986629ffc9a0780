//! Statistics over replicates and over tasks: quantiles, intervals, shares, pairs, tests, modes and stores of latencies.

pub mod binomial;
pub mod family;
pub mod histogram;
pub mod modes;
pub mod paired;
pub mod proportion;
pub mod quantile;
pub mod rank_sum;
pub mod signed_rank;
pub mod statistic;

pub use family::Test;
pub use histogram::LatencyStore;
pub use modes::Mode;
pub use paired::{Paired, Shift};
pub use statistic::Statistic;
