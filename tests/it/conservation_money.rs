//! What must add up of refusals and bills, in the same random scenarios.

use std::collections::BTreeMap;

use retrycast::metrics::Tree;
use retrycast::observe::refusals::{ATTEMPTS, attempt_group};
use retrycast::policy::answer::Outcome;
use retrycast::provider::{AnsweredBy, Prices, Provider, Tariff};
use retrycast::sim::Fact;

use super::conservation::Seen;

/// Cached input at the price of all input: what was shown does not say how much of it there was.
const PRICES: Prices = Prices { request: 1_000_003, input: 3_001, cached: 3_001, output: 15_007 };

pub(super) fn check(seen: &Seen) {
    refusals_are_what_was_shown(seen);
    let mut scenario = seen.scenario.clone();
    scenario.provider.prices = Some(Box::new(Tariff { currency: "USD".to_owned(), all: PRICES }));
    let priced = Seen::of(scenario, seen.outcome.seed.0);
    assert_eq!(priced.outcome.digest, seen.outcome.digest, "a price changes nothing that happens");
    bills_add_up(&priced);
}

fn source(provider: &Provider, by: AnsweredBy) -> Option<String> {
    Some(match by {
        AnsweredBy::Fault(fault) => format!("fault:{}", provider.faults[fault].name),
        AnsweredBy::Limit(limit) => format!("limit:{}", provider.limits[limit].name),
        AnsweredBy::Slots(slots) => format!("limit:{}", provider.slots[slots].name),
        AnsweredBy::Full => "capacity".to_owned(),
        AnsweredBy::Window => "context_window".to_owned(),
        AnsweredBy::Service | AnsweredBy::Nobody => return None,
    })
}

fn refusals_are_what_was_shown(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let (mut shown, mut by_limits, mut of_retries) = (BTreeMap::new(), 0.0, 0.0);
        for fact in seen.facts_of(index) {
            let Fact::RequestEnded { answer, by, ordinal, .. } = fact else { continue };
            let Some(source) = source(&seen.scenario.provider, *by).filter(|_| answer.outcome == Outcome::Refused)
            else {
                continue;
            };
            let key = (answer.status.to_string(), source, ATTEMPTS[attempt_group(*ordinal)].to_owned());
            *shown.entry(key).or_insert(0.0) += 1.0;
            if let AnsweredBy::Limit(_) = by {
                by_limits += 1.0;
                of_retries += f64::from(u8::from(*ordinal > 1));
            }
        }
        let refusals = seen.numbers.at(&["classes", &class.name, "refusals"]);
        let mut counted = BTreeMap::new();
        let statuses = refusals.and_then(|refusals| refusals.at(&["statuses"])).map_or(&[][..], Tree::branches);
        for (status, sources) in statuses {
            for (source, counts) in sources.branches().iter().filter(|(source, _)| !source.starts_with("hop:")) {
                for (attempt, n) in counts.at(&["attempts"]).unwrap().branches() {
                    let n = n.leaves()[0].value;
                    if n > 0.0 {
                        counted.insert((status.clone(), source.clone(), attempt.clone()), n);
                    }
                }
            }
        }
        assert_eq!(counted, shown, "{}", class.name);
        if let Some(refusals) = refusals.filter(|refusals| refusals.at(&["of_limits"]).is_some()) {
            let of = |key: &str| refusals.leaf(&["of_limits", key]).unwrap().value;
            assert_eq!([of("all"), of("met_retries")], [by_limits, of_retries]);
            let parts = of("met_retries") + of("displaced") + of("anyway");
            assert!(parts == of("all") || parts.is_nan());
        }
    }
}

fn bills_add_up(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let bill = |key: &str| seen.at(&["classes", &class.name, "bill", key]);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        let total = bill("total");
        assert!(near(bill("first_requests") + bill("retries"), total));
        assert!(near(bill("by_task"), total), "{} by task, {total} in all", bill("by_task"));
        for part in ["retries", "unreceived", "failed_tasks"] {
            assert!((0.0..=total).contains(&bill(part)), "{part} of {total}");
        }
        // What was received is what was shown as delivered, at its full price.
        let delivered = seen.facts_of(index).filter_map(|fact| match fact {
            Fact::RequestEnded { answer, input_tokens, output_tokens, .. } if answer.is_delivered() => {
                let tokens = PRICES.input * u64::from(*input_tokens) + PRICES.output * u64::from(*output_tokens);
                Some(u128::from(PRICES.request + tokens))
            }
            _ => None,
        });
        let received = delivered.sum::<u128>() as f64 / 1e9;
        assert!(
            near(total - bill("unreceived"), received),
            "{} received, {received} shown",
            total - bill("unreceived")
        );
        if seen.scenario.fault_windows().len() == 1 {
            let phases = seen.numbers.at(&["phases"]).unwrap().branches();
            let of = |phase: &str, key| seen.at(&["phases", phase, "classes", &class.name, "bill", key]);
            for key in ["total", "retries", "unreceived", "by_task", "failed_tasks"] {
                let sum: f64 = phases.iter().map(|(phase, _)| of(phase, key)).sum();
                assert!(near(sum, bill(key)), "{key}: {sum} in phases of {}", bill(key));
            }
        }
    }
}
