//! got. Its noise of up to a tenth of a second is added above the limit of the wait. A `retry-after` is obeyed however
//! long it is, until a limit is given: then a longer one ends the retries. Zero is no hint, a date in the past or a
//! negative number is a millisecond, and a 413 is repeated only with a hint.

use super::{Family, Source, Spoken, Version, Word, also, duration, exponential, form, http, obey, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "got",
    about: "an HTTP client of npm",
    kind: Kind::Client,
    versions: &[Version { number: "14.6", source: Source::Measured("got 14.6.6"), defaults: DEFAULTS }],
    words: WORDS,
};

const DEFAULTS: &str = concat!(
    "max_attempts = 3\n",
    "retry_on = { failures = [408, 429, 500, 502, 503, 504, 521, 522, 524, \"timeout\", \"connection\"], ",
    "with_hint = [413] }\n",
    "backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\n",
    "jitter = { add = \"100ms\" }\n",
    "hint = { obey = { cap = \"2147483647ms\", above = \"at_once\" } }\n",
    "hint_headers = [{ header = \"retry-after\", negative = \"tick\", past = \"tick\", infinite = \"tick\" }]\n",
);

const WORDS: &[Word] = &[
    word("limit", "max_attempts", "tries after the first one (default 2)", super::retries_to_attempts),
    word("method", "retry_on", http::METHOD, retry_on),
    word("methods", "retry_on", "the methods that are repeated, or \"any\"", retry_on),
    word(
        "statusCodes",
        "retry_on",
        "statuses that are repeated (default [408, 413, 429, 500, 502, 503, 504, 521, 522, 524])",
        retry_on,
    ),
    word("backoffLimit", "backoff", "the longest wait, noise left out", backoff),
    word("noise", "jitter", "what is added to a wait at random (default \"100ms\")", noise),
    word("maxRetryAfter", "hint", "the longest retry-after; a longer one ends the retries", hint),
    word("timeout", "timeout", "the longest time of one request as a whole, and of a retry-after", timeout),
    also("timeout", "hint", hint),
];

const STATUSES: [u16; 10] = [408, 413, 429, 500, 502, 503, 504, 521, 522, 524];

/// The longest wait that a timer of Node can hold.
pub(super) const LONGEST_TIMER: SimDuration = SimDuration::from_millis(2_147_483_647);

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    let method = http::is_repeated(spoken, "methods", &http::IDEMPOTENT);
    let statuses = http::statuses(spoken, "statusCodes", &STATUSES)?;
    Some(if method? { repeated(&statuses, &["timeout", "connection"], true) } else { text("none") })
}

/// Statuses and failures without one; a 413 counts only with a hint, where the client reads one there.
pub(super) fn repeated(statuses: &[u16], words: &[&str], reads_a_hint: bool) -> Value {
    const TOO_LARGE: u16 = 413;
    let always: Vec<u16> = statuses.iter().copied().filter(|status| *status != TOO_LARGE).collect();
    let failures = http::failures(&always, words);
    if reads_a_hint && always.len() < statuses.len() {
        return table([("failures", failures), ("with_hint", http::failures(&[TOO_LARGE], &[]))]);
    }
    failures
}

/// `timeout.request` counts until all of the answer is there.
fn timeout(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.field.positive_duration()?;
    Some(table([("total", spoken.field.node.value.clone())]))
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let limit = spoken.field.duration()?;
    Some(exponential(SimDuration::from_secs(1), 2.0, Some(limit)))
}

fn noise(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.field.duration().map(|noise| form("add", duration(noise)))
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let limit = |word: &str| spoken.or(word, None, |field: &Field<'_>| field.positive_duration().map(Some));
    let (longest, timeout) = (limit("maxRetryAfter"), limit("timeout"));
    let longest = longest?.or(timeout?);
    Some(longest.map_or_else(|| obey(LONGEST_TIMER, "at_once"), |longest| obey(longest, "give_up")))
}
