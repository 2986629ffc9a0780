//! The numbers beside the curves come from the figures of the result, by path: any of them may be missing or
//! undefined, and then the picture says less instead of something wrong.

use super::number;
use crate::experiment::{Figure, RunResult};
use crate::policy::{Client, Mechanism};
use crate::report::words::readable;
use crate::scenario::Scenario;
use crate::traffic::{TaskKind, TrafficClass};

/// A result together with its scenario.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    /// What was measured.
    pub(super) result: &'a RunResult,
    /// What was asked.
    pub(super) scenario: &'a Scenario,
}

impl<'a> Facts<'a> {
    fn figure(&self, path: &[&str]) -> Option<&'a Figure> {
        self.result.figures.leaf(path)
    }

    /// The number at a path, or its mean over replicates.
    pub(super) fn value(&self, path: &[&str]) -> Option<f64> {
        self.figure(path)?.center().filter(|value| value.is_finite())
    }

    /// Whether there is such a figure that no run defines.
    pub(super) fn is_undefined(&self, path: &[&str]) -> bool {
        self.figure(path).is_some_and(|figure| figure.center().is_none())
    }

    /// How sure a number is, in the words of a gutter note: `mean of 200 seeds [9.2, 9.4]`; `None` for a single run.
    pub(super) fn spread(&self, path: &[&str], write: impl Fn(f64) -> String) -> Option<String> {
        let (low, high) = self.figure(path)?.interval()?;
        let seeds = self.seeds()?;
        let (low, high) = (write(low), write(high));
        // A unit that both ends share is said once.
        let low = match (low.rsplit_once('\u{a0}'), high.rsplit_once('\u{a0}')) {
            (Some((number, unit)), Some((_, other))) if unit == other => number.to_string(),
            (Some(_) | None, _) => low,
        };
        Some(format!("mean of {} seeds [{low},\u{a0}{high}]", number::count(seeds as f64)))
    }

    /// The number of replicates, where there is more than one.
    pub(super) fn seeds(&self) -> Option<u64> {
        self.result.replicates.filter(|&n| n > 1)
    }

    /// The classes that have series, by index: the ones that cause stand above the ones that suffer.
    pub(super) fn classes(&self) -> Vec<usize> {
        let known = self.scenario.traffic.len().min(self.result.timeline.classes.len());
        let (live, jobs): (Vec<usize>, Vec<usize>) = (0..known).partition(|&i| self.class(i).is_live());
        jobs.into_iter().chain(live).collect()
    }

    /// The jobs classes, by index.
    pub(super) fn jobs(&self) -> Vec<usize> {
        self.classes().into_iter().filter(|&i| !self.class(i).is_live()).collect()
    }

    /// The live classes, by index.
    pub(super) fn live(&self) -> Vec<usize> {
        self.classes().into_iter().filter(|&i| self.class(i).is_live()).collect()
    }

    /// A class.
    pub(super) fn class(&self, i: usize) -> &'a TrafficClass {
        &self.scenario.traffic[i]
    }

    /// How many workers these classes have; those of a pool count once.
    pub(super) fn workers_of(&self, classes: &[usize]) -> u32 {
        let is_first = |at: usize| {
            let pool = self.class(classes[at]).queueing.pool;
            pool.is_none() || classes[..at].iter().all(|other| self.class(*other).queueing.pool != pool)
        };
        (0..classes.len()).filter(|at| is_first(*at)).map(|at| self.class(classes[at]).workers()).sum()
    }

    /// How many workers a class has in a narrow bin; those of a pool may come and go.
    pub(super) fn workers_at(&self, class: usize, bin: usize) -> u32 {
        let pool = self.class(class).queueing.pool.and_then(|pool| self.result.timeline.pools.get(pool));
        pool.and_then(|pool| pool.workers.get(bin).copied()).unwrap_or_else(|| self.class(class).workers())
    }

    /// What the tasks of a class are called: `report jobs`, `live turns`.
    pub(super) fn tasks(&self, i: usize) -> String {
        let class = self.class(i);
        let word = match class.kind {
            TaskKind::Jobs { .. } => "jobs",
            TaskKind::Turns => "turns",
        };
        let one = &word[..word.len() - 1];
        let name = readable(&class.name);
        if name.ends_with(word) {
            name
        } else if name == one || name.ends_with(&format!(" {one}")) {
            format!("{name}s")
        } else {
            format!("{name} {word}")
        }
    }

    /// The kinds of guard that stand in a class's clients.
    pub(super) fn guards(&self, i: usize) -> Guards {
        let class = self.class(i);
        if self.scenario.clients.get(class.client).is_none() {
            return Guards::default();
        }
        let elements = self.scenario.clients_of(class).flat_map(Client::elements);
        let guards = elements.filter_map(|element| self.scenario.guards.get(element.role.guard()?));
        guards.fold(Guards::default(), |kinds, guard| match guard.mechanism {
            Mechanism::Pacer(_) | Mechanism::Rate(_) => Guards { pacer: true, ..kinds },
            Mechanism::Breaker(_) => Guards { breaker: true, ..kinds },
            Mechanism::Gate(_) => Guards { gate: true, ..kinds },
            Mechanism::Semaphore(_) | Mechanism::Concurrency(_) => Guards { line: true, ..kinds },
            // It lets nobody wait.
            Mechanism::Size(_) | Mechanism::Throttle(_) | Mechanism::Deployments(_) => kinds,
        })
    }

    /// The name of a class at the beginning of a title.
    pub(super) fn named(&self, i: usize) -> String {
        capital(&readable(&self.class(i).name))
    }

    /// The phases that hold a figure of a class, each with the figure.
    pub(super) fn by_phase(&self, class: usize, figure: &str) -> Vec<(&'a str, f64)> {
        let name = self.class(class).name.as_str();
        let phases = self.result.figures.at(&["phases"]).map_or(&[][..], |tree| tree.branches());
        phases
            .iter()
            .filter_map(|(phase, _)| Some((phase.as_str(), self.value(&["phases", phase, "classes", name, figure])?)))
            .collect()
    }
}

/// Which kinds of guard hold a class back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set, each of whose kinds may be there")]
pub(super) struct Guards {
    /// A pacer.
    pub(super) pacer: bool,
    /// A breaker.
    pub(super) breaker: bool,
    /// A gate.
    pub(super) gate: bool,
    /// A semaphore or a connection pool.
    pub(super) line: bool,
}

/// The same text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
