//! A rate limit: what it counts, how fast that may flow, and what a request gets that does not fit.
//!
//! A request is charged in full when it is admitted; a refused request costs nothing. The hint says when the request
//! would fit, as real providers say it: rounded up to a whole second, and never shorter than some minimum.

use super::model::ModelSet;
use crate::policy::answer::{Answer, Code};
use crate::policy::pacer::Counts;
use crate::policy::token_bucket::TokenBucket;
use crate::random::Distribution;
use crate::units::SimDuration;

/// The hint of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintForm {
    /// The shortest hint that is given.
    pub minimum: SimDuration,
    /// What it is rounded up to; zero for no rounding.
    pub round_up_to: SimDuration,
}

impl HintForm {
    /// The hint for a request that would fit after `shortfall`.
    pub fn hint(&self, shortfall: SimDuration) -> SimDuration {
        shortfall.max(self.minimum).round_up_to(self.round_up_to)
    }
}

/// The settings of one limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub counts: Counts,
    /// How it refills.
    pub bucket: TokenBucket,
    /// The status of a refusal.
    pub status: u16,
    /// Seconds until a refusal is back.
    pub refusal_latency: Distribution,
    /// The hint of a refusal; `None` for none.
    pub hint: Option<HintForm>,
    /// The code in the body of a refusal.
    pub code: Option<String>,
    /// The models whose requests it counts; requests for others pass it by.
    pub models: ModelSet,
}

impl Limit {
    /// Its refusal, without the hint.
    pub fn refusal(&self) -> Answer {
        Answer { code: self.code.as_deref().map_or(Code::NONE, Code::named), ..Answer::refused(self.status) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_rounded_up_and_never_below_its_minimum() {
        let form = HintForm { minimum: SimDuration::from_secs(6), round_up_to: SimDuration::from_secs(1) };
        assert_eq!(form.hint(SimDuration::from_millis(250)), SimDuration::from_secs(6));
        assert_eq!(form.hint(SimDuration::from_millis(7_001)), SimDuration::from_secs(8));
    }
}
