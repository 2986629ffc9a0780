//! The baseline's file: JSON, one number to a line, so that a change of it is read in a review, and the same bytes
//! whatever machine wrote it.

use serde_json::{Map, Value, json};

use super::json::kind;
use crate::experiment::Measure;
use crate::experiment::measure::Of;
use crate::experiment::regress::{Baseline, Column, Recorded};
use crate::report::comparison::changes;
use crate::report::json::digest;

/// The version of the document.
pub const FORMAT: &str = "retrycast.baseline/1";

/// The most seeds of a baseline: beyond, no interval narrows in any digit that is kept.
const MOST: u64 = 1_000_000;

/// What stands for a time that does not come.
const NEVER: &str = "never";

/// What stands before the path of a number that has the same value in every seed.
const SAME: &str = "= ";

/// The baseline as text; `measures` are all that occur in it.
pub fn text(baseline: &Baseline, measures: &[Measure]) -> String {
    let mut files = Map::new();
    for recorded in &baseline.recorded {
        if !files.contains_key(&recorded.file) {
            let variants = baseline.recorded.iter().filter(|other| other.file == recorded.file);
            let variants: Map<String, Value> =
                variants.map(|own| (own.variant.clone(), variant(recorded, own))).collect();
            let settings = pairs(&recorded.settings);
            files.insert(recorded.file.clone(), json!({ "settings": settings, "variants": variants }));
        }
    }
    let document = json!({
        "format": FORMAT,
        "program": baseline.program,
        "seed": baseline.seed,
        "replicates": baseline.replicates,
        "sources": baseline.sources,
        "measures": legend(measures),
        "files": files,
    });
    let mut out = String::new();
    write(&document, 0, &mut out);
    out.push('\n');
    out
}

/// What each number counts, once for all classes, layers and limits.
fn legend(measures: &[Measure]) -> Value {
    let mut out = Map::new();
    for measure in measures {
        let name = match &measure.of {
            Of::Class { .. } => format!("classes.*.{}", measure.key),
            Of::Layer { .. } => "classes.*.factors.*".to_owned(),
            Of::Limit(_) => format!("limits.*.{}", measure.key),
            Of::Run => measure.key.clone(),
        };
        let value = json!({ "kind": kind(measure.kind), "lower_is_better": measure.lower_is_better });
        out.entry(name).or_insert(value);
    }
    Value::Object(out)
}

fn variant(first: &Recorded, own: &Recorded) -> Value {
    let changed: Map<String, Value> =
        changes(&first.settings, &own.settings).into_iter().map(|change| (change.path, change.to.into())).collect();
    let elements: Map<String, Value> =
        own.elements.iter().map(|(name, print)| (name.clone(), digest(*print).into())).collect();
    let mut numbers = Value::Object(Map::new());
    let mut lists: Vec<(String, &str)> = Vec::new();
    for column in &own.columns {
        let mut at = &mut numbers;
        for name in column.path.split('.') {
            at = &mut at[name];
        }
        let value = values(&column.values);
        if !value.is_array() {
            *at = value;
            continue;
        }
        let list = value.to_string();
        if let Some((_, path)) = lists.iter().find(|(known, _)| *known == list) {
            *at = format!("{SAME}{path}").into();
        } else {
            lists.push((list, &column.path));
            *at = value;
        }
    }
    json!({
        "digest": digest(own.digest),
        "world_digest": digest(own.world_digest),
        "changes": changed,
        "elements": elements,
        "numbers": numbers,
    })
}

fn pairs(settings: &[(String, String)]) -> Map<String, Value> {
    settings.iter().map(|(path, value)| (path.clone(), value.as_str().into())).collect()
}

/// One value where all are the same, else all of them.
fn values(values: &[f64]) -> Value {
    match values.first() {
        Some(first) if values.iter().all(|value| value == first || (value.is_nan() && first.is_nan())) => {
            number(*first)
        }
        _ => values.iter().map(|value| number(*value)).collect(),
    }
}

fn number(value: f64) -> Value {
    if value.is_infinite() {
        NEVER.into()
    } else if value.fract() == 0.0 && value.abs() < 9.0e15 {
        (value as i64).into()
    } else {
        serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

/// Objects go over lines, lists stay on theirs: a list is one number over all seeds.
fn write(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push_str("{\n");
            for (index, (key, field)) in fields.iter().enumerate() {
                out.extend(std::iter::repeat_n(' ', depth + 1));
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write(field, depth + 1, out);
                out.push_str(if index + 1 < fields.len() { ",\n" } else { "\n" });
            }
            out.extend(std::iter::repeat_n(' ', depth));
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The baseline of a text, or what is wrong with it.
pub fn read(text: &str) -> Result<Baseline, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    match document["format"].as_str() {
        Some(FORMAT) => {}
        Some(other) if other.starts_with("retrycast.baseline/") => {
            return Err(format!(
                "it is of another version: found `{}`, this program reads `{FORMAT}`",
                other.escape_debug()
            ));
        }
        _ => return Err(format!("it is no baseline: its `format` is not `{FORMAT}`")),
    }
    let whole = |key: &str| document[key].as_u64().ok_or_else(|| format!("`{key}` is no whole number"));
    let replicates = whole("replicates")?;
    if !(1..=MOST).contains(&replicates) {
        return Err(format!("`replicates` must lie in 1..={MOST}, found {replicates}"));
    }
    let mut recorded = Vec::new();
    for (file, value) in fields(&document["files"], "files")? {
        let settings = texts(&value["settings"], "settings")?;
        for (name, value) in fields(&value["variants"], "variants")? {
            let at = |key: &str| format!("files.{file}.variants.{name}.{key}");
            let hex = |value: &Value, key: &str| {
                let number = value.as_str().and_then(|text| u64::from_str_radix(text, 16).ok());
                number.ok_or_else(|| format!("`{}` is no digest", at(key)))
            };
            let elements = fields(&value["elements"], &at("elements"))?;
            let elements = elements.iter().map(|(element, print)| Ok((element.clone(), hex(print, "elements")?)));
            let mut columns = Vec::new();
            flatten(&value["numbers"], &mut Vec::new(), replicates, &mut columns)
                .map_err(|path| format!("`{}.{path}` does not hold one number for each seed", at("numbers")))?;
            recorded.push(Recorded {
                file: file.clone(),
                variant: name.clone(),
                settings: changed(&settings, fields(&value["changes"], &at("changes"))?),
                elements: elements.collect::<Result<_, String>>()?,
                digest: hex(&value["digest"], "digest")?,
                world_digest: hex(&value["world_digest"], "world_digest")?,
                columns,
            });
        }
    }
    let sources = document["sources"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Baseline {
        program: document["program"].as_str().unwrap_or_default().to_owned(),
        seed: whole("seed")?,
        replicates,
        sources: sources.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        recorded,
    })
}

fn fields<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("`{what}` is not there"))
}

fn texts(value: &Value, what: &str) -> Result<Vec<(String, String)>, String> {
    let one = |(path, value): (&String, &Value)| {
        let text = value.as_str().ok_or_else(|| format!("`{what}.{path}` is no text"))?;
        Ok((path.clone(), text.to_owned()))
    };
    fields(value, what)?.iter().map(one).collect()
}

/// Settings with changes to them.
fn changed(settings: &[(String, String)], changes: &Map<String, Value>) -> Vec<(String, String)> {
    let kept = settings.iter().filter_map(|(path, value)| match changes.get(path) {
        None => Some((path.clone(), value.clone())),
        Some(change) => change.as_str().map(|new| (path.clone(), new.to_owned())),
    });
    let known = |path: &String| settings.iter().any(|(other, _)| other == path);
    let new = changes.iter().filter(|(path, _)| !known(path));
    let new = new.filter_map(|(path, value)| Some((path.clone(), value.as_str()?.to_owned())));
    kept.chain(new).collect()
}

/// The columns of a tree of numbers; the path of one that is none.
fn flatten(value: &Value, path: &mut Vec<String>, n: u64, out: &mut Vec<Column>) -> Result<(), String> {
    if let Value::Object(fields) = value {
        for (key, field) in fields {
            path.push(key.clone());
            flatten(field, path, n, out)?;
            path.pop();
        }
        return Ok(());
    }
    let one = |value: &Value| match value {
        Value::Null => Some(f64::NAN),
        Value::String(text) if text == NEVER => Some(f64::INFINITY),
        Value::Number(number) => number.as_f64(),
        Value::String(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let same = value.as_str().and_then(|text| text.strip_prefix(SAME));
    let values: Option<Vec<f64>> = match value {
        Value::String(_) if same.is_some() => {
            out.iter().find(|column| Some(column.path.as_str()) == same).map(|column| column.values.clone())
        }
        Value::Array(items) if items.len() as u64 == n => items.iter().map(one).collect(),
        Value::Array(_) => None,
        single => one(single).map(|value| vec![value; n as usize]),
    };
    let name = path.join(".");
    out.push(Column { values: values.ok_or_else(|| name.clone())?, path: name });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Baseline {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let column = |path: &str, values: &[f64]| Column { path: path.to_owned(), values: values.to_vec() };
        let first = Recorded {
            file: "a/x.toml".to_owned(),
            variant: "before".to_owned(),
            settings: vec![pair("horizon", "\"1h\""), pair("clients.a.layers.sdk.max_retries", "2")],
            elements: vec![("a.sdk".to_owned(), 255)],
            digest: u64::MAX,
            world_digest: 1,
            columns: vec![
                column("classes.report.requests", &[3.0, 4.0, 5.0]),
                column("classes.report.latency_s.p50", &[f64::INFINITY, 4.25, f64::NAN]),
                column("recovery.total_s", &[f64::INFINITY; 3]),
                column("limits.itpm.refused", &[0.0; 3]),
                column("limits.itpm.below_tenth_s", &[3.0, 4.0, 5.0]),
            ],
        };
        let settings = vec![pair("clients.a.layers.sdk.max_retries", "3"), pair("clients.a.layers.b.off", "true")];
        let after = Recorded { variant: "after".to_owned(), settings, ..first.clone() };
        Baseline {
            program: "0.1.0".to_owned(),
            seed: 7,
            replicates: 3,
            sources: vec!["a".to_owned()],
            recorded: vec![first, after],
        }
    }

    #[test]
    fn a_baseline_is_read_back_as_it_was_written() {
        let (example, text) = (example(), text(&example(), &[]));
        let read = read(&text).unwrap();
        // NaN is not equal to itself.
        assert_eq!(format!("{read:?}"), format!("{example:?}"));
        for line in [
            "      \"requests\": [3,4,5],",
            "       \"p50\": [\"never\",4.25,null]",
            "      \"total_s\": \"never\"",
            "       \"below_tenth_s\": \"= classes.report.requests\"",
            "     \"horizon\": null,",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn what_is_no_baseline_is_called_what_it_is() {
        let sound = text(&example(), &[]);
        for (text, said) in [
            ("{", "it is no JSON: "),
            ("{}", "it is no baseline: its `format` is not `retrycast.baseline/1`"),
            ("{\"format\": \"retrycast.baseline/9\"}", "it is of another version: found `retrycast.baseline/9`"),
            (
                &sound.replace("[3,4,5]", "[3,4]"),
                "`files.a/x.toml.variants.before.numbers.classes.report.requests` does",
            ),
            (&sound.replace("ffffffffffffffff", "zz"), "`files.a/x.toml.variants.before.digest` is no digest"),
            (&sound.replace("\"variants\"", "\"variant\""), "`variants` is not there"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(said), "{found}");
        }
    }
}
