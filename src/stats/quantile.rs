//! A sample of n values has no quantile of its own; nine definitions are in use. This one is type 7 of Hyndman and
//! Fan 1996 ("Sample quantiles in statistical packages"), the default of R, `NumPy` and spreadsheets: the order
//! statistics stand at 0, 1/(n − 1), …, 1, with straight lines between them.

/// The quantile `q` (0 to 1) of values in ascending order; `None` where there are none.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let (below, above, share) = neighbours(sorted.len() as u64, q)?;
    let (low, high) = (sorted[below as usize], sorted[above as usize]);
    Some(between(low, high, share))
}

/// The indexes of the two order statistics on either side of the quantile `q` of `count` values, and how far it lies
/// from the first to the second, from 0 to 1.
pub(super) fn neighbours(count: u64, q: f64) -> Option<(u64, u64, f64)> {
    let last = count.checked_sub(1)?;
    let place = last as f64 * q.clamp(0.0, 1.0);
    let below = (place as u64).min(last);
    Some((below, (below + 1).min(last), place - below as f64))
}

/// The point that divides the way from `low` to `high` at `share`.
pub(super) fn between(low: f64, high: f64, share: f64) -> f64 {
    // Equal neighbours give exactly their value, whatever the rounding of the share.
    if low == high { low } else { low + (high - low) * share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_hand_calculations() {
        // h = (n − 1) q: 0.9, 1.5 and 2.7 for n = 4.
        let values = [1.0, 2.0, 4.0, 8.0];
        for (q, expected) in [(0.0, 1.0), (0.3, 1.9), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            let found = quantile(&values, q).unwrap();
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
    }

    #[test]
    fn one_value_is_every_quantile_and_none_has_no_quantile() {
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(quantile(&[7.5], q), Some(7.5));
            assert_eq!(quantile(&[], q), None);
        }
    }

    #[test]
    fn quantiles_outside_0_to_1_are_the_extremes() {
        assert_eq!(quantile(&[1.0, 2.0], -0.1), Some(1.0));
        assert_eq!(quantile(&[1.0, 2.0], 1.1), Some(2.0));
    }
}
