//! A tuning in one picture. Above, an upright axis for each number: every policy that met all seeds is a line across them,
//! so that one sees what is paid for what; the winner and the policy that it is held against stand out. Below, a row for
//! each world of the check: the mean with the reference, the mean with the winner, and how sure the difference is.

use super::font::Face;
use super::form::Form;
use super::number;
use super::paragraph;
use super::picture::Picture;
use super::scale::Scale;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::experiment::Verdict;
use crate::experiment::compare::Cell;
use crate::experiment::measure::Kind;
use crate::experiment::tune::Checked;
use crate::report::comparison::{cell, unit};
use crate::report::tuning::{Tuned, WINNER, finding, mean};

/// The most numbers: more would leave no room for their names.
const MOST: usize = 7;

/// The height of the axes.
const HEIGHT: f64 = 300.0;

/// The height of a row of the check.
const ROW: f64 = 64.0;

/// The room between two columns.
const GAP: f64 = 34.0;

/// The room of the names on the left.
const NAMES: f64 = 190.0;

/// The size of notes.
const NOTE: f64 = 12.5;

/// The picture of a tuning.
pub fn tuning(tuned: &Tuned<'_>, command: &str, theme: &Theme) -> Picture {
    let form = Form::WIDE;
    let said = finding(tuned).replace('`', "");
    // The numbers stand in the picture itself.
    let title = said.split(" In the world of the file").next().unwrap_or(&said).to_owned();
    let mut sheet = Sheet::default();
    let mut y = head(&mut sheet, tuned, &title, theme);
    let shown = tuned.tuning.metrics.len().min(MOST);
    let left = form.margin + NAMES;
    let width = (form.width - form.margin - left) / shown.max(1) as f64;
    let columns: Vec<Frame> = (0..shown)
        .map(|at| {
            let from = left + at as f64 * width;
            Frame { left: from, right: from + width - GAP, top: y + 74.0, bottom: y + 74.0 + HEIGHT }
        })
        .collect();
    heads(&mut sheet, tuned, &columns, y + 30.0, theme);
    axes(&mut sheet, tuned, &columns, theme);
    y += 74.0 + HEIGHT + 40.0;
    y = check(&mut sheet, tuned, &columns, y, theme);
    let height = foot(&mut sheet, tuned, command, y, theme);
    Picture {
        width: form.width as u32,
        height: height.ceil() as u32,
        description: format!(
            "Above, {} policies as lines across {shown} upright axes, the winner and {} among them; below, both in {} worlds \
             with other seeds.",
            met(tuned).count(),
            tuned.reference,
            tuned.tuning.checked.len()
        ),
        title,
        ground: theme.page,
        marks: sheet.marks,
    }
}

/// The policies that met all seeds.
fn met<'a>(tuned: &Tuned<'a>) -> impl Iterator<Item = usize> + use<'a> {
    let tuning = tuned.tuning;
    let seeds = tuning.effort.seeds;
    (0..tuning.found.candidates.len()).filter(move |index| tuning.found.candidates[*index].seeds >= seeds)
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, tuned: &Tuned<'_>, title: &str, theme: &Theme) -> f64 {
    const SIZE: f64 = 15.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(title, room, Face::Bold, 0.8 * form.title) {
        y += form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, 0.8 * form.title, theme.ink));
    }
    y += 28.0;
    let line = Phrase::new(&tuned.scenario.name, Face::Bold, SIZE, theme.second);
    let rest = format!(
        " · variant {} tuned, held against {} · {} policies looked at, {} of them with all {} seeds",
        tuned.scenario.variant,
        tuned.reference,
        number::count(tuned.tuning.found.candidates.len() as f64),
        number::count(met(tuned).count() as f64),
        number::count(tuned.tuning.effort.seeds as f64)
    );
    sheet.write(form.margin, y, &line.and(rest, Face::Regular, SIZE, theme.second).fitted(room));
    y
}

/// The name of each number.
fn heads(sheet: &mut Sheet, tuned: &Tuned<'_>, columns: &[Frame], y: f64, theme: &Theme) {
    let form = Form::WIDE;
    sheet.write(form.margin, y, &Phrase::new("in the search", Face::Bold, form.label, theme.ink));
    let how = Phrase::new("a line is a policy", Face::Regular, form.note, theme.second);
    sheet.write(form.margin, y + 18.0, &how);
    for (index, column) in columns.iter().enumerate() {
        let metric = &tuned.tuning.metrics[index];
        let room = column.width() + GAP - 8.0;
        let name = Phrase::new(&metric.word, Face::Bold, form.label, theme.ink);
        let role = if index < tuned.tuning.goals { "  goal" } else { "" };
        sheet.write(column.left, y, &name.and(role, Face::Regular, form.note, theme.second).fitted(room));
        if metric.meaning != metric.word {
            let meaning = Phrase::new(&metric.meaning, Face::Regular, form.note, theme.second);
            sheet.write(column.left, y + 18.0, &meaning.fitted(room));
        }
    }
}

/// Lines across upright axes.
fn axes(sheet: &mut Sheet, tuned: &Tuned<'_>, columns: &[Frame], theme: &Theme) {
    let tuning = tuned.tuning;
    let middle = |column: &Frame| column.left + 0.5 * column.width();
    let scales: Vec<f64> = (0..columns.len()).map(|metric| top(tuned, metric)).collect();
    let y = |metric: usize, value: f64| {
        let share = (value / scales[metric]).clamp(0.0, 1.0);
        columns[metric].bottom - if share.is_finite() { share } else { 1.0 } * HEIGHT
    };
    let line = |means: &[f64]| -> Vec<(f64, f64)> {
        columns.iter().enumerate().map(|(metric, column)| (middle(column), y(metric, means[metric]))).collect()
    };
    for index in met(tuned).filter(|index| !tuning.found.front.contains(index)) {
        sheet.line(line(&tuning.means[index]), theme.grid, 1.0);
    }
    if tuning.goals > 1 {
        for index in &tuning.found.front {
            sheet.line(line(&tuning.means[*index]), theme.band, 1.5);
        }
    }
    for (metric, column) in columns.iter().enumerate() {
        sheet.upright(middle(column), column.top, column.bottom, theme.axis);
        let scale = mean(&tuning.metrics[metric], scales[metric], f64::INFINITY);
        let size = Form::WIDE.note;
        sheet.write(
            middle(column) + 6.0,
            column.top + 0.4 * size,
            &Phrase::new(scale, Face::Regular, size, theme.third),
        );
        sheet.write(
            middle(column) + 6.0,
            column.bottom + 0.8 * size,
            &Phrase::new("0", Face::Regular, size, theme.third),
        );
    }
    dashed(sheet, &line(&tuning.reference), theme);
    let Some(winner) = tuning.winner else { return };
    let best = line(&tuning.means[winner]);
    sheet.line(best.clone(), theme.ink, 2.5);
    for (metric, column) in columns.iter().enumerate() {
        let x = middle(column);
        let (own, held) = (y(metric, tuning.means[winner][metric]), y(metric, tuning.reference[metric]));
        sheet.disc((x, held), 4.5, theme.second);
        sheet.disc((x, held), 2.8, theme.page);
        sheet.disc((x, own), 4.5, theme.ink);
        // Two numbers at one height would cover each other; the better one stands below.
        let (mut high, mut low) = (held.min(own), held.max(own));
        if low - high < 18.0 {
            let spread = 18.0 - (low - high);
            (high, low) = (high - 0.5 * spread, low + 0.5 * spread);
        }
        let (at_held, at_own) = if held <= own { (high, low) } else { (low, high) };
        let said = |value: f64| mean(&tuning.metrics[metric], value, f64::INFINITY);
        let size = Form::WIDE.note;
        for (value, at, face, color) in [
            (tuning.reference[metric], at_held, Face::Regular, theme.second),
            (tuning.means[winner][metric], at_own, Face::Bold, theme.ink),
        ] {
            let phrase = Phrase::new(said(value), face, size, color);
            // Lines pass below their numbers, which have to be read.
            let plate = phrase.frame(x - 9.0 - phrase.width(), at + 0.36 * size).grown(2.0);
            sheet.block(plate, theme.page);
            sheet.write_before(x - 9.0, at + 0.36 * size, &phrase);
        }
    }
    names(sheet, tuned, (y(0, tuning.reference[0]), best[0].1), theme);
}

/// The names of the two lines, left of the first axis.
fn names(sheet: &mut Sheet, tuned: &Tuned<'_>, (held, own): (f64, f64), theme: &Theme) {
    let form = Form::WIDE;
    let apart = if (held - own).abs() < 20.0 { 10.0 } else { 0.0 };
    let sign = if held <= own { -1.0 } else { 1.0 };
    let held_name = Phrase::new(tuned.reference, Face::Regular, form.label, theme.second);
    sheet.write(form.margin, held + sign * apart + 0.36 * form.label, &held_name.fitted(NAMES - 20.0));
    let own_name = Phrase::new(WINNER, Face::Bold, form.label, theme.ink);
    sheet.write(form.margin, own - sign * apart + 0.36 * form.label, &own_name);
}

/// The value at the top of an axis: a round one above the winner and the reference, and most of the others.
fn top(tuned: &Tuned<'_>, metric: usize) -> f64 {
    let tuning = tuned.tuning;
    let mut others: Vec<f64> =
        met(tuned).map(|index| tuning.means[index][metric]).filter(|mean| mean.is_finite()).collect();
    others.sort_by(f64::total_cmp);
    let most = others.get(others.len() / 2).copied().unwrap_or(0.0);
    let own = tuning.winner.map_or(0.0, |winner| tuning.means[winner][metric]);
    let largest =
        [own, tuning.reference[metric], most].into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let kind = tuning.metrics[metric].kind;
    if kind == Kind::Seconds {
        let minutes = if largest >= 120.0 { 60.0 } else { 1.0 };
        return Scale::covering(1.1 * largest / minutes, 4.0, false).top * minutes;
    }
    Scale::covering(1.1 * largest, 4.0, false).top
}

/// A dashed line: a policy that is gone.
fn dashed(sheet: &mut Sheet, points: &[(f64, f64)], theme: &Theme) {
    const DASH: f64 = 9.0;
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = ((to.0 - from.0) * (to.0 - from.0) + (to.1 - from.1) * (to.1 - from.1)).sqrt();
        let at = |way: f64| {
            let share = (way / length).min(1.0);
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        let mut way = 0.0;
        while way < length {
            sheet.line(vec![at(way), at(way + 0.6 * DASH)], theme.second, 2.0);
            way += DASH;
        }
    }
}

/// A row for each world; returns the lowest line.
fn check(sheet: &mut Sheet, tuned: &Tuned<'_>, columns: &[Frame], y: f64, theme: &Theme) -> f64 {
    let form = Form::WIDE;
    if tuned.tuning.checked.is_empty() {
        return y;
    }
    let title = format!("on {} seeds that the search has not seen", number::count(tuned.check as f64));
    sheet.write(form.margin, y, &Phrase::new(title, Face::Bold, form.label, theme.ink));
    let top = y + 16.0;
    for (row, checked) in tuned.tuning.checked.iter().enumerate() {
        let upper = top + row as f64 * ROW;
        sheet.level(form.margin, form.width - form.margin, upper, theme.grid);
        let name = Phrase::new(&checked.world.name, Face::Bold, form.label, theme.ink);
        sheet.write(form.margin, upper + 25.0, &name.fitted(NAMES - 14.0));
        let what = if checked.is_seen { "as in the search" } else { "an unseen world" };
        sheet.write(form.margin, upper + 43.0, &Phrase::new(what, Face::Regular, form.note, theme.second));
        for (metric, column) in columns.iter().enumerate() {
            pair(sheet, tuned, checked, metric, (column, upper), theme);
        }
    }
    top + tuned.tuning.checked.len() as f64 * ROW
}

/// One number in one world: two dots on a scale that all worlds share, the interval of the difference, and words.
fn pair(
    sheet: &mut Sheet,
    tuned: &Tuned<'_>,
    checked: &Checked,
    metric: usize,
    (column, upper): (&Frame, f64),
    theme: &Theme,
) {
    let form = Form::WIDE;
    let all = || {
        let worlds = tuned.tuning.checked.iter();
        worlds.flat_map(|world| [Cell::of(&world.reference[metric]), Cell::of(&world.winner[metric])])
    };
    let largest = all().filter_map(|cell| cell.mean()).fold(0.0, f64::max);
    let unit = unit(tuned.tuning.metrics[metric].kind, largest);
    let held = tuned.held(checked, metric);
    let x = |value: f64| {
        let share = if largest > 0.0 { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
        column.left + 6.0 + share * (column.width() - 12.0)
    };
    let y = upper + 18.0;
    sheet.level(column.left, column.right, y, theme.grid);
    let [before, after] = [&held.reference, &held.winner].map(|effect| effect.cell.mean());
    let paired = held.winner.paired.as_ref().filter(|paired| paired.is_whole());
    let interval = paired.and_then(|paired| paired.difference.as_ref()?.ci95);
    if let (Some(before), Some((low, high))) = (before, interval) {
        let bar = Frame { left: x(before + low), right: x(before + high), top: y - 4.0, bottom: y + 4.0 };
        sheet.block(bar, theme.band);
    }
    if let Some(before) = before {
        sheet.disc((x(before), y), 4.5, theme.second);
        sheet.disc((x(before), y), 2.8, theme.page);
    }
    if let Some(after) = after {
        sheet.disc((x(after), y), 4.5, theme.ink);
    }
    let [from, to] = [&held.reference, &held.winner].map(|effect| cell(&effect.cell, unit));
    let never = (held.reference.cell.never, held.winner.cell.never);
    let (face, color) = match held.verdict {
        Verdict::Worse => (Face::Bold, theme.ink),
        Verdict::Better | Verdict::Moved | Verdict::Same | Verdict::Noise | Verdict::Unknown => {
            (Face::Regular, theme.second)
        }
    };
    let said = format!("{from} → {to}");
    let line = Phrase::new(said, Face::Regular, form.note, theme.ink);
    sheet.write(column.left, upper + 39.0, &line.fitted(column.width() + GAP - 6.0));
    let mut word = Phrase::new(held.verdict.word(), face, form.note, color);
    if never != (0, 0) {
        let [before, after] = [never.0, never.1].map(|seeds| number::count(seeds as f64));
        word = word.and(format!("  never in {before} → {after}"), Face::Regular, form.note, theme.second);
    }
    sheet.write(column.left, upper + 56.0, &word);
}

/// What the marks mean, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, tuned: &Tuned<'_>, command: &str, y: f64, theme: &Theme) -> f64 {
    const LEADING: f64 = 18.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let text = format!(
        "Less is better on every axis. Above: means over the seeds of the search; dashed {}, black the winner, darker grey \
         the front; a line that goes beyond an axis ends at its top; a time that is never counts as twice the run. Below: \
         open {}, filled the winner; the bar is where the winner's mean lies with 95\u{a0}% by the paired differences. \
         A task that failed took for ever.",
        tuned.reference, tuned.reference
    );
    let mut last = y + 12.0;
    for line in paragraph::wrap(&text, room, Face::Regular, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, NOTE, theme.third));
    }
    for line in paragraph::wrap(command, room, Face::Mono, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, NOTE, theme.second));
    }
    last + form.margin
}
