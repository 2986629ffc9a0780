//! A storm has a class that causes it, a fault window in which it grows, and people who pay for it. Which ones these
//! are follows from the figures; every report reads them from here, so that sentence, table and page tell one story.

use crate::experiment::{Figure, RunResult};
use crate::explain::ladder::attempts_bound;
use crate::metrics::Tree;
use crate::policy::{Client, Element};
use crate::provider::Window;
use crate::scenario::Scenario;
use crate::traffic::{LayerOrder, TrafficClass};

/// What a report is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// What came out.
    pub result: &'a RunResult,
    /// The figures of the run with the seed itself, where `result` holds statistics over replicates and they are known.
    pub first: Option<&'a Tree<Figure>>,
    /// What the layers of each class multiply to at worst, where that was worked out.
    pub worst: &'a [WorstCase],
}

/// What the layers of one class multiply to at worst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstCase {
    /// The traffic class.
    pub class: String,
    /// Attempts of each retry layer, by the layer's name; `None` for no limit.
    pub attempts: Vec<(String, Option<u64>)>,
    /// Requests that one step can cost; `None` for no limit.
    pub per_step: Option<u64>,
    /// Requests that one task can cost; `None` for no limit.
    pub per_task: Option<u64>,
}

/// The part of a run that a figure covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The whole run.
    Whole,
    /// The phase of this name.
    Phase(&'a str),
}

impl<'a> Subject<'a> {
    /// A report's subject without anything that other verbs know about it.
    pub fn new(scenario: &'a Scenario, result: &'a RunResult) -> Subject<'a> {
        Subject { scenario, result, first: None, worst: &[] }
    }

    /// The figure at this path.
    pub fn figure(&self, path: &[&str]) -> Option<&'a Figure> {
        self.result.figures.leaf(path)
    }

    /// The figure of a class in a part of the run.
    pub fn of(&self, scope: Scope<'_>, class: &str, keys: &[&str]) -> Option<&'a Figure> {
        self.figure(&scope.path(class, keys))
    }

    /// The number or mean of a class in a part of the run, where it is defined.
    pub fn value(&self, scope: Scope<'_>, class: &str, keys: &[&str]) -> Option<f64> {
        self.of(scope, class, keys)?.center()
    }

    /// The same of the run with the seed itself.
    pub fn first_value(&self, path: &[&str]) -> Option<f64> {
        self.first?.leaf(path)?.center()
    }

    /// The names of the phases, in order.
    pub fn phases(&self) -> Vec<&'a str> {
        self.result
            .figures
            .at(&["phases"])
            .map_or(&[][..], Tree::branches)
            .iter()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// When a phase begins and ends, in seconds since the run began.
    pub fn phase_span(&self, phase: &str) -> Option<(f64, f64)> {
        let bound = |key| self.figure(&["phases", phase, key]).and_then(Figure::center);
        Some((bound("from_s")?, bound("to_s")?))
    }

    /// The fault windows with their names, in order.
    pub fn windows(&self) -> Vec<(&'a str, Window)> {
        self.scenario.fault_windows()
    }

    /// Whether the file itself says when the phase `recovery` is: it is then not the time until things were back.
    pub fn fixes_recovery(&self) -> bool {
        self.scenario.phases.iter().any(|phase| phase.name == "recovery")
    }

    /// Whether the figures are statistics over replicates.
    pub const fn is_replicated(&self) -> bool {
        self.result.replicates.is_some()
    }
}

impl<'a> Scope<'a> {
    /// The path of a class's figure.
    pub fn path<'b>(self, class: &'b str, keys: &[&'b str]) -> Vec<&'b str>
    where
        'a: 'b,
    {
        let mut path = match self {
            Scope::Whole => vec!["classes", class],
            Scope::Phase(phase) => vec!["phases", phase, "classes", class],
        };
        path.extend_from_slice(keys);
        path
    }
}

/// Who causes the storm, where it grows, and who pays.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// The class that sends the most requests beyond those it needs.
    pub cause: &'a TrafficClass,
    /// Its index in the scenario.
    pub cause_index: usize,
    /// Where it does: the phase of a fault window, or the whole run where there is none.
    pub scope: Scope<'a>,
    /// The live class that meets the most 429s, and the phase in which it does; `None` without live classes.
    pub live: Option<(&'a TrafficClass, Scope<'a>)>,
}

impl<'a> Story<'a> {
    /// The story that the figures tell; `None` for a scenario without traffic.
    pub fn of(subject: &Subject<'a>) -> Option<Story<'a>> {
        let scopes = window_scopes(subject);
        let (cause_index, scope) = loudest(subject, &scopes)?;
        Some(Story { cause: &subject.scenario.traffic[cause_index], cause_index, scope, live: payer(subject) })
    }

    /// The figure of the class that causes the storm, where it does.
    pub fn figure(&self, subject: &Subject<'a>, keys: &[&str]) -> Option<&'a Figure> {
        subject.of(self.scope, &self.cause.name, keys)
    }

    /// Its number or mean, where it is defined.
    pub fn value(&self, subject: &Subject<'a>, keys: &[&str]) -> Option<f64> {
        self.figure(subject, keys)?.center()
    }

    /// What hops between the client and the provider made of each of the client's requests; `None` without hops.
    pub fn through_hops(&self, subject: &Subject<'a>) -> Option<f64> {
        let mut hops: Vec<&str> =
            subject.scenario.clients_of(self.cause).flat_map(Client::hops).map(|hop| hop.name.as_str()).collect();
        hops.sort_unstable();
        hops.dedup();
        let factor = |hop: &&str| self.value(subject, &["factors", hop]).unwrap_or(1.0);
        (!hops.is_empty()).then(|| hops.iter().map(factor).product())
    }

    /// What the retries made of each request needed. Where jobs outlive the window, most of what they send comes after
    /// it, and only following them to their end says what they cost.
    pub fn multiplied(&self, subject: &Subject<'a>) -> Option<Multiplied> {
        let inside = self.value(subject, &["amplification"])?;
        let followed = self.value(subject, &["amplification_by_task"]).filter(|ratio| *ratio > OUTLIVED * inside);
        Some(match followed.filter(|_| self.scope != Scope::Whole) {
            Some(ratio) => Multiplied { ratio, to_the_end: true, key: "amplification_by_task" },
            None => Multiplied { ratio: inside, to_the_end: false, key: "amplification" },
        })
    }

    /// The layers of its client that can try again, innermost first; one with a single attempt multiplies nothing.
    pub fn retry_layers(&self, subject: &Subject<'a>) -> Vec<&'a str> {
        let elements = || subject.scenario.clients_of(self.cause).flat_map(Client::elements);
        let tries_again = |element: &Element| element.role.policy().is_some_and(|p| attempts_bound(p) != Some(1));
        let mut names = LayerOrder::of(subject.scenario.clients_of(self.cause)).names;
        names.retain(|name| elements().any(|element| element.name == *name && tries_again(element)));
        names
    }
}

/// How much larger the amplification of tasks followed to their end must be than that of their window before they are
/// said to outlive it: the two differ a little wherever calls straddle its edges.
pub const OUTLIVED: f64 = 1.2;

/// What retries made of each request needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiplied {
    /// Requests for each request needed.
    pub ratio: f64,
    /// Whether tasks are followed to their end, past the window.
    pub to_the_end: bool,
    /// The name of the figure.
    pub key: &'static str,
}

/// The phases of the fault windows, where the figures have them; else the whole run.
fn window_scopes<'a>(subject: &Subject<'a>) -> Vec<Scope<'a>> {
    let phases = subject.phases();
    let mut scopes: Vec<Scope<'a>> = subject
        .windows()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| phases.contains(name))
        .map(Scope::Phase)
        .collect();
    if scopes.is_empty() {
        scopes.push(Scope::Whole);
    }
    scopes
}

/// How much more a live class must multiply than every job class before the story is about it.
const CLEARLY: f64 = 1.5;

/// A class in a part of the run, with what it sent.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    index: usize,
    scope: Scope<'a>,
    offered: f64,
    excess: f64,
    amplification: f64,
}

/// The class and the part of the run with the most requests beyond those needed. Job classes come first: background
/// work is what retries are stacked for, and a live class that is retried a little sends more of them only because
/// it is large. It is the cause where it clearly multiplies more.
fn loudest<'a>(subject: &Subject<'a>, scopes: &[Scope<'a>]) -> Option<(usize, Scope<'a>)> {
    let jobs = loudest_of(subject, scopes, false);
    let live = loudest_of(subject, scopes, true);
    let cause = match (jobs, live) {
        (Some(jobs), Some(live)) => {
            let is_idle = jobs.offered <= 0.0 && live.offered > 0.0;
            let is_clear = live.excess > jobs.excess && live.amplification > CLEARLY * jobs.amplification.max(1.0);
            if is_idle || is_clear { live } else { jobs }
        }
        (one, other) => one.or(other)?,
    };
    Some((cause.index, cause.scope))
}

fn loudest_of<'a>(subject: &Subject<'a>, scopes: &[Scope<'a>], is_live: bool) -> Option<Candidate<'a>> {
    let classes = subject.scenario.traffic.iter().enumerate().filter(|(_, class)| class.is_live() == is_live);
    let mut best: Option<Candidate<'a>> = None;
    for (index, class) in classes {
        for scope in scopes {
            let value = |key| subject.value(*scope, &class.name, &[key]).unwrap_or(0.0);
            let candidate = Candidate {
                index,
                scope: *scope,
                offered: value("offered"),
                excess: (value("requests") - value("steps_offered")).max(0.0),
                amplification: value("amplification"),
            };
            let rank = |c: &Candidate<'_>| (c.excess, c.offered);
            if best.is_none_or(|best| rank(&candidate) > rank(&best)) {
                best = Some(candidate);
            }
        }
    }
    best
}

/// The live class and phase with the largest share of turns that met a 429.
fn payer<'a>(subject: &Subject<'a>) -> Option<(&'a TrafficClass, Scope<'a>)> {
    let mut scopes: Vec<Scope<'a>> = subject.phases().into_iter().map(Scope::Phase).collect();
    if subject.windows().is_empty() || scopes.is_empty() {
        scopes = vec![Scope::Whole];
    }
    // Without any 429, the phase after the first fault began is where one would be looked for.
    let recovery = Scope::Phase("recovery");
    let default = if scopes.contains(&recovery) { recovery } else { scopes[0] };
    let share =
        |class: &TrafficClass, scope| subject.value(scope, &class.name, &["tasks_with_429_share"]).unwrap_or(0.0);
    let live = || subject.scenario.traffic.iter().filter(|class| class.is_live());
    let mut best = (live().next()?, default);
    for class in live() {
        for scope in &scopes {
            if share(class, *scope) > share(best.0, best.1) {
                best = (class, *scope);
            }
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, set};

    #[test]
    fn jobs_cause_the_storm_unless_turns_clearly_multiply_more() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let report = |key| ["phases", "overload", "classes", "report", key];
        let live = |key| ["phases", "overload", "classes", "live", key];
        let cause = |result: &RunResult| {
            let subject = Subject::new(&scenario, result);
            Story::of(&subject).map(|story| (story.cause.name.clone(), story.scope == Scope::Phase("overload")))
        };
        // 305 requests too many against 540 of the much larger live class.
        set(&mut result.figures, &report("requests"), 725.0);
        set(&mut result.figures, &report("amplification"), 1.73);
        assert_eq!(cause(&result), Some(("report".to_owned(), true)));
        set(&mut result.figures, &live("amplification"), 3.1);
        assert_eq!(cause(&result), Some(("live".to_owned(), true)));
    }
}
