//! Text is measured before it is drawn, and with the very glyphs that are drawn: a label that is known to fit never
//! has to be squeezed. The fonts are in the binary, so that a picture looks the same on every machine.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, Outline};
use base64::Engine;
use plotters::style::{FontStyle, register_font};

/// A cut of a font.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Running text.
    Regular,
    /// Names, numbers and titles.
    Bold,
    /// Commands, and nothing else.
    Mono,
}

/// The family of all text but commands.
const SANS: &str = "Inter";
/// The family of commands.
const MONO: &str = "JetBrains Mono";

/// The families that a browser tries in turn for text.
pub const SANS_STACK: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif";
/// The families that a browser tries in turn for commands.
pub const MONO_STACK: &str = "'JetBrains Mono', ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

static REGULAR: LazyLock<FontRef<'static>> = LazyLock::new(|| parsed(Face::Regular));
static BOLD: LazyLock<FontRef<'static>> = LazyLock::new(|| parsed(Face::Bold));
static CODE: LazyLock<FontRef<'static>> = LazyLock::new(|| parsed(Face::Mono));

/// A glyph in place: its outline and the distance of its origin from the beginning of the text, both in font units.
pub(super) struct Glyph {
    /// Where it begins.
    pub(super) at: f32,
    /// Its curves; `None` for a space.
    pub(super) outline: Option<Outline>,
}

impl Face {
    const ALL: [Face; 3] = [Face::Regular, Face::Bold, Face::Mono];

    /// The name of its family.
    pub const fn family(self) -> &'static str {
        match self {
            Face::Regular | Face::Bold => SANS,
            Face::Mono => MONO,
        }
    }

    /// Its weight in the words of plotters.
    pub const fn style(self) -> FontStyle {
        match self {
            Face::Regular | Face::Mono => FontStyle::Normal,
            Face::Bold => FontStyle::Bold,
        }
    }

    /// The face of a family and style.
    pub(super) fn of(family: &str, style: FontStyle) -> Face {
        match style {
            FontStyle::Bold => Face::Bold,
            FontStyle::Normal | FontStyle::Oblique | FontStyle::Italic if family == MONO => Face::Mono,
            FontStyle::Normal | FontStyle::Oblique | FontStyle::Italic => Face::Regular,
        }
    }

    const fn weight(self) -> u32 {
        match self {
            Face::Regular | Face::Mono => 400,
            Face::Bold => 700,
        }
    }

    const fn bytes(self) -> &'static [u8] {
        match self {
            Face::Regular => include_bytes!("fonts/Inter-Regular.ttf"),
            Face::Bold => include_bytes!("fonts/Inter-Bold.ttf"),
            Face::Mono => include_bytes!("fonts/JetBrainsMono-Regular.ttf"),
        }
    }

    const fn compressed(self) -> &'static [u8] {
        match self {
            Face::Regular => include_bytes!("fonts/Inter-Regular.woff2"),
            Face::Bold => include_bytes!("fonts/Inter-Bold.woff2"),
            Face::Mono => include_bytes!("fonts/JetBrainsMono-Regular.woff2"),
        }
    }

    fn font(self) -> &'static FontRef<'static> {
        match self {
            Face::Regular => &REGULAR,
            Face::Bold => &BOLD,
            Face::Mono => &CODE,
        }
    }

    /// Font units in one em.
    pub(super) fn units_per_em(self) -> f32 {
        self.font().units_per_em().unwrap_or(1000.0)
    }

    /// The width of a text in pixels at a font size in pixels.
    pub fn width(self, text: &str, size: f64) -> f64 {
        let font = self.font();
        let mut units = 0.0;
        let mut last = None;
        for letter in text.chars() {
            let id = font.glyph_id(letter);
            units += last.map_or(0.0, |last| font.kern_unscaled(last, id)) + font.h_advance_unscaled(id);
            last = Some(id);
        }
        f64::from(units) * size / f64::from(self.units_per_em())
    }

    /// The glyphs of a text, kerned.
    pub(super) fn glyphs(self, text: &str) -> Vec<Glyph> {
        let font = self.font();
        let mut at = 0.0;
        let mut last = None;
        text.chars()
            .map(|letter| {
                let id = font.glyph_id(letter);
                at += last.map_or(0.0, |last| font.kern_unscaled(last, id));
                let glyph = Glyph { at, outline: font.outline(id) };
                at += font.h_advance_unscaled(id);
                last = Some(id);
                glyph
            })
            .collect()
    }
}

fn parsed(face: Face) -> FontRef<'static> {
    FontRef::try_from_slice(face.bytes()).expect("the fonts in the binary are whole")
}

/// Makes the faces known to plotters, once.
pub(super) fn register() {
    static ONCE: LazyLock<()> = LazyLock::new(|| {
        for face in Face::ALL {
            // A refusal could only mean a broken font, which `parsed` would have refused before.
            let _ = register_font(face.family(), face.style(), face.bytes());
        }
    });
    LazyLock::force(&ONCE);
}

/// The style rules that carry the fonts in an SVG or a page: nothing is loaded from elsewhere.
pub fn font_faces() -> String {
    Face::ALL
        .map(|face| {
            let data = base64::engine::general_purpose::STANDARD.encode(face.compressed());
            format!(
                "@font-face{{font-family:'{}';font-weight:{};src:url(data:font/woff2;base64,{data}) format('woff2')}}",
                face.family(),
                face.weight(),
            )
        })
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_equally_wide() {
        for face in Face::ALL {
            let widths: Vec<f64> = ('0'..='9').map(|digit| face.width(&digit.to_string(), 100.0)).collect();
            assert!(widths.iter().all(|width| *width == widths[0]), "{face:?}: {widths:?}");
        }
    }

    #[test]
    fn the_signs_of_a_picture_have_glyphs() {
        for face in [Face::Regular, Face::Bold] {
            for sign in "×–−·≥²→µ%½÷…é\u{a0}".chars() {
                assert_ne!(face.font().glyph_id(sign).0, 0, "{face:?} has no {sign}");
            }
        }
    }

    #[test]
    fn kerning_moves_letters_closer() {
        let apart = Face::Regular.width("A", 100.0) + Face::Regular.width("V", 100.0);
        assert!(Face::Regular.width("AV", 100.0) < apart - 1.0);
    }
}
