//! What a tuning found, in a few sentences.

use std::fmt::Write as _;

use super::text::expected;
use super::{Tuned, WINNER, mean};
use crate::experiment::Verdict;
use crate::experiment::tune::{Checked, Sized};
use crate::report::comparison::cell;
use crate::report::quantity::count;
use crate::report::words::listed;

/// The finding: how good the winner is where the search has not looked.
pub fn finding(tuned: &Tuned<'_>) -> String {
    let tuning = tuned.tuning;
    let looked = count(tuning.found.candidates.len() as f64);
    let Some(winner) = tuning.winner else {
        return format!("None of {looked} policies can be run.");
    };
    if !tuning.keeps(winner) {
        let broken: Vec<String> = tuning
            .constraints
            .iter()
            .filter(|constraint| constraint.violation(tuning.means[winner][constraint.metric]) > 0.0)
            .map(|constraint| format!("`{}`", constraint.text))
            .collect();
        let arithmetic = tuned.said.map_or_else(String::new, |said| format!(" {said}"));
        return format!(
            "None of {looked} policies keeps {}; what comes nearest is shown.{arithmetic}",
            listed(&broken)
        );
    }
    if let Some(sized) = tuning.sized {
        return size(tuned, sized, winner);
    }
    let unseen: Vec<_> = tuned.unseen().collect();
    // Without other worlds the check is of other seeds alone.
    let (worlds, place): (Vec<_>, String) = if unseen.is_empty() {
        (tuning.checked.iter().collect(), "on seeds that the search has not seen".to_owned())
    } else {
        let place = match unseen.len() {
            1 => format!("in an overload that the search has not seen ({})", unseen[0].world.name),
            n => format!("in all {} overloads that the search has not seen", crate::report::words::spelled(n as f64)),
        };
        (unseen, place)
    };
    let (mut everywhere, mut somewhere, mut worse) = (Vec::new(), Vec::new(), Vec::new());
    for (metric, what) in tuning.metrics.iter().enumerate() {
        let verdicts: Vec<Verdict> = worlds.iter().map(|world| tuned.held(world, metric).verdict).collect();
        let with = |wanted: Verdict| -> Vec<String> {
            let those = worlds.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == wanted);
            those.map(|(world, _)| world.world.name.clone()).collect()
        };
        let said = |names: &[String]| {
            let all = names.len() == worlds.len() && names.len() > 1;
            format!("{} ({})", what.word, if all { "everywhere".to_owned() } else { listed(names) })
        };
        let (better, lost) = (with(Verdict::Better), with(Verdict::Worse));
        if better.len() == worlds.len() {
            everywhere.push(what.word.clone());
        } else if !better.is_empty() {
            somewhere.push(said(&better));
        }
        if !lost.is_empty() {
            worse.push(said(&lost));
        }
    }
    let reference = tuned.reference;
    let mut said = match everywhere.as_slice() {
        [] => format!("`{WINNER}` is better than `{reference}` in nothing {place}"),
        better => format!("`{WINNER}` is better than `{reference}` in {} {place}", listed(better)),
    };
    if !somewhere.is_empty() {
        let _ = write!(said, ", in some of them in {}", listed(&somewhere));
    }
    let _ = match worse.as_slice() {
        [] => write!(said, ", and worse in none by more than noise"),
        worse => write!(said, ", but worse in {}", listed(worse)),
    };
    format!("{said}.{}", in_numbers(tuned))
}

/// The smallest or largest value that keeps the bounds, what the next one breaks, and where else they are kept.
fn size(tuned: &Tuned<'_>, sized: Sized, winner: usize) -> String {
    let tuning = tuned.tuning;
    let candidates = &tuning.found.candidates;
    let axis = tuned.axes[sized.axis].name();
    let text = |index: usize| candidates[index].texts[sized.axis].trim_matches('"').to_owned();
    let bounds: Vec<String> = tuning.constraints.iter().map(|constraint| format!("`{}`", constraint.text)).collect();
    let which = if sized.most { "largest" } else { "smallest" };
    let mut said = format!(
        "{} is the {which} `{axis}` of {} that keeps {}",
        text(winner),
        count(candidates.len() as f64),
        listed(&bounds)
    );
    // The neighbour on the other side of the bound.
    let own = candidates[winner].genes[sized.axis];
    let beyond = |gene: f64| if sized.most { gene > own } else { gene < own };
    let far = |index: &usize| (candidates[*index].genes[sized.axis] - own).abs();
    let run = |index: &usize| !tuning.means[*index].is_empty() && beyond(candidates[*index].genes[sized.axis]);
    let next = (0..candidates.len()).filter(run).min_by(|a, b| far(a).total_cmp(&far(b)));
    match next {
        Some(next) => {
            let broken = tuning.constraints.iter().filter(|one| one.violation(tuning.means[next][one.metric]) > 0.0);
            let horizon_s = tuning.checked.first().map_or(f64::INFINITY, |checked| checked.horizon_s);
            let broken: Vec<String> = broken
                .map(|one| {
                    let metric = &tuning.metrics[one.metric];
                    format!("{} is {}", metric.word, mean(metric, tuning.means[next][one.metric], horizon_s))
                })
                .collect();
            let _ = write!(said, "; with {} {}", text(next), listed(&broken));
        }
        None => said.push_str(", and the last that was looked at"),
    }
    let keeps = |checked: &&Checked| {
        tuning
            .constraints
            .iter()
            .all(|one| one.violation(expected(&checked.winner[one.metric], checked.horizon_s)) == 0.0)
    };
    let (kept, broken): (Vec<&Checked>, Vec<&Checked>) = tuning.checked.iter().partition(keeps);
    let names =
        |worlds: &[&Checked]| listed(&worlds.iter().map(|checked| checked.world.name.clone()).collect::<Vec<String>>());
    let place = match (kept.as_slice(), broken.as_slice()) {
        ([_], []) => "It keeps them on other seeds too".to_owned(),
        ([], [_]) => "On other seeds it does not".to_owned(),
        (_, []) => format!("On other seeds it keeps them in {}", names(&kept)),
        ([], _) => format!("On other seeds it breaks them in {}", names(&broken)),
        (_, _) => format!("On other seeds it keeps them in {}, and not in {}", names(&kept), names(&broken)),
    };
    let arithmetic = tuned.said.map_or_else(String::new, |said| format!(" {said}"));
    format!("{said}. {place}.{arithmetic}")
}

/// The goals on other seeds of the overload as it was.
fn in_numbers(tuned: &Tuned<'_>) -> String {
    let Some(first) = tuned.tuning.checked.first() else { return String::new() };
    let goals: Vec<String> = (0..tuned.tuning.goals)
        .map(|goal| {
            let held = tuned.held(first, goal);
            let [before, after] = [&held.reference, &held.winner].map(|effect| cell(&effect.cell, held.unit));
            format!("{} {before} → {after}", tuned.tuning.metrics[goal].word)
        })
        .collect();
    format!(" In the world of the file, on other seeds: {}.", goals.join(", "))
}
