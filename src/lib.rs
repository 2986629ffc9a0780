//! stub
pub mod experiment;
pub mod metrics;
pub mod observe;
pub mod policy;
pub mod provider;
pub mod random;
pub mod scenario;
pub mod sim;
pub mod stats;
pub mod traffic;
pub mod units;
