//! Whatever a command reads, it does not write over: scenarios, patch files, baselines, and files of somebody else.

use std::fs;
use std::path::Path;

use super::experiments::{output, refused, stage, text};

/// Exit 2, a word of the file, and the file as it was.
#[track_caller]
fn spared(folder: &Path, args: &[&str], file: &str) {
    let path = folder.join(file);
    let before = fs::read(&path).unwrap();
    let output = output(args, folder);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(said.contains("would replace `") && said.contains("\nhint: "), "{args:?}: {said}");
    assert_eq!(fs::read(&path).unwrap(), before, "{args:?}");
}

#[test]
fn what_is_read_is_not_replaced() {
    let folder = stage();
    let here = folder.path();
    fs::create_dir(here.join("own")).unwrap();
    fs::copy(here.join("one_layer.toml"), here.join("own/tuned.toml")).unwrap();
    fs::write(here.join("own/sweep.json"), "clients.worker.layers.sdk.max_retries = 1\n").unwrap();
    let vary = ["--vary", "clients.worker.layers.sdk.max_retries=1,2", "--quick", "--out", "own"];
    let tune: Vec<&str> = ["tune", "own/tuned.toml"].into_iter().chain(vary).collect();
    spared(here, &tune, "own/tuned.toml");
    let sweep: Vec<&str> = ["sweep", "one_layer.toml", "--with", "own/sweep.json"].into_iter().chain(vary).collect();
    spared(here, &sweep, "own/sweep.json");
    fs::write(here.join("notes.txt"), "nothing to do with it\n").unwrap();
    spared(here, &["regress", "record", "one_layer.toml", "--baseline", "notes.txt", "--quick"], "notes.txt");
    let recorded =
        output(&["regress", "record", "one_layer.toml", "--baseline", "own/regression.json", "--quick"], here);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    spared(here, &["regress", "check", "--baseline", "own/regression.json", "--out", "own"], "own/regression.json");
    // A check of what was never recorded is no check.
    let args = ["regress", "check", "--baseline", "own/regression.json", "shared_limit.toml"];
    let unknown = output(&args, here);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stdout));
    assert!(text(&unknown.stderr).starts_with("error: nothing of this is in `own/regression.json`"));
}

#[test]
fn a_value_that_a_verb_tries_by_itself_is_named_where_it_makes_no_scenario() {
    let said = refused(&["headroom", "shared_limit.toml", "--variant", "paced", "--over", "workers=2.5,4"]);
    assert!(said.starts_with("`--over workers`: is an amount\nhint: write whole numbers"), "{said}");
}
