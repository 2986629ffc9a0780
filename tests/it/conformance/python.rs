//! Retry layers of Python beside the SDKs of Anthropic and `OpenAI`: decorators, job queues, Google's clients, `LiteLLM`.

use super::{Case, Library, Setup, seconds};
use retrycast::random::Seed;
use retrycast::scenario::{Source, load};
use retrycast::sim::{Fact, Observer, simulate_observed};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 14] = [
    Library { file: "tenacity-9.1.4", tier: 1, preset: "tenacity-9.1", setup: tenacity },
    Library { file: "tenacity-9.2.1", tier: 1, preset: "tenacity-9.2", setup: tenacity },
    Library { file: "stamina-26.1.0", tier: 1, preset: "stamina-26.1", setup: stamina },
    Library { file: "backoff-2.2.1", tier: 1, preset: "backoff-python-2.2", setup: backoff },
    Library { file: "opnieuw-4.0.0", tier: 2, preset: "opnieuw-4.0", setup: opnieuw },
    Library { file: "rq-2.0.0", tier: 1, preset: "rq-2.0", setup: rq },
    Library { file: "rq-3.0.0", tier: 1, preset: "rq-3.0", setup: rq },
    Library { file: "celery-5.7.0", tier: 1, preset: "celery-5.7", setup: celery },
    Library { file: "huey-3.5.4", tier: 2, preset: "huey-3.5", setup: huey },
    Library { file: "dramatiq-2.2.1", tier: 2, preset: "dramatiq-2.2", setup: dramatiq },
    Library { file: "arq-0.28.0", tier: 2, preset: "arq-0.28", setup: arq },
    Library { file: "litellm-1.110.2", tier: 1, preset: "litellm-1.110", setup: litellm },
    Library { file: "google-api-core-2.44.0", tier: 1, preset: "google-api-core-2.44", setup: google_api_core },
    Library { file: "google-genai-3.6.1", tier: 1, preset: "google-genai-3.6", setup: google_genai },
];

/// A `--set` of a word; a word of its library that is null is `"none"`.
fn set(word: &str, value: impl std::fmt::Display) -> String {
    format!("{word}={value}")
}

/// The settings of these names that a case has: those that are times, and the others as they are.
fn said(case: &Case, times: &[&str], others: &[&str]) -> Vec<String> {
    let time = |word: &&str| {
        let time = case.policy.get(*word)?.as_f64().map_or_else(|| "none".to_owned(), seconds);
        Some(set(word, format!("\"{time}\"")))
    };
    let other = |word: &&str| match case.policy.get(*word)? {
        Value::Null => Some(set(word, "\"none\"")),
        value => Some(set(word, value)),
    };
    times.iter().filter_map(time).chain(others.iter().filter_map(other)).collect()
}

/// A table in the words of a file: `{ a = "1s", b = 2 }`.
fn table(keys: impl IntoIterator<Item = Option<String>>) -> String {
    format!("{{ {} }}", keys.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn time(case: &Case, setting: &str, word: &str) -> Option<String> {
    Some(format!("{word} = \"{}\"", seconds(case.number(setting)?)))
}

fn tenacity(case: &Case) -> Setup {
    let mut sets = Vec::new();
    if let Some(wait) = tenacity_wait(case) {
        sets.push(set("wait", wait));
    }
    let after = |attempts: i64| format!("after_attempt = {attempts}");
    let stop = [
        case.whole("stop_after_attempt").map(after),
        time(case, "stop_after_delay", "after_delay"),
        time(case, "stop_before_delay", "before_delay"),
        case.word("stop").map(|text| match text {
            "attempt 5 OR delay 4" => "any = [{ after_attempt = 5 }, { after_delay = \"4s\" }]".to_owned(),
            "attempt 3 AND delay 10" => "all = [{ after_attempt = 3 }, { after_delay = \"10s\" }]".to_owned(),
            other => panic!("no such stop: {other}"),
        }),
    ];
    sets.extend(stop.into_iter().flatten().map(|stop| set("stop", format!("{{ {stop} }}"))));
    if case.word("retry").is_some() {
        // An exception of another kind than the one that is raised.
        sets.push(set("retry_on", "[429]"));
    }
    Setup::Preset(sets)
}

fn tenacity_wait(case: &Case) -> Option<String> {
    let base = || case.number("exp_base").map(|base| format!("exp_base = {base}"));
    let exponential =
        || table([time(case, "multiplier", "multiplier"), time(case, "min", "min"), time(case, "max", "max"), base()]);
    let of = match case.word("wait")? {
        "none" => return None,
        "fixed" => time(case, "seconds", "fixed")?,
        "random" => format!("random = {}", table([time(case, "min", "min"), time(case, "max", "max")])),
        "exponential" => format!("exponential = {}", exponential()),
        "random_exponential" => format!("random_exponential = {}", exponential()),
        "exponential_jitter" => format!(
            "exponential_jitter = {}",
            table([time(case, "initial", "initial"), time(case, "max", "max"), time(case, "jitter", "jitter"), base()])
        ),
        "incrementing" => format!(
            "incrementing = {}",
            table([time(case, "start", "start"), time(case, "increment", "increment"), time(case, "max", "max")])
        ),
        "chain" => {
            let waits = case.policy["fixed"].as_array()?.iter().filter_map(Value::as_f64);
            let waits: Vec<String> = waits.map(|wait| format!("{{ fixed = \"{}\" }}", seconds(wait))).collect();
            format!("chain = [{}]", waits.join(", "))
        }
        "combine" => {
            let part = |part: &Value| match part.as_str() {
                Some("fixed 3") => "{ fixed = \"3s\" }",
                Some("fixed 1") => "{ fixed = \"1s\" }",
                Some("random 0..2") => "{ random = { min = \"0s\", max = \"2s\" } }",
                Some("exponential m=1") => "{ exponential = { multiplier = \"1s\" } }",
                other => panic!("no such part: {other:?}"),
            };
            let parts: Vec<&str> = case.policy["parts"].as_array()?.iter().map(part).collect();
            format!("combine = [{}]", parts.join(", "))
        }
        other => panic!("no such wait: {other}"),
    };
    Some(format!("{{ {of} }}"))
}

fn stamina(case: &Case) -> Setup {
    Setup::Preset(said(case, &["timeout", "wait_jitter"], &["attempts"]))
}

fn backoff(case: &Case) -> Setup {
    let mut sets = said(case, &["factor", "max_value", "interval", "max_time"], &["base", "max_tries"]);
    sets.extend(case.word("wait").map(|wait| set("wait_gen", format!("\"{wait}\""))));
    match case.policy.get("jitter") {
        Some(Value::Null) => sets.push(set("jitter", "\"none\"")),
        Some(Value::String(text)) if text.starts_with("random") => sets.push(set("jitter", "\"random_jitter\"")),
        _ => {}
    }
    Setup::Preset(sets)
}

fn opnieuw(case: &Case) -> Setup {
    Setup::Preset(said(case, &["retry_window_after_first_call_in_seconds"], &["max_calls_total"]))
}

fn rq(case: &Case) -> Setup {
    match case.id.as_str() {
        "max_3_interval_empty_list" => {
            return Setup::OutOfScope(
                "an empty list crashes the worker and leaves the job begun: the preset refuses it",
            );
        }
        "requeue_after_failure_max_2" => {
            return Setup::OutOfScope("somebody puts the failed job back by hand: no layer does that");
        }
        _ => {}
    }
    let mut sets = said(case, &[], &["max", "enqueue_at_front"]);
    match case.policy.get("interval") {
        Some(Value::Array(waits)) => {
            let waits = waits.iter().filter_map(Value::as_f64).map(|wait| format!("\"{}\"", seconds(wait)));
            sets.push(set("interval", format!("[{}]", waits.collect::<Vec<_>>().join(", "))));
        }
        Some(Value::Number(wait)) => sets.push(set("interval", format!("\"{wait}s\""))),
        _ => {}
    }
    if case.fields["attempts"] == 0 { Setup::Refused(sets) } else { Setup::Preset(sets) }
}

fn celery(case: &Case) -> Setup {
    if let Some(factor) = case.number("factor") {
        // The function that works out the waits, asked for each retry in turn.
        let retries = case.fields["attempts"].as_u64().unwrap_or_default() - 1;
        return Setup::Preset(vec![
            set("max_retries", retries),
            set("retry_backoff", format!("\"{}\"", seconds(factor))),
            set("retry_backoff_max", format!("\"{}\"", seconds(case.number("maximum").unwrap_or_default()))),
            set("retry_jitter", case.is("full_jitter")),
        ]);
    }
    let mut sets = said(case, &["retry_backoff_max"], &["max_retries", "retry_jitter"]);
    match case.policy.get("retry_backoff") {
        Some(Value::Number(first)) => sets.push(set("retry_backoff", format!("\"{first}s\""))),
        Some(on) => sets.push(set("retry_backoff", on)),
        None => {}
    }
    if let Some(kwargs) = case.policy.get("retry_kwargs") {
        sets.push(set("countdown", format!("\"{}s\"", kwargs["countdown"])));
        sets.push(set("max_retries", &kwargs["max_retries"]));
    }
    if !case.is("autoretry") {
        sets.push(set("autoretry_for", "[]"));
    }
    Setup::Preset(sets)
}

fn huey(case: &Case) -> Setup {
    Setup::Preset(said(case, &["retry_delay"], &["retries"]))
}

fn dramatiq(case: &Case) -> Setup {
    let mut sets = said(case, &[], &["max_retries"]);
    for word in ["min_backoff", "max_backoff"] {
        sets.extend(case.whole(word).map(|wait| set(word, format!("\"{wait}ms\""))));
    }
    if case.id.starts_with("raise_retry_delay_2s") {
        // The job itself says how long to wait: the library has no setting for it.
        sets.extend([set("backoff", "{ fixed = \"2s\" }"), set("jitter", "\"none\"")]);
    }
    Setup::Preset(sets)
}

fn arq(case: &Case) -> Setup {
    if case.policy.contains_key("job_timeout") {
        return Setup::OutOfScope("the timeout of a whole job: timeouts of the model are those of single attempts");
    }
    let mut sets = said(case, &[], &["max_tries"]);
    if case.id == "raise_Retry_defer_0.2_times_try" {
        sets.push(set("defer", "{ per_try = \"200ms\" }"));
    } else if case.id.starts_with("raise_Retry") {
        sets.push(set("defer", "\"0s\""));
    }
    Setup::Preset(sets)
}

fn litellm(case: &Case) -> Setup {
    Setup::Preset(said(case, &[], &["num_retries", "max_retries"]))
}

fn google_api_core(case: &Case) -> Setup {
    Setup::Preset(said(case, &["timeout", "initial", "maximum"], &["multiplier"]))
}

fn google_genai(case: &Case) -> Setup {
    let Some(options) = case.policy.get("retry_options").and_then(Value::as_object) else {
        return Setup::Preset(Vec::new());
    };
    let key = |(word, value): (&String, &Value)| match word.as_str() {
        "attempts" => Some(format!("{word} = {value}")),
        _ => Some(format!("{word} = \"{}\"", seconds(value.as_f64()?))),
    };
    Setup::Preset(vec![set("retry_options", table(options.iter().map(key)))])
}

/// The requests of a scenario as `task.step`, in the order in which they were sent.
struct Trace(Vec<String>);

impl Observer for Trace {
    fn see(&mut self, fact: &Fact) -> bool {
        if let Fact::RequestEnded { task, step, .. } = fact {
            self.0.push(format!("{}.{}", char::from(b'A' + *task as u8), step + 1));
        }
        true
    }
}

/// The order in which one worker serves jobs that were enqueued at once, where requests of these windows fail.
fn order(layer: &str, jobs: usize, steps: usize, failing: &[(u64, u64)]) -> Vec<String> {
    let faults = failing.iter().enumerate().map(|(n, (from, to))| {
        format!("[provider.faults.f{n}]\nwindow = [\"{from}ms\", \"{to}ms\"]\nrespond = {{ status = 500, after = \"100ms\" }}\n")
    });
    let step = |n| format!("{{ name = \"s{n}\", input_tokens = 1, latency = \"1s\" }}");
    let text = format!(
        "horizon = \"1h\"\n{}[clients.c]\nlayers = [{{ {layer} }}]\n[traffic.t]\nkind = \"jobs\"\nworkers = 1\n\
         client = \"c\"\narrivals = {{ at = [{}] }}\nsteps = [{}]\n",
        faults.collect::<String>(),
        vec!["\"0s\""; jobs].join(", "),
        (0..steps).map(step).collect::<Vec<_>>().join(", "),
    );
    let scenario = load(&Source::new("order.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:#?}"));
    let mut trace = Trace(Vec::new());
    simulate_observed(&scenario, Seed(1), &mut trace);
    trace.0
}

#[test]
fn a_failed_job_of_rq_goes_where_the_library_puts_it() {
    // rq 3.0.0, measured (`order_no_interval`, `order_enqueue_at_front`): A always fails, B and C succeed.
    let behind = order("preset = \"rq\", max = 2", 3, 1, &[(0, 50), (2_050, 9_000)]);
    assert_eq!(behind, ["A.1", "B.1", "C.1", "A.1", "A.1"]);
    let ahead = order("preset = \"rq\", max = 2, enqueue_at_front = true", 3, 1, &[(0, 250)]);
    assert_eq!(ahead, ["A.1", "A.1", "A.1", "B.1", "C.1"]);
}

#[test]
fn a_failed_job_of_rq_starts_over_at_its_first_step() {
    // rq 3.0.0, measured (`max_2_three_steps_third_fails`).
    let windows = [(2_000, 2_050), (4_100, 4_150), (6_200, 6_250)];
    let steps = order("preset = \"rq\", max = 2", 1, 3, &windows);
    assert_eq!(steps, ["A.1", "A.2", "A.3", "A.1", "A.2", "A.3", "A.1", "A.2", "A.3"]);
}
