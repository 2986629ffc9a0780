//! No input makes the reader or the page of faults panic, whatever is refused has a fault to show, and what is accepted
//! runs.

use proptest::prelude::*;
use retrycast::experiment::{self, Terms};
use retrycast::explain::explain;
use retrycast::random::Seed;
use retrycast::scenario::{Source, load};

use super::scenario_errors::{SOUND, no_trace};
use super::scenario_vocabulary::every_key;
use super::small_world::{Tape, text};

fn shipped() -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir("scenarios").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")).map(read).collect()
}

#[test]
fn every_variant_of_every_shipped_scenario_is_accepted() {
    for (path, text) in shipped() {
        let variants = load(&Source::new(&path, &text)).unwrap().variants;
        for variant in &variants {
            let source = Source { variant: Some(variant), ..Source::new(&path, &text) };
            assert!(load(&source).is_ok(), "{path} {variant}");
        }
    }
}

#[test]
fn the_reference_names_every_preset_and_its_example_is_sound() {
    let reference = std::fs::read_to_string("docs/scenario.md").unwrap();
    let layers = retrycast::preset::FAMILIES.into_iter().map(|family| (family, ""));
    let breakers = retrycast::preset::breakers::FAMILIES.into_iter().map(|family| (family, "breakers/"));
    let queues = retrycast::preset::queues::QUEUES.iter().map(|queue| (queue.family, "queues/"));
    for (family, kind) in layers.chain(breakers).chain(queues) {
        let row = reference.lines().find(|line| line.starts_with(&format!("| `{kind}{}` |", family.word)));
        let row = row.unwrap_or_else(|| panic!("no row for {}", family.word));
        for part in family.versions.iter().map(|v| v.number).chain(family.words.iter().map(|w| w.word)) {
            assert!(row.contains(part), "{} lacks {part}", family.word);
        }
    }
    let code = |line: &&str| line.starts_with("    ") || line.is_empty();
    let example: Vec<&str> =
        reference.lines().skip_while(|line| !line.starts_with("    title")).take_while(code).map(str::trim).collect();
    load(&Source::new("example.toml", &example.join("\n"))).unwrap();
}

/// Loads and renders; the value does not matter, that there is one does.
fn survives(text: &str, sets: &[String]) {
    let source = Source { sets, trace: &no_trace, ..Source::new("any.toml", text) };
    if let Err(refusal) = load(&source) {
        assert!(refusal.count() > 0);
        #[cfg(feature = "cli")]
        for colour in [false, true] {
            assert!(!retrycast::cli::refusal::render(&refusal, colour).is_empty());
        }
    }
}

/// Pieces from which mutations are made: what the grammar knows, in places where it does not.
const PIECES: [&str; 24] = [
    "=",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "\n",
    "\"",
    "'",
    "\"\"\"",
    "nan",
    "-inf",
    "1e999",
    "\"-1s\"",
    "\"366d\"",
    "0",
    "true",
    "\"unlimited\"",
    "[]",
    "{}",
    "\u{0}",
    "é",
    "99999999999999999999",
];

/// Values that are sound for many keys, and seldom wise.
const ODD: [&str; 16] = [
    "\"0s\"",
    "\"1ns\"",
    "\"366d\"",
    "1",
    "0",
    "5",
    "1_000_000",
    "\"50%\"",
    "\"any\"",
    "\"none\"",
    "\"unlimited\"",
    "\"hop\"",
    "true",
    "[\"s0\"]",
    "{ uniform = [\"0s\", \"366d\"] }",
    "{ lognormal = { mean = \"1ns\", sigma = 10 } }",
];

/// What stands behind the `=` number `n` of a text: where it begins and ends.
fn value(text: &str, n: prop::sample::Index) -> std::ops::Range<usize> {
    let places: Vec<usize> = text.match_indices(" = ").map(|(at, _)| at + 3).collect();
    let from = places[n.index(places.len())];
    let length = text[from..].find([',', '\n', '}']).unwrap_or(text.len() - from);
    from..from + length
}

/// What is accepted is explained, and runs: to its end, or until it has sent too much.
fn runs(text: &str) {
    let Ok(scenario) = load(&Source { trace: &no_trace, ..Source::new("any.toml", text) }) else { return };
    let never = std::sync::atomic::AtomicBool::new(false);
    assert_eq!(explain(&scenario).classes.len(), scenario.traffic.len());
    let terms = Terms { most_requests: 2_000, ..Terms::new(&never) };
    let _ = experiment::run(&scenario, Seed(1), None, Some(1), terms);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}", set in "\\PC{0,40}") {
        survives(&text, std::slice::from_ref(&set));
        survives(SOUND, &[set]);
    }

    #[test]
    fn arbitrary_toml_like_text_never_panics(text in "([a-c]{1,2}|[\\[\\]{}=.,\"'#\n 0-9])*") {
        survives(&text, &[]);
    }

    #[test]
    fn mutations_of_shipped_scenarios_never_panic(
        which in 0..60_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, 0..PIECES.len()), 1..4),
    ) {
        let mut texts: Vec<String> = shipped().into_iter().map(|(_, text)| text).collect();
        texts.extend([SOUND.to_owned(), every_key()]);
        let mut text = texts[which % texts.len()].clone();
        for (at, length, piece) in edits {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let from = boundary(at.index(text.len().max(1)));
            let to = boundary(from + length).max(from);
            text.replace_range(from..to, PIECES[piece]);
        }
        survives(&text, &[]);
    }

    #[test]
    fn values_swapped_within_a_scenario_never_panic(which in 0..60_usize, a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let mut texts: Vec<String> = shipped().into_iter().map(|(_, text)| text).collect();
        texts.extend([SOUND.to_owned(), every_key()]);
        let text = &texts[which % texts.len()];
        // Every `= value` up to the end of its line or the next comma is a candidate.
        let values: Vec<&str> = text.split(" = ").skip(1).map(|rest| rest.split([',', '\n', '}']).next().unwrap_or("")).collect();
        let (old, new) = (values[a.index(values.len())], values[b.index(values.len())]);
        survives(&text.replacen(&format!(" = {old}"), &format!(" = {new}"), 1), &[]);
    }

    #[test]
    fn random_worlds_with_odd_values_are_refused_or_run(
        words in prop::collection::vec(any::<u16>(), 60..300),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..2 * ODD.len()), 1..4),
    ) {
        let mut text = text(&mut Tape::new(&words));
        for (at, from, odd) in edits {
            let new = ODD.get(odd).map_or_else(|| text[value(&text, from)].to_owned(), |odd| (*odd).to_owned());
            let old = value(&text, at);
            text.replace_range(old, &new);
        }
        survives(&text, &[]);
        runs(&text);
    }
}

#[test]
fn a_limit_that_misspells_what_it_counts_is_refused() {
    let text = SOUND.to_owned() + "\n[provider.limits.one]\ncounst = \"requests\"\n";
    let Err(refusal) = load(&Source::new("any.toml", &text)) else { panic!("accepted") };
    assert!(format!("{refusal:?}").contains("did you mean `counts`?"), "{refusal:?}");
}
