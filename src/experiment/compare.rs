//! Comparison: several policies in the same worlds, each against the first one, with how sure each difference is.

use super::measure::{Kind, Measure};
use super::trial::{Arm, Halted, Plan, Trial};
use crate::stats::{Paired, Shift, Statistic};

/// The seeds that a comparison which adds seeds begins with.
const FIRST: u64 = 25;

/// What is narrow enough: half the interval, as a share of the larger of the two means.
pub const NARROW: f64 = 0.05;

/// The half width below which an interval is narrow enough whatever the means: half a task, a hundredth of a request for
/// each needed, half a percentage point, a second, a hundredth of the currency.
pub const fn narrowest(kind: Kind) -> f64 {
    match kind {
        Kind::Count => 0.5,
        Kind::Ratio | Kind::Money => 0.01,
        Kind::Share => 0.005,
        Kind::Seconds => 1.0,
    }
}

/// How many seeds a comparison takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicates {
    /// So many.
    Exactly(u64),
    /// As many as make all headline differences narrow, doubling, and at most so many.
    UntilSure(u64),
}

/// A number of one arm over all seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Over the seeds in which it is defined and finite; `None` where there is none.
    pub statistic: Option<Statistic>,
    /// In how many seeds it is a time that is never.
    pub never: u64,
    /// In how many seeds it is defined, never included.
    pub defined: u64,
}

/// One measure of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its values.
    pub cell: Cell,
    /// Against the first arm; `None` for that arm itself.
    pub paired: Option<Paired>,
}

/// What a difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Less of what nobody wants.
    Better,
    /// More of it.
    Worse,
    /// Neither good nor bad by itself, and different.
    Moved,
    /// The same in every seed.
    Same,
    /// A difference that chance explains.
    Noise,
    /// Too few seeds, or nothing to compare.
    Unknown,
}

/// Several arms against the first.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was run.
    pub trial: Trial,
    /// For each arm, its measures.
    pub effects: Vec<Vec<Effect>>,
    /// How sure it became, where seeds were added until it was; `None` where they were counted out beforehand.
    pub sure: Option<Sureness>,
}

/// How sure a comparison became.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sureness {
    /// Whether all headline differences are narrow enough.
    pub is_sure: bool,
    /// The arm and the measure whose interval is the widest, and how many times as wide as is narrow enough.
    pub widest: Option<(usize, usize, f64)>,
}

impl Verdict {
    /// What a shift of this measure means.
    pub const fn of(measure: &Measure, shift: Shift) -> Verdict {
        match (shift, measure.lower_is_better) {
            (Shift::Down, true) => Verdict::Better,
            (Shift::Up, true) => Verdict::Worse,
            (Shift::Down | Shift::Up, false) => Verdict::Moved,
            (Shift::Equal, _) => Verdict::Same,
            (Shift::Noise, _) => Verdict::Noise,
            (Shift::Unknown, _) => Verdict::Unknown,
        }
    }

    /// Its word in tables and documents.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Moved => "moved",
            Verdict::Same => "same",
            Verdict::Noise => "noise",
            Verdict::Unknown => "unknown",
        }
    }
}

impl Cell {
    /// The cell of one value for each seed.
    pub fn of(values: &[f64]) -> Cell {
        Cell {
            statistic: Statistic::of(values),
            never: values.iter().filter(|value| value.is_infinite()).count() as u64,
            defined: values.iter().filter(|value| !value.is_nan()).count() as u64,
        }
    }

    /// The mean, where the number is finite in more than half of the seeds.
    pub fn mean(&self) -> Option<f64> {
        let statistic = self.statistic.as_ref().filter(|_| !self.is_never());
        statistic.map(|statistic| statistic.mean)
    }

    /// Whether it is never in half of the seeds or more.
    pub const fn is_never(&self) -> bool {
        self.never > 0 && 2 * self.never >= self.defined
    }
}

impl Comparison {
    /// Runs the arms and compares each with the first.
    pub fn run(arms: &[Arm<'_>], replicates: Replicates, plan: Plan<'_>) -> Result<Comparison, Halted> {
        let (first, most) = match replicates {
            Replicates::Exactly(n) => (n, n),
            Replicates::UntilSure(most) => (FIRST.min(most), most),
        };
        let mut trial = Trial::run(arms, first, plan)?;
        loop {
            let comparison = Comparison::of(trial);
            let sureness = comparison.sureness();
            let n = comparison.trial.replicates();
            if sureness.is_sure || n >= most {
                let sure = matches!(replicates, Replicates::UntilSure(_)).then_some(sureness);
                return Ok(Comparison { sure, ..comparison });
            }
            trial = comparison.trial;
            trial.go_on(arms, (2 * n).min(most), plan)?;
        }
    }

    /// The comparison of a trial.
    pub fn of(trial: Trial) -> Comparison {
        let columns = |arm: usize| (0..trial.measures.len()).map(|m| trial.values(arm, m)).collect::<Vec<_>>();
        let reference = columns(0);
        let effects = (0..trial.arms.len()).map(|arm| {
            let values = if arm == 0 { reference.clone() } else { columns(arm) };
            let effect = |(first, own): (&Vec<f64>, Vec<f64>)| Effect {
                cell: Cell::of(&own),
                paired: (arm > 0).then(|| Paired::of(first, &own)),
            };
            reference.iter().zip(values).map(effect).collect()
        });
        let effects = effects.collect();
        Comparison { trial, effects, sure: None }
    }

    /// What a measure of an arm means against the first arm.
    pub fn verdict(&self, arm: usize, measure: usize) -> Verdict {
        let shift = self.effects[arm][measure].paired.as_ref().map_or(Shift::Unknown, Paired::shift);
        Verdict::of(&self.trial.measures[measure], shift)
    }

    /// Whether the first arm and this one met the same worlds.
    pub fn is_same_world(&self, arm: usize) -> bool {
        self.trial.arms[0].world_digest == self.trial.arms[arm].world_digest
    }

    /// The index of the measure at this path, as [`Measure::path`] writes it.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.trial.measures.iter().position(|measure| measure.path() == path)
    }

    /// How sure the headline differences are.
    fn sureness(&self) -> Sureness {
        let mut widest: Option<(usize, usize, f64)> = None;
        for arm in 1..self.effects.len() {
            for (index, measure) in self.trial.measures.iter().enumerate().filter(|(_, m)| m.headline) {
                let Some(width) = self.relative_width(arm, index, measure.kind) else { continue };
                if widest.is_none_or(|(.., most)| width > most) {
                    widest = Some((arm, index, width));
                }
            }
        }
        Sureness { is_sure: widest.is_none_or(|(.., width)| width <= 1.0), widest }
    }

    /// Half the interval of a difference, in units of what is narrow enough; `None` where there is no interval, since
    /// one side is never.
    fn relative_width(&self, arm: usize, measure: usize, kind: Kind) -> Option<f64> {
        let [first, own] = [&self.effects[0][measure], &self.effects[arm][measure]];
        let half = own.paired.as_ref().filter(|paired| paired.is_whole())?.half_width()?;
        let mean = |effect: &Effect| effect.cell.mean().map_or(0.0, f64::abs);
        Some(half / (NARROW * mean(first).max(mean(own))).max(narrowest(kind)))
    }
}
