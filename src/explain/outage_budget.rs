//! What a retry budget leaves of the retries of a layer when nothing succeeds any more.

use super::outage::{Bound, Sharing, amount, of_all};
use super::words;
use crate::policy::retry_budget::RetryBudget;

/// What the budget of a layer bounds.
pub(super) fn budget(layer: &str, budget: &RetryBudget, sharing: Sharing) -> Bound {
    let bound = of_settings(layer, budget, sharing);
    if sharing.dies {
        let words = format!("{}; it is full again where it dies with its process", bound.words);
        return Bound { per_call: None, lump: None, words, ..bound };
    }
    bound
}

fn of_settings(layer: &str, budget: &RetryBudget, sharing: Sharing) -> Bound {
    let bound = |words: String| Bound::of(layer, "budget", sharing.instances, words);
    let name = format!("the budget of `{layer}`");
    match budget {
        RetryBudget::Quota(quota) => {
            let cost = quota.costs.iter().map(|(_, cost)| *cost).fold(quota.cost, u32::min);
            if cost == 0 {
                return bound(format!("{name} bounds nothing, for some retries are free"));
            }
            let lump = f64::from(quota.capacity.saturating_sub(quota.leaves) / cost);
            let per_call = 1.0 + f64::from(quota.deposit) / f64::from(cost);
            let refill = quota.refill_thousandths as f64 / 1_000.0 / f64::from(cost);
            let more = if refill > 0.0 { format!(" and {} more each second", amount(refill)) } else { String::new() };
            let said = format!(
                "{name} pays for {}{more} while nothing succeeds, {}",
                retries(lump, sharing),
                for_each_call(per_call)
            );
            Bound { per_call: Some(per_call).filter(|_| refill == 0.0), lump: Some(all(lump, sharing)), ..bound(said) }
        }
        RetryBudget::Throttle(throttle) => {
            let start = (f64::from(throttle.max_tokens) * throttle.starts_with * 1_000.0).round() / 1_000.0;
            // Each failure takes a token, and a retry needs more than half of all to be left after it.
            let lump = ((start - f64::from(throttle.max_tokens) / 2.0).ceil() - 1.0).max(0.0);
            if throttle.after_wait {
                return bound(format!(
                    "{name} stops retries once half of its {} are gone, {} later, but for those that are under way",
                    words::counted(u64::from(throttle.max_tokens), "token"),
                    words::counted(lump as u64 + 1, "failure")
                ));
            }
            let said =
                format!("{name} pays for {} while nothing succeeds, {}", retries(lump, sharing), for_each_call(1.0));
            Bound { per_call: Some(1.0), lump: Some(all(lump, sharing)), ..bound(said) }
        }
        RetryBudget::Deposits(deposits) => {
            let per_call = 1.0 + deposits.pays_for();
            let lump = (f64::from(deposits.per_second) * deposits.expiry.as_secs_f64()).floor();
            let reserve = if lump > 0.0 {
                format!(", and {} more in each {}", retries(lump, sharing), words::duration(deposits.expiry))
            } else {
                String::new()
            };
            let said = format!("{name} pays {}{reserve}", for_each_call(per_call));
            let per_call = Some(per_call).filter(|_| lump == 0.0);
            Bound { per_call, lump: Some(all(lump, sharing)), ..bound(said) }
        }
        RetryBudget::ActiveShare(limit) => bound(format!(
            "{name} lets {} of the calls under way retry at a time, {} at least",
            words::percent(limit.share),
            words::count(u64::from(limit.minimum))
        )),
        RetryBudget::FailureShare(limit) => bound(format!(
            "{name} lets nobody retry while more than {} of all calls since the beginning have failed",
            words::percent(limit.at_most)
        )),
    }
}

fn all(lump: f64, sharing: Sharing) -> f64 {
    lump * sharing.instances as f64
}

fn retries(lump: f64, sharing: Sharing) -> String {
    format!("{} {}", of_all(lump, sharing), if lump == 1.0 && sharing.instances == 1 { "retry" } else { "retries" })
}

fn for_each_call(per_call: f64) -> String {
    if per_call == 1.0 {
        return "then for none: 1 request for each call".to_owned();
    }
    let number = format!("{per_call:.2}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("in the long run for {number} requests for each call")
}
