//! The program as a shell sees it: exit codes, streams, and what a closed pipe does.
#![cfg(feature = "cli")]

use std::process::{Command, Output, Stdio};

fn retrycast(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Output {
    retrycast(args).output().unwrap()
}

#[test]
fn the_version_and_the_schema_go_to_standard_output() {
    let version = output(&["--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("retrycast {}\n", env!("CARGO_PKG_VERSION")));
    let schema = output(&["schema", "summary"]);
    assert!(schema.status.success() && schema.stderr.is_empty());
    let document: serde_json::Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(document["title"], "retrycast.summary/1");
}

#[test]
fn a_closed_pipe_ends_quietly_with_success() {
    let (reader, writer) = std::io::pipe().unwrap();
    let child = retrycast(&["schema", "summary"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_file_that_is_not_there_is_exit_2_with_a_hint() {
    for verb in ["run", "explain"] {
        let output = output(&[verb, "no/such/file.toml"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error: no file `no/such/file.toml`\nhint: "), "{text}");
    }
}

#[test]
fn absurd_counts_are_exit_2_with_the_remedy() {
    for (option, value) in [("--replicates", "0"), ("--threads", "0"), ("--replicates", "1e9"), ("--seed", "-1")] {
        let output = output(&["run", "x.toml", option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(option), "{option} {value}");
    }
}
