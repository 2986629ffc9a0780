//! What each model was asked and answered, and who sent its failures.

use crate::report::model_table::{HEADS, Row, model_table};
use crate::report::story::Subject;

use super::page::{Page, cut, left, right, width};

/// The columns of a number.
const NUMBER: usize = 10;

/// Writes a line for each class and model; nothing where models are not told apart.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>) {
    let rows = model_table(subject);
    if rows.is_empty() {
        return;
    }
    page.blank();
    let numbers = NUMBER * HEADS.len();
    let widest = rows.iter().map(|row| width(&label(row))).max().unwrap_or(0) + 2;
    if widest.min(24) + numbers > page.width() {
        for row in &rows {
            let cells: Vec<String> =
                HEADS.iter().zip(&row.cells).map(|(head, cell)| format!("{head} {cell}")).collect();
            page.paragraph("  ", &format!("{}: {}", label(row), cells.join(", ")));
            failed_by(page, row);
        }
        return;
    }
    let columns = widest.min(page.width() - numbers);
    let line = |head: &str, cells: [&str; 4]| {
        let cells: String = cells.iter().map(|cell| right(cell, NUMBER)).collect();
        format!("{}{cells}", left(&cut(head, columns), columns))
    };
    let head = if subject.is_replicated() { "  mean, whole run" } else { "  whole run" };
    page.line(&line(head, HEADS));
    for row in &rows {
        page.line(&line(&label(row), row.cells.each_ref().map(String::as_str)));
        failed_by(page, row);
    }
}

fn label(row: &Row) -> String {
    format!("  {} to {}", row.class, row.model)
}

fn failed_by(page: &mut Page, row: &Row) {
    if !row.failed_by.is_empty() {
        page.paragraph("    ", &format!("failed by {}", row.failed_by.join(", ")));
    }
}
