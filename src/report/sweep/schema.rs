//! The JSON Schema of the sweep.

use serde_json::{Value, json};

use super::json::FORMAT;
use crate::report::comparison::schema::{definitions, measure};

/// The JSON Schema (draft 2020-12) of the sweep.
pub fn sweep() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let digest = json!({"type": "string", "pattern": "^[0-9a-f]{16}$"});
    let mut defs = definitions();
    defs["cell"]["properties"]["undefined"] =
        json!({"type": "integer", "minimum": 0, "description": "Seeds in which there is no such number."});
    if let Some(required) = defs["cell"]["required"].as_array_mut() {
        required.push("undefined".into());
    }
    defs["value"] = json!({
        "type": "object",
        "required": ["text", "number"],
        "additionalProperties": false,
        "properties": {
            "text": text("As it is written in the file or behind --set PATH=."),
            "number": {"type": ["number", "null"], "description": "Where it lies on the scale; null where there is none."},
        },
    });
    let mut measure = measure(
        &["is_shown", "cells", "differences"],
        json!({
            "is_shown": {"type": "boolean", "description": "Whether text and picture show it."},
            "cells": {"type": "array", "items": {"$ref": "#/$defs/cell"}, "description": "By point."},
            "differences": {
                "type": "array",
                "items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/difference"}]},
                "description": "By point, against the file as it stands, within each seed; null for that one itself.",
            },
        }),
    );
    measure["properties"]["narrow"]["description"] = "Half an interval below this is narrow whatever the mean.".into();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "What `retrycast sweep --format json` prints: a grid of settings, every point in the same worlds.",
        "type": "object",
        "required": [
            "format", "scenario", "title", "variant", "seed", "replicates", "is_sure", "method", "counting", "axes",
            "reference", "points", "findings", "warnings", "measures",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "scenario": text("The file name without its ending."),
            "title": text("What it is about, in one line."),
            "variant": text("The variant that was varied."),
            "seed": {"type": "integer", "minimum": 0, "description": "The seed; replicate 0 uses it as it is."},
            "replicates": {"type": "integer", "minimum": 1, "description": "How many seeds every point met."},
            "is_sure": {"type": ["boolean", "null"], "description": "Whether all headline means became narrow; null \
                without --until-sure."},
            "method": text("How intervals are made."),
            "counting": {"type": "array", "items": {"type": "string"}, "description": "How things are counted."},
            "axes": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["paths", "name", "unit", "is_log", "values", "current"],
                "additionalProperties": false,
                "properties": {
                    "paths": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                    "name": text("The end of its first path."),
                    "unit": {"enum": [null, "number", "share", "seconds", "per_second"],
                        "description": "The unit of `number`; null where the values have no scale."},
                    "is_log": {"type": "boolean"},
                    "values": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/value"}},
                    "current": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/value"}],
                        "description": "The value in the file; null where it is not written there."},
                },
            }},
            "reference": {"type": "integer", "minimum": 0, "description": "The index of the point that is the file as it \
                stands."},
            "points": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["values", "digest", "world_digest", "is_same_world"],
                "additionalProperties": false,
                "properties": {
                    "values": {"type": "array", "items": {"type": "string"}, "description": "One for each axis; none for \
                        the file as it stands, which stands last where it is no point of the grid."},
                    "digest": digest, "world_digest": digest,
                    "is_same_world": {"type": "boolean", "description": "Whether it met the worlds of the file as it \
                        stands."},
                },
            }},
            "findings": {"type": "array", "items": {"type": "string"}},
            "warnings": {"type": "array", "items": {"$ref": "#/$defs/warning"}},
            "measures": {"type": "array", "items": measure},
        },
        "$defs": defs,
    })
}
