//! From a file's text and a command line to a checked scenario. The order is fixed: file, variant, `--set`, presets,
//! check; so whatever is written later wins, and whatever is wrong is reported where it was written.

use super::context::Context;
use super::refusal::Refusal;
use super::variants::{self, Variants};
use super::{Scenario, check, clients, guards, phases, provider, traffic};
use crate::document::{Faults, Field, Place, Reader, Table, parse, set};
use crate::units::SimTime;
use crate::units::parse::LONGEST;

/// What a scenario is read from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The file as the user named it: for messages, and its stem is the scenario's name.
    pub path: &'a str,
    /// The file's text.
    pub text: &'a str,
    /// The variant that was asked for; `None` for the base.
    pub variant: Option<&'a str>,
    /// The texts of `--set`, in order.
    pub sets: &'a [String],
    /// Reads a trace whose path the file gives relative to itself; the error is a short reason.
    pub trace: &'a dyn Fn(&str) -> Result<String, String>,
}

impl<'a> Source<'a> {
    /// A text without variant, `--set` and traces.
    pub const fn new(path: &'a str, text: &'a str) -> Self {
        Source { path, text, variant: None, sets: &[], trace: &|_| Err("no trace can be read here".to_owned()) }
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
            sets: self.sets.to_vec(),
            faults,
            left_out,
        }
    }
}

/// The checked scenario, or everything that is wrong with it.
pub fn load(source: &Source<'_>) -> Result<Scenario, Refusal> {
    let faults = Faults::default();
    let Some(mut root) = parse::file(source.text, &faults) else { return Err(source.refuse(faults)) };
    let variants = variants::take(&mut root, &faults);
    let variant = source.variant.unwrap_or(&variants.base);
    if !variants.names.iter().any(|name| name == variant) {
        return Err(variants.unknown(variant, source.path));
    }
    variants.apply(variant, &mut root, &faults);
    for (number, text) in source.sets.iter().enumerate() {
        set::apply(&mut root, number, text, &faults);
    }
    let scenario = read(source, &root, &variants, variant, &faults);
    match scenario {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => {
            assert!(!faults.is_empty(), "what cannot be read has a fault");
            Err(source.refuse(faults))
        }
    }
}

/// The names of the things below a key; so many at most that looking one up stays quick, which is more than is read.
fn names<'a>(root: &'a Table, key: &str) -> Vec<&'a str> {
    let mut names = root.get(key).and_then(|entry| entry.node.as_table()).map(Table::names).unwrap_or_default();
    names.truncate(100);
    names
}

fn read(source: &Source<'_>, root: &Table, variants: &Variants, variant: &str, faults: &Faults) -> Option<Scenario> {
    let reader = Reader::new(root, Place::TOP, faults);
    reader.knows(&["base", "variants"]);
    let title = reader.or("title", source.stem().to_owned(), title);
    let horizon = reader.need("horizon", r#"write when the run ends, such as horizon = "2h""#);
    let horizon = horizon.and_then(|field| field.positive_duration());
    let context = Context {
        faults,
        horizon: SimTime::ZERO + horizon.unwrap_or(LONGEST),
        guards: names(root, "guards"),
        clients: names(root, "clients"),
        classes: names(root, "traffic"),
        trace: source.trace,
    };
    let read_provider = provider::provider(reader.get("provider").as_ref(), &context);
    let guards = guards::guards(reader.get("guards").as_ref());
    let clients_field = reader.need("clients", "describe who sends requests as [clients.NAME]");
    let clients = clients::clients(clients_field.as_ref(), &context);
    let traffic_field = reader.need("traffic", "describe who wants what as [traffic.NAME]");
    let classes = traffic::traffic(traffic_field.as_ref(), &context);
    let phases = phases::phases(reader.get("phases").as_ref(), &read_provider.windows, &context);
    let origin = phases::origin(reader.get("origin").as_ref(), &read_provider.windows);
    reader.finish();
    let (guards, clients, classes) = (guards?, clients?, classes?);
    if faults.is_empty() {
        let parts = check::Parts { provider: &read_provider, guards: &guards, clients: &clients, classes: &classes };
        check::check(&parts, faults);
    }
    let (origin, origin_name) = origin?;
    Some(Scenario {
        name: source.stem().to_owned(),
        title: title?,
        variant: variant.to_owned(),
        variants: variants.names.clone(),
        horizon: SimTime::ZERO + horizon?,
        origin,
        origin_name,
        provider: read_provider.provider?,
        guards: guards.into_iter().map(|read| read.guard).collect(),
        clients: clients.into_iter().map(|read| read.client).collect(),
        traffic: classes.into_iter().map(|read| read.class).collect(),
        phases: phases?,
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
