//! What a comparison measures of every run: numbers that mean the same whatever the policy. Phases that end when a run
//! has recovered are as long as the policy makes them, so only the whole run, fault windows and phases that the file
//! fixes are measured, each where it is the same for all.
//!
//! A latency of the delivered ones alone praises a policy for what it lost: beside the slowest delivered task there are
//! quantiles over all that arrived, in which a task that was not delivered within the run took for ever.

use super::stretch;
use crate::metrics::{Number, Tree, summarize};
use crate::observe::{ClassLedger, LayerRows, Outcome};
use crate::provider::Window;
use crate::scenario::Scenario;
use crate::stats::LatencyStore;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// The part of a run that a number is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole run.
    Whole,
    /// A phase that lasts equally long in all runs.
    Phase(String),
}

/// What a number is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A traffic class; `live` where its tasks are turns.
    Class {
        /// Its name.
        name: String,
        /// Whether its tasks are turns.
        live: bool,
    },
    /// A layer of a class's client.
    Layer {
        /// The name of the class.
        class: String,
    },
    /// A limit of the provider.
    Limit(String),
    /// The run as a whole.
    Run,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Things.
    Count,
    /// One thing for each other thing.
    Ratio,
    /// A share from 0 to 1.
    Share,
    /// A time in seconds.
    Seconds,
    /// An amount of money.
    Money,
}

/// One number that is measured of every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The part of the run.
    pub part: Part,
    /// What it is of.
    pub of: Of,
    /// Its name, as in the summary; `latency_all_s.p95` and the like count a task that was not delivered as never.
    pub key: String,
    /// What it counts.
    pub kind: Kind,
    /// Whether less of it is better; a factor of one layer or an arrival is neither good nor bad by itself.
    pub lower_is_better: bool,
    /// Whether it is one of the few that a comparison is judged by.
    pub headline: bool,
}

/// The quantiles that are taken over all tasks that arrived.
const QUANTILES: [(&str, f64); 3] =
    [("latency_all_s.p50", 0.5), ("latency_all_s.p95", 0.95), ("latency_all_s.max", 1.0)];

impl Measure {
    /// The place of this number, such as `phases.overload.report.amplification`.
    pub fn path(&self) -> String {
        let part = match &self.part {
            Part::Whole => String::new(),
            Part::Phase(name) => format!("phases.{name}."),
        };
        match &self.of {
            Of::Class { name, .. } => format!("{part}classes.{name}.{}", self.key),
            Of::Layer { class } => format!("{part}classes.{class}.factors.{}", self.key),
            Of::Limit(name) => format!("{part}limits.{name}.{}", self.key),
            Of::Run => format!("{part}{}", self.key),
        }
    }

    /// The class that it is of; `None` for a limit or the run.
    pub fn class(&self) -> Option<&str> {
        match &self.of {
            Of::Class { name, .. } => Some(name),
            Of::Layer { class } => Some(class),
            Of::Limit(_) | Of::Run => None,
        }
    }
}

/// The parts of a run that are the same for all of these scenarios: the whole, then fault windows and fixed phases.
fn parts(scenarios: &[&Scenario]) -> Vec<(Part, Option<Window>)> {
    let fixed = |scenario: &Scenario| -> Vec<(String, Window)> {
        let windows = scenario.fault_windows().into_iter().map(|(name, window)| (name.to_owned(), window));
        let named = scenario.phases.iter().map(|phase| (phase.name.clone(), phase.window));
        let mut all: Vec<(String, Window)> = Vec::new();
        // A phase of the file replaces the one of a window of the same name.
        for (name, window) in windows.chain(named) {
            all.retain(|(known, _)| *known != name);
            all.push((name, window));
        }
        all
    };
    let mut shared = scenarios.first().map(|scenario| fixed(scenario)).unwrap_or_default();
    for scenario in scenarios.iter().skip(1) {
        let other = fixed(scenario);
        shared.retain(|phase| other.contains(phase));
    }
    let phases = shared.into_iter().map(|(name, window)| (Part::Phase(name), Some(window)));
    std::iter::once((Part::Whole, None)).chain(phases).collect()
}

/// The classes of all scenarios, each once, in the order in which they come.
fn classes<'a>(scenarios: &[&'a Scenario]) -> Vec<&'a TrafficClass> {
    let mut all: Vec<&TrafficClass> = Vec::new();
    for class in scenarios.iter().flat_map(|scenario| &scenario.traffic) {
        if !all.iter().any(|known| known.name == class.name) {
            all.push(class);
        }
    }
    all
}

/// What is measured of runs of these scenarios, in the order in which it is reported.
pub fn measures(scenarios: &[&Scenario]) -> Vec<Measure> {
    let parts = parts(scenarios);
    let has_window = |part: &Part| match part {
        Part::Whole => false,
        Part::Phase(name) => scenarios.iter().any(|s| s.fault_windows().iter().any(|(fault, _)| fault == name)),
    };
    let storm = parts.iter().map(|(part, _)| part).find(|part| has_window(part)).unwrap_or(&Part::Whole);
    let mut out = Vec::new();
    let classes = classes(scenarios);
    let has_jobs = classes.iter().any(|class| !class.is_live());
    for class in classes {
        // Background work is what retries are stacked for; where there is none, a comparison is of the turns.
        let leads = !class.is_live() || !has_jobs;
        for (part, _) in &parts {
            of_class(class, part, leads, part == storm, &mut out);
            if *part == Part::Whole && scenarios.iter().any(|scenario| scenario.may_abandon(&class.name)) {
                let of = Of::Class { name: class.name.clone(), live: class.is_live() };
                out.push(measure(part, of, "abandoned", Kind::Count, true));
            }
            of_money(scenarios, class, part, &mut out);
        }
        factors(scenarios, class, storm, &mut out);
    }
    let mut limits: Vec<&str> = Vec::new();
    for limit in scenarios.iter().flat_map(|scenario| &scenario.provider.limits) {
        if !limits.contains(&limit.name.as_str()) {
            limits.push(&limit.name);
        }
    }
    for limit in limits {
        for (key, kind) in [("refused", Kind::Count), ("below_tenth_s", Kind::Seconds)] {
            out.push(measure(&Part::Whole, Of::Limit(limit.to_owned()), key, kind, false));
        }
    }
    if scenarios.iter().any(|scenario| !scenario.fault_windows().is_empty()) {
        for key in ["total_s", "queue_s", "live_429_s", "requests_per_call_s"] {
            let key = format!("recovery.{key}");
            let headline = key == "recovery.total_s";
            out.push(measure(&Part::Whole, Of::Run, &key, Kind::Seconds, headline));
        }
    }
    let mut alerts: Vec<&str> = Vec::new();
    for alert in scenarios.iter().flat_map(|scenario| &scenario.alerts) {
        if !alerts.contains(&alert.name.as_str()) {
            alerts.push(&alert.name);
            let key = format!("alerts.{}.firing_s", alert.name);
            out.push(measure(&Part::Whole, Of::Run, &key, Kind::Seconds, false));
        }
    }
    out
}

fn measure(part: &Part, of: Of, key: &str, kind: Kind, headline: bool) -> Measure {
    Measure { part: part.clone(), of, key: key.to_owned(), kind, lower_is_better: true, headline }
}

fn of_class(class: &TrafficClass, part: &Part, leads: bool, is_storm: bool, out: &mut Vec<Measure>) {
    let live = class.is_live();
    let whole = *part == Part::Whole;
    let mut put = |key: &str, kind: Kind, headline: bool| {
        out.push(measure(part, Of::Class { name: class.name.clone(), live }, key, kind, headline));
    };
    put("requests", Kind::Count, is_storm && leads);
    put("provider_requests", Kind::Count, false);
    put("amplification", Kind::Ratio, is_storm && leads);
    put("amplification_by_task", Kind::Ratio, false);
    put("requests_per_call_peak", Kind::Ratio, false);
    put("max_requests_per_task", Kind::Count, false);
    put("tasks_with_429", Kind::Count, false);
    put("tasks_with_429_share", Kind::Share, live);
    put("requests_429_share", Kind::Share, false);
    put("failed", Kind::Count, whole);
    put("failed_share", Kind::Share, false);
    put("not_delivered_share", Kind::Share, false);
    put("repeated_effects", Kind::Count, false);
    put("failed_with_effect", Kind::Count, false);
    put("wasted_server_s", Kind::Seconds, false);
    for (key, _) in QUANTILES {
        put(key, Kind::Seconds, whole && leads && key == "latency_all_s.p95");
    }
    put("latency_s.p50", Kind::Seconds, false);
    put("latency_s.p95", Kind::Seconds, false);
    put("latency_s.max", Kind::Seconds, whole && leads);
}

/// What the requests cost, where anything has a price; and how many refusals by rate limits the retries have caused.
fn of_money(scenarios: &[&Scenario], class: &TrafficClass, part: &Part, out: &mut Vec<Measure>) {
    let mut put = |key: &str, kind: Kind| {
        let of = Of::Class { name: class.name.clone(), live: class.is_live() };
        out.push(measure(part, of, key, kind, false));
    };
    if *part == Part::Whole && scenarios.iter().any(|scenario| !scenario.provider.limits.is_empty()) {
        put("refusals.of_limits.met_retries", Kind::Count);
        put("refusals.of_limits.caused_by_retries_share", Kind::Share);
    }
    if scenarios.iter().any(|scenario| scenario.provider.prices.is_some()) {
        for key in ["total", "retries", "unreceived", "failed_tasks", "cost_per_delivered"] {
            put(&format!("bill.{key}"), Kind::Money);
        }
    }
}

/// One factor for each layer that the class's client has anywhere, outermost first.
fn factors(scenarios: &[&Scenario], class: &TrafficClass, storm: &Part, out: &mut Vec<Measure>) {
    let mut names: Vec<String> = vec!["runs".to_owned(), "steps_reached".to_owned()];
    for scenario in scenarios {
        let Some(class) = scenario.traffic.iter().find(|other| other.name == class.name) else { continue };
        // Each goes behind its neighbour, so that layers of two stacks stand in one order.
        let mut after = 2;
        for layer in LayerRows::of(scenario, class).inside().iter().rev() {
            if let Some(at) = names.iter().position(|name| name == layer) {
                after = at + 1;
            } else {
                names.insert(after, (*layer).to_owned());
                after += 1;
            }
        }
    }
    for name in names {
        let of = Of::Layer { class: class.name.clone() };
        out.push(Measure { lower_is_better: false, ..measure(storm, of, &name, Kind::Ratio, false) });
    }
}

/// The values of all measures in one run. NaN is a number that is not defined there, infinity a time that is never.
pub(super) fn values(measures: &[Measure], scenario: &Scenario, outcome: &Outcome) -> Box<[f64]> {
    let tree = summarize(scenario, outcome);
    // Neighbouring measures are of one class in one part of the run, whose latencies are merged once.
    let mut merged: Option<(&Part, &str, LatencyStore, u64)> = None;
    let one = |measure: &Measure| match &measure.of {
        Of::Limit(name) => number(&tree, &["limits", name, &measure.key]),
        Of::Run => never_if_undefined(&tree, &measure.key),
        Of::Layer { class } => factor(&tree, measure, class),
        Of::Class { name, .. } if measure.part == Part::Whole => of_series(scenario, outcome, name, &measure.key)
            .unwrap_or_else(|| number(&tree, &in_part(&measure.part, name, &measure.key))),
        Of::Class { name, .. } => number(&tree, &in_part(&measure.part, name, &measure.key)),
    };
    let mut out = Vec::with_capacity(measures.len());
    for measure in measures {
        let quantile = QUANTILES.iter().find(|(key, _)| *key == measure.key);
        let (Some((_, q)), Of::Class { name, .. }) = (quantile, &measure.of) else {
            out.push(one(measure));
            continue;
        };
        if merged.as_ref().is_none_or(|(part, class, ..)| (*part, *class) != (&measure.part, name.as_str())) {
            merged = latencies(scenario, outcome, &measure.part, name)
                .map(|(store, offered)| (&measure.part, name.as_str(), store, offered));
        }
        out.push(match &merged {
            Some((.., store, offered)) if *offered > 0 => {
                store.quantile_among(*q, *offered).map_or(f64::INFINITY, SimDuration::as_secs_f64)
            }
            Some(_) | None => f64::NAN,
        });
    }
    out.into_boxed_slice()
}

/// The path of a class's number in a part of the run.
fn in_part<'a>(part: &'a Part, class: &'a str, key: &'a str) -> Vec<&'a str> {
    let mut path = match part {
        Part::Whole => vec!["classes", class],
        Part::Phase(phase) => vec!["phases", phase, "classes", class],
    };
    path.extend(key.split('.'));
    path
}

/// A number of a class that is read from its series.
fn of_series(scenario: &Scenario, outcome: &Outcome, class: &str, key: &str) -> Option<f64> {
    let index = scenario.traffic.iter().position(|known| known.name == class)?;
    stretch::value(key, &outcome.timeline, outcome.timeline.classes.get(index)?)
}

fn number(tree: &Tree<Number>, path: &[&str]) -> f64 {
    tree.leaf(path).map_or(f64::NAN, |number| number.value)
}

/// A time after the last fault window: never, where the run ends first. A run without a window has no such time.
fn never_if_undefined(tree: &Tree<Number>, key: &str) -> f64 {
    let path: Vec<&str> = key.split('.').collect();
    match tree.leaf(&path) {
        None => f64::NAN,
        Some(number) => number.get().unwrap_or(f64::INFINITY),
    }
}

/// A layer that is not there lets everything through once.
fn factor(tree: &Tree<Number>, measure: &Measure, class: &str) -> f64 {
    let path = in_part(&measure.part, class, "factors");
    if tree.at(&path).is_none() {
        return f64::NAN;
    }
    let mut path = path;
    path.push(&measure.key);
    tree.leaf(&path).map_or(1.0, |number| number.value)
}

/// The latencies of a class's delivered tasks in a part of the run, and how many arrived in it.
fn latencies(scenario: &Scenario, outcome: &Outcome, part: &Part, class: &str) -> Option<(LatencyStore, u64)> {
    let index = scenario.traffic.iter().position(|known| known.name == class)?;
    let ledger: &ClassLedger = outcome.classes.get(index)?;
    let cells = match part {
        Part::Whole => 0..outcome.plan.cells(),
        Part::Phase(name) => outcome.plan.cells_of(outcome.plan.phases().iter().find(|phase| phase.name == *name)?),
    };
    let total = ledger.total(cells);
    Some((total.latency, total.counts.offered))
}
