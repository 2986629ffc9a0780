//! The check as test results in the form that CI systems read (the XML of `JUnit`): a suite for each scenario file, a case for
//! each variant and group of numbers, such as those of one class in one phase.

use std::fmt::Write as _;

use super::xml::escaped;
use super::{Facts, Regressed, words};
use crate::experiment::measure::{Of, Part};
use crate::experiment::regress::{Case, Row, State};

/// A test case.
struct Test {
    name: String,
    /// What is wrong, in one line and at length; nothing where it passes.
    failure: Option<(String, String)>,
    is_skipped: Option<String>,
}

/// The check as XML.
pub fn text(regressed: &Regressed<'_>) -> String {
    let mut files: Vec<&str> = Vec::new();
    for (case, _) in regressed.cases() {
        if !files.contains(&case.file.as_str()) {
            files.push(&case.file);
        }
    }
    let suites: Vec<(&str, Vec<(String, Test)>)> = files
        .into_iter()
        .map(|file| {
            let cases = regressed.cases().filter(|(case, _)| case.file == file);
            let tests = cases.flat_map(|(case, facts)| {
                let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
                let class = format!("{stem}.{}", case.variant);
                tests(case, facts).into_iter().map(move |test| (class.clone(), test))
            });
            (file, tests.collect())
        })
        .collect();
    let count = |wanted: &dyn Fn(&Test) -> bool| {
        suites.iter().flat_map(|(_, tests)| tests).filter(|(_, test)| wanted(test)).count()
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"retrycast regress\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        count(&|_| true),
        count(&|test| test.failure.is_some()),
        count(&|test| test.is_skipped.is_some()),
    );
    for (file, tests) in &suites {
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
            escaped(file),
            tests.len(),
            tests.iter().filter(|(_, test)| test.failure.is_some()).count(),
            tests.iter().filter(|(_, test)| test.is_skipped.is_some()).count(),
        );
        for (class, test) in tests {
            write(&mut out, file, class, test);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn write(out: &mut String, file: &str, class: &str, test: &Test) {
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"",
        escaped(class),
        escaped(&test.name),
        escaped(file)
    );
    match (&test.failure, &test.is_skipped) {
        (Some((message, details)), _) => {
            let _ = write!(
                out,
                ">\n      <failure type=\"regression\" message=\"{}\">{}</failure>\n    </testcase>\n",
                escaped(message),
                escaped(details)
            );
        }
        (None, Some(why)) => {
            let _ = write!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why));
        }
        (None, None) => out.push_str("/>\n"),
    }
}

/// The group that a number belongs to: the part of the run, and the class or limit.
fn group(row: &Row) -> String {
    let part = match &row.measure.part {
        Part::Whole => String::new(),
        Part::Phase(name) => format!("phases.{name}."),
    };
    match &row.measure.of {
        Of::Class { name, .. } => format!("{part}classes.{name}"),
        Of::Layer { class } => format!("{part}classes.{class}.factors"),
        Of::Limit(name) => format!("limits.{name}"),
        Of::Run => "recovery".to_owned(),
    }
}

fn tests(case: &Case, facts: &Facts) -> Vec<Test> {
    let mut out = Vec::new();
    let troubles = words::troubles(case);
    let baseline = Test {
        name: "fits the baseline".to_owned(),
        failure: (!troubles.is_empty()).then(|| (troubles[0].clone(), troubles.join("\n"))),
        is_skipped: words::news(case).filter(|_| case.state == State::New),
    };
    out.push(baseline);
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in &case.rows {
        let name = group(row);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    for (name, rows) in groups {
        let mut failing: Vec<&&Row> = rows.iter().filter(|row| row.is_failure).collect();
        failing.sort_by(|a, b| b.excess.total_cmp(&a.excess));
        let failure = failing.first().map(|worst| {
            let mut text: Vec<String> = failing.iter().map(|row| line(row)).collect();
            text.extend(words::causes(case, facts).into_iter().map(|cause| format!("change: {cause}")));
            text.extend(facts.again.iter().map(|again| format!("again: {again}")));
            (line(worst), text.join("\n"))
        });
        out.push(Test { name, failure, is_skipped: None });
    }
    out
}

/// One number in a line.
pub(super) fn line(row: &Row) -> String {
    let [from, to, difference] = words::moved(row);
    format!(
        "{} ({}): {from} → {to}, {difference}; {}; {} is tolerated",
        words::title(&row.measure),
        row.measure.path(),
        words::sureness(row.p),
        words::tolerated(row)
    )
}
