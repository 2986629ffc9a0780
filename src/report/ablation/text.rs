//! The ablation for a terminal: the words, then one row for each combination and one column for each telling number,
//! then what each fix does alone and last.

use super::{Ablated, cautions, findings, telling};
use crate::experiment::Measure;
use crate::experiment::compare::Effect;
use crate::experiment::measure::{Of, Part};
use crate::report::comparison::{cell, difference, unit};
use crate::report::quantity::{UNDEFINED, count};
use crate::report::text::Page;
use crate::report::text::page::{cut, left, right, tinted, width};
use crate::report::words::readable;

/// The widest name of a combination.
const NAME: usize = 26;

/// The widest cell.
const CELL: usize = 22;

/// The ablation as text for a page of so many columns.
pub fn text(ablated: &Ablated<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    for sentence in findings(ablated) {
        page.hanging("- ", "  ", &tinted(&sentence));
    }
    let rows = telling(&ablated.compared);
    combinations(&mut page, ablated, &rows);
    contributions(&mut page, ablated, &rows);
    for caution in cautions(ablated) {
        page.blank();
        page.paragraph("", &format!("warning: {}", tinted(&caution.seen)));
        page.paragraph("", &format!("  {}", caution.meaning));
        page.paragraph("", &format!("hint: {}", caution.remedy));
    }
    foot(&mut page, ablated);
    page.into_text()
}

/// The head of a column: what is measured, of whom, and in which part of the run.
pub(in crate::report) fn head(measure: &Measure) -> [String; 3] {
    let key = match measure.key.as_str() {
        "amplification" => "amplif.",
        "tasks_with_429" | "tasks_with_429_share" => "429",
        "latency_s.max" => "slowest",
        "latency_all_s.p95" => "p95 of all",
        "recovery.total_s" => "recovery",
        key => key,
    };
    let whose = match &measure.of {
        Of::Class { name, .. } => readable(name),
        Of::Layer { .. } | Of::Limit(_) | Of::Run => String::new(),
    };
    let part = match &measure.part {
        Part::Whole => String::new(),
        Part::Phase(phase) => readable(phase),
    };
    [key.to_owned(), whose, part]
}

/// A column of a table, and how wide it is.
pub(in crate::report) struct Column {
    /// What is measured, of whom, and in which part of the run.
    pub(in crate::report) head: [String; 3],
    /// One for each row.
    pub(in crate::report) cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().chain(&self.head).map(|cell| width(cell)).max().unwrap_or(0).min(CELL) + 2
    }
}

/// Writes columns side by side, as many as fit, the rest below.
pub(in crate::report) fn tables(page: &mut Page, names: &[String], columns: &[Column]) {
    let widest = NAME.min(page.width() - CELL - 4);
    let label = names.iter().map(|name| width(name)).max().unwrap_or(0).min(widest) + 2;
    let mut from = 0;
    while from < columns.len() {
        let mut to = from + 1;
        let mut total = label + columns[from].width();
        while to < columns.len() && total + columns[to].width() <= page.width() {
            total += columns[to].width();
            to += 1;
        }
        page.blank();
        let shown = &columns[from..to];
        for line in 0..3 {
            if shown.iter().any(|column| !column.head[line].is_empty()) {
                let heads = shown.iter().map(|column| right(&cut(&column.head[line], CELL), column.width()));
                page.line(&format!("{}{}", left("", label), heads.collect::<String>()));
            }
        }
        for (at, name) in names.iter().enumerate() {
            let cells: String = shown.iter().map(|column| right(&column.cells[at], column.width())).collect();
            page.line(&format!("{}{cells}", left(&format!("  {}", cut(name, label - 2)), label)));
        }
        from = to;
    }
}

fn combinations(page: &mut Page, ablated: &Ablated<'_>, rows: &[usize]) {
    let comparison = ablated.compared.comparison;
    let names: Vec<String> = ablated.compared.arms.iter().map(|arm| arm.name.clone()).collect();
    let column = |row: &usize| {
        let measure = &comparison.trial.measures[*row];
        let unit = unit(measure.kind, largest(ablated, *row));
        let cells = comparison.effects.iter().map(|effects| cell(&effects[*row].cell, unit)).collect();
        Column { head: head(measure), cells }
    };
    tables(page, &names, &rows.iter().map(column).collect::<Vec<_>>());
}

/// What each fix does: alone, when it comes last, and on average over all orders; then what is left for interaction.
fn contributions(page: &mut Page, ablated: &Ablated<'_>, rows: &[usize]) {
    let (ablation, comparison) = (ablated.ablation, ablated.compared.comparison);
    if ablation.fixes.len() < 2 {
        return;
    }
    let mut names = Vec::new();
    for fix in &ablation.fixes {
        names.extend([format!("{fix} alone"), format!("{fix} last")]);
    }
    let has_worth = ablation.combinations.len() == 1 << ablation.fixes.len();
    if has_worth {
        names.extend(ablation.fixes.iter().map(|fix| format!("{fix} on average")));
    }
    names.push("interaction".to_owned());
    let column = |row: &usize| {
        let measure = &comparison.trial.measures[*row];
        let unit = unit(measure.kind, largest(ablated, *row));
        let said = |from: &Effect, to: &Effect| difference(from, to, measure.kind, unit);
        let none = &comparison.effects[0][*row];
        let mut cells = Vec::new();
        for (fix, contribution) in ablation.contributions[*row].iter().enumerate() {
            let (alone, but) = ablation.around(fix);
            cells.push(said(none, &comparison.effects[alone][*row]));
            let all = &comparison.effects[ablation.all_arm()][*row];
            let all = Effect { cell: all.cell.clone(), paired: Some(contribution.last.clone()) };
            cells.push(said(&comparison.effects[but][*row], &all));
        }
        let bare =
            |statistic: &crate::stats::Statistic| crate::report::comparison::statistic(statistic, measure.kind, unit);
        if has_worth {
            let worths = ablation.contributions[*row].iter().map(|own| own.shapley.as_ref());
            cells.extend(worths.map(|worth| worth.map_or_else(|| UNDEFINED.to_owned(), bare)));
        }
        cells.push(ablation.interactions[*row].as_ref().map_or_else(|| UNDEFINED.to_owned(), bare));
        Column { head: head(measure), cells }
    };
    page.blank();
    page.paragraph(
        "  ",
        "what each fix changes, ± 95 %: alone, and when it comes last; interaction is the whole less the sum \
        of each alone",
    );
    tables(page, &names, &rows.iter().map(column).collect::<Vec<_>>());
}

fn largest(ablated: &Ablated<'_>, row: usize) -> f64 {
    ablated.compared.comparison.effects.iter().filter_map(|effects| effects[row].cell.mean()).fold(0.0, f64::max)
}

fn foot(page: &mut Page, ablated: &Ablated<'_>) {
    let n = ablated.compared.replicates();
    let scenario = ablated.compared.reference().scenario;
    page.blank();
    page.paragraph(
        "  ",
        &format!(
            "{}, variant {}: {} combinations of {} {}, each the mean of {} {} that all of them met: seed {}{}",
            scenario.name,
            scenario.variant,
            count(ablated.ablation.combinations.len() as f64),
            count(ablated.ablation.fixes.len() as f64),
            if ablated.ablation.fixes.len() == 1 { "fix" } else { "fixes" },
            count(n as f64),
            if n == 1 { "seed" } else { "seeds" },
            ablated.compared.comparison.trial.seed.0,
            if n == 1 { "" } else { " and seeds mixed from it" },
        ),
    );
}
