//! Recovery: how long after the last fault window things are back.
//!
//! Three things are looked at, each against what it was before the first window: the queue is no longer than its
//! largest value then, or empty; the share of live tasks that meet a 429 is at most one point above its value then;
//! requests per call are within 10 % of theirs. Each is back when it stays so for a whole minute; the latest of the
//! three is *the* recovery.

use crate::observe::Timeline;
use crate::observe::timeline::ClassSeries;
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};

/// How much the share of live tasks with a 429 may lie above its value before the first window.
const SHARE_SLACK: f64 = 0.01;
/// By what factor requests per call may exceed their value before the first window.
const RATIO_SLACK: f64 = 1.1;

/// Seconds from the end of the last fault window until each thing is back; `None` where it is not before the horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recovery {
    /// The queues.
    pub queue: Option<SimDuration>,
    /// The share of live tasks that met a 429.
    pub live_429: Option<SimDuration>,
    /// Requests per call.
    pub requests_per_call: Option<SimDuration>,
}

impl Recovery {
    /// The latest of the three.
    pub fn total(&self) -> Option<SimDuration> {
        Some(self.queue?.max(self.live_429?).max(self.requests_per_call?))
    }
}

/// The recovery of a run; `None` without a fault window.
pub fn recovery(scenario: &Scenario, timeline: &Timeline) -> Option<Recovery> {
    let windows = scenario.fault_windows();
    let begin = windows.first()?.1.from;
    let end = windows.iter().map(|(_, window)| window.to).max()?;
    let narrow = Grid::new(timeline.bin, timeline.bins, begin, end);
    let wide = Grid::new(timeline.wide, timeline.wides, begin, end);
    let minute = SimDuration::from_mins(1);
    let classes = || scenario.traffic.iter().zip(&timeline.classes);
    let queue = classes().filter(|(class, _)| !class.is_live()).map(|(_, series)| {
        let normal = series.queue[..narrow.before].iter().copied().max().unwrap_or(0);
        narrow.back(minute, |bin| series.queue[bin] <= normal)
    });
    let live_429 = classes().filter(|(class, _)| class.is_live()).map(|(_, series)| {
        let bound = share_before(series, wide.before) + SHARE_SLACK;
        wide.back(timeline.wide, |bin| series.share_with_429(bin).is_none_or(|share| share <= bound))
    });
    let ratio = classes().map(|(_, series)| {
        let bound = ratio_before(series, wide.before) * RATIO_SLACK;
        wide.back(timeline.wide, |bin| series.requests_per_call(bin).is_none_or(|ratio| ratio <= bound))
    });
    Some(Recovery { queue: latest(queue), live_429: latest(live_429), requests_per_call: latest(ratio) })
}

/// When the recovery phase of a run ends: when things are back, or at the horizon.
pub fn recovered_at(scenario: &Scenario, timeline: &Timeline) -> SimTime {
    let end = scenario.fault_windows().iter().map(|(_, window)| window.to).max().unwrap_or(SimTime::ZERO);
    let total = recovery(scenario, timeline).and_then(|recovery| recovery.total());
    total.map_or(scenario.horizon, |total| (end + total).min(scenario.horizon))
}

/// The latest of several times; `None` where one of them never comes.
fn latest(mut times: impl Iterator<Item = Option<SimDuration>>) -> Option<SimDuration> {
    times.try_fold(SimDuration::ZERO, |latest, time| Some(latest.max(time?)))
}

fn share_before(series: &ClassSeries, bins: usize) -> f64 {
    quotient(&series.wide_with_429[..bins], &series.wide_arrivals[..bins]).unwrap_or(0.0)
}

fn ratio_before(series: &ClassSeries, bins: usize) -> f64 {
    quotient(&series.wide_requests[..bins], &series.wide_calls[..bins]).unwrap_or(1.0)
}

fn quotient(parts: &[u32], wholes: &[u32]) -> Option<f64> {
    let sum = |series: &[u32]| series.iter().map(|n| u64::from(*n)).sum::<u64>() as f64;
    let whole = sum(wholes);
    (whole > 0.0).then(|| sum(parts) / whole)
}

/// The bins of a series around the fault windows.
struct Grid {
    width: SimDuration,
    bins: usize,
    end: SimTime,
    /// Bins that end before the first window.
    before: usize,
    /// The first bin that begins after the last window.
    first: usize,
}

impl Grid {
    fn new(width: SimDuration, bins: usize, begin: SimTime, end: SimTime) -> Grid {
        let before = ((begin.as_nanos() / width.as_nanos()) as usize).min(bins);
        let first = end.as_nanos().div_ceil(width.as_nanos()) as usize;
        Grid { width, bins, end, before, first }
    }

    /// When, after the last window, `calm` holds in every bin of a span this long.
    fn back(&self, span: SimDuration, calm: impl Fn(usize) -> bool) -> Option<SimDuration> {
        let needed = (span.as_nanos().div_ceil(self.width.as_nanos()) as usize).max(1);
        let mut run = 0;
        for bin in self.first..self.bins {
            run = if calm(bin) { run + 1 } else { 0 };
            if run == needed {
                let start = SimTime::ZERO + self.width.times((bin + 1 - needed) as u64);
                return Some(start - self.end);
            }
        }
        None
    }
}
