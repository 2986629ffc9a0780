//! urllib3, the connection pool under requests and botocore. The first retry never waits, and by default no status is
//! repeated unless the server sends a `retry-after` with a 413, 429 or 503, and then only for idempotent methods.
//!
//! Two of its surprises are kept. Whoever says any word of its `Retry` without `total` gets 10 retries instead of the
//! pool's 3. And a status that is repeated only for its `retry-after` comes back as a response when retries are used up,
//! although listed ones raise. Not held: `other` and `redirect`, which count what the model does not have.

use super::{
    Family, Source, Spoken, Version, also, as_it_is, duration, exponential, form, http, list, obey, table, text, word,
};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

/// What it does by default: attempts, and the failures without a status, vary.
macro_rules! urllib3_defaults {
    ($attempts:literal, $failures:literal) => {
        concat!(
            "max_attempts = ",
            $attempts,
            "\nretry_on = { failures = ",
            $failures,
            ", with_hint = [413, 429, 503] }\n",
            "backoff = \"none\"\n",
            "longest_wait = \"120s\"\n",
            "hint = { obey = { cap = \"6h\", above = \"clamp\" } }\n",
            "hint_headers = [{ header = \"retry-after\", zero = \"own_backoff\", negative = \"fatal\", ",
            "fraction = \"fatal\", exponent = \"fatal\", not_a_number = \"fatal\", infinite = \"fatal\", ",
            "past = \"own_backoff\", unreadable = \"fatal\" }]\n",
            "hands_back = { unretried = \"response\", exhausted = [413, 429, 503] }\n",
        )
    };
}
pub(super) use urllib3_defaults;

/// The words of its class `Retry`, and the method that they depend on.
macro_rules! retry_words {
    ($attempts:expr, $retry_on:expr $(, $more:expr)*) => {
        &[
            $($more,)*
            word("total", "max_attempts", "tries after the first one; 10 where another of these words is said", $attempts),
            also("total", "hands_back", hands_back),
            word("method", "retry_on", http::METHOD, $retry_on),
            word("allowed_methods", "retry_on", "the methods that are repeated, or \"any\"", $retry_on),
            word("status_forcelist", "retry_on", "statuses that are repeated", $retry_on),
            word("respect_retry_after_header", "retry_on", "whether retry-after is looked at", $retry_on),
            word("status", "retries_by_kind", "the most of them that repeat a status", by_kind),
            word("read", "retries_by_kind", "the most of them after an answer that did not come", by_kind),
            word("connect", "retries_by_kind", "the most of them after a failed connection", by_kind),
            word("backoff_factor", "backoff", "the wait is twice this before the second retry, then doubles", backoff),
            word("backoff_jitter", "backoff", "what is added to it at random", backoff),
            word("backoff_max", "longest_wait", "the longest wait of its own", as_it_is),
            word("retry_after_max", "hint", "the longest retry-after", hint),
            word("raise_on_status", "hands_back", "whether a listed status raises in the end", hands_back),
            also("status_forcelist", "hands_back", hands_back),
            also("status", "hands_back", hands_back),
            also("respect_retry_after_header", "hint", hint),
            also("allowed_methods", "max_attempts", $attempts),
            also("status_forcelist", "max_attempts", $attempts),
            also("respect_retry_after_header", "max_attempts", $attempts),
            also("status", "max_attempts", $attempts),
            also("read", "max_attempts", $attempts),
            also("connect", "max_attempts", $attempts),
            also("backoff_factor", "max_attempts", $attempts),
            also("backoff_jitter", "max_attempts", $attempts),
            also("backoff_max", "max_attempts", $attempts),
            also("retry_after_max", "max_attempts", $attempts),
            also("raise_on_status", "max_attempts", $attempts),
            word("timeout", "timeout", "the longest time of one request", as_it_is),
        ]
    };
}
pub(super) use retry_words;

pub(super) static FAMILY: Family = Family {
    word: "urllib3",
    about: "the HTTP connection pool of Python",
    kind: Kind::Client,
    versions: &[Version {
        number: "2.8",
        source: Source::Measured("urllib3 2.8.0"),
        defaults: urllib3_defaults!("4", "[\"connect_timeout\", \"unreachable\", \"read_timeout\", \"drop\", \"cut\"]"),
    }],
    words: retry_words!(attempts, retry_on),
};

/// The statuses that are repeated where they come with a `retry-after`.
const WITH_RETRY_AFTER: [u16; 3] = [413, 429, 503];

/// The most retries that `Retry` makes without `total`.
const TOTAL: u64 = 10;

pub(super) fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let total = spoken.or("total", TOTAL, |field| field.whole(0..=999_999))?;
    Some(Value::Integer(i64::try_from(total).ok()? + 1))
}

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    repeated(spoken, &["read_timeout", "drop", "cut"])
}

/// What is repeated. `after_sending` are the failures that come when a request may have had its effect; a connection
/// that was never made is repeated for every method.
pub(super) fn repeated(spoken: &Spoken<'_>, after_sending: &[&str]) -> Option<Value> {
    const BEFORE_SENDING: [&str; 2] = ["connect_timeout", "unreachable"];
    let method = http::is_repeated(spoken, "allowed_methods", &http::IDEMPOTENT);
    let listed = http::statuses(spoken, "status_forcelist", &[]);
    let respects = spoken.or("respect_retry_after_header", true, Field::truth);
    let (method, listed, respects) = (method?, listed?, respects?);
    if !method {
        return Some(http::failures(&[], &BEFORE_SENDING));
    }
    let failures = http::failures(&listed, &[&BEFORE_SENDING, after_sending].concat());
    let with_hint = only_with_hint(&listed);
    if respects && !with_hint.is_empty() {
        return Some(table([("failures", failures), ("with_hint", http::failures(&with_hint, &[]))]));
    }
    Some(failures)
}

fn only_with_hint(listed: &[u16]) -> Vec<u16> {
    WITH_RETRY_AFTER.into_iter().filter(|status| !listed.contains(status)).collect()
}

/// Limits on retries of one kind.
pub(super) fn by_kind(spoken: &Spoken<'_>) -> Option<Value> {
    let kinds: [(&str, &[&str]); 3] = [
        ("status", &["4xx", "5xx"]),
        ("read", &["read_timeout", "drop", "cut"]),
        ("connect", &["connect_timeout", "unreachable"]),
    ];
    let limit = |(word, on): (&str, &[&str])| {
        let max = spoken.or(word, None, |field| field.whole(0..=65_535).map(Some))?;
        let max = max.and_then(|max| i64::try_from(max).ok()).map(Value::Integer);
        Some(max.map(|max| table([("on", http::failures(&[], on)), ("max", max)])))
    };
    let limits: Vec<Option<Option<Value>>> = kinds.into_iter().map(limit).collect();
    Some(list(limits.into_iter().collect::<Option<Vec<_>>>()?.into_iter().flatten()))
}

/// No wait before the first retry, then `factor · 2ⁿ⁻¹` and a random part.
pub(super) fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let factor = spoken.or("backoff_factor", SimDuration::ZERO, Field::duration);
    let jitter = spoken.or("backoff_jitter", SimDuration::ZERO, Field::duration);
    let (factor, jitter) = (factor?, jitter?);
    let ladder = exponential(factor, 2.0, None);
    let random = || form("uniform", table([("low", duration(SimDuration::ZERO)), ("high", duration(jitter))]));
    Some(match (factor.is_zero(), jitter.is_zero()) {
        (true, true) => text("none"),
        (false, true) => form("first_at_once", ladder),
        (true, false) => form("first_at_once", random()),
        (false, false) => form("first_at_once", form("sum", list([ladder, random()]))),
    })
}

pub(super) fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    let respects = spoken.or("respect_retry_after_header", true, Field::truth);
    let longest = spoken.or("retry_after_max", SimDuration::from_secs(6 * 3_600), Field::positive_duration);
    let longest = longest?;
    Some(if respects? { obey(longest, "clamp") } else { text("ignore") })
}

/// A listed status raises when retries are used up; one that was repeated for its `retry-after` is no longer repeated
/// then, so that it comes back, unless the limit on statuses ends it earlier.
pub(super) fn hands_back(spoken: &Spoken<'_>) -> Option<Value> {
    let raises = spoken.or("raise_on_status", true, Field::truth);
    let listed = http::statuses(spoken, "status_forcelist", &[]);
    let total = spoken.or("total", TOTAL, |field| field.whole(0..=999_999));
    let of_status = spoken.or("status", u64::MAX, |field| field.whole(0..=65_535));
    let (raises, returned) = (raises?, only_with_hint(&listed?));
    let exhausted = match (raises, returned.is_empty() || of_status? < total?) {
        (false, _) => text("response"),
        (true, true) => text("error"),
        (true, false) => http::failures(&returned, &[]),
    };
    Some(table([("unretried", text("response")), ("exhausted", exhausted)]))
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    /// A general key that these words become.
    fn key(words: &str, key: &str) -> String {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("urllib3").unwrap().expand(&mut element, Place::TOP, &faults);
        assert!(faults.is_empty(), "{faults:?}");
        element.get(key).unwrap().node.value.to_string()
    }

    #[test]
    fn any_word_of_its_retry_without_a_total_makes_ten_retries() {
        // The pool's own default is Retry(3), that of the class is Retry(total=10).
        for (words, attempts) in [
            ("", "4"),
            ("method = \"POST\"", "4"),
            ("timeout = \"3s\"", "4"),
            ("backoff_factor = \"1s\"", "11"),
            ("raise_on_status = false", "11"),
            ("total = 0\nbackoff_factor = \"1s\"", "1"),
        ] {
            assert_eq!(key(words, "max_attempts"), attempts, "{words}");
        }
    }

    #[test]
    fn a_failed_post_is_repeated_only_where_it_was_never_sent() {
        assert_eq!(key("method = \"POST\"", "retry_on"), r#"["connect_timeout", "unreachable"]"#);
        let all = "method = \"POST\"\nallowed_methods = \"any\"\nrespect_retry_after_header = false";
        assert_eq!(key(all, "retry_on"), r#"["connect_timeout", "unreachable", "read_timeout", "drop", "cut"]"#);
    }

    #[test]
    fn a_listed_status_raises_and_the_others_come_back() {
        assert_eq!(
            key("status_forcelist = [429, 500]", "hands_back"),
            r#"{ unretried = "response", exhausted = [413, 503] }"#
        );
        let ended_by_status = "total = 5\nstatus = 2";
        assert_eq!(key(ended_by_status, "hands_back"), r#"{ unretried = "response", exhausted = "error" }"#);
    }
}
