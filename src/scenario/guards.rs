//! Reading guards: breakers, pacers, semaphores, pools, size checks, throttles, adaptive limits and rates, and gates, each under a
//! name that elements of clients refer to.

use super::adaptive_guards::{concurrency, gate, rate};
use super::breaker::{breaker, counted};
use super::context::{Context, each};
use super::delivery::or_none;
use super::deployments::deployments;
use super::provider::{bucket, counts};
use super::scopes::{check_guard, guard_scope};
use crate::document::{Field, Place, Reader};
use crate::policy::cold_start::ColdStart;
use crate::policy::pacer::{Counts, Slept, Steps};
use crate::policy::slots::Slots;
use crate::policy::{AdaptiveThrottle, Guard, Mechanism, Pacer, Scope, Semaphore, SizeCheck, WhenFull};
use crate::units::{SimDuration, parse::LARGEST};

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
pub(super) fn guards(field: Option<&Field<'_>>, context: &Context<'_>) -> Vec<Option<ReadGuard>> {
    let Some(field) = field else { return Vec::new() };
    let Some(reader) = field.table("guards") else { return vec![None] };
    let guards = each(&reader, 64, "guards", |name, field| guard(name, field, context));
    reader.finish();
    guards
}

/// What a guard can be.
const KINDS: [&str; 10] =
    ["breaker", "pacer", "semaphore", "pool", "size", "throttle", "concurrency", "gate", "rate", "deployments"];

fn guard(name: &str, field: &Field<'_>, context: &Context<'_>) -> Option<ReadGuard> {
    let reader = field.table("what it does, and a scope")?;
    let chosen = reader.only(&KINDS);
    let scope_field = reader.get("scope");
    let scope = match &scope_field {
        // Connections belong to a process.
        None if chosen.as_ref().is_some_and(|(word, _)| *word == "pool") => Some(Scope::Process),
        None => Some(Scope::Client),
        Some(field) => guard_scope(field),
    };
    let mechanism = match &chosen {
        None => None,
        Some(("breaker", field)) => breaker(field).map(Mechanism::Breaker),
        Some(("pacer", field)) => pacer(field).map(Mechanism::Pacer),
        Some(("semaphore", field)) => semaphore(field).map(Mechanism::Semaphore),
        Some(("pool", field)) => pool(field).map(Mechanism::Semaphore),
        Some(("size", field)) => size(field).map(Mechanism::Size),
        Some(("concurrency", field)) => concurrency(field).map(Mechanism::Concurrency),
        Some(("rate", field)) => rate(field).map(Mechanism::Rate),
        Some(("gate", field)) => gate(field).map(Mechanism::Gate),
        Some(("deployments", field)) => deployments(field, context).map(Mechanism::Deployments),
        Some((_, field)) => throttle(field).map(Mechanism::Throttle),
    };
    reader.finish();
    let place = scope_field.map_or(field.key, |field| field.place());
    if let (Some(mechanism), Some(scope)) = (&mechanism, scope) {
        check_guard(mechanism, scope, place, field.faults());
    }
    Some(ReadGuard {
        guard: Guard { name: name.to_owned(), mechanism: mechanism?, scope: scope? },
        scope: place,
        name: field.key,
    })
}

/// How the tokens of a pacer flow in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Even,
    Steps,
    Log,
}

fn pacer(field: &Field<'_>) -> Option<Pacer> {
    let reader = field.table("a pacer's settings")?;
    let counts = reader.need("counts", r#"write what is counted, such as "input_tokens""#).and_then(|f| counts(&f));
    let bucket = bucket(&reader);
    let asks_again = reader.or("when_empty", false, |field| field.word(&[("wait", false), ("ask_again", true)]));
    let times = [("once", Slept::Once), ("twice", Slept::Twice)];
    let slept = reader.or("slept", Slept::Once, |field| field.word(&times));
    let words = [("even", Flow::Even), ("steps", Flow::Steps), ("log", Flow::Log)];
    let flow = reader.or("flow", Flow::Even, |field| field.word(&words));
    if let (Some(Flow::Log), Some(field)) = (flow, reader.get("capacity")) {
        return field.wrong("is of a bucket, and a log holds its amount", "leave it out");
    }
    if let (Some(Flow::Log), Some(field)) = (flow, reader.get("flow"))
        && counts.is_some_and(|counts| counts != Counts::Requests)
    {
        return field.wrong("is a log of requests", r#"write `counts = "requests"`, or another `flow`"#);
    }
    let of_steps = |field: &Field<'_>| {
        if flow.is_some_and(|flow| flow != Flow::Steps) {
            return field.wrong("is of a bucket that is filled in steps", r#"write `flow = "steps"`, or leave it out"#);
        }
        Some(())
    };
    let starts_with = reader.maybe("starts_with", |field| {
        of_steps(field)?;
        let most = bucket.map_or(LARGEST, |bucket| bucket.capacity_whole());
        field.whole(0..=most)
    });
    let from_first = reader.or("aligned", false, |field| {
        of_steps(field)?;
        field.word(&[("clock", false), ("first_request", true)])
    });
    if let (Some(Flow::Steps | Flow::Log), Some(Slept::Twice), Some(field)) = (flow, slept, reader.get("slept")) {
        field.wrong::<()>("is of a bucket that flows evenly", "leave it out")?;
    }
    if let (Some(true), Some(field)) = (asks_again, reader.get("when_empty"))
        && (flow != Some(Flow::Even) || slept == Some(Slept::Twice))
    {
        field.wrong::<()>("is of a plain bucket", "leave `flow` and `slept` out")?;
    }
    let warms = reader.maybe("warm_up", |field| {
        let over = field.positive_duration()?;
        for key in ["flow", "slept", "when_empty", "capacity"] {
            if let Some(field) = reader.get(key) {
                field.wrong::<()>("is of a bucket, and a pacer that warms up has none", "keep one of them");
            }
        }
        Some(ColdStart { over })
    });
    reader.finish();
    let steps = Steps { starts_with: starts_with?, from_first: from_first? };
    let slept = match (flow?, asks_again?) {
        (Flow::Steps, _) => Slept::Steps(steps),
        (Flow::Log, _) => Slept::Log,
        (_, true) => Slept::AsksAgain,
        _ => slept?,
    };
    let slept = warms?.map_or(slept, Slept::Warms);
    Some(Pacer { counts: counts?, bucket: bucket?, slept })
}

/// The most permits, and the most connections.
pub(super) const MOST_PERMITS: u64 = 1_000_000;

fn semaphore(field: &Field<'_>) -> Option<Semaphore> {
    let reader = field.table("a semaphore's settings")?;
    let permits = reader.need("permits", "write how many may be past it at once, such as 10");
    let permits = permits.and_then(|field| field.whole(1..=MOST_PERMITS));
    let waits = without_permit(&reader);
    reader.finish();
    let (permits, (when_full, line)) = (permits?, waits?);
    Some(Semaphore { permits: permits as u32, when_full, line, is_pool: false })
}

/// Reads what becomes of those who find no permit: what is done with them, and how many may stand in line.
pub(super) fn without_permit(reader: &Reader<'_>) -> Option<(WhenFull, Option<u32>)> {
    let rejects = reader.or("when_full", false, |field| field.word(&[("wait", false), ("reject", true)]));
    let longest = reader.or("wait_at_most", None, |field| {
        if rejects == Some(true) && !field.is_none() {
            return field.wrong("is a wait, and nobody waits where `when_full` is \"reject\"", "keep one of them");
        }
        or_none(field, Field::positive_duration)
    });
    let line = reader.or("line_at_most", None, |field| {
        if rejects == Some(true) && !field.is_none() {
            return field
                .wrong("is a line, and nobody stands in one where `when_full` is \"reject\"", "keep one of them");
        }
        or_none(field, |field| field.whole(1..=MOST_PERMITS))
    });
    let line_full = line_full(reader, longest.flatten(), line.flatten().is_some());
    longest?;
    let (rejects, line, line_full) = (rejects?, line?, line_full?);
    let when_full = if rejects { WhenFull::Reject } else { line_full };
    Some((when_full, line.map(|line| line as u32)))
}

/// Reads what happens when somebody comes to a full line, in which people wait so long at most.
fn line_full(reader: &Reader<'_>, longest: Option<SimDuration>, has_line: bool) -> Option<WhenFull> {
    let block_for = reader.maybe("block_for", Field::positive_duration);
    let words = [("refuse", ""), ("drop_first", "drop_first"), ("block", "block")];
    let field = reader.get("line_full");
    let word = field.as_ref().map_or(Some(""), |field| field.word(&words));
    if let (Some(field), Some("drop_first" | "block")) = (&field, word) {
        if !has_line {
            return field.wrong("is of a line that can be full", "write `line_at_most` too, such as 100");
        }
        if longest.is_some() {
            return field.wrong("is a line in which nobody gives up", "leave `wait_at_most` out");
        }
    }
    match (word?, block_for?, reader.get("block_for")) {
        ("block", Some(penalty), _) => Some(WhenFull::Block(penalty)),
        ("block", None, _) => field?.wrong("refuses everybody for a while", r#"write `block_for` too, such as "5s""#),
        (_, Some(_), Some(field)) => field.wrong("is of a line that blocks", r#"write `line_full = "block"`"#),
        ("drop_first", ..) => Some(WhenFull::DropFirst),
        _ => Some(WhenFull::Wait(longest)),
    }
}

fn pool(field: &Field<'_>) -> Option<Semaphore> {
    let reader = field.table("a connection pool's settings")?;
    let connections = reader.need("connections", "write how many connections it has, such as 50");
    let connections = connections.and_then(|field| field.whole(1..=MOST_PERMITS));
    let timeout = reader.or("timeout", None, |field| or_none(field, Field::positive_duration));
    reader.finish();
    Some(Semaphore { permits: connections? as u32, when_full: WhenFull::Wait(timeout?), line: None, is_pool: true })
}

fn throttle(field: &Field<'_>) -> Option<AdaptiveThrottle> {
    let reader = field.table("a throttle's settings")?;
    let of = reader.need("of", "write the failures that are no acceptance, such as [503, 529]");
    let of = of.and_then(|field| counted(&field));
    let k = reader.or("k", 2.0, |field| field.number(1.0..=1_000.0));
    let time = reader.or("within", SimDuration::from_mins(2), Field::positive_duration);
    let number = reader.or("buckets", 10, |field| field.whole(1..=u64::from(Slots::MOST)));
    reader.finish();
    let of = of?;
    let window = Slots { time: time?, number: number? as u32, move_with_time: true };
    Some(AdaptiveThrottle { statuses: of.statuses, outcomes: of.outcomes, k: k?, window })
}

fn size(field: &Field<'_>) -> Option<SizeCheck> {
    let reader = field.table("the largest size")?;
    let at_most = reader.need("at_most", r#"write the most input tokens of a request, such as "200k""#);
    let at_most = at_most.and_then(|field| field.whole(1..=LARGEST));
    reader.finish();
    Some(SizeCheck { at_most: at_most? })
}
