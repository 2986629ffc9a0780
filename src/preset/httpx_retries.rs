//! httpx-retries, a transport for httpx. Ten retries without a wait are its default, for idempotent methods only, and a
//! 500 is not among its statuses. A transport does not see bodies, so that an answer cut short is not repeated.
//!
//! Not held: its `total_timeout` counts only its own waits; here the attempts count too.

use super::{Family, Source, Spoken, Version, Word, also, as_it_is, exponential, form, http, obey, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "httpx-retries",
    about: "a retrying transport for httpx",
    kind: Kind::Client,
    versions: &[Version { number: "0.6", source: Source::Measured("httpx-retries 0.6.0"), defaults: DEFAULTS }],
    words: WORDS,
};

/// The timeout is the one of httpx itself.
const DEFAULTS: &str = concat!(
    "max_attempts = 11\n",
    "retry_on = [429, 502, 503, 504, \"timeout\", \"unreachable\", \"drop\"]\n",
    "backoff = \"none\"\n",
    "jitter = \"full\"\n",
    "longest_wait = \"120s\"\n",
    "hint = { obey = { cap = \"120s\", above = \"clamp\" } }\n",
    "hint_headers = [{ header = \"retry-after\", fraction = \"nothing\", exponent = \"nothing\", ",
    "infinite = \"nothing\" }]\n",
    "timeout = \"5s\"\n",
    "hands_back = { unretried = \"response\", exhausted = \"response\" }\n",
);

const WORDS: &[Word] = &[
    word("total", "max_attempts", "tries after the first one", super::retries_to_attempts),
    word("method", "retry_on", http::METHOD, retry_on),
    word("allowed_methods", "retry_on", "the methods that are repeated, or \"any\"", retry_on),
    word("status_forcelist", "retry_on", "statuses that are repeated", retry_on),
    word("backoff_factor", "backoff", "the wait is twice this before the first retry, then doubles", backoff),
    word("backoff_jitter", "jitter", "the share of a wait that is taken off at random", jitter),
    word("max_backoff_wait", "longest_wait", "the longest wait, its own or a retry-after", as_it_is),
    also("max_backoff_wait", "hint", hint),
    word("respect_retry_after_header", "hint", "whether retry-after is looked at", hint),
    word("total_timeout", "total_budget", "the longest time of all waits together", as_it_is),
    also("total_timeout", "budget_check", cut),
    word("timeout", "timeout", "the longest time of one request; a word of httpx", as_it_is),
];

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    let method = http::is_repeated(spoken, "allowed_methods", &http::IDEMPOTENT);
    let statuses = http::statuses(spoken, "status_forcelist", &[429, 502, 503, 504])?;
    Some(if method? { http::failures(&statuses, &["timeout", "unreachable", "drop"]) } else { text("none") })
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let factor = spoken.field.duration()?;
    Some(if factor.is_zero() { text("none") } else { exponential(factor.times(2), 2.0, None) })
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    let share = spoken.field.ratio()?;
    Some(if share == 0.0 { text("none") } else { form("subtract", Value::Float(share)) })
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let respects = spoken.or("respect_retry_after_header", true, Field::truth);
    let longest = spoken.or("max_backoff_wait", SimDuration::from_secs(120), Field::positive_duration)?;
    Some(if respects? { obey(longest, "clamp") } else { text("ignore") })
}

/// The last wait is cut to what is left.
#[expect(clippy::unnecessary_wraps, reason = "it stands in a table beside words that can be wrong")]
fn cut(_: &Spoken<'_>) -> Option<Value> {
    Some(text("elapsed_cut"))
}
