//! The JSON Schema of the summary, for readers who check what they parse. Names of classes, phases, limits and guards
//! are the scenario's; statuses are whatever the provider answered. Everything else is listed.

use serde_json::{Map, Value, json};

use super::json::FORMAT;
use crate::observe::refusals::ATTEMPTS;

/// The JSON Schema (draft 2020-12) of the summary.
pub fn summary() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "The summary that `retrycast run --format json` prints. A leaf of one run is a number, null \
            where it is not defined; with `--replicates N` it is a statistic over the replicates, also for N = 1.",
        "type": "object",
        "required": [
            "format", "scenario", "title", "variant", "seed", "replicates", "digest", "world_digest", "horizon_s",
            "origin_s", "counting", "classes", "phases", "recovery", "limits", "guards",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "scenario": text("The scenario's file name without its ending."),
            "title": text("What the scenario is about, in one line."),
            "variant": text("The variant that was run."),
            "seed": {"type": "integer", "minimum": 0, "description": "The seed; replicate 0 uses it as it is."},
            "replicates": {"type": ["integer", "null"], "minimum": 1, "description": "Null for a single run."},
            "digest": digest("Equal digests mean the same run, fact by fact, on any machine and number of threads."),
            "world_digest": digest("Covers arrivals, tokens and faults only: equal across policies."),
            "horizon_s": {"type": "number", "minimum": 0},
            "origin_s": {"type": "number", "minimum": 0, "description": "What pictures and tables call minute 0."},
            "counting": {"type": "array", "items": {"type": "string"}, "description": "How things are counted."},
            "classes": named("$class", "One entry for each traffic class: the whole run."),
            "phases": named("$phase", "One entry for each phase."),
            "recovery": leaves(&["total_s", "queue_s", "live_429_s", "requests_per_call_s"],
                "Seconds after the end of the last fault window; null: never within the run."),
            "limits": named("$limit", "One entry for each limit of the provider."),
            "guards": named("$guard", "One entry for each guard."),
            "capacity": leaves(&["arrived", "refused", "started", "skipped", "left_waiting", "left_in_service",
                "most_waiting", "most_in_service", "waiting_at_end", "mean_wait_s", "goodput_at_end",
                "stuck", "late"],
                "Requests at the servers; only where these are limited. `late` only where they look who would be late. \
                `goodput_at_end` is the share of what was asked \
                for in the last quarter of the time after the last fault window, its last tenth left out, that was \
                answered, of jobs whose messages may be handed out again that of the jobs that were done; `stuck` is 1 where that is less than a half."),
            "workers": named("$pool", "One entry for each pool of workers; only where there are some."),
            "alerts": named("$alert", "One entry for each alert; only where the file has any."),
            "verdict": verdict(),
            "series": {"$ref": "#/$defs/series"},
        },
        "$defs": definitions(),
    })
}

/// Whether an overload outlived its cause, and could.
fn verdict() -> Value {
    let counted = || {
        json!({
            "type": ["object", "null"],
            "required": ["runs", "of", "share", "ci95"],
            "additionalProperties": false,
            "properties": {
                "runs": {"type": "integer"}, "of": {"type": "integer"}, "share": {"type": "number"},
                "ci95": {"type": "array", "items": {"type": "number"}, "minItems": 2},
            },
            "description": "So many of the runs, with the 95 % interval of their share after Wilson.",
        })
    };
    json!({
        "type": "object",
        "description": "Only where servers are limited: how many runs were stuck at their end, how many recovered \
            (`recovery` says when), what `explain` says of the two conditions, and all of it in words.",
        "required": ["stuck", "recovered", "conditions", "sentences"],
        "additionalProperties": false,
        "properties": {
            "stuck": counted(),
            "recovered": counted(),
            "conditions": {"type": "object"},
            "sentences": {"type": "array", "items": {"type": "string"}},
        },
    })
}

/// The keys of a class that are plain leaves.
const CLASS_LEAVES: [&str; 30] = [
    "offered",
    "delivered",
    "failed",
    "abandoned",
    "unfinished",
    "failed_share",
    "not_delivered_share",
    "runs",
    "calls",
    "requests",
    "steps_offered",
    "amplification",
    "amplification_by_task",
    "requests_per_call",
    "requests_per_call_peak",
    "max_requests_per_task",
    "max_requests_per_failed_task",
    "tasks_with_429",
    "tasks_with_429_share",
    "requests_429_share",
    "tasks_with_overload",
    "tasks_with_overload_share",
    "short_circuited",
    "suppressed",
    "effects",
    "repeated_effects",
    "failed_with_effect",
    "repeated_output",
    "server_s",
    "wasted_server_s",
];

/// The numbers of one guard.
fn guard() -> Value {
    let mut guard = leaves(
        &[
            "trips",
            "refused",
            "waits",
            "waited_s",
            "most_in_use",
            "limit_at_end",
            "lowest_limit",
            "highest_limit",
            "closings",
            "closed_s",
            "rate_at_end",
            "lowest_rate",
        ],
        "Numbers of one guard; `most_in_use` is of semaphores, pools and adaptive limits only, those of a limit are of \
             the latter, `closings` and `closed_s` of gates, and those of a rate, \
             in requests per second, of adaptive rates that held somebody back.",
    );
    guard["properties"]["deployments"] = json!({
        "type": "object",
        "additionalProperties": leaves(&["picked", "cooled"], "How often it was picked, and how often it was left out after."),
        "description": "Of a choice among deployments: each of them by its model.",
    });
    guard
}

fn definitions() -> Value {
    let mut class: Map<String, Value> = CLASS_LEAVES.iter().map(|key| ((*key).to_owned(), leaf())).collect();
    for key in ["admitted_input_tokens", "cached_input_tokens", "cached_input_share", "hedges", "suppressed_hedges"] {
        class.insert(key.into(), leaf());
    }
    class.insert("responses".into(), open_leaves("Requests by what was answered: a status, `timeout` or `dropped`."));
    class.insert(
        "latency_s".into(),
        leaves(&["mean", "p50", "p90", "p95", "p99", "max"], "Of delivered tasks only, from arrival, in seconds."),
    );
    class.insert(
        "first_token_s".into(),
        leaves(
            &["mean", "p50", "p90", "p95", "p99", "max"],
            "Of delivered tasks only, from arrival to the first token of the last streamed answer, in seconds; only \
             where a step has a `first_token`.",
        ),
    );
    class.insert(
        "worker_time_s".into(),
        leaves(
            &["serving", "refused", "waiting_retry", "waiting_limiter", "idle"],
            "Worker-seconds by what the workers did; jobs only.",
        ),
    );
    class.insert(
        "delivery".into(),
        leaves(
            &[
                "redelivered",
                "copies",
                "most_copies",
                "wasted_runs",
                "copies_left",
                "timed_out_runs",
                "crashed_runs",
                "dead",
                "lost",
            ],
            "What happened to messages and runs; only where the jobs of a class are followed one by one.",
        ),
    );
    class.insert(
        "queue_holds".into(),
        leaves(
            &["times", "held_s"],
            "How often jobs that met a limit held their whole queue, and how long it was held.",
        ),
    );
    class.insert(
        "factors".into(),
        open_leaves("Outermost first; they multiply to amplification_by_task. `runs` stands for the queue."),
    );
    class.insert("layers".into(), named("$layer", "One entry for each element of the client."));
    class.insert(
        "models".into(),
        named("$model", "One entry for each model that the class can ask for; only where models are told apart."),
    );
    class.insert("refusals".into(), refusals());
    class.insert("bill".into(), bill());
    json!({
        "leaf": {"anyOf": [{"type": ["number", "null"]}, {"$ref": "#/$defs/statistic"}]},
        "statistic": statistic(),
        "$class": {"type": "object", "properties": class, "description": "Numbers of one traffic class."},
        "$phase": {
            "type": "object",
            "required": ["from_s", "to_s", "classes"],
            "properties": {
                "from_s": leaf(), "to_s": leaf(),
                "classes": named("$class", "The same keys as in `classes`, for this phase."),
            },
        },
        "$limit": leaves(
            &["admitted", "refused", "impossible", "lowest_share", "below_tenth_s", "most_in_flight", "cut_short"],
            "Numbers of one limit; one on requests in flight has only admitted, refused and most_in_flight, and only one \
             that stops answers has cut_short.",
        ),
        "$guard": guard(),
        "$pool": leaves(&["most", "fewest", "crashes", "busy_s", "idle_s", "down_s"],
            "Workers of one pool: how many there were at once, how often one died, and worker-seconds."),
        "$alert": leaves(&["fired", "held_from_s", "fired_s", "cleared_s", "hit_before", "hit", "extreme", "firing_s"],
            "How often an alert fired, and of the first time: when its rule began to hold, when it fired and cleared, how \
            many tasks had been hit when it fired and when it cleared, and the most extreme value; `firing_s` is all of \
            the time in which it fired."),
        "$layer": leaves(&["entered", "retries", "exhausted", "gave_up", "refused", "waited_s"],
            "Numbers of one element of a client."),
        "$model": {
            "type": "object",
            "required": ["requests", "responses", "answered_by"],
            "additionalProperties": false,
            "properties": {
                "requests": leaf(),
                "responses": open_leaves("As `responses` of the class."),
                "answered_by": open_leaves("Requests by who answered, in the words of the log: `service`, \
                    `client:timeout`, `context_window`, `fault:NAME`, `limit:NAME`."),
            },
            "description": "Requests to one model.",
        },
        "series": series(),
    })
}

fn refusals() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "statuses": {
                "type": "object",
                "description": "By status, then by who refused: `limit:NAME`, `fault:NAME`, `hop:NAME`, `capacity`, \
                    `context_window`. `attempts` counts by the number of the request among those of its task for its \
                    step, and stands in the whole run only.",
                "additionalProperties": {"type": "object", "additionalProperties": {
                    "type": "object",
                    "required": ["all"],
                    "additionalProperties": false,
                    "properties": {"all": leaf(), "attempts": leaves(&ATTEMPTS, "By the number of the request.")},
                }},
            },
            "of_limits": leaves(
                &["all", "met_retries", "displaced", "anyway", "caused_by_retries_share"],
                "Refusals by rate limits: of requests after the first for a step, of first ones that the same limits \
                 would have admitted had they only ever been charged for first ones, and of all others. The share is \
                 of the first two; null where there are none, or where it cannot be known.",
            ),
        },
        "description": "Who refused requests, and what of it the retries have caused.",
    })
}

fn bill() -> Value {
    const REQUESTS: [&str; 5] = ["total", "first_requests", "retries", "retries_share", "unreceived"];
    let mut bill = leaves(
        &[&REQUESTS[..], &["by_task", "failed_tasks", "cost_per_delivered"]].concat(),
        "What was billed, in the currency; only where there are prices. `total` is of the requests of calls that began \
         here: of first requests for a step and of all others (`retries`); `unreceived` is for answers that nobody \
         received. `by_task` is of the tasks that arrived here, to their end, and `failed_tasks` of those of them that \
         failed.",
    );
    bill["properties"]["models"] = json!({
        "type": "object",
        "additionalProperties": leaves(&REQUESTS, "Of the requests to one model."),
        "description": "Only where models are told apart.",
    });
    bill
}

pub(super) fn statistic() -> Value {
    let number = json!({"type": ["number", "null"]});
    json!({
        "type": "object",
        "required": ["mean", "sd", "p5", "p50", "p95", "min", "max", "ci95", "n"],
        "additionalProperties": false,
        "properties": {
            "mean": number, "p5": number, "p50": number, "p95": number, "min": number, "max": number,
            "sd": {"type": ["number", "null"], "description": "Null below two values."},
            "ci95": {
                "type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
                "description": "The 95 % confidence interval of the mean.",
            },
            "n": {"type": "integer", "minimum": 0, "description": "The replicates that define the number."},
            "modes": {
                "type": "array",
                "minItems": 2,
                "description": "The groups of values, where there are two or more.",
                "items": {
                    "type": "object",
                    "required": ["share", "mean", "min", "max"],
                    "additionalProperties": false,
                    "properties": {"share": number, "mean": number, "min": number, "max": number},
                },
            },
        },
    })
}

fn series() -> Value {
    let list = |of: Value| json!({"type": "array", "items": of});
    let counts = || list(json!({"type": "integer", "minimum": 0}));
    let numbers = || list(json!({"type": ["number", "null"]}));
    json!({
        "type": "object",
        "description": "Series of a single run; bin i begins at from_s[i] and lasts bin_s.",
        "required": ["bin_s", "from_s", "classes", "limits"],
        "properties": {
            "bin_s": {"type": "number", "exclusiveMinimum": 0},
            "from_s": list(json!({"type": "number"})),
            "classes": {"type": "object", "additionalProperties": {
                "type": "object",
                "required": ["arrivals", "with_429_share", "calls", "requests_per_call", "queue"],
                "properties": {
                    "arrivals": counts(), "with_429_share": numbers(), "calls": counts(),
                    "requests_per_call": numbers(), "queue": counts(), "copies": counts(), "hedges": counts(),
                },
            }},
            "limits": {"type": "object", "additionalProperties": {
                "type": "object", "required": ["lowest_share"], "properties": {"lowest_share": numbers()},
            }},
            "workers": {"type": "object", "additionalProperties": {
                "type": "object", "required": ["most"], "properties": {"most": counts()},
            }},
            "guards": {"type": "object", "additionalProperties": guard_series(&json!({}))},
            "budgets": list(guard_series(&json!({
                "client": {"type": "string"}, "layer": {"type": "string"}, "counts": {"type": "string"},
                "top": {"type": ["number", "null"]}, "bound": {"type": ["number", "null"]},
            }))),
            "alerts": {"type": "object", "additionalProperties": list(json!({
                "type": "object",
                "required": ["held_from_s", "fired_s", "cleared_s", "hit_before", "hit", "extreme"],
                "properties": {
                    "held_from_s": {"type": "number"}, "fired_s": {"type": "number"},
                    "cleared_s": {"type": ["number", "null"]}, "extreme": {"type": ["number", "null"]},
                    "hit_before": {"type": "integer"}, "hit": {"type": "integer"},
                },
            }))},
        },
    })
}

/// The series of a guard or of a retry budget, beside other properties.
fn guard_series(others: &Value) -> Value {
    let list =
        |of: &str, what: &str| json!({"type": "array", "items": {"type": of, "minimum": 0}, "description": what});
    let mut properties = json!({
        "instances": {"type": "integer", "minimum": 0, "description": "Instances that anybody came to."},
        "asked": list("integer", "How many came to it; of a budget, retries that were wanted."),
        "refused": list("integer", "How many it refused; of a budget, retries that it kept back."),
        "waiting_mean": list("number", "How many waited before it, on average."),
        "open_mean": list("number", "How many instances let nobody through, on average."),
        "half_open_mean": list("number", "How many instances let only some through, half open or while they opened, on average."),
        "trips": list("integer", "How often an instance opened."),
        "level_lowest": {"type": "array", "items": {"type": ["number", "null"], "minimum": 0}, "description":
            "The lowest level of an instance, of one that falls to its bound; of a bucket the share left; null while nobody is held to a rate."},
        "level_highest": list("number", "The highest level of an instance, such as permits in use."),
        "level_mean": list("number", "The mean level of the instances."),
        "bound_lowest": list("number", "The tightest bound of a level whose bound moves."),
        "bound_mean": list("number", "The mean bound of the instances."),
    });
    if let (Some(properties), Some(others)) = (properties.as_object_mut(), others.as_object()) {
        properties.extend(others.clone());
    }
    json!({
        "type": "object", "required": ["instances", "asked", "refused", "waiting_mean"], "properties": properties,
    })
}

fn leaf() -> Value {
    json!({"$ref": "#/$defs/leaf"})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn digest(description: &str) -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{16}$", "description": description})
}

fn leaves(keys: &[&str], description: &str) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), leaf())).collect();
    json!({"type": "object", "properties": properties, "description": description})
}

fn open_leaves(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": leaf(), "description": description})
}

fn named(definition: &str, description: &str) -> Value {
    json!({
        "type": "object",
        "additionalProperties": {"$ref": format!("#/$defs/{definition}")},
        "description": description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Subject, fixture, json};

    #[test]
    fn the_schema_requires_every_key_that_the_summary_always_has() {
        let (scenario, result) = (fixture::scenario(), fixture::replicated());
        let document = json::summary(&Subject::new(&scenario, &result));
        let schema = summary();
        let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let written: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(required, written);
    }

    #[test]
    fn every_reference_points_at_a_definition() {
        let schema = summary();
        let text = schema.to_string();
        for part in text.split("\"#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
    }
}
