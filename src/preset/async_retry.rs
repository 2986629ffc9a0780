//! async-retry, a decorator of npm. What `bail` is called with ends it at once: give such failures a code and name it
//! under `never` of `retry_on`.

use super::node_retry::{FACTOR, MAX_TIMEOUT, MIN_TIMEOUT, RETRIES, randomize};
use super::{Family, Source, Version, word};

pub(super) static FAMILY: Family = Family {
    word: "async-retry",
    about: "the decorator async-retry of npm",
    kind: crate::policy::Kind::Decorator,
    versions: &[Version {
        number: "1.3",
        source: Source::Measured("async-retry 1.3.3"),
        defaults: "max_attempts = 11\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\njitter = { add_share = \"100%\" }\n",
    }],
    words: &[
        RETRIES,
        MIN_TIMEOUT,
        FACTOR,
        MAX_TIMEOUT,
        word("randomize", "jitter", "whether a wait is up to twice as long, at random (default true)", randomize),
    ],
};
