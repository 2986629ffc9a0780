//! How many requests pass a gate or an adaptive rate in an outage. Both hear of it from its answers alone: where these are
//! none that they count, they bound nothing.

use super::outage::{Bound, OUTAGE, Sharing, amount, of_all};
use super::words;
use crate::policy::answer::Answer;
use crate::policy::{Client, CubicRate, SharedGate};
use crate::provider::Fault;
use crate::random::math::ln;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// The faults that make an outage: those that strike at least half of the class's requests while they last.
fn outages<'s>(scenario: &'s Scenario, class: &TrafficClass) -> impl Iterator<Item = &'s Fault> + use<'s> {
    let class = scenario.traffic.iter().position(|other| other.name == class.name);
    let faults = scenario.provider.faults.iter();
    faults.filter(move |fault| class.is_some_and(|class| fault.peak(class) >= 0.5))
}

/// All that a client may see of an outage: what each fault answers, and a timeout where the client may not wait for that.
pub(super) fn seen<'s>(
    scenario: &'s Scenario,
    class: &TrafficClass,
    client: &Client,
) -> Vec<(&'s Fault, Option<Answer>)> {
    let mut all = Vec::new();
    for fault in outages(scenario, class) {
        let answer = fault.respond.answer();
        let time = fault.respond.after().filter(|_| answer.is_some());
        // Six deviations above the mean, as good as nothing takes longer.
        let longest = time.map_or(f64::INFINITY, |after| after.mean() + 6.0 * after.variance().sqrt());
        let leaves = client.innermost_timeout().is_some_and(|limit| limit.as_secs_f64() <= longest);
        all.extend(answer.map(|answer| (fault, Some(answer))));
        if leaves {
            all.push((fault, Some(Answer::TIMED_OUT)));
        } else if answer.is_none() {
            all.push((fault, None));
        }
    }
    all
}

/// The fault of which something that a client may see does not count.
pub(super) fn uncounted<'s>(
    seen: &[(&'s Fault, Option<Answer>)],
    counts: impl Fn(&Answer) -> bool,
) -> Option<&'s Fault> {
    seen.iter().find(|(_, answer)| !answer.as_ref().is_some_and(&counts)).map(|(fault, _)| *fault)
}

/// What a gate bounds behind which a call can become so many requests.
///
/// Whoever passes an open gate and fails closes it, so that each caller passes once before each closing.
pub(super) fn gate(
    seen: &[(&Fault, Option<Answer>)],
    name: &str,
    gate: &SharedGate,
    sharing: Sharing,
    inside: Option<u64>,
) -> Bound {
    let bound = |words: String| Bound::of(name, "gate", sharing.instances, words);
    let mut shortest = None;
    for (fault, answer) in seen {
        let Some(time) = answer.and_then(|answer| gate.closes_for(&answer)) else {
            return bound(format!(
                "`{name}` may stay open in `{}`: not all that its clients see of it closes it",
                fault.name
            ));
        };
        shortest = Some(shortest.map_or(time, |shortest: SimDuration| shortest.min(time)));
    }
    let closed = shortest.unwrap_or(gate.time.min(gate.at_most));
    let Some(inside) = inside else {
        return bound(format!("`{name}` stands outside of requests without end"));
    };
    let lasts = words::duration(closed);
    let Some(callers) = sharing.callers else {
        return bound(format!(
            "`{name}` lets nobody pass for {lasts} after each answer that closes it; how many turns come before the first \
             answer to those that pass then, nothing bounds"
        ));
    };
    if sharing.dies {
        return bound(format!(
            "`{name}` is closed for {lasts} at a time, and begins anew where it dies with its process"
        ));
    }
    let each = callers * inside;
    let times = (OUTAGE.as_secs_f64() / closed.as_secs_f64()).ceil();
    let requests = each as f64 * times;
    let words = format!(
        "`{name}` closes for {lasts} at the first answer of those that pass; until then each of {} sends at most {}: {} in \
         {}",
        words::counted(callers, "caller"),
        words::counted(inside, "request"),
        of_all(requests, sharing),
        words::duration(OUTAGE)
    );
    Bound { requests: Some(requests * sharing.instances as f64), ..bound(words) }
}

/// What an adaptive rate bounds behind which a call can become so many requests: what is under way when the outage begins,
/// one request for each step by which the rate falls to its lowest, and that from then on. How far it has to fall depends
/// on the rate that was measured before: at most what the callers do while every answer takes its usual time.
pub(super) fn rate(
    seen: &[(&Fault, Option<Answer>)],
    class: &TrafficClass,
    name: &str,
    rate: &CubicRate,
    sharing: Sharing,
    inside: Option<u64>,
) -> Bound {
    let bound = |words: String| Bound::of(name, "rate", sharing.instances, words);
    if let Some(fault) = uncounted(seen, |answer| rate.counts(answer)) {
        return bound(format!(
            "`{name}` need not fall in `{}`: it does not count all that its clients see of it",
            fault.name
        ));
    }
    let Some(inside) = inside else {
        return bound(format!("`{name}` stands outside of requests without end"));
    };
    let lowest = format!("{} requests a second", rate.min_rate);
    let usual = class.steps.iter().map(|step| step.latency.mean()).fold(f64::INFINITY, f64::min);
    let callers = sharing.callers.filter(|_| usual > 0.0 && usual.is_finite() && !sharing.dies);
    let Some(callers) = callers else {
        return bound(format!(
            "`{name}` falls to {lowest} where every answer is one that it counts; it holds nobody back before the first of \
             them, and nothing bounds how many come until then"
        ));
    };
    let before = callers as f64 / usual;
    let falls = (ln(before / rate.min_rate) / ln(1.0 / rate.beta)).ceil().max(0.0);
    let then = rate.min_rate * OUTAGE.as_secs_f64();
    let requests = (callers as f64 + falls + then) * inside as f64;
    let words = format!(
        "`{name}` lets about {} {} pass in {}: {} under way, {} while it falls to {lowest}, {} at that",
        of_all(requests, sharing),
        if inside == 1 { "requests" } else { "requests of calls" },
        words::duration(OUTAGE),
        amount((callers * inside) as f64),
        amount(falls * inside as f64),
        amount(then * inside as f64)
    );
    Bound { requests: Some(requests * sharing.instances as f64), on_average: true, ..bound(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::incident;
    use crate::policy::classify::{OutcomeSet, StatusSet};
    use crate::policy::hint::HintRule;
    use crate::policy::shared_gate::Opens;

    const SHARED: Sharing = Sharing { instances: 1, callers: Some(8), dies: false };

    fn seen_by_reports(scenario: &Scenario) -> Vec<(&Fault, Option<Answer>)> {
        seen(scenario, &scenario.traffic[0], scenario.client_of(&scenario.traffic[0]))
    }

    fn closes_on(status: u16) -> SharedGate {
        SharedGate {
            statuses: StatusSet::EMPTY.with(status),
            outcomes: OutcomeSet::EMPTY,
            time: SimDuration::from_secs(30),
            hint: HintRule::OBEY,
            at_most: SimDuration::MAX,
            rejects: false,
            opens: Opens::All,
        }
    }

    #[test]
    fn each_caller_passes_a_gate_once_before_each_closing() {
        // By hand: eight callers of three requests each, at 0 s, 30 s and so on to 570 s: 8 × 3 × 20.
        let scenario = incident(true);
        let seen = seen_by_reports(&scenario);
        let failing = seen[0].1.unwrap().status;
        let bound = gate(&seen, "quiet", &closes_on(failing), SHARED, Some(3));
        assert_eq!(bound.requests, Some(480.0));
        // Of a gate that the outage does not close, of live turns and of requests without end nothing is known.
        let turns = Sharing { callers: None, ..SHARED };
        assert_eq!(gate(&seen, "quiet", &closes_on(418), SHARED, Some(3)).requests, None);
        assert_eq!(gate(&seen, "quiet", &closes_on(failing), turns, Some(3)).requests, None);
        assert_eq!(gate(&seen, "quiet", &closes_on(failing), SHARED, None).requests, None);
    }

    #[test]
    fn a_rate_falls_by_its_factor_with_each_answer_and_then_stays() {
        // By hand: eight callers with steps of 2 s do 4 a second, and 4 · 0.7^6 is the first below 0.5: 8 under way, 6
        // while it falls, 300 in ten minutes at the lowest rate.
        let (outage, mut scenario) = (incident(true), incident(true));
        let seen = seen_by_reports(&outage);
        let failing = seen[0].1.unwrap().status;
        let cubic = CubicRate {
            statuses: StatusSet::EMPTY.with(failing),
            outcomes: OutcomeSet::EMPTY,
            beta: 0.7,
            scale: 0.4,
            smoothing: 0.8,
            min_rate: 0.5,
        };
        for step in &mut scenario.traffic[0].steps {
            step.latency = crate::random::Distribution::constant(2.0);
        }
        let bound = |of: &CubicRate, sharing| rate(&seen, &scenario.traffic[0], "sdk", of, sharing, Some(1));
        assert_eq!((bound(&cubic, SHARED).requests, bound(&cubic, SHARED).on_average), (Some(314.0), true));
        assert_eq!(bound(&cubic, Sharing { callers: None, ..SHARED }).requests, None);
        let other = CubicRate { statuses: StatusSet::EMPTY.with(418), ..cubic };
        assert_eq!(bound(&other, SHARED).requests, None);
    }
}
