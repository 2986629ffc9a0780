//! Quantities with a unit: instants and durations in whole nanoseconds, and the words users write for them.

pub mod calendar;
pub mod parse;
pub mod time;

pub use time::{SimDuration, SimTime};
