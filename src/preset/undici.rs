//! The `RetryAgent` of undici, which is also the HTTP client inside Node. A hint is cut to the longest wait of its own,
//! and `retryAfter: false` changes nothing. What it would repeat raises in the end; every other failed status comes
//! back as a response. Timeouts are not among its error codes.
//!
//! Not held: an answer cut short is asked for again by a range of bytes, which the model's answers do not have.

use super::{Family, Source, Spoken, Version, Word, also, exponential, http, obey, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "undici-retryagent",
    about: "the retrying agent of undici, the HTTP client of Node",
    kind: Kind::Client,
    versions: &[Version { number: "7.30", source: Source::Measured("undici 7.30.2"), defaults: DEFAULTS }],
    words: WORDS,
};

/// The timeouts are the agent's own for a connection, for the head of an answer and between the pieces of its body.
const DEFAULTS: &str = concat!(
    "max_attempts = 6\n",
    "retry_on = [429, 500, 502, 503, 504, \"unreachable\", \"drop\"]\n",
    "backoff = { exponential = { initial = \"500ms\", factor = 2.0, cap = \"30s\" } }\n",
    "hint = { obey = { cap = \"30s\", above = \"clamp\" } }\n",
    "hint_headers = [{ header = \"retry-after\" }]\n",
    "timeout = { connect = \"10s\", read = \"300s\" }\n",
    "hands_back = { unretried = [\"400..428\", \"430..499\", \"501..501\", \"505..599\"] }\n",
);

const WORDS: &[Word] = &[
    word("maxRetries", "max_attempts", "tries after the first one (default 5)", super::retries_to_attempts),
    word("method", "retry_on", http::METHOD, retry_on),
    word("methods", "retry_on", "the methods that are repeated, or \"any\"", retry_on),
    word("statusCodes", "retry_on", "statuses that are repeated (default [429, 500, 502, 503, 504])", retry_on),
    also("statusCodes", "hands_back", hands_back),
    word("minTimeout", "backoff", "the first wait (default \"500ms\")", backoff),
    word("timeoutFactor", "backoff", "what each further wait is multiplied by (default 2)", backoff),
    word("maxTimeout", "backoff", "the longest wait, its own or a retry-after (default \"30s\")", backoff),
    also("maxTimeout", "hint", hint),
    word("retryAfter", "hint", "nothing: retry-after is obeyed even where this is false (default true)", hint),
    word("headersTimeout", "timeout", "the longest time until an answer begins (default \"300s\")", timeout),
];

const STATUSES: [u16; 5] = [429, 500, 502, 503, 504];

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    let method = http::is_repeated(spoken, "methods", &http::IDEMPOTENT);
    let statuses = http::statuses(spoken, "statusCodes", &STATUSES)?;
    Some(if method? { http::failures(&statuses, &["unreachable", "drop"]) } else { text("none") })
}

fn hands_back(spoken: &Spoken<'_>) -> Option<Value> {
    let returned = http::all_but(&http::statuses(spoken, "statusCodes", &STATUSES)?);
    Some(table([("unretried", returned), ("exhausted", text("error"))]))
}

fn timeout(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.field.positive_duration()?;
    Some(table([("connect", text("10s")), ("read", spoken.field.node.value.clone())]))
}

fn longest(spoken: &Spoken<'_>) -> Option<SimDuration> {
    spoken.or("maxTimeout", SimDuration::from_secs(30), Field::positive_duration)
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let first = spoken.or("minTimeout", SimDuration::from_millis(500), Field::duration);
    let factor = spoken.or("timeoutFactor", 2.0, |field| field.number(0.001..=1_000.0));
    let longest = longest(spoken)?;
    Some(exponential(first?, factor?, Some(longest)))
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let obeyed = spoken.or("retryAfter", true, Field::truth);
    let longest = longest(spoken)?;
    obeyed.map(|_| obey(longest, "clamp"))
}
