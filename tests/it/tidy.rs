//! The house keeps its own rules: layers only look down, nothing random or timed reaches the model, no file is unused,
//! grows without end, or speaks of what does not belong into it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Every text file below a folder, as (path with slashes, text), in order.
fn texts(folder: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            out.extend(texts(path.to_str().unwrap()));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            out.push((path.to_str().unwrap().replace('\\', "/"), text));
        }
    }
    out
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let mut sources = texts(folder);
    sources.retain(|(path, _)| has_ending(path, "rs"));
    sources
}

fn has_ending(path: &str, ending: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == ending)
}

/// Everything that people read or run.
fn house() -> Vec<(String, String)> {
    let mut all: Vec<_> = ["src", "tests", "benches", "docs", "scenarios", ".ci", "outputs/reference"]
        .into_iter()
        .flat_map(texts)
        .collect();
    for file in ["README.md", "CHANGELOG.md", "Cargo.toml"] {
        all.push((file.to_owned(), std::fs::read_to_string(file).unwrap()));
    }
    all
}

/// Fails with all that is wrong, one on a line.
#[track_caller]
fn none(wrong: &[String], rule: &str) {
    let list = wrong.iter().fold(String::new(), |mut list, line| {
        writeln!(list, "  {line}").unwrap();
        list
    });
    assert!(wrong.is_empty(), "{rule}:\n{list}");
}

/// The code of a line, without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// Layers from the lowest to the highest, as the crate's documentation lists them.
fn layers() -> Vec<String> {
    let text = std::fs::read_to_string("src/lib.rs").unwrap();
    let after = text.split("A module uses only modules to its left:").nth(1).unwrap();
    let block = after.split("```").nth(1).unwrap().trim_start_matches("text");
    block.replace("//!", " ").split(['<', '\n']).map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect()
}

#[test]
fn every_folder_of_the_source_is_a_layer() {
    let layers = layers();
    assert_eq!(layers.last().map(String::as_str), Some("main"));
    let mut folders: Vec<String> = std::fs::read_dir("src")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    folders.push("main".to_owned());
    folders.sort();
    let mut named = layers;
    named.sort();
    assert_eq!(folders, named, "src/ and the list of layers in src/lib.rs differ");
}

#[test]
fn a_layer_uses_only_layers_to_its_left() {
    let layers = layers();
    let place = |name: &str| layers.iter().position(|layer| layer == name);
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let Some(own) = path.split('/').nth(1).and_then(&place) else { continue };
        for (n, line) in text.lines().enumerate() {
            for rest in code(line).split("crate::").skip(1) {
                let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if place(&used).is_some_and(|used| used > own) {
                    wrong.push(format!("{path}:{}: {} uses {used}", n + 1, layers[own]));
                }
            }
        }
    }
    none(&wrong, "a layer looks up");
}

/// What gives other results on another machine or at another time, and who may use it because it reaches no result.
const UNSTEADY: [&str; 9] = [
    "HashMap",
    "HashSet",
    "RandomState",
    "Instant::now",
    "SystemTime",
    "rand::rng(",
    "thread_rng",
    "StdRng",
    "SmallRng",
];

#[test]
fn nothing_unsteady_is_in_the_source() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        for (n, line) in text.lines().enumerate() {
            for word in UNSTEADY {
                if code(line).contains(word) {
                    wrong.push(format!("{path}:{}: {word}", n + 1));
                }
            }
        }
    }
    none(&wrong, "the same seed must give the same bytes everywhere");
}

/// Words that say that something is unfinished, that a name was not found, or that speak of how the project is made.
/// Split, so that this file does not hold them.
const BANNED: [(&str, &str); 10] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("#[ign", "ore"),
    ("should_", "panic"),
    ("db", "g!("),
    ("/wo", "rk/"),
    ("/tm", "p/rc"),
    ("/ho", "me/"),
    ("/ro", "ot/"),
    ("crates", ".io"),
];

#[test]
fn no_file_holds_a_banned_word() {
    let banned = BANNED.map(|(a, b)| format!("{a}{b}"));
    let mut wrong = Vec::new();
    for (path, text) in house() {
        // The licence of the fonts is not ours to edit.
        for (n, line) in text.lines().enumerate().filter(|_| !path.ends_with("OFL.txt")) {
            for word in banned.iter().filter(|word| line.contains(word.as_str())) {
                wrong.push(format!("{path}:{}: {word}", n + 1));
            }
        }
    }
    none(&wrong, "banned words");
}

#[test]
fn no_module_is_named_after_nothing() {
    let vague = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "handler", "types"];
    let all = sources("src").into_iter().chain(sources("tests")).chain(sources("benches"));
    let names = all.filter(|(path, _)| path.split('/').any(|part| vague.contains(&part.trim_end_matches(".rs"))));
    none(&names.map(|(path, _)| path).collect::<Vec<_>>(), "a file is a noun");
}

/// How long a file may be, in lines.
const LONGEST: usize = 450;

/// Files that are longer, with the length that they may not exceed. The list only gets shorter and its numbers smaller.
const LONG: [(&str, usize); 4] = [
    ("src/policy/backoff.rs", 500),
    ("src/policy/stack.rs", 460),
    ("src/sim/engine.rs", 910),
    ("tests/it/scenario_errors.rs", 580),
];

#[test]
fn files_stay_short() {
    let long: BTreeMap<&str, usize> = LONG.into();
    let mut wrong = Vec::new();
    let mut still_long = BTreeSet::new();
    for (path, text) in sources("src").into_iter().chain(sources("tests")).chain(sources("benches")) {
        let lines = text.lines().count();
        if lines > LONGEST {
            still_long.insert(path.clone());
        }
        let most = *long.get(path.as_str()).unwrap_or(&LONGEST);
        if lines > most {
            wrong.push(format!("{path}: {lines} lines, at most {most}"));
        }
    }
    let idle = long.keys().filter(|path| !still_long.contains(**path));
    wrong.extend(idle.map(|path| format!("{path}: short enough to leave the list in tests/it/tidy.rs")));
    none(&wrong, "a long file asks to be two");
}

#[test]
fn every_source_file_is_a_module_of_its_folder() {
    let mut wrong = Vec::new();
    let texts: BTreeMap<String, String> = sources("src").into_iter().chain(sources("tests")).collect();
    for path in texts.keys() {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let stem = name.trim_end_matches(".rs");
        let (parent, module) = match stem {
            "main" | "lib" => continue,
            "mod" => folder.rsplit_once('/').unwrap(),
            stem => (folder, stem),
        };
        let roots = ["mod.rs", "lib.rs", "main.rs"].map(|root| format!("{parent}/{root}"));
        let is_named = |root: &String| texts.get(root).is_some_and(|text| text.contains(&format!("mod {module};")));
        if !roots.iter().any(is_named) {
            wrong.push(path.clone());
        }
    }
    none(&wrong, "no module list names these");
}

#[test]
fn every_data_file_of_the_tests_is_named_by_a_test() {
    let code: String = sources("tests").into_iter().chain(sources("src")).map(|(_, text)| text).collect();
    let mut wrong = texts("tests");
    // Some folders are read as a whole: golden files belong to scenarios, measurements to libraries.
    let whole = ["tests/golden/", "tests/conformance/"];
    wrong.retain(|(path, _)| !has_ending(path, "rs") && !whole.iter().any(|folder| path.starts_with(folder)));
    wrong.retain(|(path, _)| !code.contains(path.rsplit('/').next().unwrap().trim_end_matches(".txt")));
    none(&wrong.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), "nobody reads these");
}

/// The targets of links and pictures in a Markdown text that lead to files.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).map(str::to_owned).collect()
}

#[test]
fn links_lead_to_files_and_every_page_is_linked() {
    let mut linked = BTreeSet::new();
    let mut wrong = Vec::new();
    for (path, text) in house().into_iter().filter(|(path, _)| has_ending(path, "md")) {
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        for link in links(&text) {
            match Path::new(folder).join(&link).canonicalize() {
                Ok(target) => {
                    linked.insert(target);
                }
                Err(_) => wrong.push(format!("{path} links to {link}")),
            }
        }
    }
    for (path, _) in texts("docs") {
        if !linked.contains(&Path::new(&path).canonicalize().unwrap()) {
            wrong.push(format!("{path} is linked from nowhere"));
        }
    }
    none(&wrong, "links");
}

#[test]
fn every_bench_is_declared() {
    let manifest = std::fs::read_to_string("Cargo.toml").unwrap();
    let mut benches = sources("benches");
    benches.retain(|(path, _)| path.matches('/').count() == 1);
    benches.retain(|(path, _)| {
        let name = path.trim_start_matches("benches/").trim_end_matches(".rs");
        !manifest.contains(&format!("[[bench]]\nname = \"{name}\"\nharness = false"))
    });
    none(&benches.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), "declare these in Cargo.toml");
}
