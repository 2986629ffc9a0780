//! Metrics are computed from an [`Outcome`](crate::observe::Outcome) after the run; they know no events.

mod bill;
mod class;
pub mod recovery;
mod refusals;
pub mod stuck;
mod summary;
pub mod tree;

pub use recovery::Recovery;
pub use summary::summarize;
pub use tree::{Number, Tree};
