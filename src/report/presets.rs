//! The presets, as text and as JSON: which libraries there are, and what one of them does. What a preset means is not
//! typed here but read off the client that it makes, so that the page cannot say one thing and a run do another.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::explain_page::{WIDTH, line, put, wrap};
use crate::explain::layer::{retry_words, wait_words};
use crate::explain::words::{duration, percent, range, timeouts};
use crate::explain::{LayerExplanation, Repetition};
use crate::policy::header::{HeaderRule, HintHeader, Take};
use crate::policy::hint::AboveCap;
use crate::policy::{Backoff, Classification, Client, HintRule, Jitter, Kind, RetryBudget, RetryPolicy, StatusSet};
use crate::preset::{FAMILIES, Family, Preset, Source, Version};
use crate::scenario::preset_client;
use crate::units::SimDuration;

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
         one is meant. `retrycast presets NAME` says what one does, and `retrycast presets limits` lists \
         the rate limits of providers, `retrycast presets breakers` the circuit breakers, `retrycast presets queues` \
         how queues hand out their messages.",
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
    let example = family
        .glossary()
        .into_iter()
        .filter_map(|(word, _)| Some((word.word, word.default()?)))
        .find(|(_, default)| !default.starts_with('{'));
    let word = example.map_or_else(String::new, |(word, default)| format!(", {word} = {default}"));
    line(&mut page, &format!("  layers = [{{ preset = \"{}\"{word} }}]", preset.name()));
    page
}

pub(super) fn source(version: &Version) -> String {
    match version.source {
        Source::Measured(release) => format!("measured on {release}"),
        Source::Documented(document) => format!("documented, not measured: {document}"),
    }
}

pub(super) fn words(page: &mut String, family: &Family) {
    if family.words.is_empty() {
        return line(page, "\nit has no words of its own; general keys may stand beside the preset");
    }
    line(page, "\nits words, with their defaults");
    let glossary = family.glossary();
    let width = glossary.iter().map(|(word, _)| word.word.len()).max().unwrap_or(0);
    for (word, keys) in glossary {
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
    if policy.max_attempts != Some(1) {
        facts.push(repeats(policy, repetition));
    }
    if policy.max_attempts != Some(1) || policy.backoff != Backoff::None {
        facts.push(waits(policy, repetition));
        facts.extend(policy.backoff_by_kind.iter().map(|(kind, backoff)| other_waits(kind, backoff, policy.jitter)));
        facts.push(hints(policy, &headers(&client)) + &looked_at(policy));
    }
    facts.extend(readings(&client, policy));
    facts.extend(repetition.deadline_words.clone());
    facts.extend(timeouts(&policy.timeout).map(|timeout| format!("gives each attempt {timeout}")));
    facts.extend(policy.budget.as_ref().map(budget));
    facts.extend(handed_back(policy.hands_back.exhausted));
    if let Some((place, resume)) = repetition.requeue_words() {
        facts.push(format!("puts a failed job to the {place}; the job {resume}"));
    }
    facts
}

/// Which responses come back when retries are used up.
fn handed_back(exhausted: StatusSet) -> Option<String> {
    let some = || {
        let statuses = retry_words(&Classification { statuses: exhausted, ..Classification::default() });
        format!("hands the last response back instead of raising an error if it is {}", either(&statuses))
    };
    match exhausted {
        StatusSet::EMPTY => None,
        StatusSet::ERRORS => Some("hands the last response back instead of raising an error".into()),
        _ => Some(some()),
    }
}

fn tries(policy: &RetryPolicy) -> String {
    match policy.max_attempts {
        Some(1) => "tries once, and repeats nothing unless told to".into(),
        Some(attempts) => format!("tries {attempts} times at most, the first one included"),
        None if policy.deadline.is_some() => "tries as often as its total time allows".into(),
        None if policy.budget.is_some() => "tries as often as its budget allows".into(),
        None => "tries without end".into(),
    }
}

fn repeats(policy: &RetryPolicy, repetition: &Repetition) -> String {
    let retry_on = &policy.retry_on;
    let mut text = format!("repeats {}", repetition.retries.join(", "));
    let with_hint = Classification { statuses: retry_on.statuses_with_hint, ..Classification::default() };
    let with_hint = retry_words(&with_hint);
    if !with_hint.is_empty() {
        let _ = write!(text, "; {} where a hint comes with it", with_hint.join(", "));
    }
    if !retry_on.codes.is_empty() {
        let _ = write!(text, "; {} error codes", retry_on.codes.len());
    }
    if retry_on.obeys_should_retry {
        text.push_str("; the server's x-should-retry overrules it");
    }
    text
}

/// The shape of the waits, and the first few of them.
fn waits(policy: &RetryPolicy, repetition: &Repetition) -> String {
    const SHOWN: u32 = 4;
    let shape = &repetition.wait_words;
    let retries = policy.max_attempts.map_or(u32::MAX, |attempts| attempts.max(SHOWN + 2) - 1);
    let waits: Vec<String> =
        (1..=SHOWN.min(retries)).map(|n| policy.own_wait(n)).map(|(from, to)| range(from, to)).collect();
    let mut text = match &policy.backoff {
        Backoff::None => "does not wait between its tries".to_owned(),
        Backoff::Fixed(_) if policy.jitter == Jitter::None => format!("waits: {shape}"),
        _ => format!("waits: {shape}, so {}, …", waits.join(", ")),
    };
    if let Some(longest) = policy.longest_wait {
        let _ = write!(text, "; never longer than {}", duration(longest));
    }
    text
}

/// The waits after failures that have a backoff of their own.
fn other_waits(kind: &Classification, backoff: &Backoff, jitter: Jitter) -> String {
    let mut failures = retry_words(kind);
    if !kind.codes.is_empty() {
        failures.push(format!("one of {} error codes", kind.codes.len()));
    }
    format!("after {} waits: {}", either(&failures), wait_words(backoff, jitter))
}

/// Where it looks for hints, if not in every answer.
fn looked_at(policy: &RetryPolicy) -> String {
    if policy.hint == HintRule::Ignore || policy.hint_on == StatusSet::ERRORS {
        return String::new();
    }
    let statuses = Classification { statuses: policy.hint_on, ..Classification::default() };
    format!("; only in answers of {}", either(&retry_words(&statuses)))
}

/// The headers that it takes for a hint, by name.
fn headers(client: &Client) -> String {
    let rules = client.grammar().rules.iter();
    let names: Vec<&str> = rules.filter_map(|rule| name(rule.header)).collect();
    either(&names)
}

fn name(header: HintHeader) -> Option<&'static str> {
    HintHeader::ALL.iter().find(|(known, _)| *known == header).map(|(_, name)| *name)
}

/// What it makes of a hint in these headers.
fn hints(policy: &RetryPolicy, headers: &str) -> String {
    match policy.hint {
        HintRule::Ignore => "ignores retry-after".into(),
        HintRule::AtLeast { .. } => format!("waits {headers} at least"),
        HintRule::Near { beyond } => format!("waits {headers}, at most {} beyond its own wait", duration(beyond)),
        HintRule::Obey { cap: SimDuration::MAX, .. } => format!("obeys {headers}, however long it is"),
        HintRule::Obey { cap, above, .. } => {
            let above = match above {
                AboveCap::OwnBackoff => "above it waits its own",
                AboveCap::GiveUp => "above it gives up",
                AboveCap::Clamp => "above it waits no longer than that",
                AboveCap::AtOnce => "above it its timer overflows and fires after 1 ms",
            };
            format!("obeys {headers} up to {}; {above}", duration(cap))
        }
    }
}

/// What it makes of texts that others read differently, header by header.
fn readings(client: &Client, policy: &RetryPolicy) -> Vec<String> {
    let rules = client.grammar().rules.iter().filter(|_| policy.hint != HintRule::Ignore);
    rules.filter_map(reading).collect()
}

fn reading(rule: &HeaderRule) -> Option<String> {
    let lenient = HeaderRule::lenient(rule.header);
    let kinds = [
        ("zero", rule.zero, lenient.zero),
        ("a negative number", rule.negative, lenient.negative),
        ("a fraction", rule.fraction, lenient.fraction),
        ("an exponent", rule.exponent, lenient.exponent),
        ("nan", rule.not_a_number, lenient.not_a_number),
        ("inf", rule.infinite, lenient.infinite),
        ("a date", rule.date, lenient.date),
        ("a past date", rule.past, lenient.past),
        ("nonsense", rule.unreadable, lenient.unreadable),
    ];
    let name = name(rule.header)?;
    let mut meanings: Vec<String> = Vec::new();
    for (take, means) in TAKES {
        let kinds: Vec<&str> =
            kinds.iter().filter(|(_, is, usual)| *is == take && is != usual).map(|(kind, ..)| *kind).collect();
        if !kinds.is_empty() {
            meanings.push(format!("{} {means}", either(&kinds)));
        }
    }
    (!meanings.is_empty()).then(|| format!("in {name}: {}", meanings.join("; ")))
}

/// One of these.
fn either(kinds: &[impl std::borrow::Borrow<str> + std::fmt::Display]) -> String {
    match kinds {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// What a kind of text in a header does.
const TAKES: [(Take, &str); 8] = [
    (Take::Use, "is taken as it is"),
    (Take::Next, "is passed over for the next header"),
    (Take::Nothing, "is no hint"),
    (Take::OwnBackoff, "is a hint without a wait"),
    (Take::AtOnce, "is a retry at once"),
    (Take::Tick, "is a retry after 1 ms"),
    (Take::Never, "ends the retries"),
    (Take::Fatal, "is an error of its own"),
];

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
            percent(deposits.pays_for()),
            duration(deposits.expiry),
            deposits.per_second
        ),
        RetryBudget::FailureShare(limit) => {
            format!("retries while no more than {} of its calls have failed", percent(limit.at_most))
        }
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

/// One version of a family as JSON.
pub(super) fn version_json(family: &Family, version: &Version) -> Value {
    json!({
        "name": format!("{}-{}", family.word, version.number),
        "source": version.source.word(),
        "of": version.source.of(),
    })
}

/// One preset as JSON; `general_keys` is text in scenario syntax.
pub fn one_json(preset: Preset) -> Value {
    let words: Vec<Value> = preset
        .family
        .glossary()
        .into_iter()
        .map(|(word, keys)| {
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
            measured on anthropic 1.13.0\n\
            other versions: anthropic-python-0.25, anthropic-python-2.14\n\n\
            by default it\n  \
            tries 3 times at most, the first one included\n  \
            repeats 408, 409, 429, 5xx, timeout, connection; the server's x-should-retry\n    \
            overrules it\n  \
            waits: 0.5 s doubling to 8 s, −25 % jitter, so 0.375 to 0.5 s, 0.75 to 1 s,\n    \
            1.5 to 2 s, 3 to 4 s, …\n";
        assert!(page.starts_with(start), "{page}");
        assert!(page.contains("\n  max_retries  tries after the first one [2] → `max_attempts`\n"), "{page}");
        let odd = one(Preset::find("openai-npm-6.49").unwrap());
        let words: Vec<&str> = odd.split_whitespace().collect();
        let hint =
            "obeys retry-after-ms or retry-after up to 24.9 days; above it its timer overflows and fires after 1 ms";
        assert!(words.join(" ").contains(hint), "{odd}");
        assert!(odd.contains("  in retry-after: zero, a negative number, nan, a past date or nonsense is a"), "{odd}");
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
