//! The presets of limits, as text and as JSON: what there is, of which date, and what one of them stands for.

use serde_json::{Value, json};

use super::explain_page::{line, put};
use crate::document::Table;
use crate::preset::limits::{LimitsPreset, all};

/// The version of the JSON.
const FORMAT: &str = "retrycast.limit_presets/1";

/// All presets with their dates.
pub fn list() -> String {
    let all = all();
    let width = all.iter().map(|preset| preset.name.len()).max().unwrap_or_default();
    let mut page = String::new();
    line(&mut page, "limits that providers and gateways publish");
    for preset in &all {
        put(&mut page, &format!("  {:width$}  ", preset.name), &about(preset), width + 4);
    }
    line(&mut page, "");
    let end = "The date is that of the figures. `retrycast presets NAME` writes one out, and in a scenario it stands as \
               [provider.limits.NAME] with preset = \"…\".";
    put(&mut page, "", end, 0);
    page
}

fn about(preset: &LimitsPreset) -> String {
    format!("{} ({})", preset.about, preset.as_of)
}

/// One preset: its limits as a scenario would write them.
pub fn one(preset: &LimitsPreset) -> String {
    let mut page = String::new();
    put(&mut page, &format!("{}: ", preset.name), &about(preset), preset.name.len() + 2);
    line(&mut page, "\nthe same, limit by limit");
    for (ending, table) in &preset.limits {
        line(&mut page, &format!("\n  [provider.limits.NAME-{ending}]"));
        for (key, value) in keys(table) {
            line(&mut page, &format!("  {key} = {value}"));
        }
    }
    line(&mut page, "\nin a scenario");
    line(&mut page, &format!("\n  [provider.limits.NAME]\n  preset = \"{}\"", preset.name));
    if let Some((ending, _)) = preset.limits.first() {
        line(&mut page, &format!("  {ending} = {{ amount = 100 }}   # what is different in one of them"));
    }
    page
}

fn keys(table: &Table) -> Vec<(&str, String)> {
    table.in_order().into_iter().map(|(key, entry)| (key, entry.node.value.to_string())).collect()
}

/// All presets as JSON.
pub fn list_json() -> Value {
    json!({ "format": FORMAT, "presets": all().iter().map(json_of).collect::<Vec<_>>() })
}

/// One preset as JSON; values are text in scenario syntax.
pub fn one_json(preset: &LimitsPreset) -> Value {
    json!({ "format": FORMAT, "preset": json_of(preset) })
}

fn json_of(preset: &LimitsPreset) -> Value {
    let limits = preset.limits.iter().map(|(ending, table)| {
        let keys = keys(table).into_iter().map(|(key, value)| (key.to_owned(), Value::String(value)));
        (ending.clone(), Value::Object(keys.collect()))
    });
    json!({
        "name": preset.name,
        "about": preset.about,
        "as_of": preset.as_of,
        "limits": Value::Object(limits.collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::limits::find;

    #[test]
    fn the_page_of_a_preset_writes_its_limits_out() {
        let page = one(&find("anthropic/build/opus").unwrap());
        assert!(
            page.contains("\n  [provider.limits.NAME-itpm]\n  counts = \"uncached_input_tokens\"\n  amount = \"5M\"\n"),
            "{page}"
        );
        let list = list();
        assert!(list.contains("anthropic/build/opus") && list.contains("(2026-11)"), "{list}");
        assert_eq!(list_json()["presets"].as_array().map(Vec::len), Some(all().len()));
    }
}
