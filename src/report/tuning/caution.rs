//! What makes a tuning mislead: bounds that hold only where the search looked, numbers that got worse elsewhere, ends of a
//! range, too few seeds.

use super::text::expected;
use super::{Tuned, WINNER};
use crate::experiment::Verdict;
use crate::experiment::tune::{Checked, Tuning};
use crate::report::comparison::Caution;
use crate::report::words::listed;

/// Fewer seeds than these say little of rare events.
const FEW: u64 = 20;

/// How near the end of a range a number is at it, as a share of the range.
const NEAR_END: f64 = 0.01;

/// All cautions, the most important first.
pub fn cautions(tuned: &Tuned<'_>) -> Vec<Caution> {
    let mut out = Vec::new();
    out.extend(broken(tuned));
    out.extend(worse(tuned));
    out.extend(at_end(tuned));
    if let Some((number, why)) = &tuned.tuning.refused {
        let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ");
        out.push(Caution {
            kind: "refused",
            seen: format!(
                "{} cannot be run: {why}",
                if *number == 1 { "a policy".to_owned() } else { format!("{number} policies") }
            ),
            meaning: "the file does not allow what their settings say together".to_owned(),
            remedy: "leave out the value that does not go with the others, or let the settings move together: \
                     --vary 'PATH,PATH=…'"
                .to_owned(),
        });
    }
    if tuned.check < FEW {
        out.push(Caution {
            kind: "few",
            seen: format!("the check took {} seeds in each world", tuned.check),
            meaning: "what happens in one day of ten is easily missed".to_owned(),
            remedy: format!("take at least {FEW} with --replicates"),
        });
    }
    out
}

/// Constraints that the winner keeps in the search and breaks somewhere in the check.
fn broken(tuned: &Tuned<'_>) -> Option<Caution> {
    let tuning: &Tuning = tuned.tuning;
    let winner = tuning.winner?;
    let mut found = Vec::new();
    for constraint in &tuning.constraints {
        if constraint.violation(tuning.means[winner][constraint.metric]) > 0.0 {
            continue;
        }
        let value = |checked: &Checked| expected(&checked.winner[constraint.metric], checked.horizon_s);
        // A bound is on the mean over all worlds of the search; every other world stands for itself.
        let seen: Vec<f64> = tuning.checked.iter().filter(|one| one.is_seen).map(value).collect();
        let together = seen.iter().sum::<f64>() / seen.len() as f64;
        let mut names = Vec::new();
        if constraint.violation(together) > 0.0 {
            names.push("the worlds of the search".to_owned());
        }
        let others = tuned.unseen().filter(|checked| constraint.violation(value(checked)) > 0.0);
        names.extend(others.map(|checked| checked.world.name.clone()));
        if !names.is_empty() {
            found.push(format!("`{}` in {}", constraint.text, listed(&names)));
        }
    }
    (!found.is_empty()).then(|| Caution {
        kind: "constraints",
        seen: format!("`{WINNER}` breaks {}", listed(&found)),
        meaning: "the bound was kept on the seeds of the search, and is not kept there".to_owned(),
        remedy: "tighten the bound, or let the search see such a world with --seen".to_owned(),
    })
}

/// Numbers that got worse in a world of the check.
fn worse(tuned: &Tuned<'_>) -> Option<Caution> {
    // Whoever asks for a size has said what it may cost.
    if tuned.tuning.sized.is_some() {
        return None;
    }
    let mut found = Vec::new();
    for (metric, what) in tuned.tuning.metrics.iter().enumerate() {
        let is_worse = |checked: &&Checked| tuned.held(checked, metric).verdict == Verdict::Worse;
        let names: Vec<String> =
            tuned.tuning.checked.iter().filter(is_worse).map(|one| one.world.name.clone()).collect();
        if !names.is_empty() {
            found.push(format!("{} ({})", what.word, listed(&names)));
        }
    }
    (!found.is_empty()).then(|| Caution {
        kind: "worse",
        seen: format!("`{WINNER}` is worse than `{}` in {}", tuned.reference, listed(&found)),
        meaning: "it pays for what is better with that".to_owned(),
        remedy: "make it a --goal or a --constraint, or let the search see such a world with --seen".to_owned(),
    })
}

/// Numbers that were chosen at an end of their range.
fn at_end(tuned: &Tuned<'_>) -> Option<Caution> {
    let winner = tuned.tuning.winner?;
    let genes = &tuned.tuning.found.candidates[winner].genes;
    let at_end = tuned.axes.iter().zip(genes).zip(tuned.chosen()).filter(|((axis, share), _)| {
        let is_end = **share <= NEAR_END || **share >= 1.0 - NEAR_END;
        // A share or a count cannot go below nought.
        axis.span.is_some_and(|span| is_end && !(**share <= NEAR_END && span.from == 0.0))
    });
    let names: Vec<String> = at_end.map(|((axis, _), text)| format!("`{}` = {text}", axis.name())).collect();
    (!names.is_empty()).then(|| Caution {
        kind: "ends",
        seen: format!("{} {} at the end of the range", listed(&names), if names.len() == 1 { "is" } else { "are" }),
        meaning: "what is best may lie beyond it".to_owned(),
        remedy: "widen the range in --vary".to_owned(),
    })
}
