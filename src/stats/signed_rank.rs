//! Whether differences within the same worlds lean to one side: the signed ranks of Wilcoxon 1945 ("Individual
//! comparisons by ranking methods"), with middle ranks for ties and the exact distribution of their sum, given the sizes
//! of the differences (Pratt and Gibbons 1981, "Concepts of nonparametric theory", chapter 3). Nothing is assumed of
//! how differences are distributed; a difference to a time that is never is larger than any other.

use std::cmp::Ordering;

use super::family::Test;
use super::rank_sum::doubled_ranks;
use crate::random::normal::upper_tail;

/// Up to so many differences the distribution is counted out; beyond, the sum of ranks is normal to all digits that
/// matter.
const COUNTED: usize = 100;

/// Tests one row of values against another one, a pair for each world. NaN is a number that is not defined there, and
/// its pair is left out; so are pairs that are equal.
pub fn signed_rank(first: &[f64], other: &[f64]) -> Test {
    let mut sizes: Vec<f64> = Vec::with_capacity(first.len());
    let mut is_higher: Vec<bool> = Vec::with_capacity(first.len());
    for (a, b) in first.iter().zip(other) {
        if matches!(a.partial_cmp(b), Some(Ordering::Less | Ordering::Greater)) {
            sizes.push((b - a).abs());
            is_higher.push(b > a);
        }
    }
    if sizes.is_empty() {
        return Test::NOTHING;
    }
    let ranks = doubled_ranks(&sizes);
    let all: u64 = ranks.iter().sum();
    let high: u64 = ranks.iter().zip(&is_higher).filter(|(_, high)| **high).map(|(rank, _)| rank).sum();
    let low = all - high;
    let tail = if ranks.len() <= COUNTED { counted(&ranks, high.min(low)) } else { near(&ranks, high.min(low)) };
    // Two equal tails of 2⁻ⁿ each.
    let least = surest(ranks.len() as u64);
    Test { p: (2.0 * tail).clamp(least, 1.0), least, toward: high.cmp(&low) }
}

/// The smallest probability that so many worlds could give: where all differ, and to one side.
pub fn surest(worlds: u64) -> f64 {
    (0..worlds).fold(2.0, |least, _| least / 2.0_f64).min(1.0)
}

/// The probability that ranks with random signs sum to at most `sum` on one side.
fn counted(ranks: &[u64], sum: u64) -> f64 {
    // Only sums up to the one asked for are needed.
    let most = sum as usize;
    let mut ways = vec![0.0_f64; most + 1];
    ways[0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for at in (0..=most).rev() {
            let with = if at >= rank { ways[at - rank] } else { 0.0 };
            // Halved as it goes: probabilities, not counts.
            ways[at] = ways[at].midpoint(with);
        }
    }
    ways.iter().sum()
}

/// The same by the normal distribution, with the correction for continuity.
fn near(ranks: &[u64], sum: u64) -> f64 {
    let all: f64 = ranks.iter().map(|rank| *rank as f64).sum();
    let variance: f64 = ranks.iter().map(|rank| (*rank as f64) * (*rank as f64)).sum::<f64>() / 4.0;
    upper_tail((all / 2.0 - sum as f64 - 1.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> Test {
        signed_rank(&vec![0.0; differences.len()], differences)
    }

    #[test]
    fn the_exact_distribution_is_that_of_the_tables() {
        // n = 10 without ties: a sum of 8 or less has probability 25/1024 (Wilcoxon's table: 0.0244, one-sided).
        let differences = [1.0, 2.0, -3.0, 4.0, -5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let found = of(&differences);
        assert!((found.p - 50.0 / 1_024.0).abs() < 1e-15, "{found:?}");
        assert_eq!((found.least, found.toward), (2.0 / 1_024.0, Ordering::Greater));
        // All on one side: 2 · 2⁻⁵.
        assert_eq!(of(&[-1.0, -2.0, -3.0, -4.0, -5.0]).p, 1.0 / 16.0);
        assert_eq!(of(&[-1.0, -2.0, -3.0, -4.0, -5.0]).toward, Ordering::Less);
    }

    #[test]
    fn ties_share_their_ranks() {
        // |d| = 1, 1, 1, 2 have ranks 2, 2, 2, 4; −1 leaves a low sum of 2. Of 16 signs, those with a low sum of at
        // most 2: none, or one of the three: 4. Two-sided 8/16.
        assert_eq!(of(&[1.0, 1.0, -1.0, 2.0]).p, 0.5);
    }

    #[test]
    fn pairs_that_are_equal_or_undefined_do_not_count_and_never_is_the_largest() {
        let never = f64::INFINITY;
        let found = signed_rank(&[1.0, f64::NAN, 5.0, 5.0, never], &[1.0, 3.0, never, 6.0, never]);
        assert_eq!((found.p, found.least), (0.5, 0.5));
        assert_eq!(signed_rank(&[never, 2.0], &[never, 2.0]), Test::NOTHING);
        assert_eq!(signed_rank(&[3.0], &[4.0]).p, 1.0);
        // never → 7 is −∞ and outranks ten differences of +1: low sum 11 of 66, no side wins clearly.
        let mixed = signed_rank(&[vec![0.0; 10], vec![never]].concat(), &[vec![1.0; 10], vec![7.0]].concat());
        assert_eq!(mixed.toward, Ordering::Greater);
        assert!(mixed.p > 0.05, "{mixed:?}");
    }

    #[test]
    fn the_normal_distribution_meets_the_exact_one_where_it_takes_over() {
        // Ranks 1 to 100, doubled; from 1e-2 down to 1e-7 the approximation claims no less than nine tenths of what
        // counting gives, and at most twice as much.
        let ranks: Vec<u64> = (1..=100).map(|rank| 2 * rank).collect();
        for sum in [3_700_u64, 3_200, 2_700, 2_500] {
            let (exact, approximate) = (counted(&ranks, sum), near(&ranks, sum));
            assert!((0.9..2.0).contains(&(approximate / exact)), "{sum}: {exact:e} {approximate:e}");
        }
    }
}
