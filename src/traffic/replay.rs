//! Arrivals row by row from a trace. The rows are packed columns that all runs share: 8 bytes for the time of each, and 4
//! for each number that the trace says of it.

use std::sync::Arc;

use crate::provider::Window;
use crate::random::stream::mix;
use crate::units::{SimDuration, SimTime};

/// The rows of a trace, column by column; a column that nobody reads is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// When each task arrives, ascending, counted from where the replay begins.
    pub times: Vec<SimTime>,
    /// Its input tokens.
    pub input: Vec<u32>,
    /// Its output tokens.
    pub output: Vec<u32>,
    /// How many of its input tokens come from a cache.
    pub cached: Vec<u32>,
    /// The blocks that its input consists of.
    pub blocks: Blocks,
}

/// Blocks of input by row: numbers from 0 on, of which equal ones at the beginning of two rows are the same text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks of all rows.
    pub all: Vec<u32>,
    /// Where the blocks of each row end among them; empty where the trace has none.
    pub ends: Vec<u32>,
}

impl Blocks {
    /// The blocks of a row, the first one first.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        let begin = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin as usize..self.ends[row] as usize]
    }
}

impl Rows {
    /// Whether they say how large tasks are, in any way.
    pub const fn say_sizes(&self) -> bool {
        !(self.input.is_empty() && self.output.is_empty() && self.cached.is_empty() && self.blocks.ends.is_empty())
    }

    /// A digest of all sizes, with what else it is to cover.
    pub fn digest(&self, words: &[u64]) -> u64 {
        let tokens = self.input.iter().chain(&self.output).chain(&self.cached);
        let tokens = tokens.chain(&self.blocks.all).chain(&self.blocks.ends).map(|tokens| u64::from(*tokens));
        words.iter().copied().chain(tokens).fold(0, |digest, number| mix(digest ^ number))
    }
}

/// A trace that is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Its rows, at least one.
    pub rows: Arc<Rows>,
    /// When it begins in the run.
    pub begin: SimTime,
    /// How many times as fast as it was recorded.
    pub speed: f64,
    /// The recorded time after which it begins anew; `None` where it is over with its last row.
    pub period: Option<SimDuration>,
    /// When the run ends.
    pub until: SimTime,
}

impl Replay {
    /// When its nth row arrives, from 0 on and over all rounds.
    #[inline]
    pub fn at(&self, n: u64) -> Option<SimTime> {
        let rows = self.rows.times.len() as u64;
        let since = match self.period {
            None => *self.rows.times.get(usize::try_from(n).ok()?)? - SimTime::ZERO,
            Some(period) => self.rows.times[(n % rows) as usize] - SimTime::ZERO + period.times(n / rows),
        };
        let at = self.begin + if self.is_as_recorded() { since } else { since.scaled(1.0 / self.speed) };
        (at < self.until).then_some(at)
    }

    fn is_as_recorded(&self) -> bool {
        self.speed.total_cmp(&1.0).is_eq()
    }

    /// How many rows arrive in a span.
    pub fn count(&self, span: Window) -> u64 {
        self.before(span.to.min(self.until)) - self.before(span.from.min(self.until))
    }

    fn before(&self, at: SimTime) -> u64 {
        let since = at.since(self.begin.min(at));
        let since = if self.is_as_recorded() { since } else { since.scaled(self.speed) };
        let rows = |since: SimDuration| self.rows.times.partition_point(|at| *at < SimTime::ZERO + since) as u64;
        match self.period {
            None => rows(since),
            Some(period) => {
                let rounds = since.as_nanos() / period.as_nanos();
                rounds * self.rows.times.len() as u64
                    + rows(SimDuration::from_nanos(since.as_nanos() % period.as_nanos()))
            }
        }
    }

    /// The same, this many times as fast; `None` where it would be over before the run is.
    pub fn denser(&self, factor: f64) -> Option<Replay> {
        let faster = Replay { speed: self.speed * factor, ..self.clone() };
        let last = faster.rows.times.last().map(|at| (*at - SimTime::ZERO).scaled(1.0 / faster.speed))?;
        (faster.period.is_some() || faster.begin + last >= faster.until).then_some(faster)
    }

    /// The most rows that arrive at one instant.
    pub fn burst(&self) -> u64 {
        self.rows.times.chunk_by(|a, b| a == b).map(<[SimTime]>::len).max().unwrap_or(0) as u64
    }
}
