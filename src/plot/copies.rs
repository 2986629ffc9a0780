//! Work for nothing: runs of a job beside another run of it, or after its fate was known.

use super::lanes::{LevelLane, peaks, reaching};
use super::number;
use super::panel::{Panel, Unit, View};
use super::steps::Bins;

/// The strip of a class of which there were copies at work.
pub(super) fn panel(view: &View<'_>, class: usize) -> Option<Panel> {
    let series = &view.facts.result.timeline.classes[class].copies;
    let counts: Vec<f32> = series.iter().map(|&copies| copies as f32).collect();
    let main: Bins = peaks(view, &counts);
    let most = main.most(view.axis);
    if most <= 0.0 {
        return None;
    }
    let name = view.facts.class(class).name.as_str();
    let value = |key| view.facts.value(&["classes", name, "delivery", key]).filter(|n| *n > 0.0);
    let (number, mut did) =
        match (value("wasted_runs"), value("runs").or_else(|| view.facts.value(&["classes", name, "runs"]))) {
            (Some(wasted), Some(runs)) => {
                (number::count(wasted), format!("of {} for nothing", number::of(runs, "run")))
            }
            (Some(wasted), None) => (number::count(wasted), "runs for nothing".to_owned()),
            (None, _) => (number::count(most), "at once at most".to_owned()),
        };
    did.extend(value("redelivered").map(|n| format!("; {} handed out again", number::of(n, "message"))));
    let at_work = main.values.iter().filter(|copies| **copies > 0.0).count();
    let tasks = super::facts::capital(&view.facts.tasks(class));
    LevelLane {
        name: format!("copies of {name}"),
        title: format!("{tasks}: copies at work"),
        did: (number, did),
        how: vec![
            format!("most in each {}", number::each(main.width)),
            "beside another run of the job, or after its fate was known".to_owned(),
        ],
        scale: reaching(most),
        unit: Unit::None,
        weight: at_work as f64 / main.values.len().max(1) as f64,
        main,
        bound: None,
        refused: None,
    }
    .panel(view)
}
