//! From a file's text and a command line to a checked scenario. The order is fixed: file, variant, fixes, patch
//! files, `--set`, presets, check; so whatever is written later wins, and whatever is wrong is reported where it was written.

use std::cell::RefCell;

use super::context::Context;
use super::labels::Senders;
use super::models::{self, Asked};
use super::patches::{self, PatchFile};
use super::refusal::Refusal;
use super::step_clients::Known;
use super::trace::Opened;
use super::variants::{self, Variants};
use super::{
    Scenario, alerts, check, clients, fault_terms, fixes, guards, interventions, phases, provider, requests, traffic,
    workers,
};
use crate::document::{Faults, Field, Node, Place, Reader, Table, Text, Value, leaves, parse, set};
use crate::policy::Client;
use crate::preset::Preset;
use crate::units::SimTime;

/// What a scenario is read from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The file as the user named it: for messages, and its stem is the scenario's name.
    pub path: &'a str,
    /// The file's text.
    pub text: &'a str,
    /// The variant that was asked for; `None` for the base.
    pub variant: Option<&'a str>,
    /// The fixes that were asked for, by name; applied after the variant.
    pub fixes: &'a [String],
    /// Patch files, in order; applied after the fixes.
    pub patches: &'a [PatchFile],
    /// The texts of `--set`, in order.
    pub sets: &'a [String],
    /// Reads a trace whose path the file gives relative to itself; the error is a short reason.
    pub trace: &'a dyn Fn(&str) -> Opened,
}

impl<'a> Source<'a> {
    /// A text without patches and traces.
    pub const fn new(path: &'a str, text: &'a str) -> Self {
        let trace = &|_: &str| Err("no trace can be read here".to_owned());
        Source { path, text, variant: None, fixes: &[], patches: &[], sets: &[], trace }
    }

    /// The file's name without its folder and its ending.
    fn stem(&self) -> &'a str {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path);
        name.strip_suffix(".toml").unwrap_or(name)
    }

    fn refuse(&self, faults: Faults) -> Refusal {
        let (faults, left_out) = faults.into_sorted();
        Refusal::Faulty {
            path: self.path.to_owned(),
            text: self.text.to_owned(),
            patches: self.patches.into(),
            sets: self.sets.to_vec(),
            faults,
            left_out,
        }
    }
}

/// The checked scenario, or everything that is wrong with it.
pub fn load(source: &Source<'_>) -> Result<Scenario, Refusal> {
    let faults = Faults::default();
    let Some(patched) = patched(source, &faults)? else { return Err(source.refuse(faults)) };
    let scenario = read(source, &patched, &faults);
    match scenario {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => {
            assert!(!faults.is_empty(), "what cannot be read has a fault");
            Err(source.refuse(faults))
        }
    }
}

/// A tree as it stands after variant, fixes, patch files and `--set`.
struct Patched {
    root: Table,
    variants: Variants,
    fixes: Vec<String>,
    variant: String,
}

/// Patches the tree; `None` where the text is no TOML, and then a fault says why.
fn patched(source: &Source<'_>, faults: &Faults) -> Result<Option<Patched>, Refusal> {
    let (root, changes) = (parse::file(source.text, faults), patches::read(source.patches, faults));
    let (Some(mut root), Some(changes)) = (root, changes) else { return Ok(None) };
    let fixes = fixes::take(&mut root, faults);
    let variants = variants::take(&mut root, &fixes, faults);
    let variant = source.variant.unwrap_or(&variants.base).to_owned();
    if !variants.names.contains(&variant) {
        return Err(variants.unknown(&variant, source.path));
    }
    variants.apply(&variant, &fixes, &mut root, faults);
    let find = |name: &String| fixes.find(name).ok_or_else(|| fixes.unknown(name, source.path));
    let wanted = source.fixes.iter().map(find).collect::<Result<Vec<usize>, _>>()?;
    fixes.apply(&wanted, &mut root, faults);
    patches::apply(&changes, &mut root, faults);
    for (number, text) in source.sets.iter().enumerate() {
        set::apply(&mut root, number, text, faults);
    }
    Ok(Some(Patched { root, variants, fixes: fixes.names, variant }))
}

/// What a file says after variant, fixes, patch files and `--set`, one setting at a time: its dotted path and its value as TOML.
pub fn settings(source: &Source<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let faults = Faults::default();
    match patched(source, &faults)? {
        Some(Patched { root, .. }) if faults.is_empty() => {
            Ok(leaves::leaves(&root).into_iter().map(|leaf| (leaf.path.join("."), leaf.value)).collect())
        }
        _ => Err(source.refuse(faults)),
    }
}

/// The line of the file, from 1, on which each setting is written, in the order of [`settings`]; none for what `--set`
/// says.
pub fn lines(source: &Source<'_>) -> Result<Vec<Option<usize>>, Refusal> {
    let faults = Faults::default();
    let line = |place: Place| {
        let before = source.text.get(..place.from)?;
        (place.text == Text::File).then(|| 1 + before.matches('\n').count())
    };
    match patched(source, &faults)? {
        Some(Patched { root, .. }) if faults.is_empty() => {
            Ok(leaves::leaves(&root).into_iter().map(|leaf| line(leaf.place)).collect())
        }
        _ => Err(source.refuse(faults)),
    }
}

/// The layers of a client as they stand in a file after all patches, guards and what is off left out, as TOML.
pub fn client_layers(source: &Source<'_>, client: &str) -> Result<String, Refusal> {
    let faults = Faults::default();
    let Some(Patched { root, .. }) = patched(source, &faults)? else { return Err(source.refuse(faults)) };
    let table = |table: &Table, key: &str| table.get(key).and_then(|entry| entry.node.as_table().cloned());
    let layers = table(&root, "clients").and_then(|clients| table(&clients, client));
    let layers = layers.and_then(|client| client.get("layers").map(|entry| entry.node.value.clone()));
    match layers {
        Some(Value::Array(items)) if faults.is_empty() => {
            let stays = |item: &Node| {
                item.as_table().is_some_and(|layer| {
                    let off = layer.get("off").is_some_and(|entry| entry.node.value == Value::Boolean(true));
                    !off && !layer.contains("guard")
                })
            };
            Ok(Value::Array(items.into_iter().filter(stays).collect()).to_string())
        }
        _ => Err(source.refuse(faults)),
    }
}

/// The layers of a client that is one preset, with `--set` relative to it, as TOML.
pub fn preset_layers(preset: &str, sets: &[String]) -> Result<String, Refusal> {
    preset_client(preset, sets)?;
    let found = Preset::find(preset).map_err(|not| Refusal::Whole { message: not.message, hint: Some(not.hint) })?;
    let faults = Faults::default();
    let mut root = preset_root(&found, sets, &faults);
    let layers = root.get_mut("clients").and_then(|entry| match &mut entry.node.value {
        Value::Table(clients) => clients.get_mut(found.family.word).and_then(|entry| match &entry.node.value {
            Value::Table(client) => client.get("layers").map(|entry| entry.node.value.to_string()),
            _ => None,
        }),
        _ => None,
    });
    Ok(layers.unwrap_or_default())
}

/// The tree with the one client that is a preset.
fn preset_root(found: &Preset, sets: &[String], faults: &Faults) -> Table {
    let word = found.family.word;
    let mut root =
        parse::own(&format!("[clients.{word}]\nlayers = [{{ name = \"{word}\", preset = \"{}\" }}]\n", found.name()));
    for (number, text) in sets.iter().enumerate() {
        set::apply_below(&mut root, &["clients", word, "layers", "0"], number, text, faults);
    }
    root
}

/// A client of one layer, a preset, with `--set` relative to that layer.
pub fn preset_client(preset: &str, sets: &[String]) -> Result<Client, Refusal> {
    let found = Preset::find(preset).map_err(|not| Refusal::Whole { message: not.message, hint: Some(not.hint) })?;
    let faults = Faults::default();
    let word = found.family.word;
    let root = preset_root(&found, sets, &faults);
    let context = Context {
        faults: &faults,
        horizon: None,
        guards: Vec::new(),
        clients: vec![word],
        classes: Vec::new(),
        senders: Senders::default(),
        asked: Asked::default(),
        may_spin: true,
        trace: &|_| Err("no trace can be read here".to_owned()),
        blocks: RefCell::default(),
        caches: false,
    };
    let reader = Reader::new(&root, Place::TOP, &faults);
    let clients = clients::clients(reader.get("clients").as_ref(), &context);
    match clients.into_iter().flatten().next() {
        Some(read) if faults.is_empty() => Ok(read.client),
        _ => {
            let (faults, left_out) = faults.into_sorted();
            let (path, text) = (preset.to_owned(), String::new());
            Err(Refusal::Faulty { path, text, patches: Box::default(), sets: sets.to_vec(), faults, left_out })
        }
    }
}

/// The names of the things below a key; so many at most that looking one up stays quick, which is more than is read.
fn names<'a>(root: &'a Table, key: &str) -> Vec<&'a str> {
    let mut names = root.get(key).and_then(|entry| entry.node.as_table()).map(Table::names).unwrap_or_default();
    names.truncate(100);
    names
}

/// Whether the provider has a cache.
fn has_cache(root: &Table) -> bool {
    let provider = root.get("provider").and_then(|entry| entry.node.as_table());
    provider.is_some_and(|provider| provider.contains("cache"))
}

fn read(source: &Source<'_>, patched: &Patched, faults: &Faults) -> Option<Scenario> {
    let mut root = patched.root.clone();
    interventions::change_limits(&mut root, faults);
    let root = &root;
    let reader = Reader::new(root, Place::TOP, faults);
    reader.knows(&["base", "variants", "fixes"]);
    let title = reader.or("title", source.stem().to_owned(), title);
    let horizon = reader.need("horizon", r#"write when the run ends, such as horizon = "2h""#);
    let horizon = horizon.and_then(|field| field.positive_duration());
    let context = Context {
        faults,
        horizon: horizon.map(|horizon| SimTime::ZERO + horizon),
        guards: names(root, "guards"),
        clients: names(root, "clients"),
        classes: names(root, "traffic"),
        senders: Senders::of(root, &names(root, "traffic")),
        asked: Asked::default(),
        may_spin: false,
        trace: source.trace,
        blocks: RefCell::default(),
        caches: has_cache(root),
    };
    let mut read_provider = provider::provider(reader.get("provider").as_ref(), &context);
    let guards = guards::guards(reader.get("guards").as_ref(), &context);
    let clients_field = reader.need("clients", "describe who sends requests as [clients.NAME]");
    let clients = clients::clients(clients_field.as_ref(), &context);
    let traffic_field = reader.need("traffic", "describe who wants what as [traffic.NAME]");
    let written = clients_field.and_then(|field| field.node.as_table());
    let pools = workers::pools(reader.get("workers").as_ref(), &context);
    let known = Known { read: &clients, written, pools: &pools };
    let mut classes = traffic::traffic(traffic_field.as_ref(), &known, &context);
    let interventions = reader.get("interventions");
    let interventions = interventions::interventions(interventions.as_ref(), &known, &guards, &mut classes, &context);
    let phases = phases::phases(reader.get("phases").as_ref(), &read_provider.windows, &context);
    let alerts = alerts::alerts(reader.get("alerts").as_ref(), &context);
    let origin = phases::origin(reader.get("origin").as_ref(), &read_provider.windows, &context);
    reader.finish();
    fault_terms::settle(&mut read_provider, &classes, &context);
    check::check(
        &check::Parts { provider: &read_provider, guards: &guards, clients: &clients, classes: &classes },
        faults,
    );
    let all_asked = guards.iter().all(Option::is_some)
        && clients.iter().all(Option::is_some)
        && classes.iter().all(Option::is_some);
    let models = models::settle(&mut read_provider, all_asked, &context);
    let (origin, origin_name) = origin?;
    let provider = read_provider.settled(models?);
    let traffic = classes.into_iter().map(|read| Some(read?.class)).collect::<Option<Vec<_>>>();
    let (provider, mut traffic) = (provider?, traffic?);
    let takes_time = requests::phases(&provider, &traffic);
    let clients = clients.into_iter().map(|read| Some(read?.client.in_world(takes_time)));
    let clients = clients.collect::<Option<_>>()?;
    for other in traffic.iter_mut().flat_map(|class| &mut class.others) {
        other.client = other.client.clone().in_world(takes_time);
    }
    Some(Scenario {
        name: source.stem().to_owned(),
        title: title?,
        variant: patched.variant.clone(),
        variants: patched.variants.names.clone(),
        fixes: patched.fixes.clone(),
        horizon: SimTime::ZERO + horizon?,
        origin,
        origin_name,
        provider,
        guards: guards.into_iter().map(|read| Some(read?.guard)).collect::<Option<_>>()?,
        clients,
        pools: pools.into_iter().map(|(_, pool)| pool).collect::<Option<_>>()?,
        traffic,
        phases: phases?,
        alerts: alerts?,
        interventions: interventions?,
    })
}

fn title(field: &Field<'_>) -> Option<String> {
    let title = field.text()?;
    if title.chars().any(char::is_control) {
        return field.wrong("has more than one line", "write the title in one line");
    }
    if title.chars().count() > 200 {
        return field.wrong("is longer than 200 letters", "write a shorter title and a comment");
    }
    Some(title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Kind;
    use crate::provider::Window;
    use crate::units::SimDuration;

    const WORLD: &str = r#"
horizon = "1h"
origin = "x"
[provider.faults.x]
window = ["10m", "20m"]
probability = 0.5
by_class = { live = [["0s", 0], ["5m", 1]] }
respond = { status = 529 }
[guards.share]
pacer = { counts = "requests", amount = 10, per = "1s" }
[clients.batch]
layers = [
  { name = "sdk", preset = "anthropic-python" },
  { guard = "share" },
  { name = "inner", kind = "client", max_attempts = 2, retry_on = [500] },
  { name = "gone", preset = "tenacity", off = true },
  { name = "outer", guard = "share" },
  { preset = "rq", max = 1, resume = "failed_step" },
]
[clients.plain]
layers = []
[traffic.report]
kind = "jobs"
client = "batch"
workers = 2
arrivals = { trace = "t.csv", column = "at", from = "1m" }
steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
[traffic.live]
kind = "turns"
client = "plain"
arrivals = { poisson = [["1m", "60/min"]] }
steps = [{ name = "a", input_tokens = 1, latency = "1s" }]
[phases]
rise = { before = "x", for = "4m" }
fall = { after = "x", for = "5m" }
[variants.hard]
provider.faults.x.probability = 1
[variants.long]
extends = "hard"
provider.faults.x.window = ["10m", "40m"]
"#;

    fn at(minutes: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_mins(minutes)
    }

    fn world(variant: Option<&str>, sets: &[&str]) -> Scenario {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let trace = |_: &str| crate::scenario::text_of("at\n0\n30\n");
        let source = Source { variant, sets: &sets, trace: &trace, ..Source::new("some/where/world.toml", WORLD) };
        load(&source).unwrap_or_else(|refusal| panic!("{refusal:#?}"))
    }

    #[test]
    fn what_the_file_does_not_say_has_its_default() {
        let scenario = world(None, &[]);
        assert_eq!((scenario.name.as_str(), scenario.title.as_str()), ("world", "world"));
        assert_eq!(scenario.variant, "base");
        assert_eq!(scenario.variants, ["base", "hard", "long"]);
        assert_eq!((scenario.origin, scenario.origin_name.as_deref()), (at(10), Some("x")));
        assert_eq!(scenario.horizon, at(60));
    }

    #[test]
    fn kinds_follow_from_the_position() {
        let scenario = world(None, &[]);
        let batch = &scenario.clients[0];
        let kinds: Vec<(&str, Kind)> =
            batch.elements().iter().map(|element| (element.name.as_str(), element.kind)).collect();
        let expected = [
            ("sdk", Kind::Client),
            ("share", Kind::Client),
            ("inner", Kind::Client),
            ("outer", Kind::Decorator),
            ("rq", Kind::Queue),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(batch.elements()[0].preset.as_deref(), Some("anthropic-python-2.14"));
        assert!(batch.elements()[0].unspoken.contains(&"max_attempts".to_owned()));
        let queue = &batch.elements()[4];
        assert!(!queue.unspoken.contains(&"max_attempts".to_owned()));
        assert!(queue.role.policy().is_some_and(|policy| !policy.holds_worker));
    }

    #[test]
    fn times_of_profiles_count_from_the_window_and_phases_stand_beside_it() {
        let scenario = world(None, &[]);
        let profile = &scenario.provider.faults[0].probability;
        assert_eq!(profile[0].at(at(11)), 0.5);
        assert_eq!(profile[1].points(), [(at(10), 0.0), (at(15), 1.0)]);
        let phases: Vec<(&str, Window)> =
            scenario.phases.iter().map(|phase| (phase.name.as_str(), phase.window)).collect();
        let window = |from, to| Window { from: at(from), to: at(to) };
        assert_eq!(phases, [("rise", window(6, 10)), ("fall", window(20, 25))]);
    }

    #[test]
    fn arrivals_come_from_traces_and_begin_with_their_first_point() {
        let scenario = world(None, &[]);
        let count = |class: usize, from, to| {
            let span = Window { from: at(from), to: at(to) };
            scenario.traffic[class].arrivals.iter().map(|process| process.expected(span)).sum::<f64>()
        };
        // The trace has rows at 0 and 30 s, shifted by a minute.
        assert_eq!((count(0, 0, 1), count(0, 1, 2)), (0.0, 2.0));
        assert_eq!((count(1, 0, 1), count(1, 1, 2)), (0.0, 60.0));
    }

    #[test]
    fn a_set_wins_over_a_variant_and_a_variant_over_the_file() {
        let probability = |scenario: &Scenario| scenario.provider.faults[0].probability[0].at(at(11));
        assert_eq!(probability(&world(None, &[])), 0.5);
        let long = world(Some("long"), &[]);
        assert_eq!((probability(&long), long.provider.faults[0].window.map(|w| w.to)), (1.0, Some(at(40))));
        assert_eq!(probability(&world(Some("long"), &["provider.faults.x.probability=25%"])), 0.25);
    }
}
