//! The tuning for a terminal: the finding, what was chosen, the check world by world, and what is left of what the search
//! promised.

use super::patch::seeds;
use super::{Tuned, WINNER, cautions, finding, mean};
use crate::experiment::measure::Kind;
use crate::report::comparison::{cell, difference};
use crate::report::quantity::{UNDEFINED, count};
use crate::report::text::Page;
use crate::report::text::page::{cut, left, right, tinted, width};

/// The widest name of a setting or a number.
const NAME: usize = 30;

/// The tuning as text for a page of so many columns.
pub fn text(tuned: &Tuned<'_>, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.paragraph("", &tinted(&finding(tuned)));
    chosen(&mut page, tuned);
    values(&mut page, tuned);
    for checked in &tuned.tuning.checked {
        world(&mut page, tuned, checked);
    }
    loss(&mut page, tuned);
    for caution in cautions(tuned) {
        page.blank();
        page.paragraph("", &format!("warning: {}", tinted(&caution.seen)));
        page.paragraph("", &format!("  {}", caution.meaning));
        page.paragraph("", &format!("hint: {}", caution.remedy));
    }
    foot(&mut page, tuned);
    page.into_text()
}

/// The settings of the winner beside those of the reference.
fn chosen(page: &mut Page, tuned: &Tuned<'_>) {
    if tuned.tuning.winner.is_none() {
        return;
    }
    let rows: Vec<[String; 3]> = tuned
        .axes
        .iter()
        .zip(tuned.before)
        .zip(tuned.chosen())
        .map(|((axis, before), text)| {
            let before = before.clone().unwrap_or_else(|| UNDEFINED.to_owned());
            [axis.name(), before.trim_matches('"').to_owned(), text.trim_matches('"').to_owned()]
        })
        .collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let name = widest(0).min(NAME) + 6;
    let room = (page.width() - name) / 2;
    let before = widest(1).max(width(tuned.reference)).min(room.max(8)) + 2;
    page.blank();
    page.line(&format!("{}{}{WINNER}", left("  settings", name), left(&cut(tuned.reference, before - 2), before)));
    for [setting, from, to] in rows {
        let cells = format!("{}{}", left(&cut(&from, before - 2), before), cut(&to, room));
        page.line(&format!("{}{cells}", left(&format!("    {}", cut(&setting, name - 6)), name)));
    }
}

/// Every value of a setting that was sized, with its numbers in the search.
fn values(page: &mut Page, tuned: &Tuned<'_>) {
    let tuning = tuned.tuning;
    let Some(sized) = tuning.sized else { return };
    let horizon_s = tuning.checked.first().map_or(f64::INFINITY, |checked| checked.horizon_s);
    let axis = tuned.axes[sized.axis].name();
    let name = NAME.min(page.width() / 3);
    let numbers = tuning.metrics.len().min((page.width() - name) / 13);
    page.blank();
    let heads = tuning.metrics[..numbers].iter().map(|metric| right(&cut(&metric.word, 12), 13));
    page.line(&format!("{}{}", left(&format!("  {}", cut(&axis, name - 2)), name), heads.collect::<String>()));
    let mut order: Vec<usize> = (0..tuning.found.candidates.len()).filter(|at| !tuning.means[*at].is_empty()).collect();
    let gene = |index: &usize| tuning.found.candidates[*index].genes[sized.axis];
    order.sort_by(|a, b| gene(a).total_cmp(&gene(b)));
    for index in order {
        let text = tuning.found.candidates[index].texts[sized.axis].trim_matches('"');
        let cells = tuning.metrics[..numbers].iter().zip(&tuning.means[index]);
        let cells: String = cells.map(|(metric, value)| right(&mean(metric, *value, horizon_s), 13)).collect();
        let mark = if tuning.winner == Some(index) { "→" } else { " " };
        let word = if tuning.keeps(index) { "  kept" } else { "" };
        page.line(&format!("{}{cells}{word}", left(&format!("  {mark} {}", cut(text, name - 5)), name)));
    }
}

/// All numbers in one world.
fn world(page: &mut Page, tuned: &Tuned<'_>, checked: &crate::experiment::tune::Checked) {
    let names = tuned.tuning.metrics.iter().map(|metric| width(&metric.word)).max().unwrap_or(0).min(NAME) + 6;
    page.blank();
    let seeds = count(tuned.check as f64);
    let title = if checked.is_seen {
        format!("{}: {}, {seeds} other seeds", checked.world.name, checked.world.what)
    } else {
        format!("{}, unseen: {}, {seeds} other seeds", checked.world.name, checked.world.what)
    };
    page.paragraph("  ", &title);
    page.line(&format!(
        "{}{}{}{}",
        left("", names),
        right(&cut(tuned.reference, 10), 11),
        right(WINNER, 11),
        right("difference ± 95 %", 24)
    ));
    for (index, metric) in tuned.tuning.metrics.iter().enumerate() {
        let held = tuned.held(checked, index);
        let [before, after] = [&held.reference, &held.winner].map(|effect| cell(&effect.cell, held.unit));
        page.line(&format!(
            "{}{}{}{}  {}",
            left(&format!("    {}", cut(&metric.word, names - 4)), names),
            right(&before, 11),
            right(&after, 11),
            right(&difference(&held.reference, &held.winner, metric.kind, held.unit), 24),
            held.verdict.word()
        ));
    }
}

/// What the search promised, beside what came on other seeds of the same worlds.
fn loss(page: &mut Page, tuned: &Tuned<'_>) {
    let tuning = tuned.tuning;
    let (Some(winner), Some(first)) = (tuning.winner, tuning.checked.first()) else { return };
    let names = tuning.metrics.iter().map(|metric| width(&metric.word)).max().unwrap_or(0).min(NAME) + 6;
    page.blank();
    page.paragraph("  ", "what is left of what the search promised (never counts as twice the run)");
    let unseen = tuned.unseen().count() > 0;
    page.line(&format!(
        "{}{}{}{}",
        left("", names),
        right("in search", 11),
        right("other seeds", 13),
        if unseen { right("unseen worlds", 15) } else { String::new() }
    ));
    for (index, metric) in tuning.metrics.iter().enumerate() {
        let of = |checked: &crate::experiment::tune::Checked| expected(&checked.winner[index], checked.horizon_s);
        let seen: Vec<f64> = tuning.checked.iter().filter(|checked| checked.is_seen).map(of).collect();
        let other: Vec<f64> = tuned.unseen().map(of).collect();
        let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let said = |value: f64| mean(metric, value, first.horizon_s);
        page.line(&format!(
            "{}{}{}{}",
            left(&format!("    {}", cut(&metric.word, names - 4)), names),
            right(&said(tuning.means[winner][index]), 11),
            right(&said(average(&seen)), 13),
            if unseen { right(&said(average(&other)), 15) } else { String::new() }
        ));
    }
}

/// A mean in which never counts as twice the run.
pub(super) fn expected(values: &[f64], horizon_s: f64) -> f64 {
    let defined: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let finite = defined.iter().map(|value| if value.is_finite() { *value } else { 2.0 * horizon_s });
    finite.sum::<f64>() / defined.len() as f64
}

fn foot(page: &mut Page, tuned: &Tuned<'_>) {
    let tuning = tuned.tuning;
    let found = &tuning.found;
    page.blank();
    let how = if found.is_whole {
        format!("all {} policies of the space", count(found.candidates.len() as f64))
    } else {
        format!(
            "{} policies in {} generations",
            count(found.candidates.len() as f64),
            count(found.candidates.iter().map(|one| one.generation).max().unwrap_or(0) as f64 + 1.0)
        )
    };
    let front = if tuning.goals > 1 {
        format!("; {} of them are on the front", count(found.front.len() as f64))
    } else {
        String::new()
    };
    page.paragraph(
        "  ",
        &format!(
            "{}, variant {}: the search looked at {how}, the best with {} of seed {}{front}",
            tuned.scenario.name,
            tuned.scenario.variant,
            seeds(tuning.effort.seeds),
            tuned.seed
        ),
    );
    for metric in tuning.metrics.iter().filter(|metric| metric.word != metric.meaning) {
        let unit = if metric.kind == Kind::Seconds { ", a time" } else { "" };
        page.hanging("    ", "      ", &format!("{}: {}{unit}", metric.word, metric.meaning));
    }
}
