//! A sheet collects marks before anything is painted: what was measured and placed can be checked for overlaps, and
//! the same marks become an SVG or a PNG. Distances are pixels of the finished picture, y grows downwards.
//!
//! plotters rounds to whole pixels. It is therefore given a canvas of twice the size, in which a hair line can lie on
//! half a pixel; the two backends halve it again.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{Color, DrawingArea, DrawingBackend, FontDesc, FontFamily, IntoDrawingArea};
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::font::Face;

/// Canvas units in one pixel of the picture.
pub(super) const FINE: f64 = 2.0;
/// plotters takes font sizes as this many times the size of the em.
pub(super) const FONT_FACTOR: f64 = 1.24;
/// plotters hangs text from its top, which lies this many em above the base line.
pub(super) const HANG: f64 = 0.76;

/// A rectangle on the sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    /// Its left edge.
    pub(super) left: f64,
    /// Its upper edge.
    pub(super) top: f64,
    /// Its right edge.
    pub(super) right: f64,
    /// Its lower edge.
    pub(super) bottom: f64,
}

impl Frame {
    /// How wide it is.
    pub(super) const fn width(&self) -> f64 {
        self.right - self.left
    }

    /// How high it is.
    pub(super) const fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Whether the two share any area.
    pub(super) fn touches(&self, other: &Frame) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Whether the other lies inside.
    pub(super) fn holds(&self, other: &Frame) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }

    /// The frame with a margin around it.
    pub(super) const fn grown(&self, by: f64) -> Frame {
        Frame { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }
}

/// Text in one face, size and colour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    text: String,
    face: Face,
    size: f64,
    color: RGBColor,
}

/// One line of text, in one or several faces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Phrase(Vec<Run>);

impl Phrase {
    /// A line in one face.
    pub(super) fn new(text: impl Into<String>, face: Face, size: f64, color: RGBColor) -> Phrase {
        Phrase::default().and(text, face, size, color)
    }

    /// The line with more text at its end.
    pub(super) fn and(mut self, text: impl Into<String>, face: Face, size: f64, color: RGBColor) -> Phrase {
        // A name may hold anything; a control character would make the SVG unreadable.
        let text: String = text.into().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.0.push(Run { text, face, size, color });
        self
    }

    /// How wide it is.
    pub(super) fn width(&self) -> f64 {
        self.0.iter().map(|run| run.face.width(&run.text, run.size)).sum()
    }

    /// The line, cut with an ellipsis where it is wider than the room.
    pub(super) fn fitted(mut self, room: f64) -> Phrase {
        if self.width() <= room {
            return self;
        }
        while let Some(last) = self.0.last_mut() {
            last.text = last.text.trim_end_matches('…').to_string();
            if last.text.pop().is_none() {
                self.0.pop();
                continue;
            }
            last.text = last.text.trim_end().to_string() + "…";
            if self.width() <= room {
                break;
            }
        }
        self
    }

    /// The size of its largest letters.
    pub(super) fn size(&self) -> f64 {
        self.0.iter().map(|run| run.size).fold(0.0, f64::max)
    }

    /// The room it takes when it begins at `x` on this base line.
    pub(super) fn frame(&self, x: f64, baseline: f64) -> Frame {
        let size = self.size();
        Frame { left: x, top: baseline - 0.80 * size, right: x + self.width(), bottom: baseline + 0.24 * size }
    }
}

/// Something to paint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// A filled rectangle.
    Block(Frame, RGBColor),
    /// A filled polygon.
    Area(Vec<(f64, f64)>, RGBColor),
    /// A line through points, with its width.
    Line(Vec<(f64, f64)>, RGBColor, f64),
    /// A filled circle.
    Disc((f64, f64), f64, RGBColor),
    /// Text from its left end on a base line.
    Text(Run, f64, f64),
    /// Text that ends here.
    TextBefore(Run, f64, f64),
}

/// Marks in the order in which they are painted, and the room that text has taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    /// What is to be painted.
    pub(super) marks: Vec<Mark>,
    /// Room that no label may touch.
    pub(super) taken: Vec<Frame>,
}

impl Sheet {
    /// A filled rectangle.
    pub(super) fn block(&mut self, frame: Frame, color: RGBColor) {
        if frame.width() > 0.0 && frame.height() > 0.0 {
            self.marks.push(Mark::Block(frame, color));
        }
    }

    /// A filled polygon.
    pub(super) fn area(&mut self, points: Vec<(f64, f64)>, color: RGBColor) {
        if points.len() > 2 {
            self.marks.push(Mark::Area(points, color));
        }
    }

    /// A line through points.
    pub(super) fn line(&mut self, points: Vec<(f64, f64)>, color: RGBColor, width: f64) {
        if points.len() > 1 {
            self.marks.push(Mark::Line(points, color, width));
        }
    }

    /// A level hair line; it lies on half a pixel, so that it is one pixel wide and not two pale ones.
    pub(super) fn level(&mut self, left: f64, right: f64, y: f64, color: RGBColor) {
        let y = y.floor() + 0.5;
        self.line(vec![(left, y), (right, y)], color, 1.0);
    }

    /// An upright hair line.
    pub(super) fn upright(&mut self, x: f64, top: f64, bottom: f64, color: RGBColor) {
        let x = x.floor() + 0.5;
        self.line(vec![(x, top), (x, bottom)], color, 1.0);
    }

    /// A filled circle.
    pub(super) fn disc(&mut self, center: (f64, f64), radius: f64, color: RGBColor) {
        self.marks.push(Mark::Disc(center, radius, color));
    }

    /// Text from its left end; returns the room it takes, which no later label may touch.
    pub(super) fn write(&mut self, x: f64, baseline: f64, phrase: &Phrase) -> Frame {
        let mut at = x;
        for run in &phrase.0 {
            // An SVG drops a space at the beginning of a text: it has to be a distance.
            let text = run.text.trim_start_matches(' ');
            let indent = run.face.width(&run.text[..run.text.len() - text.len()], run.size);
            if !text.is_empty() {
                let shown = Run { text: text.to_string(), ..run.clone() };
                self.marks.push(Mark::Text(shown, at + indent, baseline));
            }
            at += run.face.width(&run.text, run.size);
        }
        self.take(phrase.frame(x, baseline))
    }

    /// Text that ends at `x`.
    pub(super) fn write_before(&mut self, x: f64, baseline: f64, phrase: &Phrase) -> Frame {
        if let [run] = phrase.0.as_slice() {
            self.marks.push(Mark::TextBefore(run.clone(), x, baseline));
            return self.take(phrase.frame(x - phrase.width(), baseline));
        }
        self.write(x - phrase.width(), baseline, phrase)
    }

    /// Lets no later label touch this room.
    pub(super) fn take(&mut self, frame: Frame) -> Frame {
        self.taken.push(frame);
        frame
    }

    /// Whether a label may lie here.
    pub(super) fn is_free(&self, frame: &Frame) -> bool {
        !self.taken.iter().any(|taken| taken.touches(frame))
    }
}

type Painted<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Paints marks over a background, through plotters, on any of its backends.
pub(super) fn paint<DB: DrawingBackend>(backend: DB, ground: RGBColor, marks: &[Mark]) -> Painted<DB> {
    super::font::register();
    let area = backend.into_drawing_area();
    area.fill(&ground)?;
    marks.iter().try_for_each(|mark| mark.paint(&area))?;
    area.present()
}

impl Mark {
    fn paint<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Painted<DB> {
        match self {
            Mark::Block(frame, color) => area.draw(&Rectangle::new(
                [fine((frame.left, frame.top)), fine((frame.right, frame.bottom))],
                color.filled(),
            )),
            Mark::Area(points, color) => {
                area.draw(&Polygon::new(points.iter().copied().map(fine).collect::<Vec<_>>(), color.filled()))
            }
            Mark::Line(points, color, width) => area.draw(&PathElement::new(
                points.iter().copied().map(fine).collect::<Vec<_>>(),
                color.stroke_width((width * FINE + 0.5) as u32),
            )),
            Mark::Disc(center, radius, color) => {
                area.draw(&Circle::new(fine(*center), (radius * FINE + 0.5) as u32, color.filled()))
            }
            Mark::Text(run, x, baseline) => run.paint(area, HPos::Left, *x, *baseline),
            Mark::TextBefore(run, x, baseline) => run.paint(area, HPos::Right, *x, *baseline),
        }
    }

    /// The room that a text takes; `None` for other marks.
    #[cfg(test)]
    pub(super) fn text_frame(&self) -> Option<Frame> {
        match self {
            Mark::Text(run, x, baseline) => Some(Phrase(vec![run.clone()]).frame(*x, *baseline)),
            Mark::TextBefore(run, x, baseline) => {
                let phrase = Phrase(vec![run.clone()]);
                Some(phrase.frame(x - phrase.width(), *baseline))
            }
            Mark::Block(..) | Mark::Area(..) | Mark::Line(..) | Mark::Disc(..) => None,
        }
    }
}

impl Run {
    fn paint<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, hold: HPos, x: f64, y: f64) -> Painted<DB> {
        let font =
            FontDesc::new(FontFamily::Name(self.face.family()), self.size * FINE * FONT_FACTOR, self.face.style());
        let style = font.color(&self.color).pos(Pos::new(hold, VPos::Top));
        area.draw_text(&self.text, &style, fine((x, y - HANG * self.size)))
    }
}

fn fine((x, y): (f64, f64)) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::BLACK;

    #[test]
    fn a_second_label_sees_the_room_of_the_first() {
        let mut sheet = Sheet::default();
        let phrase = Phrase::new("529 overloaded", Face::Bold, 14.0, BLACK);
        let frame = sheet.write(10.0, 20.0, &phrase);
        assert!(!sheet.is_free(&frame));
        assert!(sheet.is_free(&phrase.frame(10.0, 60.0)));
    }

    #[test]
    fn a_control_character_in_a_name_becomes_a_space() {
        assert_eq!(Phrase::new("a\u{1}b", Face::Regular, 10.0, BLACK).0[0].text, "a b");
    }
}
