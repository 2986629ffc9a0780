//! What makes a sweep mislead although each of its numbers is right.

use super::Swept;
use super::finding::subject;
use crate::experiment::measure::{Of, Part};
use crate::report::comparison::Caution;
use crate::report::quantity::{Unit, count};
use crate::report::words::{listed, tasks};
use crate::stats::Shift;

/// The share of tasks by which losses must rise before latencies of the delivered ones are of other tasks.
const SURVIVORS: f64 = 0.01;

/// Fewer seeds than this give intervals that are wider than they need be, and rare things may not show at all.
const FEW: u64 = 20;

/// The most places that a caution lists.
const LISTED: usize = 3;

/// All cautions, the most important first.
pub fn cautions(swept: &Swept<'_>) -> Vec<Caution> {
    let mut out: Vec<Caution> = worlds(swept).into_iter().collect();
    out.extend(swept.shown.iter().filter_map(|row| swept.fooled.get(row).cloned()));
    out.extend(died(swept));
    out.extend(modes(swept));
    out.extend(never(swept));
    out.extend(unsure(swept));
    out.extend(few(swept));
    out
}

fn worlds(swept: &Swept<'_>) -> Option<Caution> {
    let sweep = swept.sweep;
    let other = (0..sweep.points.len()).filter(|point| !sweep.is_same_world(*point)).count();
    (other > 0).then(|| {
        let names: Vec<String> = sweep.axes.iter().map(|axis| format!("`{}`", axis.name())).collect();
        Caution {
            kind: "worlds",
            seen: format!(
                "{} of {} points did not meet the world of the file as it stands: {} changes it",
                count(other as f64),
                count(sweep.points.len() as f64),
                listed(&names)
            ),
            meaning: "what the curve shows is what another world does, not what another policy does in the same one"
                .to_owned(),
            remedy:
                "read it as a question to the policy: how much can it bear? Differences between policies are those \
                     of `compare` in one world"
                    .to_owned(),
        }
    })
}

/// A latency of the delivered ones that falls while more are lost: its least says nothing good.
pub(super) fn survivors(swept: &Swept<'_>, row: usize) -> Option<Caution> {
    let sweep = swept.sweep;
    let measure = &sweep.measures[row];
    if !measure.key.starts_with("latency_s.") {
        return None;
    }
    let lost = sweep.measures.iter().position(|other| {
        other.part == Part::Whole && other.class() == measure.class() && other.key == "not_delivered_share"
    })?;
    let share = |point: usize| sweep.points[point].cells[lost].mean().unwrap_or(0.0);
    let best = (0..sweep.points.len()).min_by(|a, b| share(*a).total_cmp(&share(*b)))?;
    // The point that looks best against the one that loses the fewest.
    let fooled = (0..sweep.points.len())
        .filter(|point| {
            share(*point) - share(best) >= SURVIVORS
                && sweep.shift(lost, best, *point, sweep.grid) == Shift::Up
                && sweep.shift(row, best, *point, sweep.grid) == Shift::Down
        })
        .max_by(|a, b| share(*a).total_cmp(&share(*b)))?;
    let class = swept.scenario.traffic.iter().find(|class| measure.class() == Some(class.name.as_str()))?;
    let value = |point: usize| crate::report::comparison::cell(&sweep.points[point].cells[row], swept.unit(row));
    Some(Caution {
        kind: "survivors",
        seen: format!(
            "{} is {} with {} and {} with {}, where {} instead of {} of {} are never delivered",
            subject(swept, row),
            value(best),
            swept.place(best),
            value(fooled),
            swept.place(fooled),
            Unit::Share.full(share(fooled)),
            Unit::Share.full(share(best)),
            tasks(class)
        ),
        meaning: "latency is of the survivors: what would have been slow was lost".to_owned(),
        remedy: "judge by what failed and by the numbers over all that arrived (`latency_all_s`)".to_owned(),
    })
}

/// The share of its tasks that a class must lose beyond the fewest before the rest is said to thrive on it.
const DIED: f64 = 0.05;

/// What is lost at a point beyond the fewest of the grid, in words: `100 % instead of 12 % of reports fail`.
pub fn lost(swept: &Swept<'_>, point: usize) -> Option<String> {
    let sweep = swept.sweep;
    shares(swept).find_map(|row| {
        let share = |point: usize| sweep.points[point].cells[row].mean().unwrap_or(0.0);
        let best = (0..sweep.points.len()).min_by(|a, b| share(*a).total_cmp(&share(*b)))?;
        let is_more = share(point) - share(best) >= DIED && sweep.shift(row, best, point, sweep.grid) == Shift::Up;
        let measure = &sweep.measures[row];
        let class = swept.scenario.traffic.iter().find(|class| measure.class() == Some(class.name.as_str()))?;
        is_more.then(|| {
            let [is, was] = [point, best].map(|point| Unit::Share.full(share(point)));
            format!("{is} instead of {was} of {} fail", tasks(class))
        })
    })
}

/// How much of all is lost at a point, for putting points in order.
pub(super) fn lost_share(swept: &Swept<'_>, point: usize) -> f64 {
    shares(swept).map(|row| swept.sweep.points[point].cells[row].mean().unwrap_or(0.0)).sum()
}

/// The measures of what share of each class's tasks fails in the whole run.
fn shares<'a>(swept: &Swept<'a>) -> impl Iterator<Item = usize> + use<'a> {
    let measures = &swept.sweep.measures;
    (0..measures.len()).filter(|row| {
        let measure = &measures[*row];
        let of_tasks = matches!(&measure.of, Of::Class { .. });
        of_tasks && measure.part == Part::Whole && measure.key == "failed_share"
    })
}

/// Numbers that are least only where work has died.
fn died(swept: &Swept<'_>) -> Option<Caution> {
    let sweep = swept.sweep;
    let mut subjects = Vec::new();
    let mut shown = None;
    for row in swept.shown {
        let measure = &sweep.measures[*row];
        if !measure.lower_is_better || measure.key.starts_with("failed") || measure.key.starts_with("latency") {
            continue;
        }
        let Some(shape) = swept.shape(*row).filter(|shape| !shape.is_flat()) else {
            continue;
        };
        let ties = (0..sweep.grid).filter(|point| shape.ties[*point]);
        let Some(point) = ties.min_by(|a, b| lost_share(swept, *a).total_cmp(&lost_share(swept, *b))) else { continue };
        let Some(said) = lost(swept, point) else { continue };
        subjects.push(subject(swept, *row));
        shown.get_or_insert((point, said));
    }
    let (point, said) = shown?;
    let is = if subjects.len() == 1 { "is" } else { "are" };
    if subjects.len() > LISTED {
        let more = subjects.len() - LISTED + 1;
        subjects.truncate(LISTED - 1);
        subjects.push(format!("{} more", count(more as f64)));
    }
    Some(Caution {
        kind: "died",
        seen: format!("{} {is} least where work has died: with {} {said}", subjects.join("; "), swept.place(point)),
        meaning: "what would have asked for more, or come late, is gone: that spares the provider by losing the work"
            .to_owned(),
        remedy: "count what failed first, and choose among the points that keep the work".to_owned(),
    })
}

fn modes(swept: &Swept<'_>) -> Vec<Caution> {
    let sweep = swept.sweep;
    let one = |row: &usize| {
        let of = |point: usize| sweep.points[point].cells[*row].statistic.as_ref().map_or(&[][..], |s| &s.modes);
        let split: Vec<usize> = (0..sweep.points.len()).filter(|point| of(*point).len() > 1).collect();
        let first = *split.first()?;
        let more = match split.len() - 1 {
            0 => String::new(),
            n => format!(", and so it is at {} more", count(n as f64)),
        };
        Some(Caution {
            kind: "modes",
            seen: format!(
                "{} with {} has {}{more}",
                subject(swept, *row),
                swept.place(first),
                swept.unit(*row).modes(of(first))
            ),
            meaning: "runs go one of several ways, and the mean lies between them where hardly any run ends".to_owned(),
            remedy:
                "read the band of the seeds instead of the mean; where the share of a mode changes, the system tips"
                    .to_owned(),
        })
    };
    swept.shown.iter().filter_map(one).collect()
}

/// Times that never come in some seeds.
fn never(swept: &Swept<'_>) -> Vec<Caution> {
    let sweep = swept.sweep;
    let has_never = |row: usize, point: usize| sweep.points[point].cells[row].never > 0;
    let one = |row: &usize| {
        let places: Vec<usize> = (0..sweep.points.len()).filter(|point| has_never(*row, *point)).collect();
        let first = *places.first()?;
        let place = |point: &usize| {
            let cell = &sweep.points[*point].cells[*row];
            format!("with {} in {} of {}", swept.place(*point), count(cell.never as f64), count(cell.defined as f64))
        };
        let is_everywhere = (0..sweep.points.len()).all(|point| {
            let cell = &sweep.points[point].cells[*row];
            cell.never == cell.defined && cell.never > 0
        });
        let shown = if is_everywhere {
            "at every point, in every seed".to_owned()
        } else if places.len() <= LISTED {
            format!("{} seeds", listed(&places.iter().map(place).collect::<Vec<_>>()))
        } else {
            format!("{} seeds, and so at {} more points", place(&first), count((places.len() - 1) as f64))
        };
        let is_recovery = sweep.measures[*row].class().is_none();
        let horizon = format!("lengthen `horizon` (now {}) with --set horizon=…", swept.scenario.length());
        Some(Caution {
            kind: "never",
            seen: format!("{} is never {shown}", subject(swept, *row)),
            meaning: if is_recovery {
                "the storm may sustain itself, or the run may be too short to see its end".to_owned()
            } else {
                "so many were lost, or still waiting when the run ended, that the quantile lies among them".to_owned()
            },
            remedy: if is_recovery { horizon } else { format!("look at what failed; where nothing did, {horizon}") },
        })
    };
    swept.shown.iter().filter_map(one).collect()
}

fn unsure(swept: &Swept<'_>) -> Option<Caution> {
    let n = swept.sweep.replicates;
    (swept.sweep.is_sure == Some(false)).then(|| Caution {
        kind: "unsure",
        seen: format!("after {} seeds not every headline is known as well as was asked for", count(n as f64)),
        meaning: "some intervals are wider than 5 % of their mean".to_owned(),
        remedy: format!("allow more seeds with --replicates {}, or live with the intervals", 4 * n),
    })
}

fn few(swept: &Swept<'_>) -> Option<Caution> {
    let n = swept.sweep.replicates;
    (n < FEW).then(|| Caution {
        kind: "few",
        seen: format!("only {} {} met", count(n as f64), if n == 1 { "seed was" } else { "seeds were" }),
        meaning: "what happens in one run of twenty may not have shown, and intervals of rare things are too narrow"
            .to_owned(),
        remedy: "leave out --quick, or take more seeds with --replicates".to_owned(),
    })
}
