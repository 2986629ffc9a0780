//! The JSON Schema of the comparison.

use serde_json::{Value, json};

use super::json::FORMAT;
use crate::report::schema::statistic;

/// The JSON Schema (draft 2020-12) of the comparison.
pub fn compare() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let digest = json!({"type": "string", "pattern": "^[0-9a-f]{16}$"});
    let named = |definition: &str, description: &str| {
        json!({
            "type": "object",
            "additionalProperties": {"$ref": format!("#/$defs/{definition}")},
            "description": description,
        })
    };
    let measure = measure(
        &["arms", "differences"],
        json!({
            "arms": named("cell", "By arm, over its seeds."),
            "differences": named("difference", "By arm, against the first one, within each seed."),
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "What `retrycast compare --format json` prints: several policies in the same worlds, each \
            against the first.",
        "type": "object",
        "required": [
            "format", "scenario", "title", "seed", "replicates", "reference", "method", "sure", "counting", "arms",
            "findings", "warnings", "measures",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "scenario": text("The file name of the first arm without its ending."),
            "title": text("What it is about, in one line."),
            "seed": {"type": "integer", "minimum": 0, "description": "The seed; replicate 0 uses it as it is."},
            "replicates": {"type": "integer", "minimum": 1, "description": "How many seeds every arm met."},
            "reference": text("The name of the arm that all others are held against: the first."),
            "method": text("How intervals are made."),
            "sure": {
                "type": ["object", "null"],
                "description": "Whether all headline differences became narrow; null without --until-sure.",
                "required": ["is_sure", "share_of_mean", "widest"],
                "properties": {
                    "is_sure": {"type": "boolean"},
                    "share_of_mean": {"type": "number", "description": "Half an interval is narrow below this share \
                        of the larger mean, or below the measure's `narrow`."},
                    "widest": {"type": ["object", "null"], "description": "The headline that is known the least well."},
                },
            },
            "counting": {"type": "array", "items": {"type": "string"}, "description": "How things are counted."},
            "arms": {"type": "array", "minItems": 2, "items": {
                "type": "object",
                "required": ["name", "scenario", "variant", "digest", "world_digest", "is_same_world", "changes"],
                "additionalProperties": false,
                "properties": {
                    "name": text("Its name."),
                    "scenario": text("The file name without its ending."),
                    "variant": text("The variant that was run."),
                    "digest": digest, "world_digest": digest,
                    "is_same_world": {"type": "boolean", "description": "Whether it met the worlds of the first arm."},
                    "changes": {"type": "array", "items": {"$ref": "#/$defs/change"},
                        "description": "The settings in which it differs from the first arm."},
                },
            }},
            "findings": {"type": "array", "items": {
                "type": "object", "required": ["arm", "text"],
                "properties": {"arm": text("The arm."), "text": text("What it does better and worse, in a sentence.")},
            }},
            "warnings": {"type": "array", "items": {"$ref": "#/$defs/warning"}},
            "measures": {"type": "array", "items": measure},
        },
        "$defs": definitions(),
    })
}

/// What a measure is, with further keys.
pub(crate) fn measure(keys: &[&str], further: Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": ["path", "phase", "of", "name", "key", "kind", "lower_is_better", "is_headline", "narrow"],
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string", "description": "Its place, such as phases.overload.classes.report.amplification."},
            "phase": {"type": ["string", "null"], "description": "Null for the whole run."},
            "of": {"enum": ["class", "layer", "limit", "run"]},
            "name": {"type": ["string", "null"], "description": "The class or limit that it is of."},
            "key": {"type": "string", "description": "Its name, as in the summary. `latency_all_s` counts what was not \
                delivered as never; of a layer it is the layer's factor."},
            "kind": {"enum": ["count", "ratio", "share", "seconds", "money"]},
            "lower_is_better": {"type": "boolean"},
            "is_headline": {"type": "boolean"},
            "narrow": {"type": ["number", "null"], "description": "Half an interval below this is narrow whatever the \
                mean; null for a measure that is no headline."},
        },
    });
    add_required(&mut schema, keys);
    if let (Some(properties), Value::Object(further)) = (schema["properties"].as_object_mut(), further) {
        properties.extend(further);
    }
    schema
}

/// What the documents of comparison and ablation share.
pub(crate) fn definitions() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    let mut cell = statistic();
    cell["properties"]["never"] = json!({"type": "integer", "minimum": 0, "description": "Seeds in which this time never comes; n leaves them out."});
    add_required(&mut cell, &["never"]);
    let mut difference = statistic();
    for key in ["lower", "equal", "higher"] {
        difference["properties"][key] = count.clone();
    }
    difference["properties"]["verdict"] = json!({
        "enum": ["better", "worse", "moved", "same", "noise", "unknown"],
        "description": "`moved` is neither good nor bad by itself; `noise` is what chance explains.",
    });
    add_required(&mut difference, &["lower", "equal", "higher", "verdict"]);
    json!({
        "cell": cell,
        "difference": difference,
        "change": {
            "type": "object",
            "required": ["path", "from", "to", "is_of_the_world"],
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "description": "Its dotted path in the file."},
                "from": {"type": ["string", "null"], "description": "Its value there as TOML; null where it is not written."},
                "to": {"type": ["string", "null"]},
                "is_of_the_world": {"type": "boolean"},
            },
        },
        "warning": {
            "type": "object",
            "required": ["kind", "seen", "meaning", "remedy"],
            "additionalProperties": false,
            "properties": {
                "kind": {"type": "string"},
                "seen": {"type": "string", "description": "What was seen."},
                "meaning": {"type": "string", "description": "What it may mean."},
                "remedy": {"type": "string", "description": "What to try."},
            },
        },
    })
}

fn add_required(schema: &mut Value, keys: &[&str]) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(keys.iter().map(|key| Value::from(*key)));
    }
}
