//! How near a retry budget is to keeping retries back: a level that falls or rises, where it can end, and from where on
//! nobody retries.

use super::retry_budget::{BudgetState, RetryBudget};

/// What is read off a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// What the level counts, as a plural: `tokens`.
    pub unit: &'static str,
    /// Whether it falls to its bound, as what is left does.
    pub falls: bool,
    /// The largest that it can be, where there is such.
    pub top: Option<f64>,
    /// The level from which on retries are kept back: at or below it where the level falls, at or above it where it
    /// rises; `None` where that moves with the calls under way.
    pub bound: Option<f64>,
}

impl RetryBudget {
    /// How to read the level of this budget.
    pub fn gauge(&self) -> Gauge {
        match self {
            RetryBudget::Quota(quota) => Gauge {
                unit: "tokens",
                falls: true,
                top: Some(f64::from(quota.capacity)),
                bound: Some(f64::from(quota.cost + quota.leaves)),
            },
            RetryBudget::Throttle(throttle) => Gauge {
                unit: "tokens",
                falls: true,
                top: Some(f64::from(throttle.max_tokens)),
                bound: Some(f64::from(throttle.max_tokens) / 2.0),
            },
            RetryBudget::Deposits(_) => Gauge { unit: "retries", falls: true, top: None, bound: Some(1.0) },
            RetryBudget::ActiveShare(_) => Gauge { unit: "retries", falls: false, top: None, bound: None },
            RetryBudget::FailureShare(limit) => {
                Gauge { unit: "of calls failed", falls: false, top: Some(1.0), bound: Some(limit.at_most) }
            }
        }
    }

    /// The level: tokens, or retries that can be paid; retries under way; or failures for each call.
    pub fn level(&self, state: &BudgetState) -> f64 {
        match (self, state) {
            (_, BudgetState::Calls { retrying, .. }) => f64::from(*retrying),
            (_, BudgetState::Tally { calls, failures }) => *failures as f64 / (*calls).max(1) as f64,
            (RetryBudget::Deposits(deposits), BudgetState::Account(account)) => deposits.retries(account).max(0.0),
            _ => state.tokens().unwrap_or(0.0),
        }
    }

    /// The bound of a level whose bound moves.
    pub fn moving_bound(&self, state: &BudgetState) -> Option<f64> {
        match (self, state) {
            (RetryBudget::ActiveShare(limit), BudgetState::Calls { active, .. }) => {
                Some((f64::from(*active) * limit.share).floor().max(f64::from(limit.minimum)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::answer::Answer;
    use crate::policy::retry_budget::{ActiveShare, FailureShare, Passage, Throttle};
    use crate::units::SimTime;

    #[test]
    fn levels_are_read_as_each_budget_decides() {
        // By hand: gRPC's 10 tokens less 3 failures; 20 calls of which a fifth may retry, at least 3; 1 failure of 4 calls.
        let now = SimTime::ZERO;
        let throttle = Throttle { max_tokens: 10, ratio_thousandths: 100, after_wait: false, starts_with: 1.0 };
        let throttle = RetryBudget::Throttle(throttle);
        let mut state = throttle.full();
        for _ in 0..3 {
            throttle.failed(&mut state, &Answer::refused(503), true, now);
        }
        assert_eq!((throttle.level(&state), throttle.gauge().bound), (7.0, Some(5.0)));
        let share = RetryBudget::ActiveShare(ActiveShare { share: 0.2, minimum: 3 });
        let mut state = share.full();
        assert_eq!(share.moving_bound(&state), Some(3.0));
        (0..20).for_each(|_| share.passes(&mut state, Passage::Enters, now));
        share.failed(&mut state, &Answer::refused(503), true, now);
        assert_eq!((share.level(&state), share.moving_bound(&state)), (1.0, Some(4.0)));
        let failures = RetryBudget::FailureShare(FailureShare { at_most: 0.5 });
        let mut state = failures.full();
        (0..4).for_each(|_| failures.passes(&mut state, Passage::Enters, now));
        failures.failed(&mut state, &Answer::refused(503), true, now);
        assert_eq!(failures.level(&state), 0.25);
    }
}
