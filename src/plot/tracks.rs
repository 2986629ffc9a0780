//! One row for each task of a small run: a block is a request in the hue of its answer, a line a wait, a × the end of a
//! task that failed. What a library does in one situation, and in the next, is read like a table.

use super::facts::capital;
use super::font::Face;
use super::form::Form;
use super::number::{self, TimeUnit};
use super::panel::{Body, Panel, TICK_GAP, Unit, View};
use super::queue::cross_at;
use super::scale::Scale;
use super::sheet::{Frame, Phrase, Sheet};
use super::steps::Ground;
use super::theme::Theme;
use crate::experiment::{Sent, Track};
use crate::observe::timeline::AnswerKind;
use crate::report::words::{answered, readable};
use crate::sim::Fate;

/// The height of a row in the wide layout.
const ROW: f64 = 27.0;
/// Half the height of a block.
const HALF: f64 = 7.0;
/// The least width of a block: an answer that comes at once is seen all the same.
const LEAST: f64 = 4.0;
/// The widest name of a row.
const NAME: f64 = 190.0;

/// The tasks of a run, one by one.
pub(super) struct Tracks {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    track: Track,
    /// How long its caller may wait, in seconds.
    sla: Option<f64>,
}

/// The panel of all tasks, where the run is small enough.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    panel(view).into_iter().collect()
}

fn panel(view: &View<'_>) -> Option<Panel> {
    let facts = &view.facts;
    let known = facts.classes();
    // In the order of the file: the rows are its situations.
    let tracks: Vec<&Track> = facts.result.tracks.iter().filter(|track| known.contains(&track.class)).collect();
    let several = |class: usize| tracks.iter().filter(|track| track.class == class).count() > 1;
    let row = |track: &&Track| {
        let class = facts.class(track.class);
        let name = readable(&class.name);
        Row {
            name: if several(track.class) { format!("{name} {}", track.task + 1) } else { name },
            track: (*track).clone(),
            sla: class.sla.map(crate::units::SimDuration::as_secs_f64),
        }
    };
    let rows: Vec<Row> = tracks.iter().map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let mut how = vec!["a block is a request, a line a wait".to_string()];
    if rows.iter().any(|row| matches!(row.track.ended, Some((_, Fate::Failed)))) {
        how.push("a × a failure for good".to_string());
    }
    let slas: Vec<f64> = rows.iter().filter_map(|row| row.sla).collect();
    if let Some(&first) = slas.first() {
        let same = slas.iter().all(|&sla| (sla - first).abs() < 1e-9);
        let long = if same { format!(" of {}", number::time(first)) } else { String::new() };
        how.push(format!("an upright stroke the end of the caller's patience{long}"));
    }
    let n = rows.len() as f64;
    let what = match facts.classes().as_slice() {
        [only] => format!("Each of the {}", number::of(n, facts.tasks(*only).trim_end_matches('s'))),
        [..] => "Each task, request by request".to_string(),
    };
    Some(Panel {
        title: if rows.len() == 1 { capital(&format!("the {}, request by request", rows[0].name)) } else { what },
        how,
        height: ROW * n + 10.0,
        above: 0.0,
        scale: Scale { top: n, step: 1.0 },
        unit: Unit::None,
        note: None,
        body: Body::Tracks(Tracks { rows }),
    })
}

impl Tracks {
    /// The names of the rows, each with the height of its middle on the scale.
    pub(super) fn names(&self, form: &Form) -> Vec<(f64, String)> {
        let n = self.rows.len() as f64;
        self.rows.iter().enumerate().map(|(i, row)| (n - i as f64 - 0.5, shortened(&row.name, form))).collect()
    }

    /// Draws waits, then requests over them, then ends.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        for (row, (height, _)) in self.rows.iter().zip(self.names(view.form)) {
            row.draw(sheet, view, ground.y(height).round());
        }
    }

    /// Names each answer once it has room, and says in the gutter what came of each task.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        for (row, (height, _)) in self.rows.iter().zip(self.names(view.form)) {
            let y = ground.y(height).round();
            row.name(sheet, view, y);
            if view.form.gutter > 0.0 {
                row.sum(sheet, view, y);
            }
        }
    }
}

impl Row {
    /// Waits first, then requests over them, then the end.
    fn draw(&self, sheet: &mut Sheet, view: &View<'_>, y: f64) {
        let (axis, theme) = (view.axis, view.theme);
        let mut free = axis.x(self.track.arrived.as_secs_f64());
        for (i, sent) in self.track.requests.iter().enumerate() {
            wait(sheet, view, (free, axis.x(sent.sent.as_secs_f64())), y);
            free = self.named(view, i, y).map_or(axis.x(sent.ended.as_secs_f64()), |(place, _)| place.right + 4.0);
        }
        let end = self.track.ended.map_or_else(|| view.end(), |(at, _)| at.as_secs_f64());
        wait(sheet, view, (free, axis.x(end)), y);
        for sent in &self.track.requests {
            if let Some(frame) = block(sent, view, y) {
                sheet.block(frame, theme.hue(AnswerKind::of(&sent.answer)).fill);
            }
        }
        if let Some(at) = self.sla.map(|sla| self.track.arrived.as_secs_f64() + sla).filter(|at| *at <= axis.to) {
            let x = axis.x(at).round();
            sheet.line(vec![(x, y - ROW / 2.0 + 2.0), (x, y + ROW / 2.0 - 1.0)], theme.ink, 1.5);
        }
        match self.track.ended {
            Some((at, Fate::Failed)) if at.as_secs_f64() <= axis.to => {
                cross_at(sheet, view, axis.x(at.as_secs_f64()) + 9.0, y);
            }
            Some((at, Fate::Delivered)) if at.as_secs_f64() <= axis.to => (),
            Some(_) | None => arrow(sheet, theme, axis.right, y),
        }
    }

    /// The name of an answer behind its block and where it stands, if there is room before the next request.
    fn named(&self, view: &View<'_>, i: usize, y: f64) -> Option<(Frame, Phrase)> {
        let size = view.form.note - 1.0;
        let sent = &self.track.requests[i];
        let frame = block(sent, view, y)?;
        if self.name_inside(view, i, &frame).is_some() {
            return None;
        }
        let next = self.track.requests.get(i + 1);
        let failed = next.is_none() && matches!(self.track.ended, Some((_, Fate::Failed)));
        let hue = view.theme.hue(AnswerKind::of(&sent.answer));
        let phrase = Phrase::new(answered(&sent.answer), Face::Bold, size, hue.text);
        let place = phrase.frame(frame.right + if failed { 18.0 } else { 5.0 }, y + 0.36 * size);
        let room = next.map_or(view.axis.right, |next| view.axis.x(next.sent.as_secs_f64()));
        let sla = self.sla.map(|sla| view.axis.x(self.track.arrived.as_secs_f64() + sla));
        let crossed = sla.is_some_and(|x| x > place.left - 3.0 && x < place.right + 3.0);
        (place.right + 4.0 <= room && !crossed).then_some((place, phrase))
    }

    fn name_inside(&self, view: &View<'_>, i: usize, frame: &Frame) -> Option<Phrase> {
        let answer = &self.track.requests[i].answer;
        let hue = view.theme.hue(AnswerKind::of(answer));
        let phrase = Phrase::new(answered(answer), Face::Bold, view.form.note - 1.0, hue.on);
        (phrase.width() + 8.0 <= frame.width()).then_some(phrase)
    }

    /// The answers stand in their blocks, or behind them.
    fn name(&self, sheet: &mut Sheet, view: &View<'_>, y: f64) {
        for (i, sent) in self.track.requests.iter().enumerate() {
            let Some(frame) = block(sent, view, y) else { continue };
            let baseline = y + 0.36 * (view.form.note - 1.0);
            if let Some(inside) = self.name_inside(view, i, &frame) {
                sheet.write(frame.left + (frame.width() - inside.width()) / 2.0, baseline, &inside);
            } else if let Some((place, phrase)) = self.named(view, i, y) {
                sheet.write(place.left, baseline, &phrase);
            }
        }
    }

    /// What came of it: requests, fate, and how long it took.
    fn sum(&self, sheet: &mut Sheet, view: &View<'_>, y: f64) {
        let (form, theme) = (view.form, view.theme);
        let n = self.track.requests.len() as f64;
        // Seconds stay seconds where the axis counts them, so that the eye can go from one to the other.
        let took = |at: f64| match at - self.track.arrived.as_secs_f64() {
            seconds if seconds >= 100.0 && view.axis.unit == TimeUnit::Second => {
                format!("{}\u{a0}s", number::count(seconds))
            }
            seconds => number::time(seconds),
        };
        let (fate, color) = match self.track.ended {
            Some((at, Fate::Delivered)) => (format!("answered in {}", took(at.as_secs_f64())), theme.second),
            Some((at, Fate::Failed)) => (format!("failed after {}", took(at.as_secs_f64())), theme.ink),
            Some((at, Fate::Abandoned)) => (format!("abandoned after {}", took(at.as_secs_f64())), theme.ink),
            None => ("not over at the end".to_string(), theme.ink),
        };
        let line = Phrase::new(number::count(n), Face::Bold, form.note, theme.ink);
        let line = line.and(format!(" sent, {fate}"), Face::Regular, form.note, color);
        let left = form.gutter_left();
        sheet.write(left, y + 0.36 * form.note, &line.fitted(form.width - form.margin - left));
    }
}

/// A name that leaves the rows most of the picture.
fn shortened(name: &str, form: &Form) -> String {
    let room = NAME * (form.width / Form::WIDE.width).min(1.0);
    let fits = |text: &str| Face::Regular.width(text, form.tick) <= room;
    if fits(name) {
        return name.to_string();
    }
    let mut kept = name.to_string();
    while !kept.is_empty() && !fits(&format!("{kept}…")) {
        kept.pop();
    }
    format!("{}…", kept.trim_end())
}

fn block(sent: &Sent, view: &View<'_>, y: f64) -> Option<Frame> {
    let (from, to) = (sent.sent.as_secs_f64(), sent.ended.as_secs_f64());
    let axis = view.axis;
    if to < axis.from || from > axis.to {
        return None;
    }
    let left = axis.x(from).round();
    let right = axis.x(to).round().max(left + LEAST);
    Some(Frame { left, right, top: y - HALF, bottom: y + HALF })
}

/// A wait between two places.
fn wait(sheet: &mut Sheet, view: &View<'_>, (left, right): (f64, f64), y: f64) {
    if right > left {
        sheet.line(vec![(left, y + 0.5), (right, y + 0.5)], view.theme.third, 2.0);
    }
}

/// A task that goes on beyond the axis.
fn arrow(sheet: &mut Sheet, theme: &Theme, x: f64, y: f64) {
    let x = x + TICK_GAP;
    sheet.area(vec![(x, y + 0.5), (x - 9.0, y - 4.5), (x - 9.0, y + 5.5)], theme.third);
}

#[cfg(test)]
mod tests {
    use super::super::odd;
    use super::super::tests::{draw_wide, said};

    #[test]
    fn each_row_says_what_was_answered_and_what_came_of_it() {
        let text = said(&draw_wide(&odd::rows()));
        assert!(text.contains("5 sent, failed after 7.5"), "{text}");
        assert!(text.contains("2 sent, answered in 9.9"), "{text}");
        assert!(text.contains("0 sent, not over at the end"), "{text}");
        assert!(text.contains("429 429 429 429 429"), "each refusal has room for its status: {text}");
        assert!(!text.contains("requests per second"), "rows take the place of rates: {text}");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut() {
        assert!(said(&draw_wide(&odd::rows())).contains("long answer of a class with a…"));
    }
}
