//! Regression: is what a change does worse than what was recorded, and is that more than chance?
//!
//! A baseline keeps the numbers of every seed. Where a check runs the same seeds in the same worlds, each seed is
//! compared with itself, and a run that did exactly what it did before needs no test. Other seeds are compared as two
//! samples. In both cases all numbers of all scenarios are one family, whose level bounds how often equal policies are
//! called worse; and what is sure must also exceed a tolerance before it counts.

pub mod check;
pub mod record;
pub mod row;
pub mod tolerance;

pub use check::{Case, Check, Now, Pairing, State};
pub use record::{Baseline, Column, Recorded};
pub use row::{Outcome, Row};
pub use tolerance::{Subject, Tolerance, Tolerances};
