//! One binary for all tests that see the crate from outside.
//!
//! - `conformance`: every measured case of every client library.
//! - `header_grammar`: what real clients make of the same header, as measured.
//! - `presets`: what every preset promises about itself.
//! - `queue`: the event queue against a model, over random histories.
//! - `scenario_errors`: the exact words of every refusal; long tables of them are kept in `refusals/`.
//! - `scenario_robustness`: every shipped scenario is accepted, and no input makes the reader panic.
//! - `scenario_vocabulary`: every general key of a retry layer, and what is refused of them.

mod conformance;
mod header_grammar;
mod presets;
mod queue;
mod scenario_errors;
mod scenario_robustness;
mod scenario_vocabulary;
