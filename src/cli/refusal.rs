//! A refusal as the user sees it: every fault with its line, the carets under what is meant, and what to write
//! instead. The offending line alone is shown, never its neighbours: a page of faults must stay readable.

use std::fmt::Write as _;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::Style;

use crate::document::{Fault, Text};
use crate::scenario::{PatchFile, Refusal};

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
        Refusal::Faulty { path, text, patches, sets, faults, left_out } => {
            page.faults(Texts { what: "scenario", path, text, patches, sets }, faults, *left_out)
        }
    }
}

/// The faults of a file that is no scenario, as text.
pub(super) fn faulty(what: &str, path: &str, text: &str, faults: &[Fault], left_out: usize) -> String {
    Page { colour: false }.faults(Texts { what, path, text, patches: &[], sets: &[] }, faults, left_out)
}

/// The number of the `--set` that a fault lies in.
fn in_set(fault: &Fault) -> Option<usize> {
    match fault.place.text {
        Text::File | Text::Patch(_) => None,
        Text::Set(number) => Some(number),
    }
}

/// Where faults lie.
#[derive(Clone, Copy)]
struct Texts<'a> {
    /// What kind of file it is.
    what: &'a str,
    path: &'a str,
    text: &'a str,
    patches: &'a [PatchFile],
    sets: &'a [String],
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
        hint.map_or_else(String::new, |hint| format!("{label}: {}\n", harmless(hint)))
    }

    fn sentence(&self, message: &str, hint: Option<&str>) -> String {
        format!("{}: {}\n{}", self.error(), harmless(message), self.hint(hint))
    }

    fn slip(&self, sets: &[String], fault: &Fault) -> String {
        let text = in_set(fault).and_then(|number| sets.get(number)).map_or("", String::as_str);
        let path = text.split('=').next().unwrap_or(text).trim();
        let message = format!("`--set {path}`: {}", fault.message);
        self.sentence(&message, fault.hint.as_deref())
    }

    fn faults(&self, texts: Texts<'_>, faults: &[Fault], left_out: usize) -> String {
        let count = faults.len() + left_out;
        let plural = if count == 1 { "fault" } else { "faults" };
        let with: Vec<String> = texts.patches.iter().map(|file| format!("`{}`", harmless(&file.path))).collect();
        let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
        let (what, path) = (texts.what, harmless(texts.path));
        let verb = if what.ends_with('s') { "are" } else { "is" };
        let mut page = format!("{}: {what} `{path}`{with} {verb} not valid: {count} {plural}\n\n", self.error());
        // Faults come in the order of their texts, so that each text's lines are counted once.
        let (mut reached, mut lines) = (Text::File, Lines::of(texts.text));
        for fault in faults.iter().take(SHOWN) {
            let excerpt = match fault.place.text {
                Text::File => lines.excerpt(fault),
                Text::Patch(number) => {
                    let (path, text) = texts.patches.get(number).map_or(("", ""), |file| (&file.path, &file.text));
                    if reached != fault.place.text {
                        (reached, lines) = (fault.place.text, Lines::of(text));
                    }
                    let excerpt = lines.excerpt(fault);
                    Excerpt { origin: format!("{}:{}", harmless(path), excerpt.origin), ..excerpt }
                }
                Text::Set(number) => on_command_line(texts.sets.get(number).map_or("", String::as_str), fault),
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

/// The text without what could steer a terminal: names come from files, and files from anywhere.
pub(super) fn harmless(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// The largest boundary of a letter that is not past `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The part of the line around `span` that is shown, and the span in it. A span that goes on below the line ends with
/// it; an empty one is widened to one letter where there is one.
pub(super) fn cut(line: &str, span: Range<usize>) -> (String, Range<usize>) {
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
#[allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};
    use snapbox::{assert_data_eq, str};

    fn refusal(text: &str, sets: &[&str]) -> String {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let source = Source { sets: &sets, ..Source::new("broken.toml", text) };
        render(&load(&source).expect_err("the scenario is broken"), false)
    }

    const BROKEN: &str = "horizon = \"1h\"\n[provider.faults.x]\nwindow = [\"22m\", \"0s\"]\nrespond = { status = 529 }\n\
        [clients.batch]\nlayers = [\n  { name = \"sdk\", preset = \"anthropic-python\", max_retrys = 2 },\n]\n\
        [traffic.report]\nkind = \"turns\"\nclient = \"bach\"\narrivals = { every = \"1s\" }\n\
        steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";

    #[test]
    fn every_fault_has_its_line_its_carets_and_its_remedy() {
        assert_data_eq!(
            refusal(BROKEN, &["clients.batch.layers.sdk.timeout=0s"]),
            str![[r#"
error: scenario `broken.toml` is not valid: 4 faults

 --> 3:10
  |
3 | window = ["22m", "0s"]
  |          ^^^^^^^^^^^^^ ends before it begins
  |
hint: write the start first: ["0s", "22m"]

 --> 7:48
  |
7 |   { name = "sdk", preset = "anthropic-python", max_retrys = 2 },
  |                                                ^^^^^^^^^^ unknown key
  |
hint: did you mean `max_retries`?

  --> 11:10
   |
11 | client = "bach"
   |          ^^^^^^ no client has this name
   |
hint: clients are `batch`; did you mean `batch`?

--> command line
 |
 | --set clients.batch.layers.sdk.timeout=0s
 |                                        ^^ must be longer than zero, found "0s"
 |
hint: write a duration such as "1s"

nothing was run, nothing was written

"#]]
        );
    }

    #[test]
    fn a_slip_on_the_command_line_alone_is_one_sentence() {
        let sound = BROKEN
            .replace("\"22m\", \"0s\"", "\"0s\", \"22m\"")
            .replace("max_retrys", "max_retries")
            .replace("bach", "batch");
        assert_data_eq!(
            refusal(&sound, &["clients.batch.layers.sdk.max_retries=-1"]),
            str![[r#"
error: `--set clients.batch.layers.sdk.max_retries`: must be at least 0, found -1
hint: write a number from 0 to 999999

"#]]
        );
    }

    #[test]
    fn an_empty_file_is_shown_with_what_it_lacks() {
        assert_data_eq!(
            refusal("", &[]),
            str![[r#"
error: scenario `broken.toml` is not valid: 3 faults

 --> 1:1
  |
1 |
  | ^ lacks the key `clients`
  |
hint: describe who sends requests as [clients.NAME]

 --> 1:1
  |
1 |
  | ^ lacks the key `horizon`
  |
hint: write when the run ends, such as horizon = "2h"

 --> 1:1
  |
1 |
  | ^ lacks the key `traffic`
  |
hint: describe who wants what as [traffic.NAME]

nothing was run, nothing was written

"#]]
        );
    }

    #[test]
    fn colour_adds_escapes_and_nothing_else() {
        let refused = load(&Source::new("broken.toml", BROKEN)).expect_err("the scenario is broken");
        let (plain, coloured) = (render(&refused, false), render(&refused, true));
        assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }

    #[test]
    fn a_very_long_line_is_cut_around_its_fault() {
        let text = format!("title = \"{}\" x\n", "é".repeat(100_000));
        let shown = refusal(&text, &[]);
        assert!(shown.len() < 2_000, "{} bytes", shown.len());
        assert!(shown.contains("--> 1:100012"), "{shown}");
    }

    #[test]
    fn nothing_in_a_file_steers_the_terminal() {
        let shown = refusal("\"\u{1b}[31m\" = 1\n[clients.\"\u{7}\"]\n\u{1b}[2J\n", &[]);
        assert!(!shown.chars().any(|letter| letter.is_control() && letter != '\n'), "{shown:?}");
    }
}
