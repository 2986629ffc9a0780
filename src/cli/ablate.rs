//! `retrycast ablate`: the fixes of a file, each alone, each away, and all together, in the same worlds.

use std::process::ExitCode;

use anyhow::{anyhow, bail};

use super::args::{Format, with_words};
use super::compare::{said, with_progress};
use super::engine::{self, Asked};
use super::experiment_args::AblateArgs;
use super::files::{self, Folder, Item, folder_named};
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::run::quoted;
use super::source::{Source, shown};
use super::stream;
use crate::document::near;
use crate::experiment::ablate::{MOST, MOST_COMBINED, combinations};
use crate::experiment::{Ablation, Arm, Combination, Stopped};
use crate::plot::{self, Setting, Theme};
use crate::report::ablation::{Ablated, csv, json, text};
use crate::report::comparison::{ArmFacts, Compared, changes};
use crate::scenario::Scenario;

/// The files of an ablation, in the order in which a person opens them.
const NAMES: [&str; 5] = ["ablation.txt", "ablation.svg", "ablation.png", "ablation.json", "ablation.csv"];

/// The columns of the page that is written to a file.
const COLUMNS: usize = 120;

/// Takes fixes apart and says which matters for what.
pub(super) fn ablate(args: &AblateArgs) -> anyhow::Result<ExitCode> {
    let source = args.scenario.source()?;
    let base = load(args, &source, &[])?;
    let fixes = fixes(args, &base)?;
    let combinations = combinations(fixes.len(), args.all_combinations);
    let mut scenarios = Vec::new();
    let mut settings = Vec::new();
    for combination in &combinations {
        let on: Vec<String> =
            (0..fixes.len()).filter(|fix| combination.has(*fix)).map(|fix| fixes[fix].clone()).collect();
        scenarios.push(load(args, &source, &on)?);
        settings.push(engine::settings(&source, asked(args, &on))?);
    }
    refuse_idle(&fixes, &combinations, &settings, &base)?;
    let path = match (&args.experiment.out, args.experiment.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => Some(folder_named(&[&base.name, "ablate", &base.variant], args.experiment.seed)),
        (None, Format::Json) => None,
    };
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.scenario.inputs())).transpose()?;
    let interrupt = Interrupt::listen()?;
    let journal = Journal::open(path.as_deref(), args.experiment.quiet);
    let result = with_progress(&args.experiment, &interrupt, &journal, |plan| {
        Ablation::run(&fixes, &combinations, &scenarios, args.experiment.seeds(), plan)
    });
    let ablation = match result {
        Ok(ablation) => ablation,
        Err(halted) => match halted.why {
            Stopped::Interrupted => return Ok(put_aside(args.experiment.quiet, &journal)),
            Stopped::Endless(endless) => {
                let name = combinations[halted.arm].name(&fixes);
                return Err(engine::endless_arm(&Arm { name: &name, scenario: &scenarios[halted.arm] }, &endless));
            }
        },
    };
    let facts: Vec<ArmFacts<'_>> = combinations
        .iter()
        .zip(&scenarios)
        .zip(&settings)
        .map(|((combination, scenario), own)| ArmFacts {
            name: combination.name(&fixes),
            scenario,
            changes: changes(&settings[0], own),
        })
        .collect();
    let ablated =
        Ablated { compared: Compared { arms: &facts, comparison: &ablation.comparison }, ablation: &ablation };
    let complete = match &folder {
        Some(folder) => folder.complete(&items(&ablated, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.experiment.quiet, &journal));
    }
    files::publish(complete)?;
    journal.finish();
    interrupt.let_go();
    let code = match args.experiment.format {
        Format::Text => stream::print_coloured(&text::text(&ablated, stream::columns()))?,
        Format::Json => stream::print(&json::text(&ablated))?,
    };
    said(path.as_deref(), args.experiment.quiet, &NAMES);
    Ok(code)
}

fn asked<'a>(args: &'a AblateArgs, on: &'a [String]) -> Asked<'a> {
    Asked { variant: args.scenario.variant.as_deref(), fixes: on, sets: &args.scenario.set }
}

fn load(args: &AblateArgs, source: &Source, on: &[String]) -> anyhow::Result<Scenario> {
    engine::load_with(source, asked(args, on))
}

/// The fixes that are taken apart: those that are named, else all of the file.
fn fixes(args: &AblateArgs, base: &Scenario) -> anyhow::Result<Vec<String>> {
    let file = shown(&args.scenario.file);
    if base.fixes.is_empty() {
        bail!(
            "`{file}` describes no fixes\nhint: write each as [fixes.NAME] with the changes below it, such as\n      \
             [fixes.fewer_retries]\n      clients.batch.layers.sdk.max_retries = 0"
        );
    }
    let named: Vec<String> = args.fixes.iter().map(|name| name.trim().to_owned()).collect();
    let known: Vec<&str> = base.fixes.iter().map(String::as_str).collect();
    for (index, name) in named.iter().enumerate() {
        if !base.fixes.contains(name) {
            return Err(anyhow!(
                "no fix `{}` in `{file}`\nhint: {}",
                name.escape_debug(),
                near::existing("fixes", &known, name)
            ));
        }
        if named[..index].contains(name) {
            bail!("`--fixes`: `{name}` stands there twice\nhint: name each fix once");
        }
    }
    let fixes = if named.is_empty() { base.fixes.clone() } else { named };
    if fixes.len() > MOST {
        bail!("{} fixes are too many to take apart\nhint: name at most {MOST} with --fixes", fixes.len());
    }
    if args.all_combinations && fixes.len() > MOST_COMBINED {
        bail!(
            "{} fixes have {} combinations\nhint: name at most {MOST_COMBINED} with --fixes, or leave --all-combinations \
             out: none, each alone, all but each, and all are {} combinations",
            fixes.len(),
            1_u64 << fixes.len(),
            2 * fixes.len() + 2
        );
    }
    Ok(fixes)
}

/// A fix that changes nothing here is on already, or is meant for another variant.
fn refuse_idle(
    fixes: &[String],
    combinations: &[Combination],
    settings: &[Vec<(String, String)>],
    base: &Scenario,
) -> anyhow::Result<()> {
    for (fix, name) in fixes.iter().enumerate() {
        let alone = combinations.iter().position(|combination| *combination == Combination(1 << fix));
        if alone.is_some_and(|alone| settings[alone] == settings[0]) {
            bail!(
                "the fix `{name}` changes nothing in variant `{}`\nhint: leave it out with --fixes, or begin with a \
                 variant in which it is not made yet",
                base.variant
            );
        }
    }
    Ok(())
}

fn items(ablated: &Ablated<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let page = anstream::adapter::strip_str(&text::text(ablated, COLUMNS)).to_string();
    let picture = plot::ablation(ablated, command, &Theme::LIGHT);
    let bytes = [
        format!("$ {command}\n\n{page}").into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(ablated).into_bytes(),
        csv::table(ablated)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The command that prints the same again.
fn command(args: &AblateArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "ablate".to_owned(), quoted(&args.scenario.file.to_string_lossy())];
    if !args.fixes.is_empty() {
        words.extend(["--fixes".to_owned(), quoted(&args.fixes.join(","))]);
    }
    if let Some(variant) = &args.scenario.variant {
        words.extend(["--variant".to_owned(), quoted(variant)]);
    }
    words.extend(with_words("--with", &args.scenario.with));
    words.extend(args.scenario.set.iter().flat_map(|set| ["--set".to_owned(), quoted(set)]));
    words.extend(args.all_combinations.then(|| "--all-combinations".to_owned()));
    words.extend(args.experiment.words());
    words.join(" ")
}
