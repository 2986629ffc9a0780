//! Patch files: what they change and in which order, the exact words with which slips are shown, and the verbs that
//! take them.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

use std::process::{Command, Output};

use retrycast::cli::refusal::render;
use retrycast::scenario::{PatchFile, Refusal, Scenario, Source, load, settings};
use snapbox::{assert_data_eq, str};

use super::scenario_errors::SOUND;

fn patches(texts: &[&str]) -> Vec<PatchFile> {
    let name = |n: usize| if n == 0 { "mine.toml".to_owned() } else { format!("mine{n}.toml") };
    texts.iter().enumerate().map(|(n, text)| PatchFile { path: name(n), text: (*text).to_owned() }).collect()
}

/// The sound scenario under a variant, with patch files and `--set`.
fn with(variant: Option<&str>, texts: &[&str], sets: &[&str]) -> Result<Scenario, Refusal> {
    let (patches, sets) = (patches(texts), sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>());
    load(&Source { variant, patches: &patches, sets: &sets, ..Source::new("sound.toml", SOUND) })
}

/// The tries of the queue, whose `max` counts those after the first.
fn tries(scenario: &Scenario) -> Option<u64> {
    scenario.clients[0].queue()?.0.max_attempts.map(u64::from)
}

#[test]
fn a_patch_file_stands_above_the_variant_and_below_a_set_and_the_last_one_wins() {
    let queue = |n: u64| format!("clients.batch.layers.queue.max = {n}\n");
    assert_eq!(tries(&with(None, &[], &[]).unwrap()), Some(3));
    assert_eq!(tries(&with(Some("calmer"), &[&queue(5)], &[]).unwrap()), Some(6));
    assert_eq!(tries(&with(None, &[&queue(5), &queue(6)], &[]).unwrap()), Some(7));
    assert_eq!(tries(&with(None, &[&queue(5)], &["clients.batch.layers.queue.max=8"]).unwrap()), Some(9));
    // A run may be lengthened, as by a variant.
    assert_eq!(with(None, &["horizon = \"3h\"\n"], &[]).unwrap().horizon.as_secs_f64(), 10_800.0);
    let patches = patches(&[&queue(5)]);
    let all = settings(&Source { patches: &patches, ..Source::new("sound.toml", SOUND) }).unwrap();
    assert!(all.contains(&("clients.batch.layers.queue.max".to_owned(), "5".to_owned())));
}

/// What is said about patch files, as the user sees it.
fn said(texts: &[&str], sets: &[&str]) -> String {
    render(&with(None, texts, sets).expect_err("there is a fault"), false)
}

#[test]
fn slips_in_patch_files_are_shown_with_their_own_names_together_with_all_others() {
    let one = "# Fewer.\nclients.batch.layers.quue.max = 1\nbase = \"x\"\n[variants.y]\ntitle = \"y\"\n";
    let two = "fixes = \"a\"\nextends = \"calm\"\n[clients.bach.layers.sdk]\nmax_retries = 1\n\
        [clients.live.layers]\nsdk.max_retries = \"two\"\n";
    assert_data_eq!(
        said(&[one, two], &["horizon=soon"]),
        str![[r#"
error: scenario `sound.toml` with `mine.toml`, `mine1.toml` is not valid: 8 faults

 --> mine.toml:2:22
  |
2 | clients.batch.layers.quue.max = 1
  |                      ^^^^ no layer has this name
  |
hint: layers are `sdk`, `share`, `fuse`, `again`, `queue`; did you mean `queue`?

 --> mine.toml:3:1
  |
3 | base = "x"
  | ^^^^ a patch file cannot change `base`
  |
hint: leave it out

 --> mine.toml:4:2
  |
4 | [variants.y]
  |  ^^^^^^^^ a patch file cannot change `variants`
  |
hint: write the changes themselves; they are made in whichever variant is picked

 --> mine1.toml:1:1
  |
1 | fixes = "a"
  | ^^^^^ a patch file cannot change `fixes`
  |
hint: write the changes themselves, or put the fix into the scenario

 --> mine1.toml:2:1
  |
2 | extends = "calm"
  | ^^^^^^^ a patch file cannot change `extends`
  |
hint: leave it out, and pick the variant to stand on with --variant

 --> mine1.toml:3:10
  |
3 | [clients.bach.layers.sdk]
  |          ^^^^ no client has this name
  |
hint: clients are `batch`, `live`; did you mean `batch`?

 --> mine1.toml:6:19
  |
6 | sdk.max_retries = "two"
  |                   ^^^^^ is not a quantity, found "two"
  |
hint: write a number such as 1500, "400k" or "1.5M"

--> command line
 |
 | --set horizon=soon
 |               ^^^^ is not a duration, found "soon"
 |
hint: write a number and a unit, such as "250ms", "90s" or "1h30m"

nothing was run, nothing was written

"#]]
    );
}

#[test]
fn a_patch_file_that_is_empty_or_no_toml_is_refused() {
    assert_data_eq!(
        said(&["# nothing\n", "a = 1\nb = = 2\n"], &[]),
        str![[r#"
error: scenario `sound.toml` with `mine.toml`, `mine1.toml` is not valid: 2 faults

 --> mine.toml:1:1
  |
1 | # nothing
  | ^ changes nothing
  |
hint: write what it changes, such as clients.NAME.layers.sdk.max_retries = 0

 --> mine1.toml:2:5
  |
2 | b = = 2
  |     ^ extra `=`, expected nothing
  |
hint: a scenario is TOML: NAME = VALUE on a line of its own, and [NAME] above what belongs to a table

nothing was run, nothing was written

"#]]
    );
    assert_data_eq!(
        said(&["# nothing\n"], &[]),
        str![[r#"
error: scenario `sound.toml` with `mine.toml` is not valid: 1 fault

 --> mine.toml:1:1
  |
1 | # nothing
  | ^ changes nothing
  |
hint: write what it changes, such as clients.NAME.layers.sdk.max_retries = 0

nothing was run, nothing was written

"#]]
    );
}

/// What the program says in a folder that holds the sound scenario and a patch.
fn program(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let small = "[provider.faults.noise]\nprobability = 0.5\n[clients.live.layers]\nsdk.max_retries = 0\n";
    std::fs::write(folder.path().join("sound.toml"), SOUND).unwrap();
    std::fs::write(folder.path().join("small.toml"), small).unwrap();
    Command::new(env!("CARGO_BIN_EXE_retrycast")).args(args).current_dir(&folder).output().unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = program(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_verb_takes_a_patch_file() {
    let set = ["--set", "provider.faults.noise.probability=0.5", "--set", "clients.live.layers.sdk.max_retries=0"];
    let with = ["--with", "small.toml"];
    // A patch file is the same as its changes, one by one.
    for verb in [&["run", "sound.toml"][..], &["explain", "sound.toml"]] {
        let said = |changes: &[&str]| json(&[verb, &["--format", "json"], changes].concat());
        assert_eq!(said(&with), said(&set), "{verb:?}");
        assert_ne!(said(&with), said(&[]), "{verb:?}");
    }
    let probe = |changes: &[&str]| {
        let asked = ["probe", "sound.toml", "--client", "live", "--answers", "500 forever", "--format", "json"];
        json(&[&asked, changes].concat())["attempts"].clone()
    };
    assert_eq!((probe(&[]), probe(&with)), (3.into(), 1.into()));
    let compare = |arms: &[&str]| {
        let asked = ["compare", "sound.toml", "--replicates", "2", "--format", "json"];
        json(&[&asked, arms].concat())
    };
    let arm = compare(&["--patch-file", "small.toml"]);
    assert_eq!(arm["arms"][1]["name"], "small");
    assert_eq!(arm["arms"][1]["changes"].as_array().unwrap().len(), 2);
    // In all arms it is no difference.
    let all = compare(&["--with", "small.toml", "--arms", "base,calm"]);
    assert_eq!(all["arms"][1]["changes"].as_array().unwrap().len(), 1);
    let unread = program(&["run", "sound.toml", "--with", "none.toml"]);
    assert_eq!(unread.status.code(), Some(2));
    let said = String::from_utf8_lossy(&unread.stderr).into_owned();
    assert!(said.starts_with("error: no file `none.toml`\nhint: give the path of a patch file"), "{said}");
}
