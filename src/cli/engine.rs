//! The one place where the command line meets the engine.

use std::sync::atomic::AtomicBool;

use super::source::Source;
use crate::experiment::RunResult;
use crate::random::Seed;
use crate::report::{Subject, WorstCase};
use crate::scenario::Scenario;

/// The run was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupted;

/// A timeline as a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    /// As SVG text.
    pub(super) svg: String,
    /// As a PNG file.
    pub(super) png: Vec<u8>,
}

/// The checked scenario of a file.
pub(super) fn load(source: &Source, variant: Option<&str>, sets: &[String]) -> anyhow::Result<Scenario> {
    let _ = (variant, sets, &source.text);
    anyhow::bail!("scenario `{}` cannot be checked yet", source.name())
}

/// Runs it.
pub(super) fn run(
    scenario: &Scenario,
    seed: Seed,
    replicates: Option<u64>,
    threads: Option<usize>,
    interrupt: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<RunResult, Interrupted> {
    let _ = (scenario, seed, replicates, threads, interrupt, progress);
    Err(Interrupted)
}

/// The timeline of a run.
pub(super) fn timeline(subject: &Subject<'_>) -> Picture {
    let _ = subject;
    Picture::default()
}

/// What the layers of each class multiply to at worst.
pub(super) fn worst(scenario: &Scenario) -> Vec<WorstCase> {
    let _ = scenario;
    Vec::new()
}

/// What `explain` prints: text, or JSON.
pub(super) fn explained(scenario: &Scenario, as_json: bool) -> String {
    let _ = as_json;
    format!("{}\n", scenario.title)
}
