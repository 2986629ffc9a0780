//! Many questions at once. Of a thousand tests at 1 % ten say yes where nothing is true, so the level belongs to the
//! family: it bounds how often *any* of them says yes without reason, however they hang together.
//!
//! Holm 1979 ("A simple sequentially rejective multiple test procedure") does that without any assumption on
//! dependence. Tests that cannot say yes at all, whatever the labels of their values, cost nothing (Tarone 1990, "A
//! modified Bonferroni method for discrete data"): a number that is the same in every run is not counted.

use std::cmp::Ordering;

/// What a test of one number says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// How probable so large a difference is where there is none, on both sides.
    pub p: f64,
    /// The smallest such probability that these values could give, however they fell to the two sides. It depends on
    /// the values and not on which side has which.
    pub least: f64,
    /// Where the other side tends to be: lower, higher, or neither.
    pub toward: Ordering,
}

impl Test {
    /// What values that are all alike say.
    pub const NOTHING: Test = Test { p: 1.0, least: 1.0, toward: Ordering::Equal };
}

/// The probabilities of a family of tests, each corrected for all of them: at or below `level`, a difference is sure,
/// and where no difference is real, at most a share of `level` of all families has one that seems so. Also how many of
/// the tests could say yes.
pub fn corrected(tests: &[Test], level: f64) -> (Vec<f64>, usize) {
    let able = |k: usize| tests.iter().filter(|test| test.least <= level / k as f64).count();
    // The fewest that are as many as can say yes when shared among so many.
    let k = (1..=tests.len().max(1)).find(|k| able(*k) <= *k).unwrap_or(1);
    let mut counted: Vec<usize> = (0..tests.len()).filter(|test| tests[*test].least <= level / k as f64).collect();
    counted.sort_by(|a, b| tests[*a].p.total_cmp(&tests[*b].p));
    let mut out = vec![1.0; tests.len()];
    let mut largest = 0.0_f64;
    for (rank, test) in counted.iter().enumerate() {
        largest = largest.max((tests[*test].p * (counted.len() - rank) as f64).min(1.0));
        out[*test] = largest;
    }
    (out, counted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(p: f64, least: f64) -> Test {
        Test { p, least, toward: Ordering::Greater }
    }

    #[test]
    fn the_correction_is_that_of_a_hand_calculation() {
        // Holm of 0.01, 0.04, 0.03, 0.005: 4 · 0.005, 3 · 0.01, 2 · 0.03, then 0.04 is not below 0.06.
        let tests = [0.01, 0.04, 0.03, 0.005].map(|p| test(p, 0.0));
        let (found, counted) = corrected(&tests, 0.05);
        assert_eq!(counted, 4);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    #[test]
    fn what_cannot_say_yes_is_not_counted() {
        // Tarone's own case in small: of 100 tests 98 have a least of 0.02. At 5 %, K = 2: 0.05 / 2 = 0.025 still lets
        // all in; K = 3 is 0.0167, below which only two are.
        let mut tests = vec![test(0.02, 0.02); 98];
        tests.extend([test(0.012, 1e-9), test(0.5, 1e-9)]);
        let (found, counted) = corrected(&tests, 0.05);
        assert_eq!(counted, 2);
        assert_eq!((found[0], found[98], found[99]), (1.0, 0.024, 0.5));
        assert_eq!(corrected(&[Test::NOTHING; 3], 0.05), (vec![1.0; 3], 0));
        assert_eq!(corrected(&[], 0.05), (Vec::new(), 0));
    }

    #[test]
    fn a_probability_never_exceeds_one_and_order_is_kept() {
        let (found, _) = corrected(&[test(0.9, 0.0), test(0.2, 0.0), test(0.7, 0.0)], 0.05);
        assert_eq!(found[0], 1.0);
        assert!(found[1] <= found[2] && found[2] <= found[0]);
    }
}
