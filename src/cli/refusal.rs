//! A refusal as the user sees it: every fault with its line, the carets under what is meant, and what to write
//! instead. The offending line alone is shown, never its neighbours: a page of faults must stay readable.

use std::fmt::Write as _;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::Style;

use crate::document::{Fault, Text};
use crate::scenario::Refusal;

/// The most faults that are shown; whoever has more of them starts with these.
const SHOWN: usize = 100;

/// The most letters of a line that are shown, and how many of them stand before the fault.
const WIDEST: usize = 160;
const BEFORE: usize = 40;

/// The refusal as text, with escape codes for colour or without.
pub fn render(refusal: &Refusal, colour: bool) -> String {
    let page = Page { colour };
    match refusal {
        Refusal::Whole { message, hint } => page.sentence(message, hint.as_deref()),
        // One slip on the command line needs no page: the user has just typed it and sees it above.
        Refusal::Faulty { sets, faults, left_out: 0, .. } if faults.len() == 1 && in_set(&faults[0]).is_some() => {
            page.slip(sets, &faults[0])
        }
        Refusal::Faulty { path, text, sets, faults, left_out } => page.faults(path, text, sets, faults, *left_out),
    }
}

/// The number of the `--set` that a fault lies in.
fn in_set(fault: &Fault) -> Option<usize> {
    match fault.place.text {
        Text::File => None,
        Text::Set(number) => Some(number),
    }
}

/// How the text is dressed.
struct Page {
    colour: bool,
}

impl Page {
    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn error(&self) -> String {
        self.styled(anstyle::AnsiColor::BrightRed.on_default().bold(), "error")
    }

    fn hint(&self, hint: Option<&str>) -> String {
        let label = self.styled(anstyle::AnsiColor::BrightCyan.on_default().bold(), "hint");
        hint.map_or_else(String::new, |hint| format!("{label}: {hint}\n"))
    }

    fn sentence(&self, message: &str, hint: Option<&str>) -> String {
        format!("{}: {message}\n{}", self.error(), self.hint(hint))
    }

    fn slip(&self, sets: &[String], fault: &Fault) -> String {
        let text = in_set(fault).and_then(|number| sets.get(number)).map_or("", String::as_str);
        let path = text.split('=').next().unwrap_or(text).trim();
        let message = format!("`--set {}`: {}", path.escape_debug(), fault.message);
        self.sentence(&message, fault.hint.as_deref())
    }

    fn faults(&self, path: &str, text: &str, sets: &[String], faults: &[Fault], left_out: usize) -> String {
        let count = faults.len() + left_out;
        let plural = if count == 1 { "fault" } else { "faults" };
        let mut page = format!("{}: scenario `{path}` is not valid: {count} {plural}\n\n", self.error());
        let mut lines = Lines::of(text);
        for fault in faults.iter().take(SHOWN) {
            let excerpt = match in_set(fault) {
                None => lines.excerpt(fault),
                Some(number) => on_command_line(sets.get(number).map_or("", String::as_str), fault),
            };
            page.push_str(&self.snippet(&excerpt, &fault.message));
            page.push_str(&self.hint(fault.hint.as_deref()));
            page.push('\n');
        }
        let more = count - faults.len().min(SHOWN);
        if more > 0 {
            let _ = writeln!(page, "and {more} more\n");
        }
        page.push_str("nothing was run, nothing was written\n");
        page
    }

    fn snippet(&self, excerpt: &Excerpt, message: &str) -> String {
        let annotation = AnnotationKind::Primary.span(excerpt.span.clone()).label(message);
        let snippet = Snippet::source(excerpt.text.as_str())
            .line_start(excerpt.line.unwrap_or(1))
            .line_numbering(excerpt.line.is_some())
            .annotation(annotation);
        let renderer = if self.colour { Renderer::styled() } else { Renderer::plain() };
        let lines = renderer.term_width(WIDEST * 2).render(&[Group::with_level(Level::ERROR).element(snippet)]);
        // The arrow and the closing bar are the house's: the file is named once, above all faults.
        let gutter = anstyle::AnsiColor::BrightBlue.on_default().bold();
        let indent = " ".repeat(excerpt.line.map_or(0, |line| line.to_string().len()));
        let (arrow, bar) = (self.styled(gutter, "-->"), self.styled(gutter, "|"));
        format!("{indent}{arrow} {}\n{lines}\n{indent} {bar}\n", excerpt.origin)
    }
}

/// One line of a text with the part of it that is meant.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    /// What stands behind the arrow: line and column, or where on the command line.
    origin: String,
    /// The number of the line; `None` on the command line.
    line: Option<usize>,
    /// The line, or the part of a very long line around the fault.
    text: String,
    /// The bytes of `text` that are meant.
    span: Range<usize>,
}

/// A text whose lines are counted once, from front to back: faults come in the order of their places.
struct Lines<'a> {
    text: &'a str,
    /// The start of the line that was reached, and its number.
    start: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    const fn of(text: &'a str) -> Self {
        Lines { text, start: 0, number: 1 }
    }

    fn excerpt(&mut self, fault: &Fault) -> Excerpt {
        let from = floor(self.text, fault.place.from);
        while let Some(length) = self.text.as_bytes()[self.start..from].iter().position(|byte| *byte == b'\n') {
            self.start += length + 1;
            self.number += 1;
        }
        let rest = &self.text[self.start..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let start = from - self.start;
        let end = floor(self.text, fault.place.to).saturating_sub(self.start);
        let column = 1 + rest[..start].chars().count();
        let (text, span) = cut(line, start..end);
        Excerpt { origin: format!("{}:{column}", self.number), line: Some(self.number), text, span }
    }
}

fn on_command_line(text: &str, fault: &Fault) -> Excerpt {
    let line = format!("--set {text}");
    let shift = line.len() - text.len();
    let (from, to) = (floor(text, fault.place.from) + shift, floor(text, fault.place.to) + shift);
    let (text, span) = cut(&line, from..to);
    Excerpt { origin: "command line".to_owned(), line: None, text, span }
}

/// The largest boundary of a letter that is not past `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The part of the line around `span` that is shown, and the span in it. A span that goes on below the line ends with
/// it; an empty one is widened to one letter where there is one.
fn cut(line: &str, span: Range<usize>) -> (String, Range<usize>) {
    let from = floor(line, span.start);
    let one = line[from..].chars().next().map_or(from, |letter| from + letter.len_utf8());
    let to = floor(line, span.end.min(line.len())).max(one);
    if line.chars().count() <= WIDEST {
        return (line.to_owned(), from..to);
    }
    let before: usize = line[..from].chars().rev().take(BEFORE).map(char::len_utf8).sum();
    let start = from - before;
    let shown: String = line[start..].chars().take(WIDEST).collect();
    let end = to.min(start + shown.len());
    let (head, tail) = (if start > 0 { "…" } else { "" }, if start + shown.len() < line.len() { "…" } else { "" });
    let shift = head.len();
    (format!("{head}{shown}{tail}"), before + shift..end - start + shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};

    fn refusal(text: &str, sets: &[&str]) -> String {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let source = Source { sets: &sets, ..Source::new("broken.toml", text) };
        render(&load(&source).expect_err("the scenario is broken"), false)
    }

    #[test]
    fn show() {
        println!("{}", refusal("horizon = 10\n\n[clients.a]\nlayers = [ { name = \"sdk\", preset = \"anthropic-python\", max_retrys = 2 } ]\n[traffic.x]\nkind = \"turns\"\nclient = \"b\"\narrivals = { poisson = [[\"0s\", \"1/s\"], [\"0s\",\n \"2/s\"]] }\n", &["clients.a.layers.sdk.timeout=0s"]));
        println!("{}", refusal("", &[]));
        println!("{}", refusal("[[[", &[]));
    }
}
