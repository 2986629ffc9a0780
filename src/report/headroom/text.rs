//! The answer for a terminal: the words, the curve as a table for each weather, what arithmetic says, cautions.

use super::finding::in_order;
use super::{Asked, arithmetic, cautions, costs, findings, share, statement};
use crate::experiment::headroom::{Case, Met, Point, Standing};
use crate::report::text::Page;
use crate::report::text::page::{left, right, tinted, width};

/// The page for so many columns.
pub fn text(asked: &Asked<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    for (index, sentence) in findings(asked).into_iter().enumerate() {
        if index == 0 {
            page.paragraph("", &tinted(&sentence));
            page.blank();
        } else {
            page.hanging("  ", "  ", &tinted(&sentence));
        }
    }
    let found = asked.found;
    let classes = found.question.background.len();
    for case in 0..found.cases.len() {
        page.blank();
        page.line(&format!("  {}", weather(asked, case)));
        table(&mut page, asked, &columns_of(asked, case, (classes == 1).then_some(0)));
    }
    if classes > 1 {
        for (at, name) in found.question.background.iter().enumerate() {
            page.blank();
            let when = if found.cases.len() > 1 { ", through the storm" } else { "" };
            page.line(&format!("  what `{name}` pays{when}"));
            table(&mut page, asked, &price(asked, 0, at));
        }
    }
    page.blank();
    page.line("  by arithmetic, without a run");
    for sentence in arithmetic(asked) {
        page.hanging("  ", "  ", &sentence);
    }
    for caution in cautions(asked) {
        page.blank();
        page.paragraph("", &format!("warning: {}", tinted(&caution.seen)));
        page.paragraph("", &format!("  {}", caution.meaning));
        page.paragraph("", &format!("hint: {}", caution.remedy));
    }
    foot(&mut page, asked);
    page.into_text()
}

fn weather(asked: &Asked<'_>, case: usize) -> &'static str {
    match asked.found.cases[case] {
        Case::Storm => "through the storm",
        Case::Calm if asked.found.cases.len() == 1 => "all days; the file has no fault with a window",
        Case::Calm => "on calm days",
    }
}

/// A column of a table: its head in two lines, and its cells.
struct Column {
    head: [String; 2],
    cells: Vec<String>,
}

impl Column {
    fn new(head: [&str; 2], cells: Vec<String>) -> Column {
        Column { head: head.map(str::to_owned), cells }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain(&self.head).map(|cell| width(cell)).max().unwrap_or(0) + 2
    }
}

fn columns_of(asked: &Asked<'_>, case: usize, class: Option<usize>) -> Vec<Column> {
    let points = in_order(asked);
    let cells = |one: &dyn Fn(&Point, &Met) -> String| -> Vec<String> {
        points.iter().map(|(_, point)| one(point, &point.cases[case])).collect()
    };
    let rate = asked.within().map_or_else(|| "in the run".to_owned(), |within| format!("worst {within}"));
    let mut out = vec![
        Column::new(["days met", ""], cells(&|point, met| format!("{} of {}", met.kept, point.seeds))),
        Column::new(["shown", ""], cells(&|_, met| met.standing.word().to_owned())),
        Column::new(["live 429", &rate], cells(&|_, met| spread(met))),
    ];
    if let Some(class) = class {
        out.extend(price(asked, case, class));
    }
    out
}

/// What one class pays.
fn price(asked: &Asked<'_>, case: usize, class: usize) -> Vec<Column> {
    let name = asked.found.question.background[class].as_str();
    let all: Vec<[String; 3]> = in_order(asked).iter().map(|(_, point)| costs(&point.cases[case], class)).collect();
    let column = |at: usize| all.iter().map(|cells| cells[at].clone()).collect();
    vec![
        Column::new([name, "p95"], column(0)),
        Column::new(["never", "came"], column(1)),
        Column::new(["queue", "peak"], column(2)),
    ]
}

/// The mean rate and the 5 % and 95 % quantiles of the days.
fn spread(met: &Met) -> String {
    let percent = |value: f64| {
        let percent = 100.0 * value;
        match percent {
            p if p > 0.0 && p < 0.05 => "<0.1".to_owned(),
            p if p > 0.0 && p < 9.95 => format!("{p:.1}"),
            p => format!("{p:.0}"),
        }
    };
    met.rate.statistic.as_ref().map_or_else(String::new, |statistic| {
        let [mean, low, high] = [statistic.mean, statistic.p5, statistic.p95].map(percent);
        if statistic.max <= 0.0 { "0 %".to_owned() } else { format!("{mean} % [{low}, {high}]") }
    })
}

fn table(page: &mut Page, asked: &Asked<'_>, columns: &[Column]) {
    let points = in_order(asked);
    let found = asked.found;
    let label = |at: usize, point: &Point| {
        let mark = match () {
            () if found.edge().safe == Some(at) => "› ",
            () => "  ",
        };
        let own = if found.present == Some(at) { " *" } else { "" };
        format!("{mark}{}{own}", point.text)
    };
    let labels: Vec<String> = points.iter().map(|(at, point)| label(*at, point)).collect();
    let head = asked.head();
    let first = labels.iter().map(|text| width(text)).chain([width(&head) + 2]).max().unwrap_or(0);
    // Columns that do not fit are left to the documents; what decides comes first.
    let mut total = first;
    let shown: Vec<&Column> = columns
        .iter()
        .take_while(|column| {
            total += column.width();
            total <= page.width()
        })
        .collect();
    for line in 0..2 {
        let name = if line == 0 { format!("  {head}") } else { String::new() };
        let heads: String = shown.iter().map(|column| right(&column.head[line], column.width())).collect();
        page.line(&format!("{}{heads}", left(&name, first)));
    }
    for (row, text) in labels.iter().enumerate() {
        let cells: String = shown.iter().map(|column| right(&column.cells[row], column.width())).collect();
        page.line(&format!("{}{cells}", left(text, first)));
    }
}

fn foot(page: &mut Page, asked: &Asked<'_>) {
    let found = asked.found;
    let goal = asked.goal();
    let looks = found.question.looks;
    page.blank();
    let own = if found.present.is_some() { "; * the file" } else { "" };
    page.paragraph(
        "  ",
        &format!(
            "› the last safe value{own}. live 429: mean [5 %, 95 %] of the days; p95 over all that arrived, mean of the days"
        ),
    );
    page.paragraph(
        "  ",
        &format!(
            "safe: were it so in fewer than {} of days that {}, so many seeds would show it with a probability of at \
             most {}",
            share(goal.days),
            statement(asked),
            share(goal.error(looks))
        ),
    );
    let open = found.points.iter().filter(|point| point.standing(None) == Standing::Open).count();
    let open = if open > 0 { format!("; {open} not decided") } else { String::new() };
    page.paragraph(
        "  ",
        &format!(
            "{}, variant {}: {} values, {} each, the same for all: seed {} and seeds mixed from it{open}",
            asked.scenario.name,
            asked.scenario.variant,
            found.points.len(),
            super::seeds(asked, "seeds"),
            asked.seed,
        ),
    );
}
