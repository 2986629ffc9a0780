//! The SDKs, decorators and the job queue of npm.

use super::{Case, Library, Setup, seconds};

pub(crate) const LIBRARIES: [Library; 7] = [
    Library { file: "anthropic-npm-1.14.0", tier: 1, preset: "anthropic-npm-1.14", setup: sdk },
    Library { file: "openai-npm-6.49.0", tier: 1, preset: "openai-npm-6.49", setup: sdk },
    Library { file: "openai-npm-7.59.0", tier: 1, preset: "openai-npm-7.59", setup: sdk },
    Library { file: "bullmq-6.7.0", tier: 1, preset: "bullmq-6.7", setup: bullmq },
    Library { file: "async-retry-1.3.3", tier: 2, preset: "async-retry-1.3", setup: decorator },
    Library { file: "p-retry-7.1.1", tier: 2, preset: "p-retry-7.1", setup: decorator },
    Library { file: "cockatiel-3.2.1", tier: 2, preset: "cockatiel-3.2", setup: cockatiel },
];

/// What an error is repeated on that the application itself calls final: everything but that.
const FINAL: &str = r#"retry_on={ any = true, never = ["final"] }"#;

/// A failure that the application itself calls final.
const FINAL_ANSWER: &str = "500 error_code=final";

fn sdk(case: &Case) -> Setup {
    let mut sets = Vec::new();
    sets.extend(case.whole("maxRetries").map(|retries| format!("maxRetries={retries}")));
    sets.extend(case.number("timeout").map(|timeout| format!("timeout={}", seconds(timeout))));
    Setup::Preset(sets)
}

fn decorator(case: &Case) -> Setup {
    let mut sets = Vec::new();
    for word in ["retries", "factor", "randomize"] {
        sets.extend(case.policy.get(word).map(|value| format!("{word}={value}")));
    }
    for word in ["minTimeout", "maxTimeout"] {
        sets.extend(case.whole(word).map(|millis| format!("{word}={millis}ms")));
    }
    if ["bail", "abort_error_stops", "type_error_not_network"].contains(&case.id.as_str()) {
        sets.push(FINAL.to_owned());
        return Setup::Scripted(sets, FINAL_ANSWER);
    }
    Setup::Preset(sets)
}

fn bullmq(case: &Case) -> Setup {
    let mut sets = Vec::new();
    sets.extend(case.whole("attempts").map(|attempts| format!("attempts={attempts}")));
    match case.id.as_str() {
        // Functions of the application, as what they compute.
        "attempts_4_custom_0.1_times_n" => {
            sets.push(r#"backoff={ linear = { initial = "100ms", step = "100ms" } }"#.to_owned());
        }
        "custom_returns_0" => sets.push("backoff=none".to_owned()),
        // Its function ends the job at the first failure.
        "custom_returns_minus_1" => sets = vec!["attempts=1".to_owned()],
        // The job itself goes well at its third run.
        "fails_twice_then_ok" => {
            sets.extend(case.policy.get("backoff").map(backoff));
            return Setup::Scripted(sets, "500, 500, 200");
        }
        "unrecoverable_error" => {
            sets.extend(["backoff=100ms".to_owned(), FINAL.to_owned()]);
            return Setup::Scripted(sets, FINAL_ANSWER);
        }
        _ => sets.extend(case.policy.get("backoff").map(backoff)),
    }
    Setup::Preset(sets)
}

fn backoff(value: &serde_json::Value) -> String {
    if let Some(millis) = value.as_u64() {
        return format!("backoff={millis}ms");
    }
    let jitter = value["jitter"].as_f64().map_or_else(String::new, |share| format!(", jitter = {share}"));
    format!("backoff={{ type = {}, delay = \"{}ms\"{jitter} }}", value["type"], value["delay"])
}

fn cockatiel(case: &Case) -> Setup {
    if case.policy.contains_key("wrap") {
        return Setup::OutOfScope("a breaker inside: a probe has no state of guards, its guards let everything pass");
    }
    let mut sets = Vec::new();
    sets.extend(case.whole("maxAttempts").map(|retries| format!("maxAttempts={retries}")));
    sets.extend(case.word("backoff").map(|backoff| {
        let (class, rest) = backoff.split_once(' ').unwrap_or((backoff, ""));
        let said = match (class, rest) {
            ("constant", seconds) => format!("{{ ConstantBackoff = \"{seconds}s\" }}"),
            ("iterable", _) => r#"{ IterableBackoff = ["100ms", "200ms", "500ms"] }"#.to_owned(),
            (_, "default") => "{ ExponentialBackoff = {} }".to_owned(),
            (_, "noJitter initial 1 max 10") => {
                r#"{ ExponentialBackoff = { initialDelay = "1s", maxDelay = "10s", generator = "noJitterGenerator" } }"#
                    .to_owned()
            }
            (_, generator) => format!("{{ ExponentialBackoff = {{ generator = \"{generator}Generator\" }} }}"),
        };
        format!("backoff={said}")
    }));
    Setup::Preset(sets)
}
