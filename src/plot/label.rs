//! A label stands on the thing it names. It is measured first, and where its box does not fit, or would touch
//! another, it takes a shorter form or is dropped: never squeezed, never laid over something else.

use plotters::style::RGBColor;

use super::font::Face;
use super::form::Form;
use super::sheet::{Frame, Phrase, Sheet};
use super::steps::Column;

/// Room around a label inside an area.
const PAD: f64 = 5.0;
/// How far a neighbour may lift a label.
const LIFT: f64 = 24.0;
/// The raster on which places are tried.
const STRIDE: f64 = 4.0;

/// A label in one or more lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label(Vec<Phrase>);

impl Label {
    /// One bold line.
    pub(super) fn bold(text: impl Into<String>, color: RGBColor, form: &Form) -> Label {
        Label(vec![Phrase::new(text, Face::Bold, form.label, color)])
    }

    /// One plain line.
    pub(super) fn plain(text: impl Into<String>, color: RGBColor, form: &Form) -> Label {
        Label(vec![Phrase::new(text, Face::Regular, form.label, color)])
    }

    /// The label with a plain line below.
    pub(super) fn with(mut self, text: impl Into<String>, color: RGBColor, form: &Form) -> Label {
        self.0.push(Phrase::new(text, Face::Regular, form.label - 0.5, color));
        self
    }

    /// The label with more plain text on its last line.
    pub(super) fn going_on(mut self, text: &str, color: RGBColor, form: &Form) -> Label {
        if let Some(last) = self.0.pop() {
            self.0.push(last.and(text, Face::Regular, form.label, color));
        }
        self
    }

    fn width(&self) -> f64 {
        self.0.iter().map(Phrase::width).fold(0.0, f64::max)
    }

    fn leading(&self) -> f64 {
        self.0.iter().map(Phrase::size).fold(0.0, f64::max) * 1.4
    }

    fn height(&self) -> f64 {
        self.leading() * self.0.len() as f64
    }

    fn write(&self, sheet: &mut Sheet, frame: &Frame, centred: bool) {
        for (i, phrase) in self.0.iter().enumerate() {
            let slack = if centred { (frame.width() - phrase.width()) / 2.0 } else { 0.0 };
            let baseline = frame.top + self.leading() * (i as f64 + 0.5) + 0.36 * phrase.size();
            sheet.write(frame.left + slack, baseline, phrase);
        }
        sheet.take(*frame);
    }

    /// Writes the label in the middle of the thickest part of an area; says whether it had room.
    pub(super) fn inside(&self, sheet: &mut Sheet, columns: &[Column]) -> bool {
        let place = inside(sheet, columns, self.width(), self.height());
        if let Some(frame) = place {
            self.write(sheet, &frame, true);
        }
        place.is_some()
    }

    /// The same on a plate in the colour of the page, for areas that are hatched.
    pub(super) fn plated(&self, sheet: &mut Sheet, columns: &[Column], ground: RGBColor) -> bool {
        let place = inside(sheet, columns, self.width() + 16.0, self.height() + 2.0);
        if let Some(frame) = place {
            sheet.block(frame, ground);
            let text = Frame { left: frame.left + 8.0, right: frame.right - 8.0, top: frame.top + 1.0, ..frame };
            self.write(sheet, &text, true);
        }
        place.is_some()
    }

    /// Writes the label above a stretch of a skyline, as near to its beginning as there is room; says whether there
    /// was.
    pub(super) fn above(&self, sheet: &mut Sheet, skyline: &[Column], ground: &Frame, stretch: (f64, f64)) -> bool {
        self.over(sheet, skyline, ground, stretch, 0.5 * self.width().min(160.0))
    }

    /// The same over a stretch that may be narrower than the label.
    pub(super) fn pointing(&self, sheet: &mut Sheet, skyline: &[Column], ground: &Frame, stretch: (f64, f64)) -> bool {
        self.over(sheet, skyline, ground, stretch, (0.5 * self.width()).min(0.6 * (stretch.1 - stretch.0)))
    }

    fn over(&self, sheet: &mut Sheet, skyline: &[Column], ground: &Frame, stretch: (f64, f64), overlap: f64) -> bool {
        let place = above(sheet, skyline, ground, (stretch, overlap), (self.width(), self.height()));
        if let Some(frame) = place {
            self.write(sheet, &frame, false);
        }
        place.is_some()
    }

    /// Writes the label with its upper left corner here, if the room is free and above the skyline.
    pub(super) fn at(&self, sheet: &mut Sheet, skyline: &[Column], ground: &Frame, corner: (f64, f64)) -> bool {
        let frame = self.frame_at(corner);
        let free = ground.holds(&frame) && sheet.is_free(&frame.grown(2.0)) && frame.bottom <= roof(skyline, &frame);
        if free {
            self.write(sheet, &frame, false);
        }
        free
    }

    /// The room that the label takes from this corner on.
    pub(super) fn frame_at(&self, (left, top): (f64, f64)) -> Frame {
        Frame { left, top, right: left + self.width(), bottom: top + self.height() }
    }
}

fn over<'a>(columns: &'a [Column], frame: &Frame) -> impl Iterator<Item = &'a Column> {
    let (left, right) = (frame.left, frame.right);
    let first = columns.partition_point(|column| column.right <= left);
    columns[first..].iter().take_while(move |column| column.left < right)
}

/// The highest upper edge below a frame.
fn roof(columns: &[Column], frame: &Frame) -> f64 {
    over(columns, frame).map(|column| column.top).fold(f64::INFINITY, f64::min)
}

fn inside(sheet: &Sheet, columns: &[Column], width: f64, height: f64) -> Option<Frame> {
    let (first, last) = (columns.first()?, columns.last()?);
    let centre = centre_of(columns);
    let mut best: Option<(f64, Frame)> = None;
    let mut left = first.left + PAD;
    while left + width + PAD <= last.right {
        let slot = Frame { left: left - PAD, right: left + width + PAD, top: 0.0, bottom: 0.0 };
        let top = over(columns, &slot).map(|column| column.top).fold(f64::NEG_INFINITY, f64::max);
        let bottom = over(columns, &slot).map(|column| column.bottom).fold(f64::INFINITY, f64::min);
        if bottom - top >= height + PAD {
            for share in [0.5, 0.25, 0.75, 0.0, 1.0] {
                let y = top + PAD / 2.0 + share * (bottom - top - height - PAD);
                let frame = Frame { left, right: left + width, top: y, bottom: y + height };
                if sheet.is_free(&frame.grown(PAD / 2.0)) {
                    let away = (left + width / 2.0 - centre).abs();
                    let score = (bottom - top).min(3.0 * height) - 0.05 * away - 10.0 * (share - 0.5f64).abs();
                    if best.is_none_or(|(other, _)| score > other) {
                        best = Some((score, frame));
                    }
                    break;
                }
            }
        }
        left += STRIDE;
    }
    best.map(|(_, frame)| frame)
}

/// Where the middle of an area is.
fn centre_of(columns: &[Column]) -> f64 {
    let area = |column: &Column| (column.right - column.left) * (column.bottom - column.top);
    let total: f64 = columns.iter().map(area).sum();
    let moment: f64 = columns.iter().map(|column| area(column) * f64::midpoint(column.left, column.right)).sum();
    if total > 0.0 { moment / total } else { columns.first().map_or(0.0, |column| column.left) }
}

fn above(
    sheet: &Sheet,
    skyline: &[Column],
    ground: &Frame,
    ((from, to), overlap): ((f64, f64), f64),
    (width, height): (f64, f64),
) -> Option<Frame> {
    let mut best: Option<(f64, Frame)> = None;
    let mut left = (from + overlap - width).max(ground.left + 2.0);
    let last = (to - overlap).min(ground.right - width);
    let wish = from + PAD + 1.0;
    while left <= last {
        let slot = Frame { left: left - PAD, right: left + width + PAD, top: 0.0, bottom: 0.0 };
        let floor = roof(skyline, &slot).min(ground.bottom) - 3.0;
        let named = Frame { left: left.max(from), right: (left + width).min(to), ..slot };
        // What a neighbour lifts too high would seem to name the neighbour.
        let raised = roof(skyline, &named).min(ground.bottom) - 3.0 - floor;
        let mut bottom = if raised > LIFT { f64::NEG_INFINITY } else { floor };
        // A label that meets another one moves up over it.
        while bottom - height >= ground.top - 2.0 && floor - bottom <= 60.0 {
            let frame = Frame { left, right: left + width, top: bottom - height, bottom };
            if sheet.is_free(&frame.grown(2.0)) {
                let away = (left - wish).abs() + 3.0 * (floor - bottom) + 0.3 * (ground.bottom - bottom);
                if best.is_none_or(|(other, _)| away < other) {
                    best = Some((away, frame));
                }
                break;
            }
            bottom -= STRIDE;
        }
        left += STRIDE;
    }
    best.map(|(_, frame)| frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::sheet::Mark;
    use plotters::style::BLACK;

    fn field() -> [Column; 2] {
        [
            Column { left: 0.0, right: 200.0, top: 90.0, bottom: 100.0 },
            Column { left: 200.0, right: 400.0, top: 20.0, bottom: 100.0 },
        ]
    }

    #[test]
    fn a_label_goes_where_its_area_is_thick() {
        let mut sheet = Sheet::default();
        assert!(Label::bold("529 overloaded", BLACK, &Form::WIDE).inside(&mut sheet, &field()));
        assert!(sheet.taken.iter().all(|frame| frame.left > 200.0 && frame.top > 20.0 && frame.bottom < 100.0));
    }

    #[test]
    fn a_label_without_room_is_dropped() {
        let mut sheet = Sheet::default();
        assert!(!Label::bold("529 overloaded", BLACK, &Form::WIDE).inside(&mut sheet, &field()[..1]));
        assert!(sheet.marks.is_empty());
    }

    #[test]
    fn a_second_label_does_not_touch_the_first() {
        let mut sheet = Sheet::default();
        let ground = Frame { left: 0.0, right: 400.0, top: 0.0, bottom: 100.0 };
        let label = Label::bold("429", BLACK, &Form::WIDE);
        for _ in 0..2 {
            assert!(label.above(&mut sheet, &field(), &ground, (0.0, 200.0)));
        }
        let boxes: Vec<Frame> = sheet.marks.iter().filter_map(Mark::text_frame).collect();
        assert!(!boxes[0].touches(&boxes[1]), "{boxes:?}");
    }
}
