//! An ablation says which fix matters for what: a table of all combinations, what each fix does alone and what goes
//! wrong without it, and the same in words.

mod caution;
pub mod csv;
mod finding;
pub mod json;
pub mod schema;
pub mod text;

pub use caution::cautions;
pub use finding::findings;

use super::comparison::{Compared, loudest};
use crate::experiment::Ablation;
use crate::experiment::measure::{Measure, Of, Part};

/// An ablation with everything that a report says about it.
#[derive(Clone, Copy, Debug)]
pub struct Ablated<'a> {
    /// The combinations as arms of a comparison with none.
    pub compared: Compared<'a>,
    /// What was found.
    pub ablation: &'a Ablation,
}

/// The measures that fixes are judged by, most telling first: the storm, what failed, how late, who met a 429, and when
/// it was over.
pub fn telling(compared: &Compared<'_>) -> Vec<usize> {
    let measures = &compared.comparison.trial.measures;
    let find = |wanted: &dyn Fn(&Measure) -> bool| {
        (0..measures.len()).filter(|row| wanted(&measures[*row])).collect::<Vec<usize>>()
    };
    let jobs = |measure: &Measure| matches!(&measure.of, Of::Class { live: false, .. });
    let live = |measure: &Measure| matches!(&measure.of, Of::Class { live: true, .. });
    let mut rows = find(&|m| m.headline && m.key == "amplification");
    rows.extend(find(&|m| jobs(m) && m.part == Part::Whole && m.key == "failed"));
    rows.extend(find(&|m| m.headline && m.key == "latency_s.max"));
    let mut classes: Vec<&str> = Vec::new();
    for class in measures.iter().filter(|measure| live(measure)).filter_map(Measure::class) {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    for class in classes {
        let whole = |m: &Measure| m.part == Part::Whole && m.class() == Some(class) && m.key == "tasks_with_429";
        rows.extend(loudest(compared, class));
        rows.extend(find(&whole));
        rows.extend(find(&|m| m.part == Part::Whole && m.class() == Some(class) && m.key == "failed"));
    }
    rows.extend(find(&|m| m.headline && m.key == "recovery.total_s"));
    // What is nothing with any combination says nothing of a fix.
    rows.retain(|row| {
        compared.comparison.effects.iter().any(|effects| {
            let cell = &effects[*row].cell;
            cell.never > 0 || cell.statistic.as_ref().is_some_and(|statistic| statistic.max != 0.0)
        })
    });
    rows
}
