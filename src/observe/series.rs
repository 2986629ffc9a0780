//! Series that are written as values change and read in bins: between two changes the last value holds (a queue) or
//! refills (a limit), so nothing has to be sampled.

use crate::policy::token_bucket::{TokenBucket, TokenBucketState};
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

/// The lowest share left of a limit in each bin.
#[derive(Clone, Debug)]
pub struct LevelSeries {
    bucket: TokenBucket,
    width: SimDuration,
    shares: Vec<f32>,
    bin: usize,
    /// The state after the last withdrawal.
    last: TokenBucketState,
    /// The lowest state in the current bin.
    lowest: TokenBucketState,
}

impl LevelSeries {
    /// A bucket that is full so far.
    pub fn new(bucket: TokenBucket, bins: usize, width: SimDuration) -> LevelSeries {
        let full = bucket.full(SimTime::ZERO);
        LevelSeries { bucket, width, shares: vec![1.0; bins], bin: 0, last: full, lowest: full }
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

    /// The lowest share in each bin, refilled to the end.
    pub fn finish(mut self) -> Vec<f32> {
        self.carry_to(self.shares.len() - 1);
        self.shares
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
        assert_eq!(series.finish(), [0.0, 0.5, 1.0, 1.0]);
    }
}
