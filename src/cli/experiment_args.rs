//! The arguments of the verbs that compare: which arms, how many seeds, what to write.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{Format, ScenarioArgs, most_requests, replicates, seed, threads};

/// The seeds of an experiment that is asked for no number: enough for an interval of a fifteenth of what one run spreads.
const REPLICATES: u64 = 200;

/// The seeds with `--quick`.
const QUICK: u64 = 20;

/// The most seeds that `--until-sure` takes by itself.
const UNTIL_SURE: u64 = 3_200;

/// Compares policies in the same worlds, each against the first
///
/// Every arm meets the same seeds: the same arrivals, sizes and faults. So each difference is taken within a seed, and its
/// interval is that of the differences. Prints what is better and what is worse, by how much and in how many seeds, what
/// each layer did, and what to beware of. Files go to a folder of their own: comparison.html, comparison.svg and .png,
/// comparison.json, comparison.csv.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    Before and after the fixes, in the same overload:\n    \
    retrycast compare scenarios/report_storm.toml --arms before,after\n\n  \
    One fix of the file alone, and one change of your own:\n    \
    retrycast compare scenarios/report_storm.toml --arms before,before+breaker \\\n      \
    --patch 'no_sdk: clients.batch.layers.sdk.max_retries=0'\n\n  \
    Two files:\n    \
    retrycast compare main.toml branch.toml --until-sure")]
pub(super) struct CompareArgs {
    /// The scenario, a TOML file
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Other scenarios; `OTHER.toml:VARIANT` picks a variant
    #[arg(value_name = "OTHER")]
    pub(super) others: Vec<String>,
    /// The arms of FILE, the one to hold the others against first: a variant, or `VARIANT+FIX` with fixes of the file
    ///
    /// `+FIX` is the file as it stands with a fix; further fixes are added with further signs. Without `--arms` the first
    /// arm is the file as it stands; where nothing else is named either, its only variant is the second.
    #[arg(long, value_name = "ARM,…", value_delimiter = ',')]
    pub(super) arms: Vec<String>,
    /// One more arm: the first one with these settings changed; may be given several times
    ///
    /// Written like `--set`, with a name before and commas between.
    #[arg(long, value_name = "NAME: PATH=VALUE, …")]
    pub(super) patch: Vec<String>,
    /// One more arm: the first one with the changes of a patch file, named after it; may be given several times
    #[arg(long, value_name = "PATCH.toml")]
    pub(super) patch_file: Vec<PathBuf>,
    /// The variant that is the first arm where `--arms` names none [default: the file as it stands]
    #[arg(long, value_name = "NAME", conflicts_with = "arms")]
    pub(super) variant: Option<String>,
    /// A patch file that changes every arm; may be given several times
    #[arg(long, value_name = "PATCH.toml")]
    pub(super) with: Vec<PathBuf>,
    /// Change one value in every arm; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
}

/// Takes the fixes of a file apart: which of them matters for what
///
/// The fixes are the tables [fixes.NAME] of the file, patches like variants. No fix, each alone, all but each, and all
/// meet the same seeds. Prints in words which fix cannot be left out for which number, which would do alone and which
/// does harm alone, then the table of all combinations and what each fix changes. Files go to a folder of their own:
/// ablation.txt, ablation.svg and .png, ablation.json, ablation.csv.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    All fixes of the file, on the system as it was:\n    \
    retrycast ablate scenarios/report_storm.toml\n\n  \
    Two of them, in every combination, for a first look:\n    \
    retrycast ablate scenarios/report_storm.toml --fixes breaker,budget --all-combinations --quick")]
pub(super) struct AblateArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// The fixes to take apart [default: all of the file]
    #[arg(long, value_name = "FIX,…", value_delimiter = ',')]
    pub(super) fixes: Vec<String>,
    /// Run every combination, and say what each fix is worth on average over all orders
    #[arg(long)]
    pub(super) all_combinations: bool,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
}

/// Varies one or two settings and says what that does
///
/// A list or a range of values for any path of the file, and for two settings their grid; every point meets the same
/// seeds. Prints where each number is least, from where on it rises by more than chance, and what it trades against.
/// Files go to a folder of their own: sweep.txt, sweep.svg and .png (curves, or heat maps for two settings), sweep.json,
/// sweep.csv. Without --replicates a grid of up to 12 points takes 200 seeds, up to 30 points 100, up to 80 points 50,
/// larger ones 20.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    How much of the limit may reports have?\n    \
    retrycast sweep scenarios/report_storm.toml --variant after --vary guards.share.pacer.amount=70k..700k:10\n\n  \
    Two layers of retries against each other, two numbers of them:\n    \
    retrycast sweep scenarios/report_storm.toml --vary clients.batch.layers.sdk.max_retries=0..3 \\\n      \
    --vary clients.batch.layers.decorator.stop.after_attempt=1..4 --metric report.amplification --metric \\\n      \
    live.tasks_with_429_share --quick\n\n  \
    Values without a scale, and settings that move together:\n    \
    retrycast sweep FILE --vary 'clients.a.layers.sdk.jitter=\"full\",\"equal\",\"none\"'\n    \
    retrycast sweep FILE --vary 'traffic.a.workers,traffic.b.workers=1,2,4,8'")]
pub(super) struct SweepArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// A setting and the values that it takes; twice for a grid
    ///
    /// A list, `PATH=1,2,5`; a range with as many values as are easily read, `PATH=0..5`, or with a number of them,
    /// `PATH=70k..700k:10`, or with equal ratios, `PATH=1s..10m:8log`. Settings that move together stand before the `=`
    /// with commas between.
    #[arg(long, value_name = "PATH=VALUES", required = true)]
    pub(super) vary: Vec<String>,
    /// A number to show, by its path or an end of it; may be given several times [default: the headlines]
    ///
    /// Paths are those of the JSON document, such as `phases.overload.classes.report.amplification`; `report.failed` or
    /// `recovery.total_s` do where they mean one thing.
    #[arg(long, value_name = "NAME")]
    pub(super) metric: Vec<String>,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
}

/// How an experiment is run and what it writes.
#[derive(Debug, Args)]
pub(super) struct ExperimentArgs {
    /// The seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// How many seeds every arm meets; with --until-sure, at most [default: 200, fewer in a large sweep;
    /// with --until-sure 3200]
    #[arg(long, value_name = "N", value_parser = replicates, allow_negative_numbers = true)]
    pub(super) replicates: Option<u64>,
    /// Add seeds, doubling them, until every headline difference is known well
    ///
    /// Well is half an interval of at most 5 % of the larger mean, or of half a task, 0.01 requests for each needed,
    /// half a percentage point, one second.
    #[arg(long)]
    pub(super) until_sure: bool,
    /// A first look: 20 seeds
    #[arg(long, conflicts_with_all = ["replicates", "until_sure"])]
    pub(super) quick: bool,
    /// How many threads share the runs [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// The folder for files [default: one under outputs/, named after the arms]
    ///
    /// With `--format json` files are written only where this is given.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// The most requests of one run
    #[arg(long, value_name = "N", default_value_t = crate::experiment::MOST_REQUESTS, value_parser = most_requests,
        allow_negative_numbers = true)]
    pub(super) max_requests: u64,
    /// Say nothing on standard error but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl CompareArgs {
    /// The files that are read, traces left out.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        let end = |other: &str| other.rsplit_once(".toml:").map_or(other.len(), |(stem, _)| stem.len() + ".toml".len());
        let others = self.others.iter().map(move |other| Path::new(&other[..end(other)]));
        let own = std::iter::once(&self.file).chain(&self.with).chain(&self.patch_file).map(PathBuf::as_path);
        own.chain(others)
    }
}

impl ExperimentArgs {
    /// How many seeds.
    pub(super) fn seeds(&self) -> crate::experiment::Replicates {
        use crate::experiment::Replicates;
        match (self.quick, self.until_sure) {
            (true, _) => Replicates::Exactly(QUICK),
            (false, true) => Replicates::UntilSure(self.replicates.unwrap_or(UNTIL_SURE)),
            (false, false) => Replicates::Exactly(self.replicates.unwrap_or(REPLICATES)),
        }
    }

    /// The words that repeat it on a command line; threads and folder change nothing.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec!["--seed".to_owned(), self.seed.to_string()];
        if let Some(n) = self.replicates {
            words.extend(["--replicates".to_owned(), n.to_string()]);
        }
        words.extend(self.until_sure.then(|| "--until-sure".to_owned()));
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words
    }
}
