//! The sparklines of several runs below each other, on one time axis and with one scale for each thing, so that eyes can
//! compare what numbers cannot say: when.

use crate::report::story::{Story, Subject};

use super::page::{Page, cut, left, painted, right, width};
use super::sparklines::{self, Spark, View, drawn, is_slow, sparks};

/// The widest label, the widest name of a run, and the widest value at the end of a line.
const LABEL: usize = 24;
const NAME: usize = 8;
const VALUE: usize = 6;

/// Writes the sparklines of runs, each with its name; of the first run's storm in all of them.
pub(in crate::report) fn sparklines_beside(page: &mut Page, subjects: &[(&str, Subject<'_>)]) {
    let Some((_, first)) = subjects.first() else { return };
    let Some(story) = Story::of(first) else { return };
    let name = subjects.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(NAME);
    let before = 2 + LABEL + name + 2;
    let Some(room) = page.width().checked_sub(before + VALUE + 1).filter(|room| *room >= 20) else { return };
    let Some(view) = joined(subjects.iter().map(|(_, subject)| sparklines::view(subject, room)), room) else { return };
    let runs: Vec<(&str, &Subject<'_>, Story<'_>)> =
        subjects.iter().filter_map(|(name, subject)| Some((*name, subject, same(subject, &story)?))).collect();
    let per_minute = runs.iter().all(|(_, subject, story)| is_slow(subject, story, &view));
    let all: Vec<(&str, Vec<Spark>)> = runs
        .iter()
        .map(|(name, subject, story)| {
            let mut sparks = sparks(subject, story, &view, per_minute);
            sparks.retain(|spark| spark.is_telling);
            (*name, sparks)
        })
        .collect();
    page.blank();
    let indent = " ".repeat(before);
    // Each run has a recovery of its own, so the ruler has none.
    let ruler = sparklines::ruler(first, &view, None);
    if !ruler.trim().is_empty() {
        page.line(&format!("{indent}{} {}", left(&ruler, view.columns), right("most", VALUE)));
    }
    let rows = all.iter().map(|(_, sparks)| sparks.len()).min().unwrap_or(0);
    for row in 0..rows {
        let top = all.iter().map(|(_, sparks)| sparks[row].top).fold(0.0, f64::max);
        for (run, (own, sparks)) in all.iter().enumerate() {
            let spark = &sparks[row];
            let label = if run == 0 { spark.label.as_str() } else { "" };
            let line = painted(&drawn(&spark.values, top), spark.tint);
            page.line(&format!(
                "  {}{}  {} {}",
                left(label, LABEL),
                left(&cut(own, name), name),
                left(&line, view.columns),
                right(&spark.end, VALUE)
            ));
        }
    }
    page.line(&format!("{indent}{}", sparklines::axis(first, &view, None)));
}

/// A span that shows what any of them shows, in as many columns as there is room for.
fn joined(views: impl Iterator<Item = View>, room: usize) -> Option<View> {
    let end = |view: &View| view.from_s + view.column_s * view.columns as f64;
    let joined = views.reduce(|a, b| {
        let from_s = a.from_s.min(b.from_s);
        let wider = a.column_s.max(b.column_s);
        let columns = ((end(&a).max(end(&b)) - from_s) / wider).ceil() as usize;
        View { from_s, column_s: wider, columns }
    })?;
    // Wider columns of whole ones where there are too many.
    let times = joined.columns.div_ceil(room).max(1);
    Some(View { column_s: joined.column_s * times as f64, columns: joined.columns.div_ceil(times), ..joined })
}

/// The same story in another run; `None` where that has no class of this name.
fn same<'a>(subject: &Subject<'a>, story: &Story<'a>) -> Option<Story<'a>> {
    let classes = &subject.scenario.traffic;
    let index = classes.iter().position(|class| class.name == story.cause.name)?;
    Some(Story { cause: &classes[index], cause_index: index, scope: story.scope, live: None })
}
