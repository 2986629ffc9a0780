//! plotters' own bitmap backend sets letters at whole pixels without kerning and draws slanted edges as stairs. This
//! one hands outlines, also those of letters, to tiny-skia, which fills them with anti-aliasing.

use std::fmt;

use plotters::prelude::{DrawingBackend, FontStyle};
use plotters::style::RGBColor;
use plotters_backend::text_anchor::HPos;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

use super::font::Face;
use super::sheet::{self, FINE, FONT_FACTOR, HANG, Mark};

/// Why no PNG could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PngError {
    /// The picture would have no pixel, or more than memory can address.
    Size {
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
    },
    /// Painting or encoding failed.
    Paint(String),
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PngError::Size { width, height } => write!(f, "a picture of {width} × {height} pixels cannot be made"),
            PngError::Paint(why) => write!(f, "the picture could not be encoded: {why}"),
        }
    }
}

impl std::error::Error for PngError {}

/// Paints marks on a sheet of this size, `zoom` pixels for each of its own, and encodes them.
pub(super) fn encode(size: (u32, u32), zoom: f32, ground: RGBColor, marks: &[Mark]) -> Result<Vec<u8>, PngError> {
    let [width, height] = [size.0, size.1].map(|side| (side as f32 * zoom).round() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    let raster = Raster { pixmap: &mut pixmap, zoom: zoom / FINE as f32 };
    sheet::paint(raster, ground, marks).map_err(|error| PngError::Paint(error.to_string()))?;
    pixmap.encode_png().map_err(|error| PngError::Paint(error.to_string()))
}

/// A picture in pixels, as a backend of plotters.
struct Raster<'a> {
    pixmap: &'a mut Pixmap,
    /// Pixels for each unit of plotters' canvas.
    zoom: f32,
}

/// Nothing can go wrong while pixels are set in memory.
type Never = std::convert::Infallible;
type Drawn = Result<(), DrawingErrorKind<Never>>;

impl Raster<'_> {
    fn paint(color: BackendColor) -> Paint<'static> {
        let mut paint = Paint::default();
        let (r, g, b) = color.rgb;
        paint.set_color_rgba8(r, g, b, (color.alpha * 255.0).round() as u8);
        paint.anti_alias = true;
        paint
    }

    fn point(&self, (x, y): BackendCoord) -> (f32, f32) {
        (x as f32 * self.zoom, y as f32 * self.zoom)
    }

    fn through(&self, points: impl IntoIterator<Item = BackendCoord>, close: bool) -> Option<Path> {
        let mut builder = PathBuilder::new();
        for (i, point) in points.into_iter().enumerate() {
            let (x, y) = self.point(point);
            if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
        }
        if close {
            builder.close();
        }
        builder.finish()
    }

    fn fill(&mut self, path: Option<Path>, color: BackendColor) {
        if let Some(path) = path {
            let paint = Self::paint(color);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, color: BackendColor, width: u32) {
        if let Some(path) = path {
            let stroke = Stroke { width: width as f32 * self.zoom, ..Stroke::default() };
            self.pixmap.stroke_path(&path, &Self::paint(color), &stroke, Transform::identity(), None);
        }
    }

    /// The outline of a text in pixels, its base line beginning at `origin`; `scale` is pixels for each font unit.
    fn outline(text: &str, face: Face, scale: f32, origin: (f32, f32)) -> Option<Path> {
        let mut builder = PathBuilder::new();
        for glyph in face.glyphs(text) {
            let Some(outline) = glyph.outline else { continue };
            let place = |p: ab_glyph::Point| (origin.0 + (glyph.at + p.x) * scale, origin.1 - p.y * scale);
            let mut pen = None;
            for curve in outline.curves {
                trace(&mut builder, &mut pen, &curve, place);
            }
            builder.close();
        }
        builder.finish()
    }
}

/// Adds one curve of a letter, and begins a new contour where it does not continue the last one.
fn trace(
    builder: &mut PathBuilder,
    pen: &mut Option<ab_glyph::Point>,
    curve: &ab_glyph::OutlineCurve,
    place: impl Fn(ab_glyph::Point) -> (f32, f32),
) {
    use ab_glyph::OutlineCurve::{Cubic, Line, Quad};
    let (from, to) = match curve {
        Line(from, to) | Quad(from, _, to) | Cubic(from, _, _, to) => (*from, *to),
    };
    if *pen != Some(from) {
        if pen.is_some() {
            builder.close();
        }
        let (x, y) = place(from);
        builder.move_to(x, y);
    }
    let (x, y) = place(to);
    match curve {
        Line(..) => builder.line_to(x, y),
        Quad(_, control, _) => {
            let (cx, cy) = place(*control);
            builder.quad_to(cx, cy, x, y);
        }
        Cubic(_, first, second, _) => {
            let ((ax, ay), (bx, by)) = (place(*first), place(*second));
            builder.cubic_to(ax, ay, bx, by, x, y);
        }
    }
    *pen = Some(to);
}

impl DrawingBackend for Raster<'_> {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        let side = |pixels: u32| (pixels as f32 / self.zoom).round() as u32;
        (side(self.pixmap.width()), side(self.pixmap.height()))
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        let (x, y) = self.point(point);
        self.fill(Rect::from_xywh(x, y, self.zoom, self.zoom).map(PathBuilder::from_rect), color);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        let path = self.through(path, false);
        self.stroke(path, style.color(), style.stroke_width());
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let ((left, top), (right, bottom)) = (self.point(upper_left), self.point(bottom_right));
        let path = Rect::from_ltrb(left, top, right, bottom).map(PathBuilder::from_rect);
        if fill {
            self.fill(path, style.color());
        } else {
            self.stroke(path, style.color(), style.stroke_width());
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, center: BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        let (x, y) = self.point(center);
        let path = PathBuilder::from_circle(x, y, radius as f32 * self.zoom);
        if fill {
            self.fill(path, style.color());
        } else {
            self.stroke(path, style.color(), style.stroke_width());
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        let path = self.through(path, true);
        self.fill(path, style.color());
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let size = style.size() / FONT_FACTOR;
        let face = Face::of(style.family().as_str(), FontStyle::from(style.style().as_str()));
        let held = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Right => face.width(text, size),
            HPos::Center => face.width(text, size) / 2.0,
        };
        let (x, y) = self.point(at);
        let origin = (x - held as f32 * self.zoom, y + (HANG * size) as f32 * self.zoom);
        let scale = size as f32 * self.zoom / face.units_per_em();
        self.fill(Self::outline(text, face, scale, origin), style.color());
        Ok(())
    }
}
