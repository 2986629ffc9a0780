//! From a header's text to a hint. The same `retry-after: 1e3` is a thousand seconds to one library, nothing to a
//! second and an exception to a third, so a client has a grammar: which headers it reads, in which order, and what
//! it makes of each kind of text.

use super::answer::Hint;
use super::hint::OVERFLOWN_TIMER;
use crate::units::SimDuration;

/// A header that carries a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintHeader {
    /// `retry-after`: seconds, or a date.
    RetryAfter,
    /// `retry-after-ms`: milliseconds.
    RetryAfterMs,
    /// `x-amz-retry-after`: milliseconds.
    AmzRetryAfterMs,
    /// `grpc-retry-pushback-ms`: milliseconds.
    GrpcPushbackMs,
    /// `x-ratelimit-reset`, `x-ratelimit-reset-requests` and the like: seconds or a duration such as `6m0s`.
    RateLimitReset,
}

impl HintHeader {
    /// All of them, each with its name on the wire.
    pub const ALL: [(HintHeader, &'static str); 5] = [
        (HintHeader::RetryAfter, "retry-after"),
        (HintHeader::RetryAfterMs, "retry-after-ms"),
        (HintHeader::AmzRetryAfterMs, "x-amz-retry-after"),
        (HintHeader::GrpcPushbackMs, "grpc-retry-pushback-ms"),
        (HintHeader::RateLimitReset, "x-ratelimit-reset"),
    ];

    /// Seconds in the header's unit.
    pub const fn unit_s(self) -> f64 {
        match self {
            HintHeader::RetryAfter | HintHeader::RateLimitReset => 1.0,
            HintHeader::RetryAfterMs | HintHeader::AmzRetryAfterMs | HintHeader::GrpcPushbackMs => 0.001,
        }
    }
}

/// A header's text, told apart by what libraries tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// A whole number, in the header's unit.
    Whole(f64),
    /// A number with a decimal point.
    Fraction(f64),
    /// A number with an exponent.
    Exponent(f64),
    /// A number with a unit, such as `6m0s`; in seconds.
    Duration(f64),
    /// `nan`.
    NotANumber,
    /// `inf`.
    Infinite,
    /// A date, as seconds from now; negative in the past.
    Date(f64),
    /// Anything else.
    Unreadable,
}

/// What a client does when it meets a kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It is a wait.
    Use,
    /// Look at the next header.
    Next,
    /// No hint; no further header is looked at.
    Nothing,
    /// A hint without a wait: the own backoff is used, but the answer counts as one that carries a hint.
    OwnBackoff,
    /// Retry at once.
    AtOnce,
    /// Retry after a millisecond: what a timer does with a value that it cannot hold.
    Tick,
    /// Do not retry.
    Never,
    /// Fail over the header.
    Fatal,
}

/// How a client reads one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRule {
    /// The header.
    pub header: HintHeader,
    /// Zero.
    pub zero: Take,
    /// Numbers below zero.
    pub negative: Take,
    /// Numbers with a decimal point.
    pub fraction: Take,
    /// Numbers with an exponent.
    pub exponent: Take,
    /// `nan`.
    pub not_a_number: Take,
    /// `inf`.
    pub infinite: Take,
    /// Dates in the future.
    pub date: Take,
    /// Dates in the past.
    pub past: Take,
    /// Anything else.
    pub unreadable: Take,
}

impl HeaderRule {
    /// Reads every number and date that makes sense, and goes on to the next header for all else.
    pub const fn lenient(header: HintHeader) -> HeaderRule {
        HeaderRule {
            header,
            zero: Take::Nothing,
            negative: Take::Nothing,
            fraction: Take::Use,
            exponent: Take::Use,
            not_a_number: Take::Nothing,
            infinite: Take::Use,
            date: Take::Use,
            past: Take::Nothing,
            unreadable: Take::Next,
        }
    }

    fn read(&self, said: Said) -> (Take, f64) {
        let unit = self.header.unit_s();
        match said {
            Said::Whole(0.0) | Said::Fraction(0.0) | Said::Exponent(0.0) | Said::Duration(0.0) => (self.zero, 0.0),
            Said::Whole(n) | Said::Fraction(n) | Said::Exponent(n) | Said::Duration(n) if n < 0.0 => {
                (self.negative, 0.0)
            }
            Said::Whole(n) => (Take::Use, n * unit),
            Said::Fraction(n) => (self.fraction, n * unit),
            Said::Exponent(n) => (self.exponent, n * unit),
            Said::Duration(seconds) => (Take::Use, seconds),
            Said::NotANumber => (self.not_a_number, 0.0),
            Said::Infinite => (self.infinite, f64::INFINITY),
            Said::Date(seconds) if seconds <= 0.0 => (self.past, 0.0),
            Said::Date(seconds) => (self.date, seconds),
            Said::Unreadable => (self.unreadable, 0.0),
        }
    }
}

/// How a client reads hints: header by header, the first that says something decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintGrammar {
    /// The rules in order.
    pub rules: Vec<HeaderRule>,
}

impl HintGrammar {
    /// The grammar of layers that say nothing about it: milliseconds before seconds, all that makes sense.
    pub fn plain() -> HintGrammar {
        HintGrammar { rules: [HintHeader::RetryAfterMs, HintHeader::RetryAfter].map(HeaderRule::lenient).to_vec() }
    }

    /// The hint in an answer's headers.
    pub fn read(&self, headers: &[(HintHeader, Said)]) -> Hint {
        for rule in &self.rules {
            let Some((_, said)) = headers.iter().find(|(header, _)| *header == rule.header) else { continue };
            let (take, seconds) = rule.read(*said);
            return match take {
                Take::Next => continue,
                Take::Use => Hint::After(SimDuration::from_secs_f64(seconds)),
                Take::Nothing => Hint::None,
                Take::OwnBackoff => Hint::Blank,
                Take::AtOnce => Hint::After(SimDuration::ZERO),
                Take::Tick => Hint::After(OVERFLOWN_TIMER),
                Take::Never => Hint::Never,
                Take::Fatal => Hint::Fatal,
            };
        }
        Hint::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict() -> HintGrammar {
        // urllib3 2.8: whole seconds only; anything else raises.
        let rule = HeaderRule {
            negative: Take::Fatal,
            fraction: Take::Fatal,
            exponent: Take::Fatal,
            not_a_number: Take::Fatal,
            infinite: Take::Fatal,
            unreadable: Take::Fatal,
            ..HeaderRule::lenient(HintHeader::RetryAfter)
        };
        HintGrammar { rules: vec![rule] }
    }

    #[test]
    fn one_library_waits_where_another_raises() {
        let header = [(HintHeader::RetryAfter, Said::Exponent(1_000.0))];
        assert_eq!(HintGrammar::plain().read(&header), Hint::After(SimDuration::from_secs(1_000)));
        assert_eq!(strict().read(&header), Hint::Fatal);
    }

    #[test]
    fn milliseconds_of_zero_hide_the_seconds_beside_them() {
        // anthropic-python 2.14: `retry-after-ms: 0` with `retry-after: 20` uses the own backoff.
        let headers = [(HintHeader::RetryAfter, Said::Whole(20.0)), (HintHeader::RetryAfterMs, Said::Whole(0.0))];
        assert_eq!(HintGrammar::plain().read(&headers), Hint::None);
        let unreadable = [(HintHeader::RetryAfter, Said::Whole(2.0)), (HintHeader::RetryAfterMs, Said::Unreadable)];
        assert_eq!(HintGrammar::plain().read(&unreadable), Hint::After(SimDuration::from_secs(2)));
    }

    #[test]
    fn a_hint_without_a_wait_is_still_a_hint() {
        // urllib3 2.8: `retry-after: 0` makes a 503 one that is repeated, with the pool's own wait.
        let mut grammar = HintGrammar { rules: vec![HeaderRule::lenient(HintHeader::RetryAfter)] };
        grammar.rules[0].zero = Take::OwnBackoff;
        let hint = grammar.read(&[(HintHeader::RetryAfter, Said::Whole(0.0))]);
        assert_eq!((hint, hint.wait()), (Hint::Blank, None));
    }

    #[test]
    fn no_text_becomes_a_wait_that_is_not_a_time() {
        for said in [Said::NotANumber, Said::Infinite, Said::Whole(-5.0), Said::Whole(1e300), Said::Date(-9.0)] {
            if let Hint::After(wait) = HintGrammar::plain().read(&[(HintHeader::RetryAfter, said)]) {
                assert!(wait <= SimDuration::MAX);
            }
        }
    }
}
