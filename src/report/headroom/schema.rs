//! The JSON Schema of the answer.

use serde_json::{Value, json};

use super::json::FORMAT;

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn maybe(description: &str) -> Value {
    json!({"type": ["number", "null"], "description": description})
}

fn share(description: &str) -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1, "description": description})
}

fn or_null(reference: &str) -> Value {
    json!({"anyOf": [{"type": "null"}, {"$ref": reference}]})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

/// What the document is made of.
fn definitions() -> Value {
    let mut statistic = crate::report::schema::statistic();
    if let Some(required) = statistic["required"].as_array_mut() {
        required.push("never_n".into());
    }
    statistic["properties"]["never_n"] =
        json!({"type": "integer", "minimum": 0, "description": "The seeds in which it is never."});
    let standing = json!({"enum": ["safe", "unsafe", "undecided"]});
    let cell = || json!({"$ref": "#/$defs/statistic"});
    let cost = object(
        &["latency_all_p95_s", "failed_share", "not_delivered_share", "queue_peak"],
        &json!({"latency_all_p95_s": cell(), "failed_share": cell(), "not_delivered_share": cell(), "queue_peak": cell()}),
    );
    let case = object(
        &["standing", "kept", "lower", "upper", "live_429", "live_429_run", "queue_back_s", "background", "digest"],
        &json!({
            "standing": standing,
            "kept": {"type": "integer", "minimum": 0, "description": "In how many seeds the target was met."},
            "lower": share("The lower bound of the share of days that meet it."),
            "upper": share("The upper bound."),
            "live_429": cell(), "live_429_run": cell(), "queue_back_s": cell(),
            "background": {"type": "object", "additionalProperties": {"$ref": "#/$defs/cost"}},
            "digest": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        }),
    );
    let value = object(
        &["number", "text", "scaled"],
        &json!({"number": number(), "text": {"type": "string"}, "scaled": {"type": ["string", "null"]}}),
    );
    let edge = object(
        &["safe", "next", "unsafe", "safe_again"],
        &json!({
            "safe": or_null("#/$defs/value"), "next": or_null("#/$defs/value"), "unsafe": or_null("#/$defs/value"),
            "safe_again": {"type": "array", "items": {"$ref": "#/$defs/value"}},
        }),
    );
    let point = object(
        &["number", "text", "scaled", "seeds", "standing", "cases"],
        &json!({
            "number": number(), "text": {"type": "string"}, "scaled": {"type": ["string", "null"]},
            "seeds": {"type": "integer", "minimum": 1}, "standing": standing,
            "cases": {"type": "object", "additionalProperties": {"$ref": "#/$defs/case"}},
        }),
    );
    let pressure = object(
        &[
            "flow_per_s",
            "capacity",
            "live_share",
            "background_share",
            "background_without_backlog_share",
            "others_share",
            "slack_share",
            "bucket_lasts_s",
        ],
        &json!({
            "flow_per_s": number(), "capacity": number(), "live_share": number(), "background_share": number(),
            "background_without_backlog_share": number(), "others_share": number(), "slack_share": number(),
            "bucket_lasts_s": maybe("How long a full bucket lasts while there is a backlog; null where it does for ever."),
        }),
    );
    json!({
        "statistic": statistic, "cost": cost, "case": case, "value": value, "edge": edge, "point": point,
        "pressure": pressure,
        "bound": object(&["number", "text"], &json!({"number": number(), "text": {"type": "string"}})),
        "warning": object(&["kind", "seen", "meaning", "remedy"], &json!({
            "kind": {"enum": ["survivors", "not_monotone", "unnested", "undecided", "range"]},
            "seen": {"type": "string"}, "meaning": {"type": "string"}, "remedy": {"type": "string"},
        })),
    })
}

/// The JSON Schema (draft 2020-12) of the answer.
pub fn headroom() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "What `retrycast headroom --format json` prints: how far a setting may go before live traffic pays.",
        "type": "object",
        "required": ["format", "scenario", "title", "variant", "seed", "over", "path", "paths", "limit", "live",
            "background", "goal", "looks", "method", "counting", "answer", "low_is_safe", "edges", "present", "bound",
            "pressure", "arithmetic", "findings", "warnings", "points"],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "scenario": text("The file name without its ending."),
            "title": text("What it is about, in one line."),
            "variant": text("The variant."),
            "seed": {"type": "integer", "minimum": 0},
            "over": {"enum": ["budget", "workers", "limit", "live", "setting"]},
            "path": {"type": ["string", "null"], "description": "The setting, where it was named by its path."},
            "paths": texts, "limit": text("The limit that both use."), "live": texts, "background": texts,
            "goal": object(&["target", "within_s", "days", "confidence", "statement"], &json!({
                "target": share("The largest share of live tasks with a 429."),
                "within_s": maybe("In any stretch of so many seconds; null for the whole run."),
                "days": share("In this share of days."), "confidence": share("How sure."),
                "statement": {"type": "string"},
            })),
            "looks": object(&["first", "most", "error"], &json!({
                "first": {"type": "integer", "minimum": 1}, "most": {"type": "integer", "minimum": 1},
                "error": share("The probability of error of each look."),
            })),
            "method": text("How the answer is made."), "counting": texts,
            "answer": {"type": "boolean", "description": "Whether there is room: exit code 0 and not 1."},
            "low_is_safe": {"type": "boolean"},
            "edges": {"type": "object", "additionalProperties": {"$ref": "#/$defs/edge"},
                "description": "For each weather, and for `all`, where the safe values end."},
            "present": or_null("#/$defs/value"),
            "bound": object(&["fluid", "with_chance"], &json!({
                "fluid": or_null("#/$defs/bound"), "with_chance": or_null("#/$defs/bound"),
            })),
            "pressure": or_null("#/$defs/pressure"),
            "arithmetic": texts, "findings": texts,
            "warnings": {"type": "array", "items": {"$ref": "#/$defs/warning"}},
            "points": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/point"}},
        },
        "$defs": definitions(),
    })
}
