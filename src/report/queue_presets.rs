//! The presets of queues, as text and as JSON: which libraries there are, and how the queue of one hands out its messages.

use serde_json::{Value, json};

use super::explain_page::{line, put};
use super::presets::{source, words};
use crate::preset::queues::{FAMILIES, beside, differs};
use crate::preset::{Family, Preset, Source, Version};

/// The version of the JSON.
const FORMAT: &str = "retrycast.queue_presets/1";

/// All families with their versions.
pub fn list() -> String {
    let width = FAMILIES.iter().map(|family| family.word.len()).max().unwrap_or_default();
    let mut page = String::new();
    line(&mut page, "queues of job libraries: how they hand out their messages");
    for family in FAMILIES {
        let mark = |version: &Version| match version.source {
            Source::Measured(_) => version.number.to_owned(),
            Source::Documented(_) => format!("{}*", version.number),
        };
        let versions: Vec<String> = family.versions.iter().map(mark).collect();
        let about = format!("{} ({})", family.about, versions.join(", "));
        put(&mut page, &format!("  {:width$}  ", family.word), &about, width + 4);
    }
    line(&mut page, "");
    let end = "A version was measured unless it is marked with *: then the documentation or the source says so. \
               `retrycast presets queues/NAME` writes one out, and in a scenario it stands as queue = { preset = \"NAME\" } \
               in [traffic.…]. What is retried, and when, is said by a layer of kind queue.";
    put(&mut page, "", end, 0);
    page
}

/// One preset: its source, its words, its equivalent in general keys, and where the library does otherwise.
pub fn one(preset: Preset) -> String {
    let mut page = String::new();
    put(&mut page, &format!("{}: ", preset.name()), preset.family.about, preset.name().len() + 2);
    put(&mut page, "", &source(preset.version), 0);
    words(&mut page, preset.family);
    line(&mut page, "\nby default, in general keys");
    for key in preset.keys().lines() {
        line(&mut page, &format!("  {key}"));
    }
    line(&mut page, "\nwhat the library does otherwise");
    put(&mut page, "  ", differs(preset.family), 2);
    line(&mut page, "\nin a scenario");
    line(&mut page, &format!("\n  [traffic.NAME]\n  queue = {{ preset = \"{}\" }}", preset.name()));
    line(&mut page, &format!("\nwith {}", beside(preset.family)));
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
        "differs": differs(preset.family),
        "beside": beside(preset.family),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::queues::find;

    #[test]
    fn every_queue_is_listed_and_written_out() {
        let (page, json) = (list(), list_json());
        for (n, family) in FAMILIES.into_iter().enumerate() {
            assert!(page.contains(&format!("\n  {} ", family.word)), "{page}");
            assert_eq!(json["families"][n]["word"], family.word);
            let preset = find(family.word).unwrap();
            assert!(preset.version.source.of().contains(preset.version.number), "{}", family.word);
            let written = one(preset);
            assert!(preset.keys().lines().all(|key| written.contains(key)), "{written}");
            assert!(family.words.iter().all(|word| written.contains(word.word)), "{written}");
            assert_eq!(one_json(preset)["general_keys"], preset.keys());
        }
    }
}
