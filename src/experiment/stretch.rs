//! Numbers that are read from the series of a run: how long a queue became, and how bad the worst stretch of time was.
//!
//! A share over a whole run shrinks when the run goes on after the trouble. The largest share in any stretch of a stated
//! length does not, and it asks the same of a policy that ends the trouble soon and of one that draws it out.

use crate::observe::Timeline;
use crate::observe::timeline::ClassSeries;
use crate::units::{SimDuration, parse};

/// The longest queue of a class.
pub const QUEUE_PEAK: &str = "queue_peak";

const WORST: &str = "worst_429_share.";

/// The largest share of tasks with a 429 among those that arrived in any stretch of this length.
pub fn worst_429_share(within: SimDuration) -> String {
    format!("{WORST}{within}")
}

/// The number of this name, where it is one of these.
pub(super) fn value(key: &str, timeline: &Timeline, class: &ClassSeries) -> Option<f64> {
    if key == QUEUE_PEAK {
        return Some(f64::from(class.queue.iter().copied().max().unwrap_or(0)));
    }
    let within = parse::duration(key.strip_prefix(WORST)?).ok()?;
    let bins = (within.as_nanos().div_ceil(timeline.wide.as_nanos()).max(1) as usize).min(timeline.wides.max(1));
    Some(worst(&class.wide_arrivals, &class.wide_with_429, bins))
}

/// The largest share in so many neighbouring bins; NaN where nothing arrived at all.
fn worst(arrived: &[u32], met: &[u32], bins: usize) -> f64 {
    let sum = |series: &[u32]| series.iter().map(|n| u64::from(*n)).sum::<u64>();
    let share = |(arrived, met): (&[u32], &[u32])| {
        let whole = sum(arrived);
        (whole > 0).then(|| sum(met) as f64 / whole as f64)
    };
    arrived.windows(bins).zip(met.windows(bins)).filter_map(share).fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_stretch_is_found_wherever_it_lies() {
        // By hand: of three bins each, 5 of 30, 6 of 25, 6 of 15, 1 of 5, then nothing arrives.
        let (arrived, met) = ([10, 10, 10, 5, 0, 0, 0], [0, 0, 5, 1, 0, 0, 0]);
        assert!((worst(&arrived, &met, 3) - 6.0 / 15.0).abs() < 1e-12);
        assert!((worst(&arrived, &met, 1) - 5.0 / 10.0).abs() < 1e-12);
        assert!((worst(&arrived, &met, 7) - 6.0 / 35.0).abs() < 1e-12);
        assert!(worst(&[0, 0], &[0, 0], 2).is_nan());
    }
}
