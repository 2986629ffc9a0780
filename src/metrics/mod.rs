//! Metrics are computed from an [`Outcome`](crate::observe::Outcome) after the run; they know no events.

pub mod tree;

pub use tree::{Number, Tree};
