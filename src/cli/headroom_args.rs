//! The arguments of `headroom`: what may move, who must not pay, and how sure the answer must be.

use std::path::PathBuf;

use clap::Args;

use super::args::{Format, ScenarioArgs, most_requests, seed, threads};
use crate::experiment::headroom::{Goal, Looks};
use crate::units::{SimDuration, parse};

/// The seeds of a first look.
const FIRST: u64 = 100;

/// The looks that an undecided value gets, each with twice the seeds of the last one.
const LOOKS: u32 = 3;

/// The seeds with `--quick`, in a single look.
const QUICK: u64 = 60;

/// The most seeds of a first look.
const MOST: u64 = 100_000;

/// Says how far a setting may go before live traffic pays
///
/// Which share of a limit may background jobs have, so that live turns see no 429? The budget is moved over its range in
/// the same worlds, through the storm of the file and without it. A value is safe when it is shown, with the stated
/// confidence, that in the stated share of days (seeds) the live 429 rate stays within the target. Prints the last safe
/// value, what it costs in report latency and backlog, the whole curve, and what arithmetic says. Exit code 1 where no
/// value of the range is safe or the one of the file is not. Files go to a folder of their own: headroom.txt,
/// headroom.svg and .png, headroom.json, headroom.csv.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    The budget of the file's pacer:\n    \
    retrycast headroom scenarios/report_storm.toml --variant after\n\n  \
    How much may live traffic grow under that budget? Which limit would have to be bought?\n    \
    retrycast headroom scenarios/report_storm.toml --variant after --over live\n    \
    retrycast headroom scenarios/report_storm.toml --variant after --over limit\n\n  \
    How many workers, without any budget, and any other setting:\n    \
    retrycast headroom scenarios/report_storm.toml --over workers\n    \
    retrycast headroom scenarios/report_storm.toml --over 'clients.batch.layers.sdk.max_retries=0..5'")]
pub(super) struct HeadroomArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// What moves: budget, workers, limit, live, or PATH=VALUES; with a range behind it, such as budget=20%..60%
    ///
    /// `budget` is the share of the limit that the background's pacers let pass, all of them together; `workers` the
    /// workers of the background class; `limit` the amount of the limit, with the pacers at the same share of it; `live`
    /// what live traffic needs, as a share of the limit. PATH=1,2,5 or PATH=FROM..TO is any setting.
    #[arg(long, value_name = "WHAT", default_value = "budget")]
    pub(super) over: String,
    /// The pacers that are the background's budget [default: those of its clients]
    #[arg(long, value_name = "GUARD,…", value_delimiter = ',')]
    pub(super) background: Vec<String>,
    /// The classes that must not pay [default: all turns]
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
    pub(super) live: Vec<String>,
    /// The limit that both use [default: the only one that counts what the pacers count]
    #[arg(long, value_name = "NAME")]
    pub(super) limit: Option<String>,
    /// The largest share of live tasks that may meet a 429
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub(super) target: f64,
    /// In any stretch of this length, or in the whole `run`
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = within)]
    pub(super) within: Within,
    /// The share of days (seeds) in which that must be so
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = certainty)]
    pub(super) days: f64,
    /// How sure it must be that it is
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = certainty)]
    pub(super) confidence: f64,
    /// The seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// The seeds of a first look; a value that they do not decide gets twice and four times as many [default: 100, or
    /// as many as can show anything]
    #[arg(long, value_name = "N", value_parser = replicates, allow_negative_numbers = true)]
    pub(super) replicates: Option<u64>,
    /// A first look: one of 60 seeds, or of as many as can show anything
    #[arg(long, conflicts_with = "replicates")]
    pub(super) quick: bool,
    /// How many threads share the runs [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// The folder for files [default: outputs/SCENARIO-headroom-VARIANT-SEED/]
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

/// The stretch of time in which the rate is taken; `None` for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Within(pub(super) Option<SimDuration>);

impl HeadroomArgs {
    /// What is asked of a value.
    pub(super) const fn goal(&self) -> Goal {
        Goal { target: self.target, within: self.within.0, days: self.days, confidence: self.confidence }
    }

    /// How many seeds a value gets.
    pub(super) fn looks(&self) -> anyhow::Result<Looks> {
        let looks = if self.quick { Looks { first: QUICK, most: 1 } } else { Looks { first: FIRST, most: LOOKS } };
        let fewest = self.goal().fewest(looks);
        if fewest > MOST {
            anyhow::bail!(
                "`--days` and `--confidence` ask for more than seeds can show: {fewest} days without a failure\nhint: \
                 lower one of them, such as --days 99%"
            );
        }
        match self.replicates {
            Some(first) if first < fewest => anyhow::bail!(
                "{first} seeds can't show it: even if all of them met the target, that would not be sure enough\nhint: \
                 write at least --replicates {fewest}, or lower --days or --confidence"
            ),
            Some(first) => Ok(Looks { first, ..looks }),
            None => Ok(Looks { first: looks.first.max(fewest), ..looks }),
        }
    }

    /// The words that repeat it on a command line.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = |option: &str, text: String| words.extend([option.to_owned(), super::run::quoted(&text)]);
        if self.over != "budget" {
            word("--over", self.over.clone());
        }
        if !self.background.is_empty() {
            word("--background", self.background.join(","));
        }
        if !self.live.is_empty() {
            word("--live", self.live.join(","));
        }
        if let Some(limit) = &self.limit {
            word("--limit", limit.clone());
        }
        let percent = |share: f64| super::axis_args::text_of(crate::experiment::Quantity::Share, share);
        for (option, value, default) in
            [("--target", self.target, 0.01), ("--days", self.days, 0.95), ("--confidence", self.confidence, 0.95)]
        {
            if value.total_cmp(&default).is_ne() {
                word(option, percent(value));
            }
        }
        match self.within.0 {
            None => word("--within", "run".to_owned()),
            Some(within) if within != SimDuration::from_mins(10) => word("--within", within.to_string()),
            Some(_) => {}
        }
        word("--seed", self.seed.to_string());
        if let Some(n) = self.replicates {
            word("--replicates", n.to_string());
        }
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = parse::ratio(text).ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share, such as 1%".to_owned())
}

fn certainty(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    if share > 0.0 && share < 1.0 {
        Ok(share)
    } else {
        Err("write a share between 0 % and 100 %, such as 95%".to_owned())
    }
}

fn within(text: &str) -> Result<Within, String> {
    if text == "run" {
        return Ok(Within(None));
    }
    let found = parse::duration(text).ok().filter(|within| !within.is_zero());
    found.map(|within| Within(Some(within))).ok_or_else(|| "write a duration, such as 10m, or run".to_owned())
}

fn replicates(text: &str) -> Result<u64, String> {
    let n: u64 = text.parse().map_err(|_| "write a whole number, such as 400".to_owned())?;
    match n {
        0 => Err("must be at least 1; leave --replicates out for 100".to_owned()),
        n if n > MOST => Err("must be at most 100000".to_owned()),
        n => Ok(n),
    }
}
