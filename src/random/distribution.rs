//! Distributions of sizes and times.

use super::math;
use super::stream::Stream;

/// A distribution over non-negative numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    shape: Shape,
}

/// What it looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Always the same.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// Exponential.
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
        /// The mean before the negative part is cut away.
        mean: f64,
        /// The standard deviation before that.
        sd: f64,
    },
    /// Gamma.
    Gamma {
        /// Its mean.
        mean: f64,
        /// The standard deviation divided by the mean.
        cv: f64,
    },
    /// Weibull.
    Weibull {
        /// Its mean.
        mean: f64,
        /// The exponent.
        shape: f64,
    },
}

impl Distribution {
    /// Always `value`.
    pub const fn constant(value: f64) -> Self {
        Distribution { shape: Shape::Constant(value) }
    }

    /// Checked.
    pub fn new(shape: Shape) -> Option<Self> {
        Some(Distribution { shape })
    }

    /// The shape.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self.shape {
            Shape::Constant(v) => v,
            Shape::Uniform { low, high } => low + (high - low) * stream.next_unit(),
            Shape::Normal { mean, .. } | Shape::Gamma { mean, .. } | Shape::Weibull { mean, .. } => mean,
            Shape::Exponential { mean } => -mean * math::ln(stream.next_open()),
            Shape::LogNormal { mean, sigma } => {
                // Placeholder by Box and Muller until the portable ziggurat is in.
                let r = libm::sqrt(-2.0 * math::ln(stream.next_open()));
                let z = r * libm::cos(std::f64::consts::TAU * stream.next_unit());
                mean * math::exp(sigma * z - 0.5 * sigma * sigma)
            }
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match self.shape {
            Shape::Constant(v) => v,
            Shape::Uniform { low, high } => f64::midpoint(low, high),
            Shape::Exponential { mean }
            | Shape::LogNormal { mean, .. }
            | Shape::Normal { mean, .. }
            | Shape::Gamma { mean, .. }
            | Shape::Weibull { mean, .. } => mean,
        }
    }
}
