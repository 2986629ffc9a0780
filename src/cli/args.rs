//! The arguments. Each help text says what a value means and what is done without it; bounds refuse values that are
//! typing errors, with the remedy in the message.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::experiment_args::{AblateArgs, CompareArgs, SweepArgs};
use super::headroom_args::HeadroomArgs;
use super::regress_args::RegressArgs;
use super::source::Source;
use super::tune_args::TuneArgs;
use super::{ablate, compare, explain, headroom, presets, probe, regress, run, stream, sweep, tune};

/// Beyond this many replicates an interval no longer narrows in any digit that is printed.
const MOST_REPLICATES: u64 = 1_000_000;

/// More threads than this are a typing error on any machine.
const MOST_THREADS: usize = 1_024;

/// Tells before the outage what a stack of retry policies does during and after it.
#[derive(Debug, Parser)]
#[command(
    name = "retrycast",
    version,
    about,
    long_about = "Tells before the outage what a stack of retry policies does during and after it: how many requests \
        go out, who gets the 429s, and when the work arrives.\n\n\
        A scenario is one TOML file: a provider with its limits and faults, clients with their retry layers, and \
        traffic. A run is a deterministic simulation of it: the same file and the same seed give the same bytes, on \
        any machine and with any number of threads.",
    after_help = "Exit codes: 0 done; 1 the answer is no; 2 no answer (bad input, a file that cannot be written); \
        130 interrupted.\nData goes to standard output, talk to standard error.",
    after_long_help = "Examples:\n  \
        retrycast run scenarios/report_storm.toml\n  \
        retrycast run scenarios/report_storm.toml --variant after --replicates 1000\n  \
        retrycast explain scenarios/report_storm.toml\n\n\
        Exit codes: 0 done; 1 the answer is no; 2 no answer (bad input, a file that cannot be written); 130 \
        interrupted.\nData goes to standard output, talk to standard error.",
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(RunArgs),
    Compare(CompareArgs),
    Ablate(AblateArgs),
    Headroom(HeadroomArgs),
    Tune(TuneArgs),
    Sweep(SweepArgs),
    Regress(RegressArgs),
    Explain(ExplainArgs),
    Probe(ProbeArgs),
    Presets(PresetsArgs),
    Schema(SchemaArgs),
}

/// Simulates a scenario and says what happened
///
/// Prints a summary that is read in ten seconds: the finding, what each layer multiplied, who met a 429 in which phase,
/// what was lost and when it was over. Files go to a folder of their own: summary.json, report.html, timeline.svg and
/// .png, phases.csv, timeline.csv, refusals.csv. Each is written to a temporary name and renamed, so that an interrupted
/// run leaves either the old files or the new ones.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    One run, seed 1, files in outputs/report_storm-before-1/:\n    \
    retrycast run scenarios/report_storm.toml\n\n  \
    How sure is that? 1,000 seeds, means with 5 % and 95 % quantiles:\n    \
    retrycast run scenarios/report_storm.toml --replicates 1000\n\n  \
    The same world with the retries of the SDK switched off:\n    \
    retrycast run scenarios/report_storm.toml --set clients.batch.layers.sdk.max_retries=0\n\n  \
    One number for a script; no file is written:\n    \
    retrycast run scenarios/report_storm.toml --format json | jq .recovery.total_s")]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// The seed of all randomness
    ///
    /// Another seed is another day: other arrivals, sizes and faults. Variants of one scenario share them under one
    /// seed, so that two runs differ by their policies alone.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// Run this many seeds and give each number with its spread
    ///
    /// Replicate 0 uses the seed itself, the others seeds mixed from it. Every number becomes a mean with its 5 % and
    /// 95 % quantiles.
    #[arg(long, value_name = "N", value_parser = replicates, allow_negative_numbers = true)]
    pub(super) replicates: Option<u64>,
    /// How many threads share the replicates [default: one for each core]
    ///
    /// The number changes the time that a run takes and nothing else.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// The folder for files [default: outputs/SCENARIO-VARIANT-SEED/]
    ///
    /// It is made where it does not exist. With `--format json` files are written only where this is given.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Also write every request of the seed itself to this file, one JSON object a line
    ///
    /// It appears together with the results, when the run is complete; a pipe or a device gets the lines as they come.
    /// Time, class, task, run, step, call, attempt, status, error type, hint, who answered (which limit, which fault),
    /// tokens: what an incident's questions are asked of.
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// The most requests of one run; a run that goes on beyond them is taken for endless and refused
    ///
    /// Retries every nanosecond or a billion arrivals would take days. The bound also covers runs that send little and
    /// wait without end: they may take 16 steps for each request of it.
    #[arg(long, value_name = "N", default_value_t = crate::experiment::MOST_REQUESTS, value_parser = most_requests,
        allow_negative_numbers = true)]
    pub(super) max_requests: u64,
    /// Say nothing on standard error but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Says what the layers multiply to, without simulating
///
/// Which layers retry which errors, the most requests that one call site and one task can cause, how long each layer
/// can wait, and what to change.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    retrycast explain scenarios/report_storm.toml\n  \
    retrycast explain scenarios/report_storm.toml --variant after --format json")]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

/// Says what one client does when the server answers like this
///
/// The client is a preset, such as anthropic-python-1.13, or a client of a scenario FILE. The answers are a comma list
/// of a STATUS, drop, unreachable, cut, hang, `connect_hang`, silence, `stream_failed` or `stream_broken`, each with
/// key=value headers behind it (retry-after, retry-after-ms, x-should-retry, `error_code`, …) and perhaps slow=DURATION
/// before it; connect=, write=, `first_token=`, at= and for= time the phases of its request. The last answer repeats.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    retrycast probe --client anthropic-python-1.13 --answers '429 retry-after=120, 200'\n  \
    retrycast probe --client anthropic-python-1.13 --set max_retries=5 --answers '429 forever'\n  \
    retrycast probe --client openai-python --answers 'slow=3s 200' --set timeout=1s\n  \
    retrycast probe scenarios/report_storm.toml --client batch --answers '529 forever'")]
pub(super) struct ProbeArgs {
    /// A scenario whose client is asked
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// The client: one of FILE, or where no FILE is given, a preset
    #[arg(long, value_name = "NAME")]
    pub(super) client: String,
    /// What the server answers, in order
    #[arg(long, value_name = "ANSWERS", required_unless_present = "answers_file", conflicts_with = "answers_file")]
    pub(super) answers: Option<String>,
    /// A file of answers, one or more a line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    pub(super) answers_file: Option<PathBuf>,
    /// The variant of FILE to use [default: the file as it stands]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(super) variant: Option<String>,
    /// A patch file that changes FILE; may be given several times
    #[arg(long, value_name = "PATCH.toml", requires = "file")]
    pub(super) with: Vec<PathBuf>,
    /// Change one setting; relative to the preset, or a path in FILE
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// What the client's clock shows, in seconds since 1970: dates in headers are read against it [default: the
    /// beginning of 2026]
    #[arg(long, value_name = "SECONDS", default_value_t = crate::scenario::SCRIPT_CLOCK, hide_default_value = true,
        value_parser = clock, allow_negative_numbers = true)]
    pub(super) clock: f64,
    /// Also write the same situation as a scenario, whose `run` makes the same attempts at the same times
    #[arg(long, value_name = "FILE")]
    pub(super) write: Option<PathBuf>,
    /// The seed of the draws between the two ends of each range
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

/// Lists the presets, or says what one means
///
/// A preset is a client library in its own words: what it does by default, whether that was measured or is documented,
/// its words with their defaults, and its equivalent in general keys.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  retrycast presets\n  retrycast presets anthropic-python-1.13\n  \
    retrycast presets finagle --format json")]
pub(super) struct PresetsArgs {
    /// The preset, or `limits` for those of rate limits; all layers where none is named
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

/// Prints a JSON Schema
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  retrycast schema summary > summary.schema.json")]
struct SchemaArgs {
    /// Of which document
    #[arg(value_enum)]
    document: Document,
}

/// A scenario, and what is changed in it.
#[derive(Debug, Args)]
pub(super) struct ScenarioArgs {
    /// The scenario, a TOML file
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// The variant to use [default: the file as it stands]
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,
    /// A patch file, with changes written like the body of a variant; may be given several times
    ///
    /// It is applied after the variant and before `--set`; of several files the last one wins.
    #[arg(long, value_name = "PATCH.toml")]
    pub(super) with: Vec<PathBuf>,
    /// Change one value of the scenario; may be given several times
    ///
    /// PATH is dotted, elements of a list by name or index; VALUE is a TOML value, else a string:
    /// `--set clients.batch.layers.sdk.max_retries=0`, `--set horizon=3h`. It is applied after the variant.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
}

impl ScenarioArgs {
    /// The file and its patch files, read.
    pub(super) fn source(&self) -> anyhow::Result<Source> {
        Source::read_with(&self.file, &self.with)
    }

    /// The files that are read, traces left out.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.file).chain(&self.with).map(PathBuf::as_path)
    }
}

/// The words that name patch files on a command line.
pub(super) fn with_words(option: &str, files: &[PathBuf]) -> Vec<String> {
    files.iter().flat_map(|file| [option.to_owned(), run::quoted(&file.to_string_lossy())]).collect()
}

/// What standard output gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A summary for people
    Text,
    /// One JSON document and nothing else
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Document {
    /// The summary that `run --format json` prints
    Summary,
    /// What `compare --format json` prints
    Compare,
    /// What `ablate --format json` prints
    Ablate,
    /// What `headroom --format json` prints
    Headroom,
    /// What `tune --format json` prints
    Tune,
    /// What `sweep --format json` prints
    Sweep,
    /// What `regress check --format json` prints
    Regress,
    /// What `regress record` writes
    Baseline,
}

impl Cli {
    /// Does what was asked; an error means that there is no answer.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        match &self.verb {
            Verb::Run(args) => run::run(args),
            Verb::Ablate(args) => ablate::ablate(args),
            Verb::Headroom(args) => headroom::headroom(args),
            Verb::Tune(args) => tune::tune(args),
            Verb::Compare(args) => compare::compare(args),
            Verb::Sweep(args) => sweep::sweep(args),
            Verb::Regress(args) => regress::regress(args),
            Verb::Explain(args) => explain::explain(args),
            Verb::Probe(args) => probe::probe(args),
            Verb::Presets(args) => presets::presets(args),
            Verb::Schema(args) => {
                let schema = match args.document {
                    Document::Summary => crate::report::schema::summary(),
                    Document::Ablate => crate::report::ablation::schema::ablate(),
                    Document::Headroom => crate::report::headroom::schema::headroom(),
                    Document::Tune => crate::report::tuning::schema::tune(),
                    Document::Sweep => crate::report::sweep::schema::sweep(),
                    Document::Regress => crate::report::regression::schema::regress(),
                    Document::Baseline => crate::report::regression::schema::baseline(),
                    Document::Compare => crate::report::comparison::schema::compare(),
                };
                stream::print(&format!("{schema:#}\n"))
            }
        }
    }
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

/// The seconds since 1970 of the years 1 to 9999, which are those that a date in a header can name.
const CLOCKS: std::ops::RangeInclusive<f64> = -62_135_596_800.0..=253_402_300_799.0;

fn clock(text: &str) -> Result<f64, String> {
    let clock = text.parse::<f64>().ok().filter(|clock| CLOCKS.contains(clock));
    clock.ok_or_else(|| "write seconds since 1970, such as 1767225600, between the years 1 and 9999".to_owned())
}

pub(super) fn most_requests(text: &str) -> Result<u64, String> {
    let n: u64 = text.parse().map_err(|_| "write a whole number, such as 5000000000".to_owned())?;
    if n == 0 { Err("must be at least 1; leave --max-requests out for the default".to_owned()) } else { Ok(n) }
}

pub(super) fn replicates(text: &str) -> Result<u64, String> {
    let n: u64 = text.parse().map_err(|_| "write a whole number, such as 1000".to_owned())?;
    match n {
        0 => Err("must be at least 1; leave --replicates out for a single run".to_owned()),
        n if n > MOST_REPLICATES => {
            Err("must be at most 1000000; intervals of 1000 are narrow enough to read".to_owned())
        }
        n => Ok(n),
    }
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    let n: usize = text.parse().map_err(|_| "write a whole number, such as 4".to_owned())?;
    match n {
        0 => Err("must be at least 1; leave --threads out for one on each core".to_owned()),
        n if n > MOST_THREADS => Err("must be at most 1024; leave --threads out for one on each core".to_owned()),
        n => Ok(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn refusal(args: &[&str]) -> String {
        Cli::try_parse_from(args).unwrap_err().to_string()
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn nothing_to_do_is_refused_with_the_remedy() {
        let zero = refusal(&["retrycast", "run", "x.toml", "--replicates", "0"]);
        assert!(zero.contains("must be at least 1; leave --replicates out for a single run"), "{zero}");
        let none = refusal(&["retrycast", "run", "x.toml", "--threads", "0"]);
        assert!(none.contains("must be at least 1; leave --threads out"), "{none}");
        let many = refusal(&["retrycast", "run", "x.toml", "--threads", "99999"]);
        assert!(many.contains("at most 1024"), "{many}");
        assert!(refusal(&["retrycast", "run", "x.toml", "--seed", "many"]).contains("--seed"));
    }

    #[test]
    fn a_clock_is_an_instant_that_a_date_can_name() {
        let probe =
            |clock| Cli::try_parse_from(["retrycast", "probe", "--client", "x", "--answers", "429", "--clock", clock]);
        for clock in ["0", "-86400", "1767225600.5"] {
            assert!(probe(clock).is_ok(), "{clock}");
        }
        for clock in ["nan", "inf", "1e300", "soon"] {
            assert!(probe(clock).unwrap_err().to_string().contains("write seconds since 1970"), "{clock}");
        }
    }

    #[test]
    fn values_are_set_as_often_as_they_are_given() {
        let cli = Cli::try_parse_from(["retrycast", "run", "x.toml", "--set", "a=1", "--set", "b=2"]).unwrap();
        let Verb::Run(args) = cli.verb else { panic!("parsed another verb") };
        assert_eq!((args.scenario.set, args.seed, args.replicates), (vec!["a=1".into(), "b=2".into()], 1, None));
    }
}
