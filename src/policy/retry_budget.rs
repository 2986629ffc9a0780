//! A retry budget limits retries as a whole, not those of one call. Without one, every client retries as often as it
//! is allowed to exactly when the server can bear it least; with one, a full outage costs a few per cent more than no
//! retries at all (Brooker 2022, "Fixing retries with token buckets and circuit breakers").
//!
//! Four mechanisms of real clients: the *quota* of the AWS SDKs (a retry costs tokens, a success gives some back), the
//! *throttle* of gRPC (a failure takes a token, retries stop while the bucket is at most half full), the *deposits* of
//! Finagle ([`super::deposits`]), and the *active share* of Envoy (so many retries at a time for those under way); and one
//! that was published against them, the *failure share* (no retries while too much has failed).

use super::answer::Answer;
use super::classify::Classification;
use super::deposits::{Deposits, DepositsState};
use crate::units::{SimDuration, SimTime};

/// The settings of a retry budget.
#[derive(Clone, Debug, PartialEq)]
pub enum RetryBudget {
    /// A retry costs tokens; without them it is not taken.
    Quota(Quota),
    /// Failures take tokens and successes give some; retries need more than half of them.
    Throttle(Throttle),
    /// Requests pay a share of a retry each.
    Deposits(Deposits),
    /// Only so many calls may be retrying at a time.
    ActiveShare(ActiveShare),
    /// Nobody retries while too much has failed.
    FailureShare(FailureShare),
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
    /// What a success at the first try gives back, in thousandths of a token.
    pub refund_thousandths: u64,
    /// What a success after retries gives back.
    pub retried_refund: Refund,
    /// What each call pays in when it comes.
    pub deposit: u32,
    /// A retry must leave so many tokens.
    pub leaves: u32,
    /// What comes back with every whole second, in thousandths of a token.
    pub refill_thousandths: u64,
}

/// What a success after retries gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refund {
    /// The cost of its last retry.
    LastRetry,
    /// The cost of the last retry of the whole client, whichever call made it and whichever succeeds: that has been kept
    /// since, and is given back once.
    LastRetryOfClient,
    /// So many thousandths of a token.
    Thousandths(u64),
}

/// The throttle of gRPC (gRFC A6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// The tokens it starts with and never exceeds.
    pub max_tokens: u32,
    /// What a success gives, in thousandths of a token.
    pub ratio_thousandths: u32,
    /// Whether the tokens are looked at when the wait before a retry is over, and not when it begins: a call that may not
    /// be repeated has waited all the same.
    pub after_wait: bool,
    /// The share of its tokens that it starts with.
    pub starts_with: f64,
}

/// How many calls may be retrying at a time. A call is retrying from when a retry is decided until that is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveShare {
    /// The share of the calls that are under way.
    pub share: f64,
    /// So many at least.
    pub minimum: u32,
}

/// No retries while the attempts that have failed are more than a share of the calls that have come, both counted since
/// the beginning (Brooker 2022, the breaker on retries). Retries that fail count as well; a first try is never kept back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureShare {
    /// The share, from 0 to 1.
    pub at_most: f64,
}

/// How a call moves in a layer that has a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It comes in.
    Enters,
    /// A retry of it was answered.
    RetryEnds,
    /// It goes out, whatever became of it.
    Leaves,
}

/// The state of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetState {
    /// Tokens.
    Tokens(Tokens),
    /// An account.
    Account(DepositsState),
    /// Calls in the layer.
    Calls {
        /// Under way.
        active: u32,
        /// Of these, retrying.
        retrying: u32,
    },
    /// What has come to the layer since the beginning.
    Tally {
        /// Calls.
        calls: u64,
        /// Attempts of theirs that failed.
        failures: u64,
    },
}

/// The tokens of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// What is left, in thousandths.
    thousandths: u64,
    /// What the last retry cost, in tokens, until a success gives it back.
    kept: u32,
    /// Up to when what comes back with time has come back.
    refilled: SimTime,
}

impl Tokens {
    const fn of(thousandths: u64) -> BudgetState {
        BudgetState::Tokens(Tokens { thousandths, kept: 0, refilled: SimTime::ZERO })
    }
}

impl RetryBudget {
    /// A full budget.
    pub fn full(&self) -> BudgetState {
        match self {
            RetryBudget::Quota(quota) => Tokens::of(u64::from(quota.capacity) * 1_000),
            RetryBudget::Throttle(throttle) => {
                Tokens::of((f64::from(throttle.max_tokens) * 1_000.0 * throttle.starts_with).round() as u64)
            }
            RetryBudget::Deposits(deposits) => BudgetState::Account(deposits.opened()),
            RetryBudget::ActiveShare(_) => BudgetState::Calls { active: 0, retrying: 0 },
            RetryBudget::FailureShare(_) => BudgetState::Tally { calls: 0, failures: 0 },
        }
    }

    /// A call moves in the layer.
    pub fn passes(&self, state: &mut BudgetState, passage: Passage, now: SimTime) {
        match (passage, self, state) {
            (Passage::Enters, RetryBudget::Deposits(deposits), BudgetState::Account(account)) => {
                deposits.deposit(account, now);
            }
            (Passage::Enters, RetryBudget::Quota(quota), BudgetState::Tokens(tokens)) => {
                quota.refill(tokens, now);
                quota.give(tokens, u64::from(quota.deposit) * 1_000);
            }
            (Passage::Enters, _, BudgetState::Calls { active, .. }) => *active += 1,
            (Passage::Enters, _, BudgetState::Tally { calls, .. }) => *calls += 1,
            (Passage::RetryEnds, _, BudgetState::Calls { retrying, .. }) => *retrying = retrying.saturating_sub(1),
            (Passage::Leaves, _, BudgetState::Calls { active, .. }) => *active = active.saturating_sub(1),
            (Passage::Enters | Passage::RetryEnds | Passage::Leaves, _, _) => {}
        }
    }

    /// A failure that the layer would repeat if it may. Says what a retry costs, or that it is not allowed;
    /// `wants_retry` is false after the last attempt, when only the failure itself counts.
    pub fn failed(&self, state: &mut BudgetState, answer: &Answer, wants_retry: bool, now: SimTime) -> Option<u32> {
        match (self, state) {
            (RetryBudget::Quota(quota), BudgetState::Tokens(tokens)) => {
                if !wants_retry {
                    return None;
                }
                quota.pay(tokens, quota.cost_of(answer), now)
            }
            (RetryBudget::Throttle(throttle), BudgetState::Tokens(tokens)) => {
                tokens.thousandths = tokens.thousandths.saturating_sub(1_000);
                (wants_retry && (throttle.after_wait || throttle.allows(tokens))).then_some(1)
            }
            (RetryBudget::Deposits(deposits), BudgetState::Account(account)) => {
                (wants_retry && deposits.withdraw(account, now)).then_some(1)
            }
            (RetryBudget::ActiveShare(limit), BudgetState::Calls { active, retrying }) => {
                let most = ((f64::from(*active) * limit.share) as u32).max(limit.minimum);
                if !wants_retry || *retrying >= most {
                    return None;
                }
                *retrying += 1;
                Some(0)
            }
            (RetryBudget::FailureShare(limit), BudgetState::Tally { calls, failures }) => {
                *failures += 1;
                (wants_retry && *failures as f64 <= limit.at_most * *calls as f64).then_some(1)
            }
            (
                RetryBudget::Quota(_)
                | RetryBudget::Throttle(_)
                | RetryBudget::Deposits(_)
                | RetryBudget::ActiveShare(_)
                | RetryBudget::FailureShare(_),
                _,
            ) => None,
        }
    }

    /// Whether it is asked again when the wait before a retry is over.
    pub const fn is_asked_after_the_wait(&self) -> bool {
        matches!(self, RetryBudget::Throttle(Throttle { after_wait: true, .. }))
    }

    /// Whether it allows a retry whose wait is over.
    pub fn still_allows(&self, state: &BudgetState) -> bool {
        match (self, state) {
            (RetryBudget::Throttle(throttle), BudgetState::Tokens(tokens)) => throttle.allows(tokens),
            _ => true,
        }
    }

    /// A call that succeeded, after a retry that cost so much, or at its first try.
    pub fn succeeded(&self, state: &mut BudgetState, last_cost: Option<u32>) {
        match (self, state) {
            (RetryBudget::Quota(quota), BudgetState::Tokens(tokens)) => {
                let kept = std::mem::take(&mut tokens.kept);
                let given = match (last_cost, quota.retried_refund) {
                    (_, Refund::LastRetryOfClient) if kept > 0 => u64::from(kept) * 1_000,
                    (None, _) | (Some(_), Refund::LastRetryOfClient) => quota.refund_thousandths,
                    (Some(cost), Refund::LastRetry) => u64::from(cost) * 1_000,
                    (Some(_), Refund::Thousandths(thousandths)) => thousandths,
                };
                quota.give(tokens, given);
            }
            (RetryBudget::Throttle(throttle), BudgetState::Tokens(tokens)) => {
                let most = u64::from(throttle.max_tokens) * 1_000;
                tokens.thousandths = (tokens.thousandths + u64::from(throttle.ratio_thousandths)).min(most);
            }
            // Nothing else hears of a success.
            (RetryBudget::Deposits(_) | RetryBudget::ActiveShare(_) | RetryBudget::FailureShare(_), _)
            | (_, BudgetState::Account(_) | BudgetState::Calls { .. } | BudgetState::Tally { .. }) => {}
        }
    }

    /// What is left: tokens, or deposits; nothing where it counts neither.
    pub fn left(&self, state: &BudgetState) -> Option<f64> {
        match (self, state) {
            (RetryBudget::Deposits(deposits), BudgetState::Account(account)) => {
                Some(deposits.balance(account) as f64 / 1_000.0)
            }
            _ => state.tokens(),
        }
    }
}

impl Throttle {
    pub(super) fn allows(&self, tokens: &Tokens) -> bool {
        tokens.thousandths * 2 > u64::from(self.max_tokens) * 1_000
    }
}

impl Quota {
    fn give(&self, tokens: &mut Tokens, thousandths: u64) {
        tokens.thousandths = tokens.thousandths.saturating_add(thousandths).min(u64::from(self.capacity) * 1_000);
    }

    /// Takes the cost of a retry, where there is enough.
    pub(super) fn pay(&self, tokens: &mut Tokens, cost: u32, now: SimTime) -> Option<u32> {
        self.refill(tokens, now);
        let left = tokens.thousandths.checked_sub(u64::from(cost) * 1_000)?;
        if left < u64::from(self.leaves) * 1_000 {
            return None;
        }
        (tokens.thousandths, tokens.kept) = (left, cost);
        Some(cost)
    }

    /// Gives what has come back with the whole seconds since the last time.
    fn refill(&self, tokens: &mut Tokens, now: SimTime) {
        if self.refill_thousandths == 0 {
            return;
        }
        let seconds = (now - tokens.refilled).as_nanos() / 1_000_000_000;
        tokens.refilled += SimDuration::from_secs(seconds);
        self.give(tokens, seconds.saturating_mul(self.refill_thousandths));
    }

    pub(super) fn cost_of(&self, answer: &Answer) -> u32 {
        self.costs.iter().find(|(kind, _)| kind.matches(answer)).map_or(self.cost, |(_, cost)| *cost)
    }
}

impl BudgetState {
    /// The tokens that are left, where there are tokens.
    pub fn tokens(&self) -> Option<f64> {
        match self {
            BudgetState::Tokens(tokens) => Some(tokens.thousandths as f64 / 1_000.0),
            BudgetState::Account(_) | BudgetState::Calls { .. } | BudgetState::Tally { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(cost: u32) -> Quota {
        Quota {
            capacity: 500,
            cost,
            costs: Vec::new(),
            refund_thousandths: 1_000,
            retried_refund: Refund::LastRetry,
            deposit: 0,
            leaves: 0,
            refill_thousandths: 0,
        }
    }

    #[test]
    fn calls_may_pay_in_and_a_retry_may_have_to_leave_something() {
        // By hand, in tenths of a retry: 5 retries at the start, of which the last must leave a tenth, and then one for
        // every ten calls.
        let budget = RetryBudget::Quota(Quota {
            capacity: 50,
            cost: 10,
            costs: Vec::new(),
            refund_thousandths: 0,
            retried_refund: Refund::Thousandths(0),
            deposit: 1,
            leaves: 1,
            refill_thousandths: 0,
        });
        let mut state = budget.full();
        let mut paid = |calls: u32| {
            (0..calls).for_each(|_| budget.passes(&mut state, Passage::Enters, SimTime::ZERO));
            (0..9).filter(|_| budget.failed(&mut state, &Answer::refused(500), true, SimTime::ZERO).is_some()).count()
        };
        assert_eq!([paid(0), paid(1), paid(9), paid(10), paid(1_000)], [4, 1, 0, 1, 4]);
    }

    #[test]
    fn a_quota_of_500_pays_for_100_or_50_or_35_retries() {
        // By hand, and as the AWS SDKs were measured: floor(500 / cost).
        for (cost, retries) in [(5, 100), (10, 50), (14, 35)] {
            let budget = RetryBudget::Quota(settings(cost));
            let mut state = budget.full();
            let paid = (0..1_000)
                .filter(|_| budget.failed(&mut state, &Answer::refused(500), true, SimTime::ZERO).is_some())
                .count();
            assert_eq!(paid, retries);
        }
    }

    #[test]
    fn a_quota_never_exceeds_its_capacity() {
        let budget = RetryBudget::Quota(settings(5));
        let mut state = budget.full();
        budget.succeeded(&mut state, None);
        budget.succeeded(&mut state, Some(5));
        assert_eq!(state.tokens(), Some(500.0));
    }

    #[test]
    fn a_client_gets_the_cost_of_its_last_retry_back_once() {
        // Measured on aws-smithy-runtime 1.16.2 with 30 tokens at 10 a retry.
        let budget =
            RetryBudget::Quota(Quota { capacity: 30, retried_refund: Refund::LastRetryOfClient, ..settings(10) });
        let mut state = budget.full();
        for _ in 0..4 {
            budget.failed(&mut state, &Answer::refused(503), true, SimTime::ZERO);
        }
        let tokens = [0; 3].map(|_| {
            budget.succeeded(&mut state, None);
            state.tokens()
        });
        assert_eq!(tokens, [Some(10.0), Some(11.0), Some(12.0)]);
    }

    #[test]
    fn a_quota_fills_up_with_whole_seconds() {
        // By hand: 8 tokens at 0; 1.9 s give one, and what is left of the second counts later.
        let budget = RetryBudget::Quota(Quota { capacity: 28, refill_thousandths: 1_000, ..settings(10) });
        let mut state = budget.full();
        let mut at = |millis: u64| {
            let now = SimTime::ZERO + SimDuration::from_millis(millis);
            budget.failed(&mut state, &Answer::refused(503), true, now);
            state.tokens()
        };
        assert_eq!([at(0), at(0), at(0)], [Some(18.0), Some(8.0), Some(8.0)]);
        assert_eq!([at(1_900), at(2_000), at(60_000)], [Some(9.0), Some(0.0), Some(18.0)]);
    }

    #[test]
    fn a_throttle_needs_more_than_half_of_its_tokens() {
        // gRPC: max 10 tokens; the 5th failure in a row leaves exactly half, which is not enough.
        let budget = RetryBudget::Throttle(Throttle {
            max_tokens: 10,
            ratio_thousandths: 100,
            after_wait: false,
            starts_with: 1.0,
        });
        let mut state = budget.full();
        let allowed: Vec<bool> =
            (0..6).map(|_| budget.failed(&mut state, &Answer::refused(503), true, SimTime::ZERO).is_some()).collect();
        assert_eq!(allowed, [true, true, true, true, false, false]);
        (0..11).for_each(|_| budget.succeeded(&mut state, None));
        assert_eq!(state.tokens(), Some(5.1));
    }

    #[test]
    fn a_failure_share_allows_retries_while_little_enough_has_failed() {
        // By hand: of 20 calls two may have failed for a tenth; the third failure is one too many until ten more have come.
        let budget = RetryBudget::FailureShare(FailureShare { at_most: 0.1 });
        let mut state = budget.full();
        let mut calls = |n: u32| (0..n).for_each(|_| budget.passes(&mut state, Passage::Enters, SimTime::ZERO));
        calls(20);
        let mut fails = |wanted| budget.failed(&mut state, &Answer::refused(500), wanted, SimTime::ZERO).is_some();
        assert_eq!([true, true, true].map(&mut fails), [true, true, false]);
        (0..20).for_each(|_| budget.passes(&mut state, Passage::Enters, SimTime::ZERO));
        // The last attempt of a call counts too, although nobody wants another.
        let mut fails = |wanted| budget.failed(&mut state, &Answer::refused(500), wanted, SimTime::ZERO).is_some();
        assert_eq!([false, true].map(&mut fails), [false, false]);
        assert_eq!(state, BudgetState::Tally { calls: 40, failures: 5 });
    }

    #[test]
    fn an_active_share_frees_a_place_when_a_retry_is_answered() {
        // Envoy's example: 20 % of 25 active requests are 5 retries at a time, of 2 active ones the minimum of 3.
        let budget = RetryBudget::ActiveShare(ActiveShare { share: 0.2, minimum: 3 });
        for (calls, places) in [(25, 5), (2, 3)] {
            let mut state = budget.full();
            (0..calls).for_each(|_| budget.passes(&mut state, Passage::Enters, SimTime::ZERO));
            let mut wants = || budget.failed(&mut state, &Answer::refused(503), true, SimTime::ZERO).is_some();
            assert_eq!((0..9).filter(|_| wants()).count(), places);
            budget.passes(&mut state, Passage::RetryEnds, SimTime::ZERO);
            assert!(budget.failed(&mut state, &Answer::refused(503), true, SimTime::ZERO).is_some());
            (0..calls).for_each(|_| budget.passes(&mut state, Passage::Leaves, SimTime::ZERO));
            assert!(matches!(state, BudgetState::Calls { active: 0, .. }));
        }
    }
}
