//! Ablation: which of several fixes matters for what. Each is taken alone and away from all the others, in the same
//! worlds. A fix that helps alone may be idle in company, and one that is worth nothing by itself may be what makes the
//! others work; the difference between the sum of the parts and the whole is their interaction.
//!
//! With every combination at hand, the worth of a fix is the mean of what it adds over all orders in which the fixes
//! could have been made (Shapley 1953, "A value for n-person games"): the worths add up to the whole effect.

use super::compare::{Comparison, Replicates};
use super::trial::{Arm, Halted, Plan};
use crate::scenario::Scenario;
use crate::stats::{Paired, Statistic};

/// The most fixes that are taken in every combination: 2⁸ arms.
pub const MOST_COMBINED: usize = 8;

/// The most fixes that are taken alone and away.
pub const MOST: usize = 16;

/// Which fixes are on, one bit each, the first one lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Combination(pub u32);

impl Combination {
    /// Whether a fix is on.
    pub const fn has(self, fix: usize) -> bool {
        self.0 >> fix & 1 == 1
    }

    /// The combination without this fix.
    const fn without(self, fix: usize) -> Combination {
        Combination(self.0 & !(1 << fix))
    }

    /// How many fixes are on.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Its name among so many fixes: `none`, `only x`, `all but x`, `all`, else the fixes that are on.
    pub fn name(self, fixes: &[String]) -> String {
        let on: Vec<&str> = (0..fixes.len()).filter(|fix| self.has(*fix)).map(|fix| fixes[fix].as_str()).collect();
        let off = (0..fixes.len()).find(|fix| !self.has(*fix));
        match (on.len(), off) {
            (0, _) => "none".to_owned(),
            (_, None) => "all".to_owned(),
            (1, Some(_)) => format!("only {}", on[0]),
            (n, Some(off)) if n + 1 == fixes.len() => format!("all but {}", fixes[off]),
            (_, Some(_)) => on.join(" + "),
        }
    }
}

/// The combinations of an ablation: none, each alone, all but each, all; or every one, by how many are on.
pub fn combinations(fixes: usize, every: bool) -> Vec<Combination> {
    let all = Combination((1_u32 << fixes) - 1);
    let mut out: Vec<Combination> = if every {
        (0..=all.0).map(Combination).collect()
    } else {
        let alone = (0..fixes).map(|fix| Combination(1 << fix));
        let but = (0..fixes).map(|fix| all.without(fix));
        std::iter::once(Combination(0)).chain(alone).chain(but).chain([all]).collect()
    };
    if every {
        out.sort_by_key(|combination| (combination.count(), combination.0));
    }
    // One fix alone is all of them, and of two, all but one is the other.
    let mut seen = Vec::new();
    out.retain(|combination| {
        let is_new = !seen.contains(combination);
        seen.push(*combination);
        is_new
    });
    out
}

/// What one fix does to one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The fix alone, against none.
    pub alone: Paired,
    /// All fixes, against all but this one: what it adds when it comes last.
    pub last: Paired,
    /// What it adds on average over all orders; `None` where not every combination was run, or a time is never.
    pub shapley: Option<Statistic>,
}

/// An ablation: the comparison of all combinations with none, and what each fix does.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// The names of the fixes.
    pub fixes: Vec<String>,
    /// The combinations, in the order of the arms.
    pub combinations: Vec<Combination>,
    /// All combinations against none.
    pub comparison: Comparison,
    /// For each measure, what each fix does.
    pub contributions: Vec<Vec<Contribution>>,
    /// For each measure, all fixes together less the sum of each alone; `None` where a time is never.
    pub interactions: Vec<Option<Statistic>>,
}

impl Ablation {
    /// Runs all combinations; the scenario of each stands at its index.
    pub fn run(
        fixes: &[String],
        combinations: &[Combination],
        scenarios: &[Scenario],
        replicates: Replicates,
        plan: Plan<'_>,
    ) -> Result<Ablation, Halted> {
        assert_eq!(combinations.len(), scenarios.len(), "each combination has its scenario");
        let names: Vec<String> = combinations.iter().map(|combination| combination.name(fixes)).collect();
        let arms: Vec<Arm<'_>> = names.iter().zip(scenarios).map(|(name, scenario)| Arm { name, scenario }).collect();
        let comparison = Comparison::run(&arms, replicates, plan)?;
        Ok(Ablation::of(fixes.to_vec(), combinations.to_vec(), comparison))
    }

    fn of(fixes: Vec<String>, combinations: Vec<Combination>, comparison: Comparison) -> Ablation {
        let measures = comparison.trial.measures.len();
        let mut ablation =
            Ablation { fixes, combinations, comparison, contributions: Vec::new(), interactions: Vec::new() };
        for measure in 0..measures {
            let rows: Vec<Vec<f64>> =
                (0..ablation.combinations.len()).map(|arm| ablation.comparison.trial.values(arm, measure)).collect();
            let contributions = (0..ablation.fixes.len()).map(|fix| ablation.contribution(fix, &rows)).collect();
            ablation.contributions.push(contributions);
            ablation.interactions.push(ablation.interaction(&rows));
        }
        ablation
    }

    /// The index of a combination among the arms.
    pub fn arm(&self, combination: Combination) -> Option<usize> {
        self.combinations.iter().position(|known| *known == combination)
    }

    /// All fixes on.
    pub fn all(&self) -> Combination {
        Combination((1_u32 << self.fixes.len()) - 1)
    }

    /// The index of the arm with all fixes on.
    pub fn all_arm(&self) -> usize {
        self.arm(self.all()).unwrap_or(0)
    }

    /// The arms with one fix alone and with all but it.
    pub fn around(&self, fix: usize) -> (usize, usize) {
        let alone = self.arm(Combination(1 << fix)).unwrap_or(0);
        (alone, self.arm(self.all().without(fix)).unwrap_or(0))
    }

    fn contribution(&self, fix: usize, rows: &[Vec<f64>]) -> Contribution {
        let (alone, but) = self.around(fix);
        Contribution {
            alone: Paired::of(&rows[0], &rows[alone]),
            last: Paired::of(&rows[but], &rows[self.all_arm()]),
            shapley: finite_everywhere(&worths(&self.combinations, self.fixes.len(), fix, rows)),
        }
    }

    fn interaction(&self, rows: &[Vec<f64>]) -> Option<Statistic> {
        let (none, all) = (&rows[0], &rows[self.all_arm()]);
        let left = |seed: usize| {
            let parts: f64 = (0..self.fixes.len()).map(|fix| rows[self.around(fix).0][seed] - none[seed]).sum();
            all[seed] - none[seed] - parts
        };
        finite_everywhere(&(0..none.len()).map(left).collect::<Vec<f64>>())
    }
}

/// What a fix adds in each seed, on average over all orders; nothing where not every combination is there.
fn worths(combinations: &[Combination], fixes: usize, fix: usize, rows: &[Vec<f64>]) -> Vec<f64> {
    if combinations.len() != 1 << fixes {
        return Vec::new();
    }
    // A set of s others stands before this fix in s! (n − s − 1)! of n! orders.
    let weight = |others: u32| {
        let choose = (0..others).fold(1.0, |product, i| product * f64::from(fixes as u32 - 1 - i) / f64::from(i + 1));
        1.0 / (fixes as f64 * choose)
    };
    let pairs: Vec<(f64, usize, usize)> = combinations
        .iter()
        .enumerate()
        .filter(|(_, combination)| combination.has(fix))
        .filter_map(|(with, combination)| {
            let without = combination.without(fix);
            Some((weight(without.count()), with, combinations.iter().position(|known| *known == without)?))
        })
        .collect();
    let worth = |seed: usize| {
        pairs.iter().map(|(weight, with, without)| weight * (rows[*with][seed] - rows[*without][seed])).sum()
    };
    (0..rows[0].len()).map(worth).collect()
}

/// The statistic of values that are finite in every seed: a mean over some of them would be of other worlds.
fn finite_everywhere(values: &[f64]) -> Option<Statistic> {
    if values.iter().all(|value| value.is_finite()) { Statistic::of(values) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(fixes: usize, every: bool) -> Vec<String> {
        let fixes: Vec<String> = ["a", "b", "c"][..fixes].iter().map(|name| (*name).to_owned()).collect();
        combinations(fixes.len(), every).into_iter().map(|combination| combination.name(&fixes)).collect()
    }

    #[test]
    fn combinations_are_none_each_alone_all_but_each_and_all() {
        assert_eq!(
            names(3, false),
            ["none", "only a", "only b", "only c", "all but a", "all but b", "all but c", "all"]
        );
        assert_eq!(names(2, false), ["none", "only a", "only b", "all"]);
        assert_eq!(names(1, false), ["none", "all"]);
        let every = names(3, true);
        assert_eq!(every.len(), 8);
        assert_eq!(every[4..7], ["all but c", "all but b", "all but a"]);
    }

    /// What each of three fixes is worth, from a game that gives a value for the fixes that are on.
    fn worth(value: impl Fn(Combination) -> f64) -> [f64; 3] {
        let every = combinations(3, true);
        let rows: Vec<Vec<f64>> = every.iter().map(|combination| vec![value(*combination)]).collect();
        [0, 1, 2].map(|fix| worths(&every, 3, fix, &rows)[0])
    }

    #[test]
    fn worths_are_those_of_games_that_are_known() {
        let near = |found: [f64; 3], expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        // Parts that do not interact are worth what they add.
        near(worth(|on| (0..3).filter(|fix| on.has(*fix)).map(|fix| fix as f64 + 1.0).sum()), [1.0, 2.0, 3.0]);
        // The glove game (Shapley and Shubik 1969): one left glove and two right ones; a pair is worth 1.
        near(worth(|on| f64::from(on.has(0) && (on.has(1) || on.has(2)))), [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]);
    }
}
