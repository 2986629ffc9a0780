//! The arguments of `regress`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::args::{most_requests, replicates, seed, threads};

/// The seeds of a baseline that is asked for no number: enough that fifteen of them on one side would be sure.
const REPLICATES: u64 = 40;

/// The seeds with `--quick`.
pub(super) const QUICK: u64 = 20;

/// Says whether a change made something worse, against what was recorded
///
/// `record` keeps the numbers of every seed of a set of scenarios in one file, which is committed. `check` runs them again
/// and says which number of which scenario and class moved, by how much, and how sure that is: exit 1 where one is worse
/// by more than is tolerated and than chance explains.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
    retrycast regress record --baseline outputs/baseline.json\n  \
    retrycast regress check --baseline outputs/baseline.json --format markdown > comment.md\n  \
    retrycast regress check --baseline outputs/baseline.json --out results/",
    arg_required_else_help = true
)]
pub(super) struct RegressArgs {
    #[command(subcommand)]
    pub(super) verb: RegressVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum RegressVerb {
    Record(RecordArgs),
    Check(CheckArgs),
}

/// Runs scenarios and keeps their numbers as a baseline
///
/// Every variant of every scenario meets the same seeds. The file holds settings, digests and the numbers of each seed,
/// the same bytes on every machine; it is replaced when all runs are done, or not at all.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    All of scenarios/:\n    \
    retrycast regress record --baseline outputs/baseline.json\n  \
    One file and a folder, 100 seeds:\n    \
    retrycast regress record storm.toml more/ --baseline baseline.json --replicates 100")]
pub(super) struct RecordArgs {
    #[command(flatten)]
    pub(super) set: SetArgs,
    /// The seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// How many seeds every variant meets [default: 40]
    ///
    /// Fewer than 15 can be sure of nothing among a hundred numbers.
    #[arg(long, value_name = "N", value_parser = replicates, allow_negative_numbers = true)]
    pub(super) replicates: Option<u64>,
    /// A first look: 20 seeds
    #[arg(long, conflicts_with = "replicates")]
    pub(super) quick: bool,
}

/// Runs scenarios again and holds them against a baseline
///
/// The seeds are those of the baseline, so that each is compared with itself and a run that does exactly what it did needs
/// no test. Other seeds are compared as two samples. Exit 0 where no number is worse, 1 where one is or where something
/// that was recorded is gone, 2 where there is no answer.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    retrycast regress check --baseline outputs/baseline.json --tolerances outputs/tolerances.toml\n  \
    What would this change do?\n    \
    retrycast regress check scenarios/report_storm.toml --baseline outputs/baseline.json \\\n      \
    --set clients.batch.layers.sdk.max_retries=3\n  \
    Every form of the report, in files:\n    \
    retrycast regress check --baseline outputs/baseline.json --out results/")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) set: SetArgs,
    /// How far numbers may move, a TOML file [default: 2 % of what was recorded, and half a task, 0.01 requests for each
    /// needed, half a percentage point or a second]
    #[arg(long, value_name = "FILE")]
    pub(super) tolerances: Option<PathBuf>,
    /// Compare with other seeds than those of the baseline, as two samples
    #[arg(long, conflicts_with = "seed")]
    pub(super) unpaired: bool,
    /// The seed [default: the one of the baseline; with --unpaired the next one]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
    /// How many seeds every variant meets [default: as many as were recorded]
    #[arg(long, value_name = "N", value_parser = replicates, allow_negative_numbers = true)]
    pub(super) replicates: Option<u64>,
    /// A first look: at most 20 seeds
    #[arg(long, conflicts_with = "replicates")]
    pub(super) quick: bool,
    /// Change one value in everything that is run; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(super) sets: Vec<String>,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(super) format: ReportFormat,
    /// Also write the report in every form to this folder
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// Which scenarios are run and how.
#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// The scenarios: TOML files, or folders of them [default: scenarios; of check, what was recorded]
    #[arg(value_name = "FILE|FOLDER")]
    pub(super) files: Vec<PathBuf>,
    /// The file of the baseline
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: PathBuf,
    /// Only variants of this name; may be given several times [default: all]
    #[arg(long = "variant", value_name = "NAME")]
    pub(super) variants: Vec<String>,
    /// How many threads share the runs [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// The most requests of one run
    #[arg(long, value_name = "N", default_value_t = crate::experiment::MOST_REQUESTS, value_parser = most_requests,
        allow_negative_numbers = true)]
    pub(super) max_requests: u64,
    /// Say nothing on standard error but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// The forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// A page for people
    Text,
    /// One JSON document
    Json,
    /// A comment of a pull request
    Markdown,
    /// Test results, as CI systems read them
    Junit,
    /// Findings, as code hosts read them
    Sarif,
}

impl RecordArgs {
    /// How many seeds.
    pub(super) fn seeds(&self) -> u64 {
        if self.quick { QUICK } else { self.replicates.unwrap_or(REPLICATES) }
    }
}
