//! What was left of a limit over a run, whatever its algorithm. A token bucket is followed to the nanosecond between two
//! withdrawals; of the other algorithms what was left after a request holds until all is there again.

use super::series::{LevelCurve, LevelSeries, NEARLY_EMPTY};
use crate::policy::meter::{Meter, MeterState};
use crate::provider::{Limit, Window};
use crate::units::{SimDuration, SimTime};

/// What is left of one limit.
#[derive(Clone, Debug)]
pub enum LimitSeries {
    /// Of a token bucket whose amount stays the same.
    Bucket(LevelSeries),
    /// Of any other.
    Share(ShareSeries),
}

/// The lowest share left in each bin.
#[derive(Clone, Debug)]
pub struct ShareSeries {
    shares: Vec<f32>,
    width: SimDuration,
    bin: usize,
    /// What was left after the last request, and until when that holds.
    last: f64,
    full: SimTime,
    low: SimDuration,
    /// From when nearly nothing is left, and until when at most.
    open: Option<Window>,
}

impl LimitSeries {
    /// A limit of which nothing was used so far.
    pub fn new(limit: &Limit, bins: usize, width: SimDuration) -> LimitSeries {
        match limit.meter {
            Meter::TokenBucket(bucket) if limit.terms.as_ref().is_none_or(|terms| terms.changes.is_empty()) => {
                LimitSeries::Bucket(LevelSeries::new(bucket, bins, width))
            }
            _ => LimitSeries::Share(ShareSeries {
                shares: vec![1.0; bins],
                width,
                bin: 0,
                last: 1.0,
                full: SimTime::ZERO,
                low: SimDuration::ZERO,
                open: None,
            }),
        }
    }

    /// A request was charged in this bin, which is not before the last one.
    #[inline]
    pub fn fell(&mut self, bin: u32, now: SimTime, meter: &Meter, level: &MeterState) {
        match (self, level) {
            (LimitSeries::Bucket(series), MeterState::TokenBucket(level)) => series.fell(bin, level),
            (LimitSeries::Share(series), level) => {
                // What is held comes back when services end, which nobody knows here.
                let full = if matches!(meter, Meter::InFlight(_)) { now } else { now + meter.until_full(level, now) };
                series.fell(bin, now, meter.share(level, now), full);
            }
            (LimitSeries::Bucket(_), _) => {}
        }
    }

    /// What was left, to the end.
    pub fn finish(self) -> LevelCurve {
        match self {
            LimitSeries::Bucket(series) => series.finish(),
            LimitSeries::Share(mut series) => {
                series.carry_to(series.shares.len() - 1);
                LevelCurve::with(series.shares, series.low, series.open)
            }
        }
    }
}

impl ShareSeries {
    fn fell(&mut self, bin: u32, now: SimTime, share: f64, full: SimTime) {
        self.carry_to(bin as usize);
        self.shares[self.bin] = self.shares[self.bin].min(share as f32);
        if let Some(open) = self.open.take() {
            self.low += open.to.min(now) - open.from;
        }
        self.open = (share < NEARLY_EMPTY && full > now).then_some(Window { from: now, to: full });
        (self.last, self.full) = (share, full);
    }

    fn carry_to(&mut self, bin: usize) {
        while self.bin < bin {
            self.bin += 1;
            if self.full > SimTime::ZERO + self.width.times(self.bin as u64) {
                self.shares[self.bin] = self.last as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_window_holds_until_its_end() {
        // By hand: bins of 10 s; at 5 s 5 % of a minute's window are left, which holds for 55 s.
        let at = |seconds| SimTime::ZERO + SimDuration::from_secs(seconds);
        let mut series = ShareSeries {
            shares: vec![1.0; 9],
            width: SimDuration::from_secs(10),
            bin: 0,
            last: 1.0,
            full: SimTime::ZERO,
            low: SimDuration::ZERO,
            open: None,
        };
        series.fell(0, at(5), 0.05, at(60));
        series.fell(6, at(62), 0.5, at(120));
        let curve = LimitSeries::Share(series).finish();
        assert_eq!(curve.lowest, [0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.5, 0.5, 0.5]);
        assert_eq!(curve.below_tenth(at(90)), SimDuration::from_secs(55));
    }
}
