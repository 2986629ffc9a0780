//! Numbers of a comparison as people read them: a mean, or never; a difference with its sign and half of its interval,
//! both with the decimals that the interval leaves.

use crate::experiment::compare::{Cell, Effect};
use crate::experiment::measure::Kind;
use crate::report::quantity::{UNDEFINED, Unit, count};
use crate::stats::Statistic;

/// What is written for a time that does not come.
const NEVER: &str = "never";

/// The mean of a measure in one arm; `never` where it is so in half of the seeds or more.
pub fn cell(cell: &Cell, unit: Unit) -> String {
    match cell.mean() {
        Some(mean) => full(unit, mean),
        None if cell.is_never() => NEVER.to_owned(),
        None => UNDEFINED.to_owned(),
    }
}

/// A mean of counts keeps a decimal while it is small: 0.7 failed reports are not one.
fn full(unit: Unit, mean: f64) -> String {
    match unit {
        Unit::Count if mean < 10.0 && mean > 0.0 && mean.fract() != 0.0 => {
            if mean < 0.05 {
                "<0.1".to_owned()
            } else {
                format!("{mean:.1}")
            }
        }
        Unit::Count | Unit::Ratio | Unit::Share | Unit::Time(_) | Unit::Money => unit.full(mean),
    }
}

/// The mean difference of an arm to the first one with half of its 95 % interval, such as `−3,186 ± 43`; the sign of its
/// unit behind it. Where one side is sometimes never, in how many seeds each is.
pub fn difference(first: &Effect, own: &Effect, kind: Kind, unit: Unit) -> String {
    let Some(paired) = &own.paired else { return String::new() };
    let statistic = paired.difference.as_ref().filter(|_| paired.is_whole());
    let Some(statistic) = statistic else {
        let (before, after) = (first.cell.never, own.cell.never);
        return if before + after > 0 {
            format!("never in {} → {}", count(before as f64), count(after as f64))
        } else {
            UNDEFINED.to_owned()
        };
    };
    self::statistic(statistic, kind, unit)
}

/// A mean with its sign and half of its 95 % interval.
pub fn statistic(statistic: &Statistic, kind: Kind, unit: Unit) -> String {
    interval(statistic.mean, half_of(statistic), kind, unit)
}

/// The same of a difference and half of its interval, where there is one.
pub fn interval(mean: f64, half: Option<f64>, kind: Kind, unit: Unit) -> String {
    let (scale, sign) = scale(unit);
    with_half(mean / scale, half.map(|half| half / scale), kind, sign, signed)
}

/// A mean with half of its 95 % interval; `never` where it is so in half of the seeds or more, and in how many seeds it
/// is so in fewer of them.
pub fn level(own: &Cell, kind: Kind, unit: Unit) -> String {
    let (scale, sign) = if unit == Unit::Share { (0.01, "%") } else { scale(unit) };
    match (&own.statistic, own.mean()) {
        // Where all seeds agree there is nothing to add.
        (Some(statistic), Some(mean)) if own.never == 0 && statistic.min == statistic.max => full(unit, mean),
        (Some(statistic), Some(mean)) if own.never == 0 => {
            with_half(mean / scale, half_of(statistic).map(|half| half / scale), kind, sign, bare)
        }
        (Some(_), Some(mean)) => format!("{} ({} {NEVER})", full(unit, mean), count(own.never as f64)),
        _ => cell(own, unit),
    }
}

fn half_of(statistic: &Statistic) -> Option<f64> {
    statistic.ci95.map(|(low, high)| (high - low) / 2.0)
}

fn with_half(mean: f64, half: Option<f64>, kind: Kind, sign: &str, written: impl Fn(f64, usize) -> String) -> String {
    let decimals = decimals(kind, half.unwrap_or(mean.abs()), mean.abs());
    let text = match half {
        Some(half) => format!("{} ± {}", written(mean, decimals), bare(half, decimals)),
        None => written(mean, decimals),
    };
    if sign.is_empty() { text } else { format!("{text} {sign}") }
}

/// How far a number may move, without a sign.
pub fn size(value: f64, kind: Kind, unit: Unit) -> String {
    let (scale, sign) = scale(unit);
    let value = value / scale;
    let text = bare(value, decimals(kind, value, value));
    if sign.is_empty() { text } else { format!("{text} {sign}") }
}

/// What one unit is, and its sign; shares differ by percentage points.
pub(super) const fn scale(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Count | Unit::Ratio | Unit::Money => (1.0, ""),
        Unit::Share => (0.01, "pts"),
        Unit::Time(unit) => (unit.seconds(), unit.sign()),
    }
}

/// As many decimals as the interval leaves, and never more than two digits of it.
fn decimals(kind: Kind, half: f64, mean: f64) -> usize {
    // Without any spread the interval leaves all of them, and a reader wants few.
    if half < 5e-4 {
        return match kind {
            Kind::Count => usize::from(mean < 10.0 && mean.fract() > 1e-9),
            Kind::Share | Kind::Seconds => 1,
            Kind::Ratio | Kind::Money => 2,
        };
    }
    let finest = match kind {
        Kind::Ratio | Kind::Money => 3,
        Kind::Count | Kind::Share | Kind::Seconds => 2,
    };
    let wanted = match half {
        half if half >= 9.5 => 0,
        half if half >= 0.95 => 1,
        half if half >= 0.095 => 2,
        _ => 3,
    };
    // Small numbers need a decimal more to be seen at all; large ones need none.
    let most = if mean.max(half) >= 99.5 { 0 } else { finest };
    wanted.min(most).max(usize::from(mean < 99.5 && matches!(kind, Kind::Ratio)))
}

/// A number with its sign in front.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = bare(value.abs(), decimals);
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    match (is_zero, value < 0.0) {
        (true, _) => text,
        (false, true) => format!("−{text}"),
        (false, false) => format!("+{text}"),
    }
}

fn bare(value: f64, decimals: usize) -> String {
    if decimals == 0 { count(value) } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::quantity::TimeUnit;
    use crate::stats::Paired;

    fn said(first: &[f64], own: &[f64], kind: Kind, unit: Unit) -> [String; 3] {
        let before = Effect { cell: Cell::of(first), paired: None };
        let after = Effect { cell: Cell::of(own), paired: Some(Paired::of(first, own)) };
        [cell(&before.cell, unit), cell(&after.cell, unit), difference(&before, &after, kind, unit)]
    }

    #[test]
    fn differences_keep_the_digits_that_the_interval_leaves() {
        // Differences −3,100 and −3,300: ± 12.706 · 141.4 / √2 = 1,271.
        let counts = said(&[3_900.0, 3_930.0], &[800.0, 630.0], Kind::Count, Unit::Count);
        assert_eq!(counts, ["3,915", "715", "−3,200 ± 1,271"]);
        let failed = said(&[80.0, 82.0, 84.0], &[0.0, 1.0, 3.0], Kind::Count, Unit::Count);
        assert_eq!(failed, ["82", "1.3", "−80.7 ± 1.4"]);
        let shares = said(&[0.2, 0.21, 0.22], &[0.0, 0.01, 0.02], Kind::Share, Unit::Share);
        assert_eq!(shares[2], "−20.0 ± 0.0 pts");
        let minutes = Unit::Time(TimeUnit::Minutes);
        let times = said(&[1_080.0, 1_140.0], &[2_100.0, 2_220.0], Kind::Seconds, minutes);
        assert_eq!(times, ["18.5 min", "36 min", "+17.5 ± 6.4 min"]);
    }

    #[test]
    fn a_time_that_is_never_has_no_difference_but_counts() {
        let never = f64::INFINITY;
        let minutes = Unit::Time(TimeUnit::Minutes);
        let said = said(&[never, never, never], &[600.0, never, 660.0], Kind::Seconds, minutes);
        assert_eq!(said, ["never", "10.5 min", "never in 3 → 1"]);
    }
}
