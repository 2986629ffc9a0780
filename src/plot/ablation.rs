//! An ablation in one picture: a row for each combination of fixes, a column for each number that fixes are judged by. A
//! dot is the mean, a bar the 5 % to 95 % quantiles over the seeds; the two upright lines are no fix and all of them, so
//! that one sees how far each combination goes from one to the other, and when a fix alone goes past either.

use super::font::Face;
use super::form::Form;
use super::number;
use super::paragraph;
use super::picture::Picture;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::experiment::Verdict;
use crate::experiment::compare::Cell;
use crate::report::ablation::{Ablated, findings, telling};
use crate::report::comparison::{cell, label, unit};
use crate::report::words::readable;

/// The height of a row.
const ROW: f64 = 30.0;

/// The room between two columns.
const GAP: f64 = 26.0;

/// The most columns: more would leave no room for their numbers.
const MOST: usize = 7;

/// The room of the number behind each dot.
const VALUE: f64 = 66.0;

/// The picture of an ablation.
pub fn ablation(ablated: &Ablated<'_>, command: &str, theme: &Theme) -> Picture {
    let form = Form::WIDE;
    let rows: Vec<usize> = telling(&ablated.compared).into_iter().take(MOST).collect();
    let said = findings(ablated);
    let title = said.first().map_or_else(|| "No fix moves any number.".to_owned(), |said| said.replace('`', ""));
    let mut sheet = Sheet::default();
    let mut y = head(&mut sheet, ablated, &title, theme);
    let names = ablated.compared.arms.iter().map(|arm| Face::Regular.width(&arm.name, form.label)).fold(0.0, f64::max);
    let left = form.margin + names.min(300.0) + GAP;
    let width = (form.width - form.margin - left) / rows.len().max(1) as f64 - GAP;
    y += 40.0;
    let top = y + 40.0;
    for (arm, facts) in ablated.compared.arms.iter().enumerate() {
        let middle = top + (arm as f64 + 0.5) * ROW;
        let is_end = arm == 0 || arm == ablated.ablation.all_arm();
        let face = if is_end { Face::Bold } else { Face::Regular };
        let name = Phrase::new(&facts.name, face, form.label, theme.ink).fitted(300.0);
        sheet.write(form.margin, middle + 0.36 * form.label, &name);
        sheet.level(form.margin, form.width - form.margin, top + arm as f64 * ROW, theme.grid);
    }
    let bottom = top + ablated.compared.arms.len() as f64 * ROW;
    for (at, row) in rows.iter().enumerate() {
        let from = left + at as f64 * (width + GAP);
        column(&mut sheet, ablated, *row, Frame { left: from, right: from + width, top, bottom }, theme);
    }
    let height = foot(&mut sheet, ablated, command, bottom + 10.0, theme);
    Picture {
        width: form.width as u32,
        height: height.ceil() as u32,
        title,
        description: format!(
            "A row for each of {} combinations of fixes, a column for each of {} numbers, with means as dots and 5 – 95\u{a0}% \
             as bars.",
            ablated.compared.arms.len(),
            rows.len()
        ),
        ground: theme.page,
        marks: sheet.marks,
    }
}

/// One number for all combinations.
fn column(sheet: &mut Sheet, ablated: &Ablated<'_>, row: usize, frame: Frame, theme: &Theme) {
    let form = Form::WIDE;
    let comparison = ablated.compared.comparison;
    let measure = &comparison.trial.measures[row];
    let cells = || comparison.effects.iter().map(|effects| &effects[row].cell);
    let high = cells().filter_map(|cell| cell.statistic.as_ref()).map(|statistic| statistic.p95).fold(0.0, f64::max);
    let unit = unit(measure.kind, cells().filter_map(Cell::mean).fold(0.0, f64::max));
    let plot = frame.right - VALUE;
    let x =
        |value: f64| frame.left + if high > 0.0 { (value / high).clamp(0.0, 1.0) * (plot - frame.left) } else { 0.0 };
    let whose = measure.class().map_or_else(String::new, |class| format!("{}  ", readable(class)));
    let head = Phrase::new(label(measure).replace('`', ""), Face::Bold, form.label, theme.ink);
    sheet.write(frame.left, frame.top - 28.0, &head.fitted(frame.width()));
    let whose = Phrase::new(whose, Face::Regular, form.note, theme.second);
    sheet.write(frame.left, frame.top - 10.0, &whose.fitted(frame.width()));
    for arm in [0, ablated.ablation.all_arm()] {
        if let Some(mean) = comparison.effects[arm][row].cell.mean() {
            sheet.upright(x(mean), frame.top, frame.bottom, if arm == 0 { theme.axis } else { theme.ink });
        }
    }
    for (arm, effects) in comparison.effects.iter().enumerate() {
        let middle = frame.top + (arm as f64 + 0.5) * ROW;
        let own = &effects[row].cell;
        if let (Some(statistic), Some(mean)) = (&own.statistic, own.mean()) {
            let bar = Frame { left: x(statistic.p5), right: x(statistic.p95), top: middle - 3.0, bottom: middle + 3.0 };
            sheet.block(bar, theme.band);
            let center = (x(mean), middle);
            match comparison.verdict(arm, row) {
                Verdict::Worse => sheet.disc(center, 5.0, theme.ink),
                Verdict::Better => {
                    sheet.disc(center, 5.0, theme.ink);
                    sheet.disc(center, 3.5, theme.page);
                }
                Verdict::Moved | Verdict::Same | Verdict::Noise | Verdict::Unknown => {
                    sheet.disc(center, 3.5, theme.axis);
                }
            }
        }
        let value = Phrase::new(cell(own, unit), Face::Regular, form.note, theme.second);
        sheet.write_before(frame.right, middle + 0.36 * form.note, &value);
    }
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, ablated: &Ablated<'_>, title: &str, theme: &Theme) -> f64 {
    const SIZE: f64 = 15.0;
    let form = Form::WIDE;
    let width = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(title, width, Face::Bold, 0.8 * form.title) {
        y += form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, 0.8 * form.title, theme.ink));
    }
    y += 28.0;
    let scenario = ablated.compared.reference().scenario;
    let line = Phrase::new(&scenario.name, Face::Bold, SIZE, theme.second);
    let rest = format!(
        " · variant {} · {} fixes · {} seeds that every combination met",
        scenario.variant,
        ablated.ablation.fixes.len(),
        number::count(ablated.compared.replicates() as f64)
    );
    sheet.write(form.margin, y, &line.and(rest, Face::Regular, SIZE, theme.second).fitted(width));
    y
}

/// What the marks mean, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, ablated: &Ablated<'_>, command: &str, y: f64, theme: &Theme) -> f64 {
    const NOTE: f64 = 12.5;
    const LEADING: f64 = 18.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let text = "Dots are means: open is better than with no fix, filled is worse, grey is no more than chance. Bars are 5 \
        – 95\u{a0}% of the seeds; upright lines no fix (grey) and all of them (black). The slowest is of those that were \
        delivered.";
    let mut last = y + 8.0;
    let cautions = crate::report::ablation::cautions(ablated);
    let survivors = cautions.iter().find(|caution| caution.kind == "survivors");
    let warning = survivors.map(|caution| format!("{}.", super::facts::capital(&caution.seen.replace('`', ""))));
    for line in paragraph::wrap(
        &[Some(text.to_owned()), warning].into_iter().flatten().collect::<Vec<_>>().join(" "),
        room,
        Face::Regular,
        NOTE,
    ) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, NOTE, theme.third));
    }
    for line in paragraph::wrap(command, room, Face::Mono, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, NOTE, theme.second));
    }
    last + form.margin
}
