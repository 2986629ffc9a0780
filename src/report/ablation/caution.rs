//! What makes an ablation mislead: a fix that helps because the work has died, worlds that differ, too few seeds.

use super::{Ablated, telling};
use crate::experiment::Verdict;
use crate::experiment::measure::{Of, Part};
use crate::report::comparison::{Caution, cautions as of_comparison, cell, label, unit};
use crate::report::words::listed;

/// The share of its tasks that a class must lose beyond what it lost with no fix before the rest is said to thrive on it.
const DIED: f64 = 0.05;

/// All cautions, the most important first.
pub fn cautions(ablated: &Ablated<'_>) -> Vec<Caution> {
    let mut out: Vec<Caution> = (1..ablated.ablation.combinations.len()).filter_map(|arm| died(ablated, arm)).collect();
    // Survivors, noise and modes are of dozens of pairs here; what is wrong with the whole is told once.
    let of_all = |caution: &Caution| matches!(caution.kind, "few" | "unsure" | "never");
    let comparison = of_comparison(&ablated.compared);
    let worlds = comparison.iter().find(|caution| caution.kind == "worlds");
    let closed = comparison.iter().find(|caution| caution.kind == "closed");
    out.splice(0..0, worlds.into_iter().chain(closed).cloned());
    out.extend(comparison.into_iter().filter(of_all));
    out
}

/// The measure of the share that fails, of a class of jobs that loses clearly more of its tasks with a combination than
/// with no fix.
pub(super) fn has_died(ablated: &Ablated<'_>, arm: usize) -> Option<usize> {
    let comparison = ablated.compared.comparison;
    let measures = &comparison.trial.measures;
    (0..measures.len()).find(|row| {
        let measure = &measures[*row];
        let of_jobs = matches!(&measure.of, Of::Class { live: false, .. });
        let share = |arm: usize| comparison.effects[arm][*row].cell.mean().unwrap_or(0.0);
        of_jobs
            && measure.part == Part::Whole
            && measure.key == "failed_share"
            && comparison.verdict(arm, *row) == Verdict::Worse
            && share(arm) - share(0) >= DIED
    })
}

/// A combination that makes numbers better because what would have made them bad failed.
fn died(ablated: &Ablated<'_>, arm: usize) -> Option<Caution> {
    let comparison = ablated.compared.comparison;
    let measures = &comparison.trial.measures;
    let lost = has_died(ablated, arm)?;
    let class = measures[lost].class();
    let failed = measures.iter().position(|m| m.key == "failed" && m.part == Part::Whole && m.class() == class)?;
    let better: Vec<String> = telling(&ablated.compared)
        .into_iter()
        .filter(|row| *row != failed && comparison.verdict(arm, *row) == Verdict::Better)
        .map(|row| format!("`{}`", label(&measures[row])))
        .collect();
    if better.is_empty() {
        return None;
    }
    let unit = unit(measures[failed].kind, 0.0);
    let [was, is] = [0, arm].map(|arm| cell(&comparison.effects[arm][failed].cell, unit));
    let name = &ablated.compared.arms[arm].name;
    Some(Caution {
        kind: "survivors",
        seen: format!(
            "with `{name}` {is} tasks of `{}` fail instead of {was}, and {} better",
            class.unwrap_or(""),
            are(&better)
        ),
        meaning:
            "the work that would have asked for more, or come late, has died: the fix spares the provider by losing \
                  it"
            .to_owned(),
        remedy: "count what failed first, and look at the fix together with one that keeps the work".to_owned(),
    })
}

fn are(names: &[String]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "is" } else { "are" })
}
