//! One binary for all tests that see the crate from outside.
//!
//! - `scenario_errors`: the exact words of every refusal, and that no input makes the reader panic.

mod scenario_errors;
