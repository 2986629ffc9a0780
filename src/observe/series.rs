//! Series that are written as values change and read in bins: between two changes the last value holds (a queue) or
//! refills (a limit), so nothing has to be sampled.

use crate::policy::token_bucket::{TokenBucket, TokenBucketState};
use crate::provider::Window;
use crate::units::{SimDuration, SimTime};

/// The largest value of a step function in each bin.
#[derive(Clone, Debug)]
pub struct PeakSeries {
    peaks: Vec<u32>,
    bin: usize,
    value: u32,
}

impl PeakSeries {
    /// A function that is 0 everywhere so far.
    pub fn new(bins: usize) -> PeakSeries {
        PeakSeries { peaks: vec![0; bins], bin: 0, value: 0 }
    }

    /// The value changes in this bin, which is not before the last one.
    #[inline]
    pub fn set(&mut self, bin: u32, value: u32) {
        self.carry_to(bin as usize);
        self.value = value;
        let peak = &mut self.peaks[self.bin];
        *peak = (*peak).max(value);
    }

    fn carry_to(&mut self, bin: usize) {
        while self.bin < bin {
            self.bin += 1;
            self.peaks[self.bin] = self.value;
        }
    }

    /// The peaks, the last value carried to the end.
    pub fn finish(mut self) -> Vec<u32> {
        self.carry_to(self.peaks.len() - 1);
        self.peaks
    }
}

/// What was left of a limit over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelCurve {
    /// The lowest share left in each bin, from 0 to 1.
    pub lowest: Vec<f32>,
    /// How long less than a tenth was left, as far as withdrawals ended it.
    low: SimDuration,
    /// The last stretch with less than a tenth left, which no withdrawal ended.
    open: Option<Window>,
}

impl LevelCurve {
    /// A curve that is known by its lowest shares alone.
    pub const fn of(lowest: Vec<f32>) -> LevelCurve {
        LevelCurve { lowest, low: SimDuration::ZERO, open: None }
    }

    /// A curve with the times at which less than a tenth was left.
    pub(super) const fn with(lowest: Vec<f32>, low: SimDuration, open: Option<Window>) -> LevelCurve {
        LevelCurve { lowest, low, open }
    }

    /// How long less than a tenth of the limit was left before `horizon`, to the nanosecond.
    pub fn below_tenth(&self, horizon: SimTime) -> SimDuration {
        let open = self.open.map_or(SimDuration::ZERO, |open| open.to.min(horizon) - open.from);
        self.low + open
    }
}

/// A level read as the time in which so much flows in, counted back from a mark that is never reached: so it is a
/// whole number of nanoseconds, whatever the limit counts.
#[derive(Clone, Copy, Debug)]
struct Gauge {
    /// The same flow into a bucket without a brim, in which the time since a withdrawal is never lost.
    brimless: TokenBucket,
    /// The mark in tokens.
    mark: u64,
    /// How long the flow takes to the mark, from a tenth of the limit on.
    tenth_to_mark: SimDuration,
}

impl Gauge {
    /// A gauge for a run of this length.
    fn new(bucket: TokenBucket, length: SimDuration) -> Gauge {
        let (per, capacity) = (bucket.per(), bucket.capacity());
        let periods = (capacity + length).as_nanos().div_ceil(per.as_nanos()).saturating_add(1);
        let brimless = TokenBucket::new(bucket.amount(), per, SimDuration::MAX).unwrap_or(bucket);
        let tenth = SimDuration::from_nanos(capacity.as_nanos() / 10);
        let mark = bucket.amount().saturating_mul(periods);
        Gauge { brimless, mark, tenth_to_mark: per.times(periods).saturating_sub(tenth) }
    }

    /// How long the level stays below a tenth if nothing more is withdrawn.
    fn until_tenth(&self, state: &TokenBucketState) -> SimDuration {
        self.brimless.shortfall(state, self.mark, SimTime::ZERO).saturating_sub(self.tenth_to_mark)
    }

    /// When the state was touched, which is not after `limit`: what is missing to the mark shrinks from then on.
    fn touched(&self, state: &TokenBucketState, limit: SimTime) -> SimTime {
        let missing = |now| self.brimless.shortfall(state, self.mark, now);
        let since = missing(SimTime::ZERO).saturating_sub(missing(limit));
        SimTime::ZERO + (limit - SimTime::ZERO).saturating_sub(since)
    }
}

/// A share below which a limit counts as nearly empty.
pub(super) const NEARLY_EMPTY: f64 = 0.1;

/// The lowest share left of a limit in each bin, and how long nearly nothing was left.
#[derive(Clone, Debug)]
pub struct LevelSeries {
    bucket: TokenBucket,
    gauge: Gauge,
    width: SimDuration,
    shares: Vec<f32>,
    bin: usize,
    /// The state after the last withdrawal.
    last: TokenBucketState,
    /// The lowest state in the current bin.
    lowest: TokenBucketState,
    /// How long nearly nothing was left before the last withdrawal.
    low: SimDuration,
    /// From the last withdrawal on, where it left nearly nothing, until enough has flowed in.
    open: Option<Window>,
}

impl LevelSeries {
    /// A bucket that is full so far.
    pub fn new(bucket: TokenBucket, bins: usize, width: SimDuration) -> LevelSeries {
        let full = bucket.full(SimTime::ZERO);
        let gauge = Gauge::new(bucket, width.times(bins as u64));
        let shares = vec![1.0; bins];
        LevelSeries {
            bucket,
            gauge,
            width,
            shares,
            bin: 0,
            last: full,
            lowest: full,
            low: SimDuration::ZERO,
            open: None,
        }
    }

    /// The level fell to `state` in this bin, which is not before the last one.
    #[inline]
    pub fn fell(&mut self, bin: u32, state: &TokenBucketState) {
        if self.bin < bin as usize {
            self.carry_to(bin as usize);
        }
        if state.is_below(&self.lowest) {
            self.lowest = *state;
        }
        self.last = *state;
        // Most withdrawals leave enough and come after enough was left.
        let is_low = self.bucket.share_of(state) < NEARLY_EMPTY;
        if is_low || self.open.is_some() {
            self.turn(state, is_low);
        }
    }

    /// Ends the stretch with nearly nothing left, and begins the next one.
    fn turn(&mut self, state: &TokenBucketState, is_low: bool) {
        let now = self.gauge.touched(state, SimTime::ZERO + self.width.times(self.bin as u64 + 1));
        if let Some(open) = self.open.take() {
            self.low += open.to.min(now) - open.from;
        }
        self.open = is_low.then(|| Window { from: now, to: now + self.gauge.until_tenth(state) });
    }

    fn carry_to(&mut self, bin: usize) {
        self.shares[self.bin] = self.bucket.share_of(&self.lowest) as f32;
        while self.bin < bin {
            self.bin += 1;
            let start = SimTime::ZERO + self.width.times(self.bin as u64);
            self.lowest = self.bucket.refilled(&self.last, start);
            self.shares[self.bin] = self.bucket.share_of(&self.lowest) as f32;
        }
    }

    /// What was left, refilled to the end.
    pub fn finish(mut self) -> LevelCurve {
        self.carry_to(self.shares.len() - 1);
        LevelCurve { lowest: self.shares, low: self.low, open: self.open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_function_holds_its_value_between_changes() {
        let mut series = PeakSeries::new(6);
        series.set(1, 3);
        series.set(1, 1);
        series.set(4, 0);
        assert_eq!(series.finish(), [0, 3, 1, 1, 1, 0]);
    }

    #[test]
    fn a_level_refills_between_withdrawals() {
        // By hand: 10 a second, capacity 10; emptied at 0.5 s, so it holds 5 at 1 s and is full at 1.5 s.
        let second = SimDuration::from_secs(1);
        let bucket = TokenBucket::new(10, second, second).unwrap();
        let mut level = bucket.full(SimTime::ZERO);
        let mut series = LevelSeries::new(bucket, 4, second);
        bucket.withdraw(&mut level, 10, SimTime::from_nanos(500_000_000));
        series.fell(0, &level);
        let curve = series.finish();
        assert_eq!(curve.lowest, [0.0, 0.5, 1.0, 1.0]);
        // From nothing to a tenth in 0.1 s.
        assert_eq!(curve.below_tenth(SimTime::from_nanos(4_000_000_000)), SimDuration::from_millis(100));
        assert_eq!(curve.below_tenth(SimTime::from_nanos(540_000_000)), SimDuration::from_millis(40));
    }

    #[test]
    fn a_burst_limit_that_dips_once_in_each_bin_is_low_only_while_it_dips() {
        // By hand: 100 a second, capacity 100, emptied at 0.3 s of every 10 s: 0.1 s each until a tenth has flowed in.
        let second = SimDuration::from_secs(1);
        let bucket = TokenBucket::new(100, second, second).unwrap();
        let mut level = bucket.full(SimTime::ZERO);
        let mut series = LevelSeries::new(bucket, 6, second.times(10));
        for bin in 0..6 {
            bucket.withdraw(&mut level, 100, SimTime::from_nanos(u64::from(bin) * 10_000_000_000 + 300_000_000));
            series.fell(bin, &level);
        }
        let curve = series.finish();
        assert_eq!(curve.lowest, [0.0; 6]);
        assert_eq!(curve.below_tenth(SimTime::from_nanos(60_000_000_000)), SimDuration::from_millis(600));
    }

    #[test]
    fn withdrawals_into_a_low_level_lengthen_one_stretch() {
        // By hand: 100 a second, capacity 100. 95 gone at 1 s leave 5, a tenth is there at 1.05 s; at 1.02 s, with 7
        // left, 30 more leave a debt of 23, and a tenth is there 0.33 s later, at 1.35 s: 0.35 s in all.
        let second = SimDuration::from_secs(1);
        let bucket = TokenBucket::new(100, second, second).unwrap();
        let mut level = bucket.full(SimTime::ZERO);
        let mut series = LevelSeries::new(bucket, 3, second);
        for (tokens, nanos) in [(95, 1_000_000_000), (30, 1_020_000_000)] {
            bucket.withdraw(&mut level, tokens, SimTime::from_nanos(nanos));
            series.fell(1, &level);
        }
        assert_eq!(series.finish().below_tenth(SimTime::from_nanos(3_000_000_000)), SimDuration::from_millis(350));
    }
}
