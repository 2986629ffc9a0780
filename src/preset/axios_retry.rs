//! axios-retry. Three retries without a wait are its default. A network error is repeated for every method, a status only
//! for idempotent ones; a timeout never, and a hint is waited for at least.
//!
//! Unless `shouldResetTimeout` is set, the `timeout` of axios is one for all attempts and waits together: each attempt
//! gets what is left of it, and a wait that would use it up is not taken.

use super::{Family, Source, Spoken, Version, Word, also, duration, exponential, form, http, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "axios-retry",
    about: "the retrying interceptor of axios, an HTTP client of npm",
    kind: Kind::Client,
    versions: &[Version { number: "4.5", source: Source::Measured("axios-retry 4.5.0"), defaults: DEFAULTS }],
    words: WORDS,
};

const DEFAULTS: &str = concat!(
    "max_attempts = 4\n",
    "retry_on = [429, \"5xx\", \"connect_timeout\", \"unreachable\", \"drop\"]\n",
    "backoff = \"none\"\n",
    "hint = \"at_least\"\n",
    "hint_headers = [{ header = \"retry-after\", infinite = \"nothing\" }]\n",
);

const WORDS: &[Word] = &[
    word("retries", "max_attempts", "tries after the first one", super::retries_to_attempts),
    word("method", "retry_on", http::METHOD, retry_on),
    word("retryCondition", "retry_on", "one of its conditions by name, or \"always\"", retry_on),
    word("retryDelay", "backoff", "noDelay, linearDelay or exponentialDelay", backoff),
    word("delayFactor", "backoff", "what the delay is a multiple of; without it, 100 ms", backoff),
    also("retryDelay", "jitter", jitter),
    also("retryDelay", "hint", hint),
    word("timeout", "timeout", "the longest time of a request, retries and waits included", timeout),
    also("timeout", "total_budget", total),
    also("timeout", "budget_check", total_check),
    also("timeout", "timeout_shrinks", shrinks),
    word("shouldResetTimeout", "timeout", "whether each attempt has the whole timeout", timeout),
    also("shouldResetTimeout", "total_budget", total),
];

/// Which failures a condition is true for.
#[derive(Clone, Copy)]
enum Condition {
    NetworkOrIdempotent,
    Network,
    Idempotent,
    Safe,
    Retryable,
    Always,
}

const CONDITIONS: [(&str, Condition); 6] = [
    ("isNetworkOrIdempotentRequestError", Condition::NetworkOrIdempotent),
    ("isNetworkError", Condition::Network),
    ("isIdempotentRequestError", Condition::Idempotent),
    ("isSafeRequestError", Condition::Safe),
    ("isRetryableError", Condition::Retryable),
    ("always", Condition::Always),
];

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    const NETWORK: [&str; 3] = ["connect_timeout", "unreachable", "drop"];
    const RETRYABLE: [&str; 4] = ["5xx", "connect_timeout", "unreachable", "drop"];
    let condition = spoken.or("retryCondition", Condition::NetworkOrIdempotent, |field| field.word(&CONDITIONS));
    let idempotent = http::is_repeated(spoken, "", &["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
    let safe = http::is_repeated(spoken, "", &["GET", "HEAD", "OPTIONS"])?;
    let (condition, idempotent) = (condition?, idempotent?);
    let (retryable, network) = match condition {
        Condition::NetworkOrIdempotent => (idempotent, true),
        Condition::Network => (false, true),
        Condition::Idempotent => (idempotent, false),
        Condition::Safe => (safe, false),
        Condition::Retryable => (true, false),
        Condition::Always => return Some(text("any")),
    };
    Some(match (retryable, network) {
        (true, _) => http::failures(&[429], &RETRYABLE),
        (false, true) => http::failures(&[], &NETWORK),
        (false, false) => text("none"),
    })
}

/// How a delay grows.
#[derive(Clone, Copy)]
enum Delay {
    None,
    Linear,
    Exponential,
}

fn delay(spoken: &Spoken<'_>) -> Option<Delay> {
    let delays = [("noDelay", Delay::None), ("linearDelay", Delay::Linear), ("exponentialDelay", Delay::Exponential)];
    spoken.or("retryDelay", Delay::None, |field| field.word(&delays))
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let factor = spoken.or("delayFactor", SimDuration::from_millis(100), Field::positive_duration);
    let delay = delay(spoken)?;
    let factor = factor?;
    Some(match delay {
        Delay::None => text("none"),
        Delay::Linear => form("linear", table([("initial", duration(factor)), ("step", duration(factor))])),
        Delay::Exponential => exponential(factor.times(2), 2.0, None),
    })
}

/// An exponential delay grows by up to a fifth at random, and the hint with it.
fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    Some(match delay(spoken)? {
        Delay::None | Delay::Linear => text("none"),
        Delay::Exponential => form("add_share", text("20%")),
    })
}

fn hint(spoken: &Spoken<'_>) -> Option<Value> {
    Some(match delay(spoken)? {
        Delay::None | Delay::Linear => text("at_least"),
        Delay::Exponential => form("at_least", table([("jittered", Value::Boolean(true))])),
    })
}

/// Whether each attempt has the whole timeout.
fn is_reset(spoken: &Spoken<'_>) -> Option<bool> {
    spoken.or("shouldResetTimeout", false, Field::truth)
}

fn timeout(spoken: &Spoken<'_>) -> Option<Value> {
    let timeout = spoken.needs("timeout", Field::positive_duration);
    is_reset(spoken)?.then_some(duration(timeout?))
}

fn total(spoken: &Spoken<'_>) -> Option<Value> {
    let timeout = spoken.needs("timeout", Field::positive_duration);
    (!is_reset(spoken)?).then_some(duration(timeout?))
}

fn total_check(spoken: &Spoken<'_>) -> Option<Value> {
    (!is_reset(spoken)?).then(|| text("before_wait_strict"))
}

fn shrinks(spoken: &Spoken<'_>) -> Option<Value> {
    (!is_reset(spoken)?).then_some(Value::Boolean(true))
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    fn key(words: &str, key: &str) -> Option<String> {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("axios-retry").unwrap().expand(&mut element, Place::TOP, &faults);
        assert!(faults.is_empty(), "{faults:?}");
        element.get(key).map(|entry| entry.node.value.to_string())
    }

    #[test]
    fn a_failed_post_is_repeated_only_after_network_errors() {
        let network = r#"["connect_timeout", "unreachable", "drop"]"#;
        assert_eq!(key("method = \"POST\"", "retry_on").unwrap(), network);
        let both = "method = \"POST\"\nretryCondition = \"isRetryableError\"";
        assert_eq!(key(both, "retry_on").unwrap(), r#"[429, "5xx", "connect_timeout", "unreachable", "drop"]"#);
        let neither = "method = \"POST\"\nretryCondition = \"isSafeRequestError\"";
        assert_eq!(key(neither, "retry_on").unwrap(), "\"none\"");
    }

    #[test]
    fn a_timeout_is_one_for_all_unless_it_is_reset() {
        let words = "timeout = \"3s\"";
        assert_eq!(key(words, "total_budget").as_deref(), Some("\"3s\""));
        assert_eq!(key(words, "timeout_shrinks").as_deref(), Some("true"));
        assert_eq!(key(words, "timeout"), None);
        let reset = "timeout = \"3s\"\nshouldResetTimeout = true";
        assert_eq!((key(reset, "timeout").as_deref(), key(reset, "total_budget")), (Some("\"3s\""), None));
    }
}
