//! What makes the answer mislead: values that are safe because the work has died, days that are not nested, few seeds, a
//! range that ends too soon.

use super::{Asked, Over, share};
use crate::experiment::headroom::{Case, Point, Standing};
use crate::report::comparison::Caution;
use crate::report::words::listed;

/// The share of tasks that fail beyond what failed at the last safe value from which on work is said to have died.
const DIED: f64 = 0.05;

/// A gap that is no wider than this share of the last safe value needs no word.
const NARROW: f64 = 0.1;

/// The share of seeds in which days may be out of order before it is worth a word.
const ODD: f64 = 0.02;

/// All cautions, the most important first.
pub fn cautions(asked: &Asked<'_>) -> Vec<Caution> {
    [died(asked), again(asked), unnested(asked), open(asked), spare(asked)].into_iter().flatten().collect()
}

/// The largest share of any background class that fails for good, over the cases.
fn failed(point: &Point) -> f64 {
    let costs = point.cases.iter().flat_map(|met| &met.costs);
    costs.filter_map(|cost| cost.failed.mean()).fold(0.0, f64::max)
}

/// Work that dies asks for nothing.
fn died(asked: &Asked<'_>) -> Option<Caution> {
    let found = asked.found;
    let safe = found.safe()?;
    let lost = failed(safe);
    (lost >= DIED).then(|| Caution {
        kind: "survivors",
        seen: format!("at {}, {} of {} fail for good", safe.text, share(round(lost)), asked.background()),
        meaning: "what has failed asks for nothing: a part of the room is that of lost work".to_owned(),
        remedy: "give the jobs more or later attempts first, and ask again".to_owned(),
    })
}

/// Values beyond the edge at which a weather's target is met again.
fn again(asked: &Asked<'_>) -> Option<Caution> {
    let found = asked.found;
    let (case, edge) =
        found.edges.iter().enumerate().find(|(case, edge)| *case < found.cases.len() && !edge.again.is_empty())?;
    let points: Vec<&Point> = edge.again.iter().map(|at| &found.points[*at]).collect();
    let texts: Vec<String> = points.iter().map(|point| point.text.clone()).collect();
    let lost = |point: &Point| point.cases[case].costs.iter().filter_map(|cost| cost.failed.mean()).fold(0.0, f64::max);
    let there = points.iter().map(|point| lost(point)).fold(0.0, f64::max);
    let before = edge.safe.map_or(0.0, |at| lost(&found.points[at]));
    let when = match found.cases[case] {
        Case::Storm if found.cases.len() > 1 => " through the storm",
        Case::Storm | Case::Calm => "",
    };
    let (meaning, remedy) = if there - before >= DIED {
        (
            format!(
                "up to {} of {} fail there for good, and what has failed asks for nothing",
                share(round(there)),
                asked.background()
            ),
            "do not go there: the target is met by losing the work",
        )
    } else {
        (
            "the rate does not rise all the way".to_owned(),
            "look at the curve; the answer is the end of the first stretch of safe values",
        )
    };
    Some(Caution {
        kind: "not_monotone",
        seen: format!("the target is met again at {}{when}, beyond values where it is not", listed(&texts)),
        meaning,
        remedy: remedy.to_owned(),
    })
}

fn unnested(asked: &Asked<'_>) -> Option<Caution> {
    let found = asked.found;
    let seeds = found.points.iter().map(|point| point.seeds).min().unwrap_or(0);
    let most = found.unnested.iter().copied().max().unwrap_or(0);
    (most as f64 > ODD * seeds as f64).then(|| Caution {
        kind: "unnested",
        seen: format!("in {most} of {seeds} seeds a day met the target at some value although not at a safer one"),
        meaning: "the confidence is that of each value; for the end of the search it is a little lower".to_owned(),
        remedy: "ask for more confidence, such as --confidence 99%, or stay a step inside".to_owned(),
    })
}

/// A wide gap between what is shown to be safe and what is shown not to be.
fn open(asked: &Asked<'_>) -> Option<Caution> {
    let found = asked.found;
    let edge = found.edge();
    let next = &found.points[edge.next?];
    if next.standing(None) != Standing::Open {
        return None;
    }
    let beyond = edge.not_safe.map(|at| &found.points[at]);
    let own = edge.safe.map(|at| found.points[at].number);
    let is_narrow = |from: f64, to: f64| (to - from).abs() <= NARROW * from.abs();
    if own.zip(beyond).is_some_and(|(from, to)| is_narrow(from, to.number)) {
        return None;
    }
    let until = beyond.map(|point| point.text.clone());
    Some(Caution {
        kind: "undecided",
        seen: match until {
            Some(until) => {
                format!("{} is not decided, and {until} is the first that is shown not to be safe", next.text)
            }
            None => format!("{} is not decided, and nothing is shown not to be safe", next.text),
        },
        meaning: "what is not shown to be safe is not called safe".to_owned(),
        remedy: format!("take more seeds, such as --replicates {}", 4 * found.question.looks.first),
    })
}

/// A range that is safe to its end.
fn spare(asked: &Asked<'_>) -> Option<Caution> {
    let found = asked.found;
    let is_whole = found.edge().next.is_none() && found.edge().safe.is_some();
    is_whole.then(|| Caution {
        kind: "range",
        seen: "every value that was tried is safe".to_owned(),
        meaning: "the range does not reach the edge, or there is none".to_owned(),
        remedy: match &asked.over {
            Over::Budget => "ask about live traffic instead, with --over live: how much may it grow?".to_owned(),
            Over::Workers => "ask for a wider range, such as --over workers=1..200".to_owned(),
            Over::Limit => "ask for smaller limits, such as --over limit=10k..100k".to_owned(),
            Over::Live => "ask about the budget instead, with --over budget".to_owned(),
            Over::Setting(path) => format!("ask for a wider range: --over {path}=FROM..TO"),
        },
    })
}

fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
