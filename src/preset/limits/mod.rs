//! The rate limits that providers publish, by provider, tier and model. A preset of limits is data: a group of limits in
//! scenario syntax, with the date whose figures it describes. Figures change; where one was read second-hand or worked out
//! from published errors and headers, the line says so.

use crate::document::{Table, near, parse};

/// The files, one for each provider, in the order of the list.
const FILES: [(&str, &str); 7] = [
    ("anthropic", include_str!("anthropic.toml")),
    ("openai", include_str!("openai.toml")),
    ("azure", include_str!("azure.toml")),
    ("bedrock", include_str!("bedrock.toml")),
    ("gemini", include_str!("gemini.toml")),
    ("groq", include_str!("groq.toml")),
    ("gateway", include_str!("gateway.toml")),
];

/// A group of limits.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitsPreset {
    /// Its name, such as `anthropic/build/opus`.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// The month or year that its figures describe, such as `2026-11`.
    pub as_of: String,
    /// Its limits in scenario syntax, each with the ending of its name, such as `rpm`.
    pub limits: Vec<(String, Table)>,
}

/// All of them, in the order of the files.
pub fn all() -> Vec<LimitsPreset> {
    let mut all = Vec::new();
    for (provider, text) in FILES {
        let file = parse::own(text);
        for (name, entry) in file.in_order() {
            let Some(table) = entry.node.as_table() else { continue };
            let text = |key: &str| table.get(key).and_then(|entry| entry.node.as_str()).unwrap_or_default().to_owned();
            let limits = table.in_order().into_iter();
            let limits = limits.filter_map(|(name, entry)| Some((name.to_owned(), entry.node.as_table()?.clone())));
            all.push(LimitsPreset {
                name: format!("{provider}/{name}"),
                about: text("about"),
                as_of: text("as_of"),
                limits: limits.collect(),
            });
        }
    }
    all
}

/// The preset of this name; else what to write instead.
pub fn find(name: &str) -> Result<LimitsPreset, String> {
    let all = all();
    if let Some(found) = all.iter().find(|preset| preset.name == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|preset| preset.name.as_str()).collect();
    let list = "`retrycast presets limits` lists them";
    Err(near::nearest(name, names).map_or_else(|| list.to_owned(), |best| format!("did you mean `{best}`? {list}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_says_what_it_is_and_of_when() {
        let all = all();
        for preset in &all {
            assert!(!preset.about.is_empty() && !preset.limits.is_empty(), "{}", preset.name);
            let is_year = preset.as_of.get(..4).is_some_and(|year| year.parse::<u32>().is_ok());
            assert!(is_year, "{}: {}", preset.name, preset.as_of);
            assert_eq!(all.iter().filter(|other| other.name == preset.name).count(), 1, "{}", preset.name);
        }
        assert!(find("anthropic/build/opsu").is_err_and(|hint| hint.contains("`anthropic/build/opus`")));
    }
}
