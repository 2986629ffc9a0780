//! Questions of size that are often asked, as what they stand for: one setting, its values, and bounds.

use anyhow::anyhow;

use super::axis_args::text_of;
use super::tune::wrong;
use crate::experiment::Quantity;
use crate::policy::guard::Mechanism;
use crate::policy::{Client, HintRule, RetryPolicy};
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::units::{SimDuration, SimTime, parse};

/// A question of size, spelled out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizing {
    /// The setting and its values, as behind `--vary`.
    pub(super) axis: String,
    /// Whether the largest value is asked for.
    pub(super) most: bool,
    /// Bounds.
    pub(super) constraints: Vec<String>,
    /// What is changed in the world.
    pub(super) sets: Vec<String>,
    /// What arithmetic says of it.
    pub(super) said: Option<String>,
}

/// Reads the scenario anew with these changes.
type Anew<'a> = dyn Fn(&[String]) -> anyhow::Result<Scenario> + 'a;

const WORDS: &str = "write --size budget, --size hint-cap or --size outlast=22m";

/// The most attempts that are looked at for a window to be outlasted.
const MOST_RETRIES: u32 = 12;

/// Caps on hints that people write.
const CAPS: [&str; 11] = ["1s", "2s", "5s", "10s", "15s", "20s", "30s", "1m", "2m", "5m", "10m"];

/// Words for the number of retries, or of attempts, in the languages of the presets.
const RETRIES: [&str; 8] =
    ["max_retries", "max", "maxRetries", "MaxRetryAttempts", "retries", "retry", "max_attempts", "attempts"];

/// What a question stands for in a scenario with these settings.
pub(super) fn sizing(
    word: &str,
    scenario: &Scenario,
    settings: &[(String, String)],
    anew: &Anew<'_>,
) -> anyhow::Result<Sizing> {
    match word.split_once('=') {
        None if word == "budget" => budget(scenario, settings),
        None if word == "hint-cap" => hint_cap(scenario),
        Some(("outlast", length)) => {
            let length = parse::duration(length.trim()).ok().filter(|length| !length.is_zero());
            let length = length.ok_or_else(|| wrong("--size", "is no length of a window", WORDS))?;
            outlast(scenario, settings, length, anew)
        }
        _ => Err(wrong("--size", &format!("there is no question `{}`", word.escape_debug()), WORDS)),
    }
}

/// The smallest amount of a pacer that jobs pass with which they still are delivered.
fn budget(scenario: &Scenario, settings: &[(String, String)]) -> anyhow::Result<Sizing> {
    let class = jobs(scenario)?;
    let pacers = scenario.clients_of(class).flat_map(Client::elements).filter_map(|element| element.role.guard());
    let mut pacers = pacers.filter(|guard| matches!(scenario.guards[*guard].mechanism, Mechanism::Pacer(_)));
    let none = || {
        let hint = "give its client a pacer that is not off, or ask with --least 'PATH=VALUES'";
        wrong("--size budget", &format!("`{}` passes no pacer", class.name), hint)
    };
    let guard = &scenario.guards[pacers.next().ok_or_else(none)?];
    let path = format!("guards.{}.pacer.amount", guard.name);
    let amount = written(settings, &path).and_then(|text| parse::quantity(&text).ok()).ok_or_else(none)?;
    let [from, to] = [0.1, 2.0].map(|share| text_of(Quantity::Amount, (share * amount).max(1.0)));
    Ok(Sizing {
        axis: format!("{path}={from}..{to}:20"),
        constraints: vec!["not-delivered <= 1%".to_owned()],
        ..Sizing::default()
    })
}

/// The longest hint that a live client should wait for, so that its callers still are served in time.
fn hint_cap(scenario: &Scenario) -> anyhow::Result<Sizing> {
    let mut live = scenario.traffic.iter().filter(|class| class.is_live());
    let reads = |class: &&TrafficClass| {
        let layer = scenario
            .client_of(class)
            .elements()
            .iter()
            .find(|element| element.role.policy().is_some_and(|policy| policy.hint != HintRule::Ignore));
        layer.map(|layer| layer.name.clone())
    };
    let Some((class, layer)) = live.find_map(|class| Some((class, reads(&class)?))) else {
        let hint = "ask with --most 'clients.NAME.layers.LAYER.hint=…'";
        return Err(wrong("--size hint-cap", "no live class has a layer that obeys hints", hint));
    };
    let Some(sla) = class.sla else {
        let hint = format!("write traffic.{}.sla, such as \"30s\", or a --constraint", class.name);
        return Err(wrong("--size hint-cap", &format!("`{}` does not say how long a caller waits", class.name), &hint));
    };
    let forms = CAPS.map(|cap| format!("{{ obey = {{ cap = \"{cap}\", above = \"give_up\" }} }}"));
    Ok(Sizing {
        axis: format!("clients.{}.layers.{layer}.hint={}", scenario.client_of(class).name, forms.join(",")),
        most: true,
        constraints: vec![format!("classes.{}.latency_all_s.p95 <= {sla}", class.name)],
        ..Sizing::default()
    })
}

/// The fewest retries of the outermost layer with which work outlasts a window of this length.
fn outlast(
    scenario: &Scenario,
    settings: &[(String, String)],
    length: SimDuration,
    anew: &Anew<'_>,
) -> anyhow::Result<Sizing> {
    let class = jobs(scenario).or_else(|_| scenario.traffic.first().ok_or_else(|| anyhow!("there is no traffic")))?;
    let client = scenario.client_of(class);
    let layer =
        client.elements().iter().rev().find_map(|element| Some((element.name.as_str(), element.role.policy()?)));
    let option = format!("--size outlast={length}");
    let Some((layer, _)) = layer else {
        return Err(wrong(&option, &format!("the client of `{}` has no layer that retries", class.name), "add one"));
    };
    let prefix = format!("clients.{}.layers.{layer}", client.name);
    let word = RETRIES.into_iter().find(|word| written(settings, &format!("{prefix}.{word}")).is_some());
    let word = word.unwrap_or("max_attempts");
    let mut sets = Vec::new();
    let mut longer_by = SimDuration::ZERO;
    let faults = scenario.provider.faults.iter();
    for (fault, window) in faults.filter_map(|fault| Some((fault, fault.window.filter(|w| w.from < scenario.horizon)?)))
    {
        let (name, to) = (&fault.name, window.from + length);
        let (from, until) = (window.from - SimTime::ZERO, to - SimTime::ZERO);
        // One window in the place of several.
        let several = fault.terms.as_ref().is_some_and(|terms| !terms.windows.is_empty());
        sets.push(if several {
            format!("provider.faults.{name}.windows=[[\"{from}\", \"{until}\"]]")
        } else {
            format!("provider.faults.{name}.window=[\"{from}\", \"{until}\"]")
        });
        longer_by = longer_by.max(to.since(window.to.min(to)));
    }
    if sets.is_empty() {
        return Err(wrong(&option, "no fault has a window", "write one as [provider.faults.NAME] with `window`"));
    }
    if !longer_by.is_zero() {
        sets.push(format!("horizon={}", scenario.length() + longer_by));
    }
    Ok(Sizing {
        axis: format!("{prefix}.{word}=1..{MOST_RETRIES}"),
        constraints: vec!["failed-share <= 1%".to_owned()],
        sets,
        said: Some(arithmetic(layer, length, &|n| {
            let scenario = anew(&[format!("{prefix}.{word}={n}")]).ok()?;
            let class = scenario.traffic.iter().find(|own| own.name == class.name)?;
            let mut elements = scenario.client_of(class).elements().iter();
            elements.find(|element| element.name == layer)?.role.policy().cloned()
        })),
        ..Sizing::default()
    })
}

/// How many retries of a layer reach past a window by their waits alone, at worst and on average. What the layer waits may
/// hang on how many there are: a queue that reads its list of waits from the end.
fn arithmetic(layer: &str, length: SimDuration, policy_with: &dyn Fn(u32) -> Option<RetryPolicy>) -> String {
    let (mut at_worst, mut on_average) = (None, None);
    for policy in (1..=MOST_RETRIES).filter_map(policy_with) {
        let retries = policy.max_attempts.unwrap_or(1) - 1;
        let waits = || (1..=retries).map(|retry| policy.own_wait(retry));
        let shortest: SimDuration = waits().map(|(from, _)| from).sum();
        // The middle of the range is the mean of every jitter that is uniform.
        let mean: SimDuration = waits().map(|(from, to)| (from + to).scaled(0.5)).sum();
        on_average = on_average.or((mean >= length).then_some((retries, mean)));
        at_worst = at_worst.or((shortest >= length).then_some((retries, shortest)));
        if at_worst.is_some() {
            break;
        }
    }
    let said = |found: Option<(u32, SimDuration)>| match found {
        Some((1, waits)) => format!("1 retry ({waits})"),
        Some((retries, waits)) => format!("{retries} retries ({waits})"),
        None => format!("not even {MOST_RETRIES}"),
    };
    if at_worst.map(|found| found.0) == on_average.map(|found| found.0) {
        return format!("By the waits of `{layer}` alone, {} outlast {length}.", said(at_worst));
    }
    format!(
        "By the waits of `{layer}` alone, {} outlast {length} even when each is the shortest, {} when each is the mean.",
        said(at_worst),
        said(on_average)
    )
}

/// The first class of jobs.
fn jobs(scenario: &Scenario) -> anyhow::Result<&TrafficClass> {
    let found = scenario.traffic.iter().find(|class| !class.is_live());
    found.ok_or_else(|| wrong("--size", "there is no class of jobs", "ask with --least or --most"))
}

/// What a file says at a path, without quotes.
fn written(settings: &[(String, String)], path: &str) -> Option<String> {
    let found = settings.iter().find(|(known, _)| known == path);
    found.map(|(_, value)| value.trim_matches('"').to_owned())
}
