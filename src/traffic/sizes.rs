//! How large each task of a class is where a trace says it.

use std::sync::Arc;

use super::crowd::Crowd;
use super::replay::Rows;
use crate::random::Stream;

/// What says how large tasks are.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A row for each task in the order of arrival, again and again where the trace is repeated.
    Rows(Arc<Rows>),
    /// Quantiles for each client of a crowd.
    Crowd(Arc<Crowd>),
}

impl Said {
    /// The mean input, output and cached tokens; `None` for what it does not say.
    pub fn means(&self) -> [Option<f64>; 3] {
        match self {
            Said::Rows(rows) => [&rows.input, &rows.output, &rows.cached].map(|tokens| {
                let sum: u64 = tokens.iter().map(|tokens| u64::from(*tokens)).sum();
                (!tokens.is_empty()).then(|| sum as f64 / tokens.len() as f64)
            }),
            Said::Crowd(crowd) => {
                let [input, output] = crowd.mean_tokens();
                [Some(input), Some(output), None]
            }
        }
    }
}

/// The sizes of the tasks of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// What says them.
    pub said: Said,
    /// The steps that take their input tokens from there, one bit each.
    pub input_of: u64,
    /// The steps that take their output tokens from there, one bit each.
    pub output_of: u64,
    /// The steps whose cached tokens are said there, one bit each.
    pub cached_of: u64,
}

impl Sizes {
    /// Whether each task has to remember where it comes from.
    pub const fn need_origin(&self) -> bool {
        matches!(self.said, Said::Crowd(_))
    }

    /// Input and output tokens of a step of a task, which are its `own` where the trace does not say them; `origin` says where
    /// the task comes from in a crowd.
    #[inline]
    pub fn of(&self, task: u32, origin: u32, step: usize, own: (u32, u32), draws: &mut Stream) -> (u32, u32) {
        let (input, output) = match &self.said {
            Said::Rows(rows) => {
                let row = task as usize % rows.times.len();
                (rows.input.get(row).copied(), rows.output.get(row).copied())
            }
            Said::Crowd(crowd) => {
                let (input, output) = crowd.tokens(origin, draws);
                (Some(input), Some(output))
            }
        };
        let is = |steps: u64| steps >> step & 1 == 1;
        (input.filter(|_| is(self.input_of)).unwrap_or(own.0), output.filter(|_| is(self.output_of)).unwrap_or(own.1))
    }

    /// How many of the input tokens of a step of a task come from a cache, where the trace says it.
    #[inline]
    pub fn cached(&self, task: u32, step: usize) -> Option<u32> {
        let Said::Rows(rows) = &self.said else { return None };
        rows.cached.get(task as usize % rows.times.len()).copied().filter(|_| self.cached_of >> step & 1 == 1)
    }

    /// The blocks of input of a step of a task; none where the step takes its input from elsewhere.
    #[inline]
    pub fn blocks(&self, task: u32, step: usize) -> &[u32] {
        match &self.said {
            Said::Rows(rows) if self.input_of >> step & 1 == 1 && !rows.blocks.ends.is_empty() => {
                rows.blocks.of(task as usize % rows.times.len())
            }
            _ => &[],
        }
    }

    /// How many different blocks there are, or more.
    pub fn block_count(&self) -> usize {
        match &self.said {
            Said::Rows(rows) => rows.blocks.all.iter().max().map_or(0, |largest| *largest as usize + 1),
            Said::Crowd(_) => 0,
        }
    }

    /// Whether a step takes something from the trace.
    pub const fn is_used(&self) -> bool {
        self.input_of | self.output_of | self.cached_of != 0
    }

    /// A digest of all sizes.
    pub fn digest(&self) -> u64 {
        let own = [self.input_of, self.output_of, self.cached_of];
        let own = if self.cached_of == 0 { &own[..2] } else { &own };
        match &self.said {
            Said::Rows(rows) => rows.digest(own),
            Said::Crowd(crowd) => {
                let sizes = crowd.sizes.iter().flat_map(|sizes| sizes.means.map(f64::to_bits));
                own.iter().copied().chain(sizes).fold(0, |digest, word| crate::random::stream::mix(digest ^ word))
            }
        }
    }
}
