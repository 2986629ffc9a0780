//! What a provider bills. Prices are whole billionths of the currency for a token or a request, so that a bill is a sum of
//! whole numbers and exact after any number of requests.

use super::fault::Fault;
use super::holds::{flows, produced};
use super::receive::{AnsweredBy, Verdict};
use super::terms::{Size, Weights};
use super::{Provider, Request};
use crate::policy::{Course, Outcome};
use crate::units::{SimDuration, SimTime};

/// Parts of one unit of the currency in which bills are kept.
pub const PARTS: u64 = 1_000_000_000;

/// Prices, in billionths of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Of each request that is served.
    pub request: u64,
    /// Of each input token that does not come from a cache.
    pub input: u64,
    /// Of each input token that does.
    pub cached: u64,
    /// Of each output token.
    pub output: u64,
}

/// The prices of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tariff {
    /// The word behind an amount.
    pub currency: String,
    /// The prices of all models that have none of their own.
    pub all: Prices,
}

impl Prices {
    /// The same as the weights of a limit on spend.
    pub const fn weights(self) -> Weights {
        let Prices { request, input, cached, output } = self;
        Weights { request, input, cached, output, scale: PARTS }
    }

    /// What a request costs of which so much was produced.
    pub fn cost(self, size: Size) -> u128 {
        let cached = size.cached.min(size.input);
        let tokens = [(self.input, size.input - cached), (self.cached, cached), (self.output, size.output)];
        tokens.iter().fold(u128::from(self.request), |sum, (price, n)| sum + u128::from(*price) * u128::from(*n))
    }
}

impl Provider {
    /// The prices of a model, where there are prices.
    pub fn prices_of(&self, model: u8) -> Option<Prices> {
        let tariff = self.prices.as_ref()?;
        Some(self.models.get(model as usize).and_then(|model| model.prices).unwrap_or(tariff.all))
    }
}

/// What a request will be billed for when its service ends, as far as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fare {
    size: Size,
    /// When its output begins and when all of it is there.
    begins: SimTime,
    ends: SimTime,
    /// When its service ends.
    pub until: SimTime,
}

impl Fare {
    /// The fare of a request that takes this course from the beginning of its service to its end.
    pub fn served(size: Size, course: &Course, began: SimTime) -> Fare {
        let (begins, ends) = flows(course, began);
        Fare { size, begins, ends, until: ends }
    }

    /// The fare of a request that got this verdict; `None` where it costs nothing. `takes` says how long its service
    /// would have taken, for an answer that breaks off.
    pub fn of(
        verdict: &Verdict,
        faults: &[Fault],
        request: &Request<'_>,
        takes: impl FnOnce() -> SimDuration,
    ) -> Option<Fare> {
        let (size, course, until) = (request.size(), &verdict.course, verdict.works_until);
        let AnsweredBy::Fault(fault) = verdict.by else {
            let is_served = verdict.by == AnsweredBy::Service && verdict.carried_out;
            return is_served.then(|| Fare { until, ..Fare::served(size, course, course.written) });
        };
        let breaks_off = matches!(verdict.answer.outcome, Outcome::StreamBroken | Outcome::Silent);
        if breaks_off && faults[fault].carried_out != Some(true) {
            let ends = course.written + takes();
            let begins = if course.first < ends && course.first < course.ends { course.first } else { course.written };
            let until = if course.ends < SimTime::NEVER { course.ends } else { course.quiet };
            return Some(Fare { size, begins, ends, until });
        }
        verdict.carried_out.then_some(Fare { size, begins: course.written, ends: until, until })
    }

    /// The same request, served by another course.
    #[must_use]
    pub fn again(&self, course: &Course, began: SimTime) -> Fare {
        Fare::served(self.size, course, began)
    }

    /// The service ends no later than then.
    pub fn cut(&mut self, at: SimTime) {
        self.until = self.until.min(at);
    }

    /// How large the request was, with the output that was produced.
    pub fn size(&self) -> Size {
        Size { output: produced(self.size.output, self.begins, self.ends, self.until), ..self.size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_the_sum_of_whole_billionths() {
        // 3 dollars for a million tokens are 3,000 billionths for one: 600 × 3,000 + 400 × 300 + 50 × 15,000, and
        // 1,000,000 for the request.
        let prices = Prices { request: 1_000_000, input: 3_000, cached: 300, output: 15_000 };
        let size = Size { input: 1_000, cached: 400, output: 50, ..Size::default() };
        assert_eq!(prices.cost(size), 1_000_000 + 1_800_000 + 120_000 + 750_000);
        // More of it from a cache than there is, is all of it.
        assert_eq!(prices.cost(Size { cached: 2_000, ..size }), 1_000_000 + 300_000 + 750_000);
    }

    #[test]
    fn output_is_billed_as_far_as_it_was_produced() {
        let at = |seconds| SimTime::ZERO + SimDuration::from_secs(seconds);
        let size = Size { input: 10, cached: 0, output: 100, ..Size::default() };
        let mut fare = Fare { size, begins: at(2), ends: at(12), until: at(12) };
        assert_eq!(fare.size().output, 100);
        // By hand: 5 of 10 seconds.
        fare.cut(at(7));
        fare.cut(at(9));
        assert_eq!((fare.size().output, fare.size().input), (50, 10));
        fare.cut(at(1));
        assert_eq!(fare.size().output, 0);
    }
}
