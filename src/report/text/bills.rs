//! What each class cost, a line for each.

use crate::report::bill::{CELLS, Row, bills};
use crate::report::story::Subject;

use super::page::{Page, cut, left, right, width};

/// Blanks before a column.
const GAP: usize = 2;

/// Writes the bills; nothing where nothing has a price.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>) {
    let Some((currency, rows)) = bills(subject) else { return };
    page.blank();
    let mean = if subject.is_replicated() { "mean " } else { "" };
    if page.is_narrow() {
        for Row { class, cells } in &rows {
            let cells: Vec<String> =
                CELLS.iter().zip(cells).map(|((_, head), cell)| format!("{head} {cell}")).collect();
            page.hanging("  ", "    ", &format!("{mean}cost of {class} in {currency}: {}", cells.join(", ")));
        }
        return;
    }
    let columns: Vec<usize> = CELLS
        .iter()
        .enumerate()
        .map(|(n, (_, head))| rows.iter().map(|row| width(&row.cells[n])).max().unwrap_or(0).max(width(head)) + GAP)
        .collect();
    let most = page.width().saturating_sub(columns.iter().sum());
    let head = format!("  {mean}cost in {currency}");
    let widest = rows.iter().map(|row| width(&row.class) + 2).max().unwrap_or(0).max(width(&head));
    let label = widest.min(most);
    let line = |first: &str, cells: [&str; CELLS.len()]| {
        let cells: String = cells.iter().zip(&columns).map(|(cell, columns)| right(cell, *columns)).collect();
        format!("{}{cells}", left(&cut(first, label), label))
    };
    page.line(&line(&head, CELLS.map(|(_, head)| head)));
    for Row { class, cells } in &rows {
        page.line(&line(&format!("  {class}"), cells.each_ref().map(String::as_str)));
    }
}
