//! `retrycast regress`: record a baseline, and check a change against one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};

use super::compare::said;
use super::engine::{self, Asked};
use super::files::{self, Folder, Growing, Item};
use super::interrupt::{Interrupt, put_aside};
use super::journal::Journal;
use super::regress_args::{CheckArgs, QUICK, RecordArgs, RegressArgs, RegressVerb, ReportFormat};
use super::regress_files::{self, Loaded};
use super::run::quoted;
use super::source::{reason, shown};
use super::{refusal, stream};
use crate::experiment::Measure;
use crate::experiment::regress::{Baseline, Check, Now, Recorded, Subject, Tolerances};
use crate::report::comparison::changes;
use crate::report::regression::{Facts, Regressed, baseline, json, junit, markdown, sarif, text};

/// The files of a check, in the order in which a person opens them.
const NAMES: [&str; 5] = ["regression.txt", "regression.md", "regression.json", "junit.xml", "regression.sarif"];

/// The columns of the page that is written to a file.
const COLUMNS: usize = 120;

/// The most settings that a command puts back.
const PATCHED: usize = 12;

/// The folder of scenarios where none is named.
const SCENARIOS: &str = "scenarios";

/// Records or checks.
pub(super) fn regress(args: &RegressArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        RegressVerb::Record(args) => record(args),
        RegressVerb::Check(args) => check(args),
    }
}

fn record(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.set.files.is_empty() { vec![PathBuf::from(SCENARIOS)] } else { args.set.files.clone() };
    let files = regress_files::expand(&paths, false)?;
    if let Some(file) = files.iter().find(|file| files::same(&file.path, &args.set.baseline)) {
        bail!(
            "`--baseline` would replace the scenario `{}`\nhint: give the baseline a name of its own",
            shown(&file.path)
        );
    }
    refuse_other(&args.set.baseline)?;
    let loaded = regress_files::load(&files, &args.set, &[])?;
    let sources = paths.iter().map(|path| regress_files::name(path)).collect::<anyhow::Result<Vec<String>>>()?;
    // Before the first file is made: whoever interrupts from now on finds nothing left behind. And the file before the
    // runs: whoever waits for them must not learn then that it cannot be written.
    let interrupt = Interrupt::listen()?;
    // A program that is killed leaves no file beside it: this one goes again at once.
    drop(Growing::at(&args.set.baseline, "--baseline")?);
    let replicates = args.seeds();
    let journal = Journal::beside(&args.set.baseline, args.set.quiet);
    let Some(now) = regress_files::run(&loaded, args.seed, replicates, &args.set, &interrupt, &journal)? else {
        return Ok(put_aside(args.set.quiet, &journal));
    };
    let measures: Vec<Measure> = now.iter().flat_map(|now| now.measures.iter().cloned()).collect();
    let recorded = Baseline {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        seed: args.seed,
        replicates,
        sources,
        recorded: now.into_iter().map(|now| now.recorded).collect(),
    };
    let text = baseline::text(&recorded, &measures);
    let mut file = Growing::at(&args.set.baseline, "--baseline")?;
    let written = {
        use std::io::Write as _;
        let mut writer = file.writer();
        writer.write_all(text.as_bytes()).and_then(|()| writer.flush())
    };
    written.map_err(|error| file.refused(&error))?;
    if interrupt.is_set() {
        return Ok(put_aside(args.set.quiet, &journal));
    }
    files::publish(file.complete()?.into_iter().collect())?;
    journal.finish();
    interrupt.let_go();
    if !args.set.quiet {
        let plural = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        stream::say(&format!(
            "wrote {}: {} of {}, {} each",
            shown(&args.set.baseline),
            plural(recorded.recorded.len(), "variant"),
            plural(files.len(), "scenario"),
            plural(replicates as usize, "seed"),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that holds something else is not replaced.
fn refuse_other(path: &Path) -> anyhow::Result<()> {
    let Ok(bytes) = std::fs::read(path) else { return Ok(()) };
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() || text.contains(baseline::FORMAT) {
        return Ok(());
    }
    bail!(
        "`--baseline` would replace `{}`, which is no baseline\nhint: give the baseline a name of its own",
        shown(path)
    )
}

fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let baseline = read_baseline(&args.set.baseline)?;
    let is_all = args.set.files.is_empty();
    let paths: Vec<PathBuf> =
        if is_all { baseline.sources.iter().map(PathBuf::from).collect() } else { args.set.files.clone() };
    let files = regress_files::expand(&paths, is_all)?;
    let loaded = regress_files::load(&files, &args.set, &args.sets)?;
    let tolerances = match &args.tolerances {
        Some(path) => read_tolerances(path, &subjects(&baseline, &loaded))?,
        None => Tolerances::default(),
    };
    let (seed, replicates) = seeds(args, &baseline)?;
    let interrupt = Interrupt::listen()?;
    let folder =
        args.out.as_deref().map(|path| Folder::beside(path, &NAMES, [args.set.baseline.as_path()])).transpose()?;
    let journal = Journal::open(args.out.as_deref(), args.set.quiet);
    let Some(now) = regress_files::run(&loaded, seed, replicates, &args.set, &interrupt, &journal)? else {
        return Ok(put_aside(args.set.quiet, &journal));
    };
    let folders: Vec<String> =
        paths.iter().filter(|path| path.is_dir()).filter_map(|path| regress_files::name(path).ok()).collect();
    let is_asked = |recorded: &Recorded| {
        let below = |folder: &String| folder == "." || recorded.file.starts_with(&format!("{folder}/"));
        let file = is_all || files.iter().any(|file| file.name == recorded.file) || folders.iter().any(below);
        file && (args.set.variants.is_empty() || args.set.variants.contains(&recorded.variant))
    };
    let check = Check::of(&baseline, &now, (seed, replicates), &tolerances, &is_asked);
    let is_known = |case: &&Now| {
        let own = &case.recorded;
        baseline.recorded.iter().any(|known| (&known.file, &known.variant) == (&own.file, &own.variant))
    };
    if check.cases.is_empty() || !now.iter().any(|case| is_known(&case)) {
        bail!("nothing of this is in `{}`\nhint: record it first", shown(&args.set.baseline));
    }
    let facts = facts(&check, &baseline, &now, &loaded, args);
    let (name, command) = (shown(&args.set.baseline), command(args));
    let regressed = Regressed { check: &check, facts: &facts, baseline: &name, command: &command };
    let complete = match &folder {
        Some(folder) => folder.complete(&items(&regressed))?,
        None => Vec::new(),
    };
    if interrupt.is_set() {
        return Ok(put_aside(args.set.quiet, &journal));
    }
    files::publish(complete)?;
    journal.finish();
    interrupt.let_go();
    match args.format {
        ReportFormat::Text => stream::print_coloured(&text::text(&regressed, stream::columns()))?,
        ReportFormat::Json => stream::print(&json::text(&regressed))?,
        ReportFormat::Markdown => stream::print(&markdown::text(&regressed))?,
        ReportFormat::Junit => stream::print(&junit::text(&regressed))?,
        ReportFormat::Sarif => stream::print(&sarif::text(&regressed))?,
    };
    said(args.out.as_deref(), args.set.quiet, &NAMES);
    Ok(ExitCode::from(match (check.is_failure(), check.is_unsure()) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    }))
}

/// The seed and how many there are.
fn seeds(args: &CheckArgs, baseline: &Baseline) -> anyhow::Result<(u64, u64)> {
    let seed = if args.unpaired { baseline.seed.wrapping_add(1) } else { args.seed.unwrap_or(baseline.seed) };
    let asked = if args.quick { Some(QUICK.min(baseline.replicates)) } else { args.replicates };
    let replicates = asked.unwrap_or(baseline.replicates);
    if seed == baseline.seed && replicates > baseline.replicates {
        bail!(
            "`--replicates {replicates}`: only {} seeds were recorded\nhint: record more, or compare other seeds with \
             --unpaired",
            baseline.replicates
        );
    }
    Ok((seed, replicates))
}

fn read_text(path: &Path, what: &str, hint: &str) -> anyhow::Result<String> {
    /// The largest file that is read.
    const LARGEST: u64 = 1 << 30;
    let cannot = |why: String| anyhow!("cannot read the {what} `{}`: {why}\nhint: {hint}", shown(path));
    let metadata = std::fs::metadata(path).map_err(|error| cannot(reason(&error)))?;
    if metadata.is_dir() {
        return Err(cannot("it is a folder".to_owned()));
    }
    if metadata.len() > LARGEST {
        return Err(cannot("it is larger than 1 GiB".to_owned()));
    }
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => cannot("it is not UTF-8 text".to_owned()),
        _ => cannot(reason(&error)),
    })
}

fn read_baseline(path: &Path) -> anyhow::Result<Baseline> {
    let remedy = format!("make one with `retrycast regress record --baseline {}`", quoted(&shown(path)));
    let text = read_text(path, "baseline", &remedy)?;
    baseline::read(&text).map_err(|why| {
        anyhow!("cannot read the baseline `{}`: {}\nhint: {remedy}", shown(path), refusal::harmless(&why))
    })
}

fn read_tolerances(path: &Path, subjects: &[Subject]) -> anyhow::Result<Tolerances> {
    let text = read_text(path, "tolerances", "give the path of a TOML file, or leave --tolerances out")?;
    Tolerances::read(&text, subjects).map_err(|(faults, left_out)| {
        let page = refusal::faulty("tolerances", &path.to_string_lossy(), &text, &faults, left_out);
        anyhow!("{}", page.trim_start_matches("error: ").trim_end())
    })
}

/// Everything that a tolerance may be of: what was recorded and what is there.
fn subjects(baseline: &Baseline, loaded: &[Loaded]) -> Vec<Subject> {
    let mut out: Vec<Subject> = Vec::new();
    for one in loaded {
        let measures = regress_files::measures(one);
        out.extend(measures.iter().map(|measure| Subject::of(&one.scenario.name, &one.scenario.variant, measure)));
    }
    let mut known: Vec<String> = out.iter().map(|subject| subject.name.clone()).collect();
    known.sort_unstable();
    for recorded in &baseline.recorded {
        for column in &recorded.columns {
            let name = format!("{}.{}.{}", recorded.stem(), recorded.variant, column.path);
            if known.binary_search(&name).is_err() {
                out.push(Subject { name, kind: None });
            }
        }
    }
    out
}

/// What is known of each case beside its numbers.
fn facts(check: &Check, baseline: &Baseline, now: &[Now], loaded: &[Loaded], args: &CheckArgs) -> Vec<Facts> {
    let one = |case: &crate::experiment::regress::Case| {
        let is_it = |recorded: &Recorded| recorded.file == case.file && recorded.variant == case.variant;
        let before = baseline.recorded.iter().find(|recorded| is_it(recorded));
        let after = now.iter().zip(loaded).find(|(now, _)| is_it(&now.recorded));
        let (Some(before), Some((after, loaded))) = (before, after) else { return Facts::default() };
        let changes = changes(&before.settings, &after.recorded.settings);
        let known = |element: &(String, u64)| before.elements.contains(element);
        let differs = after.recorded.elements.iter().filter(|element| !known(element));
        let asked = Asked { variant: Some(&case.variant), fixes: &[], sets: &args.sets };
        let lines = engine::lines(&loaded.source, asked);
        let line = |path: &str| {
            let at = loaded.settings.iter().position(|(known, _)| known == path)?;
            lines.get(at).copied().flatten()
        };
        Facts {
            line: changes.iter().find_map(|change| line(&change.path)),
            elements: differs.map(|(name, _)| name.clone()).collect(),
            again: case.is_failure().then(|| again(case, &changes, check, args)),
            changes,
        }
    };
    check.cases.iter().map(one).collect()
}

/// The command that shows a difference at length: now against what was recorded where settings can be put back, else a
/// run of what is there now.
fn again(
    case: &crate::experiment::regress::Case,
    changes: &[crate::report::comparison::Change],
    check: &Check,
    args: &CheckArgs,
) -> String {
    let back: Option<Vec<String>> = changes
        .iter()
        .map(|change| change.to.as_ref().and(change.from.as_ref()).map(|from| format!("{}={from}", change.path)))
        .collect();
    let back = back.filter(|back| (1..=PATCHED).contains(&back.len()));
    let verb = if back.is_some() { "compare" } else { "run" };
    let mut words = ["retrycast", verb].map(str::to_owned).to_vec();
    words.extend([quoted(&case.file), "--variant".to_owned(), quoted(&case.variant)]);
    words.extend(args.sets.iter().flat_map(|set| ["--set".to_owned(), quoted(set)]));
    if let Some(back) = back {
        words.extend(["--patch".to_owned(), quoted(&format!("recorded: {}", back.join(", ")))]);
    }
    words.extend([
        "--seed".to_owned(),
        check.seed.to_string(),
        "--replicates".to_owned(),
        check.replicates.to_string(),
    ]);
    words.join(" ")
}

fn items(regressed: &Regressed<'_>) -> Vec<Item> {
    let page = anstream::adapter::strip_str(&text::text(regressed, COLUMNS)).to_string();
    let texts = [
        format!("$ {}\n\n{page}", regressed.command),
        markdown::text(regressed),
        json::text(regressed),
        junit::text(regressed),
        sarif::text(regressed),
    ];
    NAMES.into_iter().zip(texts).map(|(name, text)| Item { name, bytes: text.into_bytes() }).collect()
}

/// The command that prints the same again.
fn command(args: &CheckArgs) -> String {
    let mut words = ["retrycast", "regress", "check"].map(str::to_owned).to_vec();
    words.extend(args.set.files.iter().map(|file| quoted(&file.to_string_lossy())));
    words.extend(["--baseline".to_owned(), quoted(&args.set.baseline.to_string_lossy())]);
    for (option, value) in [
        ("--tolerances", args.tolerances.as_ref().map(|path| path.to_string_lossy().into_owned())),
        ("--seed", args.seed.map(|seed| seed.to_string())),
        ("--replicates", args.replicates.map(|n| n.to_string())),
    ] {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), quoted(&value)]));
    }
    words.extend(args.set.variants.iter().flat_map(|name| ["--variant".to_owned(), quoted(name)]));
    words.extend(args.sets.iter().flat_map(|set| ["--set".to_owned(), quoted(set)]));
    words.extend(args.unpaired.then(|| "--unpaired".to_owned()));
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.join(" ")
}
