//! A check against a baseline, for those who read it: a person at a terminal, a reviewer of a pull request, and the
//! programs that collect test results and findings. All say the same: which number of which scenario and class moved,
//! by how much, and how sure that is.

pub mod baseline;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod schema;
pub mod text;
pub mod words;
mod xml;

use super::comparison::Change;
use crate::experiment::regress::{Case, Check};

/// A check with everything that a report says about it.
#[derive(Clone, Copy, Debug)]
pub struct Regressed<'a> {
    /// What was found.
    pub check: &'a Check,
    /// What is known of each of its cases beside the numbers, in their order.
    pub facts: &'a [Facts],
    /// The baseline's file, as it was named.
    pub baseline: &'a str,
    /// The command that repeats the check.
    pub command: &'a str,
}

/// What is known of a case beside its numbers.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// In which settings the file differs from what was recorded.
    pub changes: Vec<Change>,
    /// The elements of clients, as `CLIENT.ELEMENT`, that came out otherwise.
    pub elements: Vec<String>,
    /// The line of the first changed setting that stands in the file, from 1.
    pub line: Option<usize>,
    /// The command that shows the difference at length.
    pub again: Option<String>,
}

impl<'a> Regressed<'a> {
    /// The cases with what is known of them.
    pub fn cases(&self) -> impl Iterator<Item = (&'a Case, &'a Facts)> {
        self.check.cases.iter().zip(self.facts)
    }

    /// How many numbers fail the check.
    pub fn failures(&self) -> usize {
        self.check.cases.iter().map(|case| case.failures().len()).sum()
    }
}
