//! The presets as text.

use std::fmt::Write as _;

use crate::preset::{FAMILIES, Preset};

/// All families with their versions.
pub fn list() -> String {
    let width = FAMILIES.iter().map(|family| family.word.len()).max().unwrap_or(0);
    let mut out = String::new();
    for family in FAMILIES {
        let versions: Vec<&str> = family.versions.iter().map(|version| version.number).collect();
        let _ = writeln!(out, "{:width$}  {}  ({})", family.word, family.about, versions.join(", "));
    }
    out.push_str("\nwithout a version the last one is meant; `retrycast presets NAME` says what one does\n");
    out
}

/// One preset: its meaning, its source, its words, its equivalent in general keys.
pub fn one(preset: Preset) -> String {
    let mut out = format!("{}: {}\n", preset.name(), preset.family.about);
    let _ = writeln!(out, "{} on {}", preset.version.source.word(), preset.version.source.of());
    out.push_str("\nits words\n");
    let glossary = preset.family.glossary();
    let width = glossary.iter().map(|(word, _)| word.word.len()).max().unwrap_or(0);
    for (word, keys) in glossary {
        let _ = writeln!(out, "  {:width$}  {} (`{}`)", word.word, word.gist(), keys.join("`, `"));
    }
    out.push_str("\nwithout a word it is the same as\n");
    for line in preset.in_general_keys().lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}
