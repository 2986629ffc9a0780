//! One binary for all tests that see the crate from outside.
//!
//! - `queue`: the event queue against a model, over random histories.
//! - `determinism`: same seed, same bytes; a new policy leaves the world untouched.
//! - `stage`: no tests; what the others stand on.

mod conservation;
mod determinism;
mod field_cases;
mod golden;
mod queue;
mod scenario_errors;
mod scenario_robustness;
mod small_world;
mod stage;
mod storms;
mod theory;
