//! `retrycast compare`: read all arms, check them, make sure that the results can be kept, run, report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{Format, with_words};
use super::arms::{self, ReadArm};
use super::experiment_args::{CompareArgs, ExperimentArgs};
use super::files::{self, Folder, Item, folder_named};
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::progress::Progress;
use super::run::quoted;
use super::source::shown;
use super::{engine, stream};
use crate::experiment::{Arm, Comparison, Plan, Stopped, Terms};
use crate::plot::{self, Setting, Theme};
use crate::random::Seed;
use crate::report::comparison::{Compared, csv, html, json, text};

/// The files of a comparison, in the order in which a person opens them.
const NAMES: [&str; 5] = ["comparison.html", "comparison.svg", "comparison.png", "comparison.json", "comparison.csv"];

/// Compares arms and says what differs.
pub(super) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let read = arms::read(args)?;
    let path = folder(&args.experiment, &read);
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.inputs())).transpose()?;
    let interrupt = Interrupt::listen()?;
    let journal = Journal::open(path.as_deref(), args.experiment.quiet);
    let arms: Vec<Arm<'_>> = read.iter().map(|arm| Arm { name: &arm.name, scenario: &arm.scenario }).collect();
    let result = with_progress(&args.experiment, &interrupt, &journal, |plan| {
        Comparison::run(&arms, args.experiment.seeds(), plan)
    });
    let comparison = match result {
        Ok(comparison) => comparison,
        Err(halted) => match halted.why {
            Stopped::Interrupted => return Ok(put_aside(args.experiment.quiet, &journal)),
            Stopped::Endless(endless) => return Err(engine::endless_arm(&arms[halted.arm], &endless)),
        },
    };
    let facts = arms::facts(&read);
    let compared = Compared { arms: &facts, comparison: &comparison };
    let files = match &folder {
        Some(folder) => folder.complete(&items(&compared, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.experiment.quiet, &journal));
    }
    files::publish(files)?;
    journal.finish();
    interrupt.let_go();
    let code = match args.experiment.format {
        Format::Text => stream::print_coloured(&text::text(&compared, stream::columns()))?,
        Format::Json => stream::print(&json::text(&compared))?,
    };
    said(path.as_deref(), args.experiment.quiet, &NAMES);
    Ok(code)
}

/// Says which files were written.
pub(super) fn said(path: Option<&Path>, quiet: bool, names: &[&str]) {
    if let (Some(path), false) = (path, quiet) {
        stream::say(&format!("wrote {}: {}", shown(path), names.join(", ")));
    }
}

/// Runs an experiment with a bar for whoever waits, and puts finished runs aside.
pub(super) fn with_progress<T>(
    args: &ExperimentArgs,
    interrupt: &Interrupt,
    journal: &Journal,
    run: impl FnOnce(Plan<'_>) -> T,
) -> T {
    let progress = Progress::over(Some(1), args.quiet);
    let at = |done| progress.at(done);
    let announce = |runs| progress.lengthen(runs);
    let terms = Terms { progress: &at, most_requests: args.max_requests, ..Terms::new(interrupt.flag()) };
    run(Plan { threads: args.threads, announce: &announce, kept: journal, ..Plan::new(Seed(args.seed), terms) })
}

/// Where files go; nowhere for JSON on standard output without a folder.
fn folder(args: &ExperimentArgs, arms: &[ReadArm]) -> Option<PathBuf> {
    match (&args.out, args.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => {
            let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
            Some(folder_named(&[&arms[0].scenario.name, "compare", &names.join("-")], args.seed))
        }
        (None, Format::Json) => None,
    }
}

fn items(compared: &Compared<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let picture = plot::comparison(compared, command, &Theme::LIGHT);
    let dark = plot::comparison(compared, command, &Theme::DARK).svg(Setting::Page("dark"));
    let light = picture.svg(Setting::Page("light"));
    let pictures = html::Pictures { light: &light, dark: &dark };
    let page = html::page(compared, pictures, &plot::font::font_faces(), command);
    let bytes = [
        page.into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(compared).into_bytes(),
        csv::table(compared)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The command that prints the same again.
fn command(args: &CompareArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "compare".to_owned(), quoted(&args.file.to_string_lossy())];
    words.extend(args.others.iter().map(|other| quoted(other)));
    if !args.arms.is_empty() {
        words.extend(["--arms".to_owned(), quoted(&args.arms.join(","))]);
    }
    if let Some(variant) = &args.variant {
        words.extend(["--variant".to_owned(), quoted(variant)]);
    }
    words.extend(with_words("--patch-file", &args.patch_file));
    words.extend(with_words("--with", &args.with));
    for (option, texts) in [("--patch", &args.patch), ("--set", &args.set)] {
        words.extend(texts.iter().flat_map(|text| [option.to_owned(), quoted(text)]));
    }
    words.extend(args.experiment.words());
    words.join(" ")
}
