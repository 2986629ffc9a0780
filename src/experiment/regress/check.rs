//! A check holds what is measured now against what was recorded, scenario by scenario and number by number, and says
//! which moved.
//!
//! A number has moved where the test says so after the correction for all numbers of the check *and* its mean went the
//! same way by more than its tolerance. A test alone would call a hundredth of a percent a regression, given enough
//! seeds; a tolerance alone would call noise one.

use super::record::{Baseline, Recorded};
use super::row::{Outcome, Row, row};
use super::tolerance::Tolerances;
use crate::experiment::measure::Measure;
use crate::stats::family::corrected;
use crate::stats::{Test, rank_sum, signed_rank};

/// What was measured now.
#[derive(Clone, Debug)]
pub struct Now {
    /// The same as what is kept in a baseline.
    pub recorded: Recorded,
    /// What was measured, in the order of the columns.
    pub measures: Vec<Measure>,
}

/// How two sets of seeds are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The same seeds: each against itself.
    Paired,
    /// Other seeds: two samples.
    Unpaired,
}

/// What can be said of a variant of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every run did exactly what it did before.
    Same,
    /// Its numbers were compared.
    Compared,
    /// It was recorded and is not there any more.
    Missing,
    /// It was not recorded.
    New,
}

/// One variant of one file.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file.
    pub file: String,
    /// The variant.
    pub variant: String,
    /// What can be said.
    pub state: State,
    /// Whether the same seeds met the same worlds; `None` for other seeds.
    pub is_same_world: Option<bool>,
    /// How its numbers were compared.
    pub pairing: Pairing,
    /// Its numbers; none where every run did what it did before.
    pub rows: Vec<Row>,
    /// Numbers that were recorded and are not measured any more.
    pub gone: Vec<String>,
    /// Numbers that were not recorded.
    pub new: Vec<String>,
}

/// A check as a whole.
#[derive(Clone, Debug)]
pub struct Check {
    /// How seeds were chosen.
    pub pairing: Pairing,
    /// The seed of what is measured now.
    pub seed: u64,
    /// How many seeds each scenario met now.
    pub replicates: u64,
    /// How often at most a check of equal policies calls something worse, as a share.
    pub false_alarms: f64,
    /// How many numbers could have been called sure, which is what the correction is for.
    pub family: usize,
    /// The smallest probability that so many seeds could give.
    pub surest: f64,
    /// Each variant, in the order of the baseline, then what is new.
    pub cases: Vec<Case>,
}

impl Case {
    /// Whether it fails the check: a number that is worse, something that is gone, or another world.
    pub fn is_failure(&self) -> bool {
        self.state == State::Missing
            || !self.gone.is_empty()
            || self.is_same_world == Some(false)
            || self.rows.iter().any(|row| row.is_failure)
    }

    /// The numbers with this outcome, those that matter most first.
    pub fn with(&self, outcome: Outcome) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.outcome == outcome).collect();
        rows.sort_by(|a, b| b.measure.headline.cmp(&a.measure.headline).then(b.excess.total_cmp(&a.excess)));
        rows
    }

    /// The numbers that fail the check, those that matter most first.
    pub fn failures(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.is_failure).collect();
        rows.sort_by(|a, b| b.measure.headline.cmp(&a.measure.headline).then(b.excess.total_cmp(&a.excess)));
        rows
    }
}

impl Check {
    /// Holds what was measured against a baseline. Of the baseline, only what `is_asked` for counts.
    pub fn of(
        baseline: &Baseline,
        now: &[Now],
        seeds: (u64, u64),
        tolerances: &Tolerances,
        is_asked: &dyn Fn(&Recorded) -> bool,
    ) -> Check {
        let (seed, replicates) = seeds;
        let pairing = if seed == baseline.seed { Pairing::Paired } else { Pairing::Unpaired };
        let mut cases: Vec<Case> = Vec::new();
        for recorded in baseline.recorded.iter().filter(|recorded| is_asked(recorded)) {
            let found = now.iter().find(|now| is_same(&now.recorded, recorded));
            cases.push(match found {
                Some(now) => case(recorded, now, pairing, replicates == baseline.replicates, tolerances),
                None => empty(recorded, State::Missing, pairing),
            });
        }
        for now in now {
            if !baseline.recorded.iter().any(|recorded| is_same(&now.recorded, recorded)) {
                cases.push(empty(&now.recorded, State::New, pairing));
            }
        }
        let surest = match pairing {
            Pairing::Paired => signed_rank::surest(replicates),
            Pairing::Unpaired => rank_sum::surest(baseline.replicates, replicates),
        };
        let false_alarms = tolerances.false_alarms;
        let mut check = Check { pairing, seed, replicates, false_alarms, family: 0, surest, cases };
        check.correct();
        check
    }

    /// Whether something fails it.
    pub fn is_failure(&self) -> bool {
        self.cases.iter().any(Case::is_failure)
    }

    /// Whether there are too few seeds to be sure of anything among so many numbers, although something may have moved.
    pub fn is_unsure(&self) -> bool {
        let rows = || self.cases.iter().flat_map(|case| &case.rows).filter(|row| row.outcome != Outcome::Ignored);
        let differ = rows().filter(|row| row.excess > 0.0).count();
        let is_too_few = self.surest * differ as f64 > self.false_alarms;
        self.family == 0 && is_too_few && rows().any(|row| row.excess > 1.0)
    }

    /// Corrects what the tests say for their number, and settles what became of each number.
    fn correct(&mut self) {
        let rows = || self.cases.iter().flat_map(|case| &case.rows).filter(|row| !row.tolerance.is_ignored);
        let tests: Vec<Test> = rows().map(|row| row.test).collect();
        let (sure, family) = corrected(&tests, self.false_alarms);
        self.family = family;
        let level = self.false_alarms;
        let rows = self.cases.iter_mut().flat_map(|case| &mut case.rows).filter(|row| !row.tolerance.is_ignored);
        for (row, p) in rows.zip(sure) {
            row.p = p;
            row.settle(level);
        }
    }
}

fn is_same(one: &Recorded, other: &Recorded) -> bool {
    one.file == other.file && one.variant == other.variant
}

fn empty(recorded: &Recorded, state: State, pairing: Pairing) -> Case {
    Case {
        file: recorded.file.clone(),
        variant: recorded.variant.clone(),
        state,
        is_same_world: None,
        pairing,
        rows: Vec::new(),
        gone: Vec::new(),
        new: Vec::new(),
    }
}

fn case(recorded: &Recorded, now: &Now, pairing: Pairing, is_as_long: bool, tolerances: &Tolerances) -> Case {
    let own = &now.recorded;
    let is_paired = pairing == Pairing::Paired;
    // With fewer seeds than were recorded the sums of digests say nothing.
    let may_match = is_paired && is_as_long;
    let is_same_world = may_match.then_some(own.world_digest == recorded.world_digest);
    let is_paired = is_paired && is_same_world != Some(false);
    let pairing = if is_paired { Pairing::Paired } else { Pairing::Unpaired };
    let mut case = Case { is_same_world, ..empty(own, State::Compared, pairing) };
    let has = |columns: &Recorded, path: &str| columns.values(path).is_some();
    case.gone = recorded.columns.iter().map(|column| column.path.clone()).filter(|path| !has(own, path)).collect();
    case.new = own.columns.iter().map(|column| column.path.clone()).filter(|path| !has(recorded, path)).collect();
    if may_match && own.digest == recorded.digest && is_same_world == Some(true) && case.gone.is_empty() {
        case.state = State::Same;
        return case;
    }
    for (measure, column) in now.measures.iter().zip(&own.columns) {
        let Some(before) = recorded.values(&column.path) else { continue };
        let tolerance = tolerances.of(&format!("{}.{}.{}", own.stem(), own.variant, column.path), measure.kind);
        case.rows.push(row(measure, before, &column.values, is_paired, tolerance));
    }
    let is_same = case.rows.iter().all(|row| row.test.least >= 1.0 && row.excess == 0.0);
    if is_paired && !is_as_long && is_same && case.gone.is_empty() {
        case.state = State::Same;
        case.rows.clear();
    }
    case
}

#[cfg(test)]
mod tests {
    use super::super::record::Column;
    use super::*;
    use crate::experiment::measure::{Kind, Of, Part};

    fn recorded(columns: &[(&str, Vec<f64>)], digest: u64) -> Recorded {
        let column = |(key, values): &(&str, Vec<f64>)| Column { path: (*key).to_owned(), values: values.clone() };
        Recorded {
            file: "a/x.toml".to_owned(),
            variant: "base".to_owned(),
            settings: Vec::new(),
            elements: Vec::new(),
            digest,
            world_digest: 7,
            columns: columns.iter().map(column).collect(),
        }
    }

    fn baseline(recorded: Vec<Recorded>, replicates: u64) -> Baseline {
        Baseline { program: String::new(), seed: 1, replicates, sources: Vec::new(), recorded }
    }

    fn now(recorded: Recorded) -> Now {
        let measure = |column: &Column| Measure {
            part: Part::Whole,
            of: Of::Run,
            key: column.path.clone(),
            kind: Kind::Seconds,
            lower_is_better: !column.path.starts_with("neutral"),
            headline: false,
        };
        Now { measures: recorded.columns.iter().map(measure).collect(), recorded }
    }

    fn ramp(n: usize, from: f64) -> Vec<f64> {
        (0..n).map(|at| from + at as f64).collect()
    }

    fn check(before: &[(&str, Vec<f64>)], after: &[(&str, Vec<f64>)], seed: u64, tolerances: &Tolerances) -> Check {
        let n = before[0].1.len() as u64;
        Check::of(&baseline(vec![recorded(before, 1)], n), &[now(recorded(after, 2))], (seed, n), tolerances, &|_| true)
    }

    fn outcome(before: Vec<f64>, after: Vec<f64>, seed: u64) -> Outcome {
        check(&[("t", before)], &[("t", after)], seed, &Tolerances::default()).cases[0].rows[0].outcome
    }

    #[test]
    fn what_is_sure_and_large_is_worse_or_better_and_the_rest_is_not() {
        // Twenty seeds, all 10 s later: 2 · 2⁻²⁰ by themselves; as two samples they overlap by half.
        let (low, high) = (ramp(20, 100.0), ramp(20, 110.0));
        assert_eq!(outcome(low.clone(), high.clone(), 1), Outcome::Worse);
        assert_eq!(outcome(high.clone(), low.clone(), 1), Outcome::Better);
        // 2 % of 100 are 2 s, and 1.9 s are surely less.
        assert_eq!(outcome(ramp(20, 100.0), ramp(20, 101.9), 1), Outcome::Tolerated);
        assert_eq!(outcome(low.clone(), low.clone(), 1), Outcome::Same);
        // As two samples, 20 s apart do not overlap at all and half a second is nothing.
        assert_eq!(outcome(low.clone(), ramp(20, 120.0), 2), Outcome::Worse);
        assert_eq!(outcome(low.clone(), ramp(20, 100.5), 2), Outcome::Noise);
        // Five seeds cannot be sure of anything at 1 %: 2 · 2⁻⁵.
        assert_eq!(outcome(ramp(5, 100.0), ramp(5, 200.0), 1), Outcome::Noise);
    }

    #[test]
    fn never_is_worse_than_any_time() {
        let never = vec![f64::INFINITY; 20];
        assert_eq!(outcome(ramp(20, 9.0), never.clone(), 1), Outcome::Worse);
        assert_eq!(outcome(never.clone(), ramp(20, 9.0), 2), Outcome::Better);
        assert_eq!(outcome(never.clone(), never, 2), Outcome::Same);
    }

    #[test]
    fn a_number_that_is_neither_good_nor_bad_fails_only_where_the_tolerances_say_so() {
        let (before, after) = ([("neutral", ramp(20, 1.0))], [("neutral", ramp(20, 11.0))]);
        let plain = check(&before, &after, 1, &Tolerances::default());
        assert_eq!((plain.cases[0].rows[0].outcome, plain.is_failure()), (Outcome::Moved, false));
        let subject = super::super::Subject { name: "x.base.neutral".to_owned(), kind: Some(Kind::Seconds) };
        let text = "[tolerances]\n\"*.neutral\" = { direction = \"both\" }\n";
        let strict = Tolerances::read(text, &[subject]).unwrap();
        assert!(check(&before, &after, 1, &strict).is_failure());
    }

    #[test]
    fn many_numbers_ask_for_more_than_one() {
        // Fifteen seeds on one side have 2 · 2⁻¹⁵ = 6 · 10⁻⁵: sure among a hundred numbers. Among two hundred no number
        // could be, so nothing is said of any.
        let noise = |at: usize| (0..15).map(|seed| 100.0 + ((seed * 7 + at) % 11) as f64).collect::<Vec<f64>>();
        for (others, expected, family) in [(100, Outcome::Worse, 101), (200, Outcome::Noise, 0)] {
            let names: Vec<String> = (0..others).map(|at| format!("n{at}")).collect();
            let mut before: Vec<(&str, Vec<f64>)> = vec![("t", ramp(15, 100.0))];
            let mut after: Vec<(&str, Vec<f64>)> = vec![("t", ramp(15, 150.0))];
            before.extend(names.iter().enumerate().map(|(at, name)| (name.as_str(), noise(at))));
            after.extend(names.iter().enumerate().map(|(at, name)| (name.as_str(), noise(at + 3))));
            let found = check(&before, &after, 1, &Tolerances::default());
            assert_eq!((found.cases[0].rows[0].outcome, found.family), (expected, family));
            assert_eq!(found.is_unsure(), family == 0);
        }
    }

    #[test]
    fn what_moved_in_one_seed_is_no_lack_of_seeds() {
        let mut after = ramp(20, 1.0);
        after[7] += 500.0;
        let found = check(&[("t", ramp(20, 1.0))], &[("t", after)], 1, &Tolerances::default());
        assert_eq!((found.cases[0].rows[0].outcome, found.family, found.is_unsure()), (Outcome::Noise, 0, false));
        assert!(found.cases[0].rows[0].excess > 1.0);
    }

    #[test]
    fn what_is_gone_fails_and_what_is_new_does_not() {
        let base = baseline(vec![recorded(&[("t", ramp(20, 1.0)), ("u", ramp(20, 1.0))], 1)], 20);
        let own = now(recorded(&[("t", ramp(20, 1.0)), ("v", ramp(20, 1.0))], 1));
        let found = Check::of(&base, &[own], (1, 20), &Tolerances::default(), &|_| true);
        assert_eq!(
            (found.cases[0].gone.as_slice(), found.cases[0].new.as_slice()),
            (&["u".to_owned()][..], &["v".to_owned()][..])
        );
        assert!(found.is_failure());
        let missing = Check::of(&base, &[], (1, 20), &Tolerances::default(), &|_| true);
        assert_eq!((missing.cases[0].state, missing.is_failure()), (State::Missing, true));
        let unasked = Check::of(&base, &[], (1, 20), &Tolerances::default(), &|_| false);
        assert!(unasked.cases.is_empty() && !unasked.is_failure());
        let other = Recorded { variant: "more".to_owned(), ..recorded(&[("t", ramp(20, 1.0))], 1) };
        let new = Check::of(&baseline(Vec::new(), 20), &[now(other)], (1, 20), &Tolerances::default(), &|_| true);
        assert_eq!((new.cases[0].state, new.is_failure()), (State::New, false));
    }

    #[test]
    fn another_world_fails_and_is_compared_as_two_samples() {
        let base = baseline(vec![recorded(&[("t", ramp(20, 1.0))], 1)], 20);
        let own = now(Recorded { world_digest: 8, ..recorded(&[("t", ramp(20, 1.5))], 2) });
        let found = Check::of(&base, &[own], (1, 20), &Tolerances::default(), &|_| true);
        let case = &found.cases[0];
        assert_eq!(
            (case.is_same_world, case.pairing, case.rows[0].outcome),
            (Some(false), Pairing::Unpaired, Outcome::Noise)
        );
        assert!(found.is_failure());
    }

    #[test]
    fn fewer_seeds_are_the_first_ones() {
        let base = baseline(vec![recorded(&[("t", ramp(40, 100.0))], 1)], 40);
        let same = now(recorded(&[("t", ramp(20, 100.0))], 9));
        let found = Check::of(&base, &[same], (1, 20), &Tolerances::default(), &|_| true);
        assert_eq!(found.cases[0].state, State::Same);
        let later = now(recorded(&[("t", ramp(20, 110.0))], 9));
        let found = Check::of(&base, &[later], (1, 20), &Tolerances::default(), &|_| true);
        assert_eq!(found.cases[0].rows[0].outcome, Outcome::Worse);
    }
}
