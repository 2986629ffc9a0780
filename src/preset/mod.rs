//! Client libraries retry differently and say it in words of their own: one counts retries, another attempts, a third
//! reads its list of waits from the end. A preset is a table of such words: the library's word, the general key that
//! it stands for, how the value maps, and what the library does where nobody says anything.
//!
//! A family is data, one file each: to add one, write its file, list it in [`FAMILIES`], and the tests below check it.
//! Its defaults are general keys in scenario syntax, one text per version, and each says whether they were measured or
//! are what the documentation states.
//!
//! Words and keys need not match one to one. Several words may make one key (the four words about waits of stamina are
//! one `backoff`): the first that is spoken reads the others. One word may decide several keys (the `stop` of tenacity
//! is attempts, time and how they combine): it stands in several rows, or says `also`.

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
mod http;
mod httpx_retries;
mod huey;
mod ky;
mod litellm;
mod node_retry;
mod openai_npm;
mod openai_python;
mod opnieuw;
mod p_retry;
mod polly;
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
mod undici;
mod urllib3;
mod workqueue;

use crate::document::{Fault, Faults, Field, Node, Place, Table, Value, near, parse, patch};
use crate::policy::Kind;
use crate::units::SimDuration;
use std::cell::RefCell;

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

/// A word of a library, with one general key that it decides or has a part in.
#[derive(Debug)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// The general key that it stands for.
    pub stands_for: &'static str,
    /// What it means, in a few words; behind them, in parentheses, `default` and the value that saying nothing means.
    pub meaning: &'static str,
    /// The value of the general key; `None` after a fault, and where the word leaves that key alone. The words that make
    /// a key together share this: it is asked once, for the first of them that is said.
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

/// A word as the file uses it. Words that stand for the same general key are one statement: the first of them in the
/// family's table is translated, and asks for the others.
#[derive(Debug)]
struct Spoken<'a> {
    /// Its value.
    field: Field<'a>,
    /// The general key that is asked for.
    key: &'static str,
    /// The element's table, for words whose meaning depends on another one.
    element: &'a Table,
    /// The version that is spoken to.
    version: &'static Version,
    /// Further general keys that the word sets.
    also: RefCell<Vec<(&'static str, Value)>>,
}

impl<'a> Spoken<'a> {
    /// Another word of the element, where it is said.
    fn word(&self, word: &str) -> Option<Field<'a>> {
        let entry = self.element.get(word)?;
        Some(Field::new(entry.key, &entry.node, self.field.faults()))
    }

    /// Another word converted: `default` where it is not said, `None` where it is wrong.
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

    /// Sets a further general key.
    fn also(&self, key: &'static str, value: Value) {
        self.also.borrow_mut().push((key, value));
    }
}

impl Word {
    /// What it means, without its default.
    pub fn gist(&self) -> &'static str {
        self.split().0
    }

    /// The value that saying nothing means, in scenario syntax.
    pub fn default(&self) -> Option<&'static str> {
        self.split().1
    }

    fn split(&self) -> (&'static str, Option<&'static str>) {
        match self.meaning.strip_suffix(')').and_then(|open| open.split_once(" (default ")) {
            Some((gist, default)) => (gist, Some(default)),
            None => (self.meaning, None),
        }
    }
}

/// Every family: clients, decorators and queues, measured ones before documented ones.
pub const FAMILIES: [&Family; 43] = [
    &anthropic_python::FAMILY,
    &anthropic_npm::FAMILY,
    &openai_python::FAMILY,
    &openai_npm::FAMILY,
    &litellm::FAMILY,
    &google_api_core::FAMILY,
    &google_genai::FAMILY,
    &botocore::FAMILY,
    &aws_smithy::FAMILY,
    &grpc_js::FAMILY,
    &urllib3::FAMILY,
    &requests::FAMILY,
    &httpx_retries::FAMILY,
    &undici::FAMILY,
    &got::FAMILY,
    &ky::FAMILY,
    &axios_retry::FAMILY,
    &reqwest_retry::FAMILY,
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
    /// Whether the word stands in more than one row.
    fn decides_several(&self, word: &str) -> bool {
        self.words.iter().filter(|known| known.word == word).count() > 1
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
    /// `place`. A general key beside the one word for it is a fault; a word of several rows gives way to it.
    pub fn expand(&self, element: &mut Table, place: Place, faults: &Faults) {
        let said = element.clone();
        for word in self.family.words {
            element.remove(word.word);
        }
        let general = element.clone();
        // A general key is settled by the first of its words, and a word that stands in several rows is refused once.
        let (mut settled, mut read, unheard) = (Vec::new(), Vec::new(), Faults::default());
        for word in self.family.words {
            let Some(entry) = said.get(word.word).filter(|_| !settled.contains(&word.stands_for)) else { continue };
            let heard = if read.contains(&word.word) { &unheard } else { faults };
            read.push(word.word);
            let before = heard.len();
            let field = Field::new(entry.key, &entry.node, heard);
            let (key, also) = (word.stands_for, RefCell::default());
            let spoken = Spoken { field, key, element: &said, version: self.version, also };
            let main = (word.translate)(&spoken).map(|value| (word.stands_for, value));
            let also = spoken.also.into_inner();
            if main.is_none() && also.is_empty() && heard.len() == before {
                continue;
            }
            settled.push(word.stands_for);
            for (key, value) in main.into_iter().chain(also) {
                if general.contains(key) {
                    if !self.family.decides_several(word.word) {
                        let message = format!("says `{key}` in the words of `{}` too", self.family.word);
                        faults.add(Fault::new(entry.key, message).hint("keep one of them"));
                    }
                    continue;
                }
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
    one_more(&spoken.field)
}

/// One more than this number of retries.
fn one_more(retries: &Field<'_>) -> Option<Value> {
    Some(Value::Integer(i64::try_from(retries.whole(0..=999_999)?).ok()? + 1))
}

/// A number of attempts, without end for `"none"`.
fn attempts_or_none(attempts: &Field<'_>) -> Option<Value> {
    if attempts.is_none() {
        return Some(text("unlimited"));
    }
    Some(Value::Integer(i64::try_from(attempts.whole(1..=1_000_000)?).ok()?))
}

/// A table of one key.
fn form(name: &str, value: Value) -> Value {
    table([(name, value)])
}

/// A table of these keys.
fn table<'k>(keys: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
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

/// A duration as a value, at most the longest that a file can say.
fn duration(time: SimDuration) -> Value {
    Value::String(time.min(crate::units::parse::LONGEST).to_string())
}

/// A word.
fn text(word: &str) -> Value {
    Value::String(word.to_owned())
}

/// Retries after the first try, without end for `"none"`.
fn retries_or_none(retries: &Field<'_>) -> Option<Value> {
    if retries.is_none() { Some(text("unlimited")) } else { one_more(retries) }
}

/// A limit on time, none for `"none"`: the general keys say it alike.
fn time_limit(field: &Field<'_>) -> Option<Value> {
    if field.is_none() { Some(text("none")) } else { field.positive_duration().map(duration) }
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

/// A share as jitter that only adds, or none.
fn adds_up_to_itself(adds: bool) -> Value {
    if adds { form("add_share", text("100%")) } else { text("none") }
}

/// A duration of a library that counts in milliseconds: a bare number is refused as what it would mean there.
fn milliseconds(field: &Field<'_>) -> Option<SimDuration> {
    match field.node.value {
        Value::Integer(number) => field.must("be a duration with a unit", format!("write \"{}ms\"", number.max(0))),
        _ => field.duration(),
    }
}

/// A rule that obeys hints up to a cap, with what happens above it.
fn obey(cap: SimDuration, above: &str) -> Value {
    form("obey", table([("cap", duration(cap)), ("above", text(above))]))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_default_that_is_spelled_out_changes_nothing() {
        for family in FAMILIES {
            let preset = Preset::find(family.word).unwrap();
            for word in family.words {
                let Some(default) = word.default() else { continue };
                let (mut silent, faults) = (Table::default(), Faults::default());
                preset.expand(&mut silent, Place::TOP, &faults);
                let mut element = parse::own(&format!("{} = {default}\n", word.word));
                preset.expand(&mut element, Place::TOP, &faults);
                assert!(faults.is_empty(), "{} {}: {faults:?}", family.word, word.word);
                // The same wait may be spelled differently: what it means is compared where it is read.
                let keys =
                    |table: &Table| table.in_order().iter().map(|(key, _)| (*key).to_owned()).collect::<Vec<_>>();
                let (mut said, mut unsaid) = (keys(&element), keys(&silent));
                said.sort();
                unsaid.sort();
                assert_eq!(said, unsaid, "{} {}", family.word, word.word);
            }
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
