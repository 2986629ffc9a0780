//! The comparison for a terminal: the finding, then for each arm its numbers beside those of the first, the difference
//! within the same worlds, and in how many of them it went that way; then what each layer did, and what to beware of.

use super::finding::findings;
use super::label::short;
use super::rows::{self, Group, groups};
use super::signed::{cell, difference};
use super::{Compared, cautions, unit};
use crate::experiment::Verdict;
use crate::experiment::compare::NARROW;
use crate::report::json::digest;
use crate::report::quantity::{Unit, count};
use crate::report::story::Subject;
use crate::report::text::page::{cut, left, right, tinted, width};
use crate::report::text::{Page, sparklines_beside};

/// The comparison as text for a page of so many columns.
pub fn text(compared: &Compared<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    for sentence in findings(compared) {
        page.paragraph("", &tinted(&sentence));
    }
    page.blank();
    changes(&mut page, compared);
    for arm in compared.others() {
        table(&mut page, compared, arm);
    }
    if page.width() >= SPARKLINES {
        sparklines(&mut page, compared);
    }
    for caution in cautions(compared) {
        page.blank();
        page.paragraph("", &format!("warning: {}", tinted(&caution.seen)));
        page.paragraph("", &format!("  {}", caution.meaning));
        page.paragraph("", &format!("hint: {}", caution.remedy));
    }
    foot(&mut page, compared);
    page.into_text()
}

/// The narrowest page with sparklines.
const SPARKLINES: usize = 72;

/// The first seed of each arm over one time axis.
fn sparklines(page: &mut Page, compared: &Compared<'_>) {
    let subjects: Vec<(&str, Subject<'_>)> = compared
        .arms
        .iter()
        .zip(&compared.comparison.trial.arms)
        .map(|(arm, own)| (arm.name.as_str(), Subject::new(arm.scenario, &own.first)))
        .collect();
    sparklines_beside(page, &subjects);
}

/// The most changed settings that are listed for an arm.
const CHANGES: usize = 4;

/// In what the arms differ.
fn changes(page: &mut Page, compared: &Compared<'_>) {
    let names = compared.arms.iter().map(|arm| width(&arm.name)).max().unwrap_or(0).min(page.width() / 4);
    for (index, arm) in compared.arms.iter().enumerate() {
        let what = if index == 0 {
            format!("{}, variant {}", arm.scenario.name, arm.scenario.variant)
        } else if arm.changes.is_empty() {
            format!("no setting differs from `{}`", compared.reference().name)
        } else {
            let shown: Vec<String> = arm.changes.iter().take(CHANGES).map(super::html::change_words).collect();
            let more = arm.changes.len().saturating_sub(CHANGES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            format!("{}{more}", shown.join("; "))
        };
        let first = format!("  {}  ", left(&cut(&arm.name, names), names));
        page.hanging(&first, &" ".repeat(names + 4), &what);
    }
}

/// The head of the differences.
const HEAD: &str = "difference ± 95 %";

/// How long the name of an arm is over its column.
const SHORTEST: usize = 6;
const LONGEST: usize = 24;

/// The columns of a table.
struct Columns {
    label: usize,
    arms: [usize; 2],
    difference: usize,
}

/// One row, ready to print.
struct Line {
    label: String,
    arms: [String; 2],
    difference: String,
    verdict: String,
}

fn table(page: &mut Page, compared: &Compared<'_>, arm: usize) {
    let names = [&compared.reference().name, &compared.arms[arm].name];
    let n = compared.replicates();
    let mut blocks: Vec<(String, Vec<Line>)> = groups(compared)
        .into_iter()
        .map(|Group { heading, rows }| (heading, rows.iter().map(|row| line(compared, arm, *row)).collect()))
        .collect();
    for (Group { heading, rows }, product) in rows::factors(compared) {
        let mut lines: Vec<Line> = rows.iter().map(|row| line(compared, arm, *row)).collect();
        let product = product.map(|row| Line { label: "together".to_owned(), ..line(compared, arm, row) });
        lines.extend(product);
        blocks.push((heading, lines));
    }
    let of =
        |measure: &dyn Fn(&Line) -> usize| blocks.iter().flat_map(|(_, lines)| lines).map(measure).max().unwrap_or(0);
    let seeds = format!("of {} {}", count(n as f64), if n == 1 { "seed" } else { "seeds" });
    let verdict = of(&|line| width(&line.verdict)).max(width(&seeds)) + 2;
    // A long name is cut where it would cost the table its form.
    let with_names = |longest: usize| Columns {
        label: of(&|line| width(&line.label)) + 4,
        arms: [0, 1].map(|at| of(&|line: &Line| width(&line.arms[at])).max(width(names[at]).min(longest)) + 2),
        difference: of(&|line| width(&line.difference)).max(width(HEAD)) + 2,
    };
    let total = |columns: &Columns| columns.label + columns.arms.iter().sum::<usize>() + columns.difference + verdict;
    let fits = |longest: &usize| total(&with_names(*longest)) <= page.width();
    let columns = with_names((SHORTEST..=LONGEST).rev().find(fits).unwrap_or(SHORTEST));
    let total = total(&columns);
    page.blank();
    if total <= page.width() {
        let head: String = (0..2).map(|at| right(&cut(names[at], columns.arms[at] - 2), columns.arms[at])).collect();
        let head = format!("{}{head}{}", left("", columns.label), right(HEAD, columns.difference));
        page.line(&format!("{head}  {seeds}"));
    } else {
        page.paragraph("  ", &format!("{} → {}, difference ± 95 %, {seeds}", names[0], names[1]));
    }
    for (heading, lines) in blocks {
        page.line(&format!("  {heading}"));
        for line in lines {
            if total <= page.width() {
                let cells: String = (0..2).map(|at| right(&line.arms[at], columns.arms[at])).collect();
                let label = left(&format!("    {}", line.label), columns.label);
                page.line(&format!("{label}{cells}{}  {}", right(&line.difference, columns.difference), line.verdict));
            } else {
                let Line { label, arms: [before, after], difference, verdict } = line;
                page.hanging("    ", "      ", &format!("{label}: {before} → {after}, {difference}, {verdict}"));
            }
        }
    }
}

fn line(compared: &Compared<'_>, arm: usize, row: usize) -> Line {
    let comparison = compared.comparison;
    let measure = &comparison.trial.measures[row];
    let effects = [0, arm].map(|arm| &comparison.effects[arm][row]);
    let largest = effects.iter().filter_map(|effect| effect.cell.mean()).fold(0.0, f64::max);
    let unit = unit(measure.kind, largest);
    Line {
        label: short(measure),
        arms: effects.map(|effect| cell(&effect.cell, unit)),
        difference: difference(effects[0], effects[1], measure.kind, unit),
        verdict: verdict(compared, arm, row),
    }
}

/// "better in 98", "worse in all", "noise".
pub(super) fn verdict(compared: &Compared<'_>, arm: usize, row: usize) -> String {
    let verdict = compared.comparison.verdict(arm, row);
    let Some(paired) = &compared.comparison.effects[arm][row].paired else { return String::new() };
    let down = paired.difference.as_ref().map_or(paired.lower > paired.higher, |difference| difference.mean < 0.0);
    let moved = match verdict {
        Verdict::Better => paired.lower,
        Verdict::Worse => paired.higher,
        Verdict::Moved => {
            let (word, n) = if down { ("lower", paired.lower) } else { ("higher", paired.higher) };
            return format!("{word} {}", in_seeds(n, paired.n()));
        }
        Verdict::Same => return "the same".to_owned(),
        Verdict::Noise => return "noise".to_owned(),
        Verdict::Unknown => return "–".to_owned(),
    };
    format!("{} {}", verdict.word(), in_seeds(moved, paired.n()))
}

fn in_seeds(n: u64, of: u64) -> String {
    if n == of { "in all".to_owned() } else { format!("in {}", count(n as f64)) }
}

fn foot(page: &mut Page, compared: &Compared<'_>) {
    let n = compared.replicates();
    page.blank();
    let seed = compared.comparison.trial.seed.0;
    page.paragraph(
        "  ",
        &format!(
            "{} {} met by every arm alike: seed {seed}{}; a difference is taken within each, ± is its 95 % interval \
             (Student's t); \"of all\" counts what was never delivered as never",
            count(n as f64),
            if n == 1 { "seed" } else { "seeds" },
            if n == 1 { "" } else { " and seeds mixed from it" },
        ),
    );
    if compared.comparison.sure.is_some_and(|sure| sure.is_sure) {
        page.paragraph(
            "  ",
            &format!(
                "sure: each headline difference is known to ± {} of the larger mean, or to ± half a task, 0.01 \
                 requests, 0.5 points, 1 s",
                Unit::Share.full(NARROW)
            ),
        );
    }
    let digests: Vec<String> = compared
        .arms
        .iter()
        .zip(&compared.comparison.trial.arms)
        .map(|(arm, own)| format!("{} {}", arm.name, digest(own.digest)))
        .collect();
    page.paragraph("  ", &format!("digests: {}", digests.join(", ")));
}
