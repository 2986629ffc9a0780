//! The event loop and what it stands on.

pub mod event_queue;

pub use event_queue::{EventQueue, Rank};
