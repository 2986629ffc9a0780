//! Celery, a job queue of Python. A task with `autoretry_for` is run again three times, three minutes apart; with
//! `retry_backoff` the waits double instead and are drawn in whole seconds from zero, so that a retry may come at once.
//! A retry is a new message: it goes behind all that wait, and the task starts over.
//!
//! This is what the task asks of its broker. A broker that hands a message out twice, because a task is longer than its
//! visibility timeout, is not part of a retry layer: the class of jobs says so in its `queue`.

use super::{Family, Source, Spoken, Version, duration, exponential, form, further, retries_or_none, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "celery",
    about: "the job queue Celery of Python: a task with `autoretry_for`",
    kind: Kind::Queue,
    versions: &[Version {
        number: "5.7",
        source: Source::Measured("celery 5.7.0"),
        defaults: "max_attempts = 4\nretry_on = \"any\"\nbackoff = { fixed = \"180s\" }\njitter = \"none\"\n\
                   requeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[
        word(
            "autoretry_for",
            "max_attempts",
            "the failures that are retried; [] for a task without it, which never is",
            retries,
        ),
        further("autoretry_for", "retry_on", |spoken| {
            (!spoken.field.is_empty_list()).then(|| spoken.field.node.value.clone())
        }),
        word("max_retries", "max_attempts", "runs after the first one, or \"none\" for no limit (default 3)", retries),
        word("default_retry_delay", "backoff", "the wait without backoff (default \"180s\")", waits),
        word("countdown", "backoff", "of retry_kwargs: the wait without backoff", waits),
        word(
            "retry_backoff",
            "backoff",
            "true for waits that double from 1 s, or the first wait in whole seconds (default false)",
            waits,
        ),
        word("retry_backoff_max", "backoff", "the longest wait of the backoff (default \"600s\")", waits),
        further("retry_backoff", "jitter", waits),
        word("retry_jitter", "jitter", "whether the waits of the backoff are drawn from zero (default true)", waits),
    ],
};

fn retries(spoken: &Spoken<'_>) -> Option<Value> {
    let for_these = spoken.word("autoretry_for");
    let attempts = match spoken.word("max_retries") {
        Some(field) => retries_or_none(&field)?,
        None => Value::Integer(4),
    };
    let Some(field) = for_these else { return Some(attempts) };
    if field.is_empty_list() {
        return Some(Value::Integer(1));
    }
    Some(attempts)
}

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let delay = spoken.or("default_retry_delay", SimDuration::from_secs(180), Field::duration);
    let countdown = spoken.or("countdown", None, |field| field.duration().map(Some));
    let first = spoken.or("retry_backoff", SimDuration::ZERO, first_wait);
    let longest = spoken.or("retry_backoff_max", SimDuration::from_secs(600), whole_seconds);
    let jitter = spoken.or("retry_jitter", true, Field::truth);
    let (delay, countdown, first, longest, jitter) = (delay?, countdown?, first?, longest?, jitter?);
    if first.is_zero() {
        if spoken.key == "jitter" {
            return None;
        }
        return Some(form("fixed", duration(countdown.unwrap_or(delay))));
    }
    if spoken.key == "jitter" {
        return Some(text(if jitter { "full_whole" } else { "none" }));
    }
    Some(exponential(first, 2.0, Some(longest)))
}

/// The first wait of the backoff; zero for a task without one.
fn first_wait(field: &Field<'_>) -> Option<SimDuration> {
    match field.node.value {
        Value::Boolean(on) => Some(SimDuration::from_secs(u64::from(on))),
        _ => whole_seconds(field),
    }
}

fn whole_seconds(field: &Field<'_>) -> Option<SimDuration> {
    let time = field.positive_duration()?;
    let second = SimDuration::from_secs(1).as_nanos();
    if time.as_nanos() % second != 0 {
        return field.must("be whole seconds", "the library counts in whole seconds here");
    }
    Some(time)
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    fn waits(words: &str) -> Result<String, Vec<String>> {
        let general = expanded("celery", words)?;
        let (_, waits) = general.split_once("backoff = ").unwrap();
        Ok(waits.replace(", requeue = \"back\", resume = \"restart\"", ""))
    }

    #[test]
    fn backoff_takes_the_place_of_the_delay() {
        // Celery 5.7.0: 180 s apart; with backoff 1, 2, 4, … up to 600 s, in whole seconds from zero.
        for (words, general) in [
            ("", "{ fixed = \"180s\" }, jitter = \"none\""),
            ("countdown = \"7s\"", "{ fixed = \"7s\" }, jitter = \"none\""),
            (
                "retry_backoff = true\ncountdown = \"7s\"",
                "{ exponential = { initial = \"1s\", factor = 2.0, cap = \"10m\" } }, jitter = \"full_whole\"",
            ),
            (
                "retry_backoff = \"5s\"\nretry_backoff_max = \"60s\"\nretry_jitter = false",
                "{ exponential = { initial = \"5s\", factor = 2.0, cap = \"1m\" } }, jitter = \"none\"",
            ),
            ("retry_backoff = false", "{ fixed = \"3m\" }, jitter = \"none\""),
        ] {
            assert_eq!(waits(words), Ok(general.to_owned()), "{words}");
        }
        assert_eq!(waits("retry_backoff = \"1.5s\""), Err(vec!["must be whole seconds, found \"1.5s\"".to_owned()]));
    }

    #[test]
    fn a_task_without_autoretry_runs_once() {
        let attempts = |words: &str| expanded("celery", words).unwrap().split(", backoff").next().unwrap().to_owned();
        assert_eq!(attempts("autoretry_for = []\nmax_retries = 5"), "max_attempts = 1, retry_on = \"any\"");
        assert_eq!(attempts("autoretry_for = [429, \"timeout\"]"), "max_attempts = 4, retry_on = [429, \"timeout\"]");
        assert_eq!(attempts("max_retries = \"none\""), "max_attempts = \"unlimited\", retry_on = \"any\"");
    }
}
