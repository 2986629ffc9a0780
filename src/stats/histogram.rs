//! Latencies span from milliseconds to hours, and a run may have millions: quantiles must be good at every scale and
//! memory must not grow with the run.
//!
//! A store keeps every value while there are at most 4,096, and its quantiles are exact. Beyond, it counts in a
//! log-linear histogram: each octave is divided into 128 equal buckets, and a bucket stands for its middle, so that no
//! quantile is off by more than 1/256, below 0.4 % of itself. Count, sum, smallest and largest stay exact. What a store
//! says depends only on which values it holds, not on their order or on how they were merged.

use super::quantile;
use crate::units::SimDuration;

/// The most values that are kept exactly: 32 KiB of them.
const EXACT: usize = 4_096;

/// log₂ of the buckets per octave.
const OCTAVE_BITS: u32 = 7;

/// Buckets per octave.
const OCTAVE: u64 = 1 << OCTAVE_BITS;

/// A collection of durations that answers with its quantiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyStore {
    values: Values,
    count: u64,
    /// Nanoseconds.
    sum: u128,
    // Invariant: `None` exactly where the store is empty.
    extremes: Option<(SimDuration, SimDuration)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    // Invariant: at most `EXACT` values, in any order.
    Exact(Vec<SimDuration>),
    // Invariant: more than `EXACT` values; the counts of the buckets up to the last that is not empty.
    Counted(Vec<u64>),
}

impl Default for Values {
    fn default() -> Self {
        Values::Exact(Vec::new())
    }
}

impl LatencyStore {
    /// A store that holds nothing.
    pub fn new() -> Self {
        LatencyStore::default()
    }

    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, value: SimDuration) {
        self.count += 1;
        self.sum += u128::from(value.as_nanos());
        let (min, max) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((min.min(value), max.max(value)));
        match &mut self.values {
            Values::Exact(values) if values.len() < EXACT => values.push(value),
            Values::Exact(values) => {
                let mut counts = counted(values);
                count_one(&mut counts, value);
                self.values = Values::Counted(counts);
            }
            Values::Counted(counts) => count_one(counts, value),
        }
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &LatencyStore) {
        let Some((other_min, other_max)) = other.extremes else { return };
        let (min, max) = self.extremes.unwrap_or((other_min, other_max));
        self.extremes = Some((min.min(other_min), max.max(other_max)));
        self.count += other.count;
        self.sum += other.sum;
        match (&mut self.values, &other.values) {
            (Values::Exact(ours), Values::Exact(theirs)) if ours.len() + theirs.len() <= EXACT => ours.extend(theirs),
            (ours, theirs) => {
                let mut counts = ours.take_counts();
                theirs.add_to(&mut counts);
                *ours = Values::Counted(counts);
            }
        }
    }

    /// How many durations are held.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The shortest; `None` where there is none.
    pub fn min(&self) -> Option<SimDuration> {
        self.extremes.map(|(min, _)| min)
    }

    /// The longest; `None` where there is none.
    pub fn max(&self) -> Option<SimDuration> {
        self.extremes.map(|(_, max)| max)
    }

    /// The mean, exact to the nanosecond; `None` where there is none.
    pub fn mean(&self) -> Option<SimDuration> {
        let count = u128::from(self.count);
        (count > 0).then(|| SimDuration::from_nanos(((self.sum + count / 2) / count) as u64))
    }

    /// The quantile `q` (0 to 1, type 7); `None` where there is none.
    pub fn quantile(&self, q: f64) -> Option<SimDuration> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// The quantile `q` (0 to 1, type 7) of a longer list, of `of` values, in which all that are not held here are
    /// longer than any that is; `None` where the quantile lies among those.
    pub fn quantile_among(&self, q: f64, of: u64) -> Option<SimDuration> {
        let (below, above, share) = quantile::neighbours(of, q)?;
        // Between two values the quantile is neither of them; at the first one it is that one alone.
        let needed = if share > 0.0 { above } else { below };
        let last = self.count.checked_sub(1)?;
        if needed > last {
            return None;
        }
        let place = below as f64 + share;
        self.quantile(if last == 0 { 0.0 } else { place / last as f64 })
    }

    /// Several quantiles at once, which costs little more than one; `None` where there is none.
    pub fn quantiles<const N: usize>(&self, qs: [f64; N]) -> Option<[SimDuration; N]> {
        let (min, max) = self.extremes?;
        let sorted = self.values.sorted();
        let interpolate = |q| {
            let (below, above, share) = quantile::neighbours(self.count, q)?;
            let value = |index| match (&self.values, index) {
                (Values::Exact(_), index) => sorted[index as usize],
                (Values::Counted(_), 0) => min,
                (Values::Counted(_), index) if index + 1 == self.count => max,
                // The middle of the outermost buckets may lie outside of what was recorded.
                (Values::Counted(counts), index) => nth(counts, index).clamp(min, max),
            };
            let (low, high) = (value(below).as_nanos(), value(above).as_nanos());
            Some(SimDuration::from_nanos(low + ((high - low) as f64 * share + 0.5) as u64))
        };
        Some(qs.map(|q| interpolate(q).unwrap_or(max)))
    }
}

impl Values {
    /// The values in order while they are exact; nothing otherwise.
    fn sorted(&self) -> Vec<SimDuration> {
        match self {
            Values::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                sorted
            }
            Values::Counted(_) => Vec::new(),
        }
    }

    fn take_counts(&mut self) -> Vec<u64> {
        match self {
            Values::Exact(values) => counted(values),
            Values::Counted(counts) => std::mem::take(counts),
        }
    }

    fn add_to(&self, counts: &mut Vec<u64>) {
        match self {
            Values::Exact(values) => values.iter().for_each(|&value| count_one(counts, value)),
            Values::Counted(others) => {
                if counts.len() < others.len() {
                    counts.resize(others.len(), 0);
                }
                counts.iter_mut().zip(others).for_each(|(ours, theirs)| *ours += theirs);
            }
        }
    }
}

fn counted(values: &[SimDuration]) -> Vec<u64> {
    let mut counts = Vec::new();
    for &value in values {
        count_one(&mut counts, value);
    }
    counts
}

#[inline]
fn count_one(counts: &mut Vec<u64>, value: SimDuration) {
    let bucket = bucket_of(value.as_nanos());
    if bucket >= counts.len() {
        // A new longest value: rarer and rarer, and at most 7,000 buckets hold all that is representable.
        counts.resize(bucket + 1, 0);
    }
    counts[bucket] += 1;
}

/// The bucket of a number of nanoseconds: up to 255 its own, from there 128 to the octave.
#[inline]
const fn bucket_of(nanos: u64) -> usize {
    let shift = (nanos | OCTAVE).ilog2() - OCTAVE_BITS;
    (shift as u64 * OCTAVE + (nanos >> shift)) as usize
}

/// The middle of a bucket.
const fn middle_of(bucket: usize) -> SimDuration {
    let bucket = bucket as u64;
    if bucket < 2 * OCTAVE {
        return SimDuration::from_nanos(bucket);
    }
    let shift = bucket / OCTAVE - 1;
    SimDuration::from_nanos(((bucket % OCTAVE + OCTAVE) << shift) + (1 << (shift - 1)))
}

/// The value with that index, from 0, in ascending order.
fn nth(counts: &[u64], index: u64) -> SimDuration {
    let mut seen = 0;
    let bucket = counts.iter().position(|count| {
        seen += count;
        seen > index
    });
    middle_of(bucket.unwrap_or(counts.len().saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_among_longer_ones_is_that_of_the_whole_list_or_one_of_them() {
        let mut store = LatencyStore::new();
        (1..=6).for_each(|s| store.record(SimDuration::from_secs(s)));
        let seconds = |q, of| store.quantile_among(q, of).map(SimDuration::as_secs_f64);
        // Of ten values, the six known ones are the shortest: h = 9 · 0.5 = 4.5, between the fifth and the sixth.
        assert_eq!(seconds(0.5, 10), Some(5.5));
        // h = 9 · 0.6 = 5.4 lies between the sixth and one that is not known; of eleven, h = 10 · 0.5 is the sixth.
        assert_eq!((seconds(0.6, 10), seconds(0.5, 11)), (None, Some(6.0)));
        assert_eq!((seconds(1.0, 6), seconds(1.0, 7), seconds(0.95, 6)), (Some(6.0), None, Some(5.75)));
        assert_eq!(LatencyStore::new().quantile_among(0.5, 3), None);
    }
    use crate::random::Seed;
    use crate::random::distribution::{Distribution, Shape};

    /// Latencies of a heavy-tailed service, in seconds.
    fn latencies(count: usize) -> Vec<SimDuration> {
        let shape = Shape::LogNormal { mean: 1.7, sigma: 1.5 };
        let distribution = Distribution::new(shape).unwrap();
        let mut stream = Seed(3).key().named("latencies").stream();
        (0..count).map(|_| SimDuration::from_secs_f64(distribution.sample(&mut stream))).collect()
    }

    fn store(values: &[SimDuration]) -> LatencyStore {
        let mut store = LatencyStore::new();
        for &value in values {
            store.record(value);
        }
        store
    }

    const QS: [f64; 9] = [0.0, 0.001, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0];

    /// The type 7 quantile of all values, in seconds.
    fn exact_quantile(values: &[SimDuration], q: f64) -> f64 {
        let mut seconds: Vec<f64> = values.iter().map(|v| v.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        quantile::quantile(&seconds, q).unwrap()
    }

    #[test]
    fn quantiles_of_few_values_are_exact() {
        let values = latencies(EXACT);
        let store = store(&values);
        for q in QS {
            let found = store.quantile(q).unwrap().as_secs_f64();
            assert!((found - exact_quantile(&values, q)).abs() <= 1e-9, "{q}: {found}");
        }
    }

    #[test]
    fn quantiles_of_many_values_are_within_four_parts_in_a_thousand() {
        for count in [EXACT + 1, 100_000] {
            let values = latencies(count);
            let store = store(&values);
            for (q, found) in QS.into_iter().zip(store.quantiles(QS).unwrap()) {
                let exact = exact_quantile(&values, q);
                assert!((found.as_secs_f64() / exact - 1.0).abs() <= 0.004, "{q}: {found} {exact}");
            }
        }
    }

    #[test]
    fn count_mean_and_extremes_stay_exact() {
        let values = latencies(50_000);
        let store = store(&values);
        assert_eq!(store.count(), 50_000);
        let sum: u128 = values.iter().map(|v| u128::from(v.as_nanos())).sum();
        assert_eq!(store.mean().unwrap().as_nanos(), ((sum + 25_000) / 50_000) as u64);
        assert_eq!(store.min(), values.iter().min().copied());
        assert_eq!(store.max(), values.iter().max().copied());
        assert_eq!(store.quantiles([0.0, 1.0]).map(|[a, b]| (Some(a), Some(b))), Some((store.min(), store.max())));
    }

    #[test]
    fn every_representable_duration_is_within_half_a_bucket_of_its_middle() {
        let mut last = 0;
        for bits in 0..=60 {
            for nanos in [1_u64 << bits, (1 << bits) + (1 << bits) / 3, (2 << bits) - 1] {
                let nanos = nanos.min(SimDuration::MAX.as_nanos());
                let bucket = bucket_of(nanos);
                assert!(bucket >= last && bucket < 7_000);
                last = bucket;
                let error = middle_of(bucket).as_nanos().abs_diff(nanos);
                assert!(error as f64 <= nanos as f64 / 256.0, "{nanos}");
            }
        }
        assert_eq!(middle_of(bucket_of(0)), SimDuration::ZERO);
    }

    #[test]
    fn neighbouring_buckets_leave_no_gap() {
        for nanos in (0..100_000).chain((1 << 40) - 10..(1 << 40) + 10) {
            let step = bucket_of(nanos + 1) - bucket_of(nanos);
            assert!(step <= 1, "{nanos}");
        }
    }

    #[test]
    fn merged_parts_say_what_the_whole_says() {
        let values = latencies(10_000);
        for cuts in [vec![0, 10_000], vec![100, 3_000], vec![4_096, 8_192], vec![1, 5_000, 9_999]] {
            let mut bounds = vec![0];
            bounds.extend(&cuts);
            bounds.push(10_000);
            let parts: Vec<LatencyStore> = bounds.windows(2).map(|w| store(&values[w[0]..w[1]])).collect();
            let whole = store(&values);
            for order in [parts.iter().collect::<Vec<_>>(), parts.iter().rev().collect()] {
                let mut merged = LatencyStore::new();
                for part in order {
                    merged.merge(part);
                }
                assert_eq!(merged, whole, "{cuts:?}");
            }
        }
    }

    #[test]
    fn an_empty_store_has_no_figures() {
        let store = LatencyStore::new();
        assert_eq!((store.count(), store.mean(), store.max(), store.quantile(0.5)), (0, None, None, None));
    }
}
