//! Reading the general keys of a retry layer: what it repeats, when it stops, how long it waits, and what it makes of a
//! server's hint.

use super::budget::budget;
use super::context::Read;
use super::failures::{any_statuses, by_kind, classification, statuses};
use super::timeouts::timeouts;
use super::{hints, waits};
use crate::document::{Fault, Field, Place, Reader, Table, Value};
use crate::policy::header::HintGrammar;
use crate::policy::retry::{Deadline, DeadlineCheck, HandsBack};
use crate::policy::stack::{Place as QueuePlace, Resume};
use crate::policy::{Backoff, Classification, HintRule, Jitter, RetryPolicy, Scope, StatusSet};
use crate::preset::Preset;
use crate::units::SimDuration;

/// The most attempts of one layer.
const MOST_ATTEMPTS: u64 = 1_000_000;

/// The most kinds of failure with a backoff of their own.
const MOST_BACKOFFS: usize = 8;

/// The most kinds of failure with a limit of their own: a layer counts so many.
const MOST_LIMITED: usize = 3;

/// The highest limit of one kind of failure: a layer counts it in 16 bits.
const MOST_OF_A_KIND: u64 = 65_535;

/// The general keys of a retry layer and of every element.
pub(super) const GENERAL: [&str; 29] = [
    "name",
    "off",
    "kind",
    "preset",
    "max_attempts",
    "retry_on",
    "obeys_should_retry",
    "retries_by_kind",
    "total_budget",
    "budget_check",
    "stops_at",
    "budget",
    "backoff",
    "jitter",
    "backoff_by_kind",
    "longest_wait",
    "wait_cap",
    "hint",
    "hint_on",
    "hint_resets_backoff",
    "hint_headers",
    "timeout",
    "timeout_shrinks",
    "holds_worker",
    "requeue",
    "resume",
    "hands_back",
    "uncounted",
    "holds_queue",
];

/// A retry layer with what the checks of its stack need.
pub(super) struct Layer {
    /// Its policy; whether it holds the worker is settled with its kind.
    pub(super) policy: RetryPolicy,
    /// The preset and the kind that it brings.
    pub(super) preset: Option<Preset>,
    /// Keys that the preset supplied and the file does not spell out.
    pub(super) unspoken: Vec<String>,
    /// How its client reads hints, where it says so.
    pub(super) grammar: Option<HintGrammar>,
    /// Where a retried job goes, and where that is said.
    pub(super) requeue: Said<QueuePlace>,
    /// Where a retried job goes on, and where that is said.
    pub(super) resume: Said<Resume>,
    /// Where `uncounted` is said.
    pub(super) uncounted: Option<Place>,
    /// Where `holds_queue` is said.
    pub(super) holds_queue: Option<Place>,
    /// Where `timeout` is said, or that it shrinks.
    pub(super) timeout: Option<Place>,
    /// Where `holds_worker` is said to be true.
    pub(super) holds_worker: Option<Place>,
    /// Where `budget` is said.
    pub(super) budget: Option<Place>,
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

/// Reads the general keys. `spared` are required ones whose absence is reported otherwise.
pub(super) fn retry(reader: &Reader<'_>, spared: &[&str], preset: Option<Preset>, table: &Table) -> Option<Layer> {
    let attempts = required(
        reader,
        spared,
        "max_attempts",
        "write how many tries there are, the first one included, or a `preset`",
    );
    let retry_on = repeated(reader, spared);
    let stops = stops(reader, attempts.as_ref());
    let waits = waits(reader);
    let hints = hints(reader);
    let budget = reader.or("budget", None, budget);
    let timeouts = timeouts(reader);
    let holds_field = reader.get("holds_worker");
    let holds_worker = holds_field.as_ref().map_or(Some(true), Field::truth);
    let places = [("back", QueuePlace::Back), ("front", QueuePlace::Front)];
    let requeue = reader.maybe("requeue", |field| Some((field.word(&places)?, said_at(field))));
    let resumes = [("restart", Resume::Restart), ("failed_step", Resume::FailedStep)];
    let resume = reader.maybe("resume", |field| Some((field.word(&resumes)?, said_at(field))));
    let hands_back = reader.or("hands_back", HandsBack::default(), hands_back);
    let uncounted = reader.or("uncounted", StatusSet::EMPTY, statuses);
    let holds_queue = reader.or("holds_queue", StatusSet::EMPTY, statuses);
    let (stops, waits, hints, timeouts) = (stops?, waits?, hints?, timeouts?);
    let (budget, budget_scope) = budget?.map_or((None, Scope::Client), |(budget, scope)| (Some(budget), scope));
    Some(Layer {
        policy: RetryPolicy {
            retry_on: retry_on?,
            max_attempts: stops.max_attempts,
            retries_by_kind: stops.by_kind,
            deadline: stops.deadline,
            stops_at_both: stops.at_both,
            backoff: waits.backoff,
            jitter: waits.jitter,
            backoff_by_kind: waits.by_kind,
            longest_wait: waits.longest,
            wait_cap: waits.cap,
            hint: hints.rule,
            hint_on: hints.on,
            hint_resets_backoff: hints.reset_backoff,
            budget,
            budget_scope,
            timeout: timeouts.phases,
            timeout_shrinks: timeouts.shrink,
            holds_worker: holds_worker?,
            hands_back: hands_back?,
            uncounted: uncounted?,
            holds_queue: holds_queue?,
        },
        preset,
        unspoken: unspoken(table),
        grammar: hints.grammar,
        requeue: requeue?,
        resume: resume?,
        uncounted: reader.get("uncounted").and_then(|field| said_at(&field)),
        holds_queue: reader.get("holds_queue").and_then(|field| said_at(&field)),
        timeout: timeouts.said,
        holds_worker: holds_field.filter(|_| holds_worker == Some(true)).map(|field| field.place()),
        budget: reader.get("budget").map(|field| field.place()),
        attempts: attempts?.place(),
        doubtful: false,
    })
}

fn required<'a>(reader: &Reader<'a>, spared: &[&str], key: &'static str, hint: &str) -> Option<Field<'a>> {
    if spared.contains(&key) { reader.get(key) } else { reader.need(key, hint) }
}

fn unspoken(table: &Table) -> Vec<String> {
    let supplied = table.in_order().into_iter().filter(|(_, entry)| entry.node.preset.is_some());
    supplied.map(|(key, _)| key.to_owned()).collect()
}

/// Which failures are repeated.
fn repeated(reader: &Reader<'_>, spared: &[&str]) -> Option<Classification> {
    let remedy = r#"write "any" or a list such as [429, "5xx", "timeout", "connection"]"#;
    let named = required(reader, spared, "retry_on", remedy).and_then(|field| classification(&field));
    let obeys_should_retry = reader.or("obeys_should_retry", false, Field::truth);
    Some(Classification { obeys_should_retry: obeys_should_retry?, ..named? })
}

/// When a layer stops.
struct Stops {
    max_attempts: Option<u32>,
    by_kind: Vec<(Classification, u32)>,
    deadline: Option<Deadline>,
    at_both: bool,
}

fn stops(reader: &Reader<'_>, attempts: Option<&Field<'_>>) -> Option<Stops> {
    let max_attempts = attempts.and_then(self::attempts);
    let by_kind = reader.or("retries_by_kind", Vec::new(), |field| {
        by_kind(field, "limits", MOST_LIMITED, |reader| {
            let max = reader.need("max", "write how many of these failures are repeated, such as 2");
            max.and_then(|field| field.whole(0..=MOST_OF_A_KIND)).map(|max| max as u32)
        })
    });
    let deadline = deadline(reader);
    let at_both = reader.or("stops_at", false, |field| {
        let both = field.word(&[("first", false), ("both", true)])?;
        if both && max_attempts == Some(None) {
            return field.wrong("never stops: the attempts are unlimited", "write how many `max_attempts` there are");
        }
        Some(both)
    });
    needs_total(reader, "stops_at", at_both == Some(true), deadline)?;
    Some(Stops { max_attempts: max_attempts?, by_kind: by_kind?, deadline: deadline?, at_both: at_both? })
}

fn attempts(field: &Field<'_>) -> Read<Option<u32>> {
    if field.node.as_str() == Some("unlimited") {
        return Some(None);
    }
    if field.node.value == Value::Integer(0) {
        return field.must("be at least 1", "1 means no retry; the first try counts");
    }
    if field.node.as_str().is_some() {
        return field.must("be a number of attempts", r#"write a number such as 4, or "unlimited""#);
    }
    field.whole(1..=MOST_ATTEMPTS).map(|attempts| Some(attempts as u32))
}

fn deadline(reader: &Reader<'_>) -> Read<Option<Deadline>> {
    let total = reader.or("total_budget", None, limit);
    let checks = [
        ("before_wait", DeadlineCheck::BeforeWait),
        ("before_wait_strict", DeadlineCheck::BeforeWaitStrict),
        ("elapsed", DeadlineCheck::Elapsed),
        ("elapsed_cut", DeadlineCheck::ElapsedCut),
        ("before_attempt", DeadlineCheck::BeforeAttempt),
    ];
    let check = reader.or("budget_check", DeadlineCheck::BeforeWait, |field| field.word(&checks));
    if let (None, Some(field)) = (reader.get("total_budget"), reader.get("budget_check")) {
        reader.faults().add(without_total(&field));
        return None;
    }
    let check = check?;
    Some(total?.map(|total| Deadline { total, check }))
}

fn without_total(field: &Field<'_>) -> Fault {
    Fault::new(field.key, "says nothing without `total_budget`").hint("write the budget too")
}

/// Refuses a key that asks for a total time where the layer has none.
fn needs_total(reader: &Reader<'_>, key: &'static str, asks: bool, deadline: Read<Option<Deadline>>) -> Option<()> {
    if let (true, Some(None), Some(field)) = (asks, deadline, reader.get(key)) {
        reader.faults().add(without_total(&field));
        return None;
    }
    Some(())
}

/// How long a layer waits by itself.
struct Waits {
    backoff: Backoff,
    jitter: Jitter,
    by_kind: Vec<(Classification, Backoff)>,
    longest: Option<SimDuration>,
    cap: Option<SimDuration>,
}

fn waits(reader: &Reader<'_>) -> Option<Waits> {
    let backoff = reader.or("backoff", Backoff::None, waits::backoff);
    let jitter = reader.or("jitter", Jitter::None, waits::jitter);
    let by_kind = reader.or("backoff_by_kind", Vec::new(), |field| {
        by_kind(field, "backoffs", MOST_BACKOFFS, |reader| {
            let backoff = reader.need("backoff", r#"write the backoff after these failures, such as { fixed = "2s" }"#);
            backoff.and_then(|field| waits::backoff(&field))
        })
    });
    let longest = reader.or("longest_wait", None, limit);
    let cap =
        reader.or("wait_cap", None, |field| if field.is_none() { Some(None) } else { field.duration().map(Some) });
    let (backoff, jitter, by_kind) = (backoff?, jitter?, by_kind?);
    let mut backoffs = std::iter::once(&backoff).chain(by_kind.iter().map(|(_, backoff)| backoff));
    if backoffs.any(waits::has_own_jitter)
        && jitter != Jitter::None
        && let Some(field) = reader.get("jitter")
    {
        return field.wrong("is added to a backoff that is random by itself", "leave `jitter` out");
    }
    Some(Waits { backoff, jitter, by_kind, longest: longest?, cap: cap? })
}

/// What a layer makes of hints.
struct Hints {
    rule: HintRule,
    on: StatusSet,
    reset_backoff: bool,
    grammar: Option<HintGrammar>,
}

fn hints(reader: &Reader<'_>) -> Option<Hints> {
    let rule = reader.or("hint", HintRule::Ignore, hints::rule);
    let on = reader.or("hint_on", StatusSet::ERRORS, any_statuses);
    let reset_backoff = reader.or("hint_resets_backoff", false, Field::truth);
    let grammar = reader.maybe("hint_headers", hints::headers);
    let (rule, on, reset_backoff, grammar) = (rule?, on?, reset_backoff?, grammar?);
    if reset_backoff
        && rule == HintRule::Ignore
        && let Some(field) = reader.get("hint_resets_backoff")
    {
        reader.faults().add(Fault::new(field.key, "says nothing while hints are ignored").hint("write a `hint` too"));
        return None;
    }
    Some(Hints { rule, on, reset_backoff, grammar })
}

/// A limit in time; `"none"` switches off the one of a preset.
pub(super) fn limit(field: &Field<'_>) -> Read<Option<SimDuration>> {
    if field.is_none() { Some(None) } else { field.positive_duration().map(Some) }
}

fn hands_back(field: &Field<'_>) -> Option<HandsBack> {
    let reader = field.table("unretried and exhausted")?;
    let unretried = reader.or("unretried", StatusSet::EMPTY, responses);
    let exhausted = reader.or("exhausted", StatusSet::EMPTY, responses);
    reader.finish();
    Some(HandsBack { unretried: unretried?, exhausted: exhausted? })
}

/// The statuses whose responses are handed back: none, all, or those of a list.
fn responses(field: &Field<'_>) -> Option<StatusSet> {
    if field.node.as_array().is_some() {
        return any_statuses(field);
    }
    field.word(&[("error", StatusSet::EMPTY), ("response", StatusSet::ERRORS)])
}
