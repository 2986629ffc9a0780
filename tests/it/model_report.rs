//! Which model, which limit and which attempt sent the 429s: the log of requests and the report say the same.

use std::sync::atomic::AtomicBool;

use retrycast::experiment;
use retrycast::random::Seed;
use retrycast::report::request_log::RequestLog;
use retrycast::report::{self, Subject};
use retrycast::sim::simulate_observed;
use serde_json::Value;

use super::models::{FALLBACK, LIMITS, SDK, jobs};
use super::stage::{Run, read};

#[test]
fn the_log_says_which_model_and_which_limit_answered_which_attempt() {
    let text = jobs(LIMITS, &[SDK, FALLBACK].concat(), "").replace(r#"["0s"]"#, r#"["0s", "1m"]"#);
    let scenario = read(&text);
    let mut lines = Vec::new();
    let mut log = RequestLog::new(&scenario, &mut lines);
    simulate_observed(&scenario, Seed(1), &mut log);
    log.finish().unwrap();
    let text = String::from_utf8(lines).unwrap();
    let seen: Vec<(String, String, u64)> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("model"), text("answered_by"), line["attempt"].as_u64().unwrap())
        })
        .collect();
    let line = |model: &str, by: &str, attempt: u64| (model.to_owned(), by.to_owned(), attempt);
    let expected = [
        line("opus", "service", 1),
        line("opus", "limit:big", 1),
        line("opus", "limit:big", 2),
        line("opus", "limit:big", 3),
        line("haiku", "service", 1),
    ];
    assert_eq!(seen, expected);
    // The report's table says the same.
    let run = Run::of(&scenario, 1);
    assert_eq!(run.count("classes.job.models.opus.answered_by.limit:big"), 3);
}

#[test]
fn the_report_answers_which_model_and_which_limit_in_one_table() {
    let world = format!("{LIMITS}[phases]\nall = {{ from = \"0s\", until = \"2h\" }}\n");
    let text = jobs(&world, &[SDK, FALLBACK].concat(), "").replace(r#"["0s"]"#, r#"["0s", "1m"]"#);
    let scenario = read(&text);
    let never = AtomicBool::new(false);
    let result = experiment::run(&scenario, Seed(1), None, None, experiment::Terms::new(&never)).unwrap();
    let subject = Subject::new(&scenario, &result);
    let page = report::text::summary(&subject, 80);
    let page = anstream::adapter::strip_str(&page).to_string();
    for line in [
        "  whole run       requests       200       429     other",
        "  job to opus            4         1         3         0",
        "    failed by limit `big` 3",
        "  job to haiku           1         1         0         0",
    ] {
        assert!(page.lines().any(|printed| printed == line), "{line}\n{page}");
    }
    let narrow = report::text::summary(&subject, 40);
    assert!(narrow.contains("job to opus: requests 4, 200 1,"), "{narrow}");
    let phases = String::from_utf8(report::csv::phases(&subject).unwrap()).unwrap();
    assert!(phases.lines().next().unwrap().contains("models_opus_answered_by_limit:big"), "{phases}");
}
