//! What stands in a header, before any client has made something of it. The same text is a number to one library and
//! garbage to another, so it is told apart here as finely as the most particular of them does; the client's grammar
//! ([`crate::policy::header`]) says what becomes of each kind.
//!
//! Dates come in the three forms of RFC 9110, in what mail programs write (RFC 2822: `+0000`, a one-digit day, no
//! weekday) and in RFC 3339. All are read by their own zone, never by the machine's.

use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::policy::header::{HintHeader, Said};

/// Numbers from here on are no waits in a header that says when a limit resets, but instants in Unix seconds (this one
/// is in 2001): read as a wait, it would be one of more than thirty years.
const FIRST_UNIX_RESET: f64 = 1e9;

/// The text of a header, told apart. `now_unix_s` is the client's clock in Unix seconds, from which dates are waits;
/// `@date+N` and `@date-N` are dates so many seconds from now.
pub fn said(header: HintHeader, text: &str, now_unix_s: f64) -> Said {
    let text = text.trim_matches([' ', '\t']);
    let number = || number(text).map(|said| reset_or_wait(header, said, now_unix_s));
    let date = || relative_date(text).or_else(|| Some(date(text)? - now_unix_s)).filter(|s| s.is_finite());
    let duration = || duration(text).map(Said::Duration);
    number().or_else(duration).or_else(|| date().map(Said::Date)).unwrap_or(Said::Unreadable)
}

/// A number as it stands, or the instant that it is in a header of resets.
fn reset_or_wait(header: HintHeader, said: Said, now_unix_s: f64) -> Said {
    match (header, said) {
        (HintHeader::RateLimitReset, Said::Whole(n) | Said::Fraction(n)) if n >= FIRST_UNIX_RESET => {
            let wait = n - now_unix_s;
            if wait.is_finite() { Said::Date(wait) } else { Said::Unreadable }
        }
        _ => said,
    }
}

/// A decimal number with or without sign, point and exponent, or one of the words for what is none.
fn number(text: &str) -> Option<Said> {
    let (negative, digits) = sign(text);
    if ["inf", "infinity"].iter().any(|word| digits.eq_ignore_ascii_case(word)) {
        // Libraries compare before they wait, and find it below zero.
        return Some(if negative { Said::Fraction(f64::MIN) } else { Said::Infinite });
    }
    if digits.eq_ignore_ascii_case("nan") {
        return Some(Said::NotANumber);
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let sound = is_decimal(mantissa) && exponent.is_none_or(|exponent| is_digits(sign(exponent).1));
    // Adding zero turns −0 into 0.
    let value = digits.parse::<f64>().ok().filter(|_| sound)? * if negative { -1.0 } else { 1.0 } + 0.0;
    let (fractional, exact) = (mantissa.contains('.'), value.clamp(f64::MIN, f64::MAX));
    Some(match (exponent, fractional) {
        // Digits alone have no largest value; what has a point or an exponent is a float, and overflows as one.
        (None, false) => Said::Whole(exact),
        _ if value == f64::INFINITY => Said::Infinite,
        (None, true) => Said::Fraction(exact),
        (Some(_), _) => Said::Exponent(exact),
    })
}

/// Whether there is a minus before the rest.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits with at most one point, which may stand first or last.
fn is_decimal(text: &str) -> bool {
    match text.split_once('.') {
        None => is_digits(text),
        Some((whole, part)) => [whole, part].iter().all(|side| side.is_empty() || is_digits(side)) && text.len() > 1,
    }
}

/// Units of a duration, in seconds; a longer one stands before the one that it begins with.
const UNITS: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];

/// Seconds of a duration as Go prints it, such as `6m0s`, `12ms` or `1h2m3.5s`.
fn duration(text: &str) -> Option<f64> {
    let (negative, mut rest) = sign(text);
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (amount, after) = rest.split_at(end);
        let amount = amount.parse::<f64>().ok().filter(|_| is_decimal(amount))?;
        let (unit, size) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        seconds += amount * size;
        rest = &after[unit.len()..];
    }
    let length = if negative { -seconds } else { seconds };
    (!text.is_empty() && text != "-" && text != "+" && length.is_finite()).then_some(length + 0.0)
}

/// Seconds from now of `@date+N` or `@date-N`.
fn relative_date(text: &str) -> Option<f64> {
    let offset = text.strip_prefix("@date")?;
    let (negative, amount) = sign(offset);
    if !offset.starts_with(['+', '-']) || !is_decimal(amount) {
        return None;
    }
    let amount: f64 = amount.parse().ok()?;
    Some(if negative { -amount } else { amount })
}

/// The instant of a date, in Unix seconds.
fn date(text: &str) -> Option<f64> {
    let strict = || {
        let since_1970 = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(since_1970.as_secs_f64())
    };
    // A weekday that does not fit its day is no reason for mail programs to refuse the date.
    let mail = || rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok().map(unix_s);
    let iso = || text.parse::<Timestamp>().ok().map(unix_s);
    strict().or_else(mail).or_else(iso)
}

fn unix_s(instant: Timestamp) -> f64 {
    instant.as_duration().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::Hint;
    use crate::policy::header::{HeaderRule, HintGrammar, Take};
    use crate::units::SimDuration;

    fn unix(instant: &str) -> f64 {
        unix_s(instant.parse().unwrap())
    }

    fn retry_after(text: &str) -> Said {
        said(HintHeader::RetryAfter, text, 1_600_000_000.0)
    }

    #[test]
    fn numbers_are_told_apart_as_libraries_do() {
        for (text, expected) in [
            ("0", Said::Whole(0.0)),
            ("-0", Said::Whole(0.0)),
            ("60", Said::Whole(60.0)),
            ("061", Said::Whole(61.0)),
            (" 7 ", Said::Whole(7.0)),
            ("+5", Said::Whole(5.0)),
            ("-5", Said::Whole(-5.0)),
            ("3600", Said::Whole(3_600.0)),
            ("9999999999", Said::Whole(9_999_999_999.0)),
            ("0.503", Said::Fraction(0.503)),
            ("0.0", Said::Fraction(0.0)),
            (".5", Said::Fraction(0.5)),
            ("5.", Said::Fraction(5.0)),
            ("-0.5", Said::Fraction(-0.5)),
            ("1e3", Said::Exponent(1_000.0)),
            ("1.5E+1", Said::Exponent(15.0)),
            ("-1e3", Said::Exponent(-1_000.0)),
            ("0e9", Said::Exponent(0.0)),
            ("nan", Said::NotANumber),
            ("-NaN", Said::NotANumber),
            ("inf", Said::Infinite),
            ("+Infinity", Said::Infinite),
            ("1e999", Said::Infinite),
            ("-inf", Said::Fraction(f64::MIN)),
            ("-1e999", Said::Exponent(f64::MIN)),
        ] {
            assert_eq!(retry_after(text), expected, "{text}");
        }
        // Digits have no largest value.
        assert_eq!(retry_after(&"9".repeat(400)), Said::Whole(f64::MAX));
    }

    #[test]
    fn durations_are_read_as_go_prints_them() {
        for (text, seconds) in [
            ("6m0s", 360.0),
            ("12ms", 0.012),
            ("1h2m3.5s", 3_723.5),
            ("1.5h", 5_400.0),
            ("0s", 0.0),
            ("250us", 0.000_25),
            ("250µs", 0.000_25),
            ("-5s", -5.0),
        ] {
            assert_eq!(retry_after(text), Said::Duration(seconds), "{text}");
            assert_eq!(said(HintHeader::RateLimitReset, text, 0.0), Said::Duration(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_nothing_is_unreadable() {
        let huge = format!("{}h", "9".repeat(400));
        for text in [
            "",
            " ",
            "soon",
            "-",
            "+",
            ".",
            "e3",
            "1e",
            "1e+",
            "1e3.5",
            "--5",
            "1_000",
            "1,5",
            "0x10",
            "5 s",
            "5x",
            "m5",
            "٣",
            "1 2",
            "5\n",
            "@date",
            "@date+",
            "@date+x",
            "@date5",
            "@date+1e3",
            "infinit",
            "2026-11-29",
            "12:00:00",
            "Thu, 25 Jun 2020",
            "Thu, 31 Feb 2020 00:00:00 GMT",
            "Fri, 31 Dec 99999 23:59:59 GMT",
            "31 Dec 99999 23:59:59 +0000",
            "99999-12-31T23:59:59Z",
            "+099999-12-31T23:59:59Z",
            &huge,
        ] {
            assert_eq!(retry_after(text), Said::Unreadable, "{text}");
        }
    }

    #[test]
    fn dates_are_waits_from_the_clock_whatever_their_form() {
        // By hand. The two clock changes: a zone that goes back an hour at 06:00 UTC, one that goes forward at 01:00.
        for (clock, text, seconds) in [
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 21:30:12 GMT", 120.0),
            ("2020-06-25T21:28:12Z", "Thursday, 25-Jun-20 21:30:12 GMT", 120.0),
            ("2020-06-25T21:28:12Z", "Thu Jun 25 21:30:12 2020", 120.0),
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 21:30:12 +0000", 120.0),
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 21:30:12 -0000", 120.0),
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 17:30:12 -0400", 120.0),
            ("2020-06-25T21:28:12Z", "25 Jun 2020 21:30:12 GMT", 120.0),
            ("2020-06-25T21:28:12Z", "Mon, 25 Jun 2020 21:30:12 GMT", 120.0),
            ("2020-06-05T21:28:12Z", "Fri, 5 Jun 2020 21:30:12 GMT", 120.0),
            ("2020-06-25T21:28:12Z", "2020-06-25T21:30:12Z", 120.0),
            ("2020-06-25T21:28:12Z", "2020-06-25T17:30:12-04:00", 120.0),
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 21:28:02 GMT", -10.0),
            ("2020-06-25T21:28:12Z", "Thu, 25 Jun 2020 21:28:12 GMT", 0.0),
            ("2026-11-01T05:59:30Z", "Sun, 01 Nov 2026 06:00:30 GMT", 60.0),
            ("2026-03-29T00:59:50Z", "Sun, 29 Mar 2026 01:00:10 GMT", 20.0),
            ("2026-11-29T11:59:00Z", "2026-11-29T12:00:00Z", 60.0),
            ("2026-11-29T11:59:00.5Z", "Sun, 29 Nov 2026 12:00:00 GMT", 59.5),
            ("2026-11-29T12:00:00Z", "@date+90", 90.0),
            ("2026-11-29T12:00:00Z", "@date+0.25", 0.25),
            ("2026-11-29T12:00:00Z", "@date-3", -3.0),
        ] {
            assert_eq!(said(HintHeader::RetryAfter, text, unix(clock)), Said::Date(seconds), "{text} at {clock}");
        }
        assert_eq!(said(HintHeader::RetryAfter, "2026-11-29T12:00:00Z", f64::NAN), Said::Unreadable);
    }

    #[test]
    fn a_reset_may_be_an_instant() {
        let clock = unix("2026-11-29T12:00:00Z");
        let reset = |text: &str| said(HintHeader::RateLimitReset, text, clock);
        assert_eq!(reset(&format!("{}", clock + 42.0)), Said::Date(42.0));
        assert_eq!(reset("42"), Said::Whole(42.0));
        assert_eq!(reset("2026-11-29T12:00:42Z"), Said::Date(42.0));
    }

    /// Grammars as real clients have them, and one that takes everything as a wait that can be.
    fn grammars() -> Vec<HintGrammar> {
        let strict = HeaderRule {
            negative: Take::Fatal,
            fraction: Take::Fatal,
            exponent: Take::Fatal,
            not_a_number: Take::Fatal,
            infinite: Take::Fatal,
            unreadable: Take::Fatal,
            ..HeaderRule::lenient(HintHeader::RetryAfter)
        };
        let greedy = |header| HeaderRule {
            zero: Take::Use,
            negative: Take::Use,
            not_a_number: Take::Use,
            past: Take::Use,
            unreadable: Take::Use,
            ..HeaderRule::lenient(header)
        };
        let all = HintHeader::ALL.map(|(header, _)| greedy(header)).to_vec();
        vec![HintGrammar::plain(), HintGrammar { rules: vec![strict] }, HintGrammar { rules: all }]
    }

    fn text() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "0",
            "7",
            "99",
            "-",
            "+",
            ".",
            "e",
            "E",
            "inf",
            "nan",
            "h",
            "m",
            "s",
            "ms",
            "µ",
            " ",
            ",",
            ":",
            "@date",
            "Thu",
            "Jun",
            "GMT",
            "2020",
            "99999",
            "T",
            "Z",
            "+0000",
            "-",
            "Infinity",
            "1e308",
            "9999999999999999999999",
        ]);
        prop_oneof![
            any::<String>(),
            "[ -~]{0,40}",
            prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
            any::<f64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| format!("{number:e}")),
            (any::<u16>(), 0..14_u8, 0..33_u8, any::<u32>()).prop_map(|(year, month, day, second)| {
                format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second % 25, second / 25 % 61, second % 61)
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_becomes_a_wait_that_is_not_a_time(
            text in text(), beside in text(), clock in prop_oneof![any::<f64>(), 0.0..4e9_f64]
        ) {
            for (header, _) in HintHeader::ALL {
                let said = said(header, &text, clock);
                match said {
                    Said::Whole(n) | Said::Fraction(n) | Said::Exponent(n) | Said::Duration(n) | Said::Date(n) => {
                        prop_assert!(n.is_finite(), "{said:?}");
                    }
                    Said::NotANumber | Said::Infinite | Said::Unreadable => {}
                }
                let below = match said {
                    Said::Whole(n) | Said::Fraction(n) | Said::Exponent(n) | Said::Duration(n) | Said::Date(n) => n <= 0.0,
                    Said::NotANumber | Said::Infinite | Said::Unreadable => false,
                };
                let other = super::said(HintHeader::RetryAfterMs, &beside, clock);
                for grammar in grammars() {
                    grammar.read(&[(header, said), (HintHeader::RetryAfterMs, other)]);
                    let Hint::After(wait) = grammar.read(&[(header, said)]) else { continue };
                    prop_assert!(wait <= SimDuration::MAX);
                    // What is not above zero is no wait, whoever reads it.
                    prop_assert!(!below || wait.is_zero(), "{said:?} became {wait}");
                }
            }
        }
    }
}
