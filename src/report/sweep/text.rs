//! The sweep for a terminal: the words, then tables of one row for each value and one column for each number; or one
//! table for each number, where two settings are varied. A star stands behind what cannot be told from the least.

use super::finding::subject;
use super::{Swept, cautions, findings};
use crate::report::ablation::text::{Column, head, tables};
use crate::report::comparison::{cell, level};
use crate::report::quantity::count;
use crate::report::text::Page;
use crate::report::text::page::tinted;
use crate::report::words::capitalised;

/// The sweep as text for a page of so many columns.
pub fn text(swept: &Swept<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    for sentence in findings(swept) {
        page.hanging("- ", "  ", &tinted(&sentence));
    }
    match swept.sweep.axes.as_slice() {
        [_] => of_one(&mut page, swept),
        _ => of_two(&mut page, swept),
    }
    for caution in cautions(swept) {
        page.blank();
        page.paragraph("", &format!("warning: {}", tinted(&caution.seen)));
        page.paragraph("", &format!("  {}", caution.meaning));
        page.paragraph("", &format!("hint: {}", caution.remedy));
    }
    foot(&mut page, swept);
    page.into_text()
}

/// For each point, what stands behind its value: a star where it cannot be told from the least, if anything moves.
fn stars(swept: &Swept<'_>, row: usize) -> Vec<&'static str> {
    let shape = swept.shape(row);
    let is_judged = swept.sweep.measures[row].lower_is_better && !swept.is_fooled(row);
    let is_star =
        |point: usize| is_judged && shape.is_some_and(|shape| !shape.is_flat() && shape.ties.get(point) == Some(&true));
    (0..swept.sweep.points.len()).map(|point| if is_star(point) { " *" } else { "  " }).collect()
}

fn of_one(page: &mut Page, swept: &Swept<'_>) {
    let sweep = swept.sweep;
    let names: Vec<String> = (0..sweep.points.len()).map(|point| name(swept, point)).collect();
    let column = |row: &usize| {
        let measure = &sweep.measures[*row];
        let cells = sweep
            .points
            .iter()
            .zip(stars(swept, *row))
            .map(|(point, star)| format!("{}{star}", level(&point.cells[*row], measure.kind, swept.unit(*row))));
        Column {
            head: head(measure).map(|line| if line.is_empty() { line } else { line + "  " }),
            cells: cells.collect(),
        }
    };
    tables(page, &names, &swept.shown.iter().map(column).collect::<Vec<_>>());
    page.blank();
    page.paragraph("  ", &format!("rows: {}{}", sweep.axes[0].paths.join(", "), current(swept)));
}

/// A row of a table; the file as it stands has a sign.
fn name(swept: &Swept<'_>, point: usize) -> String {
    let sign = if point == swept.sweep.reference { "▸" } else { " " };
    match swept.sweep.points[point].at.first() {
        None => format!("{sign} as it stands"),
        Some(at) => format!("{sign} {}", swept.sweep.axes[0].values[*at].text),
    }
}

/// What the file says.
fn current(swept: &Swept<'_>) -> String {
    let known: Vec<String> = (0..swept.sweep.axes.len())
        .zip(swept.current)
        .filter_map(|(axis, value)| Some(format!("{} = {}", swept.axis(axis), value.as_ref()?.text)))
        .collect();
    if known.is_empty() { String::new() } else { format!("; in the file {}", known.join(", ")) }
}

fn of_two(page: &mut Page, swept: &Swept<'_>) {
    let sweep = swept.sweep;
    let [down, across] = sweep.axes.as_slice() else { return };
    for row in swept.shown {
        let stars = stars(swept, *row);
        let names: Vec<String> = down.values.iter().map(|value| value.text.clone()).collect();
        let column = |at: usize| Column {
            head: [format!("{}  ", across.values[at].text), String::new(), String::new()],
            cells: (0..down.values.len())
                .map(|other| {
                    let point = sweep.point(&[other, at]);
                    let sign = if point == sweep.reference { "▸" } else { "" };
                    let own = &sweep.points[point].cells[*row];
                    format!("{sign}{}{}{}", cell(own, swept.unit(*row)), dagger(own), stars[point])
                })
                .collect(),
        };
        page.blank();
        page.paragraph("  ", &format!("{}{}", capitalised(&subject(swept, *row)), widest(swept, *row)));
        tables(page, &names, &(0..across.values.len()).map(column).collect::<Vec<_>>());
    }
    page.blank();
    page.paragraph(
        "  ",
        &format!("rows: {}; columns: {}{}", down.paths.join(", "), across.paths.join(", "), current(swept)),
    );
}

/// The sign of a mean that is of some seeds only, since it is a time that is never in the others.
pub fn dagger(own: &crate::experiment::compare::Cell) -> &'static str {
    if own.never > 0 && !own.is_never() { "†" } else { "" }
}

/// Whether some shown mean has that sign.
pub fn has_dagger(swept: &Swept<'_>) -> bool {
    let rows = || swept.shown.iter();
    swept.sweep.axes.len() == 2
        && swept.sweep.points.iter().any(|point| rows().any(|row| !dagger(&point.cells[*row]).is_empty()))
}

/// How well the worst-known mean of a table is known.
fn widest(swept: &Swept<'_>, row: usize) -> String {
    let kind = swept.sweep.measures[row].kind;
    let half = |cell: &crate::experiment::compare::Cell| {
        cell.statistic.as_ref().and_then(|s| s.ci95).map_or(0.0, |(low, high)| (high - low) / 2.0)
    };
    let cells = swept.sweep.points.iter().map(|point| &point.cells[row]);
    let Some(widest) = cells.max_by(|a, b| half(a).total_cmp(&half(b))) else { return String::new() };
    let text = level(widest, kind, swept.unit(row));
    text.split_once(" ± ").map_or_else(String::new, |(_, half)| format!(", ± at most {half}"))
}

fn foot(page: &mut Page, swept: &Swept<'_>) {
    let sweep = swept.sweep;
    let n = sweep.replicates;
    let grid = count(sweep.grid as f64);
    page.blank();
    page.paragraph(
        "  ",
        &format!(
            "{}, variant {}: {grid} {}{}, each the mean of {} {} that all of them met, ± 95 %: seed {}{}. \
             * cannot be told from the least by paired differences; {}▸ is the file as it stands",
            swept.scenario.name,
            swept.scenario.variant,
            if sweep.grid == 1 { "point" } else { "points" },
            if sweep.has_reference() { "" } else { " and the file as it stands" },
            count(n as f64),
            if n == 1 { "seed" } else { "seeds" },
            sweep.seed.0,
            if n == 1 { "" } else { " and seeds mixed from it" },
            if has_dagger(swept) { "† is never in some seeds, and the mean is of the others; " } else { "" },
        ),
    );
}
