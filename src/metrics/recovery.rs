//! Recovery: how long after the last fault window things are back.
//!
//! Three things are looked at, each against what it was before the first window: the queue, and that before the servers,
//! is no longer than its largest value then, or empty; the share of live tasks that meet a 429 is at most one point above its value then;
//! requests per call are within 10 % of theirs. The run has recovered where all three are back together for a whole
//! minute. Each thing's own time is when it was out of bounds for the last time before that, so that the latest of the
//! three is *the* recovery. A thing that is calm at first and then gets worse, as live 429s are while a full bucket
//! still feeds the burst, is not back before it is calm again.

use crate::observe::Timeline;
use crate::observe::timeline::ClassSeries;
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};

/// How much the share of live tasks with a 429 may lie above its value before the first window.
const SHARE_SLACK: f64 = 0.01;
/// By what factor requests per call may exceed their value before the first window.
const RATIO_SLACK: f64 = 1.1;
/// How long all must be back: shorter, and a gap between two arrivals would be a recovery.
const MINUTE: SimDuration = SimDuration::from_mins(1);

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
    let before = |width: SimDuration, bins: usize| ((begin.as_nanos() / width.as_nanos()) as usize).min(bins);
    let (narrow, wide) = (before(timeline.bin, timeline.bins), before(timeline.wide, timeline.wides));
    let classes = || scenario.traffic.iter().zip(&timeline.classes);
    let [mut queue, mut live_429, mut ratio] = std::array::from_fn(|_| Calm::after(timeline, end));
    for (class, series) in classes() {
        if class.is_live() {
            let bound = share_before(series, wide) + SHARE_SLACK;
            live_429.and_wide(timeline, |bin| series.share_with_429(bin).is_none_or(|share| share <= bound));
        } else {
            let normal = series.queue[..narrow].iter().copied().max().unwrap_or(0);
            queue.and_narrow(|bin| series.queue[bin] <= normal);
        }
        let bound = ratio_before(series, wide) * RATIO_SLACK;
        ratio.and_wide(timeline, |bin| series.requests_per_call(bin).is_none_or(|ratio| ratio <= bound));
    }
    if !timeline.waiting.is_empty() {
        // Whoever waits for a server waits as those do who wait for a worker.
        let normal = timeline.waiting[..narrow].iter().copied().max().unwrap_or(0);
        queue.and_narrow(|bin| timeline.waiting[bin] <= normal);
    }
    let needed = (MINUTE.as_nanos().div_ceil(timeline.bin.as_nanos()) as usize).max(1);
    let until = Calm::together(&[&queue, &live_429, &ratio], needed);
    let back = |calm: &Calm| match calm.back(until, needed)? {
        0 => Some(SimDuration::ZERO),
        bin => Some(timeline.bin_start(calm.first + bin) - end),
    };
    Some(Recovery { queue: back(&queue), live_429: back(&live_429), requests_per_call: back(&ratio) })
}

/// When the recovery phase of a run ends: when things are back, or at the horizon.
pub fn recovered_at(scenario: &Scenario, timeline: &Timeline) -> SimTime {
    let end = scenario.fault_windows().iter().map(|(_, window)| window.to).max().unwrap_or(SimTime::ZERO);
    let total = recovery(scenario, timeline).and_then(|recovery| recovery.total());
    total.map_or(scenario.horizon, |total| (end + total).min(scenario.horizon))
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

/// In which narrow bins after the last window a thing is within its bounds.
struct Calm {
    /// The first bin that begins after the window.
    first: usize,
    /// From that bin on.
    bins: Vec<bool>,
}

impl Calm {
    fn after(timeline: &Timeline, end: SimTime) -> Calm {
        let first = end.as_nanos().div_ceil(timeline.bin.as_nanos()) as usize;
        Calm { first, bins: vec![true; timeline.bins.saturating_sub(first)] }
    }

    fn and_narrow(&mut self, calm: impl Fn(usize) -> bool) {
        for (bin, is_calm) in (self.first..).zip(&mut self.bins) {
            *is_calm &= calm(bin);
        }
    }

    /// The same for what is counted in wide bins. One that began in the window says nothing of the time after it.
    fn and_wide(&mut self, timeline: &Timeline, calm: impl Fn(usize) -> bool) {
        let (narrow, wide) = (timeline.bin.as_nanos(), timeline.wide.as_nanos());
        let first = (self.first as u64 * narrow).div_ceil(wide) as usize;
        self.and_narrow(|bin| {
            let (from, to) = (bin as u64 * narrow / wide, ((bin as u64 + 1) * narrow).div_ceil(wide));
            (from as usize..(to as usize).min(timeline.wides)).all(|wide| wide < first || calm(wide))
        });
    }

    /// From which bin on, counted from the first, all things are calm for so many bins.
    fn together(all: &[&Calm], needed: usize) -> Option<usize> {
        let bins = all.iter().map(|calm| calm.bins.len()).min()?;
        let mut run = 0;
        for bin in 0..bins {
            run = if all.iter().all(|calm| calm.bins[bin]) { run + 1 } else { 0 };
            if run == needed {
                return Some(bin + 1 - needed);
            }
        }
        None
    }

    /// Behind which bin, counted from the first, this thing was back: the last one out of bounds before `until`. Where
    /// not everything is ever back, a thing is if it ends with so many calm bins.
    fn back(&self, until: Option<usize>, needed: usize) -> Option<usize> {
        let looked_at = &self.bins[..until.unwrap_or(self.bins.len())];
        let calm_from = looked_at.iter().rposition(|is_calm| !is_calm).map_or(0, |last| last + 1);
        (until.is_some() || looked_at.len() - calm_from >= needed).then_some(calm_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm(bins: &str) -> Calm {
        Calm { first: 0, bins: bins.bytes().map(|bin| bin == b'.').collect() }
    }

    /// When all are back together for three bins, and when each is.
    fn back(things: [&str; 3]) -> (Option<usize>, [Option<usize>; 3]) {
        let things = things.map(calm);
        let until = Calm::together(&[&things[0], &things[1], &things[2]], 3);
        (until, things.map(|thing| thing.back(until, 3)))
    }

    #[test]
    fn each_thing_is_back_when_it_was_out_of_bounds_for_the_last_time() {
        assert_eq!(back(["xxxx....", "..xx....", "........"]), (Some(4), [Some(4), Some(4), Some(0)]));
        // Calm for three bins at first, and not back before it is calm again.
        assert_eq!(back(["xxxxx...", "...x....", "........"]), (Some(5), [Some(5), Some(4), Some(0)]));
        // What happens after all were back for the whole span is another story.
        assert_eq!(back(["x...x...", "........", "........"]), (Some(1), [Some(1), Some(0), Some(0)]));
    }

    #[test]
    fn without_a_whole_span_in_which_all_are_calm_there_is_no_recovery() {
        assert_eq!(back(["xxxx....", "......x.", "........"]), (None, [Some(4), None, Some(0)]));
        assert_eq!(back(["..", "..", ".."]), (None, [None; 3]));
        assert_eq!(back(["", "", ""]), (None, [None; 3]));
    }
}
