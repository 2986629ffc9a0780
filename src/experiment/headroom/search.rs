//! The search: a coarse grid, more seeds where they are needed, and the halving of what lies between the last safe value
//! and the next one.

use super::bound::{Bound, Pressure};
use super::point::{Case, Goal, Looks, Met, Point, Standing, is_kept, measures, met, rate};
use crate::experiment::measure::Measure;
use crate::experiment::rows::{Row, rows};
use crate::experiment::trial::Plan;
use crate::experiment::watch::Stopped;
use crate::scenario::Scenario;

/// Where the scenarios of a setting's values come from.
pub trait Settings {
    /// What can go wrong.
    type Error;
    /// The scenario with this value.
    fn scenario(&self, number: f64) -> Result<Scenario, Self::Error>;
    /// A value between two others, such as the middle; `None` where there is none worth a look.
    fn between(&self, one: f64, other: f64) -> Option<f64>;
    /// How a value is written.
    fn text(&self, number: f64) -> String;
    /// A run with this value came to no end.
    fn halted(&self, number: f64, why: Stopped) -> Self::Error;
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is asked of a value.
    pub goal: Goal,
    /// How many seeds it gets.
    pub looks: Looks,
    /// The classes that must not pay.
    pub live: Vec<String>,
    /// The classes that may have to wait.
    pub background: Vec<String>,
    /// The index of the limit that both use.
    pub limit: usize,
    /// Whether small values are the safe ones; `None` to find out.
    pub low_is_safe: Option<bool>,
    /// The value that the file has now.
    pub present: Option<f64>,
}

/// Where the safe values end.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The place of the last safe value, from the safe end on; `None` where the first one is not safe.
    pub safe: Option<usize>,
    /// The place of the value after it; `None` where all are safe.
    pub next: Option<usize>,
    /// The place of the first value that is shown not to be safe.
    pub not_safe: Option<usize>,
    /// The places of safe values beyond one that is not.
    pub again: Vec<usize>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Headroom {
    /// What was asked.
    pub question: Question,
    /// The weathers that were tried.
    pub cases: Vec<Case>,
    /// Whether small values are the safe ones.
    pub low_is_safe: bool,
    /// The values that were tried, ascending.
    pub points: Vec<Point>,
    /// For each case, and last for all of them together, where the safe values end.
    pub edges: Vec<Edge>,
    /// The place of the value that the file has now.
    pub present: Option<usize>,
    /// For each case, in how many of the first seeds a day met the target at a value although it had not at a safer one,
    /// up to the first value that is not safe.
    pub unnested: Vec<u64>,
    /// What arithmetic says.
    pub bound: Bound,
    /// What is asked of the limit with the value that the file has now.
    pub pressure: Option<Pressure>,
}

impl Headroom {
    /// Where the safe values end in all cases.
    pub fn edge(&self) -> &Edge {
        self.edges.last().unwrap_or(&NOWHERE)
    }

    /// The last value that is safe in all cases.
    pub fn safe(&self) -> Option<&Point> {
        self.edge().safe.map(|at| &self.points[at])
    }

    /// The value that the file has now.
    pub fn present(&self) -> Option<&Point> {
        self.present.map(|at| &self.points[at])
    }

    /// Whether there is room: some value is safe, and so is the one that the file has now.
    pub fn is_yes(&self) -> bool {
        self.safe().is_some() && self.present().is_none_or(|point| point.standing(None) == Standing::Safe)
    }

    /// The largest number of seeds that any value met.
    pub fn seeds(&self) -> u64 {
        self.points.iter().map(|point| point.seeds).max().unwrap_or(0)
    }
}

static NOWHERE: Edge = Edge { safe: None, next: None, not_safe: None, again: Vec::new() };

/// A value at work.
struct Draft {
    number: f64,
    scenarios: Vec<Scenario>,
    /// For each case.
    rows: Vec<Vec<Row>>,
}

/// The search at work.
struct Search<'a, S> {
    settings: &'a S,
    question: &'a Question,
    measures: Vec<Measure>,
    cases: Vec<Case>,
    plan: Plan<'a>,
    /// How many runs are done.
    done: u64,
    /// Ascending.
    drafts: Vec<Draft>,
}

impl Headroom {
    /// Looks at all values of a grid, then between the last safe one and the next.
    pub fn run<S: Settings>(
        settings: &S,
        question: &Question,
        grid: &[f64],
        plan: Plan<'_>,
    ) -> Result<Headroom, S::Error> {
        let mut search = Search {
            settings,
            question,
            measures: measures(&question.goal, &question.live, &question.background),
            cases: Vec::new(),
            plan,
            done: 0,
            drafts: Vec::new(),
        };
        let mut grid: Vec<f64> = grid.iter().copied().chain(question.present).collect();
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        search.look_at(&grid)?;
        let low_is_safe = question.low_is_safe.unwrap_or_else(|| search.is_safer_below());
        for case in (0..search.cases.len()).map(Some).chain([None]) {
            while let Some(number) = search.unsettled(case, low_is_safe) {
                search.look_at(&[number])?;
            }
        }
        Ok(search.finish(low_is_safe))
    }
}

impl<S: Settings> Search<'_, S> {
    /// Runs these values, and adds seeds to those that are not decided.
    fn look_at(&mut self, numbers: &[f64]) -> Result<(), S::Error> {
        for number in numbers {
            let scenario = self.settings.scenario(*number)?;
            if self.cases.is_empty() {
                self.cases = Case::of(&scenario);
            }
            let scenarios: Vec<Scenario> = self.cases.iter().map(|case| case.put(scenario.clone())).collect();
            let rows = vec![Vec::new(); scenarios.len()];
            let at = self.drafts.partition_point(|draft| draft.number < *number);
            self.drafts.insert(at, Draft { number: *number, scenarios, rows });
        }
        for look in 0..self.question.looks.most {
            let open: Vec<usize> = (0..self.drafts.len()).filter(|at| self.wants(*at, numbers, look)).collect();
            if open.is_empty() {
                break;
            }
            self.run(&open, self.question.looks.seeds(look))?;
        }
        Ok(())
    }

    /// Whether a value is among these and not yet decided.
    fn wants(&self, at: usize, numbers: &[f64], look: u32) -> bool {
        numbers.contains(&self.drafts[at].number)
            && (look == 0 || self.point(at).cases.iter().any(|met| met.standing == Standing::Open))
    }

    /// Runs so many seeds of these values; all of them have met the same number so far.
    fn run(&mut self, open: &[usize], until: u64) -> Result<(), S::Error> {
        let scenarios: Vec<&Scenario> = open.iter().flat_map(|at| &self.drafts[*at].scenarios).collect();
        let from = self.drafts[open[0]].rows[0].len() as u64;
        (self.plan.announce)(self.done + (until - from) * scenarios.len() as u64 + self.ahead(open.len()));
        let plan = Plan { already: self.done, ..self.plan };
        let made = rows(&scenarios, &self.measures, from..until, plan).map_err(|halted| {
            self.settings.halted(self.drafts[open[halted.arm / self.cases.len()]].number, halted.why)
        })?;
        self.done += (until - from) * scenarios.len() as u64;
        for (arm, rows) in made.into_iter().enumerate() {
            self.drafts[open[arm / self.cases.len()]].rows[arm % self.cases.len()].extend(rows);
        }
        Ok(())
    }

    /// A guess of how many runs come after the grid: some halvings, with a second look each.
    fn ahead(&self, values: usize) -> u64 {
        const HALVINGS: u64 = 4;
        if values == 1 { 0 } else { HALVINGS * 2 * self.question.looks.first * self.cases.len() as u64 }
    }

    fn point(&self, at: usize) -> Point {
        let draft = &self.drafts[at];
        let question = self.question;
        let error = question.goal.error(question.looks);
        let met = |(case, rows): (&Case, &Vec<Row>)| {
            met(*case, rows, &question.goal, error, question.live.len(), &question.background)
        };
        let cases: Vec<Met> = self.cases.iter().zip(&draft.rows).map(met).collect();
        let seeds = draft.rows.first().map_or(0, |rows| rows.len() as u64);
        Point { number: draft.number, text: self.settings.text(draft.number), seeds, cases }
    }

    /// The places from the safe end on, each with its standing.
    fn standings(&self, case: Option<usize>, low_is_safe: bool) -> Vec<(usize, Standing)> {
        let mut out: Vec<_> = (0..self.drafts.len()).map(|at| (at, self.point(at).standing(case))).collect();
        if !low_is_safe {
            out.reverse();
        }
        out
    }

    /// Whether the days are better at the lower end.
    fn is_safer_below(&self) -> bool {
        let kept = |at: usize| self.point(at).cases.iter().map(|met| met.lower).fold(1.0, f64::min);
        kept(0) >= kept(self.drafts.len() - 1)
    }

    /// A value between the last safe one and the next.
    fn unsettled(&self, case: Option<usize>, low_is_safe: bool) -> Option<f64> {
        let edge = edge(&self.standings(case, low_is_safe));
        let [safe, next] = [edge.safe?, edge.next?].map(|at| self.drafts[at].number);
        let middle = self.settings.between(safe, next)?;
        self.drafts.iter().all(|draft| draft.number.total_cmp(&middle).is_ne()).then_some(middle)
    }

    fn finish(self, low_is_safe: bool) -> Headroom {
        let question = self.question;
        let edges = (0..self.cases.len()).map(Some).chain([None]);
        let edges = edges.map(|case| edge(&self.standings(case, low_is_safe))).collect();
        let is_present = |draft: &Draft| question.present.is_some_and(|now| draft.number.total_cmp(&now).is_eq());
        let present = self.drafts.iter().position(is_present);
        let pressures: Vec<(f64, Pressure)> = self
            .drafts
            .iter()
            .map(|draft| {
                (draft.number, Pressure::of(&draft.scenarios[0], question.limit, &question.live, &question.background))
            })
            .collect();
        Headroom {
            question: question.clone(),
            cases: self.cases.clone(),
            low_is_safe,
            points: (0..self.drafts.len()).map(|at| self.point(at)).collect(),
            edges,
            present,
            unnested: (0..self.cases.len()).map(|case| self.unnested(case, low_is_safe)).collect(),
            bound: Bound::of(&pressures, low_is_safe, question.goal.target, |number| self.settings.text(number)),
            pressure: present.map(|at| pressures[at].1.clone()),
        }
    }

    /// In how many of the seeds that all values met a day is met although it was not at a safer value.
    fn unnested(&self, case: usize, low_is_safe: bool) -> u64 {
        let live = self.question.live.len();
        let kept = |draft: &Draft, seed: usize| is_kept(rate(&draft.rows[case][seed], live), &self.question.goal);
        let seeds = self.drafts.iter().map(|draft| draft.rows[case].len()).min().unwrap_or(0);
        // What comes after the first value that is not safe decides nothing.
        let standings = self.standings(Some(case), low_is_safe);
        let first = standings.iter().position(|(_, standing)| *standing == Standing::Unsafe);
        let places = &standings[..first.map_or(standings.len(), |first| first + 1)];
        let is_unnested = |seed: &usize| {
            let days: Vec<bool> = places.iter().map(|(at, _)| kept(&self.drafts[*at], *seed)).collect();
            days.windows(2).any(|pair| !pair[0] && pair[1])
        };
        (0..seeds).filter(is_unnested).count() as u64
    }
}

/// Where the safe values end, of places from the safe end on.
fn edge(standings: &[(usize, Standing)]) -> Edge {
    let safe = standings.iter().take_while(|(_, standing)| *standing == Standing::Safe).count();
    let place = |index: usize| standings.get(index).map(|(at, _)| *at);
    let not_safe = standings.iter().find(|(_, standing)| *standing == Standing::Unsafe).map(|(at, _)| *at);
    let beyond = standings.iter().skip(safe).filter(|(_, standing)| *standing == Standing::Safe);
    Edge {
        safe: safe.checked_sub(1).and_then(place),
        next: place(safe),
        not_safe,
        again: beyond.map(|(at, _)| *at).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_is_the_end_of_the_first_safe_stretch() {
        use Standing::{Open, Safe, Unsafe};
        let found = |standings: &[Standing]| edge(&standings.iter().copied().enumerate().collect::<Vec<_>>());
        let expected = Edge { safe: Some(1), next: Some(2), not_safe: Some(3), again: vec![4] };
        assert_eq!(found(&[Safe, Safe, Open, Unsafe, Safe]), expected);
        assert_eq!(found(&[Safe]), Edge { safe: Some(0), ..NOWHERE.clone() });
        assert_eq!(found(&[Unsafe, Open]), Edge { next: Some(0), not_safe: Some(0), ..NOWHERE.clone() });
    }
}
