//! Metrics are computed from an [`Outcome`](crate::observe::Outcome) after the run; they know no events.

mod class;
pub mod recovery;
pub mod stuck;
mod summary;
pub mod tree;

pub use recovery::Recovery;
pub use summary::summarize;
pub use tree::{Number, Tree};
