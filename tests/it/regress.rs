//! `regress` as a shell sees it: a baseline that is the same bytes everywhere, a check that says what moved in every form
//! of its report, and refusals that leave nothing behind.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::schema::departures;

pub(super) fn output(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(["regress"]).args(args).current_dir(folder).env_remove("COLUMNS").output().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with two small scenarios below `scenarios/`.
fn stage() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("scenarios")).unwrap();
    for name in ["one_layer.toml", "shared_limit.toml"] {
        std::fs::copy(Path::new("scenarios").join(name), folder.path().join("scenarios").join(name)).unwrap();
    }
    folder
}

/// The same with a baseline of twenty seeds.
pub(super) fn recorded() -> tempfile::TempDir {
    let folder = stage();
    let output = output(&["record", "--baseline", "b.json", "--quick"], folder.path());
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "wrote b.json: 3 variants of 2 scenarios, 20 seeds each\n");
    folder
}

/// Changes a scenario of the folder.
fn edit(folder: &Path, name: &str, from: &str, to: &str) {
    let path = folder.join("scenarios").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

/// Exit code, standard output and standard error of a check.
pub(super) fn check(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = output(&[&["check", "--baseline", "b.json"], args].concat(), folder);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn document(folder: &Path, args: &[&str]) -> Value {
    let (_, out, said) = check(folder, &[args, &["--format", "json"]].concat());
    assert!(said.is_empty(), "{said}");
    let document: Value = serde_json::from_str(&out).unwrap();
    fits_schema(&document, "regress");
    document
}

#[track_caller]
fn fits_schema(document: &Value, name: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let schema: Value = serde_json::from_slice(&command.args(["schema", name]).output().unwrap().stdout).unwrap();
    assert_eq!(schema["title"], document["format"]);
    let wrong = departures(&schema, &schema, document, "");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// No retry in the SDK of the live turns any more, in the file.
pub(super) fn no_retries(folder: &Path) {
    edit(
        folder,
        "shared_limit.toml",
        "preset = \"openai-python\", max_retries = 2",
        "preset = \"openai-python\", max_retries = 0",
    );
}

#[test]
fn a_baseline_is_the_same_bytes_whatever_the_threads_and_what_its_schema_says() {
    let folder = recorded();
    let first = std::fs::read_to_string(folder.path().join("b.json")).unwrap();
    for threads in ["1", "3"] {
        let args = ["record", "./scenarios", "--baseline", "c.json", "--quick", "--threads", threads, "-q"];
        let output = output(&args, folder.path());
        assert!(output.status.success() && output.stderr.is_empty());
        assert_eq!(std::fs::read_to_string(folder.path().join("c.json")).unwrap(), first);
    }
    let document: Value = serde_json::from_str(&first).unwrap();
    fits_schema(&document, "baseline");
    assert!(!first.contains(folder.path().to_str().unwrap()));
    let paced = &document["files"]["scenarios/shared_limit.toml"]["variants"]["paced"];
    assert_eq!(paced["changes"]["clients.background.layers.share.off"], "false");
    // One job, two refusals, one answer, whatever the seed.
    let one = &document["files"]["scenarios/one_layer.toml"]["variants"]["base"]["numbers"];
    assert_eq!(one["classes"]["report"]["requests"], 3);
}

#[test]
fn a_check_of_nothing_new_says_so_at_once() {
    let folder = recorded();
    let (code, out, said) = check(folder.path(), &[]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(out.starts_with("No number is worse in 3 variants: every run did exactly what was recorded.\n"), "{out}");
    for args in [&["--unpaired"][..], &["--seed", "77"], &["--quick"], &["--replicates", "15"]] {
        let (code, out, _) = check(folder.path(), args);
        assert_eq!(code, Some(0), "{args:?}: {out}");
    }
    let document = document(folder.path(), &["scenarios/one_layer.toml", "--unpaired"]);
    assert_eq!((&document["pairing"], document["cases"].as_array().unwrap().len()), (&Value::from("unpaired"), 1));
}

#[test]
fn live_turns_without_retries_are_named_with_its_setting_numbers_and_sureness() {
    let folder = recorded();
    no_retries(folder.path());
    let (code, out, said) = check(folder.path(), &[]);
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(out.starts_with("Worse: live: failed"), "{out}");
    let body = out.split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "`scenarios/shared_limit.toml`, variant `unpaced`: ",
        "change clients.live.layers.sdk.max_retries: 2 → 0",
        "worse live: failed 11 → 14, +3.6 ± 1.2; p = 0.00",
        "; p = 0.00",
        "; 0.50 is tolerated",
        "2 variants did exactly what was recorded",
    ] {
        assert!(body.contains(part), "{part} in {out}");
    }
    let document = document(folder.path(), &[]);
    assert_eq!((&document["is_failure"], &document["pairing"]), (&Value::Bool(true), &Value::from("paired")));
    let case = document["cases"].as_array().unwrap().iter().find(|case| case["is_failure"] == true).unwrap();
    let failed = case["numbers"].as_array().unwrap().iter().find(|row| row["path"] == "classes.live.failed").unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let difference = number(&failed["to"]["mean"]) - number(&failed["from"]["mean"]);
    assert!((difference - number(&failed["difference"])).abs() < 1e-9 && difference > 1.0, "{failed}");
    assert!(number(&failed["ci95"][0]) > 0.0 && number(&failed["p"]) < 0.01, "{failed}");
    // The command that is given runs, and says the same from the other side.
    let again = case["again"].as_str().unwrap();
    let expected = "retrycast compare scenarios/shared_limit.toml --variant unpaced --patch 'recorded: \
        clients.live.layers.sdk.max_retries=2' --seed 1 --replicates 20";
    assert_eq!(again, expected);
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let words = ["compare", "scenarios/shared_limit.toml", "--variant", "unpaced", "--patch"];
    let patch = "recorded: clients.live.layers.sdk.max_retries=2";
    let rest = [patch, "--seed", "1", "--replicates", "20", "--format", "json"];
    let compared = command.args(words).args(rest).current_dir(folder.path()).output().unwrap();
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let row = compared["measures"].as_array().unwrap().iter().find(|row| row["path"] == "classes.live.failed").unwrap();
    assert!((number(&row["differences"]["recorded"]["mean"]) + difference).abs() < 1e-9);
}

#[test]
fn the_same_change_on_the_command_line_is_caught_with_other_seeds_too_and_undone_it_is_better() {
    let folder = recorded();
    let set = ["--set", "clients.live.layers.sdk.max_retries=0", "scenarios/shared_limit.toml"];
    let (code, out, _) = check(folder.path(), &[&set[..], &["--unpaired"]].concat());
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("Worse: live: ") && out.contains("others than those of the baseline"), "{out}");
    no_retries(folder.path());
    let record = output(&["record", "--baseline", "b.json", "--quick", "-q"], folder.path());
    assert!(record.status.success());
    edit(folder.path(), "shared_limit.toml", "max_retries = 0", "max_retries = 2");
    // Fewer turns fail; some get a 429 more often, which the tolerances may allow.
    std::fs::write(
        folder.path().join("t.toml"),
        "[tolerances]\n\"*\" = { ignore = true }\n\"*.live.failed\" = { ignore = false }\n",
    )
    .unwrap();
    let (code, out, _) = check(folder.path(), &["--tolerances", "t.toml"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("variant `unpaced`: 2 better, such as live:\n    failed 14 → 11 ("), "{out}");
    std::fs::write(
        folder.path().join("t.toml"),
        "[tolerances]\n\"*\" = { ignore = true }\n\"*.live.failed\" = { ignore = false, direction = \"both\" }\n",
    )
    .unwrap();
    let (code, out, _) = check(folder.path(), &["--tolerances", "t.toml"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("Better, which the tolerances do not allow: live: failed"), "{out}");
}

#[test]
fn another_world_is_no_change_of_a_policy() {
    let folder = recorded();
    edit(folder.path(), "shared_limit.toml", "poisson = \"20/min\"", "poisson = \"30/min\"");
    let (code, out, _) = check(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}");
    let body = out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        body.contains("its traffic or faults are not those that were recorded: this is no change of a policy"),
        "{out}"
    );
    assert!(body.contains("20/min") && body.contains("(of the world, not of a policy)"), "{out}");
}

#[test]
fn what_is_gone_fails_and_what_is_new_is_only_said() {
    let folder = recorded();
    let path = folder.path().join("scenarios/shared_limit.toml");
    let whole = std::fs::read_to_string(&path).unwrap();
    edit(folder.path(), "shared_limit.toml", "[variants.paced.clients.background.layers]\nshare.off = false", "");
    let (code, out, _) = check(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("variant `paced`: no number moved") && out.contains("it was recorded and is not there any more"),
        "{out}"
    );
    // Whoever asks for another file does not ask for this one.
    assert_eq!(check(folder.path(), &["scenarios/one_layer.toml"]).0, Some(0));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(check(folder.path(), &[]).0, Some(1));
    assert_eq!(check(folder.path(), &["scenarios"]).0, Some(1));
    std::fs::write(&path, format!("{whole}\n[variants.more.clients.live.layers]\nsdk.max_retries = 9\n")).unwrap();
    std::fs::copy(folder.path().join("scenarios/one_layer.toml"), folder.path().join("scenarios/two.toml")).unwrap();
    let document = document(folder.path(), &[]);
    assert_eq!(document["is_failure"], false);
    let new: Vec<&str> = document["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["state"] == "new")
        .map(|case| case["variant"].as_str().unwrap())
        .collect();
    assert_eq!(new, ["more", "base"]);
}

#[test]
fn a_change_of_the_program_itself_is_called_one() {
    let folder = recorded();
    let path = folder.path().join("b.json");
    let text = std::fs::read_to_string(&path).unwrap();
    // As if an earlier program had done something else with the same file: another digest, another number, and for the
    // second case another fingerprint of what the preset became.
    let mut old: Value = serde_json::from_str(&text).unwrap();
    let variant = &mut old["files"]["scenarios/one_layer.toml"]["variants"]["base"];
    variant["digest"] = "0000000000000001".into();
    variant["numbers"]["classes"]["report"]["requests"] = 2.into();
    std::fs::write(&path, old.to_string()).unwrap();
    let (code, out, _) = check(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("no setting of the file differs: the program itself"), "{out}");
    assert!(out.contains("report: requests\n          2 → 3, +1 ± 0"), "{out}");
    old["files"]["scenarios/one_layer.toml"]["variants"]["base"]["elements"]["worker.sdk"] = "00".into();
    std::fs::write(&path, old.to_string()).unwrap();
    let (_, out, _) = check(folder.path(), &[]);
    let body = out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(body.contains("what the program makes of `worker.sdk` does: a default of a preset changed"), "{out}");
}

#[test]
fn too_few_seeds_are_no_answer() {
    let folder = stage();
    assert!(output(&["record", "--baseline", "b.json", "--replicates", "4", "-q"], folder.path()).status.success());
    no_retries(folder.path());
    let (code, out, _) = check(folder.path(), &[]);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.starts_with("No answer: with 4 seeds no difference can be sure"), "{out}");
    assert!(out.contains("warning: too few seeds"), "{out}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_record_leaves_the_old_baseline() {
    let folder = stage();
    let old = "{ \"format\": \"retrycast.baseline/1\", \"of\": \"before\" }";
    std::fs::write(folder.path().join("b.json"), old).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(["regress", "record", "--baseline", "b.json", "--replicates", "900000"]).current_dir(folder.path());
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Somebody listens for signals once there is a second thread.
    let status = format!("/proc/{}/status", child.id());
    while std::fs::read_to_string(&status).unwrap().contains("Threads:\t1\n") {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).starts_with("interrupted: "), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(folder.path().join("b.json")).unwrap(), old);
    // Beside it there are the runs that were finished, if there were any, and nothing else.
    let others = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut others: Vec<String> = others.map(|name| name.to_string_lossy().into_owned()).collect();
    others.retain(|name| !["b.json", "scenarios", "b.json.unfinished"].contains(&name.as_str()));
    assert_eq!(others, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_record_that_was_killed_goes_on_and_ends_with_the_same_bytes() {
    let args = ["regress", "record", "--baseline", "b.json", "--replicates", "400"];
    let (whole, killed) = (stage(), stage());
    assert!(output(&args[1..], whole.path()).status.success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    let mut child = command.args(args).current_dir(killed.path()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let rows = killed.path().join("b.json.unfinished");
    while std::fs::metadata(&rows).map_or(0, |found| found.len()) < 20_000 {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let again = output(&args[1..], killed.path());
    assert!(text(&again.stderr).starts_with("goes on from "), "{}", text(&again.stderr));
    let bytes = |folder: &tempfile::TempDir| std::fs::read(folder.path().join("b.json")).unwrap();
    assert!(bytes(&whole) == bytes(&killed), "the same bytes");
    assert!(!rows.exists());
}
