//! Numbers as people write them: no decimal that is noise, never a number without its unit.

/// The space between a number and its unit; a line is never broken there.
const NEAR: char = '\u{a0}';

/// A count with thousands parted: `3,920`.
pub(super) fn count(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value <= -0.5 { format!("−{out}") } else { out }
}

/// A count with its noun: `1 request`, `3,920 requests`.
pub(super) fn of(value: f64, noun: &str) -> String {
    let number = count(value);
    if number == "1" { format!("1{NEAR}{noun}") } else { format!("{number}{NEAR}{noun}s") }
}

/// A mark on an axis, with as many decimals as the step between marks needs: `0.5`, `40`, `100k`.
pub(super) fn tick(value: f64, step: f64) -> String {
    let (size, unit) = match step.max(value.abs()) {
        top if top >= 1e9 => (1e9, "G"),
        top if top >= 1e6 => (1e6, "M"),
        top if top >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let (value, step) = (value / size, step / size);
    if value == 0.0 {
        return "0".to_string();
    }
    let decimals = (0..6).find(|&d| is_whole(step * ten_to(d))).unwrap_or(6);
    if decimals == 0 { count(value) + unit } else { format!("{value:.*}{unit}", decimals as usize) }
}

fn ten_to(power: u32) -> f64 {
    (0..power).fold(1.0, |product, _| product * 10.0)
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-6
}

/// A share: `23 %`. What is not all never reads as 100 %, what is not nothing never as 0 %.
pub(super) fn share(value: f64) -> String {
    let percent = value * 100.0;
    let text = match percent {
        p if p == 0.0 || p == 100.0 => format!("{p:.0}"),
        p if p < 0.1 => "<\u{a0}0.1".to_string(),
        p if p > 99.9 && p < 100.0 => ">\u{a0}99.9".to_string(),
        p if p < 9.95 || (p > 99.0 && p < 100.0) => format!("{p:.1}"),
        p => format!("{p:.0}"),
    };
    format!("{text}{NEAR}%")
}

/// How many times as much: `9.3`, `1.02`, `140`.
pub(super) fn factor(value: f64) -> String {
    match value {
        v if v < 1.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => count(v),
    }
}

/// The unit in which a span of time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days.
    Day,
}

impl TimeUnit {
    /// The unit in which a span reads best.
    pub(super) fn of(seconds: f64) -> TimeUnit {
        match seconds {
            s if s <= 180.0 => TimeUnit::Second,
            s if s <= 4.0 * 3600.0 => TimeUnit::Minute,
            s if s <= 100.0 * 3600.0 => TimeUnit::Hour,
            _ => TimeUnit::Day,
        }
    }

    /// Seconds in one.
    pub(super) const fn seconds(self) -> f64 {
        match self {
            TimeUnit::Second => 1.0,
            TimeUnit::Minute => 60.0,
            TimeUnit::Hour => 3600.0,
            TimeUnit::Day => 86_400.0,
        }
    }

    /// Its name.
    pub(super) const fn word(self) -> &'static str {
        match self {
            TimeUnit::Second => "second",
            TimeUnit::Minute => "minute",
            TimeUnit::Hour => "hour",
            TimeUnit::Day => "day",
        }
    }

    /// Its sign behind a number.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            TimeUnit::Second => "s",
            TimeUnit::Minute => "min",
            TimeUnit::Hour => "h",
            TimeUnit::Day => "d",
        }
    }
}

/// A length of time: `40 s`, `18.8 min`, `3.2 h`.
pub(super) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => return format!("0{NEAR}s"),
        s if s < 0.9995 => (s * 1e3, "ms"),
        s if s < 120.0 => (s, "s"),
        s if s < 7200.0 => (s / 60.0, "min"),
        s if s < 172_800.0 => (s / 3600.0, "h"),
        s => (s / 86_400.0, "d"),
    };
    let whole = value >= 99.95 || (unit == "s" && value >= 9.95) || unit == "ms";
    if whole { format!("{}{NEAR}{unit}", count(value)) } else { format!("{value:.1}{NEAR}{unit}") }
}

/// The width of a bin before a noun: `10-second`, `1-minute`.
pub(super) fn bin(seconds: f64) -> String {
    let (size, word) = bin_unit(seconds);
    format!("{}-{word}", plain(seconds / size))
}

/// The width of a bin after `each`: `10 seconds`, `minute`.
pub(super) fn each(seconds: f64) -> String {
    let (size, word) = bin_unit(seconds);
    let number = plain(seconds / size);
    if number == "1" { word.to_string() } else { format!("{number} {word}s") }
}

fn bin_unit(seconds: f64) -> (f64, &'static str) {
    [(86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")]
        .into_iter()
        .find(|(size, _)| seconds >= *size && is_whole(seconds / size * 2.0))
        .unwrap_or(if seconds >= 1.0 { (1.0, "second") } else { (1e-3, "millisecond") })
}

/// A number with at most two decimals, and none that is zero.
pub(super) fn plain(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// An instant or a span of instants on the time axis, as `22` or `22 – 29`, in a unit and relative to the origin.
pub(super) fn instant(seconds: f64, unit: TimeUnit) -> String {
    let value = seconds / unit.seconds();
    let rounded = (value * 10.0).round() / 10.0;
    if is_whole(rounded) { count(rounded) } else { format!("{rounded:.1}").replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_parted_in_thousands() {
        assert_eq!([0.0, 999.0, 3920.4, 1_234_567.0, -5.0].map(count), ["0", "999", "3,920", "1,234,567", "−5"]);
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        assert_eq!(tick(2.0, 1.0), "2");
        assert_eq!(tick(0.5, 0.25), "0.50");
        assert_eq!(tick(1500.0, 500.0), "1,500");
        assert_eq!(tick(100_000.0, 50_000.0), "100k");
        assert_eq!(tick(2_500_000.0, 500_000.0), "2.5M");
    }

    #[test]
    fn a_share_never_rounds_to_all_or_nothing() {
        let shown = [0.0, 0.0004, 0.023, 0.23, 0.996, 0.9997, 1.0].map(share);
        let expected = ["0 %", "< 0.1 %", "2.3 %", "23 %", "99.6 %", "> 99.9 %", "100 %"];
        assert_eq!(shown.map(|text| text.replace(NEAR, " ")), expected);
    }

    #[test]
    fn times_take_the_unit_that_reads_best() {
        let shown = [0.0, 0.25, 3.21, 40.0, 420.0, 11_520.0, 259_200.0].map(time);
        let expected = ["0 s", "250 ms", "3.2 s", "40 s", "7.0 min", "3.2 h", "3.0 d"];
        assert_eq!(shown.map(|text| text.replace(NEAR, " ")), expected);
    }

    #[test]
    fn bins_are_named_by_their_width() {
        assert_eq!(
            [10.0, 60.0, 90.0, 0.05, 3600.0].map(bin),
            ["10-second", "1-minute", "1.5-minute", "50-millisecond", "1-hour"]
        );
        assert_eq!([10.0, 60.0].map(each), ["10 seconds", "minute"]);
    }
}
