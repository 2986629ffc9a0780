//! People write quantities with their unit: `"250ms"`, `"400k"`, `"6.4/min"`, `"10%"`. A number without one is the
//! commonest slip in configuration (seconds read as milliseconds), so a duration without a unit is refused, as is
//! everything that no run can use: signs, NaN, infinity, spans of more than a leap year.
//!
//! Durations are read by jiff's friendly grammar, narrowed by rules of our own; the other forms are decimal numbers
//! with a suffix and are computed from their digits, so that `"13.1/min"` is the same float everywhere.

use std::fmt;

use super::time::{NANOS_PER_SEC, SimDuration};

/// The longest duration that a scenario may state.
pub const LONGEST: SimDuration = SimDuration::from_secs(366 * 86_400);

/// The largest count that a scenario may state: past it, products with nanoseconds would leave 128 bits.
pub const LARGEST: u64 = 1_000_000_000_000_000;

/// The highest rate that a scenario may state, per second.
pub const FASTEST: f64 = 1e9;

/// Why a text is not what it should be, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    /// What is wrong, the found text last.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

impl std::error::Error for Misread {}

fn misread(message: impl Into<String>, found: &str, remedy: impl Into<String>) -> Misread {
    Misread { message: format!("{}, found {}", message.into(), quoted(found)), remedy: remedy.into() }
}

/// The text in quotes, control characters escaped, cut after 60 characters.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// A duration such as `"250ms"`, `"1.71s"`, `"1h30m"` or `"0"`; at most [`LONGEST`].
pub fn duration(text: &str) -> Result<SimDuration, Misread> {
    const REMEDY: &str = r#"write a number and a unit, such as "250ms", "90s" or "1h30m""#;
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(misread("a duration cannot be negative", text, "write it without the sign"));
    }
    if decimal(trimmed).is_some_and(|number| number.mantissa == 0) {
        return Ok(SimDuration::ZERO);
    }
    if decimal(trimmed).is_some() {
        return Err(misread("has no unit", text, format!(r#"write "{trimmed}s" for seconds"#)));
    }
    if ["inf", "+inf", "infinity", "forever", "never"].contains(&trimmed) {
        return Err(misread("must end", text, r#"write the longest that is meant, at most "366d""#));
    }
    // jiff also reads signs, ISO 8601, clock times and "ago"; a scenario has one way to say it.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == ' ' || c == 'µ';
    if !trimmed.starts_with(|c: char| c.is_ascii_digit()) || !trimmed.chars().all(plain) || trimmed.contains("ago") {
        return Err(misread("is not a duration", text, REMEDY));
    }
    let too_long = || misread("is longer than 366d", text, "write at most 366 days");
    let span = jiff::fmt::friendly::SpanParser::new().parse_span(trimmed).map_err(|_| {
        // A well-formed number with a good unit can only have been too large.
        if long_number_with_unit(trimmed) { too_long() } else { misread("is not a duration", text, REMEDY) }
    })?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(misread("months and years differ in length", text, "write days instead"));
    }
    let whole = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| too_long())?;
    let nanos = u64::try_from(whole.as_nanos()).map_err(|_| too_long())?;
    if nanos > LONGEST.as_nanos() { Err(too_long()) } else { Ok(SimDuration::from_nanos(nanos)) }
}

/// Whether the text is one long row of digits and a unit of time.
fn long_number_with_unit(text: &str) -> bool {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 9 && per_unit(text[digits..].trim()).is_some()
}

/// A decimal number by its digits: `mantissa / 10^places`.
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: u128,
    places: u32,
}

/// The digits of `12` or `12.5`, at most 25 of them; no sign, no exponent.
fn decimal(text: &str) -> Option<Decimal> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() + part.len() > 25 {
        return None;
    }
    let part = if text.contains('.') { part } else { "" };
    Some(Decimal { mantissa: format!("{whole}{part}").parse().ok()?, places: part.len() as u32 })
}

impl Decimal {
    fn times(self, factor: u128) -> Decimal {
        Decimal { mantissa: self.mantissa * factor, ..self }
    }

    fn value(self) -> f64 {
        // Both numbers are exact below 2⁵³ and 10²², so that one division rounds once.
        self.mantissa as f64 / 10_u128.pow(self.places) as f64
    }

    fn whole(self) -> Option<u128> {
        let one = 10_u128.pow(self.places);
        self.mantissa.is_multiple_of(one).then(|| self.mantissa / one)
    }
}

/// A decimal number with an optional `k`, `M` or `G`.
fn suffixed(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let (number, factor) = match text.bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    Some(decimal(number.trim_end())?.times(factor))
}

fn quantity_misread(text: &str) -> Misread {
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return misread("a quantity cannot be negative", text, "write it without the sign");
    }
    let swapped = trimmed.replace('K', "k").replace(['m', 'B', 'b'], "M").replace('g', "G");
    let remedy = if suffixed(&swapped).is_some() && swapped != trimmed {
        format!("k, M and G are 10^3, 10^6 and 10^9; did you mean {}?", quoted(&swapped))
    } else {
        r#"write a number such as 1500, "400k" or "1.5M""#.to_owned()
    };
    misread("is not a quantity", text, remedy)
}

/// A quantity such as `"400k"` or `"12.15k"`, not necessarily whole; at most [`LARGEST`].
pub fn quantity(text: &str) -> Result<f64, Misread> {
    let value = suffixed(text).ok_or_else(|| quantity_misread(text))?.value();
    if value > LARGEST as f64 {
        Err(misread("is larger than 10^15", text, "write a smaller number"))
    } else {
        Ok(value)
    }
}

/// A whole number such as `"400k"` or `"1.5M"`; at most [`LARGEST`].
pub fn count(text: &str) -> Result<u64, Misread> {
    let number = suffixed(text).ok_or_else(|| quantity_misread(text))?;
    let Some(whole) = number.whole() else {
        return Err(misread("must be a whole number", text, "write fewer decimals"));
    };
    u64::try_from(whole)
        .ok()
        .filter(|whole| *whole <= LARGEST)
        .ok_or_else(|| misread("is larger than 10^15", text, "write a smaller number"))
}

/// The length of the unit of time behind the slash of a rate.
fn per_unit(unit: &str) -> Option<SimDuration> {
    Some(match unit {
        "ms" => SimDuration::from_millis(1),
        "s" | "sec" | "second" => SimDuration::from_secs(1),
        "m" | "min" | "minute" => SimDuration::from_mins(1),
        "h" | "hour" => SimDuration::from_mins(60),
        "d" | "day" => SimDuration::from_mins(1_440),
        _ => return None,
    })
}

/// A rate such as `"6.4/min"`, in events per second; at most [`FASTEST`].
pub fn rate(text: &str) -> Result<f64, Misread> {
    let remedy = || r#"write events per time, such as "6.4/min", "20/s" or "100/h""#;
    if text.trim().starts_with('-') {
        return Err(misread("a rate cannot be negative", text, remedy()));
    }
    let Some((events, unit)) = text.split_once('/') else { return Err(misread("is not a rate", text, remedy())) };
    let (Some(events), Some(unit)) = (suffixed(events), per_unit(unit.trim())) else {
        return Err(misread("is not a rate", text, remedy()));
    };
    // Nanoseconds first: 13.1 / 60 by one multiplication of whole numbers and one division.
    let per_second = events.times(u128::from(NANOS_PER_SEC)).value() / unit.as_nanos() as f64;
    if per_second > FASTEST {
        return Err(misread("is faster than 10^9 per second", text, "write a smaller number"));
    }
    Ok(per_second)
}

/// A share such as `"30%"`, from 0 to 1.
pub fn ratio(text: &str) -> Result<f64, Misread> {
    let remedy = r#"write a share such as 0.3 or "30%""#;
    let Some(number) = text.trim().strip_suffix('%') else { return Err(misread("is not a share", text, remedy)) };
    let Some(share) = decimal(number.trim_end()) else { return Err(misread("is not a share", text, remedy)) };
    let value = Decimal { places: share.places + 2, ..share }.value();
    if value > 1.0 { Err(misread("must lie in 0%..=100%", text, "write at most \"100%\"")) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, nanos) in [
            ("250ms", 250_000_000_u64),
            ("1.71s", 1_710_000_000),
            ("22m", 1_320_000_000_000),
            ("2h", 7_200_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("90 s", 90_000_000_000),
            ("1d", 86_400_000_000_000),
            ("0", 0),
            ("0s", 0),
            ("7.5m", 450_000_000_000),
            ("366d", 366 * 86_400_000_000_000),
        ] {
            assert_eq!(duration(text), Ok(SimDuration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_what_to_write() {
        for (text, message) in [
            ("", "is not a duration"),
            ("nan", "is not a duration"),
            ("inf", "must end"),
            ("-1s", "a duration cannot be negative"),
            ("1e400s", "is not a duration"),
            ("99999999999999999999h", "is longer than 366d"),
            ("400d", "is longer than 366d"),
            ("10", "has no unit"),
            ("PT2H", "is not a duration"),
            ("00:01:30", "is not a duration"),
            ("2 weeks ago", "is not a duration"),
            ("1 month", "months and years differ in length"),
            ("10 parsecs", "is not a duration"),
            ("+3s", "is not a duration"),
        ] {
            let misread = duration(text).unwrap_err();
            assert_eq!(misread.message, format!("{message}, found {text:?}"));
            assert!(!misread.remedy.is_empty());
        }
        assert_eq!(duration("10").unwrap_err().remedy, r#"write "10s" for seconds"#);
    }

    #[test]
    fn what_durations_print_reads_back() {
        for nanos in [1, 999, 250_000_000, 1_500_000_000, 90_500_000_000, 86_400_000_000_000, 5_400_000_000_000] {
            let written = SimDuration::from_nanos(nanos);
            assert_eq!(duration(&written.to_string()), Ok(written), "{written}");
        }
    }

    #[test]
    fn quantities_are_exact_where_they_must_be_whole() {
        assert_eq!(count("400k"), Ok(400_000));
        assert_eq!(count("1.5M"), Ok(1_500_000));
        assert_eq!(count("2G"), Ok(2_000_000_000));
        assert_eq!(count("17"), Ok(17));
        assert_eq!(quantity("12.1k"), Ok(12_100.0));
        assert_eq!(count("1.5").unwrap_err().message, r#"must be a whole number, found "1.5""#);
        assert_eq!(count("9999999G").unwrap_err().message, r#"is larger than 10^15, found "9999999G""#);
        assert_eq!(count("700K").unwrap_err().remedy, r#"k, M and G are 10^3, 10^6 and 10^9; did you mean "700k"?"#);
        for text in ["", "k", "-3", "1e5", "nan", "1..2", ".5", "5."] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_events_per_second() {
        // By hand: 6.4 per minute is 6.4 / 60 per second.
        assert_eq!(rate("6.4/min"), Ok(6.4 / 60.0));
        assert_eq!(rate("20/s"), Ok(20.0));
        assert_eq!(rate("4/m"), Ok(4.0 / 60.0));
        assert_eq!(rate("100/h"), Ok(100.0 / 3600.0));
        assert_eq!(rate("400k/min"), Ok(400_000.0 / 60.0));
        for text in ["-3/s", "6.4", "6.4/fortnight", "fast", "1e9/s", "nan/s", "/s", "2000M/s", "1/2/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_end_at_one() {
        assert_eq!(ratio("30%"), Ok(0.3));
        assert_eq!(ratio("0%"), Ok(0.0));
        assert_eq!(ratio("100%"), Ok(1.0));
        assert_eq!(ratio("99.97%"), Ok(0.9997));
        for text in ["98", "101%", "-1%", "nan%", "%"] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }
}
