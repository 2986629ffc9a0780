//! One replicate of a random model is an anecdote. What is said of a number over many: where it lies (mean, median),
//! how far it spreads (standard deviation, 5 % and 95 % quantiles), how sure the mean is (Student 1908, "The probable
//! error of a mean"), and whether the values fall into groups that no mean describes.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::modes::{self, Mode};
use super::quantile::quantile;

/// One number over replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; `None` below two values.
    pub sd: Option<f64>,
    /// The 5 % quantile (type 7).
    pub p5: f64,
    /// The median (type 7).
    pub p50: f64,
    /// The 95 % quantile (type 7).
    pub p95: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The 95 % confidence interval of the mean (Student's t); `None` below two values.
    pub ci95: Option<(f64, f64)>,
    /// How many replicates define the number.
    pub n: u64,
    /// The modes, where the values fall into two or more groups; empty otherwise.
    pub modes: Vec<Mode>,
}

impl Statistic {
    /// The statistic of one value per replicate, in the order of the replicates. Values that are not finite are not
    /// defined and are left out; `None` where none is left.
    pub fn of(values: &[f64]) -> Option<Statistic> {
        let defined: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let mut sorted = defined.clone();
        sorted.sort_by(f64::total_cmp);
        let n = defined.len() as f64;
        let mean = sum(defined.iter().copied()) / n;
        let sd = (defined.len() > 1)
            .then(|| (sum(defined.iter().map(|value| (value - mean) * (value - mean))) / (n - 1.0)).sqrt());
        let half = |sd: f64| t975(n - 1.0) * sd / n.sqrt();
        Some(Statistic {
            mean,
            sd,
            p5: quantile(&sorted, 0.05)?,
            p50: quantile(&sorted, 0.5)?,
            p95: quantile(&sorted, 0.95)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
            ci95: sd.map(|sd| (mean - half(sd), mean + half(sd))),
            n: defined.len() as u64,
            modes: modes::of_sorted(&sorted),
        })
    }
}

/// The sum of values with its rounding errors carried along (Neumaier 1974), so that it is right to the last bits for
/// any number of replicates.
pub fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom, at least 1.
pub(super) fn t975(freedom: f64) -> f64 {
    /// The 97.5 % quantile of the standard normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    // Far out, the search of `statrs` loses digits, while the expansion around the normal quantile (Fisher and Cornish
    // 1960) is off by less than 10⁻⁸.
    if freedom > 1_000.0 {
        let z3 = Z * Z * Z;
        let first = (z3 + Z) / 4.0;
        let second = (5.0 * z3 * Z * Z + 16.0 * z3 + 3.0 * Z) / 96.0;
        return Z + (first + second / freedom) / freedom;
    }
    let t = StudentsT::new(0.0, 1.0, freedom).map_or(Z, |t| t.inverse_cdf(0.975));
    // Its mathematics is the platform's: ten decimals are the same everywhere, the last bits are not.
    (t * 1e10).round() / 1e10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::random::distribution::{Distribution, Shape};

    #[test]
    fn a_statistic_matches_a_hand_calculation() {
        let s = Statistic::of(&[4.0, 1.0, f64::NAN, 2.0, 5.0]).unwrap();
        // Mean 3; squares 1 + 4 + 1 + 4 = 10, so sd = √(10/3); t(3 d.o.f.) = 3.182446.
        assert_eq!((s.mean, s.n, s.min, s.max, s.p50), (3.0, 4, 1.0, 5.0, 3.0));
        assert!((s.sd.unwrap() - 1.825_741_858_350_553_8).abs() < 1e-15);
        let half = 3.182_446_305_284_263 * 1.825_741_858_350_553_8 / 2.0;
        let (low, high) = s.ci95.unwrap();
        assert!((low - (3.0 - half)).abs() < 1e-9 && (high - (3.0 + half)).abs() < 1e-9);
        // h = 3 · 0.05 = 0.15 from 1 to 2; h = 2.85 from 4 to 5.
        assert!((s.p5 - 1.15).abs() < 1e-12 && (s.p95 - 4.85).abs() < 1e-12);
        assert!(s.modes.is_empty());
    }

    #[test]
    fn one_value_has_no_spread_and_none_no_statistic() {
        let s = Statistic::of(&[f64::NAN, 2.5]).unwrap();
        assert_eq!((s.mean, s.sd, s.ci95, s.p5, s.p95, s.n), (2.5, None, None, 2.5, 2.5, 1));
        assert_eq!(Statistic::of(&[f64::NAN]), None);
        assert_eq!(Statistic::of(&[]), None);
    }

    #[test]
    fn equal_values_have_no_spread_at_all() {
        let s = Statistic::of(&[0.1; 1_000]).unwrap();
        assert_eq!((s.mean, s.p5, s.p95), (0.1, 0.1, 0.1));
        assert_eq!((s.sd, s.ci95), (Some(0.0), Some((0.1, 0.1))));
    }

    #[test]
    fn sums_keep_what_plain_addition_loses() {
        assert_eq!(sum([1e16, 1.0, -1e16].into_iter()), 1.0);
        assert_eq!(sum((0..10_000_000).map(|_| 0.1)), 1e6);
    }

    #[test]
    fn students_t_matches_tables_at_every_size() {
        // By bisection of the incomplete beta function in another language.
        for (freedom, t) in [
            (1.0, 12.706_204_736_2),
            (2.0, 4.302_652_729_7),
            (3.0, 3.182_446_305_3),
            (9.0, 2.262_157_162_8),
            (30.0, 2.042_272_456_3),
            (199.0, 1.971_956_544_3),
            (999.0, 1.962_341_461_1),
            (1_000.0, 1.962_339_080_8),
            (1_001.0, 1.962_336_705_3),
            (9_999.0, 1.960_201_263_6),
            (1e6, 1.959_966_356_6),
        ] {
            assert!((t975(freedom) - t).abs() < 1e-8, "{freedom}: {}", t975(freedom));
        }
    }

    #[test]
    fn the_interval_of_the_mean_covers_in_about_95_of_100_sets() {
        for (shape, per_set) in [
            (Shape::Normal { mean: 100.0, sd: 5.0 }, 5),
            (Shape::Normal { mean: 100.0, sd: 5.0 }, 30),
            (Shape::Uniform { low: 0.0, high: 1.0 }, 20),
            (Shape::Exponential { mean: 1.0 }, 200),
        ] {
            let distribution = Distribution::new(shape.clone()).unwrap();
            let key = Seed(11).key().named("coverage");
            let covered = (0..2_000)
                .filter(|&set| {
                    let mut stream = key.with(set).stream();
                    let values: Vec<f64> = (0..per_set).map(|_| distribution.sample(&mut stream)).collect();
                    let (low, high) = Statistic::of(&values).unwrap().ci95.unwrap();
                    (low..=high).contains(&distribution.mean())
                })
                .count();
            // 95 % of 2,000 with a standard error of 0.5 %.
            assert!((1_860..=1_940).contains(&covered), "{shape:?}, {per_set} a set: {covered}");
        }
    }
}
