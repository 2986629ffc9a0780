//! A number is read with its unit, and decimals that are noise hide the ones that are not. This file decides how each
//! kind of quantity is written: three digits for ratios, whole percents from ten up, times in the unit that fits, and
//! an interval in brackets behind the mean. A quantity with two modes is never written as its mean alone.

use crate::experiment::Figure;
use crate::stats::Mode;

use super::words::spelled;

/// What is written where a number is not defined.
pub const UNDEFINED: &str = "–";

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// One thing for each other thing.
    Ratio,
    /// A share from 0 to 1, written in percent.
    Share,
    /// A number of seconds, written in the given unit of time.
    Time(TimeUnit),
    /// An amount of money, in whatever the currency is.
    Money,
}

/// A unit in which a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl TimeUnit {
    /// The unit in which a time of this many seconds reads best.
    pub fn of(seconds: f64) -> TimeUnit {
        if seconds < 120.0 {
            TimeUnit::Seconds
        } else if seconds < 7_200.0 {
            TimeUnit::Minutes
        } else {
            TimeUnit::Hours
        }
    }

    /// The sign of the unit.
    pub const fn sign(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
            TimeUnit::Hours => "h",
        }
    }

    /// How many seconds it has.
    pub const fn seconds(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Minutes => 60.0,
            TimeUnit::Hours => 3_600.0,
        }
    }
}

impl Unit {
    /// The number without the sign of its unit.
    pub fn bare(self, value: f64) -> String {
        match self {
            Unit::Count => count(value),
            Unit::Ratio => ratio(value),
            Unit::Share => percent(value),
            Unit::Time(unit) => time(value, unit),
            Unit::Money => amount(value),
        }
    }

    /// The number with the sign of its unit.
    pub fn full(self, value: f64) -> String {
        self.with_sign(self.bare(value))
    }

    fn with_sign(self, bare: String) -> String {
        match self {
            Unit::Count | Unit::Ratio | Unit::Money => bare,
            Unit::Share => format!("{bare} %"),
            Unit::Time(unit) => format!("{bare} {}", unit.sign()),
        }
    }

    /// A figure, over replicates with its 5 % and 95 % quantiles or with its modes.
    pub fn figure(self, figure: Option<&Figure>) -> String {
        let Some(center) = figure.and_then(Figure::center) else { return UNDEFINED.to_owned() };
        let modes = figure.map_or(&[][..], modes_of);
        if modes.len() > 1 {
            return self.modes(modes);
        }
        let bare = self.center(figure, center);
        match figure.and_then(Figure::interval) {
            None => self.with_sign(bare),
            Some((low, high)) => format!("{} [{}, {}]", self.with_sign(bare), self.bare(low), self.bare(high)),
        }
    }

    /// A figure's number or mean alone; its p5 to p95 where a mean would fall between its modes.
    pub fn brief(self, figure: Option<&Figure>) -> String {
        let Some(center) = figure.and_then(Figure::center) else { return UNDEFINED.to_owned() };
        match figure.and_then(Figure::interval) {
            Some((low, high)) if figure.is_some_and(|figure| modes_of(figure).len() > 1) => {
                format!("{} to {}", self.bare(low), self.full(high))
            }
            Some(_) | None => self.with_sign(self.center(figure, center)),
        }
    }

    /// A mean of counts keeps a decimal while it is small: 0.7 failed reports are not one.
    fn center(self, figure: Option<&Figure>, center: f64) -> String {
        match (self, figure) {
            (Unit::Count, Some(Figure::Many { .. })) if center < 10.0 && center.fract() != 0.0 => {
                trimmed(format!("{center:.1}"), center)
            }
            (Unit::Count | Unit::Ratio | Unit::Share | Unit::Time(_) | Unit::Money, _) => self.bare(center),
        }
    }

    /// Modes in words, such as "two modes: 61 % near 4.6 min, 39 % near 14.5 min".
    pub fn modes(self, modes: &[Mode]) -> String {
        let each: Vec<String> = modes
            .iter()
            .map(|mode| format!("{} near {}", Unit::Share.full(mode.share), self.full(mode.mean)))
            .collect();
        format!("{} modes: {}", spelled(modes.len() as f64), each.join(", "))
    }
}

/// The modes of a figure over replicates; none where its values form one group.
pub fn modes_of(figure: &Figure) -> &[Mode] {
    match figure {
        Figure::One(_) => &[],
        Figure::Many { statistic, .. } => statistic.as_ref().map_or(&[], |statistic| &statistic.modes),
    }
}

/// An amount of money, in hundredths from a tenth on, and below with the digits that count: `1,234.50`, `0.034`.
pub fn amount(value: f64) -> String {
    if value >= 0.1 || value <= 0.0 {
        let cents = (value * 100.0).round();
        return format!("{}.{:02}", count((cents / 100.0).trunc()), (cents % 100.0).abs());
    }
    let (mut places, mut scaled) = (3, value * 1e3);
    while places < 9 && scaled < 9.5 {
        places += 1;
        scaled *= 10.0;
    }
    format!("{value:.places$}")
}

/// A whole number with its thousands apart: `3,920`.
pub fn count(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.3e}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("−{out}") } else { out }
}

/// Three digits that count, so that the factors of a product multiply to it as they stand there.
fn ratio(value: f64) -> String {
    if 0.0 < value && value < 0.999_5 {
        format!("{value:.3}")
    } else if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(value)
    }
}

/// Something never reads as nothing, and almost all never as all.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value > 0.0 && value < 0.1 {
        "<0.1".to_owned()
    } else if value < 9.95 {
        trimmed(format!("{value:.1}"), value)
    } else if value < 99.5 {
        format!("{value:.0}")
    } else if value < 99.9 {
        format!("{value:.1}")
    } else if value < 100.0 {
        ">99.9".to_owned()
    } else {
        format!("{value:.0}")
    }
}

fn time(seconds: f64, unit: TimeUnit) -> String {
    let value = seconds / unit.seconds();
    match unit {
        TimeUnit::Seconds if value >= 9.95 => count(value),
        TimeUnit::Seconds if value < 0.095 && value > 0.0 => format!("{value:.3}"),
        TimeUnit::Seconds | TimeUnit::Minutes | TimeUnit::Hours if value < 99.95 => {
            trimmed(format!("{value:.1}"), value)
        }
        TimeUnit::Seconds | TimeUnit::Minutes | TimeUnit::Hours => count(value),
    }
}

/// `text` without its decimal zero where the value is exactly whole.
fn trimmed(text: String, value: f64) -> String {
    match text.strip_suffix(".0") {
        Some(whole) if value.fract() == 0.0 => whole.to_owned(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Statistic;

    #[test]
    fn numbers_keep_the_digits_that_say_something() {
        for (unit, value, text) in [
            (Unit::Count, 3_920.0, "3,920"),
            (Unit::Count, 1_234_567.0, "1,234,567"),
            (Unit::Count, 999.0, "999"),
            (Unit::Ratio, 0.434_9, "0.435"),
            (Unit::Ratio, 0.999_8, "1.00"),
            (Unit::Ratio, 9.333_3, "9.33"),
            (Unit::Ratio, 10.1, "10.1"),
            (Unit::Ratio, 9.999, "10.0"),
            (Unit::Share, 0.0, "0 %"),
            (Unit::Share, 0.000_2, "<0.1 %"),
            (Unit::Share, 0.042, "4.2 %"),
            (Unit::Share, 0.226, "23 %"),
            (Unit::Share, 0.999_7, ">99.9 %"),
            (Unit::Share, 1.0, "100 %"),
            (Unit::Time(TimeUnit::Seconds), 39.4, "39 s"),
            (Unit::Time(TimeUnit::Minutes), 1_128.0, "18.8 min"),
            (Unit::Time(TimeUnit::Minutes), 420.0, "7 min"),
        ] {
            assert_eq!(unit.full(value), text);
        }
    }

    #[test]
    fn amounts_have_hundredths_or_the_digits_that_count() {
        for (value, text) in [
            (0.0, "0.00"),
            (1_234.5, "1,234.50"),
            (0.996, "1.00"),
            (0.1, "0.10"),
            (0.034, "0.034"),
            (0.003_46, "0.0035"),
            (0.000_002, "0.0000020"),
        ] {
            assert_eq!(amount(value), text);
        }
    }

    fn many(mean: f64, p5: f64, p95: f64, modes: Vec<Mode>) -> Figure {
        let statistic = Statistic { mean, sd: None, p5, p50: mean, p95, min: p5, max: p95, ci95: None, n: 9, modes };
        Figure::Many { statistic: Some(statistic), whole: true }
    }

    #[test]
    fn an_interval_stands_behind_the_mean_and_modes_replace_it() {
        let one_group = many(0.197, 0.149, 0.24, Vec::new());
        assert_eq!(Unit::Share.figure(Some(&one_group)), "20 % [15, 24]");
        let group = |share, mean| Mode { share, mean, min: mean, max: mean };
        let two = many(500.0, 250.0, 900.0, vec![group(0.61, 276.0), group(0.39, 870.0)]);
        let minutes = Unit::Time(TimeUnit::Minutes);
        assert_eq!(minutes.figure(Some(&two)), "two modes: 61 % near 4.6 min, 39 % near 14.5 min");
        assert_eq!(minutes.brief(Some(&two)), "4.2 to 15 min");
        assert_eq!(Unit::Count.figure(Some(&many(0.7, 0.0, 2.0, Vec::new()))), "0.7 [0, 2]");
        assert_eq!(Unit::Count.figure(None), "–");
    }
}
