//! Every measured case of every library, through the same stack that the event loop drives: attempts and outcome
//! exactly, each wait within the range that the model gives, its mean within sampling error.
//!
//! A library's file translates the settings that were measured into its preset's own words. A case that no sane
//! vocabulary should hold is out of scope, with its reason; there may be at most 2 % of those in the first tier and
//! 10 % in the second.

mod anthropic;
mod aws;
mod general_keys;
mod grpc;
mod http;
mod npm;
mod python;
mod rust;
mod stacked;

use retrycast::policy::Client;
use retrycast::probe::{Attempts, Called, Probe, Script, probe, sequence};
use retrycast::random::Seed;
use retrycast::scenario;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// One library at one version.
#[derive(Clone, Copy)]
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
    /// The same, and these answers in place of the measured ones: an error that has no word in a measured script.
    Scripted(Vec<String>, &'static str),
    /// The client `c` of this scenario, with a script for each step of its task.
    Steps(String, Vec<Vec<Value>>),
    /// The library refuses these settings, and so does the preset.
    Refused(Vec<String>),
    /// Not run, and why.
    OutOfScope(&'static str),
}

/// One measured case.
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) id: String,
    pub(crate) policy: Map<String, Value>,
    pub(crate) script: Vec<Value>,
    pub(crate) fields: Map<String, Value>,
    /// Whether waits were really waited, and measured by a clock.
    pub(crate) real_time: bool,
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

    /// Whether all waits were whole seconds.
    fn in_whole_seconds(&self) -> bool {
        let samples = self.fields.get("samples").and_then(Value::as_array);
        let waits = samples.into_iter().flatten().filter_map(Value::as_array).flatten().filter_map(Value::as_f64);
        waits.into_iter().all(|wait| wait.fract() == 0.0)
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
    let all: [&[Library]; 8] = [
        &anthropic::LIBRARIES,
        &python::LIBRARIES,
        &stacked::LIBRARIES,
        &http::LIBRARIES,
        &aws::LIBRARIES,
        &grpc::LIBRARIES,
        &npm::LIBRARIES,
        &rust::LIBRARIES,
    ];
    all.into_iter().flatten().copied().collect()
}

#[expect(clippy::print_stdout, reason = "how many cases were run is part of the result")]
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
                    ask(&library, case, client.map_err(|refusal| format!("{refusal:?}")), &mut failures);
                }
                Setup::Scripted(sets, answers) => {
                    run += 1;
                    let client = scenario::preset_client(library.preset, &sets);
                    let found = client
                        .map_err(|refusal| format!("{refusal:?}"))
                        .and_then(|client| Ok(probe(&client, &parsed(answers)?, Seed(1))));
                    check(&library, case, found, &mut failures);
                }
                Setup::Steps(text, scripts) => {
                    run += 1;
                    let found = client_of(&text).and_then(|client| stacked::asked(case, &client, &scripts));
                    check(&library, case, found, &mut failures);
                }
                Setup::Refused(sets) => {
                    run += 1;
                    if let Ok(client) = scenario::preset_client(library.preset, &sets) {
                        failures.push(format!("{} {}: not refused: {client:?}", library.file, case.id));
                    }
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
    let real_time = document["backend"].as_str().is_some_and(|backend| backend.contains("real time"));
    let cases = document["cases"].as_array().expect("a conformance file has cases");
    cases
        .iter()
        .map(|case| Case {
            file: file.to_owned(),
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            policy: case["policy"].as_object().cloned().unwrap_or_default(),
            script: case["script"].as_array().cloned().unwrap_or_default(),
            fields: case.as_object().cloned().unwrap_or_default(),
            real_time,
        })
        .collect()
}

/// The script of a case, in the words of `probe`.
pub(crate) fn script(case: &Case) -> String {
    script_of(case, &case.script)
}

/// Such a script of one step of a case.
pub(crate) fn script_of(case: &Case, entries: &[Value]) -> String {
    let streamed = case.is("stream");
    let took = case.number("attempt_duration").or(case.fields.get("attempt_duration").and_then(Value::as_f64));
    let took = took.filter(|took| *took > 0.0);
    // Where a function was measured, not a library that calls one.
    if entries.is_empty() {
        return "500".to_owned();
    }
    let mut answers = Vec::new();
    for entry in entries {
        let times = entry["times"].as_u64().unwrap_or(1);
        for _ in 0..times {
            let raised = case.fields.get("raises").unwrap_or(&entry["raise"]);
            answers.push(answer(entry, raised, streamed, took));
        }
    }
    answers.join(", ")
}

/// The status of an exception that a library raises for one.
fn status_of(exception: &str) -> &'static str {
    match exception {
        "BadRequest" => "400",
        "TooManyRequests" => "429",
        "ServiceUnavailable" => "503",
        "GatewayTimeout" => "504",
        _ => "500",
    }
}

fn answer(entry: &Value, raised: &Value, streamed: bool, took: Option<f64>) -> String {
    if let Some(answer) = grpc::answer(entry) {
        return answer;
    }
    let body = entry["body"].as_str().unwrap_or_default();
    let status = entry["status"].as_u64();
    let mut words = Vec::new();
    if let Some(delay) = entry["delay"].as_f64().or(took) {
        words.push(format!("slow={}", seconds(delay)));
    }
    words.push(match (entry["drop"].as_str(), status) {
        _ if entry["refused"] == Value::Bool(true) => "unreachable".to_owned(),
        _ if entry["raise"] == Value::Bool(true) || entry["raise_in_step"].is_u64() || entry["jobs"].is_string() => {
            "500".to_owned()
        }
        _ if entry["raise"].is_string() => status_of(raised.as_str().unwrap_or_default()).to_owned(),
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

/// Asks a client what was measured: one call, or many of the same client.
fn ask(library: &Library, case: &Case, client: Result<Client, String>, failures: &mut Vec<String>) {
    match client {
        Ok(client) if case.fields.contains_key("calls") => {
            if let Err(what) = calls(case, &client) {
                failures.push(format!("{} {}: {what}", library.file, case.id));
            }
        }
        client => check(library, case, client.and_then(|client| asked(case, &client)), failures),
    }
}

/// What a client does with a case's script.
fn asked(case: &Case, client: &Client) -> Result<Probe, String> {
    Ok(probe(client, &parsed(&script(case))?, Seed(1)))
}

/// A script, at an instant at which no date in it is past.
pub(crate) fn parsed(text: &str) -> Result<Script, String> {
    Script::parse(text, 1_767_225_600.0).map_err(|faults| format!("{text}: {faults:?}"))
}

fn check(library: &Library, case: &Case, found: Result<Probe, String>, failures: &mut Vec<String>) {
    let mut fail = |what: String| failures.push(format!("{} {}: {what}", library.file, case.id));
    let found = match found {
        Ok(found) => found,
        Err(what) => return fail(what),
    };
    attempts(case, &found).unwrap_or_else(&mut fail);
    waits(case, &found).unwrap_or_else(&mut fail);
    outcome(case, &found).unwrap_or_else(fail);
}

/// Many calls on one client: each from the beginning of the script, or in phases with an answer of their own.
fn calls(case: &Case, client: &Client) -> Result<(), String> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let phases: Vec<&Value> = case.script.iter().filter(|entry| entry.get("phase").is_some()).collect();
    let scripts: Vec<(Script, usize)> = if phases.is_empty() {
        vec![(parsed(&script(case))?, number(&case.fields["calls"]))]
    } else {
        let phase =
            |phase: &&Value| Ok((parsed(&answer(phase, &phase["raise"], false, None))?, number(&phase["calls"])));
        phases.iter().map(phase).collect::<Result<_, String>>()?
    };
    let all = scripts.iter().flat_map(|(script, times)| std::iter::repeat_n(script, *times));
    let found = sequence(client, all, Seed(1));
    let attempts: u64 = found.iter().map(|call| call.attempts).sum();
    if case.fields["attempts"].as_u64() != Some(attempts) {
        return Err(format!("attempts {attempts} in all, measured {}", case.fields["attempts"]));
    }
    let retries = |calls: &[Called]| calls.iter().map(|call| call.attempts - 1).sum::<u64>();
    for (key, phase) in [("drain_retries", 0), ("probe_retries", 2)] {
        let Some(measured) = case.fields.get(key).and_then(Value::as_u64) else { continue };
        let from: usize = scripts[..phase].iter().map(|(_, times)| times).sum();
        let retries = retries(&found[from..from + scripts[phase].1]);
        if retries != measured {
            return Err(format!("{key} {retries}, measured {measured}"));
        }
    }
    per_call(case, &found)
}

/// The attempts of each call. Where the client timed out, a request could reach the server late and be counted with the
/// next call, so that the sums may differ by one in between.
fn per_call(case: &Case, found: &[Called]) -> Result<(), String> {
    let Some(measured) = case.fields.get("per_call_attempts").and_then(Value::as_array) else { return Ok(()) };
    let late = u64::from(case.script.iter().any(|entry| entry.get("delay").is_some()));
    let (mut seen, mut modelled) = (0, 0);
    for (n, (call, measured)) in found.iter().zip(measured).enumerate() {
        (modelled, seen) = (modelled + call.attempts, seen + measured.as_u64().unwrap_or(0));
        if modelled.abs_diff(seen) > late {
            return Err(format!("{modelled} attempts until call {}, measured {seen}", n + 1));
        }
    }
    Ok(())
}

fn attempts(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = &case.fields["attempts"];
    let (low, high) = match measured {
        Value::Number(n) => (n.as_u64().unwrap_or(0), n.as_u64().unwrap_or(0)),
        varying => (varying["min"].as_u64().unwrap_or(0), varying["max"].as_u64().unwrap_or(0)),
    };
    let fits = match &found.attempts {
        Attempts::Always(n) => low == *n && high == *n,
        Attempts::Varying(counts) => low != high && same_spread(counts, measured),
        Attempts::Endless => case.fields["outcome"] == "still retrying",
    };
    if fits { Ok(()) } else { Err(format!("attempts {:?}, measured {measured}", found.attempts)) }
}

/// Whether two spreads of attempts may be one: the means within four standard errors, and no extreme of either further
/// than one from what the other has seen, or from where a hundredth of it lies.
fn same_spread(modelled: &BTreeMap<u64, u64>, measured: &Value) -> bool {
    let Some(counts) = measured["counts"].as_object() else {
        // Only the ends were kept, of fewer repetitions than the probe has: its range must hold them.
        let [least, most] = ["min", "max"].map(|end| measured[end].as_u64());
        return modelled.keys().min().copied() <= least && modelled.keys().max().copied() >= most;
    };
    let counts: BTreeMap<u64, u64> =
        counts.iter().filter_map(|(attempts, times)| Some((attempts.parse().ok()?, times.as_u64()?))).collect();
    let (one, other) = (Spread::of(modelled), Spread::of(&counts));
    let error = (one.variance / one.n + other.variance / other.n).sqrt();
    let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= 1.0 + one.variance.max(other.variance).sqrt();
    (one.mean - other.mean).abs() <= 4.0 * error && near(one.least, other.least) && near(one.most, other.most)
}

struct Spread {
    n: f64,
    mean: f64,
    variance: f64,
    least: u64,
    most: u64,
}

impl Spread {
    fn of(counts: &BTreeMap<u64, u64>) -> Spread {
        let n = counts.values().sum::<u64>() as f64;
        let sum = |of: &dyn Fn(f64) -> f64| counts.iter().map(|(k, times)| of(*k as f64) * *times as f64).sum::<f64>();
        let mean = sum(&|attempts| attempts) / n;
        let variance = sum(&|attempts| (attempts - mean) * (attempts - mean)) / n;
        let [least, most] = [counts.keys().min(), counts.keys().max()].map(|end| end.copied().unwrap_or_default());
        Spread { n, mean, variance, least, most }
    }
}

/// How late a wait may seem that was measured by a clock: the queue looks for jobs every 20 ms.
fn lateness_s(case: &Case) -> f64 {
    // A worker of another process takes a job a moment after it is due.
    let distant = case.fields.get("note").and_then(Value::as_str).is_some_and(|note| note.contains("real time"));
    match (distant, case.real_time) {
        (true, _) => 0.12,
        (false, true) => 0.03,
        (false, false) => 0.002,
    }
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
        if min < low - early || max > high + lateness_s(case) {
            return Err(format!("wait {} in [{min}, {max}] measured, [{low}, {high}] modelled", n + 1));
        }
        // Four standard errors of a uniform spread over the range; the probe's own mean has 400 samples. A spread over
        // whole seconds is wider than one over all times between its ends.
        let width = high - low;
        let whole = if case.in_whole_seconds() { 2.0 } else { 0.0 };
        let error = (width * (width + whole) / 12.0 * (1.0 / repetitions + 1.0 / 400.0)).sqrt() * 4.0;
        // A client without end is walked once, and once is no mean.
        let one = found.attempts == Attempts::Endless;
        if !date && !one && (mean - span.mean_s).abs() > error + lateness_s(case) + 0.001 {
            return Err(format!("wait {} mean {mean} measured, {} modelled ± {error}", n + 1, span.mean_s));
        }
    }
    Ok(())
}

fn outcome(case: &Case, found: &Probe) -> Result<(), String> {
    let measured = case.fields.get("outcome").and_then(Value::as_str).unwrap_or("ok");
    let mut parts = measured.split(':');
    let kind = match parts.next() {
        Some("raise" | "failed") => "raised",
        Some("returned") => "returned",
        Some("still retrying") => "never stops",
        Some("n/a") => "",
        _ => "ok",
    };
    let status = parts.next_back().filter(|last| last.len() == 3 && last.bytes().all(|b| b.is_ascii_digit()));
    let fits = found.outcome.starts_with(kind)
        && status.is_none_or(|status| found.outcome.ends_with(status) || status == "200");
    if fits { Ok(()) } else { Err(format!("outcome `{}`, measured `{measured}`", found.outcome)) }
}
