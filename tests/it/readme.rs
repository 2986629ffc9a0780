//! The commands that the README and the pages in `docs/` show are run, and print what the pages say they print.
//!
//! A block marked `console` holds commands behind `$ ` and what they print, standard output and then standard error. A
//! line that is only `…` stands for any lines. Pages are renewed by `SNAPSHOTS=overwrite cargo test --test it readme`,
//! which keeps as many lines before and after a `…` as there were. Blocks marked `sh` are not run.

use std::path::Path;
use std::process::Command;

use snapbox::{Data, assert_data_eq};

/// What stands for any lines.
const ANY: &str = "…";

/// A command as the shell splits it: words, single and double quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The program's arguments in a command of a page; `None` for what is not run here.
fn arguments(command: &str) -> Option<Vec<String>> {
    let words = words(command);
    let program = |start: &[&str]| words.iter().map(String::as_str).take(start.len()).eq(start.iter().copied());
    for start in [&["cargo", "run", "--release", "--"][..], &["retrycast"]] {
        if program(start) {
            return Some(words[start.len()..].to_vec());
        }
    }
    assert!(program(&["cargo", "test"]), "a page shows a command that cannot be checked: {command}");
    None
}

/// What a command prints, run in a folder that has the shipped scenarios.
fn printed(command: &str, folder: &Path) -> Vec<String> {
    let Some(arguments) = arguments(command) else { return Vec::new() };
    let mut program = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let output = program.args(arguments).current_dir(folder).env_remove("COLUMNS").output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap().trim_end().lines().map(str::to_owned).collect()
}

/// What is printed, with the lines that the page leaves out left out.
fn elided(printed: Vec<String>, shown: &[&str]) -> Vec<String> {
    let Some(gap) = shown.iter().position(|line| *line == ANY) else { return printed };
    let tail = shown.len() - gap - 1;
    if printed.len() <= gap + tail {
        return printed;
    }
    let (head, tail) = (&printed[..gap], &printed[printed.len() - tail..]);
    head.iter().cloned().chain([ANY.to_owned()]).chain(tail.iter().cloned()).collect()
}

/// The page as it would be if every command had just been run.
fn renewed(page: &str, folder: &Path) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line != "```console" {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command before the output: {line}"));
            out.push(line.to_owned());
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                shown.push(line);
            }
            out.extend(elided(printed(command, folder), &shown));
        }
    }
    out.join("\n") + "\n"
}

fn check(page: &str) {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = folder.path().join("scenarios");
    std::fs::create_dir(&scenarios).unwrap();
    for entry in std::fs::read_dir("scenarios").unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, scenarios.join(path.file_name().unwrap())).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_data_eq!(renewed(&text, folder.path()), Data::read_from(&path, None).raw());
}

#[test]
fn the_commands_of_the_readme_print_what_it_shows() {
    check("README.md");
}

#[test]
fn the_commands_of_the_pages_print_what_they_show() {
    let mut pages: Vec<String> = std::fs::read_dir("docs")
        .unwrap()
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    pages.sort();
    for page in &pages {
        check(page);
    }
}

#[test]
fn a_gap_keeps_the_lines_around_it() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(elided(lines("a b c d e"), &["x", ANY, "y"]), ["a", ANY, "e"]);
    assert_eq!(elided(lines("a b"), &["x", ANY, "y"]), ["a", "b"]);
    assert_eq!(elided(lines("a b c"), &["x"]), ["a", "b", "c"]);
    assert_eq!(words(r#"run a.toml --set 'x = "y z"' """#), ["run", "a.toml", "--set", "x = \"y z\"", ""]);
}
