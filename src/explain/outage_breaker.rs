//! How many requests pass a circuit breaker in an outage: the failures that open it, those that are under way then, and
//! from then on what it lets through to try.

use super::outage::{Bound, OUTAGE, Sharing, of_all};
use super::outage_adaptive::uncounted;
use super::words;
use crate::policy::CircuitBreaker;
use crate::policy::answer::Answer;
use crate::policy::circuit_breaker::BreakerCounts;
use crate::policy::recovery::{OnClose, Others};
use crate::policy::trip::{Evidence, Trip};
use crate::provider::Fault;

/// What a breaker bounds behind which a call can become so many requests.
pub(super) fn breaker(
    seen: &[(&Fault, Option<Answer>)],
    name: &str,
    breaker: &CircuitBreaker,
    sharing: Sharing,
    inside: Option<u64>,
) -> Bound {
    let bound = |words: String| Bound::of(name, "breaker", sharing.instances, words);
    if breaker.gates_retries {
        return bound(format!("`{name}` holds retries back and no first try"));
    }
    if let Some(fault) = uncounted(seen, |answer| breaker.is_failure(answer)) {
        return bound(format!(
            "`{name}` need not open in `{}`: it does not count all that its clients see of it",
            fault.name
        ));
    }
    let Some(inside) = inside else {
        return bound(format!("`{name}` stands outside of requests without end"));
    };
    let opening = Opening::of(&breaker.trip);
    let Some(again) = opening.again.filter(|_| !breaker.trip.warm_up.as_ref().is_some_and(|warm_up| warm_up.again))
    else {
        return bound(format!("`{name}` need not open at all"));
    };
    let open = breaker.open.first.min(breaker.open.cap);
    if open.is_zero() {
        return bound(format!("`{name}` is open for no time"));
    }
    // Each caller that is past its place when it opens may send all that is inside.
    let under_way = |failures: u64| {
        let others = sharing.callers? * inside;
        Some(match breaker.counts {
            BreakerCounts::Responses => failures + others - 1,
            BreakerCounts::Results => failures * inside + others - inside,
        })
    };
    let times = (OUTAGE.as_secs_f64() / open.as_secs_f64()).ceil();
    let probes = match breaker.half_open.others {
        _ if breaker.half_open.probes == 0 => None,
        Others::Pass => Some(sharing.callers),
        Others::Reject | Others::Wait => Some(Some(u64::from(breaker.half_open.at_once.min(breaker.half_open.probes)))),
    };
    let each = match probes {
        Some(at_once) => at_once.map(|at_once| at_once * inside),
        None => under_way(if breaker.on_close == OnClose::Keep { again.min(1) } else { again }),
    };
    let first = opening.first.and_then(under_way);
    let requests = first.zip(each).filter(|_| !sharing.dies).map(|(first, each)| first as f64 + times * each as f64);
    let said_first = match (opening.first, first) {
        (Some(failures), Some(first)) => format!(
            "{} ({} that fail, and what {} can still send)",
            words::counted(first, "request"),
            words::count(failures),
            words::counted(sharing.callers.unwrap_or(0), "caller")
        ),
        (Some(failures), None) => {
            format!("{} that fail, and what is under way then,", words::counted(failures, "request"))
        }
        (None, _) => {
            format!("as many as make up {} of what it remembers", words::percent(breaker.trip.threshold))
        }
    };
    let open = words::duration(open);
    let then = match each {
        Some(each) if probes.is_some() => {
            format!("then lets {} pass after each {open}", words::counted(each, "request"))
        }
        Some(each) => format!("closes after {open}, each time for {}", words::counted(each, "request")),
        None if probes.is_some() => format!("then lets all pass that come at the end of each {open}"),
        None => format!("closes after each {open} for {} that fail, and what is under way then", words::count(again)),
    };
    let whole = requests
        .map_or_else(String::new, |requests| format!(": {} in {}", of_all(requests, sharing), words::duration(OUTAGE)));
    let whole = if sharing.dies { "; it begins anew where it dies with its process".to_owned() } else { whole };
    let said = format!("`{name}` opens after {said_first} and {then}{whole}");
    Bound { requests: requests.map(|requests| requests * sharing.instances as f64), ..bound(said) }
}

/// How many failures open a breaker.
struct Opening {
    /// When everything went well before; `None` where that depends on how much it was.
    first: Option<u64>,
    /// When it has just closed; `None` where nothing opens it.
    again: Option<u64>,
}

impl Opening {
    fn of(trip: &Trip) -> Opening {
        let can_open = trip.threshold < 1.0 || trip.at_threshold;
        let minimum = u64::from(trip.minimum.max(1));
        match trip.evidence {
            Evidence::Consecutive(failures) => {
                let failures = Some(u64::from(failures.max(1)));
                Opening { first: failures, again: failures }
            }
            Evidence::Last(last) => {
                let share = trip.threshold * f64::from(last);
                let failures = if trip.at_threshold { share.ceil() } else { share.floor() + 1.0 };
                let first = (failures as u64).max(minimum).max(1);
                Opening { first: Some(first).filter(|_| can_open), again: Some(minimum).filter(|_| can_open) }
            }
            Evidence::Within(_) | Evidence::Average(_) => {
                Opening { first: None, again: Some(minimum).filter(|_| can_open) }
            }
        }
    }
}
