//! Sizes and times of a model are random, and most of what hurts lies in their tails. A shape is named by its mean,
//! because that is what people know of their requests; what the samplers need is worked out once, here.
//!
//! Every draw is the same on every machine: the samplers are `rand_distr`'s over a float whose mathematics is `libm`'s.
//! All shapes but the gamma distribution take exactly one word of the stream, and give more for a larger word, or
//! always less: settings that share a stream stay paired.

use rand_distr::{Distribution as _, Exp, Gamma, LogNormal, Weibull};

use super::portable::Portable;
use super::stream::Stream;
use super::{math, normal};

/// The largest parameter: above it lie no time and no number of tokens that a model could mean, and below it no draw
/// overflows.
const LARGEST: f64 = 1e15;

/// The largest `sigma` and `cv`. Beyond, the mean is made by draws so rare that no run ever sees one, and every
/// sample would contradict the mean that the shape is named by.
const WIDEST: f64 = 10.0;

/// The smallest Weibull `shape`, for the same reason.
const FLATTEST: f64 = 0.1;

/// A distribution over non-negative numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    // Invariant: `sampler` is what `shape` prepares.
    shape: Shape,
    sampler: Sampler,
}

/// What a distribution looks like. Scale parameters have the unit of what is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Always the same number.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// Exponential: the time between things that happen independently.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Log-normal: the logarithm is normal.
    LogNormal {
        /// The mean of the distribution itself, not of the logarithm.
        mean: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Normal, given that it is not negative.
    Normal {
        /// The mean before the negative part is cut away; [`Distribution::mean`] is larger, by 2.8 % where `sd` is
        /// half of it, by 0.15 % where it is a third, by less than 10⁻⁶ where it is a fifth.
        mean: f64,
        /// The standard deviation before that.
        sd: f64,
    },
    /// Gamma: a sum of exponentials where `cv` is below 1, wilder than one where it is above.
    Gamma {
        /// Its mean.
        mean: f64,
        /// The standard deviation divided by the mean.
        cv: f64,
    },
    /// Weibull: a stretched exponential where `shape` is below 1, a wear-out time where it is above.
    Weibull {
        /// Its mean.
        mean: f64,
        /// The exponent: P(X > x) = exp(−(x / scale)^shape).
        shape: f64,
    },
}

/// A shape with its parameters worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sampler {
    Constant(f64),
    Uniform { low: f64, width: f64 },
    Exponential(Exp<Portable>),
    LogNormal(LogNormal<Portable>),
    TruncatedNormal { mean: f64, sd: f64, above_zero: f64 },
    Gamma(Gamma<Portable>),
    Weibull(Weibull<Portable>),
}

impl Distribution {
    /// Always `value`, which must be finite and not negative.
    pub const fn constant(value: f64) -> Self {
        debug_assert!(value >= 0.0 && value.is_finite());
        Distribution { shape: Shape::Constant(value), sampler: Sampler::Constant(value) }
    }

    /// The distribution of this shape. `None` where a parameter is NaN, infinite, negative or above 10¹⁵; where a mean,
    /// `sd`, `sigma`, `cv` or `shape` is zero (`Constant` may be); where `low` is not below `high`; where `sigma` or
    /// `cv` is above 10 or a Weibull `shape` below 0.1.
    pub fn new(shape: Shape) -> Option<Self> {
        let sampler = Sampler::of(&shape)?;
        Some(Distribution { shape, sampler })
    }

    /// What it looks like.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// One draw: finite and not negative.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match &self.sampler {
            Sampler::Constant(value) => *value,
            Sampler::Uniform { low, width } => low + width * stream.next_unit(),
            Sampler::Exponential(exponential) => exponential.sample(stream).0,
            Sampler::LogNormal(log_normal) => log_normal.sample(stream).0,
            Sampler::TruncatedNormal { mean, sd, above_zero } => {
                let upper: Portable = rand_distr::Open01.sample(stream);
                // Rounding may leave a draw at the cut a hair below zero.
                (mean - sd * normal::quantile(upper.0 * above_zero)).max(0.0)
            }
            Sampler::Gamma(gamma) => gamma.sample(stream).0,
            Sampler::Weibull(weibull) => weibull.sample(stream).0,
        }
    }

    /// The mean of the draws.
    pub fn mean(&self) -> f64 {
        match self.shape {
            Shape::Constant(value) => value,
            Shape::Uniform { low, high } => f64::midpoint(low, high),
            Shape::Exponential { mean }
            | Shape::LogNormal { mean, .. }
            | Shape::Gamma { mean, .. }
            | Shape::Weibull { mean, .. } => mean,
            Shape::Normal { mean, sd } => mean + sd * normal::density(mean / sd) / normal::upper_tail(-mean / sd),
        }
    }

    /// The variance of the draws.
    pub fn variance(&self) -> f64 {
        match self.shape {
            Shape::Constant(_) => 0.0,
            Shape::Uniform { low, high } => (high - low) * (high - low) / 12.0,
            Shape::Exponential { mean } => mean * mean,
            Shape::LogNormal { mean, sigma } => mean * mean * libm::expm1(sigma * sigma),
            Shape::Normal { mean, sd } => {
                let cut = normal::density(mean / sd) / normal::upper_tail(-mean / sd);
                sd * sd * (1.0 - cut * mean / sd - cut * cut)
            }
            Shape::Gamma { mean, cv } => mean * mean * cv * cv,
            Shape::Weibull { mean, shape } => {
                let first = libm::tgamma(1.0 + 1.0 / shape);
                mean * mean * (libm::tgamma(1.0 + 2.0 / shape) / (first * first) - 1.0)
            }
        }
    }
}

impl Sampler {
    fn of(shape: &Shape) -> Option<Self> {
        let not_negative = |x: f64| (0.0..=LARGEST).contains(&x);
        let positive = |x: f64| x > 0.0 && x <= LARGEST;
        let spread = |x: f64| x > 0.0 && x <= WIDEST;
        match *shape {
            Shape::Constant(value) => not_negative(value).then_some(Sampler::Constant(value)),
            Shape::Uniform { low, high } => (not_negative(low) && not_negative(high) && low < high)
                .then_some(Sampler::Uniform { low, width: high - low }),
            Shape::Exponential { mean } => {
                positive(mean).then(|| Exp::new(Portable(1.0 / mean)).ok()).flatten().map(Sampler::Exponential)
            }
            Shape::LogNormal { mean, sigma } => {
                // The mean of the distribution is exp(μ + σ²/2).
                let mu = math::ln(mean) - 0.5 * sigma * sigma;
                (positive(mean) && spread(sigma))
                    .then(|| LogNormal::new(Portable(mu), Portable(sigma)).ok())
                    .flatten()
                    .map(Sampler::LogNormal)
            }
            Shape::Normal { mean, sd } => (positive(mean) && positive(sd)).then(|| Sampler::TruncatedNormal {
                mean,
                sd,
                above_zero: normal::upper_tail(-mean / sd),
            }),
            Shape::Gamma { mean, cv } => {
                // The coefficient of variation of a gamma distribution is 1 / √shape.
                let variance = cv * cv;
                (positive(mean) && spread(cv))
                    .then(|| Gamma::new(Portable(1.0 / variance), Portable(mean * variance)).ok())
                    .flatten()
                    .map(Sampler::Gamma)
            }
            Shape::Weibull { mean, shape } => {
                // The mean of a Weibull distribution is scale · Γ(1 + 1/shape).
                let scale = mean / libm::tgamma(1.0 + 1.0 / shape);
                (positive(mean) && positive(shape) && shape >= FLATTEST)
                    .then(|| Weibull::new(Portable(scale), Portable(shape)).ok())
                    .flatten()
                    .map(Sampler::Weibull)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::random::stream::mix;

    /// The shapes that the tests look at, each with its variance.
    fn examples() -> Vec<(Shape, f64)> {
        // Of the normal distribution cut at z = −2: λ = φ(2)/Φ(2) = 0.055248, variance 1 − 2λ − λ².
        let cut = 1.0 - 2.0 * 0.055_247_86 - 0.055_247_86 * 0.055_247_86;
        vec![
            (Shape::Constant(3.0), 0.0),
            (Shape::Uniform { low: 1.0, high: 4.0 }, 9.0 / 12.0),
            (Shape::Exponential { mean: 2.0 }, 4.0),
            (Shape::LogNormal { mean: 1.71, sigma: 0.3 }, 1.71 * 1.71 * (math::exp(0.09) - 1.0)),
            (Shape::Normal { mean: 10.0, sd: 5.0 }, 25.0 * cut),
            (Shape::Normal { mean: 10.0, sd: 1.0 }, 1.0),
            (Shape::Gamma { mean: 6.0, cv: 0.5 }, 9.0),
            (Shape::Gamma { mean: 6.0, cv: 2.0 }, 144.0),
            // Γ(1 + 2/k)/Γ(1 + 1/k)² − 1 = 4/π − 1 for k = 2.
            (Shape::Weibull { mean: 3.0, shape: 2.0 }, 9.0 * (4.0 / std::f64::consts::PI - 1.0)),
            // Γ(5)/Γ(3)² − 1 = 5 for k = 1/2.
            (Shape::Weibull { mean: 3.0, shape: 0.5 }, 45.0),
        ]
    }

    fn draws(shape: &Shape, count: usize) -> Vec<f64> {
        let distribution = Distribution::new(shape.clone()).unwrap();
        let mut stream = Seed(20_261_129).key().named("draws").stream();
        (0..count).map(|_| distribution.sample(&mut stream)).collect()
    }

    #[test]
    fn moments_lie_within_four_standard_errors_of_theory() {
        const COUNT: usize = 200_000;
        for (shape, variance) in examples() {
            let sample = draws(&shape, COUNT);
            let n = COUNT as f64;
            let distribution = Distribution::new(shape.clone()).unwrap();
            let expected = distribution.mean();
            assert!((distribution.variance() - variance).abs() <= 1e-6 * (1.0 + variance), "{shape:?}");
            let mean = sample.iter().sum::<f64>() / n;
            assert!((mean - expected).abs() <= 4.0 * libm::sqrt(variance / n), "{shape:?}: mean {mean}");
            let squares: Vec<f64> = sample.iter().map(|x| (x - expected) * (x - expected)).collect();
            let spread = squares.iter().sum::<f64>() / n;
            let fourth = squares.iter().map(|s| (s - spread) * (s - spread)).sum::<f64>() / n;
            assert!((spread - variance).abs() <= 4.0 * libm::sqrt(fourth / n), "{shape:?}: variance {spread}");
        }
    }

    /// The closed-form distribution function of `shape` at `x`.
    fn cdf(shape: &Shape, x: f64) -> f64 {
        match *shape {
            Shape::Constant(value) => f64::from(u8::from(x >= value)),
            Shape::Uniform { low, high } => (x - low) / (high - low),
            Shape::Exponential { mean } => 1.0 - math::exp(-x / mean),
            Shape::LogNormal { mean, sigma } => normal::upper_tail(-(math::ln(x / mean) + 0.5 * sigma * sigma) / sigma),
            Shape::Normal { mean, sd } => 1.0 - normal::upper_tail((x - mean) / sd) / normal::upper_tail(-mean / sd),
            Shape::Gamma { mean, cv } => statrs::function::gamma::gamma_lr(1.0 / (cv * cv), x / (mean * cv * cv)),
            Shape::Weibull { mean, shape } => {
                1.0 - math::exp(-math::pow(x * libm::tgamma(1.0 + 1.0 / shape) / mean, shape))
            }
        }
    }

    #[test]
    fn draws_follow_the_closed_form_distribution() {
        const COUNT: usize = 50_000;
        for (shape, variance) in examples() {
            if variance == 0.0 {
                continue;
            }
            let mut sample = draws(&shape, COUNT);
            sample.sort_by(f64::total_cmp);
            let n = COUNT as f64;
            let distance = sample.iter().enumerate().fold(0.0, |most: f64, (i, &x)| {
                let p = cdf(&shape, x);
                most.max(p - i as f64 / n).max((i + 1) as f64 / n - p)
            });
            // Kolmogorov: √n · D exceeds 1.95 with probability 0.001.
            assert!(distance * libm::sqrt(n) < 1.95, "{shape:?}: {}", distance * libm::sqrt(n));
        }
    }

    #[test]
    fn a_hundred_thousand_draws_of_each_shape_are_the_stored_bits() {
        // Golden: digests of this program's own draws. They may only change with a note that all results change.
        let golden: [u64; 10] = [
            0x3DC8_4D26_7852_B3D9,
            0x823C_F15F_C62F_9F71,
            0x09FC_7DC9_7AE4_597A,
            0xC121_C48F_E65F_9C32,
            0xCD1B_2E34_3269_EEAC,
            0xCA48_CE00_EF6C_BDD5,
            0x8639_B2FA_F8B3_26E1,
            0x0EF7_244B_0E61_9FEE,
            0xB794_048F_A60C_55F7,
            0x343E_8810_D510_FD31,
        ];
        let digests: Vec<u64> = examples()
            .iter()
            .map(|(shape, _)| draws(shape, 100_000).iter().fold(0, |digest, x| mix(digest ^ x.to_bits())))
            .collect();
        assert_eq!(digests, golden, "{digests:#018x?}");
    }

    #[test]
    fn the_same_stream_gives_the_same_draws_and_other_streams_others() {
        for (shape, variance) in examples() {
            let distribution = Distribution::new(shape).unwrap();
            let key = Seed(4).key().named("service");
            let draw = |n: u64| distribution.sample(&mut key.with(n).stream());
            assert_eq!(draw(1), draw(1));
            assert!(variance == 0.0 || draw(1) != draw(2));
        }
    }

    #[test]
    fn all_shapes_but_gamma_take_one_word() {
        for (shape, variance) in examples() {
            if variance == 0.0 || matches!(shape, Shape::Gamma { .. }) {
                continue;
            }
            let mut sampled = Seed(5).key().stream();
            Distribution::new(shape).unwrap().sample(&mut sampled);
            let mut stepped = Seed(5).key().stream();
            stepped.next_u64();
            assert_eq!(sampled.next_u64(), stepped.next_u64());
        }
    }

    /// A shape with one parameter of any value, the others sensible.
    fn with_parameter(x: f64) -> [Shape; 13] {
        [
            Shape::Constant(x),
            Shape::Uniform { low: x, high: 2.0 },
            Shape::Uniform { low: 1.0, high: x },
            Shape::Exponential { mean: x },
            Shape::LogNormal { mean: x, sigma: 1.0 },
            Shape::LogNormal { mean: 1.0, sigma: x },
            Shape::Normal { mean: x, sd: 1.0 },
            Shape::Normal { mean: 1.0, sd: x },
            Shape::Gamma { mean: x, cv: 1.0 },
            Shape::Gamma { mean: 1.0, cv: x },
            Shape::Weibull { mean: x, shape: 1.0 },
            Shape::Weibull { mean: 1.0, shape: x },
            Shape::Uniform { low: x, high: x },
        ]
    }

    #[test]
    fn parameters_without_meaning_are_refused() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE, 2e15, f64::MAX] {
            for shape in with_parameter(x) {
                assert!(Distribution::new(shape.clone()).is_none(), "{shape:?}");
            }
        }
        for shape in with_parameter(0.0) {
            let allowed = matches!(shape, Shape::Constant(_) | Shape::Uniform { low: 0.0, high: 2.0 });
            assert_eq!(Distribution::new(shape.clone()).is_some(), allowed, "{shape:?}");
        }
    }

    #[test]
    fn every_accepted_parameter_gives_finite_draws() {
        for x in [f64::MIN_POSITIVE, 1e-300, 1e-9, 0.1, 0.999, 1.0, 1.5, 10.0, 1e9, 1e15] {
            for distribution in with_parameter(x).into_iter().filter_map(Distribution::new) {
                let mut stream = Seed(6).key().stream();
                assert!(distribution.mean().is_finite() && distribution.mean() >= 0.0, "{distribution:?}");
                for _ in 0..200 {
                    let draw = distribution.sample(&mut stream);
                    assert!(draw.is_finite() && draw >= 0.0, "{distribution:?}: {draw}");
                }
            }
        }
    }
}
