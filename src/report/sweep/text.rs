//! The sweep for a terminal: tables of one row for each value, one column for each number; or one table for each
//! number, where two settings are varied.

use super::Swept;
use crate::report::ablation::text::{Column, head, tables};
use crate::report::comparison::{cell, level};
use crate::report::quantity::count;
use crate::report::text::Page;

/// The sweep as text for a page of so many columns.
pub fn text(swept: &Swept<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    match swept.sweep.axes.as_slice() {
        [_] => of_one(&mut page, swept),
        _ => of_two(&mut page, swept),
    }
    foot(&mut page, swept);
    page.into_text()
}

fn of_one(page: &mut Page, swept: &Swept<'_>) {
    let sweep = swept.sweep;
    let names: Vec<String> = (0..sweep.points.len()).map(|point| name(swept, point)).collect();
    let column = |row: &usize| {
        let measure = &sweep.measures[*row];
        let cells = sweep.points.iter().map(|point| level(&point.cells[*row], measure.kind, swept.unit(*row)));
        Column { head: head(measure), cells: cells.collect() }
    };
    tables(page, &names, &swept.shown.iter().map(column).collect::<Vec<_>>());
}

/// A row of a table.
fn name(swept: &Swept<'_>, point: usize) -> String {
    match swept.sweep.points[point].at.first() {
        None => "as it stands".to_owned(),
        Some(at) => swept.sweep.axes[0].values[*at].text.clone(),
    }
}

fn of_two(page: &mut Page, swept: &Swept<'_>) {
    let sweep = swept.sweep;
    let [down, across] = sweep.axes.as_slice() else { return };
    for row in swept.shown {
        let names: Vec<String> = down.values.iter().map(|value| value.text.clone()).collect();
        let column = |at: usize| Column {
            head: [across.values[at].text.clone(), String::new(), String::new()],
            cells: (0..down.values.len())
                .map(|other| cell(&sweep.points[sweep.point(&[other, at])].cells[*row], swept.unit(*row)))
                .collect(),
        };
        tables(page, &names, &(0..across.values.len()).map(column).collect::<Vec<_>>());
    }
}

fn foot(page: &mut Page, swept: &Swept<'_>) {
    let n = swept.sweep.replicates;
    page.blank();
    page.paragraph(
        "  ",
        &format!(
            "{}, variant {}: {} points, each the mean of {} {} that all of them met: seed {}{}",
            swept.scenario.name,
            swept.scenario.variant,
            count(swept.sweep.grid as f64),
            count(n as f64),
            if n == 1 { "seed" } else { "seeds" },
            swept.sweep.seed.0,
            if n == 1 { "" } else { " and seeds mixed from it" },
        ),
    );
}
