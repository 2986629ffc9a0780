//! A finished picture: marks on a page, to be had as SVG or as PNG.

use plotters::style::RGBColor;

use super::png::{self, PngError};
use super::sheet::Mark;
use super::svg::{self, Cover, Setting};

/// A picture that is laid out and can be painted.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
    /// What it says, in one sentence.
    pub title: String,
    /// What can be seen in it, for those who cannot.
    pub description: String,
    pub(super) ground: RGBColor,
    pub(super) marks: Vec<Mark>,
}

impl Picture {
    /// The text of an SVG; the same picture always gives the same bytes.
    pub fn svg(&self, setting: Setting<'_>) -> String {
        let cover = Cover {
            size: (self.width, self.height),
            title: &self.title,
            description: &self.description,
            ground: self.ground,
        };
        svg::write(&cover, &self.marks, setting)
    }

    /// The bytes of a PNG with `zoom` pixels for each pixel of the picture.
    pub fn png(&self, zoom: f32) -> Result<Vec<u8>, PngError> {
        png::encode((self.width, self.height), zoom, self.ground, &self.marks)
    }
}
