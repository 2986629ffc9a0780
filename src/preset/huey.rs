//! Huey, a job queue of Python. A task is run again only if it says how often; it then goes behind all that wait and
//! starts over.

use super::{Family, Source, Version, Word, duration, form, retries_to_attempts};
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
        Word {
            word: "retries",
            stands_for: "max_attempts",
            meaning: "runs after the first one, 0",
            translate: retries_to_attempts,
        },
        Word {
            word: "retry_delay",
            stands_for: "backoff",
            meaning: "the wait before each of them, none",
            translate: |spoken| Some(form("fixed", duration(spoken.field.duration()?))),
        },
    ],
};
