//! stub
#[cfg(feature = "cli")]
pub mod cli;
pub mod document;
pub mod experiment;
pub mod metrics;
pub mod observe;
pub mod policy;
pub mod preset;
pub mod provider;
pub mod random;
pub mod scenario;
pub mod stats;
pub mod traffic;
pub mod units;
