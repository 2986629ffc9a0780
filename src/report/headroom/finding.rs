//! The answer in words: the last safe value with its confidence, where the file stands, what it costs.

use super::{Asked, Over, share};
use crate::experiment::compare::Cell;
use crate::experiment::headroom::{Case, Edge, Goal, Met, Point, Standing};
use crate::experiment::measure::Kind;
use crate::report::comparison::{cell, unit};
use crate::report::words::capitalised;

/// What is shown of a safe value, precisely: the goal without the value.
pub fn statement(asked: &Asked<'_>) -> String {
    let goal = asked.goal();
    let live = asked.live();
    match (goal.target > 0.0, asked.within()) {
        (true, Some(within)) => {
            format!("at most {} of {live} meet a 429 in any {within}", share(goal.target))
        }
        (true, None) => format!("at most {} of {live} meet a 429", share(goal.target)),
        (false, _) => format!("none of {live} meets a 429"),
    }
}

/// In which share of days, and how sure.
fn certainty(goal: &Goal) -> String {
    format!("in at least {} of days ({} confidence)", share(goal.days), share(goal.confidence))
}

/// The answer as a title: the sentence with the number, and whether the file's own is safe.
pub fn title(asked: &Asked<'_>) -> String {
    let own = asked.found.present().map(|point| match point.standing(None) {
        Standing::Safe => format!(" The file's {} is safe.", point.text),
        Standing::Unsafe => format!(" The file's {} is not safe.", point.text),
        Standing::Open => format!(" The file's {} is not shown to be safe.", point.text),
    });
    format!("{}{}", answer(asked), own.unwrap_or_default())
}

/// The answer, where the file stands, what it costs, and how the weathers differ.
pub fn findings(asked: &Asked<'_>) -> Vec<String> {
    let mut out = vec![answer(asked)];
    out.extend(present(asked));
    out.extend(cost(asked));
    out.extend(weathers(asked));
    out
}

fn answer(asked: &Asked<'_>) -> String {
    let found = asked.found;
    let when = if found.cases.len() > 1 { ", through the storm and without it" } else { "" };
    let goal = format!("{}, {}{when}", statement(asked), certainty(asked.goal()));
    let Some(safe) = found.safe() else {
        let ends =
            [found.points.first(), found.points.last()].map(|point| point.map_or("", |point| point.text.as_str()));
        let none = match &asked.over {
            Over::Budget => format!("No budget from {} to {} of `{}` is safe", ends[0], ends[1], asked.limit()),
            Over::Workers => format!("No number of workers from {} to {} is safe", ends[0], ends[1]),
            Over::Limit => format!("No `{}` from {} to {} is enough", asked.limit(), ends[0], ends[1]),
            Over::Live => format!("There is no room for {} from {} of `{}` up", asked.live(), ends[0], asked.limit()),
            Over::Setting(path) => format!("No `{path}` from {} to {} is safe", ends[0], ends[1]),
        };
        return format!("{none}: it is not shown that {goal}.");
    };
    let value = asked.point(safe);
    let lead = match &asked.over {
        Over::Budget => format!("Give {} at most {value}", asked.background()),
        Over::Workers => format!("Let at most {value} workers work on {}", asked.background()),
        Over::Limit => {
            let unit = asked.scale.as_ref().map_or("", |scale| scale.unit.as_str());
            format!("Buy at least {value} {unit} of `{}`", asked.limit())
        }
        Over::Live => {
            let budget =
                asked.budget.map(|budget| format!("With {} for {}, ", share(round(budget)), asked.background()));
            capitalised(&format!("{}{} may need up to {value}", budget.unwrap_or_default(), asked.live()))
        }
        Over::Setting(path) => {
            let side = if found.low_is_safe { "at most" } else { "at least" };
            format!("Set `{path}` to {side} {value}")
        }
    };
    let all = if found.edge().next.is_none() { " (the whole range is safe)" } else { "" };
    format!("{lead}{all}: then {goal}.")
}

/// Where the file stands.
fn present(asked: &Asked<'_>) -> Option<String> {
    let found = asked.found;
    let point = found.present()?;
    let value = match &asked.over {
        Over::Workers => format!("The file's number of workers, {},", point.text),
        Over::Live => format!("What {} need in the file, {},", asked.live(), asked.value(&point.text)),
        Over::Budget | Over::Limit | Over::Setting(_) => format!("The file's {}", asked.value(&point.text)),
    };
    let kept = |met: &Met| format!("{} of {} {}", met.kept, point.seeds, weather(asked, met.case));
    let days: Vec<String> = point.cases.iter().map(kept).collect();
    let days = format!("the target was met in {}", days.join(" and "));
    Some(match point.standing(None) {
        Standing::Safe => format!("{value} is safe: {days}."),
        Standing::Unsafe => format!("{value} is not safe: {days}."),
        Standing::Open => format!("{value} is not shown to be safe: {days}."),
    })
}

/// The days of a case; of a file without a storm there is but one.
fn weather(asked: &Asked<'_>, case: Case) -> &'static str {
    match case {
        Case::Storm => "stormy days",
        Case::Calm if asked.found.cases.len() == 1 => "days",
        Case::Calm => "calm days",
    }
}

/// The price of the last safe value beside that of the file's own, in the first weather.
fn cost(asked: &Asked<'_>) -> Option<String> {
    let found = asked.found;
    let (safe, now) = (found.safe()?, found.present()?);
    let is_same = found.edge().safe == found.present;
    let (met, other) = (safe.cases.first()?, now.cases.first()?);
    let count = |own: &Cell| cell(own, unit(Kind::Count, 0.0));
    let time = |own: &Cell| cell(own, unit(Kind::Seconds, own.mean().unwrap_or(0.0)));
    let beside = |text: String| if is_same { String::new() } else { format!(" ({text})") };
    let mut parts = Vec::new();
    for (own, theirs) in met.costs.iter().zip(&other.costs) {
        let held = beside(format!("at the file's {}: {}", now.text, time(&theirs.latency)));
        parts.push(format!("{}{held}", arrives(asked, &own.class, &own.latency)));
        parts.push(format!("the longest queue is {}{}", count(&own.queue), beside(count(&theirs.queue))));
    }
    if met.case == Case::Storm {
        let drained = beside(time(&other.drained));
        parts.push(match met.drained.mean() {
            Some(_) => format!("it is back {} after the storm{drained}", time(&met.drained)),
            None => format!("it is not back before the run ends{drained}"),
        });
    }
    let lead = match &asked.over {
        Over::Live => format!("With live traffic at {}", safe.text),
        Over::Workers => format!("With {} workers", safe.text),
        Over::Budget | Over::Limit | Over::Setting(_) => format!("At {}", safe.text),
    };
    (!parts.is_empty()).then(|| format!("{lead}, {}.", parts.join("; ")))
}

/// A share without the digits that say nothing.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// `95 % of reports arrive within 37 min`, or that they do not.
fn arrives(asked: &Asked<'_>, class: &str, latency: &Cell) -> String {
    let name = asked
        .scenario
        .traffic
        .iter()
        .find(|known| known.name == class)
        .map_or_else(|| class.to_owned(), crate::report::words::tasks);
    match latency.mean() {
        Some(mean) => format!("95 % of {name} arrive within {}", unit(Kind::Seconds, mean).full(mean)),
        None => format!("more than 5 % of {name} never arrive"),
    }
}

/// The price of a value in its first case, for a table: p95, lost, queue of one class.
pub fn costs(met: &Met, class: usize) -> [String; 3] {
    let own = &met.costs[class];
    let seconds = unit(Kind::Seconds, own.latency.mean().unwrap_or(0.0));
    [
        cell(&own.latency, seconds),
        cell(&own.not_delivered, unit(Kind::Share, 0.0)),
        cell(&own.queue, unit(Kind::Count, 0.0)),
    ]
}

/// How far one could go in each weather alone, where that differs.
fn weathers(asked: &Asked<'_>) -> Option<String> {
    let found = asked.found;
    let [storm, calm, _] = found.edges.as_slice() else { return None };
    if storm.safe == calm.safe {
        return None;
    }
    let far = |edge: &Edge| {
        let text = edge.safe.map(|at| asked.value(&found.points[at].text));
        match (text, edge.next) {
            (Some(text), Some(_)) => format!("up to {text}"),
            (Some(text), None) => format!("to the end of the range, {text},"),
            (None, _) => "nowhere".to_owned(),
        }
    };
    let words = |text: String| if found.low_is_safe { text } else { text.replace("up to", "down to") };
    Some(format!("Through the storm it is safe {}, on calm days {}.", words(far(storm)), words(far(calm))))
}

/// The places of the points from the safe end on.
pub(super) fn in_order<'a>(asked: &Asked<'a>) -> Vec<(usize, &'a Point)> {
    let mut all: Vec<(usize, &Point)> = asked.found.points.iter().enumerate().collect();
    if !asked.found.low_is_safe {
        all.reverse();
    }
    all
}
