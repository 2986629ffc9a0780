//! The circuit breakers, each in the words of its preset.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::breaker::{differences, mechanisms};
use super::{Case, Library};
use retrycast::policy::circuit_breaker::Gate;
use retrycast::policy::{Mechanism, Outcome, Semaphore, SemaphoreState};
use retrycast::units::SimTime;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 6] = [
    Library { file: "pybreaker-1.4.1", most_left_out: 3, held: pybreaker },
    Library { file: "aiobreaker-1.2.0", most_left_out: 10, held: aiobreaker },
    Library { file: "purgatory-3.0.1", most_left_out: 10, held: purgatory },
    Library { file: "opossum-9.0.0", most_left_out: 3, held: opossum },
    Library { file: "cockatiel-3.2.1", most_left_out: 3, held: cockatiel },
    Library { file: "failsafe-1.3.0", most_left_out: 3, held: failsafe },
];

type Held = Result<Vec<String>, &'static str>;

/// The breaker of a preset with these words.
fn preset(name: &str, words: &[String]) -> String {
    let name = format!("preset = \"{name}\"");
    format!("breaker = {{ {} }}", [&[name], words].concat().join(", "))
}

/// Settings as words of a preset: numbers and truths as they are, the ones of `in_seconds` as durations.
fn said(case: &Case, in_seconds: &[&str]) -> Vec<String> {
    let said = case.settings.iter().filter(|(key, _)| *key != "default");
    said.map(|(key, value)| {
        if in_seconds.contains(&key.as_str()) { format!("{key} = \"{value}s\"") } else { format!("{key} = {value}") }
    })
    .collect()
}

fn pybreaker(case: &Case) -> Held {
    let guard = preset("pybreaker-1.4", &said(case, &["reset_timeout"]));
    // Its lock lets one call through at a time.
    let lock = "semaphore = { permits = 1 }";
    if case.id != "concurrent_calls_closed" {
        return Ok(differences(case, &format!("{lock}\n{guard}"), None));
    }
    let calls = case.events.len() as u64;
    let (at_once, in_the_end) = match semaphore(lock) {
        Ok(settings) => line(&settings, calls),
        Err(what) => return Ok(vec![what]),
    };
    let measured = (&case.observed[0]["running_at_once"], &case.observed[0]["ran_in_the_end"]);
    let same = measured == (&Value::from(at_once), &Value::from(in_the_end));
    Ok(if same { Vec::new() } else { vec![format!("{at_once} at once, measured {measured:?}")] })
}

fn semaphore(text: &str) -> Result<Semaphore, String> {
    match mechanisms(text)?.pop() {
        Some(Mechanism::Semaphore(semaphore)) => Ok(semaphore),
        other => Err(format!("{other:?}")),
    }
}

/// How many of so many calls that come at once run at a time, and how many in the end.
fn line(semaphore: &Semaphore, calls: u64) -> (u64, u64) {
    let (mut state, mut in_line) = (SemaphoreState::default(), 0);
    for _ in 0..calls {
        in_line += usize::from(matches!(semaphore.enter(&mut state, in_line, SimTime::ZERO), Gate::Line(_)));
    }
    let at_once = u64::from(state.in_use);
    (at_once, at_once + in_line as u64)
}

fn aiobreaker(case: &Case) -> Held {
    Ok(differences(case, &preset("aiobreaker-1.2", &said(case, &["timeout_duration"])), None))
}

fn purgatory(case: &Case) -> Held {
    Ok(differences(case, &preset("purgatory-3.0", &said(case, &["ttl"])), None))
}

fn opossum(case: &Case) -> Held {
    let words = case.settings.iter().filter(|(key, _)| !["timeout", "capacity"].contains(&key.as_str()));
    let words = words.map(|(key, value)| match key.as_str() {
        "resetTimeout" | "rollingCountTimeout" => format!("{key} = \"{value}ms\""),
        _ => format!("{key} = {value}"),
    });
    let mut guards = preset("opossum-9.0", &words.collect::<Vec<_>>());
    if let Some(capacity) = case.settings.get("capacity").and_then(Value::as_u64).filter(|all| *all < 1_000_000) {
        guards = format!("semaphore = {{ permits = {capacity}, when_full = \"reject\" }}\n{guards}");
    }
    let timeout = case.settings.get("timeout").and_then(Value::as_f64);
    Ok(differences(case, &guards, timeout.map(|millis| millis / 1_000.0)))
}

fn cockatiel(case: &Case) -> Held {
    if case.settings.contains_key("limit") {
        return Ok(bulkhead(case));
    }
    let setting = |key: &str| case.settings.get(key).map(|value| format!("{key} = {value}"));
    let (threshold, minimum) = (setting("threshold"), setting("minimumNumberOfCalls"));
    let table = |own: [Option<String>; 3]| own.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let breaker = match case.settings["breaker"].as_str() {
        Some("consecutive") => format!("ConsecutiveBreaker = {}", case.settings["n"]),
        Some("count") => format!("CountBreaker = {{ {} }}", table([threshold, setting("size"), minimum])),
        _ => {
            let duration = Some(format!("duration = \"{}s\"", case.settings["duration"]));
            format!("SamplingBreaker = {{ {} }}", table([threshold, duration, setting("minimumRps")]))
        }
    };
    let open = match &case.settings["halfOpenAfter"] {
        Value::Number(seconds) => format!("halfOpenAfter = \"{seconds}s\""),
        _ => "halfOpenAfter = { ExponentialBackoff = { initialDelay = \"1s\", maxDelay = \"8s\" } }".to_owned(),
    };
    Ok(differences(case, &preset("cockatiel-3.2", &[breaker, open]), None))
}

/// Calls that all come at once before a bulkhead, and the first of them ends.
fn bulkhead(case: &Case) -> Vec<String> {
    let (limit, queue) = (&case.settings["limit"], &case.settings["queue"]);
    let when_full = if queue == 0 { "when_full = \"reject\"".to_owned() } else { format!("line_at_most = {queue}") };
    let semaphore = match semaphore(&format!("semaphore = {{ permits = {limit}, {when_full} }}")) {
        Ok(semaphore) => semaphore,
        Err(what) => return vec![what],
    };
    let free_in_line = |in_line: u64| queue.as_u64().unwrap_or_default() - in_line;
    let (mut state, mut in_line, mut differences) = (SemaphoreState::default(), 0, Vec::new());
    for measured in &case.observed {
        if measured["after_one_finishes"] == Value::Bool(true) {
            semaphore.leave(&mut state);
            let next = in_line > 0 && semaphore.hands_on(&mut state);
            in_line -= u64::from(next);
            if measured["started"] != u64::from(next) || measured["queue_slots"] != free_in_line(in_line) {
                differences.push(format!("{next} is called up, measured {measured}"));
            }
            continue;
        }
        let gate = semaphore.enter(&mut state, in_line as usize, SimTime::ZERO);
        in_line += u64::from(matches!(gate, Gate::Line(_)));
        let refused = gate == Gate::Refuse(Outcome::LimiterFull);
        let same = measured["running"] == (gate == Gate::Pass)
            && measured["rejected"].is_string() == refused
            && measured["execution_slots"] == u64::from(semaphore.permits - state.in_use)
            && measured["queue_slots"] == free_in_line(in_line);
        if !same {
            differences.push(format!("{gate:?}, measured {measured}"));
        }
    }
    differences
}

fn failsafe(case: &Case) -> Held {
    let backoff = match case.settings["backoff"].as_str().and_then(|text| text.split_once(' ')) {
        Some(("constant", seconds)) => format!("backoff = {{ constant = \"{seconds}s\" }}"),
        Some((_, range)) => {
            let (first, longest) = range.split_once("..").unwrap_or_default();
            format!("backoff = {{ exponential = [\"{first}s\", \"{longest}s\"] }}")
        }
        None => return Ok(vec!["no backoff".to_owned()]),
    };
    let policy = match case.settings.get("n") {
        Some(n) => format!("consecutive_failures = {n}"),
        None => format!(
            "success_rate_over_time_window = {{ required = {}, min_requests = {}, window = \"{}s\" }}",
            case.settings["required"], case.settings["min_requests"], case.settings["window"]
        ),
    };
    Ok(differences(case, &preset("failsafe-1.3", &[policy, backoff]), None))
}
