//! arq, a job queue of Python. An exception ends a job for good, and so does its timeout; only a job that raises
//! `Retry` is run again, after the time that it asks for, in at most five tries. So `max_tries` alone says nothing: it
//! takes `defer`.
//!
//! The time that a whole job may take (`job_timeout`) is not modelled: timeouts here are those of single attempts.

use super::{Family, Source, Spoken, Version, Word, duration, form, table};
use crate::document::{Fault, Field, Value};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "arq",
    about: "the job queue arq of Python",
    kind: Kind::Queue,
    versions: &[Version {
        number: "0.28",
        source: Source::Measured("arq 0.28.0"),
        defaults: "max_attempts = 1\nretry_on = \"any\"\nbackoff = \"none\"\nrequeue = \"back\"\n\
                   resume = \"restart\"\n",
    }],
    words: &[
        Word {
            word: "defer",
            stands_for: "max_attempts",
            meaning: "the job raises Retry(defer=…) when it fails: a wait, or { per_try = d } for d times the number of \
                      the try",
            translate: tries,
        },
        Word {
            word: "max_tries",
            stands_for: "max_attempts",
            meaning: "runs of a job that raises Retry, the first one included, 5",
            translate: tries,
        },
    ],
};

fn tries(spoken: &Spoken<'_>) -> Option<Value> {
    let tries = spoken.or("max_tries", 5, |field| field.whole(1..=1_000_000));
    let Some(defer) = spoken.word("defer") else {
        let fault = Fault::new(spoken.field.key, "says nothing without `defer`");
        let hint = "an exception is never retried; write `defer = \"0s\"` for a job that raises Retry()";
        spoken.field.faults().add(fault.hint(hint));
        return None;
    };
    let backoff = defer_of(&defer);
    spoken.also("backoff", backoff?);
    Some(Value::Integer(i64::try_from(tries?).ok()?))
}

fn defer_of(field: &Field<'_>) -> Option<Value> {
    if field.node.as_table().is_none() {
        return Some(form("fixed", duration(field.duration()?)));
    }
    let reader = field.table("per_try")?;
    let each = reader.need("per_try", "write the wait after the first try, such as \"5s\"");
    let each = each.and_then(|field| field.positive_duration());
    reader.finish();
    let each = duration(each?);
    Some(form("linear", table([("initial", each.clone()), ("step", each)])))
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn only_a_job_that_raises_retry_is_run_again() {
        let tail = "requeue = \"back\", resume = \"restart\"";
        let general = |attempts: u32, backoff: &str| {
            Ok(format!("max_attempts = {attempts}, retry_on = \"any\", backoff = {backoff}, {tail}"))
        };
        assert_eq!(expanded("arq", ""), general(1, "\"none\""));
        assert_eq!(expanded("arq", "defer = \"5s\""), general(5, "{ fixed = \"5s\" }"));
        let linear = "{ linear = { initial = \"200ms\", step = \"200ms\" } }";
        assert_eq!(expanded("arq", "max_tries = 4\ndefer = { per_try = \"200ms\" }"), general(4, linear));
        assert_eq!(expanded("arq", "max_tries = 4"), Err(vec!["says nothing without `defer`".to_owned()]));
    }
}
