//! Who refused, for each class and for each request of a step, in numbers and as shares.

use crate::observe::refusals::ATTEMPTS;
use crate::report::quantity::Unit;
use crate::report::refusal_table::{Row, causes, rows};
use crate::report::story::Subject;
use crate::report::words::{capitalised, readable};

use super::{escaped, sentence};

/// The most who have a column of their own.
const MOST: usize = 5;

/// One column: its head, the colour of its status, how much of that colour, and who is in it.
struct Column {
    head: String,
    colour: &'static str,
    opacity: f64,
    who: Vec<(String, String)>,
}

/// The section; nothing where nobody refused.
pub(super) fn refusals(subject: &Subject<'_>) -> String {
    let all = rows(subject, None);
    if all.is_empty() {
        return String::new();
    }
    let columns = columns(&all);
    let heads =
        columns.iter().map(|column| format!("<th scope=\"col\">{}{}</th>", column.swatch(), sentence(&column.head)));
    let heads = heads.collect::<Vec<_>>().concat();
    let classes = &subject.scenario.traffic;
    let by_class = classes.iter().filter(|_| classes.len() > 1).map(|class| {
        let rows = rows(subject, Some(&class.name));
        line(&escaped(&readable(&class.name)), &columns, |column| column.of(&rows, 0..ATTEMPTS.len()))
    });
    let by_attempt = ATTEMPTS.iter().enumerate().map(|(n, group)| {
        let label = format!("request {}", group.replace('-', " to ").replace('+', " and later"));
        line(&label, &columns, |column| column.of(&all, n..n + 1))
    });
    let body = by_class.chain(by_attempt).collect::<Vec<_>>().concat();
    let by = if classes.len() > 1 { "by class, then by" } else { "by" };
    let mean = if subject.is_replicated() { ", means over the replicates" } else { "" };
    let caption = format!("Whole run{mean}: {by} the number of the request among those of its task for its step.");
    let causes =
        causes(subject).map_or_else(String::new, |text| format!("<p>{}.</p>\n", sentence(&capitalised(&text))));
    format!(
        "<section>\n<h2>Who refused</h2>\n<table class=\"refusals\">\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">\
         refused</th>{heads}<th scope=\"col\">shares</th></tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{causes}</section>\n"
    )
}

/// The few who refused most, each beside the others of its status, and all others together.
fn columns(all: &[Row]) -> Vec<Column> {
    let (first, others) = all.split_at(if all.len() > MOST + 1 { MOST } else { all.len() });
    let key = |row: &Row| (row.status.clone(), row.source.clone());
    let mut first: Vec<&Row> = first.iter().collect();
    first.sort_by(|a, b| a.status.cmp(&b.status));
    let mut columns: Vec<Column> = Vec::new();
    for row in first {
        let colour = match row.status.as_str() {
            "429" => "throttled",
            "503" | "529" => "overloaded",
            _ => "other",
        };
        let same = columns.iter().filter(|column| column.colour == colour).count();
        let opacity = [1.0, 0.6, 0.35][same.min(2)];
        columns.push(Column { head: format!("{} by {}", row.status, row.who), colour, opacity, who: vec![key(row)] });
    }
    if !others.is_empty() {
        let who = others.iter().map(key).collect();
        columns.push(Column { head: format!("{} others", others.len()), colour: "other", opacity: 0.2, who });
    }
    columns
}

impl Column {
    fn of(&self, rows: &[Row], groups: std::ops::Range<usize>) -> f64 {
        let own =
            rows.iter().filter(|row| self.who.iter().any(|(status, who)| row.status == *status && row.source == *who));
        own.flat_map(|row| &row.attempts[groups.clone()]).sum()
    }

    fn swatch(&self) -> String {
        format!("<i class=\"swatch {}\" style=\"opacity:{}\" aria-hidden=\"true\"></i>", self.colour, self.opacity)
    }
}

/// One row; nothing where nobody refused there.
fn line(label: &str, columns: &[Column], of: impl Fn(&Column) -> f64) -> String {
    let numbers: Vec<f64> = columns.iter().map(of).collect();
    let all: f64 = numbers.iter().sum();
    if all <= 0.0 {
        return String::new();
    }
    let cells = columns.iter().zip(&numbers).map(|(column, n)| {
        let head = column.head.replace('`', "");
        format!("<td data-phase=\"{}\">{}</td>", escaped(&head), Unit::Count.bare(*n))
    });
    let mut from = 0.0;
    let bars = columns.iter().zip(&numbers).filter(|(_, n)| **n > 0.0).map(|(column, n)| {
        let (x, width) = (from, n / all * 200.0);
        from += width;
        // A hair of the page between two neighbours.
        let drawn = (width - 0.8).max(0.6);
        format!(
            "<rect class=\"{}\" opacity=\"{}\" x=\"{x:.1}\" y=\"0\" width=\"{drawn:.1}\" height=\"12\"/>",
            column.colour, column.opacity
        )
    });
    let (cells, bars) = (cells.collect::<Vec<_>>().concat(), bars.collect::<Vec<_>>().concat());
    format!(
        "<tr><th scope=\"row\">{label}</th>{cells}<td data-phase=\"shares\"><svg class=\"shares\" viewBox=\"0 0 200 12\" \
         aria-hidden=\"true\">{bars}</svg></td></tr>\n"
    )
}
