//! One binary for all tests that see the crate from outside.
//!
//! - `queue`: the event queue against a model, over random histories.
//! - `scenario_errors`: the exact words of every refusal, and that no input makes the reader panic.

mod queue;
mod scenario_errors;
