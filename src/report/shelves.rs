//! Presets that stand inside of something else than a layer, as text and as JSON: the breakers of client libraries, and how
//! the queues of job libraries hand out their messages. Which there are, and what one of them says.

use serde_json::{Value, json};

use super::explain_page::{line, put};
use super::presets::{source, version_json, words};
use crate::preset::queues::{self, Notes};
use crate::preset::{Family, NotAPreset, Preset, Source, Version, breakers};

/// All presets of one sort.
pub struct Shelf {
    /// The word for it on the command line.
    pub word: &'static str,
    /// The version of its JSON.
    format: &'static str,
    families: fn() -> Vec<&'static Family>,
    find: fn(&str) -> Result<Preset, NotAPreset>,
    title: &'static str,
    /// What a list ends with.
    end: &'static str,
    /// Where one of them stands in a scenario, up to its name.
    stands: &'static str,
    notes: fn(&Family) -> Option<&'static Notes>,
}

/// The circuit breakers of client libraries.
pub static BREAKERS: Shelf = Shelf {
    word: "breakers",
    format: "retrycast.breaker_presets/1",
    families: || breakers::FAMILIES.to_vec(),
    find: breakers::find,
    title: "circuit breakers of client libraries",
    end: "All of them were measured. `retrycast presets breakers/NAME` writes one out, and in a scenario it stands as breaker \
          = { preset = \"NAME\" } in [guards.…].",
    stands: "[guards.NAME]\n  breaker",
    notes: |_| None,
};

/// The queues of job libraries.
pub static QUEUES: Shelf = Shelf {
    word: "queues",
    format: "retrycast.queue_presets/1",
    families: || queues::QUEUES.iter().map(|queue| queue.family).collect(),
    find: queues::find,
    title: "queues of job libraries: how they hand out their messages",
    end: "A version was measured unless it is marked with *: then the documentation or the source says so. `retrycast \
          presets queues/NAME` writes one out, and in a scenario it stands as queue = { preset = \"NAME\" } in [traffic.…]. What is \
          retried, and when, is said by a layer of kind queue.",
    stands: "[traffic.NAME]\n  queue",
    notes: queues::notes,
};

impl Shelf {
    /// The preset that is asked for by this name: with the shelf's word before it, or without where it is no layer's, too.
    pub fn asked(&self, name: &str) -> Option<Result<Preset, NotAPreset>> {
        let own = name.strip_prefix(self.word).and_then(|rest| rest.strip_prefix('/'));
        match own {
            Some(name) => Some((self.find)(name)),
            None if Preset::find(name).is_err() => (self.find)(name).ok().map(Ok),
            None => None,
        }
    }

    /// All families with their versions.
    pub fn list(&self) -> String {
        let families = (self.families)();
        let width = families.iter().map(|family| family.word.len()).max().unwrap_or_default();
        let mut page = String::new();
        line(&mut page, self.title);
        for family in families {
            let mark = |version: &Version| match version.source {
                Source::Measured(_) => version.number.to_owned(),
                Source::Documented(_) => format!("{}*", version.number),
            };
            let versions: Vec<String> = family.versions.iter().map(mark).collect();
            let about = format!("{} ({})", family.about, versions.join(", "));
            put(&mut page, &format!("  {:width$}  ", family.word), &about, width + 4);
        }
        line(&mut page, "");
        put(&mut page, "", self.end, 0);
        page
    }

    /// One preset: its source, its words, its equivalent in general keys, and where the library does otherwise.
    pub fn one(&self, preset: Preset) -> String {
        let mut page = String::new();
        put(&mut page, &format!("{}: ", preset.name()), preset.family.about, preset.name().len() + 2);
        put(&mut page, "", &source(preset.version), 0);
        words(&mut page, preset.family);
        line(&mut page, "\nby default, in general keys");
        for key in preset.keys().lines() {
            line(&mut page, &format!("  {key}"));
        }
        let notes = (self.notes)(preset.family);
        if let Some(notes) = notes {
            line(&mut page, "\nwhat the library does otherwise");
            put(&mut page, "  ", notes.differs, 2);
        }
        line(&mut page, "\nin a scenario");
        line(&mut page, &format!("\n  {} = {{ preset = \"{}\" }}", self.stands, preset.name()));
        if let Some(notes) = notes {
            line(&mut page, &format!("\nwith {}", notes.beside));
        }
        page
    }

    /// All families as JSON.
    pub fn list_json(&self) -> Value {
        let family = |family: &Family| {
            let versions: Vec<Value> = family.versions.iter().map(|version| version_json(family, version)).collect();
            json!({ "word": family.word, "about": family.about, "versions": versions })
        };
        json!({ "format": self.format, "families": (self.families)().into_iter().map(family).collect::<Vec<_>>() })
    }

    /// One preset as JSON; `general_keys` is text in scenario syntax.
    pub fn one_json(&self, preset: Preset) -> Value {
        let glossary = preset.family.glossary().into_iter();
        let words: Vec<Value> = glossary
            .map(|(word, keys)| {
                json!({ "word": word.word, "meaning": word.gist(), "default": word.default(), "general_keys": keys })
            })
            .collect();
        let mut page = json!({
            "format": self.format,
            "preset": version_json(preset.family, preset.version),
            "words": words,
            "general_keys": preset.keys(),
        });
        if let (Some(notes), Value::Object(page)) = ((self.notes)(preset.family), &mut page) {
            page.insert("differs".to_owned(), notes.differs.into());
            page.insert("beside".to_owned(), notes.beside.into());
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_breaker_and_every_queue_is_listed_and_written_out() {
        for shelf in [&BREAKERS, &QUEUES] {
            let (page, json) = (shelf.list(), shelf.list_json());
            for (n, family) in (shelf.families)().into_iter().enumerate() {
                assert!(page.contains(&format!("\n  {} ", family.word)), "{page}");
                assert_eq!(json["families"][n]["word"], family.word);
                let preset = (shelf.find)(family.word).unwrap();
                assert!(preset.version.source.of().contains(preset.version.number), "{}", family.word);
                let written = shelf.one(preset);
                assert!(preset.keys().lines().all(|key| written.contains(key)), "{written}");
                assert!(family.words.iter().all(|word| written.contains(word.word)), "{written}");
                assert_eq!(shelf.one_json(preset)["general_keys"], preset.keys());
            }
        }
    }
}
