//! One number beside each row of a comparison: the difference that matters there, over all seeds, with a word on whether
//! it is for the better.

use super::font::Face;
use super::form::Form;
use super::panel::Row;
use super::paragraph;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::experiment::measure::{Of, Part};
use crate::experiment::{Measure, Verdict};
use crate::report::comparison::{Compared, brief};

/// The room that a note needs below the upper edge of its panel.
pub(super) const HEIGHT: f64 = 96.0;

/// The most lines below a number.
const LINES: usize = 4;

/// Writes the note of a row, where there is one.
pub(super) fn draw(sheet: &mut Sheet, compared: &Compared<'_>, row: &Row, top: f64, theme: &Theme) {
    let arm = compared.arms.len() - 1;
    let Some(measure) = measure(compared, row) else { return };
    let form = Form::WIDE;
    let left = form.gutter_left();
    let width = form.width - form.margin - left;
    let brief = brief(compared, arm, measure);
    let number = Phrase::new(brief.number.as_str(), Face::Bold, 0.8 * form.number, theme.ink).fitted(width - 70.0);
    let baseline = top + 0.66 * form.number;
    sheet.write(left, baseline, &number);
    pill(sheet, left + number.width() + 12.0, baseline, compared.comparison.verdict(arm, measure), theme);
    let mut lines = Vec::new();
    for text in &brief.lines {
        lines.extend(paragraph::wrap(text, width, Face::Regular, form.note));
    }
    let mut y = baseline + 4.0;
    for line in lines.into_iter().take(LINES) {
        y += 1.42 * form.note;
        sheet.write(left, y, &Phrase::new(line, Face::Regular, form.note, theme.second).fitted(width));
    }
}

/// The measure whose difference stands beside a row of panels.
fn measure(compared: &Compared<'_>, (kind, name): &Row) -> Option<usize> {
    let measures = &compared.comparison.trial.measures;
    let of_class = |measure: &Measure| matches!(&measure.of, Of::Class { name: class, .. } if class == name);
    let find = |wanted: &dyn Fn(&Measure) -> bool| measures.iter().position(wanted);
    match kind {
        0 => find(&|m| of_class(m) && m.headline && m.key == "requests")
            .or_else(|| find(&|m| of_class(m) && m.part == Part::Whole && m.key == "requests")),
        1 => crate::report::comparison::loudest(compared, name),
        2 => find(&|m| matches!(&m.of, Of::Limit(limit) if limit == name) && m.key == "below_tenth_s"),
        3 => find(&|m| of_class(m) && m.part == Part::Whole && m.key == "failed"),
        4 => find(&|m| of_class(m) && m.headline && m.key == "latency_s.max"),
        _ => None,
    }
}

/// The verdict in a box: outlined for better, filled for worse, nothing for what chance explains but its word.
fn pill(sheet: &mut Sheet, left: f64, baseline: f64, verdict: Verdict, theme: &Theme) {
    const SIZE: f64 = 12.5;
    let word = match verdict {
        Verdict::Better | Verdict::Worse | Verdict::Noise => verdict.word(),
        Verdict::Moved | Verdict::Same | Verdict::Unknown => return,
    };
    let color = if verdict == Verdict::Worse { theme.page } else { theme.ink };
    let text = Phrase::new(word, Face::Bold, SIZE, color);
    let frame = Frame { left, right: left + text.width() + 14.0, top: baseline - 15.0, bottom: baseline + 5.0 };
    match verdict {
        Verdict::Worse => sheet.block(frame, theme.ink),
        Verdict::Better => {
            let Frame { left, right, top, bottom } = frame;
            let around = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
            sheet.line(around, theme.ink, 1.25);
        }
        Verdict::Noise | Verdict::Moved | Verdict::Same | Verdict::Unknown => {}
    }
    sheet.write(left + 7.0, baseline, &text);
}
