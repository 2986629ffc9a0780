//! The runtime of the Rust SDKs of AWS. A bucket of 500 tokens pays for retries: by default 5 for a throttled request and
//! 10 for any other, so that it lasts for 50 retries of an outage; a newer retry specification asks 14 and waits
//! twenty times less.
//!
//! An answer is throttled if it is a 429 or names a code that says so: the runtime alone looks at neither, every client
//! built on it does. The cost of a client's last retry comes back with its next success, whichever call that is. Not
//! held: the rate limiter of its adaptive mode.

use super::botocore::throttling_codes;
use super::{Family, Source, Spoken, Version, Word, also, exponential, form, list, obey, table, text, word};
use crate::document::{Field, Value, parse};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "aws-smithy",
    about: "the runtime of the Rust SDKs of AWS",
    kind: Kind::Client,
    versions: &[Version { number: "1.16", source: Source::Measured("aws-smithy-runtime 1.16.2"), defaults: DEFAULTS }],
    words: WORDS,
};

/// What counts as throttled.
const THROTTLED: &str = concat!("on = { failures = [429], codes = [", throttling_codes!(), "] }\n");

const DEFAULTS: &str = concat!(
    "max_attempts = 3\n",
    "retry_on = { failures = [429, 500, 502, 503, 504, \"timeout\", \"connection\"], ",
    "codes = [\"RequestTimeout\", \"RequestTimeoutException\", ",
    throttling_codes!(),
    "] }\n",
    "backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"20s\" } }\n",
    "jitter = \"full\"\n",
    "hint = { obey = { cap = \"20s\", above = \"clamp\" } }\n",
    "hint_headers = [{ header = \"x-amz-retry-after\", zero = \"at_once\", fraction = \"nothing\", ",
    "exponent = \"nothing\", infinite = \"nothing\", date = \"nothing\" }]\n",
    "budget = { quota = { capacity = 500, cost = 10, costs = [{ on = { failures = [429], codes = [",
    throttling_codes!(),
    "] }, cost = 5 }], refund = 1, retried_refund = \"last_retry_of_client\" } }\n",
);

const WORDS: &[Word] = &[
    word("max_attempts", "max_attempts", "tries, the first one included (default 3)", attempts),
    word("disabled", "max_attempts", "whether nothing is repeated (default false)", attempts),
    word("initial_backoff", "backoff", "the longest first wait (default \"1s\")", backoff),
    word("max_backoff", "backoff", "the longest wait (default \"20s\")", backoff),
    word(
        "retry_spec",
        "backoff",
        "\"2.0\" or \"2.1\"; the newer one waits 50 ms where nothing is throttled (default \"2.0\")",
        backoff,
    )
    .yielding(),
    also("retry_spec", "backoff_by_kind", backoff_by_kind),
    also("initial_backoff", "backoff_by_kind", backoff_by_kind),
    also("max_backoff", "backoff_by_kind", backoff_by_kind),
    also("retry_spec", "hint", hint),
    also("max_backoff", "hint", hint),
    also("retry_spec", "budget", budget),
    word("capacity", "budget", "the tokens of the bucket (default 500)", budget),
    word("timeout_retry_cost", "budget", "what a retry costs: 10, or 14 by retry specification 2.1", budget),
    word("throttling_retry_cost", "budget", "what it costs after a throttled answer (default 5)", budget),
    word("success_reward", "budget", "what every success gives; without it 1, or what the last retry cost", budget),
    word("refill_rate", "budget", "tokens that come back with each whole second (default 0)", budget),
];

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let attempts = spoken.or("max_attempts", 3, |field| field.whole(1..=1_000_000));
    let disabled = spoken.or("disabled", false, Field::truth);
    let attempts = i64::try_from(attempts?).ok()?;
    Some(Value::Integer(if disabled? { 1 } else { attempts }))
}

/// Whether the newer specification is asked for.
fn is_newer(spoken: &Spoken<'_>) -> Option<bool> {
    spoken.or("retry_spec", false, |field| field.word(&[("2.0", false), ("2.1", true)]))
}

fn initial(spoken: &Spoken<'_>) -> Option<SimDuration> {
    spoken.or("initial_backoff", SimDuration::from_secs(1), Field::positive_duration)
}

fn longest(spoken: &Spoken<'_>) -> Option<SimDuration> {
    spoken.or("max_backoff", SimDuration::from_secs(20), Field::positive_duration)
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let (newer, initial, longest) = (is_newer(spoken), initial(spoken), longest(spoken));
    let (newer, initial) = (newer?, initial?);
    Some(exponential(if newer { SimDuration::from_millis(50) } else { initial }, 2.0, Some(longest?)))
}

fn throttled() -> Option<Value> {
    Some(parse::own(THROTTLED).get("on")?.node.value.clone())
}

fn backoff_by_kind(spoken: &Spoken<'_>) -> Option<Value> {
    let (newer, initial, longest) = (is_newer(spoken), initial(spoken), longest(spoken));
    let (initial, longest) = (initial?, longest?);
    if !newer? {
        return Some(list([]));
    }
    Some(list([table([("on", throttled()?), ("backoff", exponential(initial, 2.0, Some(longest)))])]))
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let (newer, longest) = (is_newer(spoken), longest(spoken));
    let longest = longest?;
    Some(if newer? { form("near", table([("beyond", text("5s"))])) } else { obey(longest, "clamp") })
}

fn budget(spoken: &Spoken<'_>) -> Option<Value> {
    let dear = if is_newer(spoken)? { 14 } else { 10 };
    let capacity = spoken.or("capacity", 500, |field| field.whole(1..=1_000_000));
    let price = |word: &str, price: u64| spoken.or(word, price, |field| field.whole(0..=65_534));
    let (cost, throttled_cost) = (price("timeout_retry_cost", dear), price("throttling_retry_cost", 5));
    let reward = spoken.word("success_reward").map(|field| field.number(0.0..=1_000_000.0).map(Value::Float));
    let refill = spoken.or("refill_rate", 0.0, |field| field.number(0.0..=1_000_000.0));
    let whole = |number: u64| i64::try_from(number).ok().map(Value::Integer);
    let costs = list([table([("on", throttled()?), ("cost", whole(throttled_cost?)?)])]);
    let (refund, retried) = match reward {
        None => (Value::Integer(1), text("last_retry_of_client")),
        Some(reward) => (reward.clone()?, reward?),
    };
    Some(form(
        "quota",
        table([
            ("capacity", whole(capacity?)?),
            ("cost", whole(cost?)?),
            ("costs", costs),
            ("refund", refund),
            ("retried_refund", retried),
            ("refill_per_second", Value::Float(refill?)),
        ]),
    ))
}
