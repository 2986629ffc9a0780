//! What `regress` refuses, in which words, and that nothing is left behind; and that the tolerances that are shown are
//! accepted.

use std::path::Path;

use super::regress::{output, recorded, text};

/// Exit 2, nothing on standard output, and what standard error says.
#[track_caller]
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = output(args, folder);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty() && said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    said.trim_start_matches("error: ").trim_end().to_owned()
}

#[test]
fn refusals_say_what_is_wrong_and_what_to_do() {
    let folder = recorded();
    let before = std::fs::read_to_string(folder.path().join("b.json")).unwrap();
    let said = |args: &[&str]| refused(folder.path(), args);
    for (args, expected) in [
        (
            &["check", "--baseline", "none.json"][..],
            "cannot read the baseline `none.json`: no such file or folder\nhint: make one with `retrycast regress record --baseline none.json`",
        ),
        (
            &["check", "--baseline", "scenarios"],
            "cannot read the baseline `scenarios`: it is a folder\nhint: make one with `retrycast regress record --baseline scenarios`",
        ),
        (
            &["check", "--baseline", "scenarios/one_layer.toml"],
            "cannot read the baseline `scenarios/one_layer.toml`: it is no JSON: expected value at line 1 column 1\nhint: make one with `retrycast regress record --baseline scenarios/one_layer.toml`",
        ),
        (
            &["check", "--baseline", "b.json", "--replicates", "21"],
            "`--replicates 21`: only 20 seeds were recorded\nhint: record more, or compare other seeds with --unpaired",
        ),
        (
            &["check", "--baseline", "b.json", "--variant", "pased"],
            "no scenario has a variant `pased`\nhint: variants are `base`, `paced`, `unpaced`; did you mean `paced`?",
        ),
        (
            &["check", "--baseline", "b.json", "none.toml"],
            "no file `none.toml`\nhint: give the path of a scenario, such as scenarios/report_storm.toml",
        ),
        (
            &["check", "--baseline", "b.json", "--tolerances", "none.toml"],
            "cannot read the tolerances `none.toml`: no such file or folder\nhint: give the path of a TOML file, or leave --tolerances out",
        ),
        (
            &["record", "scenarios", "--baseline", "scenarios/one_layer.toml"],
            "`--baseline` would replace the scenario `scenarios/one_layer.toml`\nhint: give the baseline a name of its own",
        ),
        (
            &["record", "empty", "--baseline", "b.json"],
            "no scenario in `empty`\nhint: name a folder with .toml files, or the files",
        ),
        (
            &["record", "--baseline", "no/such/b.json"],
            "cannot write `no/such/b.json`: no such file or folder\nhint: choose another file with --baseline; earlier results are untouched",
        ),
    ] {
        std::fs::create_dir_all(folder.path().join("empty")).unwrap();
        assert_eq!(said(args), expected);
    }
    let outside = tempfile::tempdir().unwrap();
    std::fs::copy("scenarios/one_layer.toml", outside.path().join("x.toml")).unwrap();
    let path = outside.path().join("x.toml");
    let found = said(&["record", path.to_str().unwrap(), "--baseline", "b.json"]);
    assert!(found.contains("the path is of this machine\nhint: change to the project's folder"), "{found}");
    assert_eq!(std::fs::read_to_string(folder.path().join("b.json")).unwrap(), before);
    let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!(names(folder.path()), 3, "b.json, empty, scenarios");
}

#[test]
fn a_tolerance_file_is_refused_with_all_its_faults() {
    let folder = recorded();
    let faulty = "false_alarms = \"90%\"\n\n[tolerances]\n\"*.amplificaton\" = { relative = \"5%\" }\n\
        \"*.live.*\" = { relativ = \"5%\" }\n\"shared_limit.*\" = { absolute = \"30s\" }\n";
    std::fs::write(folder.path().join("t.toml"), faulty).unwrap();
    let found = refused(folder.path(), &["check", "--baseline", "b.json", "--tolerances", "t.toml"]);
    assert!(found.starts_with("tolerances `t.toml` are not valid: "), "{found}");
    for part in [
        "must lie above 0 and at most at 20 %, found \"90%\"",
        "hint: did you mean `relative`?",
        "5 | \"*.live.*\" = { relativ = \"5%\" }",
        "nothing was run, nothing was written",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    std::fs::write(folder.path().join("t.toml"), "[tolerances]\n\"*.amplificaton\" = { relative = \"5%\" }\n").unwrap();
    let found = refused(folder.path(), &["check", "--baseline", "b.json", "--tolerances", "t.toml"]);
    assert!(found.contains("hint: no number has `amplificaton` in its name; did you mean `amplification`?"), "{found}");
}

#[test]
fn the_tolerances_that_are_shown_and_shipped_fit_the_shipped_scenarios() {
    use retrycast::experiment::measure::measures;
    use retrycast::experiment::regress::{Subject, Tolerances};
    let mut subjects = Vec::new();
    for scenario in super::stage::all_shipped() {
        let of = |measure: &_| Subject::of(&scenario.name, &scenario.variant, measure);
        subjects.extend(measures(&[&scenario]).iter().map(of));
    }
    let page = std::fs::read_to_string("docs/regress.md").unwrap();
    let shown = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let shipped = std::fs::read_to_string("outputs/tolerances.toml").unwrap();
    for text in [shown, &shipped] {
        let read = Tolerances::read(text, &subjects).unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"));
        assert_eq!(read.false_alarms, 0.01);
    }
}
