//! Tuning: the shipped policy against what it is said to beat, in overloads that its search has not seen; a search that
//! is killed and goes on; the words with which nonsense is refused.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use retrycast::experiment::Verdict;
use retrycast::experiment::compare::Replicates;
use retrycast::experiment::tune::overloads;

use super::compare::{compared, mean, row};
use super::schema::departures;
use super::stage::shipped;

/// What the shipped policy is judged by: amplification, failed reports, live turns with a 429 over the whole run, and the
/// slowest report, of which one that failed is never.
const JUDGED: [&str; 4] = [
    "phases.overload.classes.report.amplification",
    "classes.report.failed",
    "classes.live.tasks_with_429",
    "phases.overload.classes.report.latency_all_s.max",
];

#[test]
fn the_shipped_policy_beats_the_five_fixes_in_overloads_that_its_search_has_not_seen() {
    let worlds = overloads(&shipped("report_storm", "after", &[]));
    let names: Vec<&str> = worlds.iter().map(|world| world.name.as_str()).collect();
    assert_eq!(names, ["shorter", "longer", "milder", "harder"]);
    let mut better = [0; JUDGED.len()];
    for world in &worlds {
        let sets: Vec<&str> = world.sets.iter().map(String::as_str).collect();
        let of = |variant| shipped("report_storm", variant, &sets);
        let (after, tuned) = (of("after"), of("tuned"));
        let comparison = compared(&[("after", &after), ("tuned", &tuned)], Replicates::Exactly(30), None);
        assert!(comparison.is_same_world(1));
        for (judged, path) in JUDGED.into_iter().enumerate() {
            let verdict = comparison.verdict(1, row(&comparison, path));
            assert_ne!(verdict, Verdict::Worse, "{}, {path}", world.name);
            better[judged] += usize::from(verdict == Verdict::Better);
        }
        // A third of the requests, or less.
        let [before, now] = [0, 1].map(|arm| mean(&comparison, arm, JUDGED[0]));
        assert!(now < before, "{}: {before} → {now}", world.name);
    }
    // 30 seeds do not show all that 200 do: what fails in few of them is no difference yet.
    assert!(better.iter().filter(|worlds| **worlds > 0).count() >= 3, "{better:?}");
}

/// A scenario small enough to be searched in a debug build: one queue, one overload, one limit.
const SMALL: &str = r#"horizon = "16m"
[provider.limits.rpm]
counts = "requests"
amount = 60
per = "1m"
[provider.faults.overload]
window = ["4m", "8m"]
probability = 0.9
respond = { status = 529, after = "1s" }
[clients.batch]
layers = [
  { name = "sdk", max_attempts = 4, retry_on = "any", backoff = { exponential = { initial = "1s", cap = "30s" } }, jitter = "full" },
  { name = "queue", preset = "rq", max = 2, interval = "30s" },
]
[clients.live]
layers = [{ name = "sdk", max_attempts = 2, retry_on = "any", hint = "obey" }]
[traffic.report]
kind = "jobs"
client = "batch"
workers = 4
arrivals = { poisson = "10/min" }
steps = [{ name = "write", input_tokens = "2k", latency = "3s" }]
[traffic.live]
kind = "turns"
client = "live"
arrivals = { poisson = "30/min" }
sla = "10s"
steps = [{ name = "turn", input_tokens = 100, latency = "1s" }]
[variants.fewer]
clients.batch.layers.sdk.max_attempts = 2
"#;

const ASKED: [&str; 18] = [
    "tune",
    "small.toml",
    "--vary",
    "clients.batch.layers.sdk.max_attempts=1..6",
    "--vary",
    "clients.batch.layers.queue.interval=10s..5m:8log",
    "--vary",
    "clients.batch.layers.sdk.jitter=\"full\",\"none\"",
    "--goal",
    "amplification",
    "--goal",
    "slowest",
    "--candidates",
    "24",
    "--search-seeds",
    "4",
    "--replicates",
    "6",
];

/// The program in a folder that holds the small scenario.
fn program(folder: &Path, args: &[&str]) -> Command {
    std::fs::write(folder.join("small.toml"), SMALL).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(args).current_dir(folder).env_remove("COLUMNS");
    command
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// All files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn a_search_that_was_killed_goes_on_and_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let with = |out: &str, threads: &str| {
        let args = [&ASKED[..], &["--out", out, "--threads", threads]].concat();
        program(folder.path(), &args)
    };
    done(&with("whole", "2").output().unwrap());
    let whole = files(&folder.path().join("whole"));
    let names: Vec<&str> = whole.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tune.csv", "tune.json", "tune.png", "tune.svg", "tune.txt", "tuned.toml"]);
    // Killed hard as soon as some runs are done; one thread, so that it is not over before.
    let journal = folder.path().join("killed/unfinished.rows");
    let mut child = with("killed", "1").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    for _ in 0..6_000 {
        if lines() > 60 || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was over before it could be killed");
    assert!(lines() > 60);
    let resumed = with("killed", "3").output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(said.starts_with("goes on from ") && said.contains("finished runs"), "{said}");
    done(&resumed);
    assert_eq!(files(&folder.path().join("killed")), whole);
}

#[test]
fn the_document_is_what_its_schema_says_and_the_patch_file_is_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&ASKED[..], &["--out", "o", "--variant", "fewer", "--against", "base", "--format", "json"]].concat();
    let document: serde_json::Value =
        serde_json::from_str(&done(&program(folder.path(), &args).output().unwrap())).unwrap();
    let schema = done(&program(folder.path(), &["schema", "tune"]).output().unwrap());
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(departures(&schema, &schema, &document, ""), Vec::<String>::new());
    assert_eq!((&document["reference"], &document["variant"]), (&"base".into(), &"fewer".into()));
    // The first candidates are the two policies that are in use.
    assert_eq!(document["candidates"][0]["values"], serde_json::json!(["2", "30s", "\"full\""]));
    assert_eq!(document["candidates"][1]["values"], serde_json::json!(["4", "30s", "\"full\""]));
    // A policy that nobody beats is on the front; nobody on it beats another one.
    let goals = |one: &serde_json::Value| ["amplification", "slowest"].map(|word| one["means"][word].as_f64().unwrap());
    let all = document["candidates"].as_array().unwrap();
    let front: Vec<[f64; 2]> = all.iter().filter(|one| one["is_front"] == true).map(goals).collect();
    for one in &front {
        assert!(!front.iter().any(|other| other[0] < one[0] && other[1] < one[1]), "{front:?}");
    }
    assert!(document["checks"].as_array().unwrap().len() == 5, "the window itself and four others");
    // The winner by its settings, and by its patch file.
    let sets: Vec<String> = document["winner"]["settings"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(path, text)| format!("{path}={}", text.as_str().unwrap()))
        .collect();
    let run = ["run", "small.toml", "--variant", "fewer", "--format", "json"];
    let by_set: Vec<&str> = sets.iter().flat_map(|set| ["--set", set.as_str()]).collect();
    let by_set = done(&program(folder.path(), &[&run[..], &by_set].concat()).output().unwrap());
    let by_file = done(&program(folder.path(), &[&run[..], &["--with", "o/tuned.toml"]].concat()).output().unwrap());
    assert_eq!(by_set, by_file);
}

#[test]
fn a_size_is_the_smallest_or_largest_that_keeps_its_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |words: &[&str]| -> serde_json::Value {
        let common = ["tune", "small.toml", "--search-seeds", "4", "--replicates", "4", "--format", "json"];
        let output = program(folder.path(), &[&common, words].concat()).output().unwrap();
        // Where nothing keeps the bounds, the answer is no.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["winner"]["keeps_constraints"], output.status.success());
        document
    };
    let values = |document: &serde_json::Value, word: &str| -> Vec<(String, f64, bool)> {
        let one = |one: &serde_json::Value| {
            let value = one["values"][0].as_str().unwrap().to_owned();
            (value, one["means"][word].as_f64().unwrap(), one["violation"].as_f64().unwrap() == 0.0)
        };
        document["candidates"].as_array().unwrap().iter().map(one).collect()
    };
    let least = ask(&["--least", "clients.batch.layers.queue.max=1..6", "--constraint", "failed <= 1"]);
    let all = values(&least, "failed");
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|(_, failed, kept)| (*failed <= 1.0) == *kept), "{all:?}");
    let smallest = all.iter().filter(|(.., kept)| *kept).map(|(value, ..)| value.parse::<u32>().unwrap()).min();
    let found = least["winner"]["settings"]["clients.batch.layers.queue.max"].as_str().unwrap();
    assert_eq!(found.parse().ok(), smallest);
    let most = ask(&["--most", "clients.batch.layers.queue.max=1..6", "--constraint", "amplification <= 100"]);
    assert_eq!(most["winner"]["settings"]["clients.batch.layers.queue.max"], "6");
    // Waits of 30 s: eight of them are four minutes.
    let outlast = ask(&["--size", "outlast=4m"]);
    let said = outlast["finding"].as_str().unwrap();
    assert!(said.ends_with("By the waits of `queue` alone, 8 retries (4m) outlast 4m."), "{said}");
    assert_eq!(outlast["checks"][0]["sets"][0], "provider.faults.overload.window=[\"4m\", \"8m\"]");
    let cap = ask(&["--size", "hint-cap"]);
    assert_eq!(cap["constraints"][0]["text"], "classes.live.latency_all_s.p95 <= 10s");
    assert_eq!(cap["candidates"].as_array().unwrap().len(), 11);
}

#[test]
fn what_cannot_be_tuned_is_refused_in_so_many_words() {
    let folder = tempfile::tempdir().unwrap();
    let said = |args: &[&str]| {
        let output = program(folder.path(), &[&["tune", "small.toml"], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    let vary = ["--vary", "clients.batch.layers.sdk.max_attempts=1..6"];
    for (args, expected) in [
        (
            &["--vary", "clients.batch.layers.sdk.max_atempts=1..6"][..],
            "error: `--vary clients.batch.layers.sdk.max_atempts`: unknown key\nhint: did you mean `max_attempts`?\n",
        ),
        (
            &["--vary", "clients.batch.layers.sdk.backoff.exponential.initial=1s..5s"],
            "error: `--vary clients.batch.layers.sdk.backoff.exponential.initial`: a patch file cannot change a part of \
             this value\nhint: vary the whole value, as lists of { … }\n",
        ),
        (
            &[vary[0], vary[1], vary[0], vary[1]],
            "error: `--vary clients.batch.layers.sdk.max_attempts`: stands there twice\nhint: give each setting once\n",
        ),
        (
            &[vary[0], vary[1], "--goal", "amplificaton"],
            "error: `--goal`: this scenario has no number `amplificaton`\nhint: numbers are `amplification`, `requests`, \
             `failed`, `failed-share`, `not-delivered`, `slowest`, `p50`, `p95`, `live-429`, `live-failed`, \
             `live-p95`, `recovery` and 1 more; did you mean `amplification`?\n",
        ),
        (
            &[vary[0], vary[1], "--goal", "classes.report.faild"],
            "error: `--goal`: nothing that is measured is called `classes.report.faild`\nhint: did you mean \
             `report.failed`?\n",
        ),
        (
            &[vary[0], vary[1], "--goal", "failed", "--goal", "failed"],
            "error: `--goal`: `failed` stands there twice\nhint: name each goal once\n",
        ),
        (
            &[vary[0], vary[1], "--constraint", "failed < 3"],
            "error: `--constraint`: has no `<=`, found `failed < 3`\nhint: write --constraint 'failed <= 0.5' or \
             --constraint 'slowest <= 30m'\n",
        ),
        (
            &[vary[0], vary[1], "--constraint", "slowest <= 3"],
            "error: `--constraint`: is no bound for `slowest`, found `3`\nhint: write a duration, such as 30m\n",
        ),
        (
            &[vary[0], vary[1], "--until-sure"],
            "error: `--until-sure`: a check has a fixed number of seeds\nhint: write --replicates N\n",
        ),
        (
            &[vary[0], vary[1], "--unseen", "overload: horizon=1h"],
            "error: two worlds have the name `overload`\nhint: name each once\n",
        ),
        (
            &["--least", "clients.batch.layers.queue.max=1..6"],
            "error: `--constraint`: without a bound every size will do\nhint: write --constraint 'failed <= 0.5' or \
             --constraint 'slowest <= 30m'\n",
        ),
        (
            &["--size", "bugdet"],
            "error: `--size`: there is no question `bugdet`\nhint: write --size budget, --size hint-cap or --size \
             outlast=22m\n",
        ),
        (
            &["--size", "budget"],
            "error: `--size budget`: `report` passes no pacer\nhint: give its client a pacer that is not off, or ask with \
             --least 'PATH=VALUES'\n",
        ),
    ] {
        assert_eq!(said(args), expected, "{args:?}");
    }
    let world = said(&[vary[0], vary[1], "--unseen", "other: horizn=1h"]);
    assert!(world.starts_with("error: world `other`: `--set horizn`: unknown key"), "{world}");
}
