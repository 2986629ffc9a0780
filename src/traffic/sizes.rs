//! How large each task of a class is where a trace says it.

use std::sync::Arc;

use super::replay::Rows;

/// The sizes of the tasks of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// What says them: a row for each task in the order of arrival, again and again where the trace is repeated.
    pub rows: Arc<Rows>,
    /// The steps that take their input tokens from there, one bit each.
    pub input_of: u64,
    /// The steps that take their output tokens from there, one bit each.
    pub output_of: u64,
    /// The steps whose cached tokens are said there, one bit each.
    pub cached_of: u64,
}

impl Sizes {
    fn row(&self, task: u32) -> usize {
        task as usize % self.rows.times.len()
    }

    /// Input and output tokens of a step of a task, which are `drawn` where the trace does not say them.
    #[inline]
    pub fn of(&self, task: u32, step: usize, drawn: (u32, u32)) -> (u32, u32) {
        let row = self.row(task);
        let said = |list: &[u32], steps: u64| list.get(row).copied().filter(|_| steps >> step & 1 == 1);
        (
            said(&self.rows.input, self.input_of).unwrap_or(drawn.0),
            said(&self.rows.output, self.output_of).unwrap_or(drawn.1),
        )
    }

    /// How many of the input tokens of a step of a task come from a cache, where the trace says it.
    #[inline]
    pub fn cached(&self, task: u32, step: usize) -> Option<u32> {
        self.rows.cached.get(self.row(task)).copied().filter(|_| self.cached_of >> step & 1 == 1)
    }

    /// The blocks of input of a step of a task; none where the step takes its input from elsewhere.
    #[inline]
    pub fn blocks(&self, task: u32, step: usize) -> &[u32] {
        if self.rows.blocks.ends.is_empty() || self.input_of >> step & 1 == 0 {
            return &[];
        }
        self.rows.blocks.of(self.row(task))
    }

    /// Whether a step takes something from the trace.
    pub const fn is_used(&self) -> bool {
        self.input_of | self.output_of | self.cached_of != 0
    }

    /// A digest of all sizes.
    pub fn digest(&self) -> u64 {
        let own = [self.input_of, self.output_of, self.cached_of];
        self.rows.digest(if self.cached_of == 0 { &own[..2] } else { &own })
    }
}
