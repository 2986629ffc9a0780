//! The presets of circuit breakers, as text and as JSON: which libraries there are, and what the breaker of one does.

use serde_json::{Value, json};

use super::explain_page::{line, put};
use super::presets::{source, words};
use crate::preset::breakers::FAMILIES;
use crate::preset::{Family, Preset, Version};

/// The version of the JSON.
const FORMAT: &str = "retrycast.breaker_presets/1";

/// All families with their versions.
pub fn list() -> String {
    let width = FAMILIES.iter().map(|family| family.word.len()).max().unwrap_or_default();
    let mut page = String::new();
    line(&mut page, "circuit breakers of client libraries");
    for family in FAMILIES {
        let versions: Vec<&str> = family.versions.iter().map(|version| version.number).collect();
        let about = format!("{} ({})", family.about, versions.join(", "));
        put(&mut page, &format!("  {:width$}  ", family.word), &about, width + 4);
    }
    line(&mut page, "");
    let end = "All of them were measured. `retrycast presets breakers/NAME` writes one out, and in a scenario it stands \
               as breaker = { preset = \"NAME\" } in [guards.…].";
    put(&mut page, "", end, 0);
    page
}

/// One preset: its source, its words, its equivalent in general keys.
pub fn one(preset: Preset) -> String {
    let mut page = String::new();
    put(&mut page, &format!("{}: ", preset.name()), preset.family.about, preset.name().len() + 2);
    put(&mut page, "", &source(preset.version), 0);
    words(&mut page, preset.family);
    line(&mut page, "\nby default, in general keys");
    for key in preset.keys().lines() {
        line(&mut page, &format!("  {key}"));
    }
    line(&mut page, "\nin a scenario");
    line(&mut page, &format!("\n  [guards.NAME]\n  breaker = {{ preset = \"{}\" }}", preset.name()));
    page
}

/// All families as JSON.
pub fn list_json() -> Value {
    let family = |family: &Family| {
        let versions: Vec<Value> = family.versions.iter().map(|version| version_json(family, version)).collect();
        json!({ "word": family.word, "about": family.about, "versions": versions })
    };
    json!({ "format": FORMAT, "families": FAMILIES.into_iter().map(family).collect::<Vec<_>>() })
}

fn version_json(family: &Family, version: &Version) -> Value {
    json!({
        "name": format!("{}-{}", family.word, version.number),
        "source": version.source.word(),
        "of": version.source.of(),
    })
}

/// One preset as JSON; `general_keys` is text in scenario syntax.
pub fn one_json(preset: Preset) -> Value {
    let glossary = preset.family.glossary().into_iter();
    let words: Vec<Value> = glossary
        .map(|(word, keys)| {
            json!({ "word": word.word, "meaning": word.gist(), "default": word.default(), "general_keys": keys })
        })
        .collect();
    json!({
        "format": FORMAT,
        "preset": version_json(preset.family, preset.version),
        "words": words,
        "general_keys": preset.keys(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::breakers::find;

    #[test]
    fn every_breaker_is_listed_and_written_out() {
        let (page, json) = (list(), list_json());
        for (n, family) in FAMILIES.into_iter().enumerate() {
            assert!(page.contains(&format!("\n  {} ", family.word)), "{page}");
            assert_eq!(json["families"][n]["word"], family.word);
            let preset = find(family.word).unwrap();
            let written = one(preset);
            assert!(preset.keys().lines().all(|key| written.contains(key)), "{written}");
            assert!(family.words.iter().all(|word| written.contains(word.word)), "{written}");
            assert_eq!(one_json(preset)["general_keys"], preset.keys());
        }
    }
}
