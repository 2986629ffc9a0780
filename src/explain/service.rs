//! How long does an answer take when nothing is wrong? A timeout has to be held against the slow end of that, not
//! against its mean: one that lies in the middle breaks a healthy system.

use crate::provider::Provider;
use crate::random::distribution::{Distribution, Shape};
use crate::random::math;
use crate::traffic::{Step, TrafficClass};
use crate::units::SimDuration;

/// A latency given as one number says nothing of its slow end; answers of text generators spread about this much.
const SLOW_OVER_MEAN: f64 = 5.0;

/// A point of a distribution.
#[derive(Clone, Copy)]
struct Point {
    /// How many standard deviations above the mean it lies where the shape is normal.
    z: f64,
    /// The share of draws above it.
    above: f64,
}

const MEDIAN: Point = Point { z: 0.0, above: 0.5 };
const SLOW: Point = Point { z: 3.090_232, above: 0.001 };

/// The time within which half of the requests of a step are answered.
pub fn usual(step: &Step) -> SimDuration {
    SimDuration::from_secs_f64(point(&step.latency, MEDIAN))
}

/// The time within which all but one in a thousand are answered.
pub fn slow(step: &Step) -> SimDuration {
    let seconds = match step.latency.shape() {
        Shape::Constant(value) => SLOW_OVER_MEAN * value,
        Shape::Uniform { .. }
        | Shape::Exponential { .. }
        | Shape::LogNormal { .. }
        | Shape::Normal { .. }
        | Shape::Gamma { .. }
        | Shape::Weibull { .. } => point(&step.latency, SLOW),
    };
    SimDuration::from_secs_f64(seconds)
}

/// How long a request and its answer travel together: half of them at most so long, and all but one in a thousand of each.
pub fn travel(provider: &Provider) -> (SimDuration, SimDuration) {
    let ways = provider.network.iter().flat_map(|network| network.send.iter().chain(&network.receive));
    let (mut usual, mut slow) = (0.0, 0.0);
    for way in ways {
        usual += point(way, MEDIAN);
        slow += point(way, SLOW);
    }
    (SimDuration::from_secs_f64(usual), SimDuration::from_secs_f64(slow))
}

/// The step of a class whose answers take longest, and the least timeout that leaves it whole: all but one in a
/// thousand are answered in it.
pub fn slowest(class: &TrafficClass) -> Option<(&Step, SimDuration)> {
    class.steps.iter().map(|step| (step, at_least(slow(step)))).max_by_key(|(_, time)| *time)
}

/// A duration as a file would say it, rounded up to whole seconds, below one to whole tenths.
pub fn at_least(time: SimDuration) -> SimDuration {
    let second = SimDuration::from_secs(1);
    time.round_up_to(if time > second { second } else { SimDuration::from_millis(100) })
}

fn point(distribution: &Distribution, Point { z, above }: Point) -> f64 {
    match *distribution.shape() {
        Shape::Constant(value) => value,
        Shape::Uniform { low, high } => high - above * (high - low),
        Shape::Exponential { mean } => -mean * math::ln(above),
        Shape::LogNormal { mean, sigma } => mean * math::exp(sigma * z - 0.5 * sigma * sigma),
        // The part cut away below zero moves all points up, by less than a quarter of a deviation at the slow end.
        Shape::Normal { mean, sd } => mean + sd * z * 1.07,
        // By the cube root, which is nearly normal.
        Shape::Gamma { mean, cv } => {
            let root = (1.0 - cv * cv / 9.0 + z * cv / 3.0).max(0.0);
            mean * root * root * root
        }
        Shape::Weibull { mean, shape } => {
            let scale = mean / libm::tgamma(1.0 + 1.0 / shape);
            scale * math::pow(-math::ln(above), 1.0 / shape)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    #[test]
    fn half_of_the_draws_are_usual_and_one_in_a_thousand_is_slower_than_slow() {
        // Measured: 200,000 draws of each shape; 200 of them are expected above the slow point, ±14.
        let shapes = [
            Shape::Uniform { low: 1.0, high: 3.0 },
            Shape::Exponential { mean: 2.0 },
            Shape::LogNormal { mean: 2.0, sigma: 0.3 },
            Shape::Normal { mean: 2.0, sd: 0.5 },
            Shape::Gamma { mean: 2.0, cv: 0.5 },
            Shape::Weibull { mean: 2.0, shape: 1.5 },
        ];
        for shape in shapes {
            let distribution = Distribution::new(shape).unwrap();
            let mut stream = Seed(3).key().stream();
            let draws: Vec<f64> = (0..200_000).map(|_| distribution.sample(&mut stream)).collect();
            let above = |point: f64| draws.iter().filter(|draw| **draw > point).count();
            let (usual, slow) = (above(point(&distribution, MEDIAN)), above(point(&distribution, SLOW)));
            assert!((97_000..=103_000).contains(&usual), "{distribution:?}: {usual}");
            assert!((80..=300).contains(&slow), "{distribution:?}: {slow}");
        }
    }
}
