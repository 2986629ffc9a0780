//! Hedges: requests of a call that were sent before its first one had succeeded.

use super::lanes::{LevelLane, peaks, reaching};
use super::number;
use super::panel::{Panel, Unit, View};

/// The strip of a class that hedged.
pub(super) fn panel(view: &View<'_>, class: usize) -> Option<Panel> {
    let series = &view.facts.result.timeline.classes[class].hedges;
    let counts: Vec<f32> = series.iter().map(|&hedges| hedges as f32).collect();
    let main = peaks(view, &counts);
    let most = main.most(view.axis);
    if most <= 0.0 {
        return None;
    }
    let name = view.facts.class(class).name.as_str();
    let value = |key| view.facts.value(&["classes", name, key]).filter(|n| *n > 0.0);
    let mut did = match value("requests") {
        Some(requests) => format!("of {} are hedges", number::of(requests, "request")),
        None => "hedges sent".to_owned(),
    };
    did += "; ";
    did += &number::count(most);
    did += " at once at most";
    did.extend(value("suppressed_hedges").map(|n| format!("; {} kept back", number::count(n))));
    let out = main.values.iter().filter(|hedges| **hedges > 0.0).count();
    let tasks = super::facts::capital(&view.facts.tasks(class));
    LevelLane {
        name: format!("hedges of {name}"),
        title: format!("{tasks}: hedges in flight"),
        did: (number::count(value("hedges").unwrap_or(0.0)), did),
        how: vec![
            format!("most in each {}", number::each(main.width)),
            "requests that are not the first of their call".to_owned(),
        ],
        scale: reaching(most),
        unit: Unit::None,
        weight: out as f64 / main.values.len().max(1) as f64,
        main,
        bound: None,
        refused: None,
    }
    .panel(view)
}
