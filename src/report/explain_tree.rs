//! The fan of a stack as a tree: one step becomes runs, a run becomes calls, a call becomes requests. Only the first
//! branch of each level is drawn out; its siblings look the same.

use crate::explain::words;
use crate::explain::{ClassExplanation, Repetition};

/// More branches than this on a level, or rows in all, and a tree explains nothing.
const BRANCHES: u64 = 6;
const ROWS: u64 = 14;

/// The tree of a class; `None` where it is too large to be read, or where nothing branches.
pub(super) fn tree(class: &ClassExplanation) -> Option<Vec<String>> {
    let levels: Vec<&Repetition> = class.repeating().map(|(_, repetition)| repetition).collect();
    let branches: Option<Vec<u64>> =
        levels.iter().map(|level| level.max_attempts.filter(|attempts| *attempts <= BRANCHES)).collect();
    let branches = branches.filter(|branches| !branches.is_empty())?;
    let rows = 1 + branches.iter().map(|branches| branches - 1).sum::<u64>();
    if rows > ROWS {
        return None;
    }
    let mut lines = Vec::new();
    for (row, line) in branch(&levels, &branches).into_iter().enumerate() {
        lines.push(format!("{} {line}", if row == 0 { "step" } else { "    " }));
    }
    let product: Vec<String> = branches.iter().map(ToString::to_string).collect();
    if product.len() > 1 {
        lines.push(format!("{} = {}", product.join(" × "), words::count(branches.iter().product())));
    }
    Some(lines)
}

fn branch(levels: &[&Repetition], branches: &[u64]) -> Vec<String> {
    let ([level, inner @ ..], [count, below @ ..]) = (levels, branches) else { return vec![String::new()] };
    let mut lines = Vec::new();
    for attempt in 1..=*count {
        let head = format!("{} {attempt}", level.unit);
        let twigs = if attempt == 1 { branch(inner, below) } else { vec![format!(" {}", note(level, attempt, below))] };
        for (row, twig) in twigs.iter().enumerate() {
            let last = attempt == *count;
            let line = match (row, attempt, last) {
                (0, 1, true) => format!("─ {head} {twig}"),
                (0, 1, false) => format!("┬ {head} {twig}"),
                (0, _, false) => format!("├ {head} {twig}"),
                (0, _, true) => format!("└ {head} {twig}"),
                (_, _, last) => {
                    let trunk = if last { ' ' } else { '│' };
                    format!("{trunk} {} {twig}", " ".repeat(head.chars().count()))
                }
            };
            lines.push(line.trim_end().to_owned());
        }
    }
    lines
}

/// What stands beside a branch that is not drawn out: the wait before it, and what it holds.
fn note(level: &Repetition, attempt: u64, below: &[u64]) -> String {
    let wait = level.ladder.waits.get(attempt as usize - 2).map(|wait| wait.to).filter(|wait| !wait.is_zero());
    let requests =
        (!below.is_empty() && level.requeue.is_some()).then(|| words::counted(below.iter().product(), "request"));
    match (wait, requests) {
        (Some(wait), Some(requests)) => format!("after {}, {requests}", words::duration(wait)),
        (Some(wait), None) if below.is_empty() => words::duration(wait),
        (Some(wait), None) => format!("after {}", words::duration(wait)),
        (None, Some(requests)) => requests,
        (None, None) => "at once".into(),
    }
}
