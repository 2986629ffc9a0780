//! stub
pub mod experiment;
pub mod metrics;
pub mod observe;
#[cfg(feature = "cli")]
pub mod plot;
pub mod policy;
pub mod provider;
pub mod random;
pub mod scenario;
pub mod stats;
pub mod traffic;
pub mod units;
