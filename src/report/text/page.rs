//! A page of monospaced text: lines no wider than the terminal, words never cut.

use anstyle::{AnsiColor, Style};

use crate::report::headline::Tint;

/// The narrowest page: below it nothing readable fits.
pub const MIN_WIDTH: usize = 40;

/// The widest page: longer lines are hard to read, whatever the terminal offers.
pub const MAX_WIDTH: usize = 120;

/// From this width on, tables and sparklines stand side by side with their labels.
const TABLE_WIDTH: usize = 72;

/// A page that grows downward.
#[derive(Debug)]
pub struct Page {
    width: usize,
    text: String,
}

impl Page {
    /// An empty page for a terminal of this many columns.
    pub fn new(columns: usize) -> Page {
        Page { width: columns.clamp(MIN_WIDTH, MAX_WIDTH), text: String::new() }
    }

    /// How many columns it has.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Whether labels stand above their values instead of beside them.
    pub const fn is_narrow(&self) -> bool {
        self.width < TABLE_WIDTH
    }

    /// One line as it is, without blanks at its end.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Running text, wrapped between words, with every line indented.
    pub fn paragraph(&mut self, indent: &str, text: &str) {
        self.hanging(indent, indent, text);
    }

    /// Running text whose first line is indented by other text than the following ones.
    pub fn hanging(&mut self, first: &str, rest: &str, text: &str) {
        let mut line = first.to_owned();
        let mut is_empty = true;
        let most = self.width.saturating_sub(width(rest)).max(1);
        for word in words(text).into_iter().flat_map(|word| pieces(word, most)) {
            if !is_empty && width(&line) + 1 + width(&word) > self.width {
                self.line(&line);
                rest.clone_into(&mut line);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&word);
            is_empty = false;
        }
        self.line(&line);
    }

    /// The text of the page.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// The words of a text; a unit belongs to the number before it.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = matches!(word.trim_end_matches([',', ';', '.', ':', ')']), "%" | "s" | "min" | "h");
        match out.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => out.push(word.to_owned()),
        }
    }
    out
}

/// A word that is wider than a line, such as a path or a long name, goes on in the next one.
fn pieces(word: String, most: usize) -> Vec<String> {
    if width(&word) <= most || word.contains('\u{1b}') {
        return vec![word];
    }
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(most).map(|piece| piece.iter().collect()).collect()
}

/// How many columns a text takes, colour codes left out.
pub(in crate::report) fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

/// A name that is too long for its column, with a sign that something is missing.
pub(in crate::report) fn cut(name: &str, columns: usize) -> String {
    if width(name) <= columns {
        return name.to_owned();
    }
    let kept: String = name.chars().take(columns.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The text with blanks behind it up to this width.
pub(in crate::report) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text with blanks before it up to this width.
pub(in crate::report) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text in the colour of what it says.
pub(in crate::report) fn painted(text: &str, tint: Tint) -> String {
    let style = match tint {
        Tint::Plain => return text.to_owned(),
        Tint::Throttled => Style::new().fg_color(Some(AnsiColor::Red.into())),
        Tint::Overloaded => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        Tint::Failed => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}

/// Running text whose words "429", "529" and "failed" have their colour.
pub(in crate::report) fn tinted(text: &str) -> String {
    let mut before = "";
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let core = word.trim_matches([',', ';', '.', ':', ')']);
        // "a 429" is a status; "429 requests" is a number like any other.
        let tint = match (before, core) {
            ("a", "429") => Tint::Throttled,
            ("a", "529" | "503") => Tint::Overloaded,
            (_, "failed") => Tint::Failed,
            _ => Tint::Plain,
        };
        out.push(word.replacen(core, &painted(core, tint), 1));
        before = word;
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_break_between_words_and_ignore_colour_codes() {
        let mut page = Page::new(40);
        page.paragraph("  ", &tinted("the recovery burst gave 23 % of live turns a 429, which is a lot"));
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        assert_eq!(text, "  the recovery burst gave 23 % of live\n  turns a 429, which is a lot\n");
    }

    #[test]
    fn only_the_words_themselves_take_colour() {
        assert_eq!(tinted("turned 429 requests into 4,429"), "turned 429 requests into 4,429");
        assert_ne!(tinted("a 429."), "a 429.");
        assert_eq!(width(&tinted("a 429.")), 6);
    }
}
