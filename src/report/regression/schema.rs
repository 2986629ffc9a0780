//! The JSON Schemas of a check and of a baseline.

use serde_json::{Value, json};

use super::baseline;
use super::json::FORMAT;
use crate::report::comparison::schema::{definitions, measure};

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// The JSON Schema (draft 2020-12) of a check.
pub fn regress() -> Value {
    let share = |description: &str| json!({"type": "number", "description": description});
    let number = measure(
        &["title", "from", "to", "difference", "ci95", "p_alone", "p", "tolerance", "excess", "outcome", "is_failure"],
        json!({
            "title": text("What people call it, with the class or limit that it is of."),
            "from": {"$ref": "#/$defs/cell", "description": "As recorded."},
            "to": {"$ref": "#/$defs/cell", "description": "As it is now."},
            "difference": {"type": ["number", "null"], "description": "Of the means, now less recorded; null where a \
                time is never in some seed."},
            "ci95": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}}]},
            "p_alone": share("What the test says of this number alone."),
            "p": share("The same, corrected for all numbers of the check."),
            "tolerance": {
                "type": "object", "required": ["relative", "absolute", "rule"], "additionalProperties": false,
                "properties": {
                    "relative": share("As a share of what was recorded."),
                    "absolute": share("As an amount; the larger of the two counts."),
                    "rule": {"type": ["string", "null"], "description": "The last pattern that matched."},
                },
            },
            "excess": {"type": ["number", "null"], "description": "The difference in multiples of what is tolerated; \
                null for a time that turned to never, or back."},
            "outcome": {"enum": ["worse", "moved", "better", "tolerated", "noise", "ignored"]},
            "is_failure": {"type": "boolean"},
        }),
    );
    let names = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let case = json!({
        "type": "object",
        "required": [
            "file", "variant", "state", "is_failure", "is_same_world", "pairing", "changes", "elements",
            "causes", "again", "gone", "new", "same", "numbers",
        ],
        "additionalProperties": false,
        "properties": {
            "file": text("The scenario's file."),
            "variant": text("Its variant."),
            "state": {"enum": ["same", "compared", "missing", "new"]},
            "is_failure": {"type": "boolean"},
            "is_same_world": {"type": ["boolean", "null"], "description": "Null where other seeds, or fewer, \
                leave this open."},
            "pairing": {"enum": ["paired", "unpaired"]},
            "changes": {"type": "array", "items": {"$ref": "#/$defs/change"}},
            "elements": names("Elements of clients that came out otherwise, as CLIENT.ELEMENT."),
            "causes": names("What changed, in words."),
            "again": {"type": ["string", "null"], "description": "The command that shows it at length."},
            "gone": names("Numbers that were recorded and are not measured any more."),
            "new": names("Numbers that were not recorded."),
            "same": {"type": "integer", "minimum": 0, "description": "How many numbers are the same in every \
                seed."},
            "numbers": {"type": "array", "items": number, "description": "The others, failures first."},
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "What `retrycast regress check --format json` prints: what is measured against a baseline.",
        "type": "object",
        "required": [
            "format", "baseline", "is_failure", "is_unsure", "finding", "method", "pairing", "seed", "replicates",
            "false_alarms", "family", "failures", "cases",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "baseline": text("The baseline's file, as it was named."),
            "is_failure": {"type": "boolean", "description": "Whether the exit code is 1."},
            "is_unsure": {"type": "boolean", "description": "Whether there are too few seeds to be sure of anything."},
            "finding": text("What was found, in a sentence."),
            "method": text("How it was found."),
            "pairing": {"enum": ["paired", "unpaired"], "description": "Whether the seeds are those of the baseline."},
            "seed": {"type": "integer", "minimum": 0},
            "replicates": {"type": "integer", "minimum": 1},
            "false_alarms": share("How often at most a check of equal policies fails."),
            "family": {"type": "integer", "minimum": 0, "description": "How many numbers p is corrected for."},
            "failures": {"type": "integer", "minimum": 0, "description": "How many numbers moved too far."},
            "cases": {"type": "array", "items": case},
        },
        "$defs": definitions(),
    })
}

/// The JSON Schema (draft 2020-12) of a baseline.
pub fn baseline() -> Value {
    let digest = || json!({"type": "string", "pattern": "^[0-9a-f]{16}$"});
    let value =
        json!({"anyOf": [{"type": "number"}, {"type": "null"}, {"type": "string", "pattern": "^(never|= .*)$"}]});
    let values = |description: &str| json!({"anyOf": [value.clone(), {"type": "array", "items": value.clone()}], "description": description});
    let variant = json!({
        "type": "object",
        "required": ["digest", "world_digest", "changes", "elements", "numbers"],
        "additionalProperties": false,
        "properties": {
            "digest": digest(),
            "world_digest": digest(),
            "changes": {"type": "object", "additionalProperties": {"type": ["string", "null"]},
                "description": "In which settings it differs from the first; null for one that it does not have."},
            "elements": {"type": "object", "additionalProperties": digest(),
                "description": "A fingerprint of each element of each client, presets included."},
            "numbers": {"$ref": "#/$defs/numbers"},
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": baseline::FORMAT,
        "description": "What `retrycast regress record` writes.",
        "type": "object",
        "required": ["format", "program", "seed", "replicates", "sources", "measures", "files"],
        "additionalProperties": false,
        "properties": {
            "format": {"const": baseline::FORMAT},
            "program": text("The version of the program that recorded it."),
            "seed": {"type": "integer", "minimum": 0},
            "replicates": {"type": "integer", "minimum": 1},
            "sources": {"type": "array", "items": {"type": "string"}, "description": "The files and folders that were \
                asked for."},
            "measures": {
                "type": "object",
                "description": "What each number counts, and whether less of it is better.",
                "additionalProperties": {
                    "type": "object", "required": ["kind", "lower_is_better"], "additionalProperties": false,
                    "properties": {
                        "kind": {"enum": ["count", "ratio", "share", "seconds", "money"]},
                        "lower_is_better": {"type": "boolean"},
                    },
                },
            },
            "files": {"type": "object", "additionalProperties": {
                "type": "object", "required": ["settings", "variants"], "additionalProperties": false,
                "properties": {
                    "settings": {"type": "object", "additionalProperties": {"type": "string"},
                        "description": "What the file says for its first variant here, as TOML."},
                    "variants": {"type": "object", "additionalProperties": variant},
                },
            }},
        },
        "$defs": {
            "numbers": {
                "description": "By the parts of each number's path. One value where all seeds have the same; null is not \
                    defined, `never` a time that does not come, `= PATH` what another number is. Six digits are kept.",
                "anyOf": [
                    values("One value, or one for each seed."),
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/numbers"}},
                ],
            },
        },
    })
}
