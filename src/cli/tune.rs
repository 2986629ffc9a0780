//! `retrycast tune`: read what may be chosen and for what, make sure that it can be run and kept, search, check, report.

use std::process::ExitCode;

use anyhow::{anyhow, bail};

use super::args::{Format, with_words};
use super::axis_args::{self, text_of};
use super::compare::{said, with_progress};
use super::engine::{self, Asked};
use super::files::{self, Folder, Item, folder_named};
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::run::quoted;
use super::size::{self, Sizing};
use super::source::Source;
use super::tune_args::TuneArgs;
use super::tune_task::{self, Aim};
use super::{arms, stream};
use crate::experiment::search::Effort;
use crate::experiment::tune::{Failure, Sized, Task, Tuning, World, overloads, tune as search};
use crate::experiment::{Arm, Axis, Replicates, Stopped};
use crate::plot::{self, Setting, Theme};
use crate::random::Seed;
use crate::report::tuning::{Tuned, csv, json, patch, text};
use crate::scenario::Scenario;

/// The files of a tuning, in the order in which a person opens them.
const NAMES: [&str; 6] = ["tuned.toml", "tune.txt", "tune.svg", "tune.png", "tune.json", "tune.csv"];

/// The columns of the page that is written to a file.
const COLUMNS: usize = 100;

/// What is asked, read and checked.
struct Question {
    /// The scenario as it stands before anything is tuned.
    base: Scenario,
    /// The name of the variant that the winner is held against, and its scenario.
    reference: String,
    held: Scenario,
    axes: Vec<Axis>,
    sized: Option<Sized>,
    aim: Aim,
    seen: Vec<World>,
    unseen: Vec<World>,
    check: u64,
    effort: Effort,
    /// The settings of the variant that is tuned and of the reference.
    starts: [Vec<(String, String)>; 2],
    /// What arithmetic says of a question of size.
    said: Option<String>,
}

/// Reads and checks everything that can be wrong before the first run.
fn question(args: &TuneArgs, source: &Source) -> anyhow::Result<Question> {
    let base = load(args, source, args.scenario.variant.as_deref(), &[])?;
    let reference = args.against.clone().unwrap_or_else(|| base.variant.clone());
    let held = load(args, source, Some(&reference), &[])?;
    let starts = [settings(args, source, &base.variant)?, settings(args, source, &reference)?];
    let sizing = match &args.size {
        Some(word) => Some({
            let anew = |sets: &[String]| load(args, source, args.scenario.variant.as_deref(), sets);
            size::sizing(word.trim(), &base, &starts[0], &anew)?
        }),
        None => None,
    };
    let (axes, sized) = axes(args, sizing.as_ref())?;
    tune_task::refuse_unusable(&axes, &|sets| load(args, source, args.scenario.variant.as_deref(), sets))?;
    refuse_unwritable(args, source, &axes)?;
    let check = match args.experiment.seeds() {
        Replicates::Exactly(n) => n,
        Replicates::UntilSure(_) => {
            bail!("`--until-sure`: a check has a fixed number of seeds\nhint: write --replicates N")
        }
    };
    let bounds = match &sizing {
        Some(sizing) if args.constraint.is_empty() => &sizing.constraints,
        _ => &args.constraint,
    };
    let aim = tune_task::aim(args, &held, bounds, sized.is_some())?;
    let changed: &[String] = sizing.as_ref().map_or(&[], |sizing| &sizing.sets);
    let held = load(args, source, Some(&reference), changed)?;
    let (seen, unseen) = worlds(args, &held, changed)?;
    let effort = Effort {
        candidates: args.policies(),
        seeds: args.seeds(),
        goals: aim.goals.max(1),
        seed: Seed(args.experiment.seed),
    };
    let said = sizing.and_then(|sizing| sizing.said);
    Ok(Question { base, reference, held, axes, sized, aim, seen, unseen, check, effort, starts, said })
}

/// The worlds of the search and those of the check alone; what a question of size changes holds in all of them.
fn worlds(args: &TuneArgs, held: &Scenario, changed: &[String]) -> anyhow::Result<(Vec<World>, Vec<World>)> {
    let first = World {
        name: held.fault_windows().first().map_or_else(|| "as it is".to_owned(), |(name, _)| (*name).to_owned()),
        what: if changed.is_empty() { "as it is in the file".to_owned() } else { changed.join(", ") },
        sets: Vec::new(),
    };
    let named = |option: &str, texts: &[String]| -> anyhow::Result<Vec<World>> {
        texts.iter().map(|text| world(option, text)).collect()
    };
    let mut seen = vec![first];
    seen.extend(named("--seen", &args.seen)?);
    let mut unseen = if args.unseen.is_empty() { overloads(held) } else { named("--unseen", &args.unseen)? };
    for world in seen.iter_mut().chain(&mut unseen) {
        world.sets.splice(0..0, changed.iter().cloned());
    }
    tune_task::refuse_twice(seen.iter().chain(&unseen))?;
    Ok((seen, unseen))
}

/// Tunes a policy.
pub(super) fn tune(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let source = args.scenario.source()?;
    let question = question(args, &source)?;
    let Question { base, reference, held, axes, aim, .. } = &question;
    let policy =
        |variant: &str, sets: &[String]| load(args, &source, Some(variant), sets).map_err(|error| format!("{error:#}"));
    let (tuned, against) = (|sets: &[String]| policy(&base.variant, sets), |sets: &[String]| policy(reference, sets));
    let task = || Task {
        axes,
        text: &text_of,
        metrics: aim.metrics.clone(),
        goals: aim.goals,
        sized: question.sized,
        constraints: aim.constraints.clone(),
        effort: question.effort,
        start: question.starts.iter().map(|settings| tune_task::genes(axes, settings)).collect(),
        tuned: &tuned,
        reference: &against,
        seen: question.seen.clone(),
        unseen: question.unseen.clone(),
        check: question.check,
    };

    let path = match (&args.experiment.out, args.experiment.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => Some(folder_named(&[&base.name, "tune", &base.variant], args.experiment.seed)),
        (None, Format::Json) => None,
    };
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.scenario.inputs())).transpose()?;
    let interrupt = Interrupt::listen()?;
    let journal = Journal::open(path.as_deref(), args.experiment.quiet);
    let tuning = match with_progress(&args.experiment, &interrupt, &journal, |plan| search(task(), plan)) {
        Ok(tuning) => tuning,
        Err(Failure::Halted(halted)) => match halted.why {
            Stopped::Interrupted => return Ok(put_aside(args.experiment.quiet, &journal)),
            Stopped::Endless(endless) => {
                return Err(engine::endless_arm(&Arm { name: reference, scenario: held }, &endless));
            }
        },
        Err(Failure::World(name, why)) => bail!("world `{name}`: {}", why.trim_start_matches("error: ")),
    };
    let before: Vec<Option<String>> = axes.iter().map(|axis| tune_task::setting(axis, &question.starts[1])).collect();
    let found = Tuned {
        scenario: base,
        reference,
        axes,
        before: &before,
        tuning: &tuning,
        seed: args.experiment.seed,
        check: question.check,
        said: question.said.as_deref(),
    };
    let complete = match &folder {
        Some(folder) => folder.complete(&items(&found, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.experiment.quiet, &journal));
    }
    files::publish(complete)?;
    journal.finish();
    interrupt.let_go();
    match args.experiment.format {
        Format::Text => stream::print_coloured(&text::text(&found, stream::columns()))?,
        Format::Json => stream::print(&json::text(&found))?,
    };
    said(path.as_deref(), args.experiment.quiet, &NAMES);
    Ok(answer(&tuning))
}

/// What may be chosen, and what of it is sized.
fn axes(args: &TuneArgs, sizing: Option<&Sizing>) -> anyhow::Result<(Vec<Axis>, Option<Sized>)> {
    let asked = match (sizing, &args.least, &args.most) {
        (Some(sizing), ..) => Some(("--size", &sizing.axis, sizing.most)),
        (None, Some(least), _) => Some(("--least", least, false)),
        (None, None, Some(most)) => Some(("--most", most, true)),
        (None, None, None) => None,
    };
    let Some((option, text, most)) = asked else {
        let axes = args.vary.iter().map(|text| axis_args::axis("--vary", text)).collect::<Result<_, _>>()?;
        return Ok((axes, None));
    };
    // Each of its values is looked at, so that one sees where the bound lies.
    let axis = Axis { span: None, ..axis_args::axis(option, text)? };
    Ok((vec![axis], Some(Sized { axis: 0, most })))
}

/// No policy that keeps all constraints is an answer, and it is no.
fn answer(tuning: &Tuning) -> ExitCode {
    ExitCode::from(u8::from(!tuning.winner.is_some_and(|winner| tuning.keeps(winner))))
}

/// The scenario of a variant, with further changes behind those of `--set`.
fn load(args: &TuneArgs, source: &Source, variant: Option<&str>, sets: &[String]) -> anyhow::Result<Scenario> {
    let sets: Vec<String> = args.scenario.set.iter().chain(sets).cloned().collect();
    engine::load_with(source, Asked { variant, fixes: &[], sets: &sets })
}

fn settings(args: &TuneArgs, source: &Source, variant: &str) -> anyhow::Result<Vec<(String, String)>> {
    engine::settings(source, Asked { variant: Some(variant), fixes: &[], sets: &args.scenario.set })
}

/// What a search finds must mean the same as a patch file, where values that have one of several forms are replaced
/// whole.
fn refuse_unwritable(args: &TuneArgs, source: &Source, axes: &[Axis]) -> anyhow::Result<()> {
    for axis in axes {
        for value in &axis.values {
            let Ok(by_set) = load(args, source, args.scenario.variant.as_deref(), &axis.sets(value)) else { continue };
            let body: String = axis.paths.iter().map(|path| patch::line(path, &value.text)).collect();
            let mut patched = source.clone();
            patched.patches.push(crate::scenario::PatchFile { path: "tuned.toml".to_owned(), text: body });
            let by_patch = load(args, &patched, args.scenario.variant.as_deref(), &[]);
            // A `--set` of the user on the same path wins over a patch file, and is no fault of the path.
            let is_set =
                args.scenario.set.iter().any(|set| axis.paths.iter().any(|path| set.starts_with(path.as_str())));
            if is_set {
                bail!(
                    "`--vary {}`: `--set` gives it a value already\nhint: leave one of the two out",
                    axis.paths.join(",")
                );
            }
            if by_patch.ok().as_ref() != Some(&by_set) {
                bail!(
                    "`--vary {}`: a patch file cannot change a part of this value\nhint: vary the whole value, as \
                     lists of {{ … }}",
                    axis.paths.join(",")
                );
            }
            break;
        }
    }
    Ok(())
}

/// A world from the command line, written like an arm of `compare`.
fn world(option: &str, text: &str) -> anyhow::Result<World> {
    let (name, sets) = arms::named_sets(option, text)?;
    Ok(World { name, what: sets.join(", "), sets })
}

fn items(found: &Tuned<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let page = anstream::adapter::strip_str(&text::text(found, COLUMNS)).to_string();
    let picture = plot::tuning(found, command, &Theme::LIGHT);
    let bytes = [
        patch::file(found, command).into_bytes(),
        format!("$ {command}\n\n{page}").into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(found).into_bytes(),
        csv::table(found)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The command that prints the same again.
fn command(args: &TuneArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "tune".to_owned(), quoted(&args.scenario.file.to_string_lossy())];
    let mut say = |option: &str, texts: &mut dyn Iterator<Item = &String>| {
        words.extend(texts.flat_map(|text| [option.to_owned(), quoted(text)]));
    };
    say("--variant", &mut args.scenario.variant.iter());
    say("--against", &mut args.against.iter());
    for (option, texts) in [
        ("--vary", &args.vary),
        ("--goal", &args.goal),
        ("--least", &args.least.iter().cloned().collect()),
        ("--most", &args.most.iter().cloned().collect()),
        ("--size", &args.size.iter().cloned().collect()),
        ("--constraint", &args.constraint),
        ("--seen", &args.seen),
        ("--unseen", &args.unseen),
        ("--set", &args.scenario.set),
    ] {
        say(option, &mut texts.iter());
    }
    words.extend(with_words("--with", &args.scenario.with));
    words.extend(args.candidates.map(|n| format!("--candidates {n}")));
    words.extend(args.search_seeds.map(|n| format!("--search-seeds {n}")));
    words.extend(args.experiment.words());
    words.join(" ")
}

/// Anything that is wrong with a word of the command line.
pub(super) fn wrong(option: &str, what: &str, hint: &str) -> anyhow::Error {
    anyhow!("`{option}`: {what}\nhint: {hint}")
}
