//! Is a run stuck at its end? Not whether a queue is longer than before, but whether people are answered: in the last
//! quarter of the time after the last fault window, the very end left out, what was answered is held against what was
//! asked for.

use crate::observe::Timeline;
use crate::observe::timeline::AnswerKind;
use crate::scenario::Scenario;
use crate::units::SimTime;

/// Below this share of what was asked for a run is stuck.
pub const STUCK: f64 = 0.5;

/// The share of the requests needed at the end that were answered, of the class that got least; `None` where nothing
/// was asked for then. Of jobs whose messages may be handed out again it is the share of the jobs that were done.
pub fn goodput_at_end(scenario: &Scenario, timeline: &Timeline) -> Option<f64> {
    let end = scenario.fault_windows().iter().map(|(_, window)| window.to).max().unwrap_or(SimTime::ZERO);
    let quarter = (scenario.horizon - end).as_nanos() / 4;
    let horizon = scenario.horizon.as_nanos();
    // What was asked for at the very end has had no time.
    let (from, to) = (horizon - quarter, horizon - quarter / 10);
    let bin = timeline.bin.as_nanos();
    let bins = (from.div_ceil(bin) as usize).min(timeline.bins)..((to / bin) as usize).min(timeline.bins);
    let of_class = |index: usize| {
        let series = &timeline.classes[index];
        let sum = |series: &[u32]| series[bins.clone()].iter().map(|n| u64::from(*n)).sum::<u64>() as f64;
        let arrived = sum(&series.arrivals);
        // Where a job may be done twice, what is delivered may be for nobody: only a job that is done counts.
        let (answered, needed) = if series.deliveries.is_empty() {
            let steps = scenario.traffic[index].steps.len() as f64;
            (sum(&series.answers[AnswerKind::Delivered as usize]), arrived * steps)
        } else {
            (sum(&series.deliveries), arrived)
        };
        (needed > 0.0).then(|| (answered / needed).min(1.0))
    };
    if bins.is_empty() {
        return None;
    }
    (0..timeline.classes.len()).filter_map(of_class).reduce(f64::min)
}
