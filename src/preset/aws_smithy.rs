//! The runtime of the Rust SDKs of AWS. A bucket of 500 tokens pays for retries: by default 5 for a throttled request and
//! 10 for any other, so that it lasts for 50 retries of an outage; a newer retry specification asks 14 and waits
//! twenty times less.
//!
//! An answer is throttled if it is a 429 or names a code that says so: the runtime alone looks at neither, every client
//! built on it does. Not held: the cost of a call's last retry can come back with a success of another call, and the
//! rate limiter of its adaptive mode.

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
    "] }, cost = 5 }], refund = 1, retried_refund = \"last_retry\" } }\n",
);

const WORDS: &[Word] = &[
    word("max_attempts", "max_attempts", "tries, the first one included", attempts),
    word("disabled", "max_attempts", "whether nothing is repeated", attempts),
    word("initial_backoff", "backoff", "the longest first wait", backoff),
    word("max_backoff", "backoff", "the longest wait", backoff),
    word("retry_spec", "backoff", "\"2.0\" or \"2.1\"; the newer one waits 50 ms where nothing is throttled", backoff),
    also("retry_spec", "backoff_by_kind", backoff_by_kind),
    also("initial_backoff", "backoff_by_kind", backoff_by_kind),
    also("max_backoff", "backoff_by_kind", backoff_by_kind),
    also("retry_spec", "hint", hint),
    also("max_backoff", "hint", hint),
    also("retry_spec", "budget", budget),
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
    let cost = if is_newer(spoken)? { 14 } else { 10 };
    let costs = list([table([("on", throttled()?), ("cost", Value::Integer(5))])]);
    Some(form(
        "quota",
        table([
            ("capacity", Value::Integer(500)),
            ("cost", Value::Integer(cost)),
            ("costs", costs),
            ("refund", Value::Integer(1)),
            ("retried_refund", text("last_retry")),
        ]),
    ))
}
