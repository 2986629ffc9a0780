//! How much was left of a bucket that fills evenly, over time: the lowest share in each bin of the emptiest of several.

use crate::units::{SimDuration, SimTime};

/// The lowest share left in each bin.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    /// How long an empty bucket takes to fill.
    capacity: SimDuration,
    width: SimDuration,
    /// When the emptiest bucket is full, if nobody takes more. What is owed takes longer than the capacity.
    full: SimTime,
    lowest: Vec<f32>,
    bin: usize,
}

impl Fill {
    /// Full buckets.
    pub(super) fn new(capacity: SimDuration, bins: usize, width: SimDuration) -> Fill {
        Fill { capacity, width, full: SimTime::ZERO, lowest: vec![1.0; bins], bin: 0 }
    }

    /// Somebody has taken of a bucket, which is full after this time, in this bin.
    pub(super) fn taken(&mut self, until_full: SimDuration, bin: usize, now: SimTime) {
        self.carry_to(bin);
        self.full = self.full.max(now + until_full);
        self.lowest[bin] = self.lowest[bin].min(self.left(now));
    }

    /// The lowest in each bin, to the end.
    pub(super) fn finish(mut self) -> Vec<f32> {
        self.carry_to(self.lowest.len() - 1);
        self.lowest
    }

    fn left(&self, now: SimTime) -> f32 {
        let missing = self.full.since(now).as_secs_f64() / self.capacity.as_secs_f64();
        (1.0 - missing).clamp(0.0, 1.0) as f32
    }

    /// What is there where a bin begins is part of it.
    fn carry_to(&mut self, bin: usize) {
        while self.bin < bin {
            self.bin += 1;
            let start = SimTime::ZERO + self.width.times(self.bin as u64);
            if start >= self.full {
                self.bin = bin;
                return;
            }
            self.lowest[self.bin] = self.left(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_between_those_who_take_and_stays_empty_while_it_owes() {
        // By hand, bins of 10 s, 20 s from empty to full: half is taken at 5 s, so that there is 75 % at 10 s and all at
        // 15 s; at 30 s so much that it is full at 60 s only: nothing left until 40 s, half at 50 s.
        let at = SimTime::from_secs_f64;
        let mut fill = Fill::new(SimDuration::from_secs(20), 7, SimDuration::from_secs(10));
        fill.taken(SimDuration::from_secs(10), 0, at(5.0));
        fill.taken(SimDuration::from_secs(30), 3, at(30.0));
        assert_eq!(fill.finish(), [0.5, 0.75, 1.0, 0.0, 0.0, 0.5, 1.0]);
    }
}
