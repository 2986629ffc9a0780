//! The scenarios of a baseline: which files the command line means, what they are called in it, and what they hold.

use std::path::{Component, Path, PathBuf};

use anyhow::{anyhow, bail};

use super::engine::{self, Asked};
use super::source::{Source, reason, shown};
use crate::document::near;
use crate::experiment::regress::{Now, Recorded};
use crate::experiment::{Arm, Measure, Plan, Stopped, Terms, Trial};
use crate::random::Seed;
use crate::scenario::Scenario;

use super::interrupt::Interrupt;
use super::journal::Journal;
use super::progress::Progress;
use super::regress_args::SetArgs;

/// A scenario file and what it is called in a baseline.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// With slashes, relative to where the program runs.
    pub(super) name: String,
    /// As it was given.
    pub(super) path: PathBuf,
}

/// A variant that is to be run.
#[derive(Debug)]
pub(super) struct Loaded {
    /// What its file is called in a baseline.
    pub(super) file: String,
    /// Its file.
    pub(super) source: Source,
    /// What is run.
    pub(super) scenario: Scenario,
    /// What its file says.
    pub(super) settings: Vec<(String, String)>,
}

/// What a path is called in a baseline: nothing of this machine, so that the file fits on another one.
pub(super) fn name(path: &Path) -> anyhow::Result<String> {
    let here = std::env::current_dir().unwrap_or_default();
    let path = if path.is_absolute() { path.strip_prefix(&here).unwrap_or(path) } else { path };
    let mut names: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => names.push("..".to_owned()),
            Component::RootDir | Component::Prefix(_) => bail!(
                "a baseline cannot hold `{}`: the path is of this machine\nhint: change to the project's folder and give \
                 the path relative to it",
                shown(path)
            ),
        }
    }
    Ok(if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

/// The scenario files that these paths mean, each once. Where `may_lack`, what does not exist is left out.
pub(super) fn expand(paths: &[PathBuf], may_lack: bool) -> anyhow::Result<Vec<Named>> {
    let mut out: Vec<Named> = Vec::new();
    let mut put = |path: PathBuf| -> anyhow::Result<()> {
        let name = name(&path)?;
        if !out.iter().any(|known| known.name == name) {
            out.push(Named { name, path });
        }
        Ok(())
    };
    for path in paths {
        if path.is_dir() {
            let entries =
                std::fs::read_dir(path).map_err(|e| anyhow!("cannot read `{}`: {}", shown(path), reason(&e)))?;
            let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.retain(|file| file.extension().is_some_and(|ending| ending == "toml") && file.is_file());
            files.sort();
            if files.is_empty() && !may_lack {
                bail!("no scenario in `{}`\nhint: name a folder with .toml files, or the files", shown(path));
            }
            files.into_iter().try_for_each(&mut put)?;
        } else if !may_lack || path.exists() {
            put(path.clone())?;
        }
    }
    Ok(out)
}

/// The variants of these files, checked.
pub(super) fn load(files: &[Named], args: &SetArgs, sets: &[String]) -> anyhow::Result<Vec<Loaded>> {
    let mut out = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for file in files {
        let source = Source::read(&file.path)?;
        let variants = engine::load(&source, None, &[])?.variants;
        seen.extend(variants.iter().cloned());
        let wanted = |name: &&String| args.variants.is_empty() || args.variants.contains(*name);
        for variant in variants.iter().filter(wanted) {
            let asked = Asked { variant: Some(variant), fixes: &[], sets };
            out.push(Loaded {
                file: file.name.clone(),
                source: source.clone(),
                scenario: engine::load_with(&source, asked)?,
                settings: engine::settings(&source, asked)?,
            });
        }
    }
    if let Some(stranger) = args.variants.iter().find(|name| !seen.contains(name)) {
        seen.sort();
        seen.dedup();
        let known: Vec<&str> = seen.iter().map(String::as_str).collect();
        bail!(
            "no scenario has a variant `{}`\nhint: {}",
            stranger.escape_debug(),
            near::existing("variants", &known, stranger)
        );
    }
    Ok(out)
}

/// Runs all of them with these seeds; `None` where the user asked to stop.
pub(super) fn run(
    loaded: &[Loaded],
    seed: u64,
    replicates: u64,
    args: &SetArgs,
    interrupt: &Interrupt,
    journal: &Journal,
) -> anyhow::Result<Option<Vec<Now>>> {
    let progress = Progress::over(Some(loaded.len() as u64 * replicates), args.quiet);
    let mut out = Vec::new();
    for (index, one) in loaded.iter().enumerate() {
        let before = index as f64 * replicates as f64;
        let at = |done: f64| progress.at(before + done);
        let terms = Terms { progress: &at, most_requests: args.max_requests, ..Terms::new(interrupt.flag()) };
        let arm = Arm { name: &one.scenario.variant, scenario: &one.scenario };
        let plan = Plan { threads: args.threads, kept: journal, ..Plan::new(Seed(seed), terms) };
        match Trial::run(&[arm], replicates, plan) {
            Ok(trial) => out.push(Now {
                recorded: Recorded::of(one.file.clone(), &one.scenario, one.settings.clone(), &trial),
                measures: trial.measures,
            }),
            Err(halted) => match halted.why {
                Stopped::Interrupted => return Ok(None),
                Stopped::Endless(endless) => {
                    return Err(anyhow!("`{}`: {:#}", one.file, engine::endless_arm(&arm, &endless)));
                }
            },
        }
    }
    Ok(Some(out))
}

/// What will be measured of these, without a run.
pub(super) fn measures(loaded: &Loaded) -> Vec<Measure> {
    crate::experiment::measure::measures(&[&loaded.scenario])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_nothing_of_the_machine() {
        for (path, expected) in
            [("a/x.toml", "a/x.toml"), ("./a/./x.toml", "a/x.toml"), ("../x.toml", "../x.toml"), (".", ".")]
        {
            assert_eq!(name(Path::new(path)).unwrap(), expected);
        }
        let here = std::env::current_dir().unwrap();
        assert_eq!(name(&here.join("a/x.toml")).unwrap(), "a/x.toml");
        let text = format!("{:#}", name(Path::new("/elsewhere/x.toml")).unwrap_err());
        assert!(text.starts_with("a baseline cannot hold `/elsewhere/x.toml`"), "{text}");
    }
}
