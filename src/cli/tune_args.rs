//! The arguments of `tune`: what may be chosen, for what, under which bounds, and where it is checked.

use clap::Args;

use super::args::ScenarioArgs;
use super::experiment_args::ExperimentArgs;

/// How many policies are looked at, and with `--quick`.
const CANDIDATES: usize = 300;
const QUICK: usize = 60;

/// How many seeds the best of them meet, and with `--quick`.
const SEARCH_SEEDS: u64 = 32;
const QUICK_SEEDS: u64 = 8;

/// Searches the settings of a policy, and checks what it finds where it has not looked
///
/// What may be chosen is said by `--vary`, for what by `--goal`. Several goals give a frontier; its winner is the policy
/// whose least improvement on the reference is largest. The winner then meets other seeds and other overloads, which the
/// search has not seen: shorter, longer, milder, harder. Prints what was chosen, what it is worth there against the
/// reference, and what is left of what the search promised. Files go to a folder of their own: tuned.toml (a patch file
/// for --with), tune.txt, tune.svg and .png, tune.json, tune.csv. An interrupted search goes on where it stopped.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    Two settings, for few retries and early reports:\n    \
    retrycast tune scenarios/report_storm.toml --variant after --goal amplification --goal slowest \\\n      \
    --vary 'clients.batch.layers.sdk.max_retries=0..4' --vary 'guards.share.pacer.amount=100k..600k'\n\n  \
    What was found is used by every verb:\n    \
    retrycast run scenarios/report_storm.toml --variant after --with outputs/…/tuned.toml")]
pub(super) struct TuneArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// A setting that may be chosen, or several that move together; may be given several times
    ///
    /// A list holds choices: `PATH=1,2,5`, `PATH=true,false`. A range is searched as a number: `PATH=70k..700k`,
    /// `PATH=10%..100%`, `PATH=1s..10m:8log` (by equal ratios). Several paths before the `=` get the same value.
    #[arg(long, value_name = "PATH=VALUES", required_unless_present_any = ["least", "most", "size"])]
    pub(super) vary: Vec<String>,
    /// Instead of goals: the smallest value of one setting that keeps every --constraint
    #[arg(long, value_name = "PATH=VALUES", conflicts_with_all = ["vary", "goal", "most"])]
    pub(super) least: Option<String>,
    /// Instead of goals: the largest value of one setting that keeps every --constraint
    #[arg(long, value_name = "PATH=VALUES", conflicts_with_all = ["vary", "goal"])]
    pub(super) most: Option<String>,
    /// A question of size that is often asked: budget, hint-cap, outlast=DURATION
    ///
    /// budget: the smallest share of a limit that a pacer may leave to background jobs. hint-cap: the longest hint that a
    /// live client should still wait for. outlast=22m: the fewest attempts whose waits outlast a window of that length.
    /// Each is a --least or a --most with bounds of its own, which are printed; --constraint replaces the bounds.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["vary", "goal", "least", "most"])]
    pub(super) size: Option<String>,
    /// A number that is to be low; several of them give a frontier [default: amplification, live-429, failed and slowest,
    /// as far as the scenario has them]
    ///
    /// Words: amplification, requests, failed, failed-share, not-delivered, slowest (of the jobs; never, where one failed), p50, p95, live-429,
    /// live-failed, live-p95, recovery, wasted; or the path of a number that `compare` measures, such as
    /// `classes.report.latency_s.max`.
    #[arg(long, value_name = "NUMBER")]
    pub(super) goal: Vec<String>,
    /// A bound that a policy has to keep; may be given several times
    ///
    /// `failed <= 0.5`, `slowest <= 30m`, `live-429 <= 5`: the mean over the seeds.
    #[arg(long, value_name = "NUMBER <= VALUE")]
    pub(super) constraint: Vec<String>,
    /// The variant that the winner is held against [default: the one that is tuned]
    #[arg(long, value_name = "NAME")]
    pub(super) against: Option<String>,
    /// One more world that the search sees: the file with these settings changed; may be given several times
    #[arg(long, value_name = "NAME: PATH=VALUE, …")]
    pub(super) seen: Vec<String>,
    /// A world for the check alone; may be given several times [default: a shorter, a longer, a milder and a harder
    /// overload]
    #[arg(long, value_name = "NAME: PATH=VALUE, …")]
    pub(super) unseen: Vec<String>,
    /// How many policies are looked at, at most [default: 300; with --quick 60]
    #[arg(long, value_name = "N", value_parser = candidates, allow_negative_numbers = true)]
    pub(super) candidates: Option<usize>,
    /// How many seeds the best of them meet [default: 32; with --quick 8]; --replicates is the number of the check
    #[arg(long, value_name = "N", value_parser = super::args::replicates, allow_negative_numbers = true)]
    pub(super) search_seeds: Option<u64>,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
}

impl TuneArgs {
    /// How many policies are looked at.
    pub(super) fn policies(&self) -> usize {
        self.candidates.unwrap_or(if self.experiment.quick { QUICK } else { CANDIDATES })
    }

    /// How many seeds the best of them meet.
    pub(super) fn seeds(&self) -> u64 {
        self.search_seeds.unwrap_or(if self.experiment.quick { QUICK_SEEDS } else { SEARCH_SEEDS })
    }
}

/// The most policies of a search: the first points are spread evenly up to here.
const MOST: usize = 60_000;

fn candidates(text: &str) -> Result<usize, String> {
    let n: usize = text.parse().map_err(|_| "write a whole number, such as 300".to_owned())?;
    match n {
        0 => Err("must be at least 1; leave --candidates out for 300".to_owned()),
        n if n > MOST => Err(format!("must be at most {MOST}; more would be days of work")),
        n => Ok(n),
    }
}
