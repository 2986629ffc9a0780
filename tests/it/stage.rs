//! What the tests of this binary stand on: scenarios read from text or shipped, runs, and their numbers by name.

use std::sync::atomic::AtomicBool;

use retrycast::experiment::{self, RunResult};
use retrycast::metrics::{Number, Tree, summarize};
use retrycast::random::Seed;
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::sim::{Fact, Observer, simulate, simulate_observed};
use retrycast::stats::Statistic;

/// The scenario of a text.
pub(super) fn read(text: &str) -> Scenario {
    load(&Source::new("stage.toml", text)).unwrap_or_else(|refusal| panic!("{refusal:#?}\n{text}"))
}

/// What is wrong with a text: message and hint of each fault, in order of place.
pub(super) fn said(text: &str) -> Result<Scenario, Vec<(String, String)>> {
    load(&Source::new("stage.toml", text)).map_err(|refusal| match refusal {
        Refusal::Faulty { faults, .. } => {
            faults.into_iter().map(|fault| (fault.message, fault.hint.unwrap_or_default())).collect()
        }
        Refusal::Whole { message, hint } => vec![(message, hint.unwrap_or_default())],
    })
}

/// The shipped files, by name, in order.
pub(super) fn files() -> Vec<(String, String)> {
    let mut paths: Vec<_> = std::fs::read_dir("scenarios").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let file = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    paths.into_iter().map(file).collect()
}

/// A shipped scenario: the file's stem, a variant, and texts as `--set` takes them.
pub(super) fn shipped(stem: &str, variant: &str, sets: &[&str]) -> Scenario {
    let path = format!("scenarios/{stem}.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let source = Source { variant: Some(variant), sets: &sets, ..Source::new(&path, &text) };
    load(&source).unwrap_or_else(|refusal| panic!("{refusal:#?}"))
}

/// A shipped scenario with fixes of its file.
pub(super) fn fixed(stem: &str, variant: &str, fixes: &[&str]) -> Scenario {
    let path = format!("scenarios/{stem}.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let fixes: Vec<String> = fixes.iter().map(|fix| (*fix).to_owned()).collect();
    let source = Source { variant: Some(variant), fixes: &fixes, ..Source::new(&path, &text) };
    load(&source).unwrap_or_else(|refusal| panic!("{refusal:#?}"))
}

/// Every variant of every shipped scenario.
pub(super) fn all_shipped() -> Vec<Scenario> {
    let mut all = Vec::new();
    for (path, text) in files() {
        for variant in &load(&Source::new(&path, &text)).unwrap().variants {
            all.push(load(&Source { variant: Some(variant), ..Source::new(&path, &text) }).unwrap());
        }
    }
    all
}

/// `file/variant`, as golden files and messages name a scenario.
pub(super) fn name(scenario: &Scenario) -> String {
    format!("{}/{}", scenario.name, scenario.variant)
}

/// The numbers of one run.
pub(super) struct Run(pub(super) Tree<Number>);

impl Run {
    pub(super) fn of(scenario: &Scenario, seed: u64) -> Run {
        Run(summarize(scenario, &simulate(scenario, Seed(seed))))
    }

    /// The number at a path such as `classes.report.requests`; NaN where it is not defined.
    #[track_caller]
    pub(super) fn number(&self, path: &str) -> f64 {
        let names: Vec<&str> = path.split('.').collect();
        self.0.leaf(&names).unwrap_or_else(|| panic!("no number `{path}`")).value
    }

    /// A count.
    #[track_caller]
    pub(super) fn count(&self, path: &str) -> u64 {
        let value = self.number(path);
        assert!(value >= 0.0 && value.fract() == 0.0, "`{path}` is no count: {value}");
        value as u64
    }
}

/// Replicates with their statistics by name.
pub(super) struct Replicates(pub(super) RunResult);

impl Replicates {
    pub(super) fn of(scenario: &Scenario, seed: u64, n: u64) -> Replicates {
        let never = AtomicBool::new(false);
        Replicates(experiment::run(scenario, Seed(seed), Some(n), None, experiment::Terms::new(&never)).unwrap())
    }

    /// The statistic at a path such as `phases.overload.classes.report.calls`.
    #[track_caller]
    pub(super) fn statistic(&self, path: &str) -> &Statistic {
        let names: Vec<&str> = path.split('.').collect();
        match self.0.figures.leaf(&names) {
            Some(experiment::Figure::Many { statistic: Some(statistic), .. }) => statistic,
            other => panic!("no statistic `{path}`: {other:?}"),
        }
    }

    /// The mean at a path.
    #[track_caller]
    pub(super) fn mean(&self, path: &str) -> f64 {
        self.statistic(path).mean
    }
}

/// Keeps every fact of a run.
#[derive(Default)]
pub(super) struct Recorder(pub(super) Vec<Fact>);

impl Observer for Recorder {
    fn see(&mut self, fact: &Fact) -> bool {
        self.0.push(*fact);
        true
    }
}

/// All facts of one run.
pub(super) fn facts(scenario: &Scenario, seed: u64) -> Vec<Fact> {
    let mut recorder = Recorder::default();
    simulate_observed(scenario, Seed(seed), &mut recorder);
    recorder.0
}
