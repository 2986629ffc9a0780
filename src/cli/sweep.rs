//! `retrycast sweep`: one or two settings over a grid, every point in the same worlds.

use std::process::ExitCode;

use anyhow::{anyhow, bail};

use super::args::{Format, with_words};
use super::axis_args::{axis, value};
use super::compare::{said, with_progress};
use super::engine::{self, Asked, Refused};
use super::experiment_args::SweepArgs;
use super::files::{self, Folder, Item, folder_named};
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::metric_args::metric;
use super::run::quoted;
use super::source::Source;
use super::stream;
use crate::document::Text;
use crate::experiment::axis::Value;
use crate::experiment::measure::measures;
use crate::experiment::sweep::places;
use crate::experiment::{Arm, Axis, Grid, Measure, Replicates, Stopped, Sweep};
use crate::plot::{self, Setting, Theme};
use crate::report::sweep::{Swept, csv, json, telling, text};
use crate::scenario::{Refusal, Scenario};

/// The files of a sweep, in the order in which a person opens them.
const NAMES: [&str; 5] = ["sweep.txt", "sweep.svg", "sweep.png", "sweep.json", "sweep.csv"];

/// The columns of the page that is written to a file.
const COLUMNS: usize = 120;

/// The most points of a grid: more fill no picture that can be read.
const MOST_POINTS: usize = 2_500;

/// The most runs of a sweep: their numbers are kept in memory.
const MOST_RUNS: u64 = 200_000;

/// The most faults that are listed.
const MOST_FAULTS: usize = 12;

/// Varies settings and says what that does.
pub(super) fn sweep(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let axes = axes(args)?;
    let source = args.scenario.source()?;
    let base = load(args, &source, &args.scenario.set)?;
    let points = points(args, &source, &axes)?;
    let replicates = seeds(args, points.len())?;
    let grid = Grid { axes: &axes, points: &points, base: &base };
    let (scenarios, _) = grid.scenarios();
    let measured = measures(&scenarios);
    let (measured, named) = chosen(args, measured)?;
    let current = current(args, &source, &axes)?;
    let varied: Vec<String> = axes.iter().map(Axis::name).collect();
    let path = match (&args.experiment.out, args.experiment.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Text) => {
            let parts = [&base.name, "sweep", &base.variant, &varied.join("-")];
            Some(folder_named(&parts, args.experiment.seed))
        }
        (None, Format::Json) => None,
    };
    let folder = path.as_deref().map(|path| Folder::beside(path, &NAMES, args.scenario.inputs())).transpose()?;
    let interrupt = Interrupt::listen()?;
    let journal = Journal::open(path.as_deref(), args.experiment.quiet);
    let result =
        with_progress(&args.experiment, &interrupt, &journal, |plan| Sweep::run(grid, &measured, replicates, plan));
    let sweep = match result {
        Ok(sweep) => sweep,
        Err(halted) => match halted.why {
            Stopped::Interrupted => return Ok(put_aside(args.experiment.quiet, &journal)),
            Stopped::Endless(endless) => {
                let name = point_name(&axes, halted.arm);
                return Err(engine::endless_arm(&Arm { name: &name, scenario: scenarios[halted.arm] }, &endless));
            }
        },
    };
    let every: Vec<usize> = (0..measured.len()).collect();
    let shown = if named.is_empty() { telling(&sweep) } else { named.clone() };
    let held = if named.is_empty() { &every } else { &named };
    let swept = Swept::new(&sweep, &base, &current, &shown, held);
    let complete = match &folder {
        Some(folder) => folder.complete(&items(&swept, &command(args))?)?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.experiment.quiet, &journal));
    }
    files::publish(complete)?;
    journal.finish();
    interrupt.let_go();
    let code = match args.experiment.format {
        Format::Text => stream::print_coloured(&text::text(&swept, stream::columns()))?,
        Format::Json => stream::print(&json::text(&swept))?,
    };
    said(path.as_deref(), args.experiment.quiet, &NAMES);
    Ok(code)
}

fn axes(args: &SweepArgs) -> anyhow::Result<Vec<Axis>> {
    if args.vary.len() > 2 {
        bail!(
            "{} settings cannot be varied at once: a grid of them fills no table\nhint: vary two and fix the others with \
             --set, or let settings move together: --vary 'PATH,PATH=VALUES'",
            args.vary.len()
        );
    }
    let axes = args.vary.iter().map(|text| axis("--vary", text)).collect::<anyhow::Result<Vec<Axis>>>()?;
    let mut paths: Vec<&String> = axes.iter().flat_map(|axis| &axis.paths).collect();
    paths.sort();
    if let Some(pair) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("`--vary`: `{}` is varied twice\nhint: name each path once", pair[0].escape_debug());
    }
    let points: usize = axes.iter().map(|axis| axis.values.len()).product();
    if points > MOST_POINTS {
        bail!(
            "a grid of {points} points fills no picture that can be read\nhint: take at most {MOST_POINTS}, such as 9 \
             values for each setting"
        );
    }
    Ok(axes)
}

fn load(args: &SweepArgs, source: &Source, sets: &[String]) -> anyhow::Result<Scenario> {
    engine::load_with(source, Asked { variant: args.scenario.variant.as_deref(), fixes: &[], sets })
}

/// What `--set` says at each point.
fn sets(args: &SweepArgs, axes: &[Axis], place: &[usize]) -> Vec<String> {
    let varied = axes.iter().zip(place).flat_map(|(axis, at)| axis.sets(&axis.values[*at]));
    args.scenario.set.iter().cloned().chain(varied).collect()
}

/// The scenario of each point; all values that are refused, at once.
fn points(args: &SweepArgs, source: &Source, axes: &[Axis]) -> anyhow::Result<Vec<Scenario>> {
    let mut points = Vec::new();
    let mut faults = Faults::default();
    for place in places(axes) {
        match load(args, source, &sets(args, axes, &place)) {
            Ok(scenario) => points.push(scenario),
            Err(error) => faults.add(&error, axes, &place, args.scenario.set.len()),
        }
    }
    if faults.0.is_empty() { Ok(points) } else { Err(faults.error(axes)) }
}

/// What is wrong with values: which axis, if it is one value's fault, the values, and what.
#[derive(Default)]
struct Faults(Vec<(Option<usize>, Vec<String>, String)>);

impl Faults {
    fn add(&mut self, error: &anyhow::Error, axes: &[Axis], place: &[usize], own: usize) {
        // Which axis a text of `--set` belongs to.
        let owners: Vec<usize> = axes.iter().enumerate().flat_map(|(at, axis)| vec![at; axis.paths.len()]).collect();
        let Some(Refused(Refusal::Faulty { faults, .. })) = error.downcast_ref::<Refused>() else {
            self.put(None, point_of(axes, place), format!("{error:#}"));
            return;
        };
        for fault in faults {
            let hint = fault.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
            let said = format!("{}{hint}", fault.message);
            let owner = match fault.place.text {
                Text::Set(number) => number.checked_sub(own).and_then(|at| owners.get(at).copied()),
                Text::File | Text::Patch(_) => None,
            };
            let value = owner.map_or_else(|| point_of(axes, place), |at| axes[at].values[place[at]].text.clone());
            self.put(owner, value, said);
        }
    }

    fn put(&mut self, owner: Option<usize>, value: String, said: String) {
        match self.0.iter_mut().find(|(other, _, known)| *other == owner && *known == said) {
            Some((_, values, _)) if values.contains(&value) => {}
            Some((_, values, _)) => values.push(value),
            None => self.0.push((owner, vec![value], said)),
        }
    }

    fn error(&self, axes: &[Axis]) -> anyhow::Error {
        let one = |(owner, values, said): &(Option<usize>, Vec<String>, String)| match owner {
            Some(at) if values.len() == axes[*at].values.len() => {
                format!("`--vary {}`: {said}", axes[*at].paths.join(","))
            }
            Some(at) => format!("`--vary {}={}`: {said}", axes[*at].paths.join(","), values.join(",")),
            None => format!("`--vary`, with {}: {said}", values[0]),
        };
        let mut all: Vec<String> = self.0.iter().take(MOST_FAULTS).map(one).collect();
        if self.0.len() > MOST_FAULTS {
            all.push(format!("{} more are not listed", self.0.len() - MOST_FAULTS));
        }
        anyhow!(all.join("\nerror: "))
    }
}

fn point_of(axes: &[Axis], place: &[usize]) -> String {
    let one = |(axis, at): (&Axis, &usize)| format!("`{}={}`", axis.paths.join(","), axis.values[*at].text);
    axes.iter().zip(place).map(one).collect::<Vec<_>>().join(" and ")
}

fn point_name(axes: &[Axis], point: usize) -> String {
    places(axes)
        .get(point)
        .map_or_else(|| "the file as it stands".to_owned(), |place| point_of(axes, place).replace('`', ""))
}

/// How many seeds: a large grid takes fewer of them.
fn seeds(args: &SweepArgs, points: usize) -> anyhow::Result<Replicates> {
    let by_size = match points {
        0..=12 => 200,
        13..=30 => 100,
        31..=80 => 50,
        _ => 20,
    };
    let most = (MOST_RUNS / points as u64).max(1);
    Ok(match (args.experiment.seeds(), args.experiment.replicates) {
        (Replicates::UntilSure(n), _) => Replicates::UntilSure(n.min(most)),
        (Replicates::Exactly(_), Some(n)) if n > most => bail!(
            "{points} points with {n} seeds each are {} runs, of which at most {MOST_RUNS} are kept in memory\nhint: take \
             at most --replicates {most}, or fewer values",
            points as u64 * n
        ),
        (Replicates::Exactly(_), Some(n)) => Replicates::Exactly(n),
        (Replicates::Exactly(_), None) if args.experiment.quick => args.experiment.seeds(),
        (Replicates::Exactly(_), None) => Replicates::Exactly(by_size),
    })
}

/// What is measured, and which of it is named. Beside what is named stands what a warning needs.
fn chosen(args: &SweepArgs, all: Vec<Measure>) -> anyhow::Result<(Vec<Measure>, Vec<usize>)> {
    let mut named: Vec<usize> = Vec::new();
    for name in &args.metric {
        let found = metric("--metric", name, &all)?;
        if !named.contains(&found) {
            named.push(found);
        }
    }
    if named.is_empty() {
        return Ok((all, named));
    }
    let mut kept: Vec<Measure> = named.iter().map(|row| all[*row].clone()).collect();
    let is_companion = |measure: &&Measure| matches!(measure.key.as_str(), "not_delivered_share" | "failed_share");
    let companions: Vec<Measure> = all.iter().filter(is_companion).filter(|m| !kept.contains(m)).cloned().collect();
    let named = (0..kept.len()).collect();
    kept.extend(companions);
    Ok((kept, named))
}

/// The value of each axis in the file, where it is written there.
fn current(args: &SweepArgs, source: &Source, axes: &[Axis]) -> anyhow::Result<Vec<Option<Value>>> {
    let asked = Asked { variant: args.scenario.variant.as_deref(), fixes: &[], sets: &args.scenario.set };
    let settings = engine::settings(source, asked)?;
    let of = |axis: &Axis| {
        let (_, text) = settings.iter().find(|(path, _)| *path == axis.paths[0])?;
        Some(value(axis.quantity, text))
    };
    Ok(axes.iter().map(of).collect())
}

fn items(swept: &Swept<'_>, command: &str) -> anyhow::Result<Vec<Item>> {
    let page = anstream::adapter::strip_str(&text::text(swept, COLUMNS)).to_string();
    let picture = plot::sweep(swept, command, &Theme::LIGHT);
    let bytes = [
        format!("$ {command}\n\n{page}").into_bytes(),
        picture.svg(Setting::File).into_bytes(),
        picture.png(1.0)?,
        json::text(swept).into_bytes(),
        csv::table(swept)?,
    ];
    Ok(NAMES.into_iter().zip(bytes).map(|(name, bytes)| Item { name, bytes }).collect())
}

/// The command that prints the same again.
fn command(args: &SweepArgs) -> String {
    let mut words = vec!["retrycast".to_owned(), "sweep".to_owned(), quoted(&args.scenario.file.to_string_lossy())];
    let options = [("--vary", &args.vary), ("--metric", &args.metric)];
    if let Some(variant) = &args.scenario.variant {
        words.extend(["--variant".to_owned(), quoted(variant)]);
    }
    for (option, texts) in options.into_iter().chain([("--set", &args.scenario.set)]) {
        words.extend(texts.iter().flat_map(|text| [option.to_owned(), quoted(text)]));
    }
    words.extend(with_words("--with", &args.scenario.with));
    words.extend(args.experiment.words());
    words.join(" ")
}
