//! Reading the times of a trace: numbers of a stated unit, counted from the beginning of the trace, or dates and Unix
//! times, counted from its first row.

use crate::units::SimTime;
use crate::units::calendar;
use crate::units::parse::LONGEST;

/// What times of a trace are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Seconds, or dates if the first one is a date.
    Any,
    /// So many nanoseconds each, from the beginning of the trace.
    Nanos(i128),
    /// So many nanoseconds each, from somewhere: counted from the first row.
    Since(i128),
    /// Dates with times of day.
    Date,
}

impl TimeUnit {
    /// The units by their words.
    pub(super) const WORDS: [(&str, TimeUnit); 9] = [
        ("s", TimeUnit::Nanos(1_000_000_000)),
        ("ms", TimeUnit::Nanos(1_000_000)),
        ("us", TimeUnit::Nanos(1_000)),
        ("ns", TimeUnit::Nanos(1)),
        ("unix", TimeUnit::Since(1_000_000_000)),
        ("unix_ms", TimeUnit::Since(1_000_000)),
        ("unix_us", TimeUnit::Since(1_000)),
        ("unix_ns", TimeUnit::Since(1)),
        ("date", TimeUnit::Date),
    ];
}

/// Reads the times of one trace.
pub(super) struct Clock {
    unit: TimeUnit,
    /// The first time, where times count from it.
    first: Option<i128>,
    /// Whether the last time that was read is earlier than that.
    pub(super) is_before_first: bool,
}

impl Clock {
    pub(super) const fn new(unit: TimeUnit) -> Clock {
        Clock { unit, first: None, is_before_first: false }
    }

    /// The time of a row; `None` where the text is none, or beyond what a run can last.
    pub(super) fn read(&mut self, text: &str) -> Option<SimTime> {
        if self.unit == TimeUnit::Any {
            self.unit = if date(text).is_some() { TimeUnit::Date } else { TimeUnit::Nanos(1_000_000_000) };
        }
        let since = match self.unit {
            TimeUnit::Date | TimeUnit::Any => self.since_first(date(text)?),
            TimeUnit::Nanos(unit) => number(text, unit)?,
            TimeUnit::Since(unit) => {
                let nanos = number(text, unit)?;
                self.since_first(nanos)
            }
        };
        let nanos = u64::try_from(since).ok()?;
        (nanos <= LONGEST.as_nanos()).then(|| SimTime::from_nanos(nanos))
    }

    /// What is earlier than the first is told apart: it has no time.
    fn since_first(&mut self, nanos: i128) -> i128 {
        let since = nanos - *self.first.get_or_insert(nanos);
        self.is_before_first = since < 0;
        since.max(0)
    }
}

/// A date with a time of day, as nanoseconds since 1970; without a zone it is taken as it stands.
fn date(text: &str) -> Option<i128> {
    calendar::nanos(text).or_else(|| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_nanosecond))
}

/// A number of units of so many nanoseconds each, rounded to the nanosecond. It is read digit by digit: a float would
/// lose the microseconds of a Unix time.
fn number(text: &str, unit: i128) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |digits: &str| digits.len() <= 18 && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_plain(whole) || !is_plain(part) || (whole.is_empty() && part.is_empty()) {
        let float = text.parse::<f64>().ok().filter(|float| (0.0..1e24).contains(float))?;
        let nanos = float * unit as f64;
        return (nanos < 1e30).then_some((nanos + 0.5) as i128);
    }
    let digits = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i128>().ok() };
    let scale = 10_i128.pow(part.len() as u32);
    Some(digits(whole)? * unit + (digits(part)? * unit + scale / 2) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(unit: TimeUnit, texts: &[&str]) -> Vec<Option<u64>> {
        let mut clock = Clock::new(unit);
        texts.iter().map(|text| clock.read(text).map(SimTime::as_nanos)).collect()
    }

    #[test]
    fn times_of_every_unit_are_exact() {
        let unit = |word: &str| TimeUnit::WORDS.into_iter().find(|(known, _)| *known == word).unwrap().1;
        assert_eq!(
            nanos(unit("s"), &["0.5", "12", ".25", "1e-3", "0.0000000016"]),
            [500_000_000, 12_000_000_000, 250_000_000, 1_000_000, 2].map(Some)
        );
        assert_eq!(nanos(unit("ms"), &["27482", "0.000001"]), [27_482_000_000, 1].map(Some));
        // A float has no digits left for the microseconds of this century.
        let floats = ["1700158623.979960001", "1700158624.979960002"];
        assert_eq!(nanos(unit("unix"), &floats), [0, 1_000_000_001].map(Some));
        assert_eq!(nanos(unit("unix_ms"), &["1700158623979", "1700158623980"]), [0, 1_000_000].map(Some));
        let dates = ["2023-11-16 23:59:59.9799600", "2023-11-17T00:00:00.0319601Z", "2023-11-17T01:00:00.03+01:00"];
        assert_eq!(nanos(TimeUnit::Any, &dates), [0, 52_000_100, 50_040_000].map(Some));
        let none = ["nan", "-1", "", ".", "1e40", "99999999999999999999", "inf", "2023-11-16", "\u{661}"];
        assert_eq!(nanos(unit("s"), &none), [None; 9]);
        assert_eq!(nanos(unit("date"), &["7", "2023-02-30 00:00:00"]), [None; 2]);
        assert_eq!(nanos(TimeUnit::Any, &["1", "2023-11-17 00:00:00"]), [Some(1_000_000_000), None]);
    }
}
