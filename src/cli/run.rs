//! `retrycast run`: read, check, make sure that the results can be kept, simulate, report.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

use super::args::{Format, RunArgs, with_words};
use super::files::{self, Complete, Folder, Growing, Item, default_folder};
use super::interrupt::{Interrupt, interrupted};
use super::progress::Progress;
use super::source::shown;
use super::{engine, stream};
use crate::experiment::{Stopped, Terms};
use crate::plot::{self, Form, Picture, Setting, Theme};
use crate::random::Seed;
use crate::report::{Subject, csv, html, json, text};
use crate::scenario::Scenario;

/// The files of a run, in the order in which a person opens them.
const NAMES: [&str; 7] =
    ["report.html", "timeline.svg", "timeline.png", "summary.json", "phases.csv", "timeline.csv", "refusals.csv"];

/// Simulates a scenario and says what happened.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let source = args.scenario.source()?;
    let scenario = engine::load(&source, args.scenario.variant.as_deref(), &args.scenario.set)?;
    // Before the first file is made: whoever interrupts from now on finds nothing left behind.
    let interrupt = Interrupt::listen()?;
    let path = folder(args, &scenario);
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.scenario.inputs())).transpose()?;
    let log = args.log.as_deref().map(|log| log_at(log, &args.scenario.file, folder.as_ref())).transpose()?;
    let in_place = log.as_ref().filter(|log| log.is_in_place()).and(args.log.as_deref()).map(shown);
    let stopped = |why: Stopped| match why {
        Stopped::Interrupted => Ok(interrupted(args.quiet, None)),
        Stopped::Endless(endless) => Err(engine::endless(&scenario, &endless)),
    };
    let terms = Terms { most_requests: args.max_requests, ..Terms::new(interrupt.flag()) };
    let result = {
        let progress = Progress::over(args.replicates, args.quiet);
        let at = |done| progress.at(done);
        let terms = Terms { progress: &at, ..terms };
        match engine::run(&scenario, Seed(args.seed), args.replicates, args.threads, terms) {
            Ok(result) => result,
            Err(why) => return stopped(why),
        }
    };
    let worst = engine::worst(&scenario);
    let subject = Subject { worst: &worst, ..Subject::new(&scenario, &result) };
    let mut files = match &folder {
        Some(folder) => folder.complete(&items(&subject, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return stopped(Stopped::Interrupted);
    }
    if let Some(log) = log {
        match write_log(log, &scenario, Seed(args.seed), terms)? {
            Ok(complete) => files.extend(complete),
            Err(Stopped::Interrupted) => return Ok(interrupted(args.quiet, in_place.as_deref())),
            Err(why) => return stopped(why),
        }
    }
    if interrupt.is_set() {
        return Ok(interrupted(args.quiet, in_place.as_deref()));
    }
    files::publish(files)?;
    interrupt.let_go();
    let code = match args.format {
        Format::Text => stream::print_coloured(&text::summary(&subject, stream::columns()))?,
        Format::Json => stream::print(&json::text(&subject))?,
    };
    if let (Some(path), false) = (&path, args.quiet) {
        stream::say(&written(path));
    }
    Ok(code)
}

/// The log at this path, which must be neither the scenario nor a result.
fn log_at(path: &Path, scenario: &Path, folder: Option<&Folder>) -> anyhow::Result<Growing> {
    let taken = if files::same(path, scenario) {
        "the scenario itself"
    } else if folder.is_some_and(|folder| folder.holds(path, &NAMES)) {
        "a file of the results"
    } else {
        return Growing::at(path, "--log");
    };
    bail!("cannot write the log to `{}`: it is {taken}\nhint: choose another file with --log", shown(path))
}

/// Runs the seed itself once more and writes every request of it.
fn write_log(
    mut log: Growing,
    scenario: &Scenario,
    seed: Seed,
    terms: Terms<'_>,
) -> anyhow::Result<Result<Option<Complete>, Stopped>> {
    match engine::log(scenario, seed, terms, log.writer()) {
        Err(why) => Ok(Err(why)),
        // A reader that has seen enough closes the pipe, which is no error.
        Ok(Err(error)) if log.is_in_place() && error.kind() == io::ErrorKind::BrokenPipe => Ok(Ok(None)),
        Ok(Err(error)) => Err(log.refused(&error)),
        Ok(Ok(_)) => log.complete().map(Ok),
    }
}

/// Where files go; nowhere for JSON on standard output without a folder.
fn folder(args: &RunArgs, scenario: &Scenario) -> Option<PathBuf> {
    match (&args.out, args.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => Some(default_folder(&scenario.name, &scenario.variant, args.seed)),
        (None, Format::Json) => None,
    }
}

fn items(subject: &Subject<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let picture = engine::timeline(subject, command, &Theme::LIGHT, &Form::WIDE);
    let page = page(subject, command, &picture);
    let bytes = [
        page.into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(subject).into_bytes(),
        csv::phases(subject)?,
        csv::timeline(subject)?,
        csv::refusals(subject)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The page, with the timeline in four layouts.
fn page(subject: &Subject<'_>, command: &str, light: &Picture) -> String {
    let inline =
        |theme: &Theme, form: &Form, id: &str| engine::timeline(subject, command, theme, form).svg(Setting::Page(id));
    let narrow = Form::narrow(PHONE);
    let timelines = html::Timelines {
        light: &light.svg(Setting::Page("light")),
        dark: &inline(&Theme::DARK, &Form::WIDE, "dark"),
        narrow: &inline(&Theme::LIGHT, &narrow, "narrow-light"),
        narrow_dark: &inline(&Theme::DARK, &narrow, "narrow-dark"),
    };
    let extras = html::Extras { timelines: Some(timelines), font_faces: &plot::font::font_faces(), command };
    html::page(subject, extras)
}

/// The width of the narrow layout in pixels: a phone held upright.
const PHONE: u32 = 380;

/// The command that prints the same again. Threads and folder are left out: they change nothing in it.
fn command(args: &RunArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "run".to_owned(), quoted(&args.scenario.file.to_string_lossy())];
    if let Some(variant) = &args.scenario.variant {
        words.extend(["--variant".to_owned(), quoted(variant)]);
    }
    words.extend(with_words("--with", &args.scenario.with));
    for set in &args.scenario.set {
        words.extend(["--set".to_owned(), quoted(set)]);
    }
    words.extend(["--seed".to_owned(), args.seed.to_string()]);
    if let Some(replicates) = args.replicates {
        words.extend(["--replicates".to_owned(), replicates.to_string()]);
    }
    words.join(" ")
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn written(path: &Path) -> String {
    format!("wrote {}: {}", shown(path), NAMES.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    fn args(words: &[&str]) -> RunArgs {
        Line::try_parse_from([&["run"], words].concat()).unwrap().run
    }

    #[test]
    fn the_command_prints_the_same_again_and_names_no_folder() {
        let args = args(&["a b.toml", "--set", "x.wait={ fixed = \"2s\" }", "--out", "/tmp/x", "--threads", "2"]);
        assert_eq!(command(&args), "retrycast run 'a b.toml' --set 'x.wait={ fixed = \"2s\" }' --seed 1");
    }

    #[test]
    fn json_alone_writes_no_file() {
        let scenario = crate::report::fixture::scenario();
        assert_eq!(folder(&args(&["a.toml", "--format", "json"]), &scenario), None);
        let out = folder(&args(&["a.toml", "--format", "json", "--out", "o"]), &scenario);
        assert_eq!(out.as_deref(), Some(Path::new("o")));
        let text = folder(&args(&["a.toml", "--seed", "7"]), &scenario);
        assert_eq!(text.as_deref(), Some(Path::new("outputs/report_storm-before-7")));
    }

    #[test]
    fn equal_runs_write_equal_bytes_whatever_the_folder_and_threads() {
        let (scenario, result) = (crate::report::fixture::scenario(), crate::report::fixture::single());
        let subject = Subject::new(&scenario, &result);
        let bytes = |words: &[&str]| -> Vec<Vec<u8>> {
            items(&subject, &command(&args(words))).unwrap().into_iter().map(|item| item.bytes).collect()
        };
        let one = bytes(&["a.toml", "--out", "x", "--threads", "1"]);
        assert_eq!(one, bytes(&["a.toml", "--out", "y", "--threads", "7", "--format", "json"]));
        assert!(!one.iter().any(|bytes| String::from_utf8_lossy(bytes).contains("outputs/")));
    }
}
