//! One value of the setting, and what the seeds say of it.

use crate::experiment::compare::Cell;
use crate::experiment::measure::{Kind, Measure, Of, Part};
use crate::experiment::rows::Row;
use crate::experiment::stretch;
use crate::provider::Capacity;
use crate::scenario::Scenario;
use crate::stats::binomial;
use crate::units::SimDuration;

/// What is asked of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The largest share of live tasks that may meet a 429, from 0 to 1.
    pub target: f64,
    /// In any stretch of this length; `None` over the whole run.
    pub within: Option<SimDuration>,
    /// The share of days in which that must be so, between 0 and 1.
    pub days: f64,
    /// How sure that must be, between 0 and 1.
    pub confidence: f64,
}

/// How many seeds a value gets: first so many, and twice as many at each further look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// The seeds of the first look.
    pub first: u64,
    /// The most looks, at least 1.
    pub most: u32,
}

impl Looks {
    /// The seeds at a look, counted from 0.
    pub const fn seeds(&self, look: u32) -> u64 {
        self.first << look
    }
}

impl Goal {
    /// The probability of error that each look may use up.
    pub fn error(&self, looks: Looks) -> f64 {
        (1.0 - self.confidence) / f64::from(looks.most)
    }

    /// The fewest seeds of a first look that can show anything.
    pub fn fewest(&self, looks: Looks) -> u64 {
        binomial::fewest(self.days, self.error(looks))
    }

    /// The measure of the live 429 rate of a class.
    pub(super) fn key(&self) -> String {
        self.within.map_or_else(|| "tasks_with_429_share".to_owned(), stretch::worst_429_share)
    }
}

/// The weather of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The file as it is, with the faults and losses of capacity that have a window.
    Storm,
    /// The same without them; what goes wrong all the time still does.
    Calm,
}

impl Case {
    /// The cases of a scenario, the storm first; only the calm where the file has none.
    pub fn of(scenario: &Scenario) -> Vec<Case> {
        let loses = |capacity: &Capacity| capacity.servers.changes().chain(capacity.speed.changes()).next().is_some();
        let has_storm = !scenario.fault_windows().is_empty() || scenario.provider.capacity.as_ref().is_some_and(loses);
        if has_storm { vec![Case::Storm, Case::Calm] } else { vec![Case::Calm] }
    }

    /// Its word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Case::Storm => "storm",
            Case::Calm => "calm",
        }
    }

    /// The scenario in this weather.
    pub fn put(self, scenario: Scenario) -> Scenario {
        match self {
            Case::Storm => scenario,
            Case::Calm => calm(scenario),
        }
    }
}

/// A scenario without the faults that have a window, and with all its servers all the time. Draws are keyed by the faults'
/// names, so that nothing else moves.
pub fn calm(mut scenario: Scenario) -> Scenario {
    scenario.provider.faults.retain(|fault| fault.window.is_none());
    if let Some(capacity) = &mut scenario.provider.capacity {
        (capacity.servers, capacity.speed) = (capacity.servers.undisturbed(), capacity.speed.undisturbed());
    }
    scenario
}

/// What is shown of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The target is met in at least the stated share of days.
    Safe,
    /// It is met in fewer.
    Unsafe,
    /// The seeds do not decide.
    Open,
}

impl Standing {
    /// Its word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Standing::Safe => "safe",
            Standing::Unsafe => "unsafe",
            Standing::Open => "undecided",
        }
    }
}

/// What a background class pays.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Its name.
    pub class: String,
    /// The 95 % quantile of the latency over all tasks that arrived, in seconds; never where more than 5 % do not come.
    pub latency: Cell,
    /// The share of tasks that failed for good.
    pub failed: Cell,
    /// The share of tasks that were not delivered within the run.
    pub not_delivered: Cell,
    /// The longest queue.
    pub queue: Cell,
}

/// A value in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The weather.
    pub case: Case,
    /// The live 429 rate that the goal is about, of the class that it is worst for.
    pub rate: Cell,
    /// The same over the whole run.
    pub whole: Cell,
    /// In how many seeds it stayed within the target.
    pub kept: u64,
    /// The lower bound of the share of days in which it does.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
    /// What that shows.
    pub standing: Standing,
    /// What each background class pays.
    pub costs: Vec<Cost>,
    /// Seconds from the end of the storm until the queues are back; never where the run ends before.
    pub drained: Cell,
    /// The sum of the digests of all runs.
    pub digest: u64,
}

/// A value of the setting in all cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub number: f64,
    /// How it is written.
    pub text: String,
    /// How many seeds it met in each case.
    pub seeds: u64,
    /// One for each case.
    pub cases: Vec<Met>,
}

impl Point {
    /// The standing in one case, or in all of them.
    pub fn standing(&self, case: Option<usize>) -> Standing {
        let all = || self.cases.iter().map(|met| met.standing);
        match case {
            Some(case) => self.cases[case].standing,
            None if all().all(|standing| standing == Standing::Safe) => Standing::Safe,
            None if all().any(|standing| standing == Standing::Unsafe) => Standing::Unsafe,
            None => Standing::Open,
        }
    }
}

/// What is measured of each run: for each live class the rate and the rate over the run, for each background class what
/// it pays, and when the queues are back.
pub(super) fn measures(goal: &Goal, live: &[String], background: &[String]) -> Vec<Measure> {
    let of = |name: &str, live: bool, key: &str, kind: Kind| Measure {
        part: Part::Whole,
        of: Of::Class { name: name.to_owned(), live },
        key: key.to_owned(),
        kind,
        lower_is_better: true,
        headline: false,
    };
    let mut out = Vec::new();
    for name in live {
        out.push(of(name, true, &goal.key(), Kind::Share));
        out.push(of(name, true, "tasks_with_429_share", Kind::Share));
    }
    for name in background {
        out.push(of(name, false, "latency_all_s.p95", Kind::Seconds));
        out.push(of(name, false, "failed_share", Kind::Share));
        out.push(of(name, false, "not_delivered_share", Kind::Share));
        out.push(of(name, false, stretch::QUEUE_PEAK, Kind::Count));
    }
    let run = Of::Run;
    out.push(Measure { of: run, key: "recovery.queue_s".to_owned(), kind: Kind::Seconds, ..out[0].clone() });
    out
}

/// The largest of the values at these places; one that is not defined is none.
fn largest(row: &Row, places: impl Iterator<Item = usize>) -> f64 {
    places.map(|at| row.values[at]).fold(0.0, f64::max)
}

/// The live 429 rate of a run.
pub(super) fn rate(row: &Row, live: usize) -> f64 {
    largest(row, (0..live).map(|class| 2 * class))
}

/// Whether a day met the target; rates are quotients of counts, which rounding must not push over it.
pub(super) fn is_kept(rate: f64, goal: &Goal) -> bool {
    rate <= goal.target + 1e-12
}

/// What the rows of one case show.
pub(super) fn met(case: Case, rows: &[Row], goal: &Goal, error: f64, live: usize, background: &[String]) -> Met {
    let rates: Vec<f64> = rows.iter().map(|row| rate(row, live)).collect();
    let kept = rates.iter().filter(|rate| is_kept(**rate, goal)).count() as u64;
    let n = rows.len() as u64;
    let (lower, upper) = (binomial::lower(kept, n, error), binomial::upper(kept, n, error));
    let standing = match () {
        () if lower >= goal.days => Standing::Safe,
        () if upper < goal.days => Standing::Unsafe,
        () => Standing::Open,
    };
    let column = |at: usize| Cell::of(&rows.iter().map(|row| row.values[at]).collect::<Vec<_>>());
    let costs = background.iter().enumerate().map(|(index, class)| {
        let at = 2 * live + 4 * index;
        Cost {
            class: class.clone(),
            latency: column(at),
            failed: column(at + 1),
            not_delivered: column(at + 2),
            queue: column(at + 3),
        }
    });
    let whole: Vec<f64> = rows.iter().map(|row| largest(row, (0..live).map(|class| 2 * class + 1))).collect();
    Met {
        case,
        rate: Cell::of(&rates),
        whole: Cell::of(&whole),
        kept,
        lower,
        upper,
        standing,
        costs: costs.collect(),
        drained: column(2 * live + 4 * background.len()),
        digest: rows.iter().fold(0, |sum, row| sum.wrapping_add(row.digest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::incident;

    #[test]
    fn a_calm_day_has_no_window_and_everything_else() {
        let scenario = incident(true);
        assert_eq!(Case::of(&scenario), [Case::Storm, Case::Calm]);
        let quiet = calm(scenario.clone());
        assert_eq!(Case::of(&quiet), [Case::Calm]);
        let always = scenario.provider.faults.iter().filter(|fault| fault.window.is_none()).count();
        assert_eq!((quiet.provider.faults.len(), &quiet.traffic), (always, &scenario.traffic));
        assert_eq!(Case::Storm.put(scenario.clone()), scenario);
    }
}
