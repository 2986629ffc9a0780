//! The program as a shell sees it: exit codes, streams, files, and what signals, closed pipes and full disks do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

fn retrycast(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Output {
    retrycast(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Exit 2, nothing on standard output, and what standard error says.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = output(args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    said
}

fn scenario(name: &str) -> String {
    format!("{}/scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// The paths below a folder, relative to it.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(paths(&path).into_iter().map(|inner| path.join(inner)));
        }
        out.push(path);
    }
    out.iter().map(|path| path.strip_prefix(folder).unwrap_or(path).to_owned()).collect()
}

#[test]
fn the_version_and_the_schema_go_to_standard_output() {
    let version = output(&["--version"]);
    assert_eq!(text(&version.stdout), format!("retrycast {}\n", env!("CARGO_PKG_VERSION")));
    let schema = output(&["schema", "summary"]);
    assert!(schema.status.success() && schema.stderr.is_empty());
    let document: serde_json::Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(document["title"], "retrycast.summary/1");
}

#[test]
fn json_is_one_document_on_standard_output_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for (verb, file) in [("run", "one_layer"), ("run", "shared_limit"), ("explain", "report_storm")] {
        let output = retrycast(&[verb, &scenario(file), "--format", "json"]).current_dir(&folder).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["scenario"], file);
        // Neither a path nor the machine's name nor a time of day can be in it.
        assert!(!text(&output.stdout).contains(env!("CARGO_MANIFEST_DIR")));
    }
    assert!(paths(folder.path()).is_empty());
}

#[test]
fn a_run_without_a_folder_makes_one_of_its_own_and_says_so_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let output = retrycast(&["run", &scenario("one_layer"), "--seed", "7"]).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).starts_with("wrote outputs/one_layer-base-7: report.html, timeline.svg, "));
    let made = paths(&folder.path().join("outputs/one_layer-base-7"));
    let names: Vec<&str> = made.iter().filter_map(|path| path.to_str()).collect();
    for name in
        ["report.html", "timeline.svg", "timeline.png", "summary.json", "phases.csv", "timeline.csv", "refusals.csv"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn the_file_is_what_standard_output_gets() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("o");
    let args =
        ["run", &scenario("shared_limit"), "--replicates", "5", "--format", "json", "--out", out.to_str().unwrap()];
    let output = output(&args);
    assert_eq!(std::fs::read(out.join("summary.json")).unwrap(), output.stdout);
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = output(&["run", &scenario("one_layer"), "-q", "--out", out, "--replicates", "3"]);
    assert!(output.status.success() && output.stderr.is_empty() && !output.stdout.is_empty());
    assert!(refused(&["run", "none.toml", "-q"]).contains("no file `none.toml`"));
}

#[test]
fn a_closed_pipe_ends_quietly_with_success() {
    let storm = scenario("report_storm");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let commands: [&[&str]; 5] = [
        &["schema", "summary"],
        &["run", &storm, "--format", "json"],
        &["run", &storm, "-q", "--out", out],
        &["explain", &storm],
        &["--help"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = retrycast(args);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop((reader, command));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_is_not_there_is_exit_2_with_a_hint() {
    for verb in ["run", "explain"] {
        let said = refused(&[verb, "no/such/file.toml"]);
        assert!(said.starts_with("error: no file `no/such/file.toml`\nhint: "), "{said}");
    }
}

#[test]
fn absurd_counts_are_exit_2_with_the_remedy() {
    for (option, value) in [("--replicates", "0"), ("--threads", "0"), ("--replicates", "1e9"), ("--seed", "-1")] {
        assert!(refused(&["run", "x.toml", option, value]).contains(option), "{option} {value}");
    }
}

#[test]
fn a_refused_set_points_at_the_command_line_and_a_variant_has_a_near_name() {
    let storm = scenario("report_storm");
    let said = refused(&["run", &storm, "--set", "clients.batch.layers.sdk.max_retries=-1"]);
    assert!(
        said.starts_with("error: `--set clients.batch.layers.sdk.max_retries`: must be at least 0, found -1"),
        "{said}"
    );
    assert!(!said.contains("report_storm.toml"), "{said}");
    assert!(refused(&["run", &storm, "--set", "clients.nobody.x=1"]).contains("`batch`, `live`"));
    assert!(refused(&["explain", &storm, "--variant", "aftr"]).contains("`after`"));
}

#[test]
fn all_faults_of_a_file_are_told_at_once_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let text = std::fs::read_to_string(scenario("shared_limit")).unwrap();
    let text = text.replace("\nhorizon = ", "\nhorizn = ").replace("\"20/min\"", "\"-20/min\"");
    std::fs::write(&file, text.replace("workers = 10", "workers = 0")).unwrap();
    let out = folder.path().join("out");
    let said = refused(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    for part in ["did you mean `horizon`?", "-20/min", "must be at least 1, found 0"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(paths(folder.path()), [Path::new("bad.toml")]);
}

#[test]
fn a_folder_that_cannot_be_written_is_exit_2_before_anything_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let storm = scenario("report_storm");
    // A million replicates would take an hour: the folder is looked at first.
    let in_the_way = folder.path().join("file/out");
    let mut places = vec![in_the_way.to_str().unwrap()];
    if cfg!(target_os = "linux") {
        places.push("/proc/retrycast");
    }
    for place in places {
        let said = refused(&["run", &storm, "--replicates", "1000000", "--out", place]);
        assert!(said.starts_with(&format!("error: cannot write `{place}")), "{said}");
        assert!(said.contains("\nhint: choose another folder with --out"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_exit_2() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let sealed = folder.path().join("sealed");
    std::fs::create_dir(&sealed).unwrap();
    std::fs::set_permissions(&sealed, std::fs::Permissions::from_mode(0o555)).unwrap();
    // To the superuser nothing is read-only.
    if std::fs::write(sealed.join("probe"), "").is_err() {
        let said = refused(&["run", &scenario("one_layer"), "--out", sealed.to_str().unwrap()]);
        assert!(said.contains("permission denied"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_exit_2_in_plain_words() {
    let storm = scenario("report_storm");
    let commands: [&[&str]; 3] = [&["run", &storm, "--format", "json"], &["explain", &storm], &["schema", "summary"]];
    for args in commands {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = retrycast(args).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("no space left on the disk"), "{said}");
    }
}

/// Starts a run that would take hours, with an older result in its folder, and waits until it is at work.
#[cfg(unix)]
fn endless(out: &Path) -> Child {
    std::fs::create_dir_all(out).unwrap();
    std::fs::write(out.join("summary.json"), "old").unwrap();
    let args = ["run", &scenario("report_storm"), "--replicates", "1000000", "--out", out.to_str().unwrap()];
    let child = retrycast(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child
}

#[cfg(unix)]
fn signalled(signal: &str) -> (ExitStatus, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let child = endless(&folder.path().join("out"));
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status, text(&output.stderr), folder)
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_exit_130_and_leaves_what_was_there() {
    for signal in ["-INT", "-TERM"] {
        let (status, said, folder) = signalled(signal);
        assert_eq!(status.code(), Some(130), "{signal}: {said}");
        assert!(said.contains("interrupted: nothing was written"), "{said}");
        assert_eq!(paths(&folder.path().join("out")), [Path::new("summary.json")], "{signal}");
        assert_eq!(std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap(), "old");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_the_old_files_whole() {
    let (status, _, folder) = signalled("-KILL");
    assert_eq!(status.code(), None);
    assert_eq!(std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap(), "old");
}

/// A scenario that would retry every nanosecond for a year.
fn endless_scenario(folder: &Path) -> String {
    let text = r#"
horizon = "365d"
[provider.faults.down]
respond = { status = 503, after = "1ns" }
[clients.wild]
layers = [{ name = "sdk", max_attempts = "unlimited", retry_on = "any", backoff = { fixed = "1ns" } }]
[traffic.call]
kind = "turns"
client = "wild"
arrivals = { at = ["1s"] }
steps = [{ name = "answer", input_tokens = 1, latency = "1s" }]
"#;
    let path = folder.join("endless.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn a_single_run_is_interrupted_at_once_and_leaves_nothing() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let file = endless_scenario(folder.path());
        let [out, log] = ["out", "log.jsonl"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        let mut command = retrycast(&["run", &file, "--out", &out, "--log", &log]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The log has begun, under another name.
        while paths(folder.path()).len() < 2 {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{signal}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "interrupted: nothing was written\n");
        assert_eq!(paths(folder.path()), [Path::new("endless.toml")]);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_the_log_is_written_is_said_as_it_is() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command =
        retrycast(&["run", &scenario("report_storm"), "--format", "json", "--log", pipe.to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = std::fs::File::open(&pipe).unwrap();
    // The log is longer than a pipe holds: the run waits here until more is read.
    reader.read_exact(&mut [0; 100]).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(200));
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("got a part of the log") && output.stdout.is_empty());
}

#[test]
fn a_run_without_end_is_refused_with_how_far_it_came_and_who_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = endless_scenario(folder.path());
    let out = folder.path().join("out");
    for more in [&[][..], &["--replicates", "3"]] {
        let args = [&["run", &file, "--max-requests", "50000", "--out", out.to_str().unwrap()], more].concat();
        let said = refused(&args);
        assert!(said.starts_with("error: the run does not seem to end: after 5"), "{said}");
        assert!(said.contains(" of 365d; most requests are of `call`\nhint: give the clients of `call`"), "{said}");
        assert!(said.contains("allow more with --max-requests"), "{said}");
    }
    assert_eq!(paths(folder.path()), [Path::new("endless.toml")]);
    assert!(refused(&["run", &file, "--max-requests", "0"]).contains("must be at least 1"));
}

#[test]
fn a_log_replaces_neither_the_scenario_nor_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("storm.toml");
    std::fs::copy(scenario("one_layer"), &file).unwrap();
    let before = std::fs::read(&file).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("out"));
    let result = out.join("../out/summary.json");
    for (log, what) in [(file, "the scenario itself"), (result.to_str().unwrap(), "a file of the results")] {
        let said = refused(&["run", file, "--out", out.to_str().unwrap(), "--log", log]);
        assert!(said.starts_with("error: cannot write the log to `") && said.contains(what), "{said}");
        assert!(said.ends_with("hint: choose another file with --log\n"), "{said}");
    }
    assert_eq!(std::fs::read(file).unwrap(), before);
    assert_eq!(paths(folder.path()), [Path::new("storm.toml")]);
    let log = folder.path().join("no/such/log");
    assert!(refused(&["run", file, "--log", log.to_str().unwrap()]).contains("choose another file with --log"));
}

#[cfg(unix)]
#[test]
fn a_log_appears_only_with_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let [out, log] = ["out", "log.jsonl"].map(|name| folder.path().join(name));
    let write =
        || output(&["run", &scenario("one_layer"), "--out", out.to_str().unwrap(), "--log", log.to_str().unwrap()]);
    assert!(write().status.success() && log.exists());
    std::fs::write(&log, "old").unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    // A result that cannot be written: its link leads nowhere.
    std::fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink("no/such/file", out.join("phases.csv")).unwrap();
    assert_eq!(write().status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn a_log_may_go_down_the_pipe_of_standard_output_but_not_into_its_file() {
    let lines = |text: &str| text.lines().filter(|line| line.starts_with('{') && line.ends_with('}')).count();
    let of = |log: &str| output(&["run", &scenario("one_layer"), "--format", "json", "--log", log]);
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.jsonl");
    assert!(of(kept.to_str().unwrap()).status.success());
    let kept = std::fs::read_to_string(kept).unwrap();
    // The log, and then the summary.
    let piped = of("/dev/stdout");
    assert!(piped.status.success(), "{}", text(&piped.stderr));
    let piped = text(&piped.stdout);
    assert!(piped.starts_with(&kept) && lines(&kept) == 3, "{}", &piped[..200.min(piped.len())]);
    assert!(piped[kept.len()..].starts_with("{\n"));
    // Two writers of one file would write over each other.
    let file = std::fs::File::create(folder.path().join("both")).unwrap();
    let mut command = retrycast(&["run", &scenario("one_layer"), "--format", "json", "--log", "/dev/stdout"]);
    let output = command.stdout(file).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("it is a file that is written to already\nhint: choose another file with --log"), "{said}");
}
