//! One binary for all tests that see the crate from outside.
//!
//! - `theory`: queueing theory and closed forms; the interval over replicates covers the formula.
//! - `field_cases`: situations from public reports with the answer worked out by hand.
//! - `storms`: the incident comes out as reported, and each remedy does what it should.
//! - `conservation`: what must add up, adds up, in random scenarios from `small_world`.
//! - `determinism`: same seed, same bytes; a new policy leaves the world untouched.
//! - `golden`: every number of every shipped scenario against `tests/golden/`.
//! - `scenario_errors`: the exact words of every refusal; long tables of them are kept in `refusals/`.
//! - `scenario_robustness`: every shipped scenario is accepted, and no input makes the reader panic.
//! - `queue`: the event queue against a model, over random histories.
//! - `cli`: the program as a shell sees it.
//! - `readme`: the commands of the README and of `docs/` are run.
//! - `reference`: `outputs/reference/` and the table of the incident are today's.
//! - `tidy`: layer order, banned words, files nobody uses.
//! - `stage`: no tests; what the others stand on.

#[cfg(feature = "cli")]
mod cli;
mod conservation;
mod determinism;
mod field_cases;
mod golden;
mod queue;
#[cfg(feature = "cli")]
mod readme;
#[cfg(feature = "cli")]
mod reference;
#[cfg(feature = "cli")]
mod scenario_errors;
#[cfg(feature = "cli")]
mod scenario_robustness;
mod small_world;
mod stage;
mod storms;
mod theory;
mod tidy;
