//! Client libraries retry differently and say it in words of their own: one counts retries, another attempts, a third
//! reads its list of waits from the end. A preset is a table of such words: the library's word, the general key that
//! it stands for, how the value maps, and what the library does where nobody says anything.
//!
//! Words and keys need not match one to one. A key may be made of several words (`backoff_factor` and
//! `backoff_jitter` of urllib3 are one `backoff`), and a word may decide several keys (the `stop` of tenacity is
//! attempts, time and how they combine): the table has a row for each pair.
//!
//! A family is data, one file each: to add one, write its file, list it in [`FAMILIES`], and the tests below check it.
//! Its defaults are general keys in scenario syntax, one text per version, and each says whether they were measured or
//! are what the documentation states.

mod anthropic_npm;
mod anthropic_python;
mod arq;
mod async_retry;
mod aws_smithy;
mod axios_retry;
mod backoff_python;
mod backoff_rust;
mod backon;
mod botocore;
pub mod breakers;
mod bullmq;
mod celery;
mod client_go;
mod cockatiel;
mod dramatiq;
mod envoy;
mod finagle;
mod google_api_core;
mod google_genai;
mod got;
mod grpc_js;
mod grpcio;
mod http;
mod httpx_retries;
mod huey;
mod ky;
pub mod limits;
mod litellm;
mod node_retry;
mod openai_npm;
mod openai_python;
mod opnieuw;
mod p_retry;
mod polly;
pub mod queues;
mod requests;
mod reqwest_retry;
mod resilience4j;
mod rq;
mod sidekiq;
mod sqs;
mod stainless;
mod stainless_npm;
mod stamina;
mod temporal;
mod tenacity;
mod tokio_retry;
mod tower;
mod undici;
mod urllib3;
mod value;
mod word;
mod workqueue;

use crate::document::{Fault, Faults, Field, Node, Place, Table, near, parse, patch};
use crate::policy::Kind;
use value::{adds_up_to_itself, duration, durations, exponential, form, list, obey, table, text};
pub use word::Word;
use word::{
    Spoken, also, as_it_is, attempts_or_none, further, milliseconds, one_more, retries_or_none, retries_to_attempts,
    time_limit, word,
};

/// A client library.
#[derive(Debug)]
pub struct Family {
    /// The word for it in scenario files.
    pub word: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Where a layer of it stands unless the file says otherwise.
    pub kind: Kind,
    /// The versions that behave differently or were measured, oldest first; the last is meant where none is named.
    pub versions: &'static [Version],
    /// The library's own words, a row for each general key that one decides.
    pub words: &'static [Word],
}

/// A version of a library.
#[derive(Debug)]
pub struct Version {
    /// Its number, as precise as it matters.
    pub number: &'static str,
    /// How its behaviour is known.
    pub source: Source,
    /// What the library does by default, as general keys in scenario syntax.
    pub defaults: &'static str,
}

/// How the behaviour of a version is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This release was driven against scripted answers.
    Measured(&'static str),
    /// This document says so; nothing was measured.
    Documented(&'static str),
}

impl Source {
    /// The release or the document.
    pub const fn of(self) -> &'static str {
        match self {
            Source::Measured(of) | Source::Documented(of) => of,
        }
    }

    /// `measured` or `documented`.
    pub const fn word(self) -> &'static str {
        match self {
            Source::Measured(_) => "measured",
            Source::Documented(_) => "documented",
        }
    }
}

/// Every family: clients, decorators and queues, measured ones before documented ones.
pub static FAMILIES: [&Family; 45] = [
    &anthropic_python::FAMILY,
    &anthropic_npm::FAMILY,
    &openai_python::FAMILY,
    &openai_npm::FAMILY,
    &litellm::FAMILY,
    &google_api_core::FAMILY,
    &google_genai::FAMILY,
    &urllib3::FAMILY,
    &requests::FAMILY,
    &httpx_retries::FAMILY,
    &botocore::FAMILY,
    &aws_smithy::FAMILY,
    &grpc_js::FAMILY,
    &grpcio::FAMILY,
    &undici::FAMILY,
    &got::FAMILY,
    &ky::FAMILY,
    &axios_retry::FAMILY,
    &reqwest_retry::FAMILY,
    &tower::FAMILY,
    &envoy::FAMILY,
    &finagle::FAMILY,
    &client_go::FAMILY,
    &tenacity::FAMILY,
    &stamina::FAMILY,
    &backoff_python::FAMILY,
    &opnieuw::FAMILY,
    &async_retry::FAMILY,
    &p_retry::FAMILY,
    &cockatiel::FAMILY,
    &tokio_retry::FAMILY,
    &backon::FAMILY,
    &backoff_rust::FAMILY,
    &polly::FAMILY,
    &resilience4j::FAMILY,
    &rq::FAMILY,
    &celery::FAMILY,
    &huey::FAMILY,
    &dramatiq::FAMILY,
    &arq::FAMILY,
    &bullmq::FAMILY,
    &sidekiq::FAMILY,
    &sqs::FAMILY,
    &temporal::FAMILY,
    &workqueue::FAMILY,
];

impl Family {
    /// Its words in order, each once, with the general keys that it decides.
    pub fn glossary(&self) -> Vec<(&'static Word, Vec<&'static str>)> {
        let mut glossary: Vec<(&Word, Vec<&str>)> = Vec::new();
        for word in self.words {
            match glossary.iter_mut().find(|(known, _)| known.word == word.word) {
                Some((_, keys)) => keys.push(word.stands_for),
                None => glossary.push((word, vec![word.stands_for])),
            }
        }
        glossary
    }
}

/// A version of a family.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The family.
    pub family: &'static Family,
    /// The version.
    pub version: &'static Version,
}

/// Why a name is no preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAPreset {
    /// What is wrong, the found name last.
    pub message: String,
    /// What there is.
    pub hint: String,
}

impl Preset {
    /// The preset of this name: a family's word, alone or with `-` and a version.
    pub fn find(name: &str) -> Result<Preset, NotAPreset> {
        Preset::among(&FAMILIES, "preset", name)
    }

    /// The same among these families, which are presets of this kind.
    fn among(families: &[&'static Family], what: &str, name: &str) -> Result<Preset, NotAPreset> {
        let word = patch::family_word(name);
        let found = crate::units::parse::quoted(name);
        let Some(family) = families.iter().copied().find(|family| family.word == word) else {
            let words: Vec<&str> = families.iter().map(|family| family.word).collect();
            let hint = near::existing(&format!("{what}s"), &words, word);
            return Err(NotAPreset { message: format!("no {what} has this name, found {found}"), hint });
        };
        let number = name[word.len()..].trim_start_matches('-');
        let version = if number.is_empty() {
            family.versions.last()
        } else {
            family.versions.iter().find(|version| version.number == number)
        };
        let Some(version) = version else {
            let names: Vec<String> =
                family.versions.iter().map(|version| format!("{word}-{}", version.number)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let message = format!("no version of `{word}` has this number, found {found}");
            return Err(NotAPreset { message, hint: near::existing("versions", &names, name) });
        };
        Ok(Preset { family, version })
    }

    /// Its full name, such as `anthropic-python-1.13`.
    pub fn name(&self) -> String {
        format!("{}-{}", self.family.word, self.version.number)
    }

    /// Turns the library's words in an element's table into general keys, in place, and adds what the library does by
    /// default. Translated values keep the source of the word; defaults are marked as the preset's and stand at
    /// `place`. A general key is settled by the first of its words that says something about it.
    pub fn expand(&self, element: &mut Table, place: Place, faults: &Faults) {
        let said = element.clone();
        for word in self.family.words {
            element.remove(word.word);
        }
        let general = element.clone();
        let mut settled: Vec<&str> = Vec::new();
        for word in self.family.words {
            let key = word.stands_for;
            let Some(entry) = said.get(word.word).filter(|_| !settled.contains(&key)) else { continue };
            let before = faults.len();
            let field = Field::new(entry.key, &entry.node, faults);
            let translated = word.translated(&Spoken { field, key, version: self.version, element: &said });
            if translated.is_none() && faults.len() == before {
                continue;
            }
            settled.push(key);
            if general.contains(key) {
                if !word.yields() {
                    let message = format!("says `{key}` in the words of `{}` too", self.family.word);
                    faults.add(Fault::new(entry.key, message).hint("keep one of them"));
                }
            } else if let Some(value) = translated {
                let mut node = Node::written(value, entry.node.place);
                node.stamp(entry.node.place, entry.node.preset);
                element.insert(key, entry.key, node);
            }
        }
        for (key, entry) in parse::own(self.version.defaults).in_order() {
            if !element.contains(key) {
                let mut node = entry.node.clone();
                node.stamp(place, Some(self.family.word));
                element.insert(key, place, node);
            }
        }
    }

    /// The preset in general keys, as lines of a scenario: what one would write to do without it.
    pub fn in_general_keys(&self) -> String {
        format!("kind = \"{}\"\n{}", self.family.kind.word(), self.keys())
    }

    /// Its general keys alone.
    pub fn keys(&self) -> String {
        let mut element = Table::default();
        self.expand(&mut element, Place::TOP, &Faults::default());
        let lines = element.in_order().into_iter().map(|(key, entry)| format!("{key} = {}\n", entry.node.value));
        lines.collect()
    }
}

/// The family that has this word, and the word; the first one where several have it.
pub fn word_of_some_family(word: &str) -> Option<(&'static Family, &'static Word)> {
    let of = |family: &'static Family| Some((family, family.words.iter().find(|known| known.word == word)?));
    FAMILIES.into_iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Value;

    /// The general keys that these words of a family become, or what is wrong with them.
    pub(super) fn expanded(family: &str, words: &str) -> Result<String, Vec<String>> {
        const FIRST: [&str; 8] = [
            "max_attempts",
            "retry_on",
            "total_budget",
            "budget_check",
            "stops_at",
            "backoff",
            "jitter",
            "longest_wait",
        ];
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find(family).unwrap().expand(&mut element, Place::TOP, &faults);
        if !faults.is_empty() {
            return Err(faults.into_sorted().0.into_iter().map(|fault| fault.message).collect());
        }
        let mut keys = element.in_order();
        keys.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
        let keys: Vec<String> = keys.into_iter().map(|(key, entry)| format!("{key} = {}", entry.node.value)).collect();
        Ok(keys.join(", "))
    }

    #[test]
    fn every_family_has_sound_data() {
        for family in FAMILIES {
            assert!(!family.versions.is_empty(), "{}", family.word);
            assert_eq!(patch::family_word(family.word), family.word, "a version could not be told from the word");
            for version in family.versions {
                let preset = Preset::find(&format!("{}-{}", family.word, version.number)).unwrap();
                assert!(version.source.of().contains(version.number), "{}", preset.name());
                // `own` panics on bad syntax; what the keys mean is checked by the layer that reads them.
                assert!(parse::own(version.defaults).contains("max_attempts"), "{}", preset.name());
            }
            assert_eq!(Preset::find(family.word).unwrap().version.number, family.versions.last().unwrap().number);
        }
    }

    #[test]
    fn a_bad_preset_names_the_near_one() {
        let refused = |name: &str| Preset::find(name).unwrap_err();
        assert_eq!(refused("tenacty").message, r#"no preset has this name, found "tenacty""#);
        assert!(refused("tenacty").hint.ends_with("did you mean `tenacity`?"));
        let version = refused("anthropic-python-1.14");
        assert_eq!(
            version.message,
            r#"no version of `anthropic-python` has this number, found "anthropic-python-1.14""#
        );
        assert!(version.hint.ends_with("did you mean `anthropic-python-1.13`?"), "{}", version.hint);
    }

    #[test]
    fn translated_words_keep_the_place_where_they_were_written() {
        let mut element = parse::own("max_retries = 3\n");
        let value = element.get("max_retries").unwrap().node.place;
        let preset = Preset::find("anthropic-python").unwrap();
        preset.expand(&mut element, Place::TOP, &Faults::default());
        let attempts = &element.get("max_attempts").unwrap().node;
        assert_eq!((&attempts.value, attempts.place, attempts.preset), (&Value::Integer(4), value, None));
        assert_eq!(element.get("jitter").unwrap().node.preset, Some("anthropic-python"));
        assert!(!element.contains("max_retries"));
    }

    #[test]
    fn a_word_beside_its_general_key_is_a_fault() {
        let mut element = parse::own("max_retries = 3\nmax_attempts = 4\n");
        let faults = Faults::default();
        Preset::find("anthropic-python").unwrap().expand(&mut element, Place::TOP, &faults);
        let (list, _) = faults.into_sorted();
        assert_eq!(list[0].message, "says `max_attempts` in the words of `anthropic-python` too");
    }
}
