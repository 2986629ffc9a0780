//! What a guard does, in words.

use super::words;
use crate::policy::circuit_breaker::{BreakerCounts, WhenOpen};
use crate::policy::pacer::Slept;
use crate::policy::recovery::OpenTime;
use crate::policy::trip::{Evidence, ShareOf};
use crate::policy::{Guard, Mechanism, Scope};

fn open_time(open: &OpenTime) -> String {
    let first = words::duration(open.first);
    if open.factor > 1.0 { format!("{first} and longer, {} at most", words::duration(open.cap)) } else { first }
}

/// What a guard does with whoever comes.
pub(super) fn guard_words(guard: &Guard) -> String {
    let scope = match guard.scope {
        Scope::Call | Scope::Run | Scope::Task | Scope::Worker | Scope::Process | Scope::Class | Scope::Client => {
            format!("one per {}", guard.scope.word())
        }
        Scope::Global => "one for all".into(),
    };
    match &guard.mechanism {
        Mechanism::Breaker(breaker) => {
            let counted = match (breaker.trip.share_of, breaker.counts) {
                (ShareOf::Calls, _) => "calls",
                (ShareOf::Results, BreakerCounts::Responses) => "responses",
                (ShareOf::Results, BreakerCounts::Results) => "results",
            };
            let open = match breaker.when_open {
                WhenOpen::Reject => "rejects",
                WhenOpen::Hold => "holds",
            };
            let trip = &breaker.trip;
            let bound = if trip.at_threshold { "from" } else { "above" };
            let share = format!("{bound} {}", words::percent(trip.threshold));
            let when = match trip.evidence {
                Evidence::Consecutive(n) => format!("after {n} failures in a row among {counted}"),
                Evidence::Last(last) => format!("{share} of the last {last} {counted}"),
                Evidence::Within(slots) => format!("{share} of the {counted} of {}", words::duration(slots.time)),
                Evidence::Average(slots) => {
                    format!("{share} of an average of {} over {counted}", words::duration(slots.time))
                }
            };
            let then = super::adaptive::then_ramps(breaker.ramp);
            format!("opens {when}, {open} for {}{then}; {scope}", open_time(&breaker.open))
        }
        Mechanism::Pacer(pacer) => {
            let counted = pacer.counts.word().replace('_', " ");
            let (amount, per) = (words::count(pacer.bucket.amount()), words::duration(pacer.bucket.per()));
            let rest = match pacer.slept {
                Slept::Log => {
                    return format!("lets at most {amount} {counted} start within any {per}, the rest waits; {scope}");
                }
                Slept::Once => ", the rest waits",
                Slept::Warms(_) => ", a third as many at first and after a pause, the rest waits",
                Slept::AsksAgain => ", the rest asks again when there should be enough, whoever comes first",
                Slept::Steps(_) => ", all at once, the rest waits",
                Slept::Twice => " (twice as many while callers wait, whose sleep it credits twice), the rest waits",
            };
            format!("lets {amount} {counted} pass in {per}{rest}; {scope}")
        }
        Mechanism::Semaphore(semaphore) => {
            let (what, error) = if semaphore.is_pool { ("connection", "pool timeout") } else { ("permit", "refusal") };
            let permits = words::counted(u64::from(semaphore.permits), what);
            let rest = super::concurrency::without_permit(semaphore, error);
            format!("{permits}, held until the result is back, {rest}; {scope}")
        }
        Mechanism::Size(check) => format!("refuses requests of more than {} input tokens", words::count(check.at_most)),
        Mechanism::Throttle(throttle) => format!(
            "refuses by chance while the last {} saw more than {} requests for each accepted one; {scope}",
            words::duration(throttle.window.time),
            throttle.k
        ),
        Mechanism::Concurrency(_) | Mechanism::Rate(_) | Mechanism::Gate(_) | Mechanism::Deployments(_) => {
            format!("{}; {scope}", super::adaptive::words(&guard.mechanism))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Semaphore, SizeCheck, WhenFull};
    use crate::units::SimDuration;

    #[test]
    fn guards_say_what_they_bound_and_what_becomes_of_the_rest() {
        let said = |mechanism| guard_words(&Guard { name: "g".into(), mechanism, scope: Scope::Process });
        let semaphore =
            |when_full, is_pool| Mechanism::Semaphore(Semaphore { permits: 10, when_full, line: None, is_pool });
        let five = SimDuration::from_secs(5);
        assert_eq!(
            said(semaphore(WhenFull::Wait(None), false)),
            "10 permits, held until the result is back, the rest waits in line; one per process"
        );
        assert_eq!(
            said(semaphore(WhenFull::Reject, false)),
            "10 permits, held until the result is back, refuses the rest at once; one per process"
        );
        assert_eq!(
            said(semaphore(WhenFull::Wait(Some(five)), true)),
            "10 connections, held until the result is back, the rest waits in line, 5 s at most, then a pool timeout; one \
             per process"
        );
        assert_eq!(
            said(Mechanism::Size(SizeCheck { at_most: 200_000 })),
            "refuses requests of more than 200,000 input tokens"
        );
    }
}
