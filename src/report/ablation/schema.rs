//! The JSON Schema of the ablation.

use serde_json::{Value, json};

use super::json::FORMAT;
use crate::report::comparison::schema::{definitions, measure};

/// The JSON Schema (draft 2020-12) of the ablation.
pub fn ablate() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let digest = json!({"type": "string", "pattern": "^[0-9a-f]{16}$"});
    let statistic = || json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/statistic"}]});
    let mut defs = definitions();
    defs["statistic"] = crate::report::schema::statistic();
    defs["contribution"] = json!({
        "type": "object",
        "required": ["alone", "last", "on_average"],
        "additionalProperties": false,
        "properties": {
            "alone": {"$ref": "#/$defs/difference", "description": "The fix alone against none."},
            "last": {"$ref": "#/$defs/difference", "description": "All fixes against all but this one."},
            "on_average": statistic(),
        },
    });
    let measure = measure(
        &["combinations", "total", "fixes", "interaction"],
        json!({
            "combinations": {"type": "object", "additionalProperties": {"$ref": "#/$defs/cell"}},
            "total": {"$ref": "#/$defs/difference", "description": "All fixes against none."},
            "fixes": {"type": "object", "additionalProperties": {"$ref": "#/$defs/contribution"}},
            "interaction": statistic(),
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "What `retrycast ablate --format json` prints: fixes alone, away and together, in the same worlds.",
        "type": "object",
        "required": [
            "format", "scenario", "title", "variant", "seed", "replicates", "method", "counting", "fixes",
            "combinations", "findings", "warnings", "measures",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "scenario": text("The file name without its ending."),
            "title": text("What it is about, in one line."),
            "variant": text("The variant that the fixes were put on."),
            "seed": {"type": "integer", "minimum": 0},
            "replicates": {"type": "integer", "minimum": 1, "description": "How many seeds every combination met."},
            "method": text("How intervals are made."),
            "counting": {"type": "array", "items": {"type": "string"}, "description": "How things are counted."},
            "fixes": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "combinations": {"type": "array", "minItems": 2, "items": {
                "type": "object",
                "required": ["name", "on", "digest", "world_digest", "is_same_world", "changes"],
                "additionalProperties": false,
                "properties": {
                    "name": text("`none`, `only FIX`, `all but FIX`, `all`, or the fixes that are on."),
                    "on": {"type": "array", "items": {"type": "string"}},
                    "digest": digest, "world_digest": digest,
                    "is_same_world": {"type": "boolean"},
                    "changes": {"type": "array", "items": {"$ref": "#/$defs/change"}},
                },
            }},
            "findings": {"type": "array", "items": {"type": "string"}},
            "warnings": {"type": "array", "items": {"$ref": "#/$defs/warning"}},
            "measures": {"type": "array", "items": measure},
        },
        "$defs": defs,
    })
}
