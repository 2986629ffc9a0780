//! Headroom: how far a setting may go before live traffic pays for it. The setting is moved over its range in the same
//! worlds, each of its values through many seeds, with the storm of the file and without it. A value is *safe* when it is
//! shown, with a stated confidence, that in a stated share of days the live 429 rate stays within a target.
//!
//! - A *day* is one seed. Days are independent, so that how many of them met the target is binomial, and the bound of
//!   the share behind it is that of Clopper and Pearson.
//! - A value that is neither shown to be safe nor shown not to be gets more seeds, so many times at most; the
//!   probability of error is divided by the number of looks (Bonferroni), so that looking again costs nothing in honesty.
//! - Between the last safe value and the next one the range is halved until it cannot be. All values meet the same seeds.
//!   Where a day that is met at one value is met at every safer one, the days that meet the target at two values are
//!   nested: that any value beyond the true edge is called safe then needs one and the same improbable set of seeds, and
//!   the confidence holds for the edge that the search ends with, not only for one value. In how many seeds the days are
//!   not nested is counted.

mod bound;
mod point;
mod search;

pub use bound::{Bound, Flow, Pressure, instances, pacer};
pub use point::{Case, Cost, Goal, Looks, Met, Point, Standing, calm};
pub use search::{Edge, Headroom, Question, Settings};
