//! What a retry budget says to a hedge, which wants one more request although nothing need have failed.

use super::answer::Answer;
use super::retry_budget::{BudgetState, RetryBudget};
use crate::units::SimTime;

impl RetryBudget {
    /// One more request of a hedge is wanted while others are out, or after this failure of one: what it costs, or that it
    /// is not allowed. Failures of its requests are told by themselves, see [`RetryBudget::failed`].
    pub fn pays(&self, state: &mut BudgetState, after: Option<&Answer>, now: SimTime) -> Option<u32> {
        match (self, &mut *state) {
            (RetryBudget::Quota(quota), BudgetState::Tokens(tokens)) => {
                let cost = after.map_or(quota.cost, |answer| quota.cost_of(answer));
                quota.pay(tokens, cost, now)
            }
            (RetryBudget::Throttle(throttle), BudgetState::Tokens(tokens)) => throttle.allows(tokens).then_some(1),
            (RetryBudget::FailureShare(limit), BudgetState::Tally { calls, failures }) => {
                (*failures as f64 <= limit.at_most * *calls as f64).then_some(1)
            }
            (RetryBudget::Deposits(_) | RetryBudget::ActiveShare(_), _) => {
                self.failed(state, after.unwrap_or(&Answer::TIMED_OUT), true, now)
            }
            (RetryBudget::Quota(_) | RetryBudget::Throttle(_) | RetryBudget::FailureShare(_), _) => None,
        }
    }
}
