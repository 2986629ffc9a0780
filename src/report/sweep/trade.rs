//! Whether one point is best for everything, and if none is, which two numbers pull apart most.

use super::caution::lost_share;
use super::finding::{subject, value};
use super::shape::{Shape, by_rank, rank};
use super::{Swept, lost};
use crate::report::quantity::count;
use crate::report::words::spelled;

/// What is this share of its highest value above its least is close to it.
const LITTLE: f64 = 0.05;

/// A number that moves, and how far each point is from its least.
struct Moving<'a> {
    row: usize,
    shape: &'a Shape,
    ranks: Vec<Option<(u64, f64)>>,
    /// The highest mean.
    highest: f64,
}

/// What is traded against what, in a sentence; nothing where fewer than two numbers move.
pub(super) fn trade(swept: &Swept<'_>) -> Option<String> {
    let moving: Vec<Moving<'_>> =
        swept.shown.iter().filter_map(|row| Moving::of(swept, *row, swept.shape(*row)?)).collect();
    if moving.len() < 2 {
        return None;
    }
    together(swept, &moving).or_else(|| close(swept, &moving)).or_else(|| apart(swept, &moving))
}

impl<'a> Moving<'a> {
    fn of(swept: &Swept<'_>, row: usize, shape: &'a Shape) -> Option<Moving<'a>> {
        if shape.is_flat() || !swept.sweep.measures[row].lower_is_better || swept.is_fooled(row) {
            return None;
        }
        let ranks: Vec<Option<(u64, f64)>> = shape.line.iter().map(|point| rank(swept.sweep, row, *point)).collect();
        let finite = ranks.iter().flatten().map(|rank| rank.1).filter(|mean| mean.is_finite());
        let highest = finite.fold(0.0, f64::max);
        Some(Moving { row, shape, ranks, highest })
    }

    /// How far it is above its least at a point, as a share of its highest value; a time that is more often never, as
    /// the share of seeds in which it is.
    fn loss(&self, at: usize, seeds: u64) -> f64 {
        let (Some(low), Some(own)) = (self.ranks[self.shape.least], self.ranks[at]) else { return 0.0 };
        let never = own.0.saturating_sub(low.0) as f64 / seeds.max(1) as f64;
        let is_higher = own.1.is_finite() && self.highest > 0.0;
        never.max(if is_higher { (own.1 - low.1) / self.highest } else { 0.0 })
    }

    /// Of what cannot be told from its least, where the other is least.
    fn kindest(&self, other: &Moving<'_>) -> usize {
        let ties = (0..self.shape.line.len()).filter(|at| self.shape.ties[*at]);
        ties.min_by(|a, b| by_rank(other.ranks[*a], other.ranks[*b])).unwrap_or(self.shape.least)
    }
}

/// Where all of them are as low as they get.
fn together(swept: &Swept<'_>, moving: &[Moving<'_>]) -> Option<String> {
    let is_common = |at: &usize| moving.iter().all(|one| one.shape.ties[*at]);
    let mut common: Vec<usize> = (0..swept.sweep.grid).filter(is_common).collect();
    common.sort_by(|a, b| lost_share(swept, *a).total_cmp(&lost_share(swept, *b)));
    let first = *common.first()?;
    let at_a_price = lost(swept, first).map_or_else(String::new, |said| format!(", where {said}"));
    let more = match common.len() - 1 {
        0 => String::new(),
        1 => format!(" or with {}", swept.place(common[1])),
        n => format!(" or at {} more points", count(n as f64)),
    };
    Some(format!(
        "{}{} numbers that move are as low as they get with {}{more}{at_a_price}.",
        if at_a_price.is_empty() { "Nothing is traded: " } else { "At the price of lost work, " },
        if moving.len() == 2 { "both".to_owned() } else { format!("all {}", spelled(moving.len() as f64)) },
        swept.place(first)
    ))
}

/// The point at which the number that is worst off is least badly so, where that is hardly above its least.
fn close(swept: &Swept<'_>, moving: &[Moving<'_>]) -> Option<String> {
    let seeds = swept.sweep.replicates;
    let worst = |at: usize| moving.iter().map(|one| one.loss(at, seeds)).fold(0.0, f64::max);
    let sum = |at: usize| moving.iter().map(|one| one.loss(at, seeds)).sum::<f64>();
    let order = |a: &usize, b: &usize| worst(*a).total_cmp(&worst(*b)).then(sum(*a).total_cmp(&sum(*b)));
    let best = (0..swept.sweep.grid).min_by(order).filter(|best| worst(*best) < LITTLE)?;
    let one = moving.iter().max_by(|a, b| a.loss(best, seeds).total_cmp(&b.loss(best, seeds)))?;
    Some(format!(
        "Little is traded: with {} every number that moves is at its least or close to it ({} {} instead of {}).",
        swept.place(best),
        subject(swept, one.row),
        value(swept, one.row, best),
        value(swept, one.row, one.shape.line[one.shape.least])
    ))
}

/// The two that pull apart most, each where it is least.
fn apart(swept: &Swept<'_>, moving: &[Moving<'_>]) -> Option<String> {
    let seeds = swept.sweep.replicates;
    let mut widest: Option<(f64, usize, usize)> = None;
    for (i, one) in moving.iter().enumerate() {
        for (j, other) in moving.iter().enumerate().skip(i + 1) {
            let is_traded = !one.shape.ties.iter().zip(&other.shape.ties).any(|(one, other)| *one && *other);
            let apart = other.loss(one.kindest(other), seeds).min(one.loss(other.kindest(one), seeds));
            if is_traded && widest.is_none_or(|(most, ..)| apart > most) {
                widest = Some((apart, i, j));
            }
        }
    }
    let (_, i, j) = widest?;
    let side = |one: &Moving<'_>, other: &Moving<'_>| {
        let point = one.shape.line[one.kindest(other)];
        format!(
            "{} is best for {} ({}) and has {} at {}",
            swept.place(point),
            subject(swept, one.row),
            value(swept, one.row, point),
            subject(swept, other.row),
            value(swept, other.row, point)
        )
    };
    Some(format!(
        "No {} is best for all: {}; {}.",
        if swept.sweep.axes.len() == 1 { "value" } else { "point" },
        side(&moving[i], &moving[j]),
        side(&moving[j], &moving[i])
    ))
}
