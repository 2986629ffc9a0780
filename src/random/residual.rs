//! What is left of an interval that somebody finds under way at a random instant: the time until the next renewal of a
//! process that has gone on for ever. A long interval is found more often than a short one, and the instant lies
//! anywhere in it: a draw of the length, weighted by itself, times a uniform (Cox 1962, "Renewal theory", §5.2).

use super::distribution::{Distribution, Shape};
use super::math;
use super::stream::Stream;

/// Draws of a truncated normal are above this many standard deviations past the mean less often than once in 10¹⁵.
const FAR: f64 = 8.0;

/// One draw of what is left of an interval that is drawn from this distribution and was under way.
pub fn residual(of: &Distribution, stream: &mut Stream) -> f64 {
    let length = match *of.shape() {
        Shape::Constant(value) => value,
        // The density of the weighted length is 2x / (high² − low²).
        Shape::Uniform { low, high } => {
            let square = low * low + (high * high - low * low) * stream.next_unit();
            libm::sqrt(square)
        }
        // Without memory: what is left is as long as a whole one.
        Shape::Exponential { .. } => return of.sample(stream),
        Shape::LogNormal { mean, sigma } => {
            drawn(Shape::LogNormal { mean: mean * math::exp(sigma * sigma), sigma }, of, stream)
        }
        Shape::Gamma { mean, cv } => {
            let k = 1.0 / (cv * cv);
            drawn(Shape::Gamma { mean: mean * (k + 1.0) / k, cv: 1.0 / libm::sqrt(k + 1.0) }, of, stream)
        }
        // (X / scale)^shape, an exponential, becomes a gamma variable with 1 + 1 / shape degrees.
        Shape::Weibull { mean, shape } => {
            let k = 1.0 + 1.0 / shape;
            let power = drawn(Shape::Gamma { mean: k, cv: 1.0 / libm::sqrt(k) }, of, stream);
            mean / libm::tgamma(k) * math::pow(power, 1.0 / shape)
        }
        // Taken with a probability in proportion to its length.
        Shape::Normal { sd, .. } => {
            let most = of.mean() + FAR * sd;
            loop {
                let length = of.sample(stream);
                if stream.next_unit() * most < length {
                    break length;
                }
            }
        }
    };
    length * stream.next_unit()
}

/// A draw of this shape; of the distribution itself where the shape is too extreme to be drawn.
fn drawn(shape: Shape, of: &Distribution, stream: &mut Stream) -> f64 {
    Distribution::new(shape).as_ref().unwrap_or(of).sample(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    #[test]
    fn the_mean_of_what_is_left_is_half_the_square_over_the_mean() {
        // Cox 1962: E[left] = E[X²] / 2 E[X] = (mean² + variance) / 2 mean.
        for shape in [
            Shape::Constant(4.0),
            Shape::Uniform { low: 1.0, high: 3.0 },
            Shape::Exponential { mean: 2.0 },
            Shape::LogNormal { mean: 2.0, sigma: 0.5 },
            Shape::Normal { mean: 2.0, sd: 1.5 },
            Shape::Gamma { mean: 3.0, cv: 0.7 },
            Shape::Weibull { mean: 2.0, shape: 1.7 },
        ] {
            let of = Distribution::new(shape.clone()).unwrap();
            let mut stream = Seed(7).key().named("residual").stream();
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| residual(&of, &mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let sd = libm::sqrt(draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n - 1));
            let theory = (of.mean() * of.mean() + of.variance()) / (2.0 * of.mean());
            assert!((mean - theory).abs() < 4.0 * sd / libm::sqrt(f64::from(n)), "{shape:?}: {mean} against {theory}");
        }
    }
}
