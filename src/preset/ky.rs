//! ky. It looks for a hint only after some statuses (413, 429, 503), so that the `retry-after` of a 500 is passed over,
//! and it also reads when a limit resets. A hint of zero is obeyed; one that it cannot read overflows its timer and
//! fires at once. Timeouts are not repeated, and bodies are read when its retries are over.
//!
//! Not held: with `maxRetryAfter`, a header that it cannot read waits that long.

use super::got::{LONGEST_TIMER, repeated};
use super::{Family, Source, Spoken, Version, Word, also, as_it_is, http, obey, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "ky",
    about: "an HTTP client of npm, on fetch",
    kind: Kind::Client,
    versions: &[Version { number: "1.14", source: Source::Measured("ky 1.14.3"), defaults: DEFAULTS }],
    words: WORDS,
};

const DEFAULTS: &str = concat!(
    "max_attempts = 3\n",
    "retry_on = { failures = [408, 429, 500, 502, 503, 504, \"unreachable\", \"drop\"], with_hint = [413] }\n",
    "backoff = { exponential = { initial = \"300ms\", factor = 2.0 } }\n",
    "hint = { obey = { cap = \"2147483647ms\", above = \"at_once\" } }\n",
    "hint_on = [413, 429, 503]\n",
    "hint_headers = [",
    "{ header = \"retry-after\", zero = \"at_once\", negative = \"tick\", not_a_number = \"tick\", ",
    "infinite = \"tick\", past = \"tick\", unreadable = \"tick\" }, ",
    "{ header = \"x-ratelimit-reset\", zero = \"at_once\", negative = \"tick\", not_a_number = \"tick\", ",
    "infinite = \"tick\", past = \"tick\", unreadable = \"tick\" }]\n",
    "timeout = \"10s\"\n",
);

const WORDS: &[Word] = &[
    word("limit", "max_attempts", "tries after the first one", super::retries_to_attempts),
    word("method", "retry_on", http::METHOD, retry_on),
    word("methods", "retry_on", "the methods that are repeated, or \"any\"", retry_on),
    word("statusCodes", "retry_on", "statuses that are repeated", retry_on),
    word("retryOnTimeout", "retry_on", "whether timeouts are repeated", retry_on),
    word("afterStatusCodes", "hint_on", "statuses whose hint is looked at", hint_on),
    also("afterStatusCodes", "retry_on", retry_on),
    word("backoffLimit", "longest_wait", "the longest wait of its own", as_it_is),
    word("jitter", "jitter", "true for a wait anywhere from zero to the planned one", jitter),
    word("maxRetryAfter", "hint", "the longest hint; a longer one is cut to it", hint),
    word("timeout", "timeout", "the longest time of one request", as_it_is),
];

const STATUSES: [u16; 7] = [408, 413, 429, 500, 502, 503, 504];

const AFTER_STATUSES: [u16; 3] = [413, 429, 503];

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    let method = http::is_repeated(spoken, "methods", &http::IDEMPOTENT);
    let statuses = http::statuses(spoken, "statusCodes", &STATUSES);
    let after = http::statuses(spoken, "afterStatusCodes", &AFTER_STATUSES);
    let timeouts = spoken.or("retryOnTimeout", false, Field::truth);
    let (statuses, after) = (statuses?, after?);
    let words: &[&str] = if timeouts? { &["timeout", "unreachable", "drop"] } else { &["unreachable", "drop"] };
    Some(if method? { repeated(&statuses, words, after.contains(&413)) } else { text("none") })
}

fn hint_on(spoken: &Spoken<'_>) -> Option<Value> {
    http::statuses(spoken, "afterStatusCodes", &[]).map(|statuses| http::failures(&statuses, &[]))
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    match spoken.field.node.value {
        Value::Boolean(true) => Some(text("full")),
        Value::Boolean(false) => Some(text("none")),
        _ => as_it_is(spoken),
    }
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let longest = spoken.field.positive_duration()?;
    Some(if longest > LONGEST_TIMER { obey(LONGEST_TIMER, "at_once") } else { obey(longest, "clamp") })
}
