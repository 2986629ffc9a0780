//! The check for a terminal: the finding, then each variant that fails with what changed in it and its worst numbers,
//! then what is better or new, in a line each.

use super::{Facts, Regressed, words};
use crate::experiment::regress::{Case, Outcome, Row};
use crate::report::quantity::count;
use crate::report::text::Page;
use crate::report::words::capitalised;

/// How many variants are shown at length.
const CASES: usize = 5;

/// How many numbers of a variant are shown.
const ROWS: usize = 6;

/// How many changes of a variant are shown.
const CHANGES: usize = 6;

/// The check as text for a page of so many columns.
pub fn text(regressed: &Regressed<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.paragraph("", &capitalised(&words::finding(regressed)));
    let mut failing: Vec<(&Case, &Facts)> = regressed.cases().filter(|(case, _)| case.is_failure()).collect();
    // The variant with the worst number first.
    failing.sort_by(|(a, _), (b, _)| weight(b).total_cmp(&weight(a)));
    for (case, facts) in failing.iter().take(CASES) {
        failure(&mut page, case, facts);
    }
    if failing.len() > CASES {
        page.blank();
        for (case, _) in failing.iter().skip(CASES) {
            page.hanging("  fails  ", "         ", &format!("{}: {}", words::named(case), counts(case)));
        }
    }
    others(&mut page, regressed);
    if let Some(caution) = words::caution(regressed) {
        page.blank();
        page.paragraph("", &format!("warning: {caution}"));
    }
    page.blank();
    page.paragraph("  ", &words::method(regressed));
    page.into_text()
}

fn weight(case: &Case) -> f64 {
    let headline = |row: &&Row| if row.measure.headline { 1e6 } else { 1.0 };
    case.failures().first().map_or(0.0, |row| headline(row) * row.excess.min(1e3))
}

fn counts(case: &Case) -> String {
    let with = |outcome: Outcome, word: &str| {
        let n = case.with(outcome).len();
        (n > 0).then(|| format!("{} {word}", count(n as f64)))
    };
    let parts: Vec<String> =
        [with(Outcome::Worse, "worse"), with(Outcome::Better, "better"), with(Outcome::Moved, "moved")]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() { "no number moved".to_owned() } else { parts.join(", ") }
}

fn failure(page: &mut Page, case: &Case, facts: &Facts) {
    page.blank();
    page.paragraph("", &format!("{}: {}", words::named(case), counts(case)));
    for trouble in words::troubles(case) {
        page.hanging("  fails   ", "          ", &trouble);
    }
    let causes = words::causes(case, facts);
    for cause in causes.iter().take(CHANGES) {
        page.hanging("  change  ", "          ", cause);
    }
    if causes.len() > CHANGES {
        page.line(&format!("          and {} more changes", count((causes.len() - CHANGES) as f64)));
    }
    let failures = words::telling_first(case.failures());
    for row in failures.iter().take(ROWS) {
        number(page, row);
    }
    if failures.len() > ROWS {
        page.line(&format!("          and {} more; --format json has all", count((failures.len() - ROWS) as f64)));
    }
    if let Some(again) = &facts.again {
        page.hanging("  again   ", "          ", again);
    }
}

fn number(page: &mut Page, row: &Row) {
    let word = match row.outcome {
        Outcome::Better => "  better  ",
        Outcome::Moved => "  moved   ",
        _ => "  worse   ",
    };
    page.hanging(word, "          ", &words::title(&row.measure));
    let [from, to, difference] = words::moved(row);
    let said =
        format!("{from} → {to}, {difference}; {}; {} is tolerated", words::sureness(row.p), words::tolerated(row));
    page.paragraph("          ", &said);
}

/// What fails nothing: better numbers, and what is new.
fn others(page: &mut Page, regressed: &Regressed<'_>) {
    let mut lines: Vec<String> = Vec::new();
    for (case, facts) in regressed.cases().filter(|(case, _)| !case.is_failure()) {
        let best = case.with(Outcome::Better).first().map(|row| {
            let [from, to, difference] = words::moved(row);
            format!(", such as {} {from} → {to} ({difference})", words::title(&row.measure))
        });
        let moved = case.with(Outcome::Moved).len();
        if let Some(best) = best {
            lines.push(format!("{}: {}{best}", words::named(case), counts(case)));
        } else if moved > 0 {
            lines.push(format!("{}: {}", words::named(case), counts(case)));
        } else if !facts.changes.is_empty() {
            let what = words::causes(case, facts).first().cloned().unwrap_or_default();
            lines.push(format!("{}: no number moved, although it changed: {what}", words::named(case)));
        }
        if let Some(news) = words::news(case) {
            lines.push(format!("{}: {news}", words::named(case)));
        }
    }
    if !lines.is_empty() {
        page.blank();
    }
    for line in lines {
        page.hanging("  ", "    ", &line);
    }
}
