//! How sure is a share? So many of n independent trials succeeded; the bounds of the share behind them are those of
//! Clopper and Pearson 1934 ("The use of confidence or fiducial limits illustrated in the case of the binomial"): the
//! shares at which what was seen, or something further out, is just as improbable as one is willing to be wrong. They
//! hold for every n, also where nothing failed, and are wrong at most that often, usually less.

use crate::random::math::{exp, ln};

/// Halvings of an interval after which a bound is exact to the last printed digit.
const HALVINGS: u32 = 60;

/// The probability that at most `k` of `n` trials succeed, each with probability `p`.
pub fn at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    // The largest term first: smaller ones are multiples of it, going down.
    let mut term = exp(log_choose(n, k) + k as f64 * ln(p) + (n - k) as f64 * ln(1.0 - p));
    if k as f64 > n as f64 * p {
        // Beyond the mean the sum of the other side is shorter and loses nothing.
        return (1.0 - at_least(k + 1, n, p)).clamp(0.0, 1.0);
    }
    let odds = (1.0 - p) / p;
    let mut total = 0.0;
    for i in (0..=k).rev() {
        total += term;
        if term < total * 1e-18 {
            break;
        }
        term *= i as f64 / (n - i + 1) as f64 * odds;
    }
    total.min(1.0)
}

/// The probability that at least `k` of `n` trials succeed.
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    at_most(n.saturating_sub(k), n, 1.0 - p)
}

/// The logarithm of the number of ways to choose `k` of `n`.
fn log_choose(n: u64, k: u64) -> f64 {
    let factorial = |n: u64| libm::lgamma(n as f64 + 1.0);
    factorial(n) - factorial(k) - factorial(n - k)
}

/// The lower bound of a share of which `k` of `n` trials were seen: it lies above the true share with probability
/// `error` at most.
pub fn lower(k: u64, n: u64, error: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    root(|p| at_least(k, n, p) > error)
}

/// The upper bound: it lies below the true share with probability `error` at most.
pub fn upper(k: u64, n: u64, error: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    root(|p| at_most(k, n, p) < error)
}

/// The fewest trials which, if all of them succeed, show a share with this probability of error.
pub fn fewest(share: f64, error: f64) -> u64 {
    let n = (ln(error) / ln(share)).floor().max(1.0) as u64;
    // The logarithms are rounded; the power decides.
    if exp(n as f64 * ln(share)) <= error * (1.0 + 1e-12) { n } else { n + 1 }
}

/// Where a condition that is false at 0 and true at 1 becomes true.
fn root(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use statrs::distribution::{Beta, ContinuousCDF};

    #[test]
    fn tails_are_those_worked_out_by_hand() {
        // Of ten fair coins: (1 + 10 + 45) / 1024.
        assert!((at_most(2, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-13);
        assert!((at_least(8, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-13);
        assert!((at_most(7, 10, 0.5) - 968.0 / 1024.0).abs() < 1e-13);
        assert_eq!((at_most(3, 3, 0.2), at_least(0, 3, 0.2), at_most(0, 4, 1.0)), (1.0, 1.0, 0.0));
    }

    #[test]
    fn bounds_are_the_quantiles_of_the_beta_distribution() {
        // The other form of the same bounds, with the quantile function of a library.
        for (k, n) in [(1, 10), (9, 10), (57, 60), (95, 100), (100, 100), (380, 400), (0, 20), (1_930, 2_000)] {
            for error in [0.05, 0.01] {
                let quantile = |a: u64, b: u64, q: f64| Beta::new(a as f64, b as f64).unwrap().inverse_cdf(q);
                let low = if k == 0 { 0.0 } else { quantile(k, n - k + 1, error) };
                let high = if k == n { 1.0 } else { quantile(k + 1, n - k, 1.0 - error) };
                assert!((lower(k, n, error) - low).abs() < 1e-7, "{k} of {n}: {} {low}", lower(k, n, error));
                assert!((upper(k, n, error) - high).abs() < 1e-7, "{k} of {n}: {} {high}", upper(k, n, error));
            }
        }
    }

    #[test]
    fn the_fewest_days_without_a_failure_are_those_of_the_power() {
        // 0.95^58 = 0.0510, 0.95^59 = 0.0485; 0.99^298 = 0.0500, 0.99^299 = 0.0495; 0.5^1 = 0.5.
        assert_eq!([fewest(0.95, 0.05), fewest(0.99, 0.05), fewest(0.5, 0.5)], [59, 299, 1]);
    }

    #[test]
    fn a_lower_bound_is_above_the_truth_no_more_often_than_it_says() {
        for (truth, n, error) in [(0.95, 60, 0.05), (0.95, 400, 0.05), (0.9, 100, 0.01), (0.99, 300, 0.05)] {
            let key = Seed(5).key().named("coverage").with(n).with((truth * 100.0) as u64);
            let wrong = (0..4_000).filter(|set| {
                let mut stream = key.with(*set).stream();
                let met = (0..n).filter(|_| stream.next_unit() < truth).count() as u64;
                lower(met, n, error) > truth
            });
            let wrong = wrong.count() as f64 / 4_000.0;
            // Three standard errors above what is promised; the bound is known to be cautious, so no lower end.
            assert!(wrong <= error + 3.0 * (error * (1.0 - error) / 4_000.0).sqrt(), "{truth} {n}: {wrong}");
        }
    }
}
