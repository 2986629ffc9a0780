//! Huey, a job queue of Python. A task is run again only if it says how often; it then goes behind all that wait and
//! starts over.

use super::{Family, Source, Version, duration, form, retries_to_attempts, word};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "huey",
    about: "the job queue Huey of Python",
    kind: Kind::Queue,
    versions: &[Version {
        number: "3.5",
        source: Source::Measured("huey 3.5.4"),
        defaults: "max_attempts = 1\nretry_on = \"any\"\nbackoff = \"none\"\nrequeue = \"back\"\n\
                   resume = \"restart\"\n",
    }],
    words: &[
        word("retries", "max_attempts", "runs after the first one (default 0)", retries_to_attempts),
        word("retry_delay", "backoff", "the wait before each of them; without it there is none", |spoken| {
            Some(form("fixed", duration(spoken.field.duration()?)))
        }),
    ],
};
