//! The table by phase in columns; where not all phases fit side by side it goes on below, and no cell is cut.

use crate::report::phase_table::{PhaseTable, Row, phase_table};
use crate::report::story::Subject;

use super::page::{Page, cut, left, painted, right, width};

/// Blank columns between two phases.
const GAP: usize = 2;

/// Writes the table by phase; nothing where there are no phases.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>) {
    let mut table = phase_table(subject);
    if table.columns.is_empty() || table.rows.is_empty() {
        return;
    }
    // Half of the page is for numbers, whatever a class is called.
    for row in &mut table.rows {
        row.label = cut(&row.label, page.width() / 2);
    }
    let label = table.rows.iter().map(|row| width(&label(row))).max().unwrap_or(0) + 2;
    let widths: Vec<usize> =
        (0..table.columns.len()).map(|at| column_width(&table, at, page.width() - label)).collect();
    let fits = |at: usize, columns: usize| {
        let end = (at + columns).min(widths.len());
        columns == 1 || label + widths[at..end].iter().sum::<usize>() <= page.width()
    };
    // As many side by side as fit everywhere, then as even as possible: three and one reads worse than two and two.
    let most = (1..=widths.len()).rev().find(|n| (0..widths.len()).step_by(*n).all(|at| fits(at, *n))).unwrap_or(1);
    let even = widths.len().div_ceil(widths.len().div_ceil(most));
    for from in (0..widths.len()).step_by(even) {
        page.blank();
        block(page, subject, &table, from..(from + even).min(widths.len()), label, &widths);
    }
}

fn column_width(table: &PhaseTable, at: usize, most: usize) -> usize {
    let cells = table.rows.iter().map(|row| width(&row.cells[at]));
    let widest = cells.max().unwrap_or(0).max(width(&table.columns[at].0));
    (widest + GAP).max(11).min(most)
}

fn block(
    page: &mut Page,
    subject: &Subject<'_>,
    table: &PhaseTable,
    phases: std::ops::Range<usize>,
    label_width: usize,
    widths: &[usize],
) {
    let head = if subject.is_replicated() { "  mean" } else { "" };
    let names = phases.clone().map(|at| right(&cut(&table.columns[at].0, widths[at] - GAP), widths[at]));
    page.line(&format!("{}{}", left(head, label_width), names.collect::<String>()));
    for row in &table.rows {
        let cells = phases.clone().map(|at| {
            let cell = &row.cells[at];
            let text = if row.part && cell != "0" && cell != "–" { painted(cell, row.tint) } else { cell.clone() };
            right(&text, widths[at])
        });
        page.line(&format!("{}{}", left(&painted_label(row), label_width), cells.collect::<String>()));
    }
}

fn label(row: &Row) -> String {
    format!("{}{}", if row.part { "    " } else { "  " }, row.label)
}

fn painted_label(row: &Row) -> String {
    let label = label(row);
    match &row.word {
        Some(word) => label.replacen(word.as_str(), &painted(word, row.tint), 1),
        None => label,
    }
}
