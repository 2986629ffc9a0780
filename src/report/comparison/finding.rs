//! The sentence that a comparison comes to: what an arm does better than the first one, and at what price. Only what
//! chance does not explain is in it.

use super::Compared;
use super::label::unit;
use super::rows::classes;
use super::signed::cell;
use crate::experiment::measure::{Kind, Of, Part};
use crate::experiment::{Measure, Verdict};
use crate::report::quantity::{Unit, count};
use crate::report::words::{listed, readable, task, tasks};
use crate::traffic::TrafficClass;

/// From this factor on, a factor says more than a percentage.
const MANY_TIMES: f64 = 3.0;

/// Requests for each request needed that read as one.
const NEEDED: f64 = 1.005;

/// Fewer than this on average are none.
const FEW: f64 = 0.05;

/// A smaller share of tasks is those that were under way when the runs ended.
const NOTABLE: f64 = 0.02;

/// A factor in words of about two digits: "3.4", "11".
fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { count(factor.round()) }
}

/// The finding: of all arms in one paragraph.
pub fn finding(compared: &Compared<'_>) -> String {
    findings(compared).join(" ")
}

/// One sentence for each arm but the first.
pub fn findings(compared: &Compared<'_>) -> Vec<String> {
    compared.others().map(|arm| sentence(compared, arm)).collect()
}

fn sentence(compared: &Compared<'_>, arm: usize) -> String {
    let (name, first) = (&compared.arms[arm].name, &compared.reference().name);
    if compared.replicates() < 2 {
        return format!("One seed is an anecdote: `{name}` against `{first}` needs more of them.");
    }
    let (better, worse) = clauses(compared, arm);
    match (better.is_empty(), worse.is_empty()) {
        (true, true) => format!("`{name}` and `{first}` differ by no more than chance in any headline number."),
        (false, true) => format!("`{name}` {}, and nothing is worse than with `{first}`.", listed(&better)),
        (true, false) => format!("`{name}` {}, and nothing is better than with `{first}`.", listed(&worse)),
        (false, false) => format!("`{name}` {}, but {}.", listed(&better), listed(&worse)),
    }
}

/// What is better and what is worse, most telling first.
fn clauses(compared: &Compared<'_>, arm: usize) -> (Vec<String>, Vec<String>) {
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    let classes = classes(compared);
    for row in telling(compared, arm) {
        let measure = &compared.comparison.trial.measures[row];
        let class = measure.class().and_then(|name| classes.iter().find(|class| class.name == name));
        let (said, to) = match compared.comparison.verdict(arm, row) {
            Verdict::Better => (clause(compared, arm, row, class.copied(), true), &mut better),
            Verdict::Worse => (clause(compared, arm, row, class.copied(), false), &mut worse),
            Verdict::Moved | Verdict::Same | Verdict::Noise | Verdict::Unknown => continue,
        };
        to.extend(said);
    }
    (better, worse)
}

/// The rows that a sentence speaks of: requests of the storm, failures, live 429s where they are the most, lateness,
/// recovery.
fn telling(compared: &Compared<'_>, arm: usize) -> Vec<usize> {
    let measures = &compared.comparison.trial.measures;
    let mut rows: Vec<usize> = Vec::new();
    let find = |wanted: &dyn Fn(&Measure) -> bool| {
        (0..measures.len()).filter(|row| wanted(&measures[*row])).collect::<Vec<_>>()
    };
    rows.extend(
        find(&|m| m.headline && m.key == "requests").into_iter().filter(|row| is_too_many(compared, arm, *row)),
    );
    rows.extend(find(&|m| m.key == "failed" && m.part == Part::Whole));
    for class in classes(compared) {
        let of_class = |key: &str| find(&|m| m.key == key && m.part == Part::Whole && m.class() == Some(&class.name));
        let most = |key: &str| of_class(key).into_iter().map(|row| larger(compared, arm, row)).fold(0.0, f64::max);
        // Where any fail, their number says it.
        if most("failed") < FEW && most("abandoned") < FEW && most("not_delivered_share") >= NOTABLE {
            rows.extend(of_class("not_delivered_share"));
        }
        // That retries repeat effects is what they are for; jobs that are handed out again are not.
        if compared.arms.iter().any(|arm| arm.scenario.follows_jobs(class)) {
            rows.extend(of_class("repeated_effects"));
        }
    }
    for class in classes(compared).into_iter().filter(|class| class.is_live()) {
        let loud = loudest(compared, &class.name);
        rows.extend(loud);
        // A burst may be as bad as before and last three times as long.
        let says = |row: usize| compared.comparison.verdict(arm, row);
        let whole =
            find(&|m| m.class() == Some(&class.name) && m.part == Part::Whole && m.key == "tasks_with_429_share");
        rows.extend(whole.into_iter().filter(|row| loud.is_none_or(|loud| says(loud) != says(*row))));
    }
    rows.extend(find(&|m| m.headline && m.key == "latency_s.max"));
    rows.extend(find(&|m| m.headline && m.key == "recovery.total_s"));
    rows
}

/// Whether one of both arms sends more requests than its tasks need: up to there more of them are no price, and fewer no
/// gain, but tasks that got further or less far.
fn is_too_many(compared: &Compared<'_>, arm: usize, row: usize) -> bool {
    let measures = &compared.comparison.trial.measures;
    let Measure { part, of, .. } = &measures[row];
    let factor = measures.iter().position(|m| m.key == "amplification" && m.part == *part && m.of == *of);
    factor.is_none_or(|factor| larger(compared, arm, factor) > NEEDED)
}

/// The larger mean of the arm and the first one.
fn larger(compared: &Compared<'_>, arm: usize, row: usize) -> f64 {
    let mean = |arm: usize| compared.comparison.effects[arm][row].cell.mean().unwrap_or(0.0);
    mean(0).max(mean(arm))
}

/// The part of the run in which the largest share of a live class met a 429 in any arm.
pub fn loudest(compared: &Compared<'_>, class: &str) -> Option<usize> {
    let measures = &compared.comparison.trial.measures;
    let share = |row: usize| {
        let cells = compared.comparison.effects.iter().filter_map(|effects| effects[row].cell.mean());
        cells.fold(0.0, f64::max)
    };
    let rows = (0..measures.len()).filter(|row| {
        let measure = &measures[*row];
        measure.key == "tasks_with_429_share" && measure.class() == Some(class)
    });
    rows.rev().max_by(|a, b| share(*a).total_cmp(&share(*b)))
}

fn clause(
    compared: &Compared<'_>,
    arm: usize,
    row: usize,
    class: Option<&TrafficClass>,
    better: bool,
) -> Option<String> {
    let comparison = compared.comparison;
    let measure = &comparison.trial.measures[row];
    let (before, after) = (&comparison.effects[0][row].cell, &comparison.effects[arm][row].cell);
    let (was, is) = (before.mean(), after.mean());
    let largest = was.unwrap_or(0.0).max(is.unwrap_or(0.0));
    let unit = unit(measure.kind, largest);
    let [said_was, said_is] = [before, after].map(|value| cell(value, unit));
    let place = match &measure.part {
        Part::Whole => String::new(),
        Part::Phase(phase) => format!(" in the {}", readable(phase)),
    };
    Some(match (measure.key.as_str(), class) {
        ("requests", Some(class)) => {
            let (was, is) = (was.filter(|was| *was > 0.0)?, is?);
            let whose = if classes(compared).len() > 1 { format!(" for {}", tasks(class)) } else { String::new() };
            if is >= MANY_TIMES * was {
                format!("sends {} times as many requests{whose}{place}", times(is / was))
            } else {
                let share = Unit::Share.full((is - was).abs() / was);
                format!("sends {share} {} requests{whose}{place}", if better { "fewer" } else { "more" })
            }
        }
        ("not_delivered_share", Some(class)) => {
            format!("leaves {said_is} of {} unfinished instead of {said_was}", tasks(class))
        }
        ("repeated_effects", _) => format!("repeats {said_is} effects instead of {said_was}"),
        ("failed", Some(class)) if better && is.is_some_and(|is| is < FEW) => {
            format!("loses no {} where {said_was} failed", task(class))
        }
        ("failed", Some(class)) => {
            format!("loses {said_is} {} instead of {said_was}", tasks(class))
        }
        ("tasks_with_429_share", Some(class)) => {
            format!("gives {said_is} of {} a 429{place} instead of {said_was}", tasks(class))
        }
        ("latency_s.max", Some(class)) => {
            let by = Unit::Time(crate::report::quantity::TimeUnit::of((is? - was?).abs()));
            let much = by.full((is? - was?).abs());
            format!("delivers its slowest {} {much} {}", task(class), if better { "earlier" } else { "later" })
        }
        ("recovery.total_s", _) => match (was, is) {
            (Some(was), Some(is)) => {
                let by = Unit::Time(crate::report::quantity::TimeUnit::of((is - was).abs()));
                let much = by.full((is - was).abs());
                format!("needs {much} {} to recover", if better { "less" } else { "longer" })
            }
            (None, Some(_)) => format!("recovers in {said_is}, which `{}` does not", compared.reference().name),
            (_, None) => {
                let n = count(after.never as f64);
                format!("does not recover in {n} of {} seeds", count(after.defined as f64))
            }
        },
        _ => return None,
    })
}

/// Whether a measure is a time of delivered tasks alone.
pub(super) fn is_of_survivors(measure: &Measure) -> bool {
    measure.kind == Kind::Seconds && measure.key.starts_with("latency_s.") && matches!(measure.of, Of::Class { .. })
}
