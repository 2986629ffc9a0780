//! Six numbers say how bad it was: what the retries multiplied, who met a 429, what was lost, how late the last one
//! came, when it was over, and what one task cost at most. Terminal and page show the same six.

use crate::experiment::Figure;
use crate::metrics::Tree;

use super::quantity::{TimeUnit, Unit};
use super::story::{Scope, Story, Subject};
use super::words::{readable, requests, task, tasks};

/// One headline number.
#[derive(Clone, Debug)]
pub struct Headline<'a> {
    /// What it is, in a few words.
    pub label: String,
    /// What it is counted over, in one line.
    pub note: String,
    /// The number; `None` where the figures do not have it.
    pub figure: Option<&'a Figure>,
    /// What it measures.
    pub unit: Unit,
    /// Its value in the run with the seed itself, where `figure` is over replicates and it is known.
    pub first: Option<f64>,
    /// Its colour, where a report has colour.
    pub tint: Tint,
}

/// What a report's colour says; everything else is plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Nothing.
    Plain,
    /// 429: throttled.
    Throttled,
    /// 529 or 503: overloaded.
    Overloaded,
    /// Failed for good.
    Failed,
}

/// The headline numbers of a run; those without any figure are left out.
pub fn headlines<'a>(subject: &Subject<'a>, story: &Story<'a>) -> Vec<Headline<'a>> {
    let cause = &story.cause.name;
    let place = place(story.scope);
    let line = |label: String, note: String, path: Vec<&str>, unit, tint| Headline {
        label,
        note,
        figure: subject.figure(&path),
        unit,
        first: subject.first_value(&path),
        tint,
    };
    let counted = story.multiplied(subject);
    let to_the_end = counted.is_some_and(|counted| counted.to_the_end);
    let mut out = vec![line(
        if to_the_end { "amplification, to the end".to_owned() } else { format!("amplification, {place}") },
        multiplied(subject, story, to_the_end),
        story.scope.path(cause, &[counted.map_or("amplification", |counted| counted.key)]),
        Unit::Ratio,
        Tint::Plain,
    )];
    if let Some((class, scope)) = story.live {
        let met = subject.of(scope, &class.name, &["tasks_with_429"]);
        let of = subject.of(scope, &class.name, &["offered"]);
        let (met, of) = (Unit::Count.brief(met), Unit::Count.brief(of));
        out.push(line(
            format!("{} with a 429", tasks(class)),
            format!("{met} of {of}, {}", self::place(scope)),
            scope.path(&class.name, &["tasks_with_429_share"]),
            Unit::Share,
            Tint::Throttled,
        ));
    }
    let offered = story.value(subject, &["offered"]).unwrap_or(0.0);
    out.push(line(
        format!("failed {}, of {}", tasks(story.cause), Unit::Count.bare(offered)),
        delivered(subject, story, &place),
        story.scope.path(cause, &["failed"]),
        Unit::Count,
        Tint::Failed,
    ));
    let slowest = Scope::Whole.path(cause, &["latency_s", "max"]);
    let unit = TimeUnit::of(subject.figure(&slowest).and_then(Figure::center).unwrap_or(0.0));
    out.push(line(
        "slowest delivered".to_owned(),
        not_delivered(subject, story),
        slowest,
        Unit::Time(unit),
        Tint::Plain,
    ));
    if let Some((fault, _)) = subject.windows().last() {
        let unit = TimeUnit::of(subject.figure(&["recovery", "total_s"]).and_then(Figure::center).unwrap_or(0.0));
        out.push(line(
            if subject.fixes_recovery() { "recovery, measured" } else { "recovery" }.to_owned(),
            format!("after the {}", readable(fault)),
            vec!["recovery", "total_s"],
            Unit::Time(unit),
            Tint::Plain,
        ));
    }
    out.push(line(
        format!("most requests of one {}", task(story.cause)),
        subject.scenario.client_of(story.cause).elements().len().checked_sub(1).map_or_else(
            || "its client has no layers".to_owned(),
            |_| format!("through client `{}`", subject.scenario.client_of(story.cause).name),
        ),
        Scope::Whole.path(cause, &["max_requests_per_task"]),
        Unit::Count,
        Tint::Plain,
    ));
    // Recovery stays where it is undefined: "never" is an answer.
    out.retain(|headline| headline.figure.is_some());
    out
}

/// Where a figure is counted, as a label.
pub fn place(scope: Scope<'_>) -> String {
    match scope {
        Scope::Whole => "whole run".to_owned(),
        Scope::Phase(phase) => readable(phase),
    }
}

/// What became of the others.
fn delivered(subject: &Subject<'_>, story: &Story<'_>, place: &str) -> String {
    let fate = |key: &str| format!("{} {key}", Unit::Count.brief(story.figure(subject, &[key])));
    let abandoned = story.value(subject, &["abandoned"]).is_some_and(|n| n > 0.0);
    let abandoned = if abandoned { format!("{}, ", fate("abandoned")) } else { String::new() };
    format!("{}, {abandoned}{}, {place}", fate("delivered"), fate("unfinished"))
}

fn multiplied(subject: &Subject<'_>, story: &Story<'_>, to_the_end: bool) -> String {
    if to_the_end {
        let inside = Unit::Ratio.brief(story.figure(subject, &["amplification"]));
        return format!("of the tasks of the {}; in it × {inside}", place(story.scope));
    }
    let needed = Unit::Count.brief(story.figure(subject, &["steps_offered"]));
    let sent = Unit::Count.brief(story.figure(subject, &["requests"]));
    format!("{} needed, {sent} sent", requests(&needed))
}

/// The share that the latency leaves out stands beside it.
fn not_delivered(subject: &Subject<'_>, story: &Story<'_>) -> String {
    let share = subject.value(Scope::Whole, &story.cause.name, &["not_delivered_share"]).unwrap_or(0.0);
    if share > 0.0 {
        format!("{} of all {} never arrived", Unit::Share.full(share), tasks(story.cause))
    } else {
        format!("all {} arrived", tasks(story.cause))
    }
}

/// The statuses and kinds of failure that any class met in the run, in the order of the figures.
pub fn failures<'a>(subject: &Subject<'a>, class: &str) -> Vec<&'a str> {
    let responses = subject.result.figures.at(&["classes", class, "responses"]).map_or(&[][..], Tree::branches);
    responses
        .iter()
        .filter(|(status, leaf)| {
            status != "200" && matches!(leaf, Tree::Leaf(figure) if figure.center().is_some_and(|n| n > 0.0))
        })
        .map(|(status, _)| status.as_str())
        .collect()
}
