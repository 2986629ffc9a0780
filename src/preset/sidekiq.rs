//! Sidekiq, a job queue of Ruby. 25 retries over about 21 days: the fourth power of the retries so far, 15 s, and up to
//! nine seconds for each try. A job whose retries are used up lies in the dead set.

use super::{Family, Source, Spoken, Version, retries_to_attempts, word};
use crate::document::Value;

pub(super) static FAMILY: Family = Family {
    word: "sidekiq",
    about: "the job queue Sidekiq of Ruby",
    kind: crate::policy::Kind::Queue,
    versions: &[Version {
        number: "7",
        source: Source::Documented("the wiki of Sidekiq 7, Error Handling"),
        defaults: "max_attempts = 26\nretry_on = \"any\"\n\
                   backoff = { sum = [{ fixed = \"15s\" }, { power = { unit = \"1s\", power = 4 } }, \
                   { uniform = { low = \"0s\", high = \"9s\", per_retry = true } }] }\n\
                   requeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[word(
        "retry",
        "max_attempts",
        "runs after the first one, true for 25, false for none (default 25)",
        retry,
    )],
};

fn retry(spoken: &Spoken<'_>) -> Option<Value> {
    match spoken.field.node.value {
        Value::Boolean(retries) => Some(Value::Integer(if retries { 26 } else { 1 })),
        _ => retries_to_attempts(spoken),
    }
}
