//! A retry budget limits retries as a whole, not those of one call. Without one, every client retries as often as it
//! is allowed to exactly when the server can bear it least; with one, a full outage costs a few per cent more than no
//! retries at all (Brooker 2022, "Fixing retries with token buckets and circuit breakers").
//!
//! Two mechanisms of real clients: the *quota* of the AWS SDKs (a retry costs tokens, a success gives some back), and
//! the *throttle* of gRPC (a failure takes a token, retries stop while the bucket is at most half full).

use super::answer::Answer;
use super::classify::Classification;

/// The settings of a retry budget.
#[derive(Clone, Debug, PartialEq)]
pub enum RetryBudget {
    /// A retry costs tokens; without them it is not taken.
    Quota(Quota),
    /// Failures take tokens and successes give some; retries need more than half of them.
    Throttle(Throttle),
}

/// A retry costs tokens, by the kind of failure that it follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// The tokens it starts with and never exceeds.
    pub capacity: u32,
    /// What a retry costs.
    pub cost: u32,
    /// What it costs after particular failures; the first that matches.
    pub costs: Vec<(Classification, u32)>,
    /// What a success at the first try gives back.
    pub refund: u32,
    /// What a success after retries gives back.
    pub retried_refund: Refund,
}

/// What a success after retries gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refund {
    /// The cost of its last retry.
    LastRetry,
    /// So many tokens.
    Tokens(u32),
}

/// The throttle of gRPC (gRFC A6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// The tokens it starts with and never exceeds.
    pub max_tokens: u32,
    /// What a success gives, in thousandths of a token.
    pub ratio_thousandths: u32,
}

/// The tokens of a budget, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetState {
    thousandths: u64,
}

impl RetryBudget {
    /// A full budget.
    pub fn full(&self) -> BudgetState {
        let tokens = match self {
            RetryBudget::Quota(quota) => quota.capacity,
            RetryBudget::Throttle(throttle) => throttle.max_tokens,
        };
        BudgetState { thousandths: u64::from(tokens) * 1_000 }
    }

    /// A failure that the layer would repeat if it may. Says what a retry costs, or that it is not allowed;
    /// `wants_retry` is false after the last attempt, when only the failure itself counts.
    pub fn failed(&self, state: &mut BudgetState, answer: &Answer, wants_retry: bool) -> Option<u32> {
        match self {
            RetryBudget::Quota(quota) => {
                if !wants_retry {
                    return None;
                }
                let cost = quota.cost_of(answer);
                let left = state.thousandths.checked_sub(u64::from(cost) * 1_000)?;
                state.thousandths = left;
                Some(cost)
            }
            RetryBudget::Throttle(throttle) => {
                state.thousandths = state.thousandths.saturating_sub(1_000);
                (wants_retry && state.thousandths * 2 > u64::from(throttle.max_tokens) * 1_000).then_some(1)
            }
        }
    }

    /// A call that succeeded, after a retry that cost so much, or at its first try.
    pub fn succeeded(&self, state: &mut BudgetState, last_cost: Option<u32>) {
        let (given, capacity) = match self {
            RetryBudget::Quota(quota) => {
                let tokens = match (last_cost, quota.retried_refund) {
                    (None, _) => quota.refund,
                    (Some(cost), Refund::LastRetry) => cost,
                    (Some(_), Refund::Tokens(tokens)) => tokens,
                };
                (u64::from(tokens) * 1_000, quota.capacity)
            }
            RetryBudget::Throttle(throttle) => (u64::from(throttle.ratio_thousandths), throttle.max_tokens),
        };
        state.thousandths = (state.thousandths + given).min(u64::from(capacity) * 1_000);
    }
}

impl Quota {
    fn cost_of(&self, answer: &Answer) -> u32 {
        self.costs.iter().find(|(kind, _)| kind.matches(answer)).map_or(self.cost, |(_, cost)| *cost)
    }
}

impl BudgetState {
    /// The tokens that are left.
    pub fn tokens(&self) -> f64 {
        self.thousandths as f64 / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(cost: u32) -> RetryBudget {
        RetryBudget::Quota(Quota {
            capacity: 500,
            cost,
            costs: Vec::new(),
            refund: 1,
            retried_refund: Refund::LastRetry,
        })
    }

    #[test]
    fn a_quota_of_500_pays_for_100_or_50_or_35_retries() {
        // By hand, and as the AWS SDKs were measured: floor(500 / cost).
        for (cost, retries) in [(5, 100), (10, 50), (14, 35)] {
            let budget = quota(cost);
            let mut state = budget.full();
            let paid = (0..1_000).filter(|_| budget.failed(&mut state, &Answer::refused(500), true).is_some()).count();
            assert_eq!(paid, retries);
        }
    }

    #[test]
    fn a_quota_never_exceeds_its_capacity() {
        let budget = quota(5);
        let mut state = budget.full();
        budget.succeeded(&mut state, None);
        budget.succeeded(&mut state, Some(5));
        assert_eq!(state.tokens(), 500.0);
    }

    #[test]
    fn a_throttle_needs_more_than_half_of_its_tokens() {
        // gRPC: max 10 tokens; the 5th failure in a row leaves exactly half, which is not enough.
        let budget = RetryBudget::Throttle(Throttle { max_tokens: 10, ratio_thousandths: 100 });
        let mut state = budget.full();
        let allowed: Vec<bool> =
            (0..6).map(|_| budget.failed(&mut state, &Answer::refused(503), true).is_some()).collect();
        assert_eq!(allowed, [true, true, true, true, false, false]);
        (0..11).for_each(|_| budget.succeeded(&mut state, None));
        assert_eq!(state.tokens(), 5.1);
    }
}
