//! Who refused, and at which request of a step: a line for each of the few who did it most.

use crate::report::quantity::Unit;
use crate::report::refusal_table::{Row, causes, rows};
use crate::report::story::Subject;

use super::page::{Page, cut, left, right, tinted, width};

/// The most who have a line of their own.
const MOST: usize = 3;

/// The heads of the numbers, each with its columns.
const HEADS: [(&str, usize); 5] = [("all", 10), ("1st request", 13), ("2nd", 8), ("3rd", 8), ("later", 8)];

/// Writes them; nothing where nobody refused.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>) {
    let rows = shown(&rows(subject, None));
    if rows.is_empty() {
        return;
    }
    page.blank();
    let numbers: usize = HEADS.iter().map(|(_, columns)| columns).sum();
    if page.is_narrow() {
        for (label, cells) in &rows {
            let later = HEADS.iter().zip(cells).skip(1).filter(|(_, cell)| *cell != "0");
            let later: Vec<String> = later.map(|((head, _), cell)| format!("{head} {cell}")).collect();
            page.hanging("  ", "    ", &tinted(&format!("{label} {}: {}", cells[0], later.join(", "))));
        }
    } else {
        let columns = page.width() - numbers;
        let widest = rows.iter().map(|(label, _)| width(label)).max().unwrap_or(0) + 2;
        let columns = widest.max("  mean, who refused".len()).min(columns);
        let line = |label: &str, cells: [&str; 5]| {
            let cells: String = HEADS.iter().zip(cells).map(|((_, columns), cell)| right(cell, *columns)).collect();
            format!("{}{cells}", left(&cut(label, columns), columns))
        };
        let head = if subject.is_replicated() { "  mean, who refused" } else { "  who refused" };
        page.line(&line(head, HEADS.map(|(head, _)| head)));
        for (label, cells) in &rows {
            page.line(&line(&format!("  {label}"), cells.each_ref().map(String::as_str)));
        }
    }
    if let Some(causes) = causes(subject) {
        page.paragraph("  ", &causes);
    }
}

/// The few who refused most, and all others together.
fn shown(rows: &[Row]) -> Vec<(String, [String; 5])> {
    let label = |row: &Row| format!("{} by {}", row.status, row.who);
    if rows.len() <= MOST + 1 {
        return rows.iter().map(|row| (label(row), cells(&[row]))).collect();
    }
    let (first, others) = rows.split_at(MOST);
    let others: Vec<&Row> = others.iter().collect();
    let rest = (format!("{} others", others.len()), cells(&others));
    first.iter().map(|row| (label(row), cells(&[row]))).chain([rest]).collect()
}

fn cells(rows: &[&Row]) -> [String; 5] {
    let at =
        |groups: std::ops::Range<usize>| -> f64 { rows.iter().flat_map(|row| &row.attempts[groups.clone()]).sum() };
    let later = rows.first().map_or(3, |row| row.attempts.len());
    let all = rows.iter().map(|row| row.all).sum();
    [all, at(0..1), at(1..2), at(2..3), at(3..later)].map(|n| Unit::Count.bare(n))
}
