//! A value axis begins at 0 and ends at a round number above the data, with three to five marks; the unit stands on
//! the uppermost one only.

/// The marks of a value axis: whole steps from 0 to the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// The value at the upper end.
    pub(super) top: f64,
    /// The distance of two marks.
    pub(super) step: f64,
}

impl Scale {
    /// The smallest scale with at most `most` round steps that reaches a value; of whole steps if things are counted.
    pub(super) fn covering(value: f64, most: f64, whole: bool) -> Scale {
        if value <= 0.0 || !value.is_finite() {
            return Scale { top: 1.0, step: 1.0 };
        }
        let mut size = 1.0;
        while size * most >= value && (!whole || size > 1.0) {
            size /= 10.0;
        }
        loop {
            for nice in [1.0, 2.0, 2.5, 5.0] {
                let step = size * nice;
                if (!whole || step >= 1.0 && step.fract() == 0.0) && step * most >= value * 0.999_999 {
                    return Scale { top: (value / step - 1e-6).ceil().max(1.0) * step, step };
                }
            }
            size *= 10.0;
        }
    }

    /// A scale for shares: it ends at 100 % at the latest.
    pub(super) fn of_shares(value: f64) -> Scale {
        if value > 0.8 {
            return Scale { top: 1.0, step: 0.5 };
        }
        let percent = Scale::covering((value * 100.0).max(1.0), 3.0, false);
        Scale { top: (percent.top / 100.0).min(1.0), step: percent.step / 100.0 }
    }

    /// A scale that ends at exactly this many things.
    pub(super) fn up_to(things: f64) -> Scale {
        let halves = things >= 2.0 && things % 2.0 == 0.0;
        Scale { top: things, step: if halves { things / 2.0 } else { things } }
    }

    /// The marks above 0.
    pub(super) fn marks(&self) -> impl Iterator<Item = f64> + '_ {
        let steps = (self.top / self.step + 1e-6) as u32;
        (1..=steps).map(|n| f64::from(n) * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_value_above_the_data() {
        let tops = [3.4, 92.0, 0.31, 101_000.0, 1e-3].map(|value| Scale::covering(value, 4.0, false).top);
        for (top, expected) in tops.into_iter().zip([4.0, 100.0, 0.4, 150_000.0, 1e-3]) {
            assert!((top / expected - 1.0).abs() < 1e-9, "{top} is not {expected}");
        }
    }

    #[test]
    fn things_are_not_halved() {
        assert_eq!(Scale::covering(1.0, 4.0, true), Scale { top: 1.0, step: 1.0 });
        assert_eq!(Scale::covering(9.0, 4.0, true), Scale { top: 10.0, step: 5.0 });
        assert_eq!(Scale::up_to(7.0).marks().collect::<Vec<_>>(), [7.0]);
    }

    #[test]
    fn shares_end_at_all() {
        assert_eq!(Scale::of_shares(0.97).top, 1.0);
        assert!((Scale::of_shares(0.35).top - 0.4).abs() < 1e-9);
    }

    #[test]
    fn nothing_still_has_a_scale() {
        assert_eq!(Scale::covering(0.0, 4.0, false).top, 1.0);
        assert_eq!(Scale::covering(f64::NAN, 4.0, true).top, 1.0);
    }
}
