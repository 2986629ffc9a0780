//! Two policies that met the same worlds are compared world by world: what one world was hard on, it was hard on for
//! both, and the difference within it is left. The interval of the mean difference is Student's t over the differences
//! (Student 1908, "The probable error of a mean", whose example is such a comparison). It needs differences that are
//! near normal or many; the tests below say what it covers where they are neither.
//!
//! A time that may be *never* has no mean. Its worlds still have an order, and the sign test (Arbuthnot 1710; Conover
//! 1999, "Practical nonparametric statistics", section 3.4) asks whether one side wins more often than a coin would.

use super::statistic::Statistic;

/// The values of one number with another policy, against those with a first one in the same worlds.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// The differences, other less first, over the worlds in which both are finite; `None` where there is none.
    pub difference: Option<Statistic>,
    /// In how many worlds the other is lower.
    pub lower: u64,
    /// In how many worlds the two are equal.
    pub equal: u64,
    /// In how many worlds the other is higher.
    pub higher: u64,
}

/// Which way a number moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// Down, by more than chance explains.
    Down,
    /// Up, by more than chance explains.
    Up,
    /// In no world at all.
    Equal,
    /// Somewhat, and chance explains it.
    Noise,
    /// One world, or none in which both are defined: nothing can be said.
    Unknown,
}

impl Paired {
    /// Compares two rows of values, one of each for each world. NaN is a number that is not defined there, infinity a
    /// time that is never.
    pub fn of(first: &[f64], other: &[f64]) -> Paired {
        let mut paired = Paired { difference: None, lower: 0, equal: 0, higher: 0 };
        let mut differences = Vec::with_capacity(first.len());
        for (a, b) in first.iter().zip(other) {
            match b.partial_cmp(a) {
                Some(std::cmp::Ordering::Less) => paired.lower += 1,
                Some(std::cmp::Ordering::Equal) => paired.equal += 1,
                Some(std::cmp::Ordering::Greater) => paired.higher += 1,
                None => continue,
            }
            if a.is_finite() && b.is_finite() {
                differences.push(b - a);
            }
        }
        paired.difference = Statistic::of(&differences);
        paired
    }

    /// In how many worlds both are defined.
    pub const fn n(&self) -> u64 {
        self.lower + self.equal + self.higher
    }

    /// Whether the difference is of all worlds in which both are defined: not where one side is never.
    pub fn is_whole(&self) -> bool {
        self.difference.as_ref().is_some_and(|difference| difference.n == self.n())
    }

    /// Half the width of the 95 % interval of the mean difference.
    pub fn half_width(&self) -> Option<f64> {
        let (low, high) = self.difference.as_ref()?.ci95?;
        Some((high - low) / 2.0)
    }

    /// Which way the number moved: by the interval where all differences are finite, else by the sign test.
    pub fn shift(&self) -> Shift {
        if self.n() < 2 {
            return Shift::Unknown;
        }
        if self.equal == self.n() {
            return Shift::Equal;
        }
        let interval = self.difference.as_ref().filter(|_| self.is_whole()).and_then(|difference| difference.ci95);
        match interval {
            Some((_, high)) if high < 0.0 => Shift::Down,
            Some((low, _)) if low > 0.0 => Shift::Up,
            Some(_) => Shift::Noise,
            None if !is_lopsided(self.lower, self.higher) => Shift::Noise,
            None if self.lower > self.higher => Shift::Down,
            None => Shift::Up,
        }
    }
}

/// Whether a coin would give so uneven counts in fewer than one of 20 games: the normal approximation with the
/// correction for continuity, which from six throws on never errs to the bold side by more than half a point.
fn is_lopsided(one: u64, other: u64) -> bool {
    let n = (one + other) as f64;
    one.abs_diff(other) as f64 - 1.0 >= 1.96 * n.sqrt() && n > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::distribution::{Distribution, Shape};
    use crate::random::{Seed, math};

    #[test]
    fn a_comparison_matches_a_hand_calculation() {
        let paired = Paired::of(&[10.0, 20.0, 30.0, f64::NAN, 5.0], &[8.0, 19.0, 30.0, 1.0, f64::NAN]);
        // Differences −2, −1, 0: mean −1, sd 1; t(2 d.o.f.) = 4.302653, so ± 4.302653 / √3 = 2.484.
        let difference = paired.difference.as_ref().unwrap();
        assert_eq!((difference.mean, difference.sd, difference.n), (-1.0, Some(1.0), 3));
        assert_eq!((paired.lower, paired.equal, paired.higher, paired.n()), (2, 1, 0, 3));
        assert!((paired.half_width().unwrap() - 2.484_138).abs() < 1e-6);
        assert_eq!(paired.shift(), Shift::Noise);
    }

    #[test]
    fn never_is_later_than_any_time_and_has_no_difference() {
        let never = f64::INFINITY;
        let paired = Paired::of(&[never, 4.0, never], &[7.0, never, never]);
        assert_eq!((paired.lower, paired.higher, paired.equal), (1, 1, 1));
        assert_eq!(paired.difference, None);
        assert!(!paired.is_whole());
        // Six of six are 1 in 32 by chance on both sides, five of five 1 in 16.
        let shift = |n: usize| Paired::of(&vec![never; n], &vec![7.0; n]).shift();
        assert_eq!((shift(5), shift(6)), (Shift::Noise, Shift::Down));
    }

    #[test]
    fn what_is_equal_everywhere_has_not_moved_and_one_world_says_nothing() {
        assert_eq!(Paired::of(&[3.0; 9], &[3.0; 9]).shift(), Shift::Equal);
        assert_eq!(Paired::of(&[f64::INFINITY; 9], &[f64::INFINITY; 9]).shift(), Shift::Equal);
        assert_eq!(Paired::of(&[3.0], &[1.0]).shift(), Shift::Unknown);
        assert_eq!(Paired::of(&[f64::NAN; 9], &[1.0; 9]).shift(), Shift::Unknown);
        assert_eq!(Paired::of(&[3.0; 9], &[1.0; 9]).shift(), Shift::Down);
    }

    /// In how many of 2,000 comparisons of `n` worlds the interval covers the true mean difference. A world is hard or
    /// easy for both, by a draw that is ten times as wide as the differences.
    fn covered(name: &str, n: usize, mean: f64, draw: impl Fn(&mut crate::random::Stream) -> f64) -> usize {
        let world = Distribution::new(Shape::Normal { mean: 1_000.0, sd: 30.0 }).unwrap();
        let key = Seed(17).key().named(name);
        let covers = |set: &u64| {
            let mut stream = key.with(*set).stream();
            let first: Vec<f64> = (0..n).map(|_| world.sample(&mut stream)).collect();
            let other: Vec<f64> = first.iter().map(|hard| hard + draw(&mut stream)).collect();
            let (low, high) = Paired::of(&first, &other).difference.unwrap().ci95.unwrap();
            (low..=high).contains(&mean)
        };
        (0..2_000).filter(covers).count()
    }

    #[test]
    fn the_interval_covers_the_true_difference_in_about_95_of_100_comparisons() {
        let of = |shape| Distribution::new(shape).unwrap();
        let normal = of(Shape::Normal { mean: 5.0, sd: 3.0 });
        // 95 % of 2,000 with a standard error of 0.5 %: 1,860 to 1,940 is four of them on each side.
        for n in [4, 20, 200] {
            let found = covered("normal", n, normal.mean(), |stream| normal.sample(stream));
            assert!((1_860..=1_940).contains(&found), "normal, {n}: {found}");
        }
        let skewed = of(Shape::Exponential { mean: 2.0 });
        let found = covered("skewed", 200, 2.0, |stream| skewed.sample(stream));
        assert!((1_860..=1_940).contains(&found), "skewed, 200: {found}");
    }

    #[test]
    fn few_skewed_or_rare_differences_are_covered_less_often_as_theory_says() {
        // Skewness costs Student's t some coverage: 20 exponential differences are covered in 91.8 of 100 cases, by
        // simulation in another language. 1,798 to 1,874 is three standard errors on each side.
        let exponential = Distribution::new(Shape::Exponential { mean: 2.0 }).unwrap();
        let found = covered("skewed", 20, 2.0, |stream| exponential.sample(stream));
        assert!((1_798..=1_874).contains(&found), "{found}");
        // Where one world in ten differs at all, 0.9²⁰ = 12.2 % of 20 worlds show no difference and an interval without
        // width: at most 1,757 of 2,000 are covered.
        let rare = covered("rare", 20, 0.1, |stream| if stream.next_unit() < 0.1 { 1.0 } else { 0.0 });
        assert!((1_680..=1_815).contains(&rare), "{rare}");
        // Two hundred of the same are enough.
        let many = covered("rare", 200, 0.1, |stream| if stream.next_unit() < 0.1 { 1.0 } else { 0.0 });
        assert!((1_830..=1_940).contains(&many), "{many}");
    }

    #[test]
    fn the_sign_test_is_right_at_its_edge() {
        // Exact binomial tails, two-sided, that are nearest to one in 20: 5 of 20 are 4.1 %, 6 of 20 are 11.5 %; 39 of
        // 100 are 3.5 %, 40 of 100 are 5.7 %.
        let tail = |low: u64, n: u64| {
            let ln_choose = |k: u64| {
                libm::lgamma(n as f64 + 1.0) - libm::lgamma(k as f64 + 1.0) - libm::lgamma((n - k) as f64 + 1.0)
            };
            2.0 * (0..=low).map(|k| math::exp(ln_choose(k) - n as f64 * std::f64::consts::LN_2)).sum::<f64>()
        };
        for n in [6, 9, 12, 20, 57, 100, 400] {
            for low in 0..n / 2 {
                let exact = tail(low, n);
                let said = is_lopsided(low, n - low);
                assert!(said == (exact < 0.05) || (0.045..0.055).contains(&exact), "{low} of {n}: {exact}, {said}");
            }
        }
    }
}
