//! Every document is what its schema says: checked by the few keywords that the schemas use.

use serde_json::Value;

/// Everything in which a document departs from a schema; `root` is where references lead.
pub(super) fn departures(schema: &Value, root: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference}"));
        return departures(target, root, value, at);
    }
    if let Some(forms) = schema["anyOf"].as_array()
        && !forms.iter().any(|form| departures(form, root, value, at).is_empty())
    {
        wrong.push(format!("{at}: no form of anyOf"));
    }
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        wrong.push(format!("{at}: {value} is not {constant}"));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        wrong.push(format!("{at}: {value} is none of {words:?}"));
    }
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema has the type {other}"),
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        wrong.push(format!("{at}: {value} is not {kinds:?}"));
    }
    if let Some(items) = value.as_array() {
        if schema["minItems"].as_u64().is_some_and(|least| (items.len() as u64) < least) {
            wrong.push(format!("{at}: has {} items", items.len()));
        }
        if let Some(of) = schema.get("items") {
            let each = items.iter().enumerate().flat_map(|(i, item)| departures(of, root, item, &format!("{at}[{i}]")));
            wrong.extend(each);
        }
    }
    if let Some(fields) = value.as_object() {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let missing = required.iter().filter_map(Value::as_str).filter(|key| !fields.contains_key(*key));
        wrong.extend(missing.map(|key| format!("{at}: lacks {key}")));
        for (key, field) in fields {
            let at = format!("{at}.{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(of), _) => wrong.extend(departures(of, root, field, &at)),
                (None, Some(Value::Bool(false))) => wrong.push(format!("{at}: is not in the schema")),
                (None, Some(of)) if of.is_object() => wrong.extend(departures(of, root, field, &at)),
                (None, _) => {}
            }
        }
    }
    wrong
}

#[test]
fn a_departure_is_found_whatever_it_is() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "minItems": 1, "items": {"enum": ["x"]}}},
        "$defs": {"n": {"type": ["integer", "null"]}},
    });
    let found = |value: Value| departures(&schema, &schema, &value, "").len();
    assert_eq!(found(serde_json::json!({"a": 1, "b": ["x"]})), 0);
    for (value, n) in [
        (serde_json::json!({"a": 1.5}), 1),
        (serde_json::json!({"b": []}), 2),
        (serde_json::json!({"a": null, "c": 1}), 1),
        (serde_json::json!({"a": 1, "b": ["x", "y"]}), 1),
        (serde_json::json!([]), 1),
    ] {
        assert_eq!(found(value.clone()), n, "{value}");
    }
}
