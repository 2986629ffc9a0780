//! What was found, as a patch file that every verb takes, with the evidence in comments above it.

use std::fmt::Write as _;

use super::{Tuned, WINNER, cautions, finding};
use crate::document::{Text, Value, parse};
use crate::report::comparison::{cell, difference};
use crate::report::quantity::count;

/// The widest line of a comment.
const COLUMNS: usize = 110;

/// A setting as a line of TOML: a dotted path, and a value as `--set` reads it.
pub fn line(path: &str, text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let part = |name: &str| {
        let name = name.trim();
        if !name.is_empty() && name.chars().all(bare) {
            name.to_owned()
        } else {
            Value::String(name.to_owned()).to_string()
        }
    };
    let path: Vec<String> = path.split('.').map(part).collect();
    let value = parse::value(text.trim(), Text::File, 0)
        .map_or_else(|| Value::String(text.trim().to_owned()).to_string(), |node| node.value.to_string());
    format!("{} = {value}\n", path.join("."))
}

/// The changes of a policy, as lines of TOML.
pub fn body(tuned: &Tuned<'_>) -> String {
    let mut out = String::new();
    for (axis, text) in tuned.axes.iter().zip(tuned.chosen()) {
        for path in &axis.paths {
            out.push_str(&line(path, text));
        }
    }
    out
}

/// The patch file: evidence, then changes.
pub fn file(tuned: &Tuned<'_>, command: &str) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        for line in wrapped(text) {
            let _ = writeln!(out, "# {line}");
        }
    };
    say(&finding(tuned).replace('`', ""));
    say("");
    say(&format!("Found by: {command}"));
    say(&format!(
        "Apply it to variant {} of {}: --variant {} --with {WINNER}.toml",
        tuned.scenario.variant, tuned.scenario.name, tuned.scenario.variant
    ));
    say(&format!(
        "The search saw {} of seed {}; the check below took {} others in each world.",
        seeds(tuned.tuning.effort.seeds),
        tuned.seed,
        count(tuned.check as f64)
    ));
    for checked in &tuned.tuning.checked {
        say("");
        say(&format!("{} ({}):", checked.world.name, checked.world.what));
        for (metric, what) in tuned.tuning.metrics.iter().enumerate() {
            let held = tuned.held(checked, metric);
            let [before, after] = [&held.reference, &held.winner].map(|effect| cell(&effect.cell, held.unit));
            let difference = difference(&held.reference, &held.winner, what.kind, held.unit);
            say(&format!("  {}: {before} → {after}, {difference}, {}", what.word, held.verdict.word()));
        }
    }
    for caution in cautions(tuned) {
        say("");
        say(&format!("Warning: {}.", caution.seen.replace('`', "")));
    }
    out.push('\n');
    out.push_str(&body(tuned));
    out
}

pub(super) fn seeds(n: u64) -> String {
    if n == 1 { "1 seed".to_owned() } else { format!("{} seeds", count(n as f64)) }
}

/// A text in lines; an indent goes on.
fn wrapped(text: &str) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let is_first = lines[last].len() == indent.len();
        if !is_first && lines[last].chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("{indent}{word}"));
        } else {
            if !is_first {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_line_of_toml_whatever_its_form() {
        assert_eq!(line("a.b", "3"), "a.b = 3\n");
        assert_eq!(line("a.b", "350k"), "a.b = \"350k\"\n");
        assert_eq!(line("a.b", "\"x\""), "a.b = \"x\"\n");
        assert_eq!(line("a.b", "[\"3m\", \"10m\"]"), "a.b = [\"3m\", \"10m\"]\n");
        assert_eq!(line("a.gpt/4.b", "true"), "a.\"gpt/4\".b = true\n");
    }

    #[test]
    fn long_sentences_are_wrapped() {
        let lines = wrapped(&format!("  {}", "word ".repeat(60)));
        assert!(lines.len() == 3 && lines.iter().all(|line| line.len() <= COLUMNS && line.starts_with("  w")));
    }
}
