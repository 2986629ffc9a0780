//! Time is counted in whole nanoseconds since the run began. Integers make equal times equal on every machine and
//! let the event queue order them exactly; a day is 8.64e13 ns, so 64 bits hold far more than any horizon.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The largest time the model uses: 2⁶⁰ ns, about 36 years. Later instants saturate here, so that a wait without
/// bound ("until the year 9999") can never wrap round into the past.
const LATEST: u64 = 1 << 60;

/// An instant: whole nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

/// A length of time: whole nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimDuration(u64);

impl SimTime {
    /// The instant the run begins.
    pub const ZERO: SimTime = SimTime(0);
    /// An instant that no run reaches.
    pub const NEVER: SimTime = SimTime(LATEST);

    /// The instant `nanos` nanoseconds after the run began, at most [`SimTime::NEVER`].
    pub const fn from_nanos(nanos: u64) -> Self {
        SimTime(if nanos > LATEST { LATEST } else { nanos })
    }

    /// The instant `seconds` after the run began, rounded to the nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        SimTime::ZERO + SimDuration::from_secs_f64(seconds)
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The time since `earlier`; zero where `earlier` is later.
    pub const fn since(self, earlier: SimTime) -> SimDuration {
        SimDuration(self.0.saturating_sub(earlier.0))
    }
}

impl SimDuration {
    /// No time at all.
    pub const ZERO: SimDuration = SimDuration(0);
    /// The longest duration the model uses, about 36 years.
    pub const MAX: SimDuration = SimDuration(LATEST);

    /// `nanos` nanoseconds, at most [`SimDuration::MAX`].
    pub const fn from_nanos(nanos: u64) -> Self {
        SimDuration(if nanos > LATEST { LATEST } else { nanos })
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        SimDuration::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// `seconds` whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        SimDuration::from_nanos(seconds.saturating_mul(NANOS_PER_SEC))
    }

    /// `minutes` whole minutes.
    pub const fn from_mins(minutes: u64) -> Self {
        SimDuration::from_secs(minutes.saturating_mul(60))
    }

    /// `seconds` rounded to the nanosecond; negative and NaN become zero, what is too long saturates.
    pub fn from_secs_f64(seconds: f64) -> Self {
        // `as` saturates and maps NaN to zero; adding a half rounds without a call into the platform's mathematics.
        SimDuration::from_nanos((seconds * NANOS_PER_SEC as f64 + 0.5) as u64)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This duration times a whole number, saturating.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        SimDuration::from_nanos(self.0.saturating_mul(factor))
    }

    /// This duration times a factor of at least 0, rounded to the nanosecond.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        SimDuration::from_nanos((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The part of this duration that exceeds `other`; zero where none does.
    #[must_use]
    pub const fn saturating_sub(self, other: SimDuration) -> Self {
        SimDuration(self.0.saturating_sub(other.0))
    }

    /// This duration rounded up to a whole multiple of `step`; unchanged where `step` is zero.
    #[must_use]
    pub const fn round_up_to(self, step: SimDuration) -> Self {
        if step.0 == 0 { self } else { SimDuration::from_nanos(self.0.div_ceil(step.0).saturating_mul(step.0)) }
    }
}

impl Add<SimDuration> for SimTime {
    type Output = SimTime;
    fn add(self, rhs: SimDuration) -> SimTime {
        SimTime::from_nanos(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, rhs: SimDuration) {
        *self = *self + rhs;
    }
}

impl Add for SimDuration {
    type Output = SimDuration;
    fn add(self, rhs: SimDuration) -> SimDuration {
        SimDuration::from_nanos(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for SimDuration {
    fn add_assign(&mut self, rhs: SimDuration) {
        *self = *self + rhs;
    }
}

impl Sub for SimTime {
    type Output = SimDuration;
    fn sub(self, rhs: SimTime) -> SimDuration {
        self.since(rhs)
    }
}

impl std::iter::Sum for SimDuration {
    fn sum<I: Iterator<Item = SimDuration>>(iter: I) -> SimDuration {
        iter.fold(SimDuration::ZERO, Add::add)
    }
}

impl fmt::Display for SimDuration {
    /// The shortest exact spelling with at most two units, such as `250ms`, `1.5s`, `22m`, `1h30m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ];
        let n = self.0;
        if n == 0 {
            return f.write_str("0s");
        }
        for (i, &(size, unit)) in UNITS.iter().enumerate() {
            if n < size {
                continue;
            }
            if n.is_multiple_of(size) {
                return write!(f, "{}{unit}", n / size);
            }
            // From minutes up a second unit reads best; below, a decimal.
            if i < 3 {
                let (next, next_unit) = UNITS[i + 1];
                if n.is_multiple_of(next) {
                    return write!(f, "{}{unit}{}{next_unit}", n / size, n % size / next);
                }
                return write!(f, "{}{unit}{}", n / size, SimDuration(n % size));
            }
            return write!(f, "{}{unit}", n as f64 / size as f64);
        }
        write!(f, "{n}ns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate_instead_of_wrapping() {
        assert_eq!(SimTime::NEVER + SimDuration::MAX, SimTime::NEVER);
        assert_eq!(SimTime::ZERO - SimTime::from_nanos(5), SimDuration::ZERO);
        assert_eq!(SimDuration::from_secs_f64(f64::NAN), SimDuration::ZERO);
        assert_eq!(SimDuration::from_secs_f64(f64::INFINITY), SimDuration::MAX);
        assert_eq!(SimDuration::from_secs_f64(-3.0), SimDuration::ZERO);
    }

    #[test]
    fn durations_print_as_a_person_writes_them() {
        for (nanos, text) in [
            (0, "0s"),
            (250_000_000, "250ms"),
            (1_500_000_000, "1.5s"),
            (1_320_000_000_000, "22m"),
            (5_400_000_000_000, "1h30m"),
            (90_500_000_000, "1m30.5s"),
            (7, "7ns"),
        ] {
            assert_eq!(SimDuration::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn rounding_up_reaches_whole_steps_only() {
        let second = SimDuration::from_secs(1);
        assert_eq!(SimDuration::from_nanos(1).round_up_to(second), second);
        assert_eq!(second.round_up_to(second), second);
        assert_eq!(SimDuration::ZERO.round_up_to(second), SimDuration::ZERO);
    }
}
