//! Reading a circuit breaker.

use super::adaptive_guards::ramp;
use super::context::Read;
use super::failures::{Failures, failures};
use super::spoken::spoken;
use crate::document::{Field, Reader};
use crate::policy::circuit_breaker::{BreakerCounts, WhenOpen};
use crate::policy::recovery::{HalfOpen, Late, OnClose, OpenTime, Others};
use crate::policy::slots::Slots;
use crate::policy::trip::{Evidence, ShareOf, Trip, WarmUp};
use crate::policy::{CircuitBreaker, Outcome, OutcomeSet};
use crate::preset::breakers;
use crate::units::SimDuration;

/// What a breaker can look at.
const EVIDENCE: [&str; 4] = ["last", "within", "average", "consecutive"];

/// The most results that can be asked for in a window of time.
const MOST_RESULTS: u64 = 1_000_000;

/// A breaker's settings: general keys, or the words of a preset with general keys beside them.
pub(super) fn breaker(field: &Field<'_>) -> Option<CircuitBreaker> {
    let Some(mut spoken) = spoken(field, breakers::find)? else {
        return settings(field.table("a breaker's settings")?);
    };
    let table = &mut spoken.table;
    // What the file says to look at stands in place of what the library looks at by default.
    let is_own = |key: &str, own: bool| table.get(key).is_some_and(|entry| entry.node.preset.is_none() == own);
    if EVIDENCE.iter().any(|key| is_own(key, true)) {
        let of_preset: Vec<&str> = EVIDENCE.into_iter().filter(|key| is_own(key, false)).collect();
        for key in of_preset {
            table.remove(key);
        }
    }
    settings(spoken.reader(field))
}

fn settings(reader: Reader<'_>) -> Option<CircuitBreaker> {
    let words = [("responses", BreakerCounts::Responses), ("results", BreakerCounts::Results)];
    let counts = reader.need("counts", r#"write "responses" or "results""#).and_then(|field| field.word(&words));
    let of =
        reader.need("of", "write the failures that it counts, such as [529, 503]").and_then(|field| counted(&field));
    let trip = trip(&reader, counts);
    let open = reader.need("open", r#"write how long it stays open, such as "60s""#);
    let open = open.and_then(|field| open_time(&field));
    let end_included = reader.or("open_until", false, |field| field.word(&[("end", false), ("after_end", true)]));
    let when_open = reader.need("when_open", r#"write "reject" or "hold""#);
    let when_open = when_open.and_then(|field| field.word(&[("reject", WhenOpen::Reject), ("hold", WhenOpen::Hold)]));
    let pauses = reader.or("pauses_workers", false, Field::truth);
    let gates = reader.or("gates", false, |field| field.word(&[("all", false), ("retries", true)]));
    if let (Some(true), Some(true), Some(field)) = (gates, pauses, reader.get("pauses_workers")) {
        return field.wrong("keeps workers from first requests, and `gates` is \"retries\"", "leave one of them out");
    }
    let half_open = half_open(&reader, when_open);
    let late = late(&reader, counts);
    let words = [("clear", OnClose::Clear), ("keep", OnClose::Keep), ("count_probe", OnClose::CountProbe)];
    let on_close = reader.or("on_close", OnClose::Clear, |field| field.word(&words));
    let hides = reader.or("last_failure", false, |field| {
        let hides = field.word(&[("shown", false), ("short_circuited", true)])?;
        if hides { by_results(field, counts).map(|()| true) } else { Some(false) }
    });
    let ramp = reader.maybe("ramp", ramp);
    reader.finish();
    let of = of?;
    Some(CircuitBreaker {
        counts: counts?,
        statuses: of.statuses,
        outcomes: of.outcomes,
        trip: trip?,
        open: OpenTime { end_included: end_included?, ..open? },
        when_open: when_open?,
        gates_retries: gates?,
        pauses_workers: pauses?,
        half_open: half_open?,
        late: late?,
        on_close: on_close?,
        hides_the_last_failure: hides?,
        ramp: ramp?,
    })
}

/// The failures that a breaker or a throttle counts.
pub(super) fn counted(field: &Field<'_>) -> Option<Failures> {
    let of = failures(field)?;
    if of.outcomes.contains(Outcome::ShortCircuited) {
        return field.wrong("counts what a guard itself refuses", "leave out \"short_circuited\"");
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

/// What a key asks for can only be seen where results pass the breaker's place.
fn by_results(field: &Field<'_>, counts: Option<BreakerCounts>) -> Option<()> {
    if counts == Some(BreakerCounts::Responses) {
        return field.wrong("needs a breaker that sees every call come and go", r#"write `counts = "results"`"#);
    }
    Some(())
}

/// When it opens.
fn trip(reader: &Reader<'_>, counts: Option<BreakerCounts>) -> Option<Trip> {
    let there: Vec<&str> = EVIDENCE.into_iter().filter(|key| reader.get(key).is_some()).collect();
    if there.is_empty() {
        reader.need("last", "write how many results it looks at, such as 20, or `within`, `average` or `consecutive`");
        reader.knows(&["minimum", "threshold", "buckets", "buckets_move", "share_of", "checked", "at_threshold"]);
    }
    let chosen = if there.is_empty() { None } else { reader.only(&EVIDENCE) };
    let warm_up = warm_up(reader);
    if let Some(("consecutive", field)) = chosen {
        let most = field.whole(1..=MOST_RESULTS);
        for key in ["minimum", "threshold", "buckets", "buckets_move", "share_of", "checked", "at_threshold"] {
            if let Some(field) = reader.get(key).filter(|field| field.node.preset.is_none()) {
                field.wrong::<()>("is of a share, and `consecutive` looks at none", "keep one of them");
            }
        }
        return Some(Trip { evidence: Evidence::Consecutive(most? as u32), warm_up: warm_up?, ..Trip::share(1, 0.0) });
    }
    let last = chosen.as_ref().filter(|(key, _)| *key == "last").map(|(_, field)| field.whole(1..=4096));
    let minimum = match (reader.get("minimum"), last) {
        // Where `last` is wrong, any number up to its bound may be meant.
        (Some(field), Some(last)) => field.whole(1..=last.unwrap_or(4096)),
        (Some(field), None) => field.whole(1..=MOST_RESULTS),
        (None, Some(last)) => last,
        (None, None) => Some(1),
    };
    let words = [("stays_closed", false), ("opens", true)];
    let at_threshold = reader.or("at_threshold", false, |field| field.word(&words));
    let threshold = reader.need("threshold", r#"write the share above which it opens, such as "30%""#);
    let threshold = threshold.and_then(|field| match field.ratio()? {
        share if share < 1.0 || at_threshold == Some(true) => Some(share),
        _ => field.must("be below 1", "a breaker opens above its threshold, and no share is above 1"),
    });
    let by_failures_only =
        reader.or("checked", false, |field| field.word(&[("any_result", false), ("failures", true)]));
    let share_of = reader.or("share_of", ShareOf::Results, |field| {
        let share_of = field.word(&[("results", ShareOf::Results), ("calls", ShareOf::Calls)])?;
        if share_of == ShareOf::Calls {
            if chosen.as_ref().is_some_and(|(key, _)| *key != "within") {
                return field
                    .wrong("counts calls, which needs a window of time", "write `within`, or count \"results\"");
            }
            by_results(field, counts)?;
        }
        Some(share_of)
    });
    let evidence = match &chosen {
        Some(("last", _)) => last.flatten().map(|last| Evidence::Last(last as u32)),
        Some((key, field)) => {
            let slots = slots(reader, field);
            if *key == "within" { slots.map(Evidence::Within) } else { slots.map(Evidence::Average) }
        }
        None => None,
    };
    for key in ["buckets", "buckets_move"] {
        if let (Some(("last", _)), Some(field)) = (&chosen, reader.get(key))
            && field.node.preset.is_none()
        {
            field.wrong::<()>("is of a window of time, and `last` has none", "keep one of them");
        }
    }
    Some(Trip {
        evidence: evidence?,
        minimum: minimum? as u32,
        threshold: threshold?,
        at_threshold: at_threshold?,
        by_failures_only: by_failures_only?,
        share_of: share_of?,
        warm_up: warm_up?,
    })
}

/// A window of time.
fn slots(reader: &Reader<'_>, time: &Field<'_>) -> Option<Slots> {
    let time = time.positive_duration();
    let number = reader.or("buckets", 10, |field| field.whole(1..=u64::from(Slots::MOST)));
    let words = [("with_time", true), ("with_results", false)];
    let move_with_time = reader.or("buckets_move", true, |field| field.word(&words));
    Some(Slots { time: time?, number: number? as u32, move_with_time: move_with_time? })
}

fn warm_up(reader: &Reader<'_>) -> Read<Option<WarmUp>> {
    let time = reader.maybe("warm_up", Field::positive_duration);
    let again = reader.or("warms_up", false, |field| {
        let again = field.word(&[("once", false), ("after_closing", true)])?;
        if time == Some(None) {
            return field.wrong("says nothing without `warm_up`", "write `warm_up` too");
        }
        Some(again)
    });
    let again = again?;
    Some(time?.map(|time| WarmUp { time, again }))
}

/// How long it stays open: always as long, or longer from failed probe to failed probe.
fn open_time(field: &Field<'_>) -> Option<OpenTime> {
    if field.node.as_table().is_none() {
        return field.positive_duration().map(OpenTime::fixed);
    }
    let reader = field.table("first, factor and cap")?;
    let first = reader.need("first", r#"write how long it is open at first, such as "10s""#);
    let first = first.and_then(|field| field.positive_duration());
    let factor = reader.or("factor", 2.0, |field| field.number(1.0..=1_000.0));
    let cap = reader.or("cap", SimDuration::MAX, |field| {
        let cap = field.positive_duration()?;
        if first.is_some_and(|first| first > cap) {
            return field.wrong("is shorter than `first`", "write a longer `cap`");
        }
        Some(cap)
    });
    reader.finish();
    Some(OpenTime { factor: factor?, cap: cap?, ..OpenTime::fixed(first?) })
}

fn half_open(reader: &Reader<'_>, when_open: Option<WhenOpen>) -> Option<HalfOpen> {
    let probes = reader.or("probes", 1, |field| field.whole(0..=4096));
    let words = [("reject", Others::Reject), ("wait", Others::Wait), ("pass", Others::Pass)];
    let others = reader.maybe("others", |field| {
        let others = field.word(&words)?;
        if probes == Some(0) {
            return field.wrong("is for a half-open breaker, and without `probes` none is", "keep one of them");
        }
        Some(others)
    });
    let at_once = reader.maybe("at_once", |field| {
        if others == Some(Some(Others::Pass)) {
            return field.wrong("bounds the probes, and all the `others` pass too", "keep one of them");
        }
        field.whole(1..=probes.unwrap_or(4096).max(1))
    });
    let probes = probes? as u32;
    let half_open = HalfOpen::with(probes, when_open?);
    let at_once = at_once?.map_or(probes, |at_once| at_once as u32);
    Some(HalfOpen { at_once, others: others?.unwrap_or(half_open.others), ..half_open })
}

fn late(reader: &Reader<'_>, counts: Option<BreakerCounts>) -> Option<Late> {
    let failure = reader.or("late_failure", false, |field| field.word(&[("ignored", false), ("restarts", true)]));
    let probe = reader.or("late_probe", false, |field| {
        let decides = field.word(&[("ignored", false), ("decides", true)])?;
        if decides { by_results(field, counts).map(|()| true) } else { Some(false) }
    });
    Some(Late { failure_restarts: failure?, probes_decide: probe? })
}
