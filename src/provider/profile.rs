//! A probability that changes over time: straight lines between points.

use super::fault::Window;
use crate::units::SimTime;

/// A piecewise-linear function of time with values from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Invariant: at least one point, times strictly ascending, values in 0..=1.
    points: Vec<(SimTime, f64)>,
}

impl Profile {
    /// The same value at all times; `None` where it is not in 0..=1.
    pub fn constant(value: f64) -> Option<Profile> {
        Profile::through(vec![(SimTime::ZERO, value)])
    }

    /// Straight lines through these points; before the first and after the last the value stays. `None` where there
    /// is no point, where times do not ascend or a value is not in 0..=1.
    pub fn through(points: Vec<(SimTime, f64)>) -> Option<Profile> {
        let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let proper = points.iter().all(|(_, value)| (0.0..=1.0).contains(value));
        (!points.is_empty() && ascending && proper).then_some(Profile { points })
    }

    /// The points of the function.
    pub fn points(&self) -> &[(SimTime, f64)] {
        &self.points
    }

    /// The value at `now`.
    pub fn at(&self, now: SimTime) -> f64 {
        self.piece(now).at(now)
    }

    /// The straight piece that `now` lies on.
    pub fn piece(&self, now: SimTime) -> Piece {
        let next = self.points.partition_point(|(time, _)| *time <= now);
        match (next.checked_sub(1).map(|last| self.points[last]), self.points.get(next)) {
            (Some((from, low)), Some(&(to, high))) => Piece { span: Window { from, to }, low, rise: high - low },
            (Some((from, value)), None) => Piece::flat(value, Window { from, to: SimTime::NEVER }),
            (None, _) => Piece::flat(self.points[0].1, Window { from: SimTime::ZERO, to: self.points[0].0 }),
        }
    }

    /// The largest value anywhere.
    pub fn peak(&self) -> f64 {
        self.points.iter().map(|(_, value)| *value).fold(0.0, f64::max)
    }
}

/// One straight piece of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Where it holds; not empty where it rises or falls.
    pub span: Window,
    low: f64,
    rise: f64,
}

impl Piece {
    /// The same value all along.
    pub const fn flat(value: f64, span: Window) -> Piece {
        Piece { span, low: value, rise: 0.0 }
    }

    /// The value at `now`, which lies in the span.
    #[inline]
    pub fn at(&self, now: SimTime) -> f64 {
        if self.rise == 0.0 {
            return self.low;
        }
        let share = (now - self.span.from).as_nanos() as f64 / self.span.length().as_nanos() as f64;
        self.low + self.rise * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_rises_and_falls() {
        let minute = |m: u64| SimTime::from_nanos(m * 60_000_000_000);
        let triangle = Profile::through(vec![(minute(10), 0.0), (minute(20), 0.5), (minute(30), 0.0)]).unwrap();
        assert_eq!([5, 10, 15, 20, 25, 40].map(|m| triangle.at(minute(m))), [0.0, 0.0, 0.25, 0.5, 0.25, 0.0]);
        assert_eq!(triangle.peak(), 0.5);
    }
}
