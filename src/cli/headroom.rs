//! `retrycast headroom`: move one setting, find how far it may go, say what it costs.

use std::process::ExitCode;

use super::args::{Format, with_words};
use super::compare::said;
use super::engine;
use super::files::{self, Folder, Item, folder_named};
use super::headroom_args::HeadroomArgs;
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::knob::{Interrupted, Knob};
use super::progress::Progress;
use super::run::quoted;
use super::stream;
use crate::experiment::headroom::{Headroom, Question, Settings};
use crate::experiment::{Plan, Terms};
use crate::plot::{self, Setting, Theme};
use crate::random::Seed;
use crate::report::headroom::{Asked, Over, csv, json, text};

/// The files, in the order in which a person opens them.
const NAMES: [&str; 5] = ["headroom.txt", "headroom.svg", "headroom.png", "headroom.json", "headroom.csv"];

/// The columns of the page that is written to a file.
const COLUMNS: usize = 100;

/// Says how far a setting may go.
pub(super) fn headroom(args: &HeadroomArgs) -> anyhow::Result<ExitCode> {
    let source = args.scenario.source()?;
    let looks = args.looks()?;
    let base = engine::load(&source, args.scenario.variant.as_deref(), &args.scenario.set)?;
    let knob = Knob::of(args, &source, &base)?;
    let question = Question {
        goal: args.goal(),
        looks,
        live: knob.parties.live.clone(),
        background: knob.parties.background.clone(),
        limit: knob.parties.limit,
        low_is_safe: match knob.over {
            Over::Budget | Over::Workers | Over::Live => Some(true),
            Over::Limit => Some(false),
            Over::Setting(_) => None,
        },
        present: knob.present,
    };
    // A value that cannot be is refused before the first run.
    for number in &knob.grid {
        knob.scenario(*number)?;
    }
    let path = match (&args.out, args.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => Some(folder_named(&[&base.name, "headroom", &base.variant], args.seed)),
        (None, Format::Json) => None,
    };
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.scenario.inputs())).transpose()?;
    let interrupt = Interrupt::listen()?;
    let journal = Journal::open(path.as_deref(), args.quiet);
    let progress = Progress::over(Some(1), args.quiet);
    let (at, announce) = (|done| progress.at(done), |runs| progress.lengthen(runs));
    let terms = Terms { progress: &at, most_requests: args.max_requests, ..Terms::new(interrupt.flag()) };
    let plan = Plan { threads: args.threads, announce: &announce, kept: &journal, ..Plan::new(Seed(args.seed), terms) };
    let found = match Headroom::run(&knob, &question, &knob.grid, plan) {
        Ok(found) => found,
        Err(error) if error.is::<Interrupted>() => return Ok(put_aside(args.quiet, &journal)),
        Err(error) => return Err(error),
    };
    drop(progress);
    let asked = Asked {
        scenario: &base,
        seed: args.seed,
        over: knob.over.clone(),
        paths: knob.paths.clone(),
        scale: knob.scale.clone(),
        budget: (!knob.parties.pacers.is_empty()).then(|| knob.parties.share(&base)),
        found: &found,
    };
    let files = match &folder {
        Some(folder) => folder.complete(&items(&asked, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.quiet, &journal));
    }
    files::publish(files)?;
    journal.finish();
    interrupt.let_go();
    let code = match args.format {
        Format::Text => stream::print_coloured(&text::text(&asked, stream::columns()))?,
        Format::Json => stream::print(&json::text(&asked))?,
    };
    said(path.as_deref(), args.quiet, &NAMES);
    Ok(if found.is_yes() { code } else { ExitCode::from(1) })
}

fn items(asked: &Asked<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let page = anstream::adapter::strip_str(&text::text(asked, COLUMNS)).to_string();
    let picture = plot::headroom(asked, command, &Theme::LIGHT);
    let bytes = [
        format!("$ {command}\n\n{page}").into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(asked).into_bytes(),
        csv::table(asked)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The command that prints the same again.
fn command(args: &HeadroomArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "headroom".to_owned(), quoted(&args.scenario.file.to_string_lossy())];
    if let Some(variant) = &args.scenario.variant {
        words.extend(["--variant".to_owned(), quoted(variant)]);
    }
    words.extend(with_words("--with", &args.scenario.with));
    words.extend(args.scenario.set.iter().flat_map(|set| ["--set".to_owned(), quoted(set)]));
    words.extend(args.words());
    words.join(" ")
}
