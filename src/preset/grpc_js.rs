//! gRPC for Node. A service config says what is repeated; without one nothing is. Whatever it says, a channel makes at
//! most five attempts unless an option of its own raises that. A server's pushback replaces the wait, has no jitter and
//! no cap, and puts the backoff back to its first step; a negative one forbids retries; one that cannot be read is a
//! timer that fires at once.
//!
//! A status of gRPC is given as the HTTP status that Google maps it to: `UNAVAILABLE` is 503, and a failed connection is
//! `UNAVAILABLE` too. Statuses that share a number are told apart by the error code of the answer.
//!
//! The throttle is looked at after the wait, so that a throttled call waits before it fails. Tokens belong to a target, not
//! to one channel: a channel that is opened later begins with the share that is left, which `left` says.
//!
//! Not here: hedging, which is an element of its own. The throttle does not bound it, and what hedges take of the tokens
//! is not counted.

use super::{Family, Source, Spoken, Version, Word, also, durations, exponential, form, http, list, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "grpc-js",
    about: "gRPC for Node, by its service config",
    kind: Kind::Client,
    versions: &[Version { number: "1.14", source: Source::Measured("@grpc/grpc-js 1.14.7"), defaults: DEFAULTS }],
    words: WORDS,
};

const DEFAULTS: &str = concat!(
    "max_attempts = 1\n",
    "retry_on = \"none\"\n",
    "backoff = \"none\"\n",
    "jitter = { plus_minus = \"20%\" }\n",
    "hint = \"obey\"\n",
    "hint_headers = [{ header = \"grpc-retry-pushback-ms\", zero = \"at_once\", negative = \"never\", ",
    "not_a_number = \"tick\", infinite = \"tick\", date = \"tick\", past = \"tick\", unreadable = \"tick\" }]\n",
    "hint_resets_backoff = true\n",
);

const WORDS: &[Word] = &[
    word("maxAttempts", "max_attempts", "tries, the first one included; cut to the channel's limit", attempts),
    word("retry_max_attempts_limit", "max_attempts", "the channel's limit (default 5)", attempts),
    word("enable_retries", "max_attempts", "whether the channel repeats anything (default true)", attempts),
    word("retryableStatusCodes", "retry_on", "statuses of gRPC that are repeated, such as [\"UNAVAILABLE\"]", retry_on),
    word("initialBackoff", "backoff", "the first wait, even where it is above maxBackoff", backoff),
    word("backoffMultiplier", "backoff", "what each further wait is multiplied by", backoff),
    word("maxBackoff", "backoff", "the longest wait, jitter left out", backoff),
    word(
        "retryThrottling",
        "budget",
        "{ maxTokens = n, tokenRatio = r }, and `left`, the share of the tokens to begin with",
        throttle,
    ),
    also("maxAttempts", "retry_on", retry_on),
    also("maxAttempts", "backoff", backoff),
];

/// The statuses of gRPC with the HTTP statuses that they map to.
const STATUSES: [(&str, u16); 16] = [
    ("CANCELLED", 499),
    ("UNKNOWN", 500),
    ("INVALID_ARGUMENT", 400),
    ("DEADLINE_EXCEEDED", 504),
    ("NOT_FOUND", 404),
    ("ALREADY_EXISTS", 409),
    ("PERMISSION_DENIED", 403),
    ("RESOURCE_EXHAUSTED", 429),
    ("FAILED_PRECONDITION", 400),
    ("ABORTED", 409),
    ("OUT_OF_RANGE", 400),
    ("UNIMPLEMENTED", 501),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DATA_LOSS", 500),
    ("UNAUTHENTICATED", 401),
];

/// The most attempts that a channel makes unless it is told otherwise.
const LIMIT: u64 = 5;

pub(super) fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let attempts = spoken.or("maxAttempts", 1, |field| field.whole(2..=1_000_000));
    let limit = spoken.or("retry_max_attempts_limit", LIMIT, |field| field.whole(1..=1_000_000));
    let enabled = spoken.or("enable_retries", true, Field::truth);
    let (attempts, limit) = (attempts?.min(limit?), enabled?);
    Some(Value::Integer(if limit { i64::try_from(attempts).ok()? } else { 1 }))
}

pub(super) fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    let status = |field: &Field<'_>| field.word(&STATUSES.map(|(name, status)| (name, (name, status))));
    let read = |field: &Field<'_>| -> Option<Vec<(&'static str, u16)>> {
        field.list("statuses", STATUSES.len())?.iter().map(status).collect()
    };
    let listed = spoken.needs("retryableStatusCodes", read)?;
    let statuses: Vec<u16> = (400..600).filter(|status| listed.iter().any(|(_, listed)| listed == status)).collect();
    let unavailable = listed.iter().any(|(name, _)| *name == "UNAVAILABLE");
    let failures = http::failures(&statuses, if unavailable { &["connection"] } else { &[] });
    let others = STATUSES.iter().filter(|other| statuses.contains(&other.1) && !listed.contains(other));
    let others: Vec<Value> = others.map(|(name, _)| text(name)).collect();
    Some(if others.is_empty() { failures } else { table([("failures", failures), ("never", list(others))]) })
}

pub(super) fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.needs("initialBackoff", Field::positive_duration);
    let multiplier = spoken.needs("backoffMultiplier", |field| field.number(0.001..=1_000.0));
    let most = spoken.needs("maxBackoff", Field::positive_duration);
    let (initial, multiplier, most): (SimDuration, f64, SimDuration) = (initial?, multiplier?, most?);
    if initial <= most {
        return Some(exponential(initial, multiplier, Some(most)));
    }
    let later = initial.scaled(multiplier).min(most);
    if multiplier < 1.0 && later < most {
        return spoken.field.wrong(
            "is a first wait above `maxBackoff` that shrinks below it",
            "write an `initialBackoff` that is at most `maxBackoff`",
        );
    }
    Some(form("list", durations([initial, later])))
}

/// Node looks at the tokens when the wait is over; Python before it, and reads a whole ratio as thousandths.
pub(super) fn throttle(spoken: &Spoken<'_>) -> Option<Value> {
    let is_node = spoken.version.source.of().contains("grpc-js");
    let reader = spoken.field.table("maxTokens, tokenRatio and left")?;
    let tokens = reader.need("maxTokens", "write the tokens that it starts with, such as 10");
    let ratio = reader.need("tokenRatio", "write the tokens that a success gives, such as 0.1");
    let tokens = tokens.and_then(|field| field.whole(1..=1_000));
    let in_thousandths = ratio.as_ref().is_some_and(|ratio| !is_node && matches!(ratio.node.value, Value::Integer(_)));
    let ratio = ratio.and_then(|field| field.number(0.001..=1_000.0));
    let left = reader.or("left", 1.0, Field::ratio);
    reader.finish();
    let (tokens, ratio) = (i64::try_from(tokens?).ok()?, ratio?);
    let thousandths = if in_thousandths { ratio } else { (ratio * 1_000.0).floor() };
    // No digit after the third is read.
    let throttle = [
        ("max_tokens", Value::Integer(tokens)),
        ("ratio", Value::Float(thousandths / 1_000.0)),
        ("checked", text(if is_node { "after_wait" } else { "before_wait" })),
        ("starts_with", Value::Float(left?)),
    ];
    Some(form("throttle", table(throttle)))
}
