//! The JSON Schema of the tuning.

use serde_json::{Value, json};

use super::json::FORMAT;
use crate::report::comparison::schema::definitions;

/// The JSON Schema (draft 2020-12) of the tuning.
pub fn tune() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": ["number", "null"], "description": description});
    let truth = |description: &str| json!({"type": "boolean", "description": description});
    let whole = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let object = |properties: Value| {
        let keys: Vec<String> = properties.as_object().map_or_else(Vec::new, |own| own.keys().cloned().collect());
        json!({"type": "object", "required": keys, "additionalProperties": false, "properties": properties})
    };
    let list = |items: Value| json!({"type": "array", "items": items});
    let means = || {
        json!({
            "type": "object", "additionalProperties": {"type": ["number", "null"]},
            "description": "By word, over the seeds of the search; a time that is never counts as twice the run.",
        })
    };
    let mut winner = object(json!({
        "policy": whole("Its index among the candidates."),
        "keeps_constraints": truth("Whether it keeps all constraints in the search."),
        "settings": {"type": "object", "additionalProperties": {"type": "string"}, "description": "By path, as behind --set."},
        "means": means(),
        "saved": {"type": "object", "additionalProperties": {"type": ["number", "null"]},
            "description": "By goal: how much of it is saved in the search, relative to the reference."},
    }));
    winner["type"] = json!(["object", "null"]);
    let mut properties = json!({
        "format": {"const": FORMAT},
        "scenario": text("The file name without its ending."),
        "title": text("What it is about, in one line."),
        "variant": text("The variant that is tuned."),
        "reference": text("The variant that the winner is held against."),
        "seed": whole("The seed of the search, of its runs and of the check."),
        "method": text("How it is searched."),
        "rule": text("How the winner is chosen."),
        "intervals": text("How intervals are made."),
        "counting": list(text("How things are counted.")),
        "effort": object(json!({
            "candidates": whole("How many policies were to be looked at, at most."),
            "looked_at": whole("How many were."),
            "is_whole": truth("Whether those are all that the space holds."),
            "search_seeds": whole("How many seeds the best of them met."),
            "check_seeds": whole("How many other seeds the check took in each world."),
        })),
        "axes": list(object(json!({
            "name": text("A short name."),
            "paths": list(text("A path, as behind --set.")),
            "quantity": {"enum": ["choice", "number", "amount", "share", "seconds", "per_second"]},
            "values": {"type": ["array", "null"], "items": {"type": "string"}, "description": "What could be chosen, where it is a list."},
            "range": {"type": ["object", "null"], "description": "Where a number could be chosen."},
            "reference": {"type": ["string", "null"], "description": "What the reference has there; null where it writes nothing."},
        }))),
    });
    let further = json!({
        "metrics": list(object(json!({
            "word": text("The word or the path that asked for it."),
            "meaning": text("What it is, in full."),
            "kind": {"enum": ["count", "ratio", "share", "seconds", "money"]},
            "is_goal": truth("Whether it is a goal."),
        }))),
        "constraints": list(object(json!({
            "text": text("As it was written."),
            "metric": text("The word of its number."),
            "bound": number("In seconds, shares or things."),
            "kept": {"type": ["boolean", "null"], "description": "Whether the winner keeps it in the search."},
        }))),
        "sized": {"type": ["object", "null"], "description": "Which axis was sized, and whether the largest value is asked for; null with goals."},
        "finding": text("What was found, in a few sentences."),
        "warnings": list(json!({"$ref": "#/$defs/warning"})),
        "reference_means": means(),
        "winner": winner,
        "checks": list(object(json!({
            "world": text("Its name."),
            "what": text("What it is."),
            "sets": list(text("A change, as behind --set.")),
            "is_seen": truth("Whether the search has seen it, under other seeds."),
            "numbers": {"type": "object", "additionalProperties": object(json!({
                "reference": {"$ref": "#/$defs/cell"},
                "winner": {"$ref": "#/$defs/cell"},
                "difference": {"$ref": "#/$defs/difference"},
            }))},
        }))),
        "candidates": list(object(json!({
            "values": list(text("Its value on an axis, in the order of the axes.")),
            "generation": whole("The generation that it is of; 0 are the first points."),
            "seeds": whole("How many seeds it has met; none where it cannot be run."),
            "means": means(),
            "violation": number("By how much it breaks the constraints, relative to their bounds."),
            "is_front": truth("Whether no other one beats it in all goals."),
        }))),
    });
    if let (Some(all), Some(further)) = (properties.as_object_mut(), further.as_object()) {
        all.extend(further.clone());
    }
    let mut schema = object(properties);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = FORMAT.into();
    schema["description"] =
        "What `retrycast tune --format json` prints: a search for settings, and what was found on unseen seeds and worlds.".into();
    schema["$defs"] = definitions();
    schema
}
