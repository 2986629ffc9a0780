//! The terminal summary is read in ten seconds: the finding, what multiplied, when it happened, who was hit, what was
//! lost, and how sure that is. Eighty columns need no colour; narrower terminals get the same facts in blocks, since a
//! table that breaks inside its words is read wrongly.

mod beside;
mod bills;
mod factors;
mod intervals;
mod models;
pub(in crate::report) mod page;
mod refusals;
mod sparklines;
mod tables;
mod tasks;
mod tracks;

use crate::report::finding::finding;
use crate::report::json::digest;
use crate::report::quantity::count;
use crate::report::story::{Story, Subject};
use crate::report::tally::is_tally;
use crate::report::warning::warnings;

pub(in crate::report) use beside::sparklines_beside;
pub use page::{MAX_WIDTH, MIN_WIDTH, Page};

/// The summary of a run for a terminal of this many columns, with colours as ANSI codes: a writer that knows its
/// terminal takes them out where they are not wanted.
pub fn summary(subject: &Subject<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.paragraph("", &page::tinted(&finding(subject)));
    // Where each class is a situation of its own, no class is the one to tell of.
    if is_tally(subject) && tracks::write(&mut page, subject) {
    } else if let Some(story) = Story::of(subject) {
        factors::write(&mut page, subject, &story);
        if subject.is_replicated() {
            intervals::write(&mut page, subject, &story);
        }
        if !tracks::write(&mut page, subject) {
            sparklines::write(&mut page, subject, &story);
        }
        tables::write(&mut page, subject);
        models::write(&mut page, subject);
        refusals::write(&mut page, subject);
        bills::write(&mut page, subject);
        tasks::write(&mut page, subject, &story);
    }
    for warning in warnings(subject) {
        page.blank();
        page.paragraph("", &format!("warning: {}", page::tinted(&warning.text)));
        page.paragraph("", &format!("hint: {}", warning.hint));
    }
    foot(&mut page, subject);
    page.into_text()
}

/// How it was counted, how to know more, and the digest.
fn foot(page: &mut Page, subject: &Subject<'_>) {
    page.blank();
    page.paragraph(
        "  ",
        "counted: a task belongs to the phase in which it arrived, a request to the phase in which its call began; \
         latency runs from arrival to delivery",
    );
    match subject.result.replicates {
        None => page.paragraph("  ", "one run is one draw: add --replicates 1000 for intervals"),
        Some(1) => page.paragraph("  ", "one replicate has no interval: add --replicates 1000"),
        Some(n) => page.paragraph(
            "  ",
            &format!(
                "{} runs: seed {} and seeds mixed from it; the sparklines are of seed {}",
                count(n as f64),
                subject.result.seed.0,
                subject.result.seed.0
            ),
        ),
    }
    page.line(&format!("  digest {}", digest(subject.result.digest)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Figure, RunResult};
    use crate::metrics::Tree;
    use crate::report::fixture;
    use crate::report::story::WorstCase;
    use crate::scenario::Scenario;

    fn printed(scenario: &Scenario, result: &RunResult, worst: &[WorstCase], columns: usize) -> String {
        let subject = Subject { worst, ..Subject::new(scenario, result) };
        let text = summary(&subject, columns);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_single_run_fits_80_columns() {
        let text = printed(&fixture::scenario(), &fixture::single(), &fixture::worst(), 80);
        snapbox::assert_data_eq!(text, snapbox::file!["../../../tests/report/run-80.txt"].raw());
    }

    #[test]
    fn a_narrow_terminal_gets_blocks() {
        let text = printed(&fixture::scenario(), &fixture::single(), &fixture::worst(), 50);
        snapbox::assert_data_eq!(text, snapbox::file!["../../../tests/report/run-50.txt"].raw());
    }

    #[test]
    fn replicates_print_intervals_and_modes() {
        let text = printed(&fixture::scenario(), &fixture::replicated(), &fixture::worst(), 80);
        snapbox::assert_data_eq!(text, snapbox::file!["../../../tests/report/replicates-80.txt"].raw());
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let scenario = fixture::scenario();
        for result in [fixture::single(), fixture::replicated()] {
            for columns in [40, 50, 60, 72, 80, 100, 120, 200] {
                let text = printed(&scenario, &result, &fixture::worst(), columns);
                for line in text.lines() {
                    assert!(line.chars().count() <= columns.min(MAX_WIDTH), "{columns}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_result_without_figures_prints_what_it_has() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        result.figures = Tree::Table(Vec::new());
        let text = printed(&scenario, &result, &[], 80);
        assert!(text.contains("digest 9372f5b103e37352"), "{text}");
        result.timeline = crate::observe::Timeline { bins: 0, wides: 0, ..result.timeline };
        assert!(!printed(&scenario, &result, &[], 80).contains("requests /s"));
    }

    #[test]
    fn long_names_never_push_a_line_over_the_edge() {
        let name = "nightly document embedding of the archive";
        let (mut scenario, mut result) = (fixture::scenario(), fixture::single());
        scenario.traffic[0].name = name.into();
        result.figures = renamed(result.figures, "report", name);
        for columns in [40, 60, 80, 120] {
            let text = printed(&scenario, &result, &[], columns);
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }

    fn renamed(tree: Tree<Figure>, from: &str, to: &str) -> Tree<Figure> {
        match tree {
            Tree::Leaf(figure) => Tree::Leaf(figure),
            Tree::Table(branches) => {
                let rename = |key: String| if key == from { to.to_owned() } else { key };
                Tree::Table(
                    branches.into_iter().map(|(key, branch)| (rename(key), renamed(branch, from, to))).collect(),
                )
            }
        }
    }

    #[test]
    fn a_scenario_without_traffic_still_has_a_summary() {
        let mut scenario = fixture::scenario();
        scenario.traffic.clear();
        let text = printed(&scenario, &fixture::single(), &[], 80);
        assert!(text.starts_with("Nothing arrived, so nothing was sent.\n"), "{text}");
    }
}
