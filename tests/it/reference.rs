//! The small results under `outputs/reference/` and the table of the incident in `docs/validation.md` are what the
//! program gives today. They are renewed by `SNAPSHOTS=overwrite cargo test --test it reference`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use retrycast::stats::Statistic;
use snapbox::{Data, assert_data_eq};

use super::stage::{Replicates, shipped};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A stored file, made first where it is not there yet.
fn stored(path: &str) -> Data {
    let path = root().join(path);
    if !path.exists() {
        std::fs::write(&path, "").unwrap();
    }
    Data::read_from(&path, None).raw()
}

/// Runs the program from the project's root, with files in a folder that goes away.
fn run(args: &[&str], out: &Path) -> String {
    run_to(args, out, 0)
}

/// The same, to this exit code.
fn run_to(args: &[&str], out: &Path, code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let output = command.args(args).arg("--out").arg(out).current_dir(root()).env_remove("COLUMNS").output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const STORM: &str = "scenarios/report_storm.toml";

#[test]
fn stored_summaries_are_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    for variant in ["before", "after"] {
        let args = ["run", STORM, "--variant", variant, "--replicates", "200"];
        assert_data_eq!(run(&args, folder.path()), stored(&format!("outputs/reference/{variant}.txt")));
    }
}

#[test]
fn the_stored_comparison_and_ablation_are_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let compare = ["compare", STORM, "--arms", "before,after"];
    assert_data_eq!(run(&compare, folder.path()), stored("outputs/reference/comparison.txt"));
    is_stored(&folder.path().join("comparison.svg"), "outputs/reference/comparison.svg");
    let ablate = ["ablate", STORM, "--replicates", "50"];
    assert_data_eq!(run(&ablate, folder.path()), stored("outputs/reference/ablation.txt"));
}

/// A coarser grid and fewer days than by default: the answer is the same, and found in a fifth of the runs.
#[test]
fn the_stored_headroom_is_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["headroom", STORM, "--variant", "after", "--over", "budget=10%..100%:4", "--quick"];
    // The half of the file is not safe.
    assert_data_eq!(run_to(&args, folder.path(), 1), stored("outputs/reference/headroom.txt"));
    is_stored(&folder.path().join("headroom.svg"), "outputs/reference/headroom.svg");
}

#[test]
fn the_stored_sweeps_are_what_the_program_draws() {
    let folder = tempfile::tempdir().unwrap();
    let curves = ["report.failed", "report.latency_all_s.p95", "live.tasks_with_429_share", "recovery.total_s"];
    let maps = ["overload.report.amplification", "report.failed", "live.tasks_with_429_share"];
    let named = |metrics: &[&'static str]| metrics.iter().flat_map(|name| ["--metric", name]).collect::<Vec<&str>>();
    let share = ["--variant", "after", "--vary", "guards.share.pacer.amount=70k..700k:10", "--quick"];
    let layers = [
        "--vary",
        "clients.batch.layers.sdk.max_retries=0..5",
        "--vary",
        "clients.batch.layers.decorator.stop.after_attempt=1..5",
        "--replicates",
        "5",
    ];
    let share = [&["sweep", STORM], &share[..], &named(&curves)].concat();
    assert_data_eq!(run(&share, folder.path()), stored("outputs/reference/sweep.txt"));
    is_stored(&folder.path().join("sweep.svg"), "outputs/reference/sweep.svg");
    run(&[&["sweep", STORM], &layers[..], &named(&maps)].concat(), folder.path());
    is_stored(&folder.path().join("sweep.svg"), "outputs/reference/sweep_of_two.svg");
}

#[test]
fn the_stored_picture_is_what_the_program_draws() {
    let folder = tempfile::tempdir().unwrap();
    run(&["run", STORM], folder.path());
    is_stored(&folder.path().join("timeline.svg"), "outputs/reference/report_storm.svg");
}

/// Whether a picture is the stored one.
#[track_caller]
fn is_stored(picture: &Path, stored: &str) {
    let picture = std::fs::read_to_string(picture).unwrap();
    let path = root().join(stored);
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::write(&path, &picture).unwrap();
    }
    // A comparison line by line of 120 kB of paths would tell nobody anything.
    let is_equal = std::fs::read_to_string(&path).is_ok_and(|stored| stored == picture);
    assert!(is_equal, "{stored} is not today's; renew it with SNAPSHOTS=overwrite");
}

/// A number of the incident: its name, what was reported, where it is in the summary, what one unit of it is, how many
/// decimals it has, and what the independent program found.
struct Row {
    name: &'static str,
    reported: &'static str,
    path: &'static str,
    unit: f64,
    decimals: usize,
    independent: &'static str,
}

const fn row(
    name: &'static str,
    reported: &'static str,
    path: &'static str,
    (unit, decimals): (f64, usize),
    independent: &'static str,
) -> Row {
    Row { name, reported, path, unit, decimals, independent }
}

const WHOLE: (f64, usize) = (1.0, 0);
const PERCENT: (f64, usize) = (0.01, 1);
const MINUTES: (f64, usize) = (60.0, 1);

/// The incident as it was, under the provider's documented bucket of one minute.
const BEFORE: [Row; 11] = [
    row("calls in the overload", "1,302", "phases.overload.classes.report.calls", WHOLE, "1,305 [1,287, 1,321]"),
    row("requests of those calls", "3,904", "phases.overload.classes.report.requests", WHOLE, "3,913 [3,859, 3,959]"),
    row("amplification", "9.3", "phases.overload.classes.report.amplification", (1.0, 2), "9.32 [9.19, 9.43]"),
    row("requests per call", "3.0", "phases.overload.classes.report.requests_per_call", (1.0, 3), "2.997"),
    row(
        "most requests of a failed job",
        "42",
        "classes.report.max_requests_per_failed_task",
        (1.0, 1),
        "42.8 [36, 50]",
    ),
    row("slowest delivered report, min", "19", "classes.report.latency_s.max", MINUTES, "17.5 [15.5, 19.6]"),
    row("live turns in minutes 22 to 28", "352", "phases.recovery.classes.live.offered", WHOLE, "351 [319, 383]"),
    row(
        "of them with a 429, %",
        "18.2",
        "phases.recovery.classes.live.tasks_with_429_share",
        PERCENT,
        "18.6 [13.3, 23.8]",
    ),
    row("requests per call, normally", "1.01", "phases.before.classes.report.requests_per_call", (1.0, 3), "1.01"),
    row("failed reports", "–", "classes.report.failed", WHOLE, "82 [74, 89]"),
    row("queue empty, min after the overload", "–", "recovery.queue_s", MINUTES, "7.0 [4.6, 9.9]"),
];

/// The later, milder overload, with the fixes.
const MILD_AFTER: [Row; 5] = [
    row("amplification", "1.3", "phases.overload.classes.report.amplification", (1.0, 2), "1.39 [1.27, 1.50]"),
    row(
        "peak of requests per call in a minute",
        "2.4",
        "phases.overload.classes.report.requests_per_call_peak",
        (1.0, 2),
        "2.19 [1.78, 2.71]",
    ),
    row("slowest report, min", "11", "phases.overload.classes.report.latency_s.max", MINUTES, "11.4 [4.7, 15.5]"),
    row("live turns with a 429", "0", "classes.live.tasks_with_429", (1.0, 2), "0.005 [0, 0]"),
    row("failed reports", "0", "classes.report.failed", (1.0, 2), "0.0 [0, 0]"),
];

/// With a comma for each thousand.
fn shown(value: f64, row: &Row) -> String {
    let text = format!("{:.*}", row.decimals, value / row.unit);
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.len();
    let grouped = whole.chars().enumerate().fold(String::new(), |mut out, (n, digit)| {
        if n > 0 && (digits - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
        out
    });
    grouped + rest
}

fn table(rows: &[Row], replicates: &Replicates) -> String {
    let mut out =
        String::from("| number | reported | this program | independent program |\n| --- | --- | --- | --- |\n");
    for row in rows {
        let Statistic { mean, p5, p95, .. } = replicates.statistic(row.path);
        let (mean, p5, p95) = (shown(*mean, row), shown(*p5, row), shown(*p95, row));
        let Row { name, reported, independent, .. } = row;
        writeln!(out, "| {name} | {reported} | {mean} [{p5}, {p95}] | {independent} |").unwrap();
    }
    out
}

/// The text with what stands between two marks replaced.
fn between(text: &str, name: &str, new: &str) -> String {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (head, rest) = text.split_once(&open).unwrap_or_else(|| panic!("no mark {open}"));
    let (_, tail) = rest.split_once(&close).unwrap_or_else(|| panic!("no mark {close}"));
    format!("{head}{open}{new}{close}{tail}")
}

/// What the independent program found for each combination of fixes: amplification of the window, failed reports, the
/// slowest delivered in minutes, live turns with a 429 in the six minutes after in percent, and in all.
fn fixes_table() -> String {
    const COLUMNS: [(&str, f64, usize); 5] = [
        ("phases.overload.classes.report.amplification", 1.0, 1),
        ("classes.report.failed", 1.0, 1),
        ("classes.report.latency_s.max", 60.0, 1),
        ("phases.recovery.classes.live.tasks_with_429_share", 0.01, 1),
        ("classes.live.tasks_with_429", 1.0, 0),
    ];
    let ablation = super::ablate::ablated("short_bucket", &super::ablate::FIXES, false, 50, None);
    let mut out = String::from(
        "| fixes on | amplification | failed | slowest, min | live 429, % | live 429, turns |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for (arm, (name, independent)) in super::ablate::INDEPENDENT.into_iter().enumerate() {
        write!(out, "| {name} |").unwrap();
        for ((path, unit, decimals), found) in COLUMNS.into_iter().zip(independent) {
            let own = super::compare::mean(&ablation.comparison, arm, path) / unit;
            write!(out, " {own:.decimals$} \\| {found} |").unwrap();
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_table_of_the_incident_holds_todays_numbers() {
    let replicates = |variant| Replicates::of(&shipped("report_storm", variant, &[]), 1, 200);
    let page = std::fs::read_to_string(root().join("docs/validation.md")).unwrap();
    let page = between(&page, "before", &table(&BEFORE, &replicates("before")));
    let page = between(&page, "mild_after", &table(&MILD_AFTER, &replicates("mild_after")));
    let page = between(&page, "fixes", &fixes_table());
    assert_data_eq!(page, stored("docs/validation.md"));
}
