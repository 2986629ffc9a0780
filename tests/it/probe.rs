//! `probe` from the command line: the twelve situations in which an SDK was observed and the five results of a call
//! path with a budget, both ends of every wait; and the same through `run` of the scenario that `--write` gives.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A situation: answers, `--set`s, attempts, both ends of every wait in seconds, outcome.
type Situation<'a> = (&'a str, &'a [&'a str], u64, &'a [(f64, f64)], &'a str);

const LADDER: [(f64, f64); 5] = [(0.375, 0.5), (0.75, 1.0), (1.5, 2.0), (3.0, 4.0), (6.0, 8.0)];

/// anthropic-python 1.13.0, observed against a scripted server.
fn sdk() -> Vec<Situation<'static>> {
    vec![
        ("429 forever", &[], 3, &LADDER[..2], "raised 429"),
        ("429 forever", &["max_retries=0"], 1, &[], "raised 429"),
        ("429 forever", &["max_retries=5"], 6, &LADDER, "raised 429"),
        ("429 retry-after=2, 200", &[], 2, &[(2.0, 2.0)], "ok"),
        ("429 retry-after-ms=300, 200", &[], 2, &[(0.3, 0.3)], "ok"),
        ("429 retry-after=120, 200", &[], 2, &[(120.0, 120.0)], "ok"),
        ("529, 529, 200", &[], 3, &LADDER[..2], "ok"),
        ("400", &[], 1, &[], "raised 400"),
        ("500 x-should-retry=false", &[], 1, &[], "raised 500"),
        ("400 x-should-retry=true, 200", &[], 2, &LADDER[..1], "ok"),
        ("drop forever", &[], 3, &LADDER[..2], "raised drop"),
        ("slow=3s 200", &["timeout=1s"], 3, &LADDER[..2], "raised read timeout"),
    ]
}

fn retrycast(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_retrycast"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn check(target: &[&str], prefix: &str, (answers, sets, attempts, waits, outcome): Situation<'_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = folder.path().join("written.toml");
    let sets: Vec<String> = sets.iter().map(|set| format!("--set={prefix}{set}")).collect();
    let mut arguments = vec!["probe"];
    arguments.extend(target);
    arguments.extend(["--answers", answers, "--format", "json"]);
    arguments.extend(sets.iter().map(String::as_str));
    arguments.extend(["--write", scenario.to_str().expect("a plain path")]);
    let probe: Value = serde_json::from_str(&retrycast(&arguments)).expect("probe prints JSON");

    assert_eq!(probe["attempts"], attempts, "{answers}");
    assert_eq!(probe["outcome"], outcome, "{answers}");
    let found = probe["waits_s"].as_array().expect("waits");
    assert_eq!(found.len(), waits.len(), "{answers}");
    for (wait, (low, high)) in found.iter().zip(waits) {
        let [min, max] = ["min", "max"].map(|end| wait[end].as_f64().expect("a number"));
        assert!((min - low).abs() < 1e-6 && (max - high).abs() < 1e-6, "{answers}: [{min}, {max}]");
    }
    same_through_run(&scenario, folder.path(), attempts, waits, answers);
}

/// The written scenario makes the same attempts, each wait within its range.
fn same_through_run(scenario: &Path, folder: &Path, attempts: u64, waits: &[(f64, f64)], answers: &str) {
    let log = folder.join("log.jsonl");
    let [scenario, path] = [scenario, &log].map(|path| path.to_str().expect("a plain path"));
    retrycast(&["run", scenario, "--format", "json", "--log", path]);
    let lines = std::fs::read_to_string(&log).expect("the log is there");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(lines.len() as u64, attempts, "{answers}");
    for (line, (low, high)) in lines.iter().skip(1).zip(waits) {
        let waited = line["waited_before_s"].as_f64().expect("a number");
        assert!(waited >= low - 1e-6 && waited <= high + 1e-6, "{answers}: waited {waited}");
    }
}

#[test]
fn the_twelve_situations_of_an_sdk_come_out_as_observed() {
    for situation in sdk() {
        check(&["--client", "anthropic-python-1.13"], "", situation);
    }
}

#[test]
fn a_call_path_with_a_budget_does_what_was_observed() {
    // Observed: a hint of 120 s with a cap of 3 s and a budget of 20 s succeeds on attempt 2 after 2.47 s; with a cap
    // of 30 s and a budget of 5 s it is one attempt; a spend limit is one attempt; 529 twice is three; 400 is one.
    let path = ["scenarios/budgeted_call.toml", "--client", "budgeted"];
    let prefix = "clients.budgeted.layers.call.";
    let budget: [&str; 2] = ["wait_cap=3s", "total_budget=20s"];
    let tight: [&str; 2] = ["wait_cap=30s", "total_budget=5s"];
    for situation in [
        ("429 retry-after=120, 200", &budget[..], 2, &[(2.25, 3.0)][..], "ok"),
        ("429 retry-after=120, 200", &tight[..], 1, &[], "raised 429"),
        ("429 error_code=enforced_spend_limit_reached forever", &[], 1, &[], "raised 429"),
        ("529, 529, 200", &[], 3, &LADDER[..2], "ok"),
        ("400", &[], 1, &[], "raised 400"),
    ] {
        check(&path, prefix, situation);
    }
}

/// Exit 2 and what standard error says.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_retrycast"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

#[test]
fn a_file_of_answers_with_many_faults_shows_the_first_with_their_lines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("answers.txt");
    let line = "429 retry-after=1, nonsense, 200, ".repeat(500);
    std::fs::write(&file, format!("\u{feff}# first\n429\n{line}\n\u{1b}[31m\n")).expect("it is written");
    let file = file.to_str().expect("a plain path");
    let said = refused(&["probe", "--client", "openai-python", "--answers-file", file]);
    assert!(said.starts_with(&format!("error: the answers of `{file}` are not valid: 501 faults\n")), "{said}");
    assert!(said.contains(&format!("\n  --> {file}:3\n")) && said.ends_with("… and 481 more\n"), "{said}");
    assert!(said.len() < 10_000 && !said.contains('\u{1b}'), "{}", said.len());
    std::fs::write(file, "\u{feff}429 # first\n200\n").expect("it is written");
    assert!(retrycast(&["probe", "--client", "openai-python", "--answers-file", file]).contains("429, 200"));
}

#[test]
fn a_file_is_read_whoever_is_asked_and_its_client_wins_over_a_preset() {
    let said = refused(&["probe", "none.toml", "--client", "openai-python", "--answers", "429"]);
    assert!(said.starts_with("error: no file `none.toml`"), "{said}");
    let storm = "scenarios/report_storm.toml";
    let said = refused(&["probe", storm, "--client", "openai-python", "--answers", "429"]);
    assert!(said.contains("hint: leave out `scenarios/report_storm.toml` to ask the preset"), "{said}");
    refused(&["probe", "--client", "openai-python", "--variant", "after", "--answers", "429"]);
    refused(&["probe", storm, "--client", "batch", "--variant", "none", "--answers", "429"]);

    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.toml");
    let text = "horizon = \"1h\"\n[clients.openai-python]\n\
        layers = [{ name = \"own\", max_attempts = 7, retry_on = \"any\", backoff = { fixed = \"1s\" } }]\n\
        [traffic.call]\nkind = \"turns\"\nclient = \"openai-python\"\narrivals = { at = [\"0s\"] }\n\
        steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";
    std::fs::write(&file, text).expect("it is written");
    let file = file.to_str().expect("a plain path");
    let said = retrycast(&["probe", file, "--client", "openai-python", "--answers", "429 forever"]);
    assert!(said.contains("7 requests"), "{said}");
    let said = refused(&["probe", file, "--client", "openai-python", "--answers", "429", "--write", file]);
    assert!(said.ends_with("it is what was read\nhint: choose another file with --write\n"), "{said}");
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), text);
}

#[test]
fn what_hangs_can_be_written_and_runs_as_it_was_probed() {
    // By hand: a 503 at once, a wait of half a second less up to a quarter, and then no connection, which nobody gives
    // up: two requests, one of them open at the end of the run.
    let folder = tempfile::tempdir().expect("a folder");
    let written = folder.path().join("case.toml");
    let path = written.to_str().expect("a plain path");
    let answers = "503, connect_hang";
    let endless = "timeout=none";
    let told = ["--client", "openai-python", "--set", endless, "--answers", answers, "--write", path];
    let json = retrycast(&[&["probe", "--format", "json"][..], &told].concat());
    let json: Value = serde_json::from_str(&json).expect("one document");
    assert_eq!((json["attempts"].as_u64(), json["outcome"].as_str()), (Some(2), Some("hangs")));
    let run: Value = serde_json::from_str(&retrycast(&["run", path, "--format", "json"])).expect("one document");
    assert_eq!(
        (run["classes"]["call"]["requests"].as_u64(), run["classes"]["call"]["unfinished"].as_u64()),
        (Some(2), Some(1))
    );
}

#[test]
fn the_sdks_for_python_give_a_connection_five_seconds() {
    // Three tries of 5 s by the SDKs' own `httpx.Timeout(600, connect=5.0)`, and waits of 0.375 to 0.5 and of 0.75 to 1 s;
    // whoever says one number says it for connecting too, as LiteLLM does.
    let total = |client: &[&str]| {
        let json =
            retrycast(&[&["probe", "--answers", "connect_hang", "--format", "json", "--client"], client].concat());
        let json: Value = serde_json::from_str(&json).expect("one document");
        ["min", "max"].map(|end| json["total_s"][end].as_f64().expect("a number"))
    };
    assert_eq!(total(&["openai-python"]), [16.125, 16.5]);
    assert_eq!(total(&["anthropic-python-1.13"]), [16.125, 16.5]);
    assert_eq!(total(&["openai-python", "--set", "timeout=30s"]), [91.125, 91.5]);
    assert_eq!(total(&["litellm"]), [1_801.125, 1_801.5]);
}
