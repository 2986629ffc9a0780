//! Where a run goes one of two ways (one retry or two, recovered or not), replicates fall into groups, and the mean
//! lies between them where no run ends. This file finds such groups, and reports none where chance explains them.
//!
//! Candidates come from a kernel density estimate: peaks with a valley between them. A density of a few dozen values
//! always has bumps, though, and a long tail has gaps. So a valley must also be significant: the excess mass (Müller
//! and Sawitzki 1991, "Excess mass estimates and tests for multimodality") says how many of the values would have to
//! move for the two sides to be one. (Its maximum is twice the dip of Hartigan and Hartigan 1985, "The dip test of
//! unimodality".)

use super::quantile::quantile;
use super::statistic::sum;
use crate::random::math;

/// One group of a distribution that has several.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The share of the values in it, from 0 to 1.
    pub share: f64,
    /// Their mean.
    pub mean: f64,
    /// The smallest of them.
    pub min: f64,
    /// The largest of them.
    pub max: f64,
}

/// The fewest values in which groups are looked for.
const FEWEST: usize = 20;

/// The smallest share of all values that is a mode; smaller groups are part of their neighbour.
const SMALLEST_SHARE: f64 = 0.1;

/// The highest density of a valley, relative to the lower of the peaks beside it.
const SHALLOWEST: f64 = 0.5;

/// The least excess mass of two intervals over one, as a share of the values and times √n. Together with the rules
/// above, it lets pass less than one in a thousand samples of the unimodal shapes in the tests, of 20 values or more;
/// at 0.5 two in a hundred long-tailed samples of 20 would pass, at 1.2 the two ways of a run would be found in hundreds
/// of replicates only.
const SIGNIFICANT: f64 = 0.85;

/// From this many values on, the bandwidth shrinks no further: more replicates make a picture sharper, but a rate such
/// as 2 of 139 or 3 of 141 leaves ripples that are no groups.
const SHARPEST: usize = 1_000;

/// The modes of values in ascending order, all of them finite; empty where there is but one.
pub fn of_sorted(sorted: &[f64]) -> Vec<Mode> {
    if sorted.len() < FEWEST || sorted.first() == sorted.last() {
        return Vec::new();
    }
    let values = spread_ties(sorted);
    let Some(density) = Density::new(&values) else { return Vec::new() };
    let mut groups = density.groups();
    join_shallow(&mut groups);
    join_small(&mut groups, values.len());
    join_insignificant(&mut groups, &values);
    if groups.len() < 2 {
        return Vec::new();
    }
    groups.iter().map(|group| mode(&sorted[group.from..group.to], sorted.len())).collect()
}

fn mode(members: &[f64], of: usize) -> Mode {
    Mode {
        share: members.len() as f64 / of as f64,
        mean: sum(members.iter().copied()) / members.len() as f64,
        min: members[0],
        max: members[members.len() - 1],
    }
}

/// Values on a lattice, such as counts, spread evenly over the cells around its points: a histogram instead of spikes,
/// each of which would be a mode. Values without ties stay where they are.
fn spread_ties(sorted: &[f64]) -> Vec<f64> {
    let step = lattice_step(sorted);
    let mut spread = Vec::with_capacity(sorted.len());
    for ties in sorted.chunk_by(|a, b| a == b) {
        let count = ties.len() as f64;
        spread.extend(ties.iter().enumerate().map(|(i, value)| value + step * ((i as f64 + 0.5) / count - 0.5)));
    }
    spread
}

/// The distance between neighbouring points of the coarsest lattice that could hold the values.
fn lattice_step(sorted: &[f64]) -> f64 {
    let gaps = || sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let smallest = gaps().fold(f64::INFINITY, f64::min);
    // Two different counts, 0 and 42, say nothing of what could lie between them; counts are whole numbers.
    let counts = sorted.iter().all(|value| value.fract() == 0.0);
    if counts && gaps().count() == 1 { 1.0 } else { smallest }
}

/// A kernel density estimate over ascending values.
struct Density<'a> {
    values: &'a [f64],
    /// The distance at which the kernel ends.
    reach: f64,
}

/// One point of a density.
#[derive(Clone, Copy, Debug)]
struct Point {
    density: f64,
    /// How many values lie below.
    below: usize,
}

/// A stretch of the values around one peak of the density.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The indexes of its values: from here …
    from: usize,
    /// … to before here.
    to: usize,
    /// The density at its peak.
    peak: f64,
    /// The density at the valley before it; 0 before the first.
    valley: f64,
}

impl<'a> Density<'a> {
    /// The estimate with the bandwidth of Silverman 1986 ("Density estimation for statistics and data analysis",
    /// equation 3.31) and the kernel (1 − u²)²; `None` where the values are too near or too far apart to compute one.
    fn new(values: &'a [f64]) -> Option<Self> {
        /// Makes this kernel as smooth as a normal one of the same bandwidth (Scott 1992, table 6.3).
        const REACH_PER_BANDWIDTH: f64 = 2.623;
        let n = values.len() as f64;
        let mean = sum(values.iter().copied()) / n;
        let sd = (sum(values.iter().map(|x| (x - mean) * (x - mean))) / n).sqrt();
        let at = |q| quantile(values, q).unwrap_or(mean);
        let quartiles = (at(0.75) - at(0.25)) / 1.34;
        let spread = if quartiles > 0.0 { sd.min(quartiles) } else { sd };
        let bandwidth = 0.9 * spread / math::pow(values.len().min(SHARPEST) as f64, 0.2);
        // Below a billionth of the whole, differences are rounding.
        let finest = (at(1.0) - at(0.0)) * 1e-9;
        let reach = (REACH_PER_BANDWIDTH * bandwidth).max(finest);
        reach.is_normal().then_some(Density { values, reach })
    }

    /// The density from the first value to the last. Each value is seen from a bounded number of points, so that this
    /// takes time in proportion to the number of values.
    fn curve(&self) -> Vec<Point> {
        let step = self.reach / 8.0;
        let start = self.values[0];
        let end = self.values[self.values.len() - 1] - start;
        let (mut low, mut high) = (0, 0);
        let mut curve = Vec::new();
        let mut at = 0.0;
        while at <= end {
            low += self.values[low..].iter().take_while(|value| **value - start < at - self.reach).count();
            high += self.values[high..].iter().take_while(|value| **value - start <= at + self.reach).count();
            let near = &self.values[low..high];
            let below = low + near.partition_point(|value| value - start < at);
            curve.push(Point { density: self.mass(near, start + at), below });
            // Where nothing is near, the next point is where the next value begins to matter.
            at = if near.is_empty() { self.values[high] - start - self.reach + step } else { at + step };
        }
        curve
    }

    /// The density that values near `at` make there.
    fn mass(&self, near: &[f64], at: f64) -> f64 {
        let kernel = |value: &f64| {
            let u = (value - at) / self.reach;
            let v = (1.0 - u * u).max(0.0);
            0.9375 * v * v
        };
        near.iter().map(kernel).sum::<f64>() / (self.reach * self.values.len() as f64)
    }

    /// The stretches between the valleys of the density, in order.
    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut group = Group { from: 0, to: self.values.len(), peak: 0.0, valley: 0.0 };
        let mut valley: Option<Point> = None;
        for point in self.curve() {
            match valley {
                None if point.density >= group.peak => group.peak = point.density,
                None => valley = Some(point),
                Some(lowest) if point.density <= lowest.density => valley = Some(point),
                Some(lowest) => {
                    groups.push(Group { to: lowest.below, ..group });
                    group = Group { from: lowest.below, peak: point.density, valley: lowest.density, ..group };
                    valley = None;
                }
            }
        }
        groups.push(group);
        groups
    }
}

/// Joins the group at `index` to the one before it.
fn join(groups: &mut Vec<Group>, index: usize) {
    let group = groups.remove(index);
    let before = &mut groups[index - 1];
    before.to = group.to;
    before.peak = before.peak.max(group.peak);
}

/// The index of the group whose valley before it has the least of `measure`, which takes that group and the one before.
fn weakest(groups: &[Group], measure: impl Fn(Group, Group) -> f64) -> Option<(usize, f64)> {
    let valleys = groups.windows(2).enumerate().map(|(i, pair)| (i + 1, measure(pair[0], pair[1])));
    valleys.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Joins groups with hardly a valley between them, the shallowest valley first.
fn join_shallow(groups: &mut Vec<Group>) {
    let depth = |a: Group, b: Group| 1.0 - b.valley / a.peak.min(b.peak);
    while let Some((index, _)) = weakest(groups, depth).filter(|(_, depth)| *depth < 1.0 - SHALLOWEST) {
        join(groups, index);
    }
}

/// Joins groups that are too small to be modes, the smallest first, across the shallower of their valleys.
fn join_small(groups: &mut Vec<Group>, count: usize) {
    let size = |group: &Group| group.to - group.from;
    while groups.len() > 1 {
        let Some(index) = (0..groups.len()).min_by_key(|&i| size(&groups[i])) else { return };
        if size(&groups[index]) as f64 >= SMALLEST_SHARE * count as f64 {
            return;
        }
        let after = groups.get(index + 1).map_or(f64::NEG_INFINITY, |next| next.valley);
        let before = if index == 0 { f64::NEG_INFINITY } else { groups[index].valley };
        join(groups, if after > before || index == 0 { index + 1 } else { index });
    }
}

/// Joins groups that chance explains, the least significant valley first.
fn join_insignificant(groups: &mut Vec<Group>, values: &[f64]) {
    let measure = |a: Group, b: Group| significance(&values[a.from..b.to], values.len(), a.peak.min(b.peak), b.valley);
    while let Some((index, _)) = weakest(groups, measure).filter(|(_, found)| *found < SIGNIFICANT) {
        join(groups, index);
    }
}

/// The largest excess mass of two intervals over one, times √n, at levels between a valley and the lower of its peaks.
fn significance(values: &[f64], of: usize, peak: f64, valley: f64) -> f64 {
    let excess = |share: f64| second_interval(values, (valley + share * (peak - valley)) * of as f64);
    let most = [0.25, 0.5, 0.75].into_iter().map(excess).fold(0.0, f64::max);
    most / (values.len() as f64).sqrt()
}

/// By how much the best two intervals beat the best one, where an interval is worth the number of its values less
/// `price` times its length.
fn second_interval(values: &[f64], price: f64) -> f64 {
    let none = f64::NEG_INFINITY;
    // The best that ends at the present value, and the best so far: one interval, two intervals.
    let (mut one_here, mut one, mut two_here, mut two) = (none, none, none, none);
    let mut last = values[0];
    for &value in values {
        let cost = price * (value - last);
        two_here = 1.0 + f64::max(two_here - cost, one);
        one_here = 1.0 + f64::max(one_here - cost, 0.0);
        one = one.max(one_here);
        two = two.max(two_here);
        last = value;
    }
    two - one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::distribution::{Distribution, Shape};
    use crate::random::{Seed, Stream};

    /// A way to draw one value.
    type Draw = Box<dyn Fn(&mut Stream) -> f64>;

    fn of(shape: Shape) -> Draw {
        let distribution = Distribution::new(shape).unwrap();
        Box::new(move |stream| distribution.sample(stream))
    }

    /// The whole numbers below a draw, each times `step`.
    fn whole(shape: Shape, step: f64) -> Draw {
        let draw = of(shape);
        Box::new(move |stream| draw(stream).floor() * step)
    }

    /// The number of events in a time in which `mean` happen on average.
    fn poisson(mean: f64, stream: &mut Stream) -> f64 {
        let mut product = stream.next_open();
        let mut count = 0.0;
        while product > math::exp(-mean) {
            product *= stream.next_open();
            count += 1.0;
        }
        count
    }

    /// Shapes with one mode, by name.
    fn unimodal() -> Vec<(&'static str, Draw)> {
        vec![
            ("normal", of(Shape::Normal { mean: 100.0, sd: 7.0 })),
            ("exponential", of(Shape::Exponential { mean: 1.0 })),
            ("uniform", of(Shape::Uniform { low: 3.0, high: 4.0 })),
            ("log-normal", of(Shape::LogNormal { mean: 1.0, sigma: 1.0 })),
            ("wide log-normal", of(Shape::LogNormal { mean: 1.0, sigma: 2.0 })),
            ("bernoulli", whole(Shape::Uniform { low: 0.0, high: 2.0 }, 1.0)),
            ("die", whole(Shape::Uniform { low: 1.0, high: 7.0 }, 1.0)),
            ("thirty numbers", whole(Shape::Uniform { low: 0.0, high: 30.0 }, 1.0)),
            ("geometric", whole(Shape::Exponential { mean: 2.0 }, 1.0)),
            ("count", Box::new(|stream| poisson(3.0, stream))),
            ("rare count", Box::new(|stream| poisson(0.3, stream))),
            ("large count", Box::new(|stream| poisson(50.0, stream))),
            ("count of triples", Box::new(|stream| 3.0 * poisson(3.0, stream))),
            ("ratio of counts", Box::new(|stream| poisson(3.0, stream) / (139.0 + poisson(1.0, stream)))),
        ]
    }

    /// The share of samples of `count` values in which `found` holds of their modes.
    fn share_of_samples(name: &str, draw: &Draw, count: usize, found: impl Fn(&[Mode]) -> bool) -> f64 {
        let samples = 40_000 / count.max(40);
        let hits = (0..samples as u64).filter(|&sample| {
            let mut stream = Seed(2_026).key().named(name).with(count as u64).with(sample).stream();
            let mut values: Vec<f64> = (0..count).map(|_| draw(&mut stream)).collect();
            values.sort_by(f64::total_cmp);
            found(&of_sorted(&values))
        });
        hits.count() as f64 / samples as f64
    }

    #[test]
    fn shapes_with_one_mode_give_no_false_alarm() {
        for (name, draw) in unimodal() {
            for count in [20, 60, 200, 2_000] {
                let alarms = share_of_samples(name, &draw, count, |modes| !modes.is_empty());
                assert!(alarms <= 0.01, "{name}, {count} values: {alarms}");
            }
        }
    }

    /// Seconds until the slowest report: after one retry, after two, and now and then between.
    fn slowest_report() -> Draw {
        let early = of(Shape::Normal { mean: 4.5, sd: 0.6 });
        let late = of(Shape::Normal { mean: 14.5, sd: 1.0 });
        let between = of(Shape::Uniform { low: 6.0, high: 13.0 });
        Box::new(move |stream| match stream.next_unit() {
            u if u < 0.59 => early(stream),
            u if u < 0.98 => late(stream),
            _ => between(stream),
        })
    }

    #[test]
    fn the_two_ways_of_a_run_are_found() {
        let two = |modes: &[Mode]| {
            modes.len() == 2 && (modes[0].mean - 4.5).abs() < 1.5 && (modes[1].mean - 14.5).abs() < 1.5
        };
        for (count, least) in [(20, 0.5), (50, 0.97), (200, 1.0), (1_000, 1.0)] {
            let found = share_of_samples("slowest report", &slowest_report(), count, two);
            assert!(found >= least, "{count} values: {found}");
        }
    }

    #[test]
    fn modes_cover_all_values_in_order() {
        let draw = slowest_report();
        let mut stream = Seed(1).key().stream();
        let mut values: Vec<f64> = (0..500).map(|_| draw(&mut stream)).collect();
        values.sort_by(f64::total_cmp);
        let modes = of_sorted(&values);
        assert_eq!(modes.len(), 2);
        assert_eq!((modes[0].min, modes[1].max), (values[0], values[499]));
        assert!(modes[0].max < modes[1].min);
        assert!((modes[0].share - 0.6).abs() < 0.06 && (modes[0].share + modes[1].share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn three_groups_are_three_modes() {
        let values: Vec<f64> = (0..300).map(|n| f64::from(n / 100 * 50 + n % 10)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let means: Vec<f64> = of_sorted(&sorted).iter().map(|mode| mode.mean).collect();
        assert_eq!(means, [4.5, 54.5, 104.5]);
    }

    #[test]
    fn two_distant_counts_are_two_modes_and_two_neighbouring_ones_are_not() {
        let counts = |a: f64, b: f64| [vec![a; 60], vec![b; 40]].concat();
        let modes = of_sorted(&counts(0.0, 42.0));
        assert_eq!(modes.iter().map(|mode| (mode.share, mode.mean)).collect::<Vec<_>>(), [(0.6, 0.0), (0.4, 42.0)]);
        assert!(of_sorted(&counts(0.0, 1.0)).is_empty());
    }

    #[test]
    fn odd_samples_are_taken_as_they_are() {
        assert!(of_sorted(&[]).is_empty());
        assert!(of_sorted(&[7.0; 100]).is_empty());
        // One value far away, or rounding errors around one number, are no modes.
        assert!(of_sorted(&[vec![0.0; 99], vec![1e300]].concat()).is_empty());
        let rounding: Vec<f64> = (0..100).map(|n| 0.3 + f64::from(n / 50) * f64::EPSILON / 4.0).collect();
        assert!(of_sorted(&rounding).is_empty());
        let near_zero = [vec![-f64::MIN_POSITIVE; 50], vec![f64::MIN_POSITIVE; 50]].concat();
        assert!(of_sorted(&near_zero).is_empty());
        assert!(of_sorted(&[vec![0.0; 50], vec![f64::from_bits(1); 50]].concat()).is_empty());
        let everything: Vec<f64> = (0..100).map(|n| f64::from(n - 50) * 1e306).collect();
        assert!(of_sorted(&everything).is_empty());
    }
}
