//! Statistics over replicates: quantiles, intervals and modes.

pub mod statistic;

pub use statistic::{Mode, Statistic};
