//! The presets, as text and as JSON: which libraries there are, and what one of them does. What a preset means is not
//! typed here but read off the client that it makes, so that the page cannot say one thing and a run do another.

use serde_json::{Value, json};

use super::explain_page::{WIDTH, line, put, wrap};
use crate::explain::words::{duration, percent, range};
use crate::explain::{LayerExplanation, Repetition};
use crate::policy::{Client, Kind, RetryBudget, RetryPolicy};
use crate::preset::{FAMILIES, Family, Preset, Source, Version, Word};
use crate::scenario::preset_client;

/// The groups of the list, with what their members do.
const GROUPS: [(Kind, &str); 3] = [
    (Kind::Client, "clients, which repeat a request"),
    (Kind::Decorator, "decorators, which repeat a call"),
    (Kind::Queue, "queues, which repeat a job"),
];

/// All families with their versions.
pub fn list() -> String {
    let width = FAMILIES.iter().map(|family| family.word.len()).max().unwrap_or(0);
    let mut page = String::new();
    for (kind, title) in GROUPS {
        line(&mut page, title);
        for family in FAMILIES.into_iter().filter(|family| family.kind == kind) {
            put(&mut page, &format!("  {:width$}  ", family.word), &about(family), width + 4);
        }
        line(&mut page, "");
    }
    put(
        &mut page,
        "",
        "A version was measured unless it is marked with *: then the documentation says so. Without a version the last \
         one is meant. `retrycast presets NAME` says what one does.",
        0,
    );
    page
}

fn about(family: &Family) -> String {
    let mark = |version: &Version| match version.source {
        Source::Measured(_) => version.number.to_owned(),
        Source::Documented(_) => format!("{}*", version.number),
    };
    let versions: Vec<String> = family.versions.iter().map(mark).collect();
    format!("{} ({})", family.about, versions.join(", "))
}

/// One preset: its meaning, its source, its words, its equivalent in general keys.
pub fn one(preset: Preset) -> String {
    let (family, version) = (preset.family, preset.version);
    let mut page = String::new();
    put(&mut page, &format!("{}: ", preset.name()), family.about, preset.name().len() + 2);
    put(&mut page, "", &source(version), 0);
    let others: Vec<String> = family
        .versions
        .iter()
        .filter(|other| other.number != version.number)
        .map(|other| format!("{}-{}", family.word, other.number))
        .collect();
    if !others.is_empty() {
        put(&mut page, "other versions: ", &others.join(", "), 16);
    }
    line(&mut page, "\nby default it");
    for fact in facts(preset) {
        put(&mut page, "  ", &fact, 4);
    }
    words(&mut page, family);
    line(&mut page, "\nthe same in general keys");
    for key in preset.in_general_keys().lines() {
        line(&mut page, &format!("  {key}"));
    }
    line(&mut page, "\nin a scenario");
    let example = worded(family).find_map(|(word, _, _)| Some((word.word, word.default()?)));
    let word = example.map_or_else(String::new, |(word, default)| format!(", {word} = {default}"));
    line(&mut page, &format!("  layers = [{{ preset = \"{}\"{word} }}]", preset.name()));
    page
}

fn source(version: &Version) -> String {
    match version.source {
        Source::Measured(release) => format!("measured on {release}, against scripted answers"),
        Source::Documented(document) => format!("not measured: documented in {document}"),
    }
}

/// The words of a family, each once, with the general keys that it stands for.
fn worded(family: &Family) -> impl Iterator<Item = (&'static Word, Vec<&'static str>, usize)> {
    let words = family.words;
    let first = |at: usize| words[..at].iter().all(|earlier| earlier.word != words[at].word);
    (0..words.len()).filter(move |&at| first(at)).map(move |at| {
        let rows = words.iter().filter(|row| row.word == words[at].word);
        (&words[at], rows.map(|row| row.stands_for).collect(), at)
    })
}

fn words(page: &mut String, family: &Family) {
    if family.words.is_empty() {
        return line(page, "\nit has no words of its own; general keys may stand beside the preset");
    }
    line(page, "\nits words, with their defaults");
    let width = worded(family).map(|(word, _, _)| word.word.len()).max().unwrap_or(0);
    for (word, keys, _) in worded(family) {
        let default = word.default().map_or_else(String::new, |default| format!(" [{default}]"));
        let keys: Vec<String> = keys.into_iter().map(|key| format!("`{key}`")).collect();
        let meaning = format!("{}{default} → {}", word.gist(), keys.join(", "));
        let lines = wrap(&meaning, WIDTH - width - 4);
        for (row, text) in lines.iter().enumerate() {
            let head = if row == 0 { word.word } else { "" };
            line(page, &format!("  {head:width$}  {text}"));
        }
    }
}

/// The client that a preset makes by itself.
fn client(preset: Preset) -> Option<Client> {
    preset_client(&preset.name(), &[]).ok()
}

/// What a preset does by default, fact by fact.
fn facts(preset: Preset) -> Vec<String> {
    let Some(client) = client(preset) else { return Vec::new() };
    let layer = LayerExplanation::of(&client, 0, &[], &[]);
    let (Some(repetition), Some(policy)) = (layer.repetition(), client.elements()[0].role.policy()) else {
        return Vec::new();
    };
    let mut facts = vec![tries(policy)];
    if policy.max_attempts == Some(1) {
        facts.push(repetition.hint_words.clone());
        return facts;
    }
    facts.push(repeats(policy, repetition));
    facts.push(format!("waits: {}", waits(policy, repetition)));
    facts.push(repetition.hint_words.clone());
    facts.extend(repetition.deadline_words.clone());
    facts.extend(policy.timeout.map(|timeout| format!("gives each attempt {}", duration(timeout))));
    facts.extend(policy.budget.as_ref().map(budget));
    if policy.hands_back.exhausted {
        facts.push("hands the last response back instead of raising an error".into());
    }
    if let Some((place, resume)) = repetition.requeue_words() {
        facts.push(format!("puts a failed job to the {place}; the job {resume}"));
    }
    facts
}

fn tries(policy: &RetryPolicy) -> String {
    match policy.max_attempts {
        Some(1) => "tries once, and repeats nothing".into(),
        Some(attempts) => format!("tries {attempts} times at most, the first one included"),
        None if policy.deadline.is_some() => "tries as often as its total time allows".into(),
        None => "tries without end".into(),
    }
}

fn repeats(policy: &RetryPolicy, repetition: &Repetition) -> String {
    let retry_on = &policy.retry_on;
    let mut text = format!("repeats {}", repetition.retries.join(", "));
    let with_hint: Vec<String> = retry_on.statuses_with_hint.iter().map(|status| status.to_string()).collect();
    match with_hint.as_slice() {
        [] => {}
        [first, .., last] if with_hint.len() > 4 => {
            text.push_str(&format!("; of {first} to {last} those that carry a hint"));
        }
        some => text.push_str(&format!("; {} where a hint comes with it", some.join(", "))),
    }
    if retry_on.obeys_should_retry {
        text.push_str("; the server's x-should-retry overrules it");
    }
    text
}

/// The shape of the waits, and the first few of them.
fn waits(policy: &RetryPolicy, repetition: &Repetition) -> String {
    const SHOWN: usize = 4;
    let shape = &repetition.wait_words;
    let some: Vec<String> = repetition.ladder.waits.iter().take(SHOWN).map(|wait| range(wait.from, wait.to)).collect();
    let alike = repetition.ladder.waits.windows(2).all(|pair| pair[0] == pair[1]);
    let mut text = match some.first() {
        None => shape.clone(),
        Some(_) if repetition.ladder.waits.iter().all(|wait| wait.to.is_zero()) => shape.clone(),
        Some(one) if alike => format!("{shape}, so {one}"),
        Some(_) if repetition.ladder.waits.len() > SHOWN => format!("{shape}, so {}, …", some.join(", ")),
        Some(_) => format!("{shape}, so {}", some.join(", ")),
    };
    if let Some(longest) = policy.longest_wait {
        text.push_str(&format!("; never longer than {}", duration(longest)));
    }
    text
}

fn budget(budget: &RetryBudget) -> String {
    match budget {
        RetryBudget::Quota(quota) => {
            format!("shares {} tokens among its calls; a retry costs {}", quota.capacity, quota.cost)
        }
        RetryBudget::Throttle(throttle) => format!(
            "shares {} tokens among its calls; each failure takes one, and retries stop while half of them are gone",
            throttle.max_tokens
        ),
        RetryBudget::Deposits(deposits) => format!(
            "lets its calls retry {} of the requests of the last {}, and {} a second beside",
            percent(deposits.ratio),
            duration(deposits.expiry),
            deposits.per_second
        ),
        RetryBudget::ActiveShare(limit) if limit.share == 0.0 => {
            format!("lets {} of its calls retry at a time", limit.minimum)
        }
        RetryBudget::ActiveShare(limit) => format!(
            "lets {} of the calls that are under way retry at a time, or {} if that is more",
            percent(limit.share),
            limit.minimum
        ),
    }
}

/// The version of both documents.
pub const FORMAT: &str = "retrycast.presets/1";

/// All families as JSON: `format` and `families` with their `versions` are a contract.
pub fn list_json() -> Value {
    let families: Vec<Value> = FAMILIES
        .into_iter()
        .map(|family| {
            let versions: Vec<Value> = family.versions.iter().map(|version| version_json(family, version)).collect();
            json!({ "word": family.word, "about": family.about, "kind": family.kind.word(), "versions": versions })
        })
        .collect();
    json!({ "format": FORMAT, "families": families })
}

fn version_json(family: &Family, version: &Version) -> Value {
    json!({
        "name": format!("{}-{}", family.word, version.number),
        "source": version.source.word(),
        "of": version.source.of(),
    })
}

/// One preset as JSON; `general_keys` is text in scenario syntax.
pub fn one_json(preset: Preset) -> Value {
    let words: Vec<Value> = worded(preset.family)
        .map(|(word, keys, _)| {
            json!({ "word": word.word, "meaning": word.gist(), "default": word.default(), "stands_for": keys })
        })
        .collect();
    json!({
        "format": FORMAT,
        "name": preset.name(),
        "about": preset.family.about,
        "kind": preset.family.kind.word(),
        "source": preset.version.source.word(),
        "of": preset.version.source.of(),
        "does": facts(preset),
        "words": words,
        "general_keys": preset.in_general_keys(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Preset> {
        let names = FAMILIES.into_iter().flat_map(|family| {
            family.versions.iter().map(move |version| format!("{}-{}", family.word, version.number))
        });
        names.map(|name| Preset::find(&name).unwrap())
    }

    #[test]
    fn the_list_names_every_family_in_its_group_and_fits_a_terminal() {
        let list = list();
        assert!(FAMILIES.iter().all(|family| list.contains(&format!("\n  {} ", family.word))), "{list}");
        assert!(list.lines().all(|line| line.chars().count() <= WIDTH), "{list}");
        let (client, queue) = (list.find("anthropic-python").unwrap(), list.find("rq ").unwrap());
        assert!(client < list.find("queues, which").unwrap() && queue > list.find("queues, which").unwrap());
    }

    #[test]
    fn every_page_says_what_its_preset_does_and_how_that_is_known() {
        for preset in all() {
            let page = one(preset);
            assert!(page.contains(preset.version.source.word()), "{page}");
            assert!(page.contains("by default it\n  tries "), "{page}");
            assert!(preset.family.words.iter().all(|word| page.contains(&format!("\n  {} ", word.word))), "{page}");
            let prose = page.split("\nthe same in general keys").next().unwrap_or_default();
            assert!(prose.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        }
    }

    #[test]
    fn a_page_reads_like_this() {
        let page = one(Preset::find("anthropic-python-1.13").unwrap());
        let start = "anthropic-python-1.13: the Python SDK of Anthropic\n\
            measured on anthropic 1.13.0, against scripted answers\n\
            other versions: anthropic-python-0.25, anthropic-python-2.14\n\n\
            by default it\n  \
            tries 3 times at most, the first one included\n  \
            repeats 408, 409, 429, 500..599, timeout, connection; the server's\n    \
            x-should-retry overrules it\n";
        assert!(page.starts_with(start), "{page}");
        assert!(page.contains("\n  max_retries  tries after the first one"), "{page}");
    }

    #[test]
    fn the_documents_hold_what_the_pages_say() {
        let list = list_json();
        assert_eq!(list["families"].as_array().unwrap().len(), FAMILIES.len());
        for preset in all() {
            let document = one_json(preset);
            assert_eq!(document["format"], FORMAT);
            assert!(!document["does"].as_array().unwrap().is_empty(), "{document}");
            assert_eq!(document["general_keys"], preset.in_general_keys());
        }
    }
}
