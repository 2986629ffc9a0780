//! The one place where the command line meets the engine.

use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;

use super::source::{self, Source};
use crate::experiment::{self, Arm, Endless, RunResult, Stopped, Terms};
use crate::explain::{self, Explanation};
use crate::plot::{self, Form, Picture, Theme};
use crate::random::Seed;
use crate::report::quantity::Unit;
use crate::report::request_log::RequestLog;
use crate::report::{Subject, WorstCase, explain as explain_text, explain_json, finding};
use crate::scenario::{self, Refusal, Scenario};
use crate::units::{SimDuration, SimTime};

/// Why a file gives no scenario.
#[derive(Debug)]
pub(super) struct Refused(pub(super) Refusal);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(super::refusal::render(&self.0, false).trim_end())
    }
}

impl std::error::Error for Refused {}

/// What is asked of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The variant; `None` for the file as it stands.
    pub(super) variant: Option<&'a str>,
    /// Fixes, by name.
    pub(super) fixes: &'a [String],
    /// The texts of `--set`.
    pub(super) sets: &'a [String],
}

/// The checked scenario of a file.
pub(super) fn load(file: &Source, variant: Option<&str>, sets: &[String]) -> anyhow::Result<Scenario> {
    load_with(file, Asked { variant, fixes: &[], sets })
}

/// The checked scenario of a file with fixes.
pub(super) fn load_with(file: &Source, asked: Asked<'_>) -> anyhow::Result<Scenario> {
    let path = file.path.to_string_lossy();
    let beside = file.path.parent().unwrap_or(Path::new(""));
    let trace = |name: &str| source::trace(&beside.join(name));
    let Asked { variant, fixes, sets } = asked;
    let source =
        scenario::Source { path: &path, text: &file.text, variant, fixes, patches: &file.patches, sets, trace: &trace };
    scenario::load(&source).map_err(|refusal| Refused(refusal).into())
}

/// What a file says, one setting at a time.
pub(super) fn settings(file: &Source, asked: Asked<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let path = file.path.to_string_lossy();
    let Asked { variant, fixes, sets } = asked;
    let patches = &file.patches;
    let source = scenario::Source { variant, fixes, patches, sets, ..scenario::Source::new(&path, &file.text) };
    scenario::settings(&source).map_err(|refusal| Refused(refusal).into())
}

/// The line of the file on which each of these settings is written; none at all for a file that is refused.
pub(super) fn lines(file: &Source, asked: Asked<'_>) -> Vec<Option<usize>> {
    let path = file.path.to_string_lossy();
    let Asked { variant, fixes, sets } = asked;
    let source = scenario::Source { variant, fixes, sets, ..scenario::Source::new(&path, &file.text) };
    scenario::lines(&source).unwrap_or_default()
}

/// Runs it.
pub(super) fn run(
    scenario: &Scenario,
    seed: Seed,
    replicates: Option<u64>,
    threads: Option<usize>,
    terms: Terms<'_>,
) -> Result<RunResult, Stopped> {
    experiment::run(scenario, seed, replicates, threads, terms)
}

/// Runs the seed itself once more and writes every request of it; says how many there were.
pub(super) fn log(
    scenario: &Scenario,
    seed: Seed,
    terms: Terms<'_>,
    to: impl Write,
) -> Result<io::Result<u64>, Stopped> {
    let mut log = RequestLog::new(scenario, to);
    experiment::watched(scenario, seed, terms, &mut log)?;
    Ok(log.finish())
}

/// What is said of a run that does not seem to end.
pub(super) fn endless(scenario: &Scenario, endless: &Endless) -> anyhow::Error {
    let Endless { reached, requests, events, busiest, replicate } = endless;
    let which = if *replicate > 0 { format!("the run of replicate {replicate}") } else { "the run".to_owned() };
    let reached: SimDuration = *reached - SimTime::ZERO;
    let horizon = scenario.length();
    let class = scenario.traffic.get(*busiest).map_or("", |class| class.name.as_str());
    let [requests, events] = [*requests, *events].map(|n| Unit::Count.bare(n as f64));
    anyhow!(
        "{which} does not seem to end: after {requests} requests ({events} events) it has reached {reached} of \
         {horizon}; most requests are of `{class}`\nhint: give the clients of `{class}` fewer attempts, longer waits or \
         longer timeouts, let fewer tasks arrive, shorten `horizon`, or allow more with --max-requests"
    )
}

/// The same of an arm.
pub(super) fn endless_arm(arm: &Arm<'_>, found: &Endless) -> anyhow::Error {
    anyhow!("arm `{}`: {}", arm.name, endless(arm.scenario, found))
}

/// The timeline of a run, for a file and for a page.
pub(super) fn timeline(subject: &Subject<'_>, command: &str, theme: &Theme, form: &Form) -> Picture {
    let words = plot::Words { title: finding::finding(subject), command: command.to_owned() };
    plot::timeline(subject.result, subject.scenario, theme, &words, form)
}

/// What the layers of each class multiply to at worst.
pub(super) fn worst(scenario: &Scenario) -> Vec<WorstCase> {
    let Explanation { classes, .. } = explain::explain(scenario);
    classes
        .into_iter()
        .map(|class| WorstCase {
            attempts: class
                .parts()
                .flat_map(|part| part.layers.iter().rev())
                .filter_map(|layer| Some((layer.name.clone(), layer.repetition()?.max_attempts)))
                .collect(),
            per_step: class.worst.per_call_site,
            per_task: class.worst.per_task,
            class: class.name,
        })
        .collect()
}

/// What `explain` prints: text, or JSON.
pub(super) fn explained(scenario: &Scenario, as_json: bool) -> String {
    let explanation = explain::explain(scenario);
    if as_json {
        let json = explain_json::json(&explanation);
        format!("{}\n", serde_json::to_string_pretty(&json).unwrap_or_default())
    } else {
        explain_text::text(&explanation)
    }
}
