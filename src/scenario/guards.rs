//! Reading guards: breakers, pacers, semaphores, pools and size checks, each under a name that elements of clients refer
//! to.

use super::context::each;
use super::failures::{Failures, failures};
use super::provider::{bucket, counts};
use crate::document::{Field, Place};
use crate::policy::circuit_breaker::{BreakerCounts, WhenOpen};
use crate::policy::pacer::Slept;
use crate::policy::{
    CircuitBreaker, Guard, Mechanism, Outcome, OutcomeSet, Pacer, Scope, Semaphore, SizeCheck, WhenFull,
};
use crate::units::parse::LARGEST;

/// A guard with what cross checks need.
pub(super) struct ReadGuard {
    /// The settings.
    pub(super) guard: Guard,
    /// Where its scope is said, or where the guard stands.
    pub(super) scope: Place,
    /// Where the guard stands.
    pub(super) name: Place,
}

/// Reads all guards.
pub(super) fn guards(field: Option<&Field<'_>>) -> Vec<Option<ReadGuard>> {
    let Some(field) = field else { return Vec::new() };
    let Some(reader) = field.table("guards") else { return vec![None] };
    let guards = each(&reader, 64, "guards", guard);
    reader.finish();
    guards
}

fn guard(name: &str, field: &Field<'_>) -> Option<ReadGuard> {
    let reader = field.table("what it does, and a scope")?;
    let chosen = reader.only(&["breaker", "pacer", "semaphore", "pool", "size"]);
    let scopes = [Scope::Worker, Scope::Process, Scope::Class, Scope::Client, Scope::Global];
    let scope_field = reader.get("scope");
    let scope = match &scope_field {
        // Connections belong to a process.
        None if chosen.as_ref().is_some_and(|(word, _)| *word == "pool") => Some(Scope::Process),
        None => Some(Scope::Client),
        Some(field) => field.word(&scopes.map(|scope| (scope.word(), scope))),
    };
    let mechanism = match &chosen {
        None => None,
        Some(("breaker", field)) => breaker(field).map(Mechanism::Breaker),
        Some(("pacer", field)) => pacer(field).map(Mechanism::Pacer),
        Some(("semaphore", field)) => semaphore(field).map(Mechanism::Semaphore),
        Some(("pool", field)) => pool(field).map(Mechanism::Semaphore),
        Some((_, field)) => size(field).map(Mechanism::Size),
    };
    reader.finish();
    let place = scope_field.map_or(field.key, |field| field.place());
    Some(ReadGuard {
        guard: Guard { name: name.to_owned(), mechanism: mechanism?, scope: scope? },
        scope: place,
        name: field.key,
    })
}

fn breaker(field: &Field<'_>) -> Option<CircuitBreaker> {
    let reader = field.table("a breaker's settings")?;
    let words = [("responses", BreakerCounts::Responses), ("results", BreakerCounts::Results)];
    let counts = reader.need("counts", r#"write "responses" or "results""#).and_then(|field| field.word(&words));
    let of =
        reader.need("of", "write the failures that it counts, such as [529, 503]").and_then(|field| counted(&field));
    let last = reader.need("last", "write how many results it looks at, such as 20");
    let last = last.and_then(|field| field.whole(1..=4096));
    let minimum = match reader.get("minimum") {
        None => last,
        // Where `last` is wrong, any number up to its bound may be meant.
        Some(field) => field.whole(1..=last.unwrap_or(4096)),
    };
    let threshold = reader.need("threshold", r#"write the share above which it opens, such as "30%""#);
    let threshold = threshold.and_then(|field| match field.ratio()? {
        share if share < 1.0 => Some(share),
        _ => field.must("be below 1", "a breaker opens above its threshold, and no share is above 1"),
    });
    let open = reader.need("open", r#"write how long it stays open, such as "60s""#);
    let open = open.and_then(|field| field.positive_duration());
    let when_open = reader.need("when_open", r#"write "reject" or "hold""#);
    let when_open = when_open.and_then(|field| field.word(&[("reject", WhenOpen::Reject), ("hold", WhenOpen::Hold)]));
    let pauses = reader.or("pauses_workers", false, Field::truth);
    let probes = reader.or("probes", 1, |field| field.whole(0..=4096));
    let clear = reader.or("on_close", true, |field| field.word(&[("clear", true), ("keep", false)]));
    reader.finish();
    let (counts, of, last, minimum) = (counts?, of?, last?, minimum?);
    Some(CircuitBreaker {
        counts,
        statuses: of.statuses,
        outcomes: of.outcomes,
        last: last as u32,
        minimum: minimum as u32,
        threshold: threshold?,
        open: open?,
        when_open: when_open?,
        pauses_workers: pauses?,
        probes: probes? as u32,
        clear_on_close: clear?,
    })
}

/// The failures that a breaker counts.
fn counted(field: &Field<'_>) -> Option<Failures> {
    let of = failures(field)?;
    if of.outcomes.contains(Outcome::ShortCircuited) {
        return field.wrong("counts what a breaker itself refuses", "leave out \"short_circuited\"");
    }
    // As one of all timeouts it does no harm.
    let named =
        if of.outcomes.covers(OutcomeSet::TIMEOUTS) { of.outcomes.without(Outcome::PoolTimedOut) } else { of.outcomes };
    if let Some((_, word)) = Outcome::ALL.iter().find(|(one, _)| named.contains(*one) && !one.was_sent()) {
        return field
            .wrong("counts what is never sent, and says nothing about the provider", format!("leave out \"{word}\""));
    }
    Some(of)
}

fn pacer(field: &Field<'_>) -> Option<Pacer> {
    let reader = field.table("a pacer's settings")?;
    let counts = reader.need("counts", r#"write what is counted, such as "input_tokens""#).and_then(|f| counts(&f));
    let bucket = bucket(&reader);
    let when_empty = reader.or("when_empty", (), |field| field.word(&[("wait", ())]));
    let times = [("once", Slept::Once), ("twice", Slept::Twice)];
    let slept = reader.or("slept", Slept::Once, |field| field.word(&times));
    reader.finish();
    when_empty?;
    Some(Pacer { counts: counts?, bucket: bucket?, slept: slept? })
}

/// The most permits, and the most connections.
const MOST_PERMITS: u64 = 1_000_000;

fn semaphore(field: &Field<'_>) -> Option<Semaphore> {
    let reader = field.table("a semaphore's settings")?;
    let permits = reader.need("permits", "write how many may be past it at once, such as 10");
    let permits = permits.and_then(|field| field.whole(1..=MOST_PERMITS));
    let rejects = reader.or("when_full", false, |field| field.word(&[("wait", false), ("reject", true)]));
    let longest = reader.maybe("wait_at_most", |field| {
        if rejects == Some(true) {
            return field.wrong("is a wait, and nobody waits where `when_full` is \"reject\"", "keep one of them");
        }
        field.positive_duration()
    });
    reader.finish();
    let (permits, rejects, longest) = (permits?, rejects?, longest?);
    let when_full = if rejects { WhenFull::Reject } else { WhenFull::Wait(longest) };
    Some(Semaphore { permits: permits as u32, when_full, is_pool: false })
}

fn pool(field: &Field<'_>) -> Option<Semaphore> {
    let reader = field.table("a connection pool's settings")?;
    let connections = reader.need("connections", "write how many connections it has, such as 50");
    let connections = connections.and_then(|field| field.whole(1..=MOST_PERMITS));
    let timeout = reader.maybe("timeout", Field::positive_duration);
    reader.finish();
    Some(Semaphore { permits: connections? as u32, when_full: WhenFull::Wait(timeout?), is_pool: true })
}

fn size(field: &Field<'_>) -> Option<SizeCheck> {
    let reader = field.table("the largest size")?;
    let at_most = reader.need("at_most", r#"write the most input tokens of a request, such as "200k""#);
    let at_most = at_most.and_then(|field| field.whole(1..=LARGEST));
    reader.finish();
    Some(SizeCheck { at_most: at_most? })
}
