//! A search for policies: a small mixed space of numbers and choices, noisy values, runs of milliseconds.
//!
//! The method is put together from textbook parts:
//! 1. The first candidates are points of an Owen-scrambled Sobol sequence (Owen 1995, "Randomly permuted (t, m, s)-nets";
//!    Burley 2020, "Practical hash-based Owen scrambling"): even over the whole space and over each of its axes. A space
//!    that holds no more policies than are to be looked at is looked at whole.
//! 2. Candidates race by successive halving (Jamieson and Talwalkar 2016, "Non-stochastic best arm identification"): all
//!    meet a few seeds, the better half meets twice as many, and so on. Rungs are paired: whoever is compared has met the
//!    same seeds.
//! 3. The next generation is bred from the best that met all seeds, by uniform crossover and by mutations whose steps
//!    shrink; parents stay until something beats them (Rechenberg 1973, the (μ + λ) strategy).
//! 4. Better is by constrained dominance, non-dominated fronts and crowding (Deb, Pratap, Agarwal and Meyarivan 2002, "A
//!    fast and elitist multiobjective genetic algorithm: NSGA-II"); with one goal that is the order of its values.
//!
//! Every draw is keyed by what it is for, and a value is a function of a policy and a seed, so that neither the number of
//! threads nor an interruption changes which policies are looked at.

pub mod breed;
pub mod dominance;
mod race;
pub mod space;

use crate::random::Seed;

pub use dominance::Standing;
pub use race::rungs;
pub use space::Space;

use breed::Breeder;
use race::race;

/// How much a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many policies at most.
    pub candidates: usize,
    /// How many seeds the best of them meet.
    pub seeds: u64,
    /// How many goals there are.
    pub goals: usize,
    /// The seed of the search's own draws.
    pub seed: Seed,
}

/// A policy that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Where it lies on each axis, from 0 to 1.
    pub genes: Vec<f64>,
    /// Its value on each axis, as text.
    pub texts: Vec<String>,
    /// The generation that it is of; 0 are the first points.
    pub generation: usize,
    /// How many seeds it has met; none where it cannot be run.
    pub seeds: u64,
    /// The rows of numbers, seed by seed, those of several worlds one after the other.
    pub rows: Numbers,
    /// How good it is over all seeds that it has met; `None` where it cannot be run.
    pub standing: Option<Standing>,
}

/// Rows of numbers, one for each seed and world.
pub type Numbers = Vec<Box<[f64]>>;

/// What a search asks about policies.
pub trait Judge {
    /// Why it may stop.
    type Stop;
    /// Further rows of these policies for these seeds; `None` for a policy that cannot be run.
    fn rows(&mut self, policies: &[&[String]], seeds: std::ops::Range<u64>)
    -> Result<Vec<Option<Numbers>>, Self::Stop>;
    /// How many rows there are for one seed.
    fn worlds(&self) -> usize;
    /// How good the policy at a point is, with these rows.
    fn standing(&self, genes: &[f64], rows: &[Box<[f64]>]) -> Standing;
}

/// What a search has looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// All policies, in the order in which they were thought of.
    pub candidates: Vec<Candidate>,
    /// Those that met all seeds and that no other one beats in all goals, the best order of fronts and crowding first.
    pub front: Vec<usize>,
    /// Whether every policy of the space was looked at.
    pub is_whole: bool,
}

/// How many generations follow the first points, and how many policies each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    first: usize,
    each: usize,
    generations: usize,
}

impl Course {
    fn of(effort: Effort) -> Course {
        let each = if effort.goals > 1 { 24 } else { 16 }.min(effort.candidates.div_ceil(4)).max(1);
        let first = effort.candidates.div_ceil(3).max(1);
        Course { first, each, generations: effort.candidates.saturating_sub(first) / each }
    }
}

/// How many runs a search takes in one world, at most.
pub fn runs(effort: Effort, space: &Space<'_>) -> u64 {
    let of = |candidates: usize| -> u64 {
        let (mut left, mut met, mut runs) = (candidates as u64, 0, 0);
        for rung in ladder(space, effort) {
            runs += left * (rung - met);
            met = rung;
            left = left.div_ceil(2);
        }
        runs
    };
    if let Some(size) = space.size().filter(|size| *size <= effort.candidates as u64) {
        return of(size as usize);
    }
    let course = Course::of(effort);
    // Two policies to begin with come on top of the first points.
    of(course.first + 2) + course.generations as u64 * of(course.each)
}

/// A space of so few policies is looked at whole, and all of them meet all seeds.
const FEW: u64 = 64;

/// The rungs of a search.
fn ladder(space: &Space<'_>, effort: Effort) -> Vec<u64> {
    let is_small = space.size().is_some_and(|size| size <= FEW.min(effort.candidates as u64));
    if is_small { vec![effort.seeds.max(1)] } else { rungs(effort.seeds) }
}

/// How many parents are kept.
fn kept(effort: Effort) -> usize {
    if effort.goals > 1 { 24 } else { 8 }
}

/// Searches a space; `start` are policies to begin with, such as the one in use.
pub fn search<J: Judge>(
    space: &Space<'_>,
    effort: Effort,
    start: &[Vec<f64>],
    judge: &mut J,
) -> Result<Found, J::Stop> {
    let mut breeder = Breeder::new(space, effort.seed);
    let ladder = ladder(space, effort);
    let mut all: Vec<Candidate> = Vec::new();
    let is_whole = space.size().is_some_and(|size| size <= effort.candidates as u64);
    let first = if is_whole { space.every() } else { space.even(Course::of(effort).first, effort.seed) };
    let first: Vec<Vec<f64>> = start.iter().cloned().chain(first).collect();
    let mut born = breeder.admit(first, 0);
    let mut elite = compete(&mut all, &mut born, &[], (effort, &ladder), judge)?;
    let course = Course::of(effort);
    let generations = if is_whole { 0 } else { course.generations };
    for generation in 1..=generations {
        let progress = generation as f64 / generations as f64;
        let parents: Vec<&[f64]> = elite.iter().map(|index| all[*index].genes.as_slice()).collect();
        let mut born = breeder.breed(&parents, course.each, generation, progress);
        if born.is_empty() {
            break;
        }
        elite = compete(&mut all, &mut born, &elite, (effort, &ladder), judge)?;
    }
    let (met, standings): (Vec<usize>, Vec<Standing>) = standings(&all, effort.seeds);
    let fronts = dominance::fronts(&standings);
    let best = fronts.first().cloned().unwrap_or_default();
    let order = dominance::order(&standings);
    let front = order.into_iter().filter(|at| best.contains(at)).map(|at| met[at]).collect();
    Ok(Found { candidates: all, front, is_whole })
}

/// The candidates that met so many seeds, and how good they are.
fn standings(all: &[Candidate], seeds: u64) -> (Vec<usize>, Vec<Standing>) {
    let met = all.iter().enumerate().filter(|(_, candidate)| candidate.seeds >= seeds);
    met.filter_map(|(index, candidate)| Some((index, candidate.standing.clone()?))).unzip()
}

/// Lets newborn candidates race among themselves and against the elite; returns the new elite, the best first.
fn compete<J: Judge>(
    all: &mut Vec<Candidate>,
    born: &mut Vec<Candidate>,
    elite: &[usize],
    (effort, ladder): (Effort, &[u64]),
    judge: &mut J,
) -> Result<Vec<usize>, J::Stop> {
    let from = all.len();
    all.append(born);
    race(all, from, elite, ladder, judge)?;
    let newcomers = (from..all.len()).filter(|index| all[*index].seeds >= effort.seeds);
    let rivals: Vec<usize> = elite.iter().copied().chain(newcomers).collect();
    let standings: Vec<Standing> = rivals.iter().filter_map(|index| all[*index].standing.clone()).collect();
    Ok(dominance::order(&standings).into_iter().map(|at| rivals[at]).take(kept(effort)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::axis::{Axis, Quantity, Span, Value};
    use super::*;

    /// Values that are a known function of the policy, and of the seed by a little.
    struct Known<F> {
        of: F,
        asked: u64,
    }

    impl<F: Fn(&[String]) -> Vec<f64>> Judge for Known<F> {
        type Stop = ();

        fn rows(&mut self, policies: &[&[String]], seeds: std::ops::Range<u64>) -> Result<Vec<Option<Numbers>>, ()> {
            self.asked += policies.len() as u64 * (seeds.end - seeds.start);
            let row = |texts: &[String], seed: u64| -> Box<[f64]> {
                // The same noise for all under one seed, and a little of everybody's own.
                let world = 0.3 * Seed(seed).key().unit();
                let own = 0.02 * Seed(seed).key().named(&texts.join(" ")).unit();
                (self.of)(texts).into_iter().map(|value| value + world + own).collect()
            };
            let rows = |texts: &[String]| seeds.clone().map(|seed| row(texts, seed)).collect::<Vec<_>>();
            Ok(policies.iter().map(|texts| (texts[0] != "refused").then(|| rows(texts))).collect())
        }

        fn worlds(&self) -> usize {
            1
        }

        fn standing(&self, _: &[f64], rows: &[Box<[f64]>]) -> Standing {
            let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
            Standing { violation: 0.0, values: (0..rows[0].len()).map(mean).collect() }
        }
    }

    fn number(path: &str, from: f64, to: f64) -> Axis {
        let span = Some(Span { from, to, log: false, whole: false });
        Axis { paths: vec![path.to_owned()], quantity: Quantity::Number, values: Vec::new(), span }
    }

    fn choice(path: &str, words: &[&str]) -> Axis {
        let values = words.iter().map(|word| Value { text: (*word).to_owned(), number: None }).collect();
        Axis { paths: vec![path.to_owned()], quantity: Quantity::Choice, values, span: None }
    }

    fn text(_: Quantity, number: f64) -> String {
        number.to_string()
    }

    fn value(text: &str) -> f64 {
        text.parse().unwrap()
    }

    const EFFORT: Effort = Effort { candidates: 240, seeds: 16, goals: 1, seed: Seed(1) };

    #[test]
    fn the_lowest_point_of_a_valley_is_found_with_far_fewer_looks_than_a_grid_needs() {
        // Five axes: four numbers around a point, and a choice that is worth more than any of them.
        let axes = [
            choice("kind", &["a", "b", "c", "refused"]),
            number("x", 0.0, 10.0),
            number("y", 0.0, 10.0),
            number("z", 0.0, 10.0),
            number("w", 0.0, 10.0),
        ];
        let space = Space::new(&axes, &text);
        let of = |texts: &[String]| {
            let kind = if texts[0] == "b" { 0.0 } else { 3.0 };
            let lowest = [2.0, 7.0, 4.0, 9.0];
            vec![
                kind + texts[1..]
                    .iter()
                    .zip(lowest)
                    .map(|(x, at)| (value(x) - at) * (value(x) - at) / 25.0)
                    .sum::<f64>(),
            ]
        };
        let mut judge = Known { of, asked: 0 };
        let found = search(&space, EFFORT, &[], &mut judge).unwrap();
        let best = &found.candidates[found.front[0]];
        assert_eq!(best.texts[0], "b");
        for (text, at) in best.texts[1..].iter().zip([2.0, 7.0, 4.0, 9.0]) {
            assert!((value(text) - at).abs() <= 1.0, "{:?}", best.texts);
        }
        assert!(judge.asked <= runs(EFFORT, &space), "{} of {}", judge.asked, runs(EFFORT, &space));
        assert!(found.candidates.iter().filter(|one| one.texts[0] == "refused").all(|one| one.seeds == 0));
        // The same search gives the same.
        let mut again = Known { of, asked: 0 };
        assert_eq!(search(&space, EFFORT, &[], &mut again).unwrap(), found);
    }

    #[test]
    fn a_frontier_is_spread_from_one_end_to_the_other() {
        // Schaffer's problem (1985): x² and (x − 2)²; the frontier is 0 ≤ x ≤ 2.
        let axes = [number("x", -10.0, 10.0), number("idle", 0.0, 1.0)];
        let space = Space::new(&axes, &text);
        let of = |texts: &[String]| {
            let x = value(&texts[0]);
            vec![x * x, (x - 2.0) * (x - 2.0)]
        };
        let effort = Effort { goals: 2, ..EFFORT };
        let found = search(&space, effort, &[], &mut Known { of, asked: 0 }).unwrap();
        let mut xs: Vec<f64> = found.front.iter().map(|index| value(&found.candidates[*index].texts[0])).collect();
        xs.sort_by(f64::total_cmp);
        assert!(xs.len() >= 10, "{xs:?}");
        assert!(xs.iter().all(|x| (-0.15..=2.15).contains(x)), "{xs:?}");
        assert!(xs[0] < 0.3 && xs[xs.len() - 1] > 1.7, "{xs:?}");
        assert!(xs.windows(2).all(|pair| pair[1] - pair[0] < 0.5), "{xs:?}");
    }

    #[test]
    fn a_small_space_is_looked_at_whole() {
        let axes = [choice("a", &["x", "y", "z"]), choice("b", &["1", "2"])];
        let space = Space::new(&axes, &text);
        let of = |texts: &[String]| vec![f64::from(texts[0] != "z") + f64::from(texts[1] != "2")];
        let found = search(&space, EFFORT, &[vec![0.0, 0.0]], &mut Known { of, asked: 0 }).unwrap();
        assert!(found.is_whole);
        assert_eq!(found.candidates.len(), 6);
        assert_eq!(found.candidates[found.front[0]].texts, ["z", "2"]);
    }
}
