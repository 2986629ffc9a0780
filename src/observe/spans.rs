//! How much of each bin something lasted, over many spans of time that may overlap. Each span costs the same, however
//! many bins it crosses.

use crate::units::{SimDuration, SimTime};

/// Weighted time in bins.
#[derive(Clone, Debug)]
pub struct Spans {
    width: SimDuration,
    /// Seconds in each bin of the spans that begin or end in it.
    parts: Vec<f64>,
    /// By how much the weight of the spans that fill a bin to both ends changes where the bin begins.
    turns: Vec<f64>,
}

impl Spans {
    /// Nothing so far.
    pub fn new(bins: usize, width: SimDuration) -> Spans {
        Spans { width, parts: vec![0.0; bins], turns: vec![0.0; bins + 1] }
    }

    /// From one instant to another it is there with this weight; what lies beyond the last bin is left out.
    pub fn add(&mut self, from: SimTime, to: SimTime, weight: f64) {
        let bins = self.parts.len();
        let end = SimTime::ZERO + self.width.times(bins as u64);
        let (from, to) = (from.min(end), to.min(end));
        if from >= to {
            return;
        }
        let bin = |at: SimTime| (at.as_nanos() / self.width.as_nanos()) as usize;
        let start = |bin: usize| SimTime::ZERO + self.width.times(bin as u64);
        let (first, last) = (bin(from), bin(to));
        if first == last {
            self.parts[first] += weight * to.since(from).as_secs_f64();
            return;
        }
        self.parts[first] += weight * start(first + 1).since(from).as_secs_f64();
        if last < bins {
            self.parts[last] += weight * to.since(start(last)).as_secs_f64();
        }
        self.turns[first + 1] += weight;
        self.turns[last] -= weight;
    }

    /// The mean over each bin of how much was there at once; the last bin ends with the run.
    pub fn means(&self, length: SimDuration) -> Vec<f32> {
        let mut whole = 0.0;
        let mean = |(bin, (part, turn)): (usize, (&f64, &f64))| {
            whole += turn;
            let start = self.width.times(bin as u64);
            let lasts = length.saturating_sub(start).min(self.width).as_secs_f64();
            if lasts <= 0.0 {
                return 0.0;
            }
            // Sums of floats that should cancel leave crumbs.
            let mean = ((part + whole * self.width.as_secs_f64()) / lasts) as f32;
            if mean < 1e-6 { 0.0 } else { mean }
        };
        self.parts.iter().zip(&self.turns).enumerate().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> SimTime {
        SimTime::from_secs_f64(seconds)
    }

    #[test]
    fn spans_fill_their_bins_by_the_time_that_they_last_there() {
        // By hand, bins of 10 s in a run of 45 s: 5 to 32 s, 12 to 14 s twice as heavy, and 41 s to the end.
        let mut spans = Spans::new(5, SimDuration::from_secs(10));
        spans.add(at(5.0), at(32.0), 1.0);
        spans.add(at(12.0), at(14.0), 2.0);
        spans.add(at(41.0), SimTime::NEVER, 1.0);
        // What ends beyond the run fills the last bin beyond its end: the caller cuts it there.
        let means = spans.means(SimDuration::from_secs(50));
        assert_eq!(means, [0.5, 1.4, 1.0, 0.2, 0.9]);
        let mut cut = Spans::new(5, SimDuration::from_secs(10));
        cut.add(at(41.0), at(45.0), 1.0);
        assert_eq!(cut.means(SimDuration::from_secs(45))[4], 0.8);
    }
}
