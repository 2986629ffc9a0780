//! gRPC for Python (its C core). The words are those of gRPC for Node, and so is most of what they do. What differs: a
//! pushback that cannot be read forbids the retry, as a negative one does; a throttle is looked at before the wait; and
//! a `tokenRatio` that is written as a whole number is read as thousandths, so that 1 gives back next to nothing and 1.0
//! a token. A service config that asks for hedges sends none.

use super::grpc_js::{attempts, backoff, retry_on, throttle};
use super::{Family, Source, Version, also, word};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "grpcio",
    about: "gRPC for Python, by its service config",
    kind: Kind::Client,
    versions: &[Version { number: "1.85", source: Source::Measured("grpcio 1.85.3"), defaults: DEFAULTS }],
    words: &[
        word("maxAttempts", "max_attempts", "tries, the first one included; cut to 5", attempts),
        word(
            "retryableStatusCodes",
            "retry_on",
            "statuses of gRPC that are repeated, such as [\"UNAVAILABLE\"]",
            retry_on,
        ),
        word("initialBackoff", "backoff", "the first wait", backoff),
        word("backoffMultiplier", "backoff", "what each further wait is multiplied by", backoff),
        word("maxBackoff", "backoff", "the longest wait, jitter left out", backoff),
        word("retryThrottling", "budget", "{ maxTokens = n, tokenRatio = r }, r with a decimal point", throttle),
        also("maxAttempts", "retry_on", retry_on),
        also("maxAttempts", "backoff", backoff),
    ],
};

const DEFAULTS: &str = concat!(
    "max_attempts = 1\n",
    "retry_on = \"none\"\n",
    "backoff = \"none\"\n",
    "jitter = { plus_minus = \"20%\" }\n",
    "hint = \"obey\"\n",
    "hint_headers = [{ header = \"grpc-retry-pushback-ms\", zero = \"at_once\", negative = \"never\", ",
    "not_a_number = \"never\", infinite = \"never\", date = \"never\", past = \"never\", unreadable = \"never\" }]\n",
    "hint_resets_backoff = true\n",
);
