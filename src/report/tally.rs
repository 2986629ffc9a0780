//! The finding of a small run of several situations: no class is the cause of anything, so that all of them are counted
//! together.

use super::quantity::count;
use super::story::Subject;
use super::words::spelled;
use crate::sim::Fate;

/// The fewest classes of which none stands for all.
const SEVERAL: usize = 3;

/// Whether a run is a few tasks of several classes, told one by one.
pub(super) fn is_tally(subject: &Subject<'_>) -> bool {
    !subject.result.tracks.is_empty() && classes(subject) >= SEVERAL && !subject.is_replicated()
}

/// How many classes have tasks.
fn classes(subject: &Subject<'_>) -> usize {
    let tracks = &subject.result.tracks;
    (0..subject.scenario.traffic.len()).filter(|class| tracks.iter().any(|track| track.class == *class)).count()
}

/// "Twelve tasks, one of each class, sent 28 requests; six failed, and one was not over."; `None` for any other run.
pub(super) fn tally(subject: &Subject<'_>) -> Option<String> {
    if !is_tally(subject) {
        return None;
    }
    let tracks = &subject.result.tracks;
    let requests: usize = tracks.iter().map(|track| track.requests.len()).sum();
    let failed = tracks.iter().filter(|track| matches!(track.ended, Some((_, Fate::Failed)))).count();
    let open = tracks.iter().filter(|track| track.ended.is_none()).count();
    let mut fates =
        vec![if failed == 0 { "none failed".to_owned() } else { format!("{} failed", spelled(failed as f64)) }];
    if open > 0 {
        fates.push(format!("{} {} not over", spelled(open as f64), if open == 1 { "was" } else { "were" }));
    }
    let tasks = super::words::capitalised(&spelled(tracks.len() as f64));
    let all = count(requests as f64);
    let classes = classes(subject);
    let each = if classes == tracks.len() {
        ", one of each class,".to_owned()
    } else {
        format!(" of {} classes", spelled(classes as f64))
    };
    Some(format!("{tasks} tasks{each} sent {all} requests; {}.", fates.join(", and ")))
}
