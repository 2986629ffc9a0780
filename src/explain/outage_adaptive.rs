//! How many requests pass a gate or an adaptive rate in an outage. Both hear of it from its answers alone: where these are
//! none that they count, they bound nothing.

use super::outage::{Bound, OUTAGE, Sharing, amount, of_all};
use super::words;
use crate::policy::answer::Answer;
use crate::policy::{CubicRate, SharedGate};
use crate::provider::Fault;
use crate::random::math::ln;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// The faults that make an outage: those that strike at least half of the class's requests while they last.
fn outages<'s>(
    scenario: &'s Scenario,
    class: &TrafficClass,
) -> impl Iterator<Item = (&'s Fault, Option<Answer>)> + use<'s> {
    let class = scenario.traffic.iter().position(|other| other.name == class.name);
    let faults = scenario.provider.faults.iter();
    let severe = faults.filter(move |fault| class.is_some_and(|class| fault.peak(class) >= 0.5));
    severe.map(|fault| (fault, fault.respond.answer()))
}

/// What a gate bounds behind which a call can become so many requests.
///
/// Whoever passes an open gate and fails closes it, so that each caller passes once before each closing.
pub(super) fn gate(
    scenario: &Scenario,
    class: &TrafficClass,
    name: &str,
    gate: &SharedGate,
    sharing: Sharing,
    inside: Option<u64>,
) -> Bound {
    let bound = |words: String| Bound::of(name, "gate", sharing.instances, words);
    let mut shortest = None;
    for (fault, answer) in outages(scenario, class) {
        let Some(time) = answer.and_then(|answer| gate.closes_for(&answer)) else {
            return bound(format!("`{name}` stays open in `{}`: its answers are none that close it", fault.name));
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
    scenario: &Scenario,
    class: &TrafficClass,
    name: &str,
    rate: &CubicRate,
    sharing: Sharing,
    inside: Option<u64>,
) -> Bound {
    let bound = |words: String| Bound::of(name, "rate", sharing.instances, words);
    if let Some((fault, _)) =
        outages(scenario, class).find(|(_, answer)| !answer.as_ref().is_some_and(|answer| rate.counts(answer)))
    {
        return bound(format!("`{name}` does not fall in `{}`: it counts none of its answers", fault.name));
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
        let failing = outages(&scenario, &scenario.traffic[0]).find_map(|(_, answer)| answer).unwrap().status;
        let bound = gate(&scenario, &scenario.traffic[0], "quiet", &closes_on(failing), SHARED, Some(3));
        assert_eq!(bound.requests, Some(480.0));
        // Of a gate that the outage does not close, of live turns and of requests without end nothing is known.
        let turns = Sharing { callers: None, ..SHARED };
        assert_eq!(gate(&scenario, &scenario.traffic[0], "quiet", &closes_on(418), SHARED, Some(3)).requests, None);
        assert_eq!(gate(&scenario, &scenario.traffic[0], "quiet", &closes_on(failing), turns, Some(3)).requests, None);
        assert_eq!(gate(&scenario, &scenario.traffic[0], "quiet", &closes_on(failing), SHARED, None).requests, None);
    }

    #[test]
    fn a_rate_falls_by_its_factor_with_each_answer_and_then_stays() {
        // By hand: eight callers with steps of 2 s do 4 a second, and 4 · 0.7^6 is the first below 0.5: 8 under way, 6
        // while it falls, 300 in ten minutes at the lowest rate.
        let mut scenario = incident(true);
        let failing = outages(&scenario, &scenario.traffic[0]).find_map(|(_, answer)| answer).unwrap().status;
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
        let bound = |of: &CubicRate, sharing| rate(&scenario, &scenario.traffic[0], "sdk", of, sharing, Some(1));
        assert_eq!((bound(&cubic, SHARED).requests, bound(&cubic, SHARED).on_average), (Some(314.0), true));
        assert_eq!(bound(&cubic, Sharing { callers: None, ..SHARED }).requests, None);
        let other = CubicRate { statuses: StatusSet::EMPTY.with(418), ..cubic };
        assert_eq!(bound(&other, SHARED).requests, None);
    }
}
