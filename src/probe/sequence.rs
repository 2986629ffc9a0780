//! Several calls of one client, one after another. Retry budgets outlive a call: what one spends the next one lacks, and
//! only a sequence shows when they run dry and how many successes it takes until a retry is paid for again.

use super::path::{Budgets, MOST_ATTEMPTS, walk_with};
use super::result::outcome;
use crate::policy::stack::Client;
use crate::provider::script::Script;
use crate::random::Seed;
use crate::units::{SimDuration, SimTime};

/// One call of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// How many attempts it made.
    pub attempts: u64,
    /// When each of them was sent, after the beginning of the call.
    pub sent: Vec<SimDuration>,
    /// How many retries were decided; one that is not made has been waited for all the same.
    pub waits: u64,
    /// How long the call took.
    pub took: SimDuration,
    /// What the caller got, in the words of [`super::Probe::outcome`].
    pub outcome: String,
    /// The tokens that the innermost budget of tokens has left after it, where anybody has asked that yet.
    pub tokens: Option<f64>,
}

/// Makes one call for each script, in order, with budgets that are full at first and shared by all. Each call begins at
/// the instant zero: no time passes between them.
pub fn sequence<'s>(client: &Client, scripts: impl IntoIterator<Item = &'s Script>, seed: Seed) -> Vec<Called> {
    sequence_at(client, scripts.into_iter().map(|script| (SimTime::ZERO, script)), seed)
}

/// The same of calls that begin at these instants, the earliest first.
pub fn sequence_at<'s>(
    client: &Client,
    calls: impl IntoIterator<Item = (SimTime, &'s Script)>,
    seed: Seed,
) -> Vec<Called> {
    let key = seed.key().named("sequence");
    let mut budgets = Budgets::full(client);
    let call = |(n, (from, script)): (u64, (SimTime, &Script))| {
        let key = key.with(n);
        let draws = |element: usize, attempt: u32, sent: u64| {
            key.with(element as u64).with(u64::from(attempt)).with(sent).stream()
        };
        let (path, waits, end) = walk_with(client, script, draws, MOST_ATTEMPTS, &mut budgets, from);
        Called {
            attempts: path.attempts.len() as u64,
            sent: path.attempts.iter().map(|attempt| attempt.sent - from).collect(),
            waits,
            took: end - from,
            outcome: outcome(client, &path),
            tokens: budgets.tokens(),
        }
    };
    (0..).zip(calls).map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::preset_client;

    fn attempts(client: &str, sets: &[&str], calls: &[(&str, usize)]) -> Vec<u64> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let client = preset_client(client, &sets).unwrap();
        let scripts: Vec<Script> = calls
            .iter()
            .flat_map(|(text, times)| std::iter::repeat_n(Script::parse(text, 0.0).unwrap(), *times))
            .collect();
        sequence(&client, &scripts, Seed(1)).into_iter().map(|call| call.attempts).collect()
    }

    #[test]
    fn calls_share_a_quota() {
        // 500 tokens at 14 a retry pay for 35: 17 calls with both of theirs, one with one, none for the rest (measured
        // on botocore 1.44.8). 14 successes give 14 back, which with the 10 that were left is one retry.
        let calls = attempts("botocore-1.44", &[], &[("500", 20), ("200", 14), ("500", 2)]);
        let expected = [vec![3; 17], vec![2, 1, 1], vec![1; 14], vec![2, 1]].concat();
        assert_eq!(calls, expected);
    }

    #[test]
    fn calls_without_a_budget_do_not_touch_each_other() {
        assert_eq!(attempts("botocore-1.44", &["mode=legacy"], &[("500", 60)]), [5; 60]);
    }

    #[test]
    fn a_throttle_counts_the_failures_of_all_calls() {
        // 10 tokens: the first call's four failures leave 6, so that its three retries pass; the next call's first
        // failure leaves 5, which is half and not enough.
        let sets = [
            "maxAttempts=4",
            "initialBackoff=1s",
            "maxBackoff=10s",
            "backoffMultiplier=2",
            "retryableStatusCodes=[\"UNAVAILABLE\"]",
            "retryThrottling={ maxTokens = 10, tokenRatio = 0.1 }",
        ];
        assert_eq!(attempts("grpc-js", &sets, &[("503", 3)]), [4, 1, 1]);
    }
}
