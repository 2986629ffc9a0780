//! Every measured case of every library, through the same stack that the event loop drives: attempts and outcome
//! exactly, each wait within the range that the model gives, its mean within sampling error.
//!
//! A library's file translates the settings that were measured into its preset's own words. A case that no sane
//! vocabulary should hold is out of scope, with its reason; there may be at most 2 % of those in the first tier and
//! 10 % in the second.

mod anthropic;

use retrycast::policy::Client;
use retrycast::probe::{Attempts, Probe, Script, probe};
use retrycast::random::Seed;
use retrycast::scenario;
use serde_json::{Map, Value};
use std::path::Path;

/// One library at one version.
pub(crate) struct Library {
    /// The file under `tests/conformance/`, without its ending.
    pub(crate) file: &'static str,
    /// 1 or 2.
    pub(crate) tier: u8,
    /// The preset that stands for it.
    pub(crate) preset: &'static str,
    /// A case's settings in the preset's words.
    pub(crate) setup: fn(&Case) -> Setup,
}

/// What a case is run with.
pub(crate) enum Setup {
    /// The preset with these `--set`s, relative to it.
    Preset(Vec<String>),
    /// The client `c` of this scenario.
    Scenario(String),
    /// Not run, and why.
    OutOfScope(&'static str),
}

/// One measured case.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) policy: Map<String, Value>,
    pub(crate) script: Vec<Value>,
    pub(crate) fields: Map<String, Value>,
}

impl Case {
    /// A setting as a number.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.policy.get(key)?.as_f64()
    }

    /// A setting as a whole number.
    pub(crate) fn whole(&self, key: &str) -> Option<i64> {
        self.policy.get(key)?.as_i64()
    }

    /// A setting as a word.
    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.policy.get(key)?.as_str()
    }

    /// Whether a setting is there and true.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.policy.get(key) == Some(&Value::Bool(true))
    }
}

/// Seconds as a duration of a scenario.
pub(crate) fn seconds(value: f64) -> String {
    format!("{}us", (value * 1e6).round() as u64)
}

/// All libraries.
fn libraries() -> Vec<Library> {
    [anthropic::LIBRARIES].into_iter().flatten().collect()
}

#[test]
fn every_measured_retry_layer_does_what_its_preset_does() {
    let (mut failures, mut lines) = (Vec::new(), Vec::new());
    let mut tiers = [(0, 0); 2];
    for library in libraries() {
        let cases = read(library.file);
        let (mut out_of_scope, mut run) = (0, 0);
        for case in &cases {
            match (library.setup)(case) {
                Setup::OutOfScope(why) => {
                    out_of_scope += 1;
                    lines.push(format!("out of scope: {} {}: {why}", library.file, case.id));
                }
                Setup::Preset(sets) => {
                    run += 1;
                    let client = scenario::preset_client(library.preset, &sets);
                    check(&library, case, client.map_err(|refusal| format!("{refusal:?}")), &mut failures);
                }
                Setup::Scenario(text) => {
                    run += 1;
                    check(&library, case, client_of(&text), &mut failures);
                }
            }
        }
        let tier = &mut tiers[usize::from(library.tier) - 1];
        (tier.0, tier.1) = (tier.0 + cases.len(), tier.1 + out_of_scope);
        lines.push(format!("{}: {run} of {} cases run", library.file, cases.len()));
    }
    println!("{}", lines.join("\n"));
    for ((all, out), (tier, most)) in tiers.into_iter().zip([(1, 0.02), (2, 0.10)]) {
        println!("tier {tier}: {all} cases, {out} out of scope");
        assert!(f64::from(out) <= f64::from(all as u32) * most, "too much of tier {tier} is out of scope");
    }
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

fn client_of(text: &str) -> Result<Client, String> {
    let scenario =
        scenario::load(&scenario::Source::new("case.toml", text)).map_err(|refusal| format!("{refusal:?}"))?;
    scenario.clients.into_iter().find(|client| client.name == "c").ok_or_else(|| "no client `c`".to_owned())
}

/// The cases of a file.
fn read(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document: Value = serde_json::from_str(&text).expect("a conformance file is JSON");
    let cases = document["cases"].as_array().expect("a conformance file has cases");
    cases
        .iter()
        .map(|case| Case {
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            policy: case["policy"].as_object().cloned().unwrap_or_default(),
            script: case["script"].as_array().cloned().unwrap_or_default(),
            fields: case.as_object().cloned().unwrap_or_default(),
        })
        .collect()
}

/// The script of a case, in the words of `probe`.
pub(crate) fn script(case: &Case) -> String {
    let streamed = case.is("stream");
    let took = case.number("attempt_duration").filter(|took| *took > 0.0);
    let mut answers = Vec::new();
    for entry in &case.script {
        let times = entry["times"].as_u64().unwrap_or(1);
        for _ in 0..times {
            answers.push(answer(entry, streamed, took));
        }
    }
    answers.join(", ")
}

fn answer(entry: &Value, streamed: bool, took: Option<f64>) -> String {
    let body = entry["body"].as_str().unwrap_or_default();
    let status = entry["status"].as_u64();
    let mut words = Vec::new();
    if let Some(delay) = entry["delay"].as_f64().or(took) {
        words.push(format!("slow={}", seconds(delay)));
    }
    words.push(match (entry["drop"].as_str(), status) {
        _ if entry["refused"] == Value::Bool(true) => "unreachable".to_owned(),
        _ if entry["raise"] == Value::Bool(true) => "500".to_owned(),
        _ if entry["ok"] == Value::Bool(true) => "200".to_owned(),
        (Some("before"), _) => "drop".to_owned(),
        (Some(_), Some(200)) if streamed => "stream_broken".to_owned(),
        (Some(_), _) => "cut".to_owned(),
        (None, Some(200)) if streamed && body.contains("error event") => "stream_broken".to_owned(),
        (None, status) => status.map_or_else(|| "drop".to_owned(), |status| status.to_string()),
    });
    if let Some(headers) = entry["headers"].as_object() {
        for (name, value) in headers.iter().filter(|(name, _)| *name != "content-type") {
            words.push(format!("{name}='{}'", value.as_str().unwrap_or_default()));
        }
    }
    let code = &entry["body"]["error"]["details"]["error_code"];
    if let Some(code) = code.as_str() {
        words.push(format!("error_code={code}"));
    }
    words.join(" ")
}

fn check(library: &Library, case: &Case, client: Result<Client, String>, failures: &mut Vec<String>) {
    let mut fail = |what: String| failures.push(format!("{} {}: {what}", library.file, case.id));
    let client = match client {
        Ok(client) => client,
        Err(refusal) => return fail(refusal),
    };
    let text = script(case);
    let script = match Script::parse(&text, 1_767_225_600.0) {
        Ok(script) => script,
        Err(faults) => return fail(format!("{text}: {faults:?}")),
    };
    let found = probe(&client, &script, Seed(1));
    attempts(case, &found).unwrap_or_else(&mut fail);
    waits(case, &found).unwrap_or_else(&mut fail);
    outcome(case, &found).unwrap_or_else(fail);
}

fn attempts(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = &case.fields["attempts"];
    let (low, high) = match measured {
        Value::Number(n) => (n.as_u64().unwrap_or(0), n.as_u64().unwrap_or(0)),
        varying => (varying["min"].as_u64().unwrap_or(0), varying["max"].as_u64().unwrap_or(0)),
    };
    let fits = match &found.attempts {
        Attempts::Always(n) => low == *n && high == *n,
        // Measured with fewer repetitions than the probe has: its range must hold the measured one.
        Attempts::Varying(counts) => {
            low != high && counts.keys().min() <= Some(&low) && counts.keys().max() >= Some(&high)
        }
        Attempts::Endless | Attempts::AtLeast(_) => false,
    };
    if fits { Ok(()) } else { Err(format!("attempts {:?}, measured {measured}", found.attempts)) }
}

fn waits(case: &Case, found: &Probe) -> Result<(), String> {
    let Some(measured) = case.fields.get("waits").and_then(Value::as_array) else { return Ok(()) };
    // A date has whole seconds, so that up to one second of it is gone when it is read.
    let date = case.script.iter().any(|entry| entry.to_string().contains("@date"));
    for (n, (wait, span)) in measured.iter().zip(&found.waits).enumerate() {
        let [min, max, mean] = ["min", "max", "mean"].map(|key| wait[key].as_f64().unwrap_or(f64::NAN));
        let repetitions = wait["n"].as_f64().unwrap_or(1.0).max(1.0);
        let (low, high) = (span.min.as_secs_f64(), span.max.as_secs_f64());
        let early = if date { 1.0 } else { 0.002 };
        if min < low - early || max > high + 0.002 {
            return Err(format!("wait {} in [{min}, {max}] measured, [{low}, {high}] modelled", n + 1));
        }
        // Four standard errors of a uniform spread over the range; the probe's own mean has 400 samples.
        let error = (high - low) / 12_f64.sqrt() * (1.0 / repetitions + 1.0 / 400.0).sqrt() * 4.0;
        if !date && (mean - span.mean_s).abs() > error + 0.003 {
            return Err(format!("wait {} mean {mean} measured, {} modelled ± {error}", n + 1, span.mean_s));
        }
    }
    Ok(())
}

fn outcome(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = case.fields.get("outcome").and_then(Value::as_str).unwrap_or("ok");
    let mut parts = measured.split(':');
    let kind = match parts.next() {
        Some("raise") => "raised",
        Some("returned") => "returned",
        _ => "ok",
    };
    let status = parts.next_back().filter(|last| last.len() == 3 && last.bytes().all(|b| b.is_ascii_digit()));
    let fits = found.outcome.starts_with(kind)
        && status.is_none_or(|status| found.outcome.ends_with(status) || status == "200");
    if fits { Ok(()) } else { Err(format!("outcome `{}`, measured `{measured}`", found.outcome)) }
}
