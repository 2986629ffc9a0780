//! A pacer is a limiter on the client's side: it reserves before the call and so keeps a class within its share of a
//! limit that others use too. Whoever finds it empty waits its turn, in the order of asking.

use super::token_bucket::TokenBucket;

/// What a limiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Requests: each costs 1.
    Requests,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Input and output tokens together.
    TotalTokens,
}

impl Counts {
    /// What a request of this size costs.
    #[inline]
    pub const fn cost(self, input_tokens: u32, output_tokens: u32) -> u64 {
        match self {
            Counts::Requests => 1,
            Counts::InputTokens => input_tokens as u64,
            Counts::OutputTokens => output_tokens as u64,
            Counts::TotalTokens => input_tokens as u64 + output_tokens as u64,
        }
    }

    /// The word for it in scenario files.
    pub const fn word(self) -> &'static str {
        match self {
            Counts::Requests => "requests",
            Counts::InputTokens => "input_tokens",
            Counts::OutputTokens => "output_tokens",
            Counts::TotalTokens => "total_tokens",
        }
    }
}

/// The settings of a client-side token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacer {
    /// What is counted.
    pub counts: Counts,
    /// How fast and how bursty it may flow.
    pub bucket: TokenBucket,
}
