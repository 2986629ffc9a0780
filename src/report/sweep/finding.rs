//! A sweep in words: for each number where it is least and from where on it rises.

use super::Swept;
use super::shape::{Shape, by_rank, rank};
use super::trade::trade;
use crate::report::comparison::{cell, label, level, statistic};
use crate::report::quantity::count;
use crate::report::words::{capitalised, listed, tasks};
use crate::stats::Shift;

/// What is found: of all shown numbers together first, then of each.
pub fn findings(swept: &Swept<'_>) -> Vec<String> {
    let one = |row: &usize| Some(format!("{}.", capitalised(&finding(swept, *row, swept.shape(*row)?))));
    trade(swept).into_iter().chain(swept.shown.iter().filter_map(one)).collect()
}

/// "reports, amplification in the overload".
pub fn subject(swept: &Swept<'_>, row: usize) -> String {
    let measure = &swept.sweep.measures[row];
    let class = swept.scenario.traffic.iter().find(|class| measure.class() == Some(class.name.as_str()));
    class.map_or_else(|| label(measure), |class| format!("{}, {}", tasks(class), label(measure)))
}

fn finding(swept: &Swept<'_>, row: usize, shape: &Shape) -> String {
    let subject = subject(swept, row);
    if shape.is_flat() {
        return format!("{subject}: {}", flat(swept, row, shape));
    }
    if swept.is_fooled(row) {
        let [low, high] = [shape.least, shape.most].map(|at| value(swept, row, shape.line[at]));
        return format!("{subject}: {low} to {high}, and lower where more are lost: of the survivors alone");
    }
    let said = match swept.sweep.axes.as_slice() {
        [axis] if axis.is_scale() => along(swept, row, shape),
        _ => over(swept, row, shape),
    };
    format!("{subject}: {said}{}", as_it_stands(swept, row, shape))
}

/// A number that the setting does not move.
fn flat(swept: &Swept<'_>, row: usize, shape: &Shape) -> String {
    let value = |at: usize| value(swept, row, shape.line[at]);
    if shape.moves.is_none() {
        return format!("the same everywhere, {}", value(shape.least));
    }
    if swept.sweep.replicates < 2 {
        return format!("{} to {}; one seed cannot say whether that is chance", value(shape.least), value(shape.most));
    }
    format!(
        "moves no more than chance explains, from {} with {} to {} with {}",
        value(shape.least),
        swept.place(shape.line[shape.least]),
        value(shape.most),
        swept.place(shape.line[shape.most])
    )
}

/// Along one scale: where it is least, and what it does to both sides.
fn along(swept: &Swept<'_>, row: usize, shape: &Shape) -> String {
    let axis = &swept.sweep.axes[0];
    let text = |at: usize| axis.values[at].text.as_str();
    let value = |at: usize| value(swept, row, shape.line[at]);
    let (from, to) = shape.stretch();
    let place = if from == to {
        format!("at {} = {}", swept.axis(0), text(from))
    } else {
        format!("at {} = {} to {}", swept.axis(0), text(from), text(to))
    };
    let mut said = vec![format!("least {place} ({})", exactly(swept, row, shape.line[shape.least]))];
    let rank = |at: &usize| rank(swept.sweep, row, shape.line[*at]);
    let mut side = |knee: Option<usize>, positions: &mut dyn Iterator<Item = usize>, way: &str| {
        let (Some(knee), Some(top)) = (knee, positions.max_by(|a, b| by_rank(rank(a), rank(b)))) else { return };
        said.push(if knee == top || rank(&knee).is_none() {
            format!("{way} it rises to {} at {}", value(top), text(top))
        } else {
            let on = if way == "below" { "down" } else { "on" };
            format!("{way} it rises from {} {on} ({}) to {} at {}", text(knee), value(knee), value(top), text(top))
        });
    };
    side(from.checked_sub(1), &mut (0..from).rev(), "below");
    let above = (to + 1 < shape.line.len()).then_some(to + 1);
    side(above, &mut (to + 1..shape.line.len()), "above");
    said.join("; ")
}

/// Over choices or over a grid of two settings: where it is least and where it is most.
fn over(swept: &Swept<'_>, row: usize, shape: &Shape) -> String {
    let ties: Vec<usize> = (0..shape.line.len()).filter(|at| shape.ties[*at] && *at != shape.least).collect();
    let least = shape.line[shape.least];
    let no_worse = match ties.as_slice() {
        [] => String::new(),
        [only] => format!(", no worse with {}", swept.place(shape.line[*only])),
        several if swept.sweep.axes.len() == 1 && several.len() <= 4 => {
            let texts: Vec<String> = several.iter().map(|at| swept.sweep.axes[0].values[*at].text.clone()).collect();
            format!(", no worse with {}", listed(&texts))
        }
        several => format!(", no worse at {} more points", count(several.len() as f64)),
    };
    let most = shape.line[shape.most];
    format!(
        "least with {} ({}){no_worse}; most with {} ({})",
        swept.place(least),
        exactly(swept, row, least),
        swept.place(most),
        value(swept, row, most)
    )
}

/// Where the file stands, if it is worse than the least, or better than the whole grid.
fn as_it_stands(swept: &Swept<'_>, row: usize, shape: &Shape) -> String {
    let sweep = swept.sweep;
    let least = shape.line[shape.least];
    if sweep.reference == least {
        return "; the file stands there".to_owned();
    }
    let shift = sweep.shift(row, least, sweep.reference, 1);
    let difference = sweep.paired(row, least, sweep.reference);
    let by = difference.difference.as_ref().filter(|_| difference.is_whole());
    let kind = sweep.measures[row].kind;
    let said = value(swept, row, sweep.reference);
    match (shift, by) {
        (Shift::Up, Some(by)) => {
            format!("; the file as it stands has {said}, {}", statistic(by, kind, swept.unit(row)))
        }
        (Shift::Up, None) => format!("; the file as it stands has {said}"),
        (Shift::Down, _) => format!("; the file as it stands has less, {said}"),
        (Shift::Equal | Shift::Noise | Shift::Unknown, _) => String::new(),
    }
}

/// A mean, or never.
pub(super) fn value(swept: &Swept<'_>, row: usize, point: usize) -> String {
    let own = &swept.sweep.points[point].cells[row];
    let said = cell(own, swept.unit(row));
    if own.never == 0 || own.is_never() {
        return said;
    }
    format!("{said} ({} of {} never)", count(own.never as f64), count(own.defined as f64))
}

/// A mean with half of its interval.
fn exactly(swept: &Swept<'_>, row: usize, point: usize) -> String {
    level(&swept.sweep.points[point].cells[row], swept.sweep.measures[row].kind, swept.unit(row))
}
