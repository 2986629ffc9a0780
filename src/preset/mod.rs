//! Client libraries retry differently and say it in words of their own: one counts retries, another attempts, a third
//! reads its list of waits from the end. A preset is a table of such words: the library's word, the general key that
//! it stands for, how the value maps, and what the library does where nobody says anything.
//!
//! Words and keys need not match one to one. A key may be made of several words (`backoff_factor` and
//! `backoff_jitter` of urllib3 are one `backoff`), and a word may decide several keys (the `mode` of botocore): then the
//! table has a line for each pair.
//!
//! A family is data, one file each: to add one, write its file, list it in [`FAMILIES`], and the tests below check it.
//! Its defaults are general keys in scenario syntax, one text per version, measured on the release that is named.

mod anthropic_python;
mod aws_smithy;
mod axios_retry;
mod botocore;
mod got;
mod grpc_js;
mod http;
mod httpx_retries;
mod ky;
mod openai_python;
mod requests;
mod rq;
mod stainless;
mod tenacity;
mod undici;
mod urllib3;

use crate::document::{Fault, Faults, Field, Node, Place, Table, Value, near, parse, patch};
use crate::policy::Kind;
use crate::units::SimDuration;

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
    /// The library's own words.
    pub words: &'static [Word],
}

/// A version of a library.
#[derive(Debug)]
pub struct Version {
    /// Its number, as precise as it matters.
    pub number: &'static str,
    /// The release that was measured.
    pub measured_on: &'static str,
    /// What the library does by default, as general keys in scenario syntax.
    pub defaults: &'static str,
}

/// A word of a library, with one general key that it decides or has a part in.
#[derive(Debug)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// The general key that it stands for.
    pub stands_for: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// The value of the general key; `None` after a fault, or where the word leaves it as it is. The words that make a
    /// key together share this: it is asked once, for the first of them that is said.
    translate: fn(&Spoken<'_>) -> Option<Value>,
}

/// A word and the first general key that it decides.
const fn word(
    word: &'static str,
    stands_for: &'static str,
    meaning: &'static str,
    translate: fn(&Spoken<'_>) -> Option<Value>,
) -> Word {
    Word { word, stands_for, meaning, translate }
}

/// A further general key that a word above has a part in.
const fn also(word: &'static str, stands_for: &'static str, translate: fn(&Spoken<'_>) -> Option<Value>) -> Word {
    Word { word, stands_for, meaning: "", translate }
}

/// A word as the file uses it.
#[derive(Debug)]
struct Spoken<'a> {
    /// Its value.
    field: Field<'a>,
    /// The general key that is asked for.
    key: &'static str,
    /// The version that speaks.
    version: &'static Version,
    /// The element's table, for words whose meaning depends on another one.
    element: &'a Table,
}

impl<'a> Spoken<'a> {
    /// This word or another one of the element, where it is said.
    fn word(&self, word: &str) -> Option<Field<'a>> {
        let entry = self.element.get(word)?;
        Some(Field::new(entry.key, &entry.node, self.field.faults()))
    }

    /// A word converted: `default` where it is not said, `None` where it is wrong.
    fn or<T>(&self, word: &str, default: T, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<T> {
        self.word(word).map_or(Some(default), |field| convert(&field))
    }

    /// A word converted; without it, the one that was said says nothing.
    fn needs<T>(&self, word: &str, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<T> {
        if let Some(field) = self.word(word) {
            return convert(&field);
        }
        let fault = Fault::new(self.field.key, format!("says nothing without `{word}`"));
        self.field.faults().add(fault.hint(format!("write `{word}` too")));
        None
    }
}

/// Every family, in the order of the documentation.
pub const FAMILIES: [&Family; 14] = [
    &anthropic_python::FAMILY,
    &openai_python::FAMILY,
    &urllib3::FAMILY,
    &requests::FAMILY,
    &httpx_retries::FAMILY,
    &botocore::FAMILY,
    &aws_smithy::FAMILY,
    &grpc_js::FAMILY,
    &undici::FAMILY,
    &got::FAMILY,
    &ky::FAMILY,
    &axios_retry::FAMILY,
    &tenacity::FAMILY,
    &rq::FAMILY,
];

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

impl Family {
    /// Whether the word has a part in more than one general key.
    fn decides_several(&self, word: &str) -> bool {
        self.words.iter().filter(|known| known.word == word).count() > 1
    }

    /// Its words in order, each once, with what it means and the general keys that it decides.
    pub fn glossary(&self) -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
        let mut glossary: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for word in self.words {
            match glossary.iter_mut().find(|(known, _, _)| *known == word.word) {
                Some((_, _, keys)) => keys.push(word.stands_for),
                None => glossary.push((word.word, word.meaning, vec![word.stands_for])),
            }
        }
        glossary
    }
}

impl Preset {
    /// The preset of this name: a family's word, alone or with `-` and a version.
    pub fn find(name: &str) -> Result<Preset, NotAPreset> {
        let word = patch::family_word(name);
        let found = crate::units::parse::quoted(name);
        let Some(family) = FAMILIES.into_iter().find(|family| family.word == word) else {
            let words: Vec<&str> = FAMILIES.iter().map(|family| family.word).collect();
            let hint = near::existing("presets", &words, word);
            return Err(NotAPreset { message: format!("no preset has this name, found {found}"), hint });
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
    /// `place`. A general key beside the one word for it is a fault; a word that decides several keys gives way to it.
    pub fn expand(&self, element: &mut Table, place: Place, faults: &Faults) {
        let words = self.family.words;
        let spoken = element.clone();
        for word in words {
            element.remove(word.word);
        }
        let written = element.clone();
        let mut asked: Vec<&str> = Vec::new();
        for word in words {
            let key = word.stands_for;
            let Some(entry) = spoken.get(word.word) else { continue };
            if written.contains(key) && !self.family.decides_several(word.word) {
                let message = format!("says `{key}` in the words of `{}` too", self.family.word);
                faults.add(Fault::new(entry.key, message).hint("keep one of them"));
            }
            if asked.contains(&key) {
                continue;
            }
            asked.push(key);
            let field = Field::new(entry.key, &entry.node, faults);
            let translated = (word.translate)(&Spoken { field, key, version: self.version, element: &spoken });
            if let (Some(value), false) = (translated, written.contains(key)) {
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
        let mut element = Table::default();
        self.expand(&mut element, Place::TOP, &Faults::default());
        let lines = element.in_order().into_iter().map(|(key, entry)| format!("{key} = {}\n", entry.node.value));
        format!("kind = \"{}\"\n{}", self.family.kind.word(), lines.collect::<String>())
    }
}

/// The family that has this word, and the word; the first one where several have it.
pub fn word_of_some_family(word: &str) -> Option<(&'static Family, &'static Word)> {
    let of = |family: &'static Family| Some((family, family.words.iter().find(|known| known.word == word)?));
    FAMILIES.into_iter().find_map(of)
}

/// The word as it is: the general key has the same form.
#[expect(clippy::unnecessary_wraps, reason = "it stands in a table beside words that can be wrong")]
fn as_it_is(spoken: &Spoken<'_>) -> Option<Value> {
    Some(spoken.field.node.value.clone())
}

/// Retries after the first try: one attempt more than that.
fn retries_to_attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let retries = spoken.field.whole(0..=999_999)?;
    Some(Value::Integer(i64::try_from(retries).ok()? + 1))
}

/// A table of one key.
fn form(name: &str, value: Value) -> Value {
    table([(name, value)])
}

/// A table of these keys.
fn table<const N: usize>(keys: [(&str, Value); N]) -> Value {
    let mut table = Table::default();
    for (name, value) in keys {
        table.insert(name, Place::TOP, Node::written(value, Place::TOP));
    }
    Value::Table(table)
}

/// A list of durations.
fn durations(waits: impl IntoIterator<Item = SimDuration>) -> Value {
    list(waits.into_iter().map(duration))
}

/// A list of these values.
fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(values.into_iter().map(|value| Node::written(value, Place::TOP)).collect())
}

/// A duration.
fn duration(duration: SimDuration) -> Value {
    Value::String(duration.to_string())
}

/// A word.
fn text(word: &str) -> Value {
    Value::String(word.to_owned())
}

/// An exponential backoff.
fn exponential(initial: SimDuration, factor: f64, cap: Option<SimDuration>) -> Value {
    let (initial, factor) = (duration(initial), Value::Float(factor));
    let ladder = match cap {
        Some(cap) => table([("initial", initial), ("factor", factor), ("cap", duration(cap))]),
        None => table([("initial", initial), ("factor", factor)]),
    };
    form("exponential", ladder)
}

/// A rule that obeys hints up to a cap, with what happens above it.
fn obey(cap: SimDuration, above: &str) -> Value {
    form("obey", table([("cap", duration(cap)), ("above", text(above))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_sound_data() {
        for family in FAMILIES {
            assert!(!family.versions.is_empty(), "{}", family.word);
            assert_eq!(patch::family_word(family.word), family.word, "a version could not be told from the word");
            for version in family.versions {
                let preset = Preset::find(&format!("{}-{}", family.word, version.number)).unwrap();
                assert!(version.measured_on.contains(version.number), "{}", preset.name());
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
