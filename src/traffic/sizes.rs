//! How large each task of a class is where a trace says it.

use crate::random::stream::mix;

/// The sizes of the tasks of a class, in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Input tokens of each task; empty where the trace does not say them.
    pub input: Vec<u32>,
    /// Output tokens of each task; empty where the trace does not say them.
    pub output: Vec<u32>,
    /// The steps that take their input tokens from the trace, one bit each.
    pub input_of: u64,
    /// The steps that take their output tokens from the trace, one bit each.
    pub output_of: u64,
}

impl Sizes {
    /// Input and output tokens of a step of a task, which are `drawn` where the trace does not say them.
    #[inline]
    pub fn of(&self, task: u32, step: usize, drawn: (u32, u32)) -> (u32, u32) {
        let said = |list: &[u32], steps: u64| list.get(task as usize).copied().filter(|_| steps >> step & 1 == 1);
        (said(&self.input, self.input_of).unwrap_or(drawn.0), said(&self.output, self.output_of).unwrap_or(drawn.1))
    }

    /// Whether a step takes something from the trace.
    pub const fn is_used(&self) -> bool {
        self.input_of | self.output_of != 0
    }

    /// A digest of all sizes.
    pub fn digest(&self) -> u64 {
        let steps = [self.input_of, self.output_of];
        let all = self.input.iter().chain(&self.output).map(|tokens| u64::from(*tokens));
        steps.into_iter().chain(all).fold(0, |digest, number| mix(digest ^ number))
    }
}
