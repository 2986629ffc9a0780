//! One difference in a few words, for a picture that has room for one number.

use super::Compared;
use super::label::{label, unit};
use super::signed::{cell, difference, scale, signed};
use crate::experiment::measure::Kind;
use crate::report::quantity::{Unit, count};

/// A difference in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The number that is read first.
    pub number: String,
    /// What it is of, from what to what, and how sure it is.
    pub lines: Vec<String>,
}

/// The difference of a measure between an arm and the first one.
pub fn brief(compared: &Compared<'_>, arm: usize, row: usize) -> Brief {
    let comparison = compared.comparison;
    let measure = &comparison.trial.measures[row];
    let [first, own] = [0, arm].map(|arm| &comparison.effects[arm][row]);
    let largest = [first, own].iter().filter_map(|effect| effect.cell.mean()).fold(0.0, f64::max);
    let unit = unit(measure.kind, largest);
    let said = difference(first, own, measure.kind, unit);
    let mean = own.paired.as_ref().filter(|paired| paired.is_whole()).and_then(|paired| paired.difference.as_ref());
    let number = match (measure.kind, first.cell.mean(), own.cell.mean()) {
        // Many things read best as a share of what there was.
        (Kind::Count, Some(was), Some(is)) if was >= 1_000.0 => format!("{} %", signed(100.0 * (is - was) / was, 0)),
        _ => mean.map_or_else(|| said.clone(), |difference| rounded(difference.mean, unit)),
    };
    let paired = own.paired.as_ref();
    let seeds = paired.map(|paired| {
        let (word, n) = if paired.lower >= paired.higher { ("lower", paired.lower) } else { ("higher", paired.higher) };
        format!("{word} in {} of {} seeds", count(n as f64), count(paired.n() as f64))
    });
    let mut lines = vec![
        format!("{}: {} → {}", label(measure).replace('`', ""), cell(&first.cell, unit), cell(&own.cell, unit)),
        said,
    ];
    lines.extend(seeds);
    Brief { number, lines }
}

/// A difference with two digits that count, and its unit.
fn rounded(mean: f64, unit: Unit) -> String {
    let (scale, sign) = scale(unit);
    let value = mean / scale;
    let decimals = match value.abs() {
        size if size >= 9.95 => 0,
        size if size >= 0.995 || sign == "pts" => 1,
        _ => 2,
    };
    let number = signed(value, decimals);
    if sign.is_empty() { number } else { format!("{number} {sign}") }
}
