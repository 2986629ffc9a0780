//! Every number of every shipped scenario and variant, seed 1, single run, against stored files. A change of any of them
//! must be meant: renew the files with `SNAPSHOTS=overwrite cargo test --test it golden` and look at the difference.

use std::fmt::Write as _;
use std::path::PathBuf;

use retrycast::metrics::{Number, Tree};
use snapbox::{Data, assert_data_eq};

use super::stage::{Run, all_shipped};

fn shown(number: &Number) -> String {
    number.get().map_or_else(|| "–".to_owned(), |value| format!("{value}"))
}

/// One line for each table that holds numbers: its path, then names and values.
fn lines(path: &str, tree: &Tree<Number>, out: &mut String) {
    let mut line = String::new();
    for (name, branch) in tree.branches() {
        if let Tree::Leaf(number) = branch {
            write!(line, " {name} {}", shown(number)).unwrap();
        }
    }
    if !line.is_empty() {
        writeln!(out, "{path}:{line}").unwrap();
    }
    for (name, branch) in tree.branches() {
        if let Tree::Table(_) = branch {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            lines(&inner, branch, out);
        }
    }
}

#[test]
fn all_numbers_of_shipped_scenarios_are_the_stored_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for scenario in all_shipped() {
        let mut text = String::new();
        lines("", &Run::of(&scenario, 1).0, &mut text);
        let file = folder.join(format!("{}-{}.txt", scenario.name, scenario.variant));
        if !file.exists() {
            std::fs::write(&file, "").unwrap();
        }
        assert_data_eq!(text, Data::read_from(&file, None).raw());
    }
}

#[test]
fn every_golden_file_belongs_to_a_shipped_scenario() {
    let mut names: Vec<String> = all_shipped().iter().map(|s| format!("{}-{}.txt", s.name, s.variant)).collect();
    names.push("digests.txt".to_owned());
    for entry in std::fs::read_dir("tests/golden").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "`tests/golden/{name}` belongs to no scenario");
    }
}
