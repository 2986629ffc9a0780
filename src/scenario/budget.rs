//! Reading a retry budget: the quota of the AWS SDKs, the throttle of gRPC, the deposits of Finagle, the active share of
//! Envoy or the failure share, and who shares it.

use super::context::Read;
use super::failures::by_kind;
use super::scopes::BUDGET_SCOPES;
use crate::document::{Fault, Field, Value};
use crate::policy::deposits::{Arithmetic, Deposits};
use crate::policy::retry_budget::{ActiveShare, FailureShare, Quota, Refund, Throttle};
use crate::policy::{RetryBudget, Scope};
use crate::units::SimDuration;

/// The most tokens of a budget.
const MOST_TOKENS: u64 = 1_000_000;

/// The most that one retry costs: a layer remembers what its last one did in 16 bits.
const MOST_COST: u64 = 65_534;

/// The most kinds of failure with a cost of their own.
const MOST_COSTS: usize = 8;

/// A budget and who shares it; `"none"` switches off the one of a preset.
pub(super) fn budget(field: &Field<'_>) -> Read<Option<(RetryBudget, Scope)>> {
    if field.node.as_table().is_none() {
        if field.node.as_str() == Some("none") {
            return Some(None);
        }
        return field.must("be a retry budget", r#"write "none" or one form, such as { quota = {} }"#);
    }
    let reader = field.table("one budget")?;
    let chosen = reader.only(&["quota", "throttle", "deposits", "active_share", "failure_share"]);
    let scope =
        reader.or("scope", Scope::Client, |field| field.word(&BUDGET_SCOPES.map(|scope| (scope.word(), scope))));
    reader.finish();
    let budget = match chosen? {
        ("quota", field) => quota(&field).map(RetryBudget::Quota),
        ("deposits", field) => deposits(&field).map(RetryBudget::Deposits),
        ("active_share", field) => active_share(&field).map(RetryBudget::ActiveShare),
        ("failure_share", field) => failure_share(&field).map(RetryBudget::FailureShare),
        (_, field) => throttle(&field).map(RetryBudget::Throttle),
    };
    Some(Some((budget?, scope?)))
}

/// A limit on what has failed.
fn failure_share(field: &Field<'_>) -> Option<FailureShare> {
    let reader = field.table("at_most")?;
    let at_most = reader.need("at_most", r#"write the share of failures up to which calls are retried, such as "10%""#);
    let at_most = at_most.and_then(|field| field.ratio());
    reader.finish();
    Some(FailureShare { at_most: at_most? })
}

/// A quota; what it does not say is as the AWS SDKs have it.
fn quota(field: &Field<'_>) -> Option<Quota> {
    let before = field.faults().len();
    let reader = field.table("capacity, cost, costs, refund, retried_refund, deposit, leaves and refill_per_second")?;
    let capacity = reader.or("capacity", 500, |field| field.whole(1..=MOST_TOKENS));
    let dearest = capacity.unwrap_or(MOST_TOKENS);
    let cost = reader.or("cost", 5.min(dearest), |field| price(field, dearest));
    let costs = reader.or("costs", Vec::new(), |field| {
        by_kind(field, "costs", MOST_COSTS, |reader| {
            let said = reader.need("cost", "write what a retry costs after these failures, such as 10");
            said.and_then(|field| price(&field, dearest)).map(|cost| cost as u32)
        })
    });
    let refund = reader.or("refund", 1_000, |field| fraction(field, MOST_TOKENS));
    let retried_refund = reader.or("retried_refund", Refund::LastRetry, retried_refund);
    let deposit = reader.or("deposit", 0, |field| field.whole(0..=MOST_TOKENS));
    let leaves = reader.or("leaves", 0, |field| field.whole(0..=MOST_TOKENS));
    let refill = reader.or("refill_per_second", 0, |field| fraction(field, MOST_TOKENS));
    reader.finish();
    if field.faults().len() > before {
        return None;
    }
    Some(Quota {
        capacity: capacity? as u32,
        cost: cost? as u32,
        costs: costs?,
        refund_thousandths: refund?,
        retried_refund: retried_refund?,
        deposit: deposit? as u32,
        leaves: leaves? as u32,
        refill_thousandths: refill?,
    })
}

fn price(field: &Field<'_>, capacity: u64) -> Option<u64> {
    let cost = field.whole(0..=MOST_COST)?;
    if cost > capacity {
        let fault = Fault::new(field.place(), format!("costs more than the `capacity` of {capacity}, found {cost}"));
        field.faults().add(fault.hint("raise the `capacity`, or lower the cost"));
        return None;
    }
    Some(cost)
}

fn retried_refund(field: &Field<'_>) -> Option<Refund> {
    match field.node.as_str() {
        Some("last_retry") => Some(Refund::LastRetry),
        Some("last_retry_of_client") => Some(Refund::LastRetryOfClient),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            field.must("be a number of tokens", r#"write a number such as 1, "last_retry" or "last_retry_of_client""#)
        }
        _ => fraction(field, MOST_TOKENS).map(Refund::Thousandths),
    }
}

fn throttle(field: &Field<'_>) -> Option<Throttle> {
    let reader = field.table("max_tokens, ratio, checked and starts_with")?;
    let max_tokens = reader.need("max_tokens", "write the tokens that it starts with, such as 10");
    let max_tokens = max_tokens.and_then(|field| field.whole(1..=MOST_TOKENS));
    let ratio = reader.need("ratio", "write the tokens that a success gives, such as 0.1");
    let ratio = ratio.and_then(|field| thousandths(&field));
    let after_wait = reader.or("checked", false, |field| field.word(&[("before_wait", false), ("after_wait", true)]));
    let starts_with = reader.or("starts_with", 1.0, Field::ratio);
    reader.finish();
    Some(Throttle {
        max_tokens: max_tokens? as u32,
        ratio_thousandths: ratio?,
        after_wait: after_wait?,
        starts_with: starts_with?,
    })
}

/// An account; what it does not say is as Finagle has it.
fn deposits(field: &Field<'_>) -> Option<Deposits> {
    let reader = field.table("ratio, per_second, expiry and arithmetic")?;
    let ratio = reader.or("ratio", 0.2, |field| field.number(0.0..=1_000.0));
    let per_second = reader.or("per_second", 10, |field| field.whole(0..=MOST_TOKENS));
    let expiry = reader.or("expiry", SimDuration::from_secs(10), |field| {
        let expiry = field.duration()?;
        if (SHORTEST_EXPIRY..=LONGEST_EXPIRY).contains(&expiry) {
            return Some(expiry);
        }
        field.must("lie between 1s and 1h", r#"write "10s", as most do"#)
    });
    let words = [("finagle", Arithmetic::Finagle), ("tower", Arithmetic::Tower)];
    let arithmetic = reader.or("arithmetic", Arithmetic::Finagle, |field| field.word(&words));
    reader.finish();
    let (ratio, per_second, arithmetic) = (ratio?, per_second?, arithmetic?);
    if ratio == 0.0 && per_second == 0 {
        return field.wrong("pays for no retry", "write a `ratio` or retries `per_second`");
    }
    Some(Deposits { ratio, per_second: per_second as u32, expiry: expiry?, arithmetic })
}

/// The shortest time until a deposit expires.
const SHORTEST_EXPIRY: SimDuration = SimDuration::from_secs(1);

/// The longest: past it, a budget no longer follows the load.
const LONGEST_EXPIRY: SimDuration = SimDuration::from_secs(3_600);

/// A limit on retrying calls; what it does not say is as Envoy has it.
fn active_share(field: &Field<'_>) -> Option<ActiveShare> {
    let reader = field.table("share and minimum")?;
    let share = reader.or("share", 0.2, Field::ratio);
    let minimum = reader.or("minimum", 3, |field| field.whole(0..=MOST_TOKENS));
    reader.finish();
    Some(ActiveShare { share: share?, minimum: minimum? as u32 })
}

/// A number of tokens in thousandths: gRPC reads no further digits.
fn thousandths(field: &Field<'_>) -> Option<u32> {
    three_decimals(field, field.number(0.001..=1_000.0)?).map(|thousandths| thousandths as u32)
}

/// A number of tokens, which may be zero, in thousandths.
fn fraction(field: &Field<'_>, most: u64) -> Option<u64> {
    match field.node.value {
        Value::Float(_) => three_decimals(field, field.number(0.0..=most as f64)?),
        _ => field.whole(0..=most).map(|tokens| tokens * 1_000),
    }
}

fn three_decimals(field: &Field<'_>, number: f64) -> Option<u64> {
    let thousandths = number * 1_000.0;
    let whole = thousandths.round();
    if (thousandths - whole).abs() > 1e-6 {
        return field.must("have at most three decimals", format!("write {}", whole.max(1.0) / 1_000.0));
    }
    Some(whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Faults, parse};
    use crate::policy::{Classification, Outcome, OutcomeSet};

    fn read(value: &str) -> Result<Option<RetryBudget>, String> {
        let faults = Faults::default();
        let root = parse::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        let found = budget(&Field::new(entry.key, &entry.node, &faults));
        let read = |read: Read<Option<(RetryBudget, Scope)>>| read.unwrap().map(|(budget, _)| budget);
        faults.into_sorted().0.pop().map_or_else(|| Ok(read(found)), |fault| Err(fault.message))
    }

    #[test]
    fn a_quota_is_the_one_of_the_aws_sdks_but_for_what_it_says() {
        let aws = Quota {
            capacity: 500,
            cost: 5,
            costs: Vec::new(),
            refund_thousandths: 1_000,
            retried_refund: Refund::LastRetry,
            deposit: 0,
            leaves: 0,
            refill_thousandths: 0,
        };
        assert_eq!(read("{ quota = {} }"), Ok(Some(RetryBudget::Quota(aws.clone()))));
        let timeouts =
            Classification { outcomes: OutcomeSet::EMPTY.with(Outcome::TimedOut), ..Classification::default() };
        let own = Quota {
            cost: 14,
            costs: vec![(timeouts, 10)],
            refund_thousandths: 0,
            retried_refund: Refund::Thousandths(2_000),
            ..aws
        };
        let value = r#"{ quota = { cost = 14, costs = [{ on = ["read_timeout"], cost = 10 }], refund = 0, retried_refund = 2 } }"#;
        assert_eq!(read(value), Ok(Some(RetryBudget::Quota(own))));
        assert_eq!(read("\"none\""), Ok(None));
    }

    #[test]
    fn a_throttle_counts_in_thousandths() {
        let throttle = |max_tokens, ratio_thousandths| {
            let full = Throttle { max_tokens, ratio_thousandths, after_wait: false, starts_with: 1.0 };
            Some(RetryBudget::Throttle(full))
        };
        assert_eq!(read("{ throttle = { max_tokens = 10, ratio = 0.1 } }"), Ok(throttle(10, 100)));
        assert_eq!(read("{ throttle = { max_tokens = \"1M\", ratio = 2.345 } }"), Ok(throttle(1_000_000, 2_345)));
    }

    #[test]
    fn what_budgets_of_other_libraries_say_is_read() {
        let Ok(Some(RetryBudget::Quota(quota))) =
            read("{ quota = { refund = 0.5, retried_refund = \"last_retry_of_client\", refill_per_second = 2 } }")
        else {
            panic!("a quota");
        };
        assert_eq!((quota.refund_thousandths, quota.refill_thousandths), (500, 2_000));
        assert_eq!(quota.retried_refund, Refund::LastRetryOfClient);
        let throttle = Throttle { max_tokens: 10, ratio_thousandths: 1_000, after_wait: true, starts_with: 0.3 };
        let value = r#"{ throttle = { max_tokens = 10, ratio = 1, checked = "after_wait", starts_with = "30%" } }"#;
        assert_eq!(read(value), Ok(Some(RetryBudget::Throttle(throttle))));
        let expiry = SimDuration::from_secs(10);
        let tower = Deposits { ratio: 0.2, per_second: 10, expiry, arithmetic: Arithmetic::Tower };
        assert_eq!(read("{ deposits = { arithmetic = \"tower\" } }"), Ok(Some(RetryBudget::Deposits(tower))));
    }

    #[test]
    fn deposits_and_shares_are_those_of_finagle_and_envoy_but_for_what_they_say() {
        let account = |ratio, per_second, seconds| {
            let expiry = SimDuration::from_secs(seconds);
            Ok(Some(RetryBudget::Deposits(Deposits { ratio, per_second, expiry, arithmetic: Arithmetic::Finagle })))
        };
        assert_eq!(read("{ deposits = {} }"), account(0.2, 10, 10));
        assert_eq!(read("{ deposits = { ratio = 2, per_second = 0, expiry = \"1m\" } }"), account(2.0, 0, 60));
        let calls = |share, minimum| Ok(Some(RetryBudget::ActiveShare(ActiveShare { share, minimum })));
        assert_eq!(read("{ active_share = {} }"), calls(0.2, 3));
        assert_eq!(read("{ active_share = { share = \"0%\", minimum = 1 } }"), calls(0.0, 1));
    }

    #[test]
    fn budgets_that_make_no_sense_are_refused() {
        for (value, message) in [
            ("\"quota\"", "must be a retry budget, found \"quota\""),
            ("{}", "says none of the things that it could"),
            ("{ qouta = {} }", "unknown key"),
            ("{ quota = {}, throttle = {} }", "says `throttle` beside `quota`"),
            ("{ quota = { capacity = 0 } }", "must be at least 1, found 0"),
            ("{ quota = { capacity = 1_000_001 } }", "must be at most 1000000, found 1000001"),
            ("{ quota = { capacity = 4, cost = 5 } }", "costs more than the `capacity` of 4, found 5"),
            (
                "{ quota = { costs = [{ on = [429], cost = 501 }] } }",
                "costs more than the `capacity` of 500, found 501",
            ),
            ("{ quota = { costs = [{ cost = 5 }] } }", "lacks the key `on`"),
            ("{ quota = { refund = -1 } }", "must be at least 0, found -1"),
            ("{ quota = { retried_refund = \"last\" } }", "must be a number of tokens, found \"last\""),
            ("{ deposits = { expiry = \"500ms\" } }", "must lie between 1s and 1h, found \"500ms\""),
            ("{ deposits = { ratio = 0, per_second = 0 } }", "pays for no retry"),
            ("{ deposits = { ratio = -1 } }", "must be at least 0, found -1"),
            ("{ active_share = { share = 20 } }", "must lie in 0..=1, found 20"),
            ("{ quota = { refund = 0.0005 } }", "must have at most three decimals, found 0.0005"),
            ("{ quota = { refill_per_second = -0.5 } }", "must be at least 0, found -0.5"),
            ("{ deposits = { arithmetic = \"linkerd\" } }", "is none of the known words, found \"linkerd\""),
            (
                "{ throttle = { max_tokens = 10, ratio = 0.1, checked = \"late\" } }",
                "is none of the known words, found \"late\"",
            ),
            ("{ throttle = { max_tokens = 10, ratio = 0.1, starts_with = 2 } }", "must lie in 0..=1, found 2"),
            ("{ failure_share = {} }", "lacks the key `at_most`"),
            ("{ failure_share = { at_most = 10 } }", "must lie in 0..=1, found 10"),
            ("{ quota = {}, scope = \"global\" }", "is none of the known words, found \"global\""),
            ("{ scope = \"process\" }", "says none of the things that it could"),
            ("{ throttle = { max_tokens = 10 } }", "lacks the key `ratio`"),
            ("{ throttle = { max_tokens = 10, ratio = 0 } }", "must be at least 0.001, found 0"),
            ("{ throttle = { max_tokens = 10, ratio = nan } }", "must be a number, found NaN"),
            ("{ throttle = { max_tokens = 10, ratio = 0.12345 } }", "must have at most three decimals, found 0.12345"),
        ] {
            assert_eq!(read(value), Err(message.to_owned()), "{value}");
        }
    }
}
