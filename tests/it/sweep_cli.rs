//! `sweep` as a shell sees it: documents that are what their schema says, refusals before anything runs, the same bytes
//! with any number of threads, and after a kill.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::experiments::{document, fits_schema, output, refused, stage, text, warnings};

/// A sweep of the storm that is quick to run.
const STORM: [&str; 5] =
    ["sweep", "report_storm.toml", "--vary", "clients.batch.layers.sdk.max_retries=0..2", "--quick"];

fn measure<'a>(document: &'a Value, path: &str) -> &'a Value {
    document["measures"].as_array().unwrap().iter().find(|measure| measure["path"] == path).unwrap()
}

#[test]
fn a_sweep_of_the_storm_says_where_the_knee_is() {
    let document = document(&STORM);
    fits_schema(&document, "sweep");
    assert_eq!((&document["replicates"], &document["reference"]), (&Value::from(20), &Value::from(2)));
    assert_eq!(document["axes"][0]["current"]["number"], 2.0);
    assert_eq!(document["points"][1]["values"][0], "1");
    // Three runs of four decorator attempts: with nearly every request failing, each retry of the SDK adds as many.
    let amplification = &measure(&document, "phases.overload.classes.report.amplification")["cells"];
    let mean = |point: usize| amplification[point]["mean"].as_f64().unwrap();
    assert!((mean(0) - 4.0).abs() < 0.1 && (mean(1) - 8.0).abs() < 0.2, "{} {}", mean(0), mean(1));
    // Independent: 9.3 requests for each call of the incident.
    assert!((mean(2) - 9.3).abs() < 0.2, "{}", mean(2));
    let findings: Vec<&str> = document["findings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(findings[0].starts_with("No value is best for all: "), "{findings:#?}");
    let knee = "Live turns, share with a 429: least at max_retries = 0 to 1 (0 %); above it rises to 1.1 % at 2; ";
    assert!(findings.iter().any(|said| said.starts_with(knee)), "{findings:#?}");
    let died = warnings(&document, "died");
    assert!(died.len() == 1 && died[0].contains("least where work has died"), "{died:?}");
    assert!(warnings(&document, "worlds").is_empty());
    let difference = &measure(&document, "classes.live.tasks_with_429_share")["differences"][0];
    assert_eq!(difference["verdict"], "better");
}

#[test]
fn a_grid_has_a_row_for_each_point_and_number_and_names_the_world_that_changes() {
    let args = [
        "sweep",
        "report_storm.toml",
        "--vary",
        "clients.batch.layers.sdk.max_retries=0,3",
        "--vary",
        "provider.limits.itpm.amount=1M,1.5M",
        "--metric",
        "report.failed",
        "--metric",
        "overload.report.amplification",
        "--replicates",
        "2",
    ];
    let folder = stage();
    let found = output(&[&args[..], &["--out", "o"]].concat(), folder.path());
    assert!(found.status.success(), "{}", text(&found.stderr));
    let table = std::fs::read_to_string(folder.path().join("o/sweep.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    // Four points and the file as it stands, two numbers each, below the head.
    assert_eq!(rows.len(), 1 + 5 * 2, "{table}");
    assert_eq!(
        rows[0][..6],
        [
            "clients.batch.layers.sdk.max_retries",
            "sdk.max_retries_number",
            "provider.limits.itpm.amount",
            "itpm.amount_number",
            "is_file_as_it_stands",
            "metric"
        ]
    );
    assert_eq!(rows[4][..6], ["0", "0", "1.5M", "1500000", "0", "phases.overload.classes.report.amplification"]);
    assert_eq!(rows[9][..6], ["", "", "", "", "1", "classes.report.failed"]);
    let files = ["sweep.csv", "sweep.json", "sweep.png", "sweep.svg", "sweep.txt"];
    assert_eq!(names(&folder.path().join("o")), files);
    let document = document(&args);
    fits_schema(&document, "sweep");
    assert_eq!(document["measures"].as_array().unwrap().len(), 2);
    let worlds = warnings(&document, "worlds");
    assert!(worlds.len() == 1 && worlds[0].contains("`itpm.amount`"), "{worlds:?}");
    assert_eq!(warnings(&document, "few").len(), 1);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_runs() {
    let storm = ["sweep", "report_storm.toml", "--vary"];
    let retries = "clients.batch.layers.sdk.max_retries";
    for (args, said) in [
        (
            vec!["clients.batch.layers.sdk.max_retries=x,2,-1"],
            "`--vary clients.batch.layers.sdk.max_retries=x`: is not a quantity, found \"x\"\nhint: write a number such as \
             1500, \"400k\" or \"1.5M\"\nerror: `--vary clients.batch.layers.sdk.max_retries=-1`: must be at least 0, found \
             -1\nhint: write a number from 0 to 999999",
        ),
        (
            vec!["clients.batch.layers.sdk.max_retrys=1,2", "--vary", "traffic.report.workers=4,8"],
            "`--vary clients.batch.layers.sdk.max_retrys`: unknown key\nhint: did you mean `max_retries`?",
        ),
        (
            vec!["a=1,2", "--vary", "b=1,2", "--vary", "c=1,2"],
            "3 settings cannot be varied at once: a grid of them fills no table\nhint: vary two and fix the others with \
             --set, or let settings move together: --vary 'PATH,PATH=VALUES'",
        ),
        (vec!["a=1,2", "--vary", "a=3,4"], "`--vary`: `a` is varied twice\nhint: name each path once"),
        (
            vec!["a=1..900:900", "--vary", "b=1..900:900"],
            "a grid of 810000 points fills no picture that can be read\nhint: take at most 2500, such as 9 values for each \
             setting",
        ),
        (
            vec!["clients.batch.layers.sdk.max_retries=0..2", "--metric", "failed"],
            "`--metric`: `failed` may mean several things\nhint: write `report.failed` or `live.failed`",
        ),
        (
            vec!["clients.batch.layers.sdk.max_retries=0..2", "--replicates", "100000"],
            "3 points with 100000 seeds each are 300000 runs, of which at most 200000 are kept in memory\nhint: take at most \
             --replicates 66666, or fewer values",
        ),
    ] {
        let found = refused(&[&storm[..], &args].concat());
        assert!(found.starts_with(said), "{args:?}: {found}");
    }
    // A slip of the user's own --set is shown as one.
    let own = refused(&[&storm[..], &[&format!("{retries}=1,2"), "--set", "horizon=x"]].concat());
    assert!(own.contains("--set"), "{own}");
}

/// All files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    names(folder).into_iter().map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap())).collect()
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    let folder = stage();
    let of = |threads: &str, out: &str| {
        let found = output(&[&STORM[..], &["--threads", threads, "--out", out]].concat(), folder.path());
        assert!(found.status.success());
        (found.stdout, files(&folder.path().join(out)))
    };
    assert_eq!(of("1", "one"), of("2", "two"));
}

#[test]
fn a_sweep_that_was_killed_goes_on_and_ends_with_the_same_bytes() {
    let folder = stage();
    let args = [
        "sweep",
        "report_storm.toml",
        "--vary",
        "guards.share.pacer.amount=100k,400k,700k",
        "--variant",
        "after",
        "--replicates",
        "15",
        "--threads",
        "1",
    ];
    let journal = folder.path().join("killed/unfinished.rows");
    let killed = [&args[..], &["--out", "killed"]].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let mut child =
        command.args(&killed).current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Five finished runs of 45 are put aside behind the head of the journal.
    let is_over = loop {
        let rows = std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
        if rows > 5 {
            break false;
        }
        if child.try_wait().unwrap().is_some() {
            break true;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    if !is_over {
        assert!(Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        assert_eq!(names(&folder.path().join("killed")), ["unfinished.rows"]);
    }
    let again = output(&killed, folder.path());
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(is_over || text(&again.stderr).contains("goes on from"), "{}", text(&again.stderr));
    let whole = output(&[&args[..], &["--out", "whole"]].concat(), folder.path());
    assert_eq!(again.stdout, whole.stdout);
    assert_eq!(files(&folder.path().join("killed")), files(&folder.path().join("whole")));
}
