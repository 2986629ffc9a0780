//! An SVG from plotters names its font and nothing more. This file puts it into a frame of our own: the fonts inside,
//! title and description for those who do not see it, and a view box that halves the canvas of the sheet.

use plotters::prelude::SVGBackend;
use plotters::style::RGBColor;

use super::font::{Face, MONO_STACK, SANS_STACK, font_faces};
use super::sheet::{self, FINE, Mark};

/// Where an SVG is going to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<'a> {
    /// In a file of its own: it carries its fonts.
    File,
    /// In a page that carries the fonts: the identifiers in it begin with this word, which has to be unique there.
    Page(&'a str),
}

/// What is around the marks.
pub(super) struct Cover<'a> {
    /// The size in pixels.
    pub(super) size: (u32, u32),
    /// What the picture says, in one sentence.
    pub(super) title: &'a str,
    /// What can be seen.
    pub(super) description: &'a str,
    /// The colour of the page.
    pub(super) ground: RGBColor,
}

/// The text of the SVG.
pub(super) fn write(cover: &Cover<'_>, marks: &[Mark], setting: Setting<'_>) -> String {
    let (width, height) = cover.size;
    let canvas = (width * FINE as u32, height * FINE as u32);
    let mut drawn = String::new();
    // The backend writes into memory, which cannot fail.
    let _ = sheet::paint(SVGBackend::with_string(&mut drawn, canvas), cover.ground, marks);
    let (id, style) = match setting {
        Setting::File => ("timeline", format!("<style>{}</style>\n", font_faces())),
        Setting::Page(id) => (id, String::new()),
    };
    let id = escaped(id);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" font-family=\"{SANS_STACK}\" \
         text-rendering=\"geometricPrecision\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n{style}{}</svg>\n",
        canvas.0,
        canvas.1,
        escaped(cover.title),
        escaped(cover.description),
        body(&drawn),
    )
}

/// The elements that plotters wrote, without its frame and without what goes without saying.
fn body(drawn: &str) -> String {
    let sans = format!("font-family=\"{}\" ", Face::Regular.family());
    let mono = format!("font-family=\"{}\" ", Face::Mono.family());
    let named = format!("font-family=\"{MONO_STACK}\" ");
    // The quotes of an attribute cannot stand in a text: they are escaped there.
    drawn
        .lines()
        .skip(1)
        .filter(|line| *line != "</svg>")
        .map(|line| {
            let plain = line.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
            plain.replace("text-anchor=\"start\" ", "").replace(&sans, "").replace(&mono, &named)
        })
        // A line break inside a text would be a space at its end.
        .map(|line| {
            if line.starts_with("<text") {
                rounded(&line)
            } else if line.starts_with('<') {
                line + "\n"
            } else {
                line
            }
        })
        .collect()
}

/// The same element with a font size of at most two decimals: plotters divides it by a number that is not round.
fn rounded(element: &str) -> String {
    const NAME: &str = " font-size=\"";
    let parts = element.split_once(NAME).and_then(|(head, rest)| Some((head, rest.split_once('"')?)));
    match parts.and_then(|(head, (size, tail))| Some((head, size.parse::<f64>().ok()?, tail))) {
        Some((head, size, tail)) => format!("{head}{NAME}{}\"{tail}", super::number::plain(size)),
        None => element.to_string(),
    }
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::super::sheet::Phrase;
    use super::*;
    use plotters::style::{BLACK, WHITE};

    #[test]
    fn names_from_a_file_cannot_break_the_markup() {
        let mut page = sheet::Sheet::default();
        page.write(10.0, 20.0, &Phrase::new("<b>\"&\" opacity=\"1\"", Face::Regular, 12.0, BLACK));
        let cover = Cover { size: (100, 40), title: "<&>", description: "\"", ground: WHITE };
        let text = write(&cover, &page.marks, Setting::Page("a\"b"));
        assert!(text.contains("<title id=\"a&quot;b-title\">&lt;&amp;&gt;</title>"));
        assert!(text.contains("&lt;b&gt;&quot;&amp;&quot; opacity=&quot;1&quot;"));
    }

    #[test]
    fn the_background_is_always_painted() {
        let cover = Cover { size: (100, 40), title: "", description: "", ground: WHITE };
        let text = write(&cover, &[], Setting::File);
        assert!(text.contains("<rect x=\"0\" y=\"0\" width=\"200\" height=\"80\" fill=\"#FFFFFF\"/>"), "{text}");
    }
}
