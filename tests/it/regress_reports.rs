//! The forms of a report of `regress` are what their readers expect: well-formed XML of `JUnit`, SARIF with rules and
//! places, Markdown whose tables hold.

use serde_json::Value;

use super::regress::{check, no_retries, recorded};

/// The names of the elements of a text, in order, each with its attributes; fails where it is not well-formed.
fn elements(xml: &str) -> Vec<(String, String)> {
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    let (mut open, mut out) = (Vec::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        let content = &rest[..at];
        assert!(!open.is_empty() || content.trim().is_empty(), "text outside: {content}");
        entities(content);
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
        let parts: Vec<&str> = attributes.split('"').collect();
        assert_eq!(parts.len() % 2, 1, "quotes of {attributes}");
        parts.iter().step_by(2).for_each(|key| assert!(key.trim().is_empty() || key.ends_with('='), "{attributes}"));
        entities(attributes);
        out.push((name.to_owned(), attributes.to_owned()));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    out
}

fn entities(text: &str) {
    for rest in text.split('&').skip(1) {
        let name = rest.split(';').next().unwrap();
        assert!(["lt", "gt", "amp", "quot", "apos", "#10", "#9"].contains(&name), "&{name};");
    }
}

#[test]
fn every_form_of_the_report_is_what_its_readers_expect() {
    let folder = recorded();
    no_retries(folder.path());
    let forms = [
        ("text", "regression.txt"),
        ("markdown", "regression.md"),
        ("json", "regression.json"),
        ("junit", "junit.xml"),
        ("sarif", "regression.sarif"),
    ];
    let (code, _, said) = check(folder.path(), &["--out", "new/out"]);
    assert_eq!(code, Some(1));
    let names: Vec<&str> = forms.iter().map(|(_, name)| *name).collect();
    assert_eq!(said, format!("wrote new/out: {}\n", names.join(", ")));
    for (form, name) in &forms[1..] {
        let (code, out, _) = check(folder.path(), &["--format", form]);
        let written = std::fs::read_to_string(folder.path().join("new/out").join(name)).unwrap();
        // The command in it names where it was written, or not.
        assert_eq!((code, out.as_str()), (Some(1), written.as_str()), "{form}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("new/out").join(name)).unwrap();
    let page = read("regression.txt");
    assert!(page.starts_with("$ retrycast regress check --baseline b.json\n\nWorse: live: failed"), "{page}");

    let junit = elements(&read("junit.xml"));
    let of =
        |name: &str| junit.iter().filter(|(found, _)| found == name).map(|(_, all)| all.as_str()).collect::<Vec<_>>();
    assert_eq!(junit[0].0, "testsuites");
    assert_eq!(of("testsuite").len(), 2);
    assert!(of("testsuite")[1].starts_with("name=\"scenarios/shared_limit.toml\" tests=\""));
    let cases = of("testcase");
    assert!(
        cases
            .contains(&"classname=\"shared_limit.unpaced\" name=\"classes.live\" file=\"scenarios/shared_limit.toml\"")
    );
    assert!(junit[0].1.contains(&format!("tests=\"{}\" failures=\"{}\"", cases.len(), of("failure").len())));
    assert!(
        read("junit.xml")
            .contains("&#10;change: clients.live.layers.sdk.max_retries: 2 → 0&#10;again: retrycast compare")
    );

    let sarif: Value = serde_json::from_str(&read("regression.sarif")).unwrap();
    assert_eq!((&sarif["version"], sarif["runs"].as_array().unwrap().len()), (&Value::from("2.1.0"), 1));
    let driver = &sarif["runs"][0]["tool"]["driver"];
    assert_eq!(driver["name"], "retrycast");
    let rules = driver["rules"].as_array().unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
    let line = std::fs::read_to_string(folder.path().join("scenarios/shared_limit.toml")).unwrap();
    let line = 1 + line.lines().position(|line| line.contains("max_retries = 0")).unwrap();
    let mut prints = Vec::new();
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!((&rule["id"], &result["level"]), (&result["ruleId"], &Value::from("error")));
        assert!(rule["shortDescription"]["text"].is_string() && rule["help"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "scenarios/shared_limit.toml");
        assert_eq!(place["region"]["startLine"], line);
        let said = result["message"]["text"].as_str().unwrap();
        assert!(said.ends_with("Change: clients.live.layers.sdk.max_retries: 2 → 0."), "{said}");
        prints.push(result["partialFingerprints"]["retrycast/v1"].as_str().unwrap());
    }
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), results.len(), "each finding is one");

    let markdown = read("regression.md");
    assert!(markdown.starts_with("### ❌ retrycast: "), "{markdown}");
    assert!(markdown.contains("- `clients.live.layers.sdk.max_retries: 2 → 0` in `scenarios/shared_limit.toml` ("));
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 3 && rows.iter().all(|row| columns(row) == 8), "{markdown}");
    assert!(
        markdown.contains("| `shared_limit.toml` `unpaced` | live: failed<br>`classes.live.failed` | "),
        "{markdown}"
    );
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
    assert!(markdown.len() < 65_536);
}
