//! Reading one element of a client: a guard by its name, or a retry layer in the words of a preset, in general keys, or
//! in both.

use super::context::{Context, Read, refer};
use super::failures::failures;
use super::waits;
use crate::document::{Fault, Field, Place, Reader, Table, near, patch, reader};
use crate::policy::retry::{Deadline, DeadlineCheck};
use crate::policy::stack::{Place as QueuePlace, Resume};
use crate::policy::{Backoff, Classification, HintRule, Jitter, Kind, RetryPolicy};
use crate::preset::{self, Preset};

/// The most attempts of one layer.
const MOST_ATTEMPTS: u64 = 1_000_000;

/// An element as it was read, before its place in the stack is known.
pub(super) struct Draft {
    /// Its name.
    pub(super) name: String,
    /// Where it is named, or where it stands.
    pub(super) named: Place,
    /// Where it stands.
    pub(super) place: Place,
    /// Whether it is switched off.
    pub(super) off: bool,
    /// The kind that it says.
    pub(super) kind: Option<Kind>,
    /// What it does.
    pub(super) body: Body,
}

/// What an element does.
pub(super) enum Body {
    /// The guard of this index.
    Guard(usize),
    /// It repeats failures.
    Retry(Box<Layer>),
}

/// A retry layer with what the checks of its stack need.
pub(super) struct Layer {
    /// Its policy; whether it holds the worker is settled with its kind.
    pub(super) policy: RetryPolicy,
    /// The preset and the kind that it brings.
    pub(super) preset: Option<Preset>,
    /// Keys that the preset supplied and the file does not spell out.
    pub(super) unspoken: Vec<String>,
    /// Where a retried job goes, and where that is said.
    pub(super) requeue: Said<QueuePlace>,
    /// Where a retried job goes on, and where that is said.
    pub(super) resume: Said<Resume>,
    /// Where `timeout` is said.
    pub(super) timeout: Option<Place>,
    /// Where `holds_worker` is said to be true.
    pub(super) holds_worker: Option<Place>,
    /// Where `max_attempts` is said.
    pub(super) attempts: Place,
    /// Whether something about it is wrong, so that what it lacks may have been meant.
    pub(super) doubtful: bool,
}

/// A setting, and where the file says it; a preset says it nowhere.
pub(super) type Said<T> = Option<(T, Option<Place>)>;

fn said_at(field: &Field<'_>) -> Option<Place> {
    field.node.preset.is_none().then(|| field.place())
}

/// Reads one element.
pub(super) fn element(item: &Field<'_>, context: &Context<'_>) -> Option<Draft> {
    let Some(table) = item.node.as_table() else {
        return item.must("be a table that describes a layer", "write { preset = … } or { guard = … }");
    };
    if table.contains("guard") { guard(item, table, context) } else { layer(item, table, context) }
}

/// What guards and retry layers have in common.
struct Common {
    name: Option<String>,
    named: Place,
    off: Option<bool>,
    kind: Read<Option<Kind>>,
}

fn common(reader: &Reader<'_>, table: &Table, item: &Field<'_>) -> Common {
    let field = reader.get("name");
    let named = field.map_or(item.place(), |field| field.place());
    let name = match field {
        Some(field) => field.text().and_then(|name| check_name(&field, name)),
        None => Some(patch::name_of(table).unwrap_or_default().to_owned()),
    };
    let off = reader.or("off", false, Field::truth);
    let kinds = [Kind::Client, Kind::Decorator, Kind::Queue];
    let kind = reader.maybe("kind", |field| field.word(&kinds.map(|kind| (kind.word(), kind))));
    Common { name, named, off, kind }
}

fn check_name(field: &Field<'_>, name: &str) -> Option<String> {
    // Results give every element a factor beside these two.
    if ["runs", "steps_reached"].contains(&name) {
        return field.wrong(format!("`{name}` is a word of the results"), "choose another name");
    }
    if reader::is_name(name) {
        return Some(name.to_owned());
    }
    field.faults().add(reader::bad_name(field.place(), name));
    None
}

fn guard(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let reader = Reader::new(table, item.place(), context.faults);
    let Common { name, named, off, kind } = common(&reader, table, item);
    let guard = reader.get("guard").and_then(|field| refer(&field, &context.guards, "guard", "guards"));
    if let Some(preset) = reader.get("preset") {
        context.faults.add(Fault::new(preset.key, "says `preset` beside `guard`").hint("keep one of them"));
    }
    let kind = match (kind, reader.get("kind")) {
        (Some(Some(Kind::Queue)), Some(field)) => {
            field.wrong("a guard cannot be a queue", r#"write "client" or "decorator""#)
        }
        (kind, _) => kind,
    };
    reader.finish();
    let (name, off, kind, guard) = (name?, off?, kind?, guard?);
    Some(Draft { name, named, place: item.place(), off, kind, body: Body::Guard(guard) })
}

fn layer(item: &Field<'_>, table: &Table, context: &Context<'_>) -> Option<Draft> {
    let before = context.faults.len();
    let mut table = table.clone();
    let mut preset = None;
    if let Some(entry) = table.get("preset") {
        let field = Field::new(entry.key, &entry.node, context.faults);
        let place = entry.node.place;
        match Preset::find(field.text()?) {
            Ok(found) => preset = Some((found, place)),
            Err(not) => return field.wrong(not.message, not.hint),
        }
    }
    if let Some((preset, place)) = preset {
        preset.expand(&mut table, place, context.faults);
    }
    if preset.is_none() && is_misspelt(&table, context) {
        return None;
    }
    let foreign = foreign_words(&table, context);
    if foreign.is_empty() && !["preset", "max_attempts", "retry_on"].iter().any(|key| table.contains(key)) {
        return item.wrong("describes no layer", "give it a `preset`, a `guard`, or `max_attempts` and `retry_on`");
    }
    let reader = Reader::new(&table, item.place(), context.faults);
    let Common { name, named, off, kind } = common(&reader, &table, item);
    reader.knows(&["preset"]);
    reader.knows(&foreign.iter().map(|(word, _)| *word).collect::<Vec<_>>());
    if let Some((preset, _)) = preset {
        reader.knows(&preset.family.words.iter().map(|word| word.word).collect::<Vec<_>>());
    }
    let spared: Vec<&str> = foreign.iter().map(|(_, stands_for)| *stands_for).collect();
    let layer = retry(&reader, &spared, preset.map(|(preset, _)| preset), &table);
    let name = name.and_then(|name| {
        if name.is_empty() {
            context.faults.add(Fault::new(item.place(), "has no name").hint("give it a `name`, such as \"app\""));
            return None;
        }
        Some(name)
    });
    reader.finish();
    let (name, off, kind, mut layer) = (name?, off?, kind?, layer?);
    layer.doubtful = context.faults.len() > before;
    Some(Draft { name, named, place: item.place(), off, kind, body: Body::Retry(Box::new(layer)) })
}

/// Whether a slip in `preset` or `guard` hides what the element is. It is reported, and nothing else of the element:
/// all its other keys would seem strange.
fn is_misspelt(table: &Table, context: &Context<'_>) -> bool {
    for (name, entry) in table.in_order() {
        let best = near::nearest(name, ["preset", "guard"]).filter(|_| !GENERAL.contains(&name));
        if let Some(best) = best {
            context.faults.add(Fault::new(entry.key, "unknown key").hint(format!("did you mean `{best}`?")));
            return true;
        }
    }
    false
}

/// Keys that are words of some library, in a layer that does not name it, with the general key that they stand for.
fn foreign_words<'t>(table: &'t Table, context: &Context<'_>) -> Vec<(&'t str, &'static str)> {
    let mut foreign = Vec::new();
    for (key, entry) in table.in_order() {
        if GENERAL.contains(&key) {
            continue;
        }
        if let Some((family, word)) = preset::word_of_some_family(key) {
            let message = format!("is a word of `{}`, not a general key", family.word);
            let hint = format!("name that preset, or write `{}`", word.stands_for);
            context.faults.add(Fault::new(entry.key, message).hint(hint));
            foreign.push((key, word.stands_for));
        }
    }
    foreign
}

/// The general keys of a retry layer and of every element.
const GENERAL: [&str; 17] = [
    "name",
    "off",
    "kind",
    "preset",
    "max_attempts",
    "retry_on",
    "obeys_should_retry",
    "backoff",
    "jitter",
    "hint",
    "wait_cap",
    "total_budget",
    "budget_check",
    "timeout",
    "holds_worker",
    "requeue",
    "resume",
];

fn retry(reader: &Reader<'_>, spared: &[&str], preset: Option<Preset>, table: &Table) -> Option<Layer> {
    let required = |key: &'static str, hint: &str| {
        if spared.contains(&key) { reader.get(key) } else { reader.need(key, hint) }
    };
    let attempts_field =
        required("max_attempts", "write how many tries there are, the first one included, or a `preset`");
    let max_attempts = attempts_field.and_then(|field| attempts(&field));
    let retry_on = required("retry_on", r#"write "any" or a list such as [429, "5xx", "timeout", "connection"]"#);
    let retry_on = retry_on.and_then(|field| classification(&field));
    let obeys_should_retry = reader.or("obeys_should_retry", false, Field::truth);
    let backoff = reader.or("backoff", Backoff::None, waits::backoff);
    let jitter_field = reader.get("jitter");
    let jitter = jitter_field.as_ref().map_or(Some(Jitter::None), waits::jitter);
    let hint = reader.or("hint", HintRule::Ignore, waits::hint);
    let wait_cap = reader.maybe("wait_cap", Field::duration);
    let deadline = deadline(reader);
    let timeout_field = reader.get("timeout");
    let timeout = timeout_field.as_ref().map_or(Some(None), |field| field.positive_duration().map(Some));
    let holds_field = reader.get("holds_worker");
    let holds_worker = holds_field.as_ref().map_or(Some(true), Field::truth);
    let places = [("back", QueuePlace::Back), ("front", QueuePlace::Front)];
    let requeue = reader.maybe("requeue", |field| Some((field.word(&places)?, said_at(field))));
    let resumes = [("restart", Resume::Restart), ("failed_step", Resume::FailedStep)];
    let resume = reader.maybe("resume", |field| Some((field.word(&resumes)?, said_at(field))));
    if let (Some(Backoff::Decorrelated { .. }), Some(field)) = (&backoff, &jitter_field)
        && jitter.is_some_and(|jitter| jitter != Jitter::None)
    {
        return field.wrong("is added to a backoff that is random by itself", "leave `jitter` out");
    }
    let mut retry_on = retry_on?;
    retry_on.obeys_should_retry = obeys_should_retry?;
    Some(Layer {
        policy: RetryPolicy {
            retry_on,
            max_attempts: max_attempts?,
            deadline: deadline?,
            backoff: backoff?,
            jitter: jitter?,
            hint: hint?,
            wait_cap: wait_cap?,
            timeout: timeout?,
            holds_worker: holds_worker?,
            ..RetryPolicy::ONCE
        },
        preset,
        unspoken: unspoken(table),
        requeue: requeue?,
        resume: resume?,
        timeout: timeout_field.map(|field| field.place()),
        holds_worker: holds_field.filter(|_| holds_worker == Some(true)).map(|field| field.place()),
        attempts: attempts_field?.place(),
        doubtful: false,
    })
}

fn unspoken(table: &Table) -> Vec<String> {
    let supplied = table.in_order().into_iter().filter(|(_, entry)| entry.node.preset.is_some());
    supplied.map(|(key, _)| key.to_owned()).collect()
}

fn attempts(field: &Field<'_>) -> Read<Option<u32>> {
    if field.node.as_str() == Some("unlimited") {
        return Some(None);
    }
    if field.node.value == crate::document::Value::Integer(0) {
        return field.must("be at least 1", "1 means no retry; the first try counts");
    }
    if field.node.as_str().is_some() {
        return field.must("be a number of attempts", r#"write a number such as 4, or "unlimited""#);
    }
    field.whole(1..=MOST_ATTEMPTS).map(|attempts| Some(attempts as u32))
}

fn classification(field: &Field<'_>) -> Option<Classification> {
    match field.node.as_str() {
        Some("any") => Some(Classification::ANY),
        Some(_) => field.must(r#"be "any" or a list of failures"#, r#"write "any" or a list such as [429, "5xx"]"#),
        None => {
            let named = failures(field)?;
            Some(Classification { statuses: named.statuses, outcomes: named.outcomes, ..Classification::default() })
        }
    }
}

fn deadline(reader: &Reader<'_>) -> Read<Option<Deadline>> {
    let total = reader.maybe("total_budget", Field::positive_duration);
    let checks = [
        ("before_wait", DeadlineCheck::BeforeWait),
        ("before_wait_strict", DeadlineCheck::BeforeWaitStrict),
        ("elapsed", DeadlineCheck::Elapsed),
        ("elapsed_cut", DeadlineCheck::ElapsedCut),
    ];
    let said = reader.get("budget_check");
    let check = said.as_ref().map_or(Some(DeadlineCheck::BeforeWait), |field| field.word(&checks));
    if let (Some(None), Some(field)) = (total, said) {
        reader.faults().add(Fault::new(field.key, "says nothing without `total_budget`").hint("write the budget too"));
        return None;
    }
    let check = check?;
    Some(total?.map(|total| Deadline { total, check }))
}
