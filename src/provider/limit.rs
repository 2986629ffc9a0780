//! A rate limit: what it counts, how fast that may flow, and what a request gets that does not fit.
//!
//! Unless its [terms](super::terms) say otherwise, a request is charged in full when it is admitted; a refused request
//! costs nothing. The hint says when the request would fit, as real providers say it: rounded up to a whole second, and
//! never shorter than some minimum.

use super::model::ModelSet;
use super::terms::{Terms, Until};
use super::{Request, WHOLE_SECOND};
use crate::policy::answer::{Answer, Code};
use crate::policy::meter::{Meter, MeterState};
use crate::policy::pacer::Counts;
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

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
    /// How it measures.
    pub meter: Meter,
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
    /// Its terms; `None` where it is plain.
    pub terms: Option<Box<Terms>>,
}

impl Limit {
    /// Its refusal, without the hint.
    pub fn refusal(&self) -> Answer {
        Answer { code: self.code.as_deref().map_or(Code::NONE, Code::named), ..Answer::refused(self.status) }
    }

    /// Whether it counts the requests of a sender to a model.
    #[inline]
    pub fn covers(&self, sender: u8, model: u8) -> bool {
        self.models.contains(model) && self.terms.as_ref().is_none_or(|terms| terms.classes.contains(sender))
    }

    /// What a request is charged when it is admitted, in parts of a unit.
    #[inline]
    pub fn estimated(&self, request: &Request<'_>) -> u64 {
        match &self.terms {
            None => self.counts.cost(request.input_tokens, request.output_tokens),
            Some(terms) => terms.estimated(request.size()),
        }
    }

    /// How many parts a unit of its amount has.
    pub fn scale(&self) -> u64 {
        self.terms.as_ref().map_or(1, |terms| terms.weights.scale)
    }

    /// Units in each period, or at once.
    pub fn amount(&self) -> f64 {
        self.meter.amount() as f64 / self.scale() as f64
    }

    /// Units per second in the long run; `None` for a limit on what is held at once.
    pub fn per_second(&self) -> Option<f64> {
        Some(self.amount() / self.meter.per()?.as_secs_f64())
    }

    /// The largest request that it ever admits, in units; without a bound where it admits all while anything is left.
    pub fn largest(&self) -> f64 {
        match (&self.meter, &self.terms) {
            (_, Some(terms)) if terms.lends => f64::INFINITY,
            (Meter::Growth(_), _) => f64::INFINITY,
            (Meter::TokenBucket(bucket), _) => bucket.capacity_tokens() / self.scale() as f64,
            (meter, _) => meter.largest() as f64 / self.scale() as f64,
        }
    }

    /// What the hint of a refusal tells, before it is rounded.
    pub(super) fn told(&self, meter: &Meter, level: &MeterState, shortfall: SimDuration, now: SimTime) -> SimDuration {
        match self.terms.as_ref().map_or(Until::Fits, |terms| terms.until) {
            Until::Constant => SimDuration::ZERO,
            // What never fits is told how long the limit takes from empty to full.
            _ if shortfall == SimDuration::MAX => meter.span().unwrap_or(WHOLE_SECOND),
            Until::Fits => shortfall,
            Until::Reset => meter.until_reset(level, now),
            Until::Full => meter.until_full(level, now),
        }
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
