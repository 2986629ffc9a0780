//! stub
#[cfg(feature = "cli")]
pub mod cli;
pub mod experiment;
pub mod explain;
pub mod metrics;
pub mod observe;
pub mod policy;
pub mod provider;
pub mod random;
#[cfg(feature = "cli")]
pub mod report;
pub mod scenario;
pub mod sim;
pub mod stats;
pub mod traffic;
pub mod units;
