//! A run of two hours may have its story in the first eighty minutes. The axis shows from the first arrival until
//! things have been quiet for a while, and the foot says what was cut.

use super::axis;
use super::facts::Facts;
use super::incident::Incident;
use crate::observe::Timeline;
use crate::observe::timeline::{AnswerKind, WorkerActivity};
use crate::scenario::Scenario;

/// How much longer than the story the axis goes on, to show that it is over.
const AFTERMATH: f64 = 0.35;
/// How much of the story's length the axis shows before it, to show what is normal.
const LEAD: f64 = 0.25;
/// A cut that saves less than this share of the axis is not worth a sentence in the foot.
const WORTH_A_CUT: f64 = 0.15;

/// What the axis shows, in seconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    /// The first instant.
    pub(super) from: f64,
    /// The last one.
    pub(super) to: f64,
    /// The first instant at which anything is to be seen, where it is not shown.
    pub(super) lead: Option<f64>,
    /// The end of the run, where it is not shown.
    pub(super) cut: Option<f64>,
}

impl Range {
    /// The range of a run.
    pub(super) fn of(facts: &Facts<'_>, incident: &Incident) -> Range {
        let timeline = &facts.result.timeline;
        let end = end_of(timeline, facts.scenario);
        let (first, last) = busy(timeline, end);
        // Series count a request when it was sent; a row goes on until its answer is there.
        let ends = facts.result.tracks.iter().filter_map(|track| Some(track.ended?.0.as_secs_f64()));
        let last = ends.fold(last, f64::max);
        if !facts.result.tracks.is_empty() {
            return Range::tidy(first, last, facts.scenario, end);
        }
        let Some((start, over)) = story(timeline, incident, last) else {
            return Range::tidy(first, last, facts.scenario, end);
        };
        if over <= first {
            return Range::tidy(first, last, facts.scenario, end);
        }
        let length = (over - start).max(timeline.wide.as_secs_f64());
        let from = first.max(start - LEAD * length);
        let to = (over + AFTERMATH * length).min(last.max(over));
        let lead = (from > first).then_some(first);
        Range { lead, ..Range::tidy(from, to, facts.scenario, end) }
    }

    /// The range that shows what either shows.
    pub(super) fn joined(&self, other: &Range) -> Range {
        let to = self.to.max(other.to);
        let beyond = self.cut.into_iter().chain(other.cut).fold(0.0, f64::max);
        let ahead = self.lead.into_iter().chain(other.lead).fold(f64::INFINITY, f64::min);
        let from = self.from.min(other.from);
        Range { from, to, lead: (ahead < from).then_some(ahead), cut: (beyond > to).then_some(beyond) }
    }

    /// Rounds the end, and drops cuts that save little.
    fn tidy(from: f64, to: f64, scenario: &Scenario, end: f64) -> Range {
        let to = axis::round_up(to, scenario.origin.as_secs_f64(), (to - from).max(1e-3)).min(end);
        let to = if end - to <= WORTH_A_CUT * (end - from) { end } else { to };
        // A run without any length still needs an axis.
        let to = to.max(from + 1e-3);
        Range { from, to, lead: None, cut: (to < end).then_some(end) }
    }

    /// What happens before the first instant: tasks that failed, requests answered 429.
    pub(super) fn ahead(&self, timeline: &Timeline) -> (u64, u64) {
        let bins = (self.from / timeline.bin.as_secs_f64()).floor() as usize;
        Range::trouble(timeline, |series| &series[..bins.min(series.len())])
    }

    /// What happens after the cut.
    pub(super) fn beyond(&self, timeline: &Timeline) -> (u64, u64) {
        let first = (self.to / timeline.bin.as_secs_f64()).ceil() as usize;
        Range::trouble(timeline, |series| &series[first.min(series.len())..])
    }

    fn trouble(timeline: &Timeline, part: impl Fn(&[u32]) -> &[u32]) -> (u64, u64) {
        let rest = |series: &[u32]| part(series).iter().map(|&n| u64::from(n)).sum::<u64>();
        timeline.classes.iter().fold((0, 0), |(failed, throttled), class| {
            (failed + rest(&class.failures), throttled + rest(&class.answers[AnswerKind::Throttled as usize]))
        })
    }
}

/// The end of the run in seconds.
pub(super) fn end_of(timeline: &Timeline, scenario: &Scenario) -> f64 {
    let binned = timeline.bin.as_secs_f64() * timeline.bins as f64;
    let horizon = scenario.horizon.as_secs_f64();
    if binned > 0.0 { horizon.min(binned) } else { horizon }
}

/// The first and the last instant at which anything is to be seen.
fn busy(timeline: &Timeline, end: f64) -> (f64, f64) {
    let bin = timeline.bin.as_secs_f64();
    let anything = |i: usize| {
        timeline.classes.iter().any(|class| {
            let some = |series: &Vec<u32>| series.get(i).is_some_and(|&n| n > 0);
            let working = WorkerActivity::ALL
                .iter()
                .filter(|activity| **activity != WorkerActivity::Idle)
                .any(|&activity| class.workers[activity as usize].get(i).is_some_and(|&s| s > 0.0));
            some(&class.arrivals) || some(&class.queue) || class.answers.iter().any(some) || working
        })
    };
    let first = (0..timeline.bins).find(|&i| anything(i));
    let last = (0..timeline.bins).rev().find(|&i| anything(i));
    match (first, last) {
        (Some(first), Some(last)) => (first as f64 * bin, ((last + 1) as f64 * bin).min(end)),
        (Some(_) | None, _) => (0.0, end),
    }
}

/// From the first fault window until everything is back; `None` without a window.
fn story(timeline: &Timeline, incident: &Incident, last: f64) -> Option<(f64, f64)> {
    let start = incident.windows.first()?.from;
    let recovered = match (incident.recovered, incident.unrecovered) {
        (Some(at), _) => at,
        (None, true) => last,
        (None, false) => incident.end,
    };
    let back = recovered.max(incident.end).max(queue_back(timeline, start));
    Some((start, back.max(last_trouble(timeline, start))))
}

/// The end of the last bin in which a task failed for good, a request was throttled or met an overload, or clearly more
/// was sent than ever before `start`: retries may come long after the queue is empty.
fn last_trouble(timeline: &Timeline, start: f64) -> f64 {
    let (bin, wide) = (timeline.bin.as_secs_f64(), timeline.wide.as_secs_f64());
    let end_of_last = |series: &[u32]| series.iter().rposition(|&n| n > 0).map_or(0.0, |i| (i + 1) as f64 * bin);
    let per_wide = (wide / bin).round().max(1.0) as usize;
    timeline.classes.iter().fold(0.0, |latest: f64, class| {
        let bad = [AnswerKind::Throttled, AnswerKind::Overloaded].map(|kind| &class.answers[kind as usize]);
        let sent: Vec<u32> = (0..timeline.bins).map(|i| class.answers.iter().filter_map(|n| n.get(i)).sum()).collect();
        let sent: Vec<u32> = sent.chunks(per_wide).map(|bins| bins.iter().sum()).collect();
        let usual = sent.iter().take((start / (bin * per_wide as f64)) as usize).max().copied();
        let many = |&n: &u32| usual.is_some_and(|usual| f64::from(n) > 1.5 * f64::from(usual) + 2.0);
        let retried = sent.iter().rposition(many).map_or(0.0, |i| ((i + 1) * per_wide) as f64 * bin);
        bad.into_iter().chain([&class.failures]).map(|series| end_of_last(series)).fold(latest.max(retried), f64::max)
    })
}

/// The end of the last bin in which a queue is clearly longer than it was before `start`.
fn queue_back(timeline: &Timeline, start: f64) -> f64 {
    let bin = timeline.bin.as_secs_f64();
    let before = (start / bin) as usize;
    timeline.classes.iter().fold(0.0, |latest: f64, class| {
        let usual = class.queue.iter().take(before).max().copied().unwrap_or(0);
        let peak = class.queue.iter().max().copied().unwrap_or(0);
        let long = |&n: &u32| n > usual && f64::from(n) > 0.05 * f64::from(peak);
        let back = class.queue.iter().rposition(long).map_or(0.0, |i| (i + 1) as f64 * bin);
        latest.max(back)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{fixture, odd};
    use super::*;

    fn range(fixture: &fixture::Fixture) -> Range {
        let facts = Facts { result: &fixture.result, scenario: &fixture.scenario };
        Range::of(&facts, &Incident::of(&facts))
    }

    #[test]
    fn a_long_quiet_end_is_cut_at_a_round_instant() {
        // The story is 29 minutes long, from minute 10 of the run on: a quarter of it before, a third after, rounded.
        let shown = range(&fixture::incident());
        assert_eq!((shown.from, shown.to, shown.cut), (600.0 - 435.0, 3000.0, Some(7200.0)));
    }

    #[test]
    fn failures_refusals_and_retries_long_after_the_recovery_are_shown() {
        let late: [fn(&mut crate::observe::timeline::ClassSeries); 3] = [
            |class| class.failures[500] = 2,
            |class| class.answers[AnswerKind::Throttled as usize][500] = 3,
            |class| class.answers[AnswerKind::Delivered as usize][500] = 300,
        ];
        for trouble in late {
            let mut fixture = fixture::incident();
            trouble(&mut fixture.result.timeline.classes[1]);
            let shown = range(&fixture);
            assert!(shown.to >= 5_010.0, "{shown:?}");
            assert_eq!(shown.beyond(&fixture.result.timeline), (0, 0));
        }
    }

    #[test]
    fn a_run_without_a_fault_is_shown_from_its_first_to_its_last_request() {
        // The only job arrives in second 5; its last request is answered in second 15.
        let shown = range(&odd::tiny());
        assert_eq!((shown.from, shown.to), (5.0, 16.0));
    }

    #[test]
    fn an_empty_run_is_shown_whole() {
        assert_eq!(range(&odd::nothing()), Range { from: 0.0, to: 600.0, lead: None, cut: None });
    }
}
