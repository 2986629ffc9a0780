//! Whether values of one set of worlds tend to be larger than those of another one that shares nothing with it: the sum
//! of ranks (Wilcoxon 1945; Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically
//! larger than the other"), with middle ranks for ties, given the values of both together. Nothing is assumed of how
//! they are distributed; a time that is never is later than any other.
//!
//! Where few enough, the ways are counted out. Else the sum is taken as normal with the variance of tied ranks and the
//! correction for continuity (Lehmann 1975, "Nonparametrics", section 1.3), which is careful in the tails that matter
//! here; and never as less probable than the most extreme of all ways is.

use std::cmp::Ordering;

use super::family::Test;
use super::statistic::{Statistic, t975};
use crate::random::math;
use crate::random::normal::upper_tail;

/// Up to so many values in all, the ways are counted out.
const COUNTED: usize = 64;

/// Above this probability nobody asks for more digits than the normal distribution gives.
const PLAIN: f64 = 0.02;

/// Tests one row of values against another one. NaN is a number that is not defined there and is left out.
pub fn rank_sum(first: &[f64], other: &[f64]) -> Test {
    let defined = |values: &[f64]| values.iter().copied().filter(|value| !value.is_nan()).collect::<Vec<f64>>();
    let (first, other) = (defined(first), defined(other));
    if first.is_empty() || other.is_empty() {
        return Test::NOTHING;
    }
    let pooled = [first.as_slice(), other.as_slice()].concat();
    let ranks = doubled_ranks(&pooled);
    let (n, m) = (first.len() as f64, other.len() as f64);
    let all = n + m;
    let sum = ranks[first.len()..].iter().sum::<u64>();
    let mean = m * (all + 1.0);
    // Of doubled ranks, whose mean is N + 1: n m / (N (N − 1)) times their sum of squares around it.
    let spread: f64 = ranks.iter().map(|rank| (*rank as f64 - all - 1.0) * (*rank as f64 - all - 1.0)).sum();
    if spread <= 0.0 {
        return Test::NOTHING;
    }
    let variance = n * m / (all * (all - 1.0)) * spread;
    let least = least(&ranks, other.len());
    let away = (sum as f64 - mean).abs();
    let near = 2.0 * upper_tail((away - half_step(&ranks)).max(0.0) / variance.sqrt());
    let p = if near < PLAIN && ranks.len() <= COUNTED { 2.0 * counted(&ranks, other.len(), sum) } else { near };
    let toward = (sum as f64).partial_cmp(&mean).unwrap_or(Ordering::Equal);
    Test { p: p.max(least).min(1.0), least, toward }
}

/// Half of the step by which sums of these ranks differ, which the normal distribution has to be corrected by: 1 where
/// none are tied.
fn half_step(ranks: &[u64]) -> f64 {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    ranks.iter().fold(0, |step, rank| common(step, rank.abs_diff(ranks[0]))) as f64 / 2.0
}

/// Twice the middle rank of each value, from 2, so that ties keep whole numbers.
pub(super) fn doubled_ranks(values: &[f64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].partial_cmp(&values[*b]).unwrap_or(Ordering::Equal));
    let mut ranks = vec![0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let same = order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count().max(1);
        // Ranks from + 1 to from + same: twice their middle is their sum.
        for at in &order[from..from + same] {
            ranks[*at] = (2 * from + same + 1) as u64;
        }
        from += same;
    }
    ranks
}

/// The probability that so many ranks drawn from these sum to something as far from the middle as `sum`, on its side.
fn counted(ranks: &[u64], drawn: usize, sum: u64) -> f64 {
    let all: u64 = ranks.iter().sum();
    // Both sides are one: drawing the others is drawing the rest.
    let (drawn, sum) = if 2 * drawn > ranks.len() { (ranks.len() - drawn, all - sum) } else { (drawn, sum) };
    let top = 2 * ranks.len() as u64 + 2;
    // The lower tail of ranks that are turned around is the upper one.
    let is_high = (sum * ranks.len() as u64) > all * drawn as u64;
    let turned: Vec<u64> = if is_high { ranks.iter().map(|rank| top - rank).collect() } else { ranks.to_vec() };
    let most = if is_high { (top * drawn as u64 - sum) as usize } else { sum as usize };
    let mut ways = vec![0.0_f64; (drawn + 1) * (most + 1)];
    ways[0] = 1.0;
    for rank in &turned {
        let rank = *rank as usize;
        for taken in (1..=drawn).rev() {
            let (fewer, own) = ways.split_at_mut(taken * (most + 1));
            let fewer = &fewer[(taken - 1) * (most + 1)..];
            for at in rank..=most {
                own[at] += fewer[at - rank];
            }
        }
    }
    ways[drawn * (most + 1)..].iter().sum::<f64>() * math::exp(-ln_choose(ranks.len(), drawn))
}

/// The smallest probability that these ranks could give, on both sides together: that of the highest or the lowest ones
/// on one side, by as many ways as ties at the edge leave.
fn least(ranks: &[u64], drawn: usize) -> f64 {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let ways = |sorted: &[u64]| {
        let edge = sorted[drawn - 1];
        let tied = sorted.iter().filter(|rank| **rank == edge).count();
        let inside = sorted[..drawn].iter().filter(|rank| **rank == edge).count();
        ln_choose(tied, inside)
    };
    let low = ways(&sorted);
    sorted.reverse();
    let high = ways(&sorted);
    (2.0 * math::exp(low.min(high) - ln_choose(ranks.len(), drawn))).min(1.0)
}

/// The smallest probability that so many values on either side could give: where all of one side are beyond all of the
/// other.
pub fn surest(first: u64, other: u64) -> f64 {
    (2.0 * math::exp(-ln_choose((first + other) as usize, first as usize))).min(1.0)
}

/// The logarithm of the number of ways to draw some of all.
fn ln_choose(all: usize, some: usize) -> f64 {
    let ln = |n: usize| libm::lgamma(n as f64 + 1.0);
    ln(all) - ln(some) - ln(all - some)
}

/// The difference of two means, other less first, and half of its 95 % interval, where spreads may differ (Welch 1947,
/// "The generalization of 'Student's' problem"); no interval below two values on a side.
pub fn welch(first: &Statistic, other: &Statistic) -> (f64, Option<f64>) {
    let difference = other.mean - first.mean;
    let (Some(a), Some(b)) = (first.sd, other.sd) else { return (difference, None) };
    let (a, b) = (a * a / first.n as f64, b * b / other.n as f64);
    if a + b <= 0.0 {
        return (difference, Some(0.0));
    }
    let freedom = (a + b) * (a + b) / (a * a / (first.n as f64 - 1.0) + b * b / (other.n as f64 - 1.0));
    (difference, Some(t975(freedom.max(1.0)) * (a + b).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_distribution_is_that_of_a_hand_calculation() {
        // 3 of 7: the highest three have 1 of 35 ways, so 2/35 on both sides; exchanging ranks 5 and 4 gives one more.
        let found = rank_sum(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0]);
        assert!((found.p - 2.0 / 35.0).abs() < 1e-12 && (found.least - 2.0 / 35.0).abs() < 1e-12, "{found:?}");
        assert_eq!(found.toward, Ordering::Greater);
        let ranks = doubled_ranks(&[1.0, 2.0, 3.0, 5.0, 4.0, 6.0, 7.0]);
        assert!((counted(&ranks, 3, ranks[4..].iter().sum()) - 2.0 / 35.0).abs() < 1e-12);
        // The same from the other side.
        assert!((counted(&ranks, 4, ranks[..4].iter().sum()) - 2.0 / 35.0).abs() < 1e-12);
        // Mann and Whitney's table: n = m = 8, U = 13 has 0.025 on one side: 321 of 12,870 ways.
        let ranks: Vec<u64> = (1..=16).map(|rank| 2 * rank).collect();
        let tail = counted(&ranks, 8, 2 * (13 + 36));
        assert!((tail - 321.0 / 12_870.0).abs() < 1e-12, "{}", tail * 12_870.0);
    }

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(doubled_ranks(&[3.0, 1.0, 3.0, f64::INFINITY, f64::INFINITY]), [5, 2, 5, 9, 9]);
        // Two zeros and a one against three ones: ones are 4.5 each, twice 9. All ways to give three of six: the other
        // side has three ones in C(4, 3) = 4 of 20, and no way gives more.
        let found = rank_sum(&[0.0, 0.0, 1.0], &[1.0, 1.0, 1.0]);
        assert!((found.least - 0.4).abs() < 1e-12, "{found:?}");
        assert!(found.p > 0.399_999, "{found:?}");
        assert_eq!(rank_sum(&[2.0; 9], &[2.0; 9]), Test::NOTHING);
        assert_eq!(rank_sum(&[f64::NAN; 9], &[2.0; 9]), Test::NOTHING);
    }

    #[test]
    fn never_is_later_than_any_time() {
        let found = rank_sum(&[9.0; 30], &[f64::INFINITY; 30]);
        assert_eq!(found.toward, Ordering::Greater);
        // One way of C(60, 30), on both sides.
        assert!((surest(30, 30) / found.p - 1.0).abs() < 1e-9);
        assert!((found.p / 1.691_128e-17 - 1.0).abs() < 1e-5, "{}", found.p);
    }

    #[test]
    fn the_normal_tail_is_careful_where_it_takes_over() {
        // 33 and 33 without ties, with 20 that differ at all, and with four values. At probabilities that a family of
        // tests asks for, the approximation never claims less than nine tenths of what counting gives.
        let plain: Vec<u64> = (1..=66).map(|rank| 2 * rank).collect();
        let rare = doubled_ranks(&(0..66).map(|at| f64::from(u8::from(at >= 46))).collect::<Vec<f64>>());
        let four = doubled_ranks(&(0..66).map(|at| f64::from(at / 17)).collect::<Vec<f64>>());
        for ranks in [&plain, &rare, &four] {
            let mean = 33.0 * 67.0;
            let spread: f64 = ranks.iter().map(|rank| (*rank as f64 - 67.0) * (*rank as f64 - 67.0)).sum();
            let variance = 33.0 * 33.0 / (66.0 * 65.0) * spread;
            let mut high = ranks.clone();
            high.sort_unstable();
            let mut checked = 0;
            // From the most extreme sum inwards, one exchange at a time.
            for exchanged in 0..33 {
                let sum: u64 = high[33 - exchanged..66 - exchanged].iter().sum();
                let exact = counted(ranks, 33, sum);
                let near = upper_tail((sum as f64 - mean - half_step(ranks)) / variance.sqrt());
                if exact > 0.001 {
                    break;
                }
                checked += 1;
                assert!(near >= 0.9 * exact, "{sum}: {near:e} for {exact:e}");
            }
            assert!(checked > 3, "{checked}");
        }
    }

    #[test]
    fn the_interval_of_two_means_is_that_of_a_hand_calculation() {
        // Means 3 and 7, variances 2.5 and 10 of five each: s² / n is 0.5 and 2, so the standard error is √2.5 and the
        // freedom 2.5² / (0.25 / 4 + 4 / 4) = 5.882; t there is 2.4585 (tables: 2.447 at 6, 2.571 at 5).
        let first = Statistic::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let other = Statistic::of(&[3.0, 5.0, 7.0, 9.0, 11.0]).unwrap();
        let (difference, half) = welch(&first, &other);
        let half = half.unwrap();
        assert_eq!(difference, 4.0);
        assert!((half / 2.5_f64.sqrt() - 2.4585).abs() < 2e-3, "{half}");
        let one = Statistic::of(&[1.0]).unwrap();
        assert_eq!(welch(&one, &other), (6.0, None));
    }
}
