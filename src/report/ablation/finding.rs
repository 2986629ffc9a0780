//! Which fix matters for what, in words: for each number what all fixes together make of it, which of them cannot be
//! left out, which would do alone, and which do harm alone.

use super::caution::has_died;
use super::{Ablated, telling};
use crate::experiment::Verdict;
use crate::report::comparison::{cell, label, unit};
use crate::report::words::{capitalised, listed, tasks};

/// A fix cannot be left out where that gives back this share of the whole effect.
const NEEDED: f64 = 0.1;

/// A fix would do alone where it has this share of the whole effect.
const ENOUGH: f64 = 0.8;

/// One sentence or two for each telling number that the fixes move.
pub fn findings(ablated: &Ablated<'_>) -> Vec<String> {
    telling(&ablated.compared).into_iter().filter_map(|row| finding(ablated, row)).collect()
}

fn finding(ablated: &Ablated<'_>, row: usize) -> Option<String> {
    let (ablation, comparison) = (ablated.ablation, ablated.compared.comparison);
    let measure = &comparison.trial.measures[row];
    let all = ablation.all_arm();
    let total = comparison.verdict(all, row);
    if !matches!(total, Verdict::Better | Verdict::Worse) {
        return alone_only(ablated, row);
    }
    let effects = |arm: usize| &comparison.effects[arm][row];
    let largest = comparison.effects.iter().filter_map(|effects| effects[row].cell.mean()).fold(0.0, f64::max);
    let unit = unit(measure.kind, largest);
    let value = |arm: usize| cell(&effects(arm).cell, unit);
    let mean = |arm: usize| effects(arm).cell.mean();
    let whole = mean(all).zip(mean(0)).map(|(all, none)| all - none);
    let share = |from: usize, to: usize| Some((mean(to)? - mean(from)?) / whole.filter(|whole| *whole != 0.0)?);
    let of = |verdict: fn(&Ablated<'_>, usize, usize) -> bool| {
        (0..ablation.fixes.len()).filter(move |fix| verdict(ablated, *fix, row)).collect::<Vec<usize>>()
    };
    let name = |fix: usize| format!("`{}`", ablation.fixes[fix]);
    let mut needed: Vec<(f64, usize)> = of(adds_last)
        .into_iter()
        .map(|fix| (share(ablation.around(fix).1, all).unwrap_or(1.0), fix))
        .filter(|(share, _)| *share >= NEEDED)
        .collect();
    needed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let word = if total == Verdict::Better { "better" } else { "worse" };
    let mut said = vec![format!("{}: {} → {}", subject(ablated, row), value(0), value(all))];
    let parts: Vec<String> = needed
        .iter()
        .map(|(_, fix)| format!("{} ({} without it)", name(*fix), value(ablation.around(*fix).1)))
        .collect();
    said.push(match (parts.as_slice(), total) {
        ([], _) => format!("{word}, but it hangs on no single fix: without any one of them it is much the same"),
        ([only], Verdict::Better) => format!("that is {only}"),
        (_, Verdict::Better) => format!("that takes {}", listed(&parts)),
        (_, _) => format!("it is worse for {}", listed(&parts)),
    });
    if total == Verdict::Better {
        let alone = |fix: usize| ablation.around(fix).0;
        let shown = |fix: &usize| format!("{} ({})", name(*fix), value(alone(*fix)));
        let (died, enough): (Vec<usize>, Vec<usize>) = (0..ablation.fixes.len())
            .filter(|fix| ablation.fixes.len() > 1 && share(0, alone(*fix)).is_some_and(|share| share >= ENOUGH))
            .partition(|fix| has_died(ablated, alone(*fix)).is_some());
        if !enough.is_empty() {
            said.push(format!("alone, {} would do", listed(&enough.iter().map(shown).collect::<Vec<_>>())));
        }
        if !died.is_empty() {
            let list = listed(&died.iter().map(shown).collect::<Vec<_>>());
            said.push(format!("alone, {list} seems to do, since work has died of it"));
        }
        let harm = of(harms_alone);
        if !harm.is_empty() {
            said.push(format!("alone, {} would make it worse", listed(&harm.iter().map(shown).collect::<Vec<_>>())));
        }
    }
    Some(format!("{}.", capitalised(&said.join("; "))))
}

/// What fixes do alone to a number that they do not move together.
fn alone_only(ablated: &Ablated<'_>, row: usize) -> Option<String> {
    let comparison = ablated.compared.comparison;
    let measure = &comparison.trial.measures[row];
    let largest = comparison.effects.iter().filter_map(|effects| effects[row].cell.mean()).fold(0.0, f64::max);
    let unit = unit(measure.kind, largest);
    let list = |wanted: Verdict| -> Vec<String> {
        (0..ablated.ablation.fixes.len())
            .map(|fix| (fix, ablated.ablation.around(fix).0))
            .filter(|(_, arm)| comparison.verdict(*arm, row) == wanted)
            .map(|(fix, arm)| {
                format!("`{}` ({})", ablated.ablation.fixes[fix], cell(&comparison.effects[arm][row].cell, unit))
            })
            .collect()
    };
    let (better, worse) = (list(Verdict::Better), list(Verdict::Worse));
    if better.is_empty() && worse.is_empty() {
        return None;
    }
    let none = cell(&comparison.effects[0][row].cell, unit);
    let mut said = vec![format!("{}: {none}, and all fixes together do not move it", subject(ablated, row))];
    if !better.is_empty() {
        said.push(format!("alone, {} would make it better", listed(&better)));
    }
    if !worse.is_empty() {
        said.push(format!("alone, {} would make it worse", listed(&worse)));
    }
    Some(format!("{}.", capitalised(&said.join("; "))))
}

/// Whether all fixes together are clearly better off, in the direction of the whole effect, than without this one.
fn adds_last(ablated: &Ablated<'_>, fix: usize, row: usize) -> bool {
    let comparison = ablated.compared.comparison;
    let total = comparison.verdict(ablated.ablation.all_arm(), row);
    let shift = ablated.ablation.contributions[row][fix].last.shift();
    Verdict::of(&comparison.trial.measures[row], shift) == total
}

/// Whether this fix alone is clearly worse than none.
fn harms_alone(ablated: &Ablated<'_>, fix: usize, row: usize) -> bool {
    let comparison = ablated.compared.comparison;
    let shift = ablated.ablation.contributions[row][fix].alone.shift();
    Verdict::of(&comparison.trial.measures[row], shift) == Verdict::Worse
}

/// "reports, amplification in the overload".
fn subject(ablated: &Ablated<'_>, row: usize) -> String {
    let measure = &ablated.compared.comparison.trial.measures[row];
    let classes = ablated.compared.arms.iter().flat_map(|arm| &arm.scenario.traffic);
    let class = classes.into_iter().find(|class| measure.class() == Some(class.name.as_str()));
    class.map_or_else(|| label(measure), |class| format!("{}, {}", tasks(class), label(measure)))
}
