//! botocore, the Python SDK of AWS, as a client of Bedrock. Its `mode` decides nearly everything, and the mode that
//! one gets by saying nothing changed between the two versions here: from five attempts with a long full jitter
//! (legacy) to three with a short one and a retry quota (standard). `max_attempts` counts retries, whatever its name
//! says; `total_max_attempts` counts attempts. No version reads `retry-after`.
//!
//! Not held: the client-side rate limiter that the mode `adaptive` adds to `standard` (it is a guard); error codes that
//! legacy repeats only with status 400; services other than Bedrock, some of which have a ladder of their own.

use super::{Family, Source, Spoken, Version, Word, also, retries_to_attempts, table, text, word};
use crate::document::{Value, parse};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "botocore",
    about: "the Python SDK of AWS, as a client of Bedrock",
    kind: Kind::Client,
    versions: &[
        Version { number: "1.40", source: Source::Measured("botocore 1.40.0"), defaults: LEGACY },
        Version { number: "1.44", source: Source::Measured("botocore 1.44.8"), defaults: STANDARD },
    ],
    words: WORDS,
};

/// Codes by which a service says that it throttles.
macro_rules! throttling_codes {
    () => {
        concat!(
            "\"Throttling\", \"ThrottlingException\", \"ThrottledException\", \"RequestThrottledException\", ",
            "\"TooManyRequestsException\", \"ProvisionedThroughputExceededException\", ",
            "\"TransactionInProgressException\", \"RequestLimitExceeded\", \"BandwidthLimitExceeded\", ",
            "\"LimitExceededException\", \"RequestThrottled\", \"SlowDown\", \"PriorRequestNotComplete\", ",
            "\"EC2ThrottledException\""
        )
    };
}
pub(super) use throttling_codes;

/// Mode `legacy`, the same in both versions.
const LEGACY: &str = concat!(
    "max_attempts = 5\n",
    "retry_on = { failures = [429, 500, 502, 503, 504, 509, \"connect_timeout\", \"read_timeout\", \"connection\"], ",
    "codes = [\"Throttling\", \"ThrottlingException\", \"ThrottledException\", \"RequestThrottledException\", ",
    "\"ProvisionedThroughputExceededException\"] }\n",
    "backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\n",
    "jitter = \"full\"\n",
    "backoff_by_kind = []\n",
    "hint = \"ignore\"\n",
    "budget = \"none\"\n",
    "timeout = { connect = \"60s\", read = \"60s\" }\n",
);

/// Mode `standard` of the older version.
const OLD_STANDARD: &str = concat!(
    "max_attempts = 3\n",
    "retry_on = { failures = [500, 502, 503, 504, \"connect_timeout\", \"read_timeout\", \"connection\"], ",
    "codes = [\"RequestTimeout\", \"RequestTimeoutException\", ",
    throttling_codes!(),
    "] }\n",
    "backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"20s\" } }\n",
    "jitter = \"full\"\n",
    "backoff_by_kind = []\n",
    "hint = \"ignore\"\n",
    "budget = { quota = { capacity = 500, cost = 5, ",
    "costs = [{ on = [\"connect_timeout\", \"read_timeout\"], cost = 10 }], ",
    "refund = 1, retried_refund = \"last_retry\" } }\n",
    "timeout = { connect = \"60s\", read = \"60s\" }\n",
);

/// Mode `standard` of the newer version.
const STANDARD: &str = concat!(
    "max_attempts = 3\n",
    "retry_on = { failures = [429, 500, 502, 503, 504, \"connect_timeout\", \"read_timeout\", \"connection\"], ",
    "codes = [\"RequestTimeout\", \"RequestTimeoutException\", ",
    throttling_codes!(),
    "] }\n",
    "backoff = { exponential = { initial = \"50ms\", factor = 2.0, cap = \"20s\" } }\n",
    "jitter = \"full\"\n",
    "backoff_by_kind = [{ on = { failures = [429], codes = [",
    throttling_codes!(),
    "] }, backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"20s\" } } }]\n",
    "hint = { near = { beyond = \"5s\" } }\n",
    "hint_headers = [{ header = \"x-amz-retry-after\", fraction = \"nothing\", exponent = \"nothing\", ",
    "infinite = \"nothing\", date = \"nothing\" }]\n",
    "budget = { quota = { capacity = 500, cost = 14, costs = [{ on = { failures = [429], codes = [",
    throttling_codes!(),
    "] }, cost = 5 }], refund = 1, retried_refund = \"last_retry\" } }\n",
    "timeout = { connect = \"60s\", read = \"60s\" }\n",
);

const WORDS: &[Word] = &[
    word(
        "mode",
        "max_attempts",
        "legacy, standard or adaptive; here adaptive is standard without its limiter",
        attempts,
    )
    .yielding(),
    word("max_attempts", "max_attempts", "tries after the first one", attempts),
    word("total_max_attempts", "max_attempts", "tries, the first one included", attempts),
    also("mode", "retry_on", of_mode),
    also("mode", "backoff", of_mode),
    also("mode", "jitter", of_mode),
    also("mode", "backoff_by_kind", of_mode),
    also("mode", "hint", of_mode),
    also("mode", "hint_headers", of_mode),
    also("mode", "budget", of_mode),
    word(
        "read_timeout",
        "timeout",
        "the longest time until an answer begins, and between its pieces (default \"60s\")",
        timeout,
    ),
];

/// The defaults of the mode that is said.
/// The time for reading; connecting keeps its own.
fn timeout(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.field.positive_duration()?;
    Some(table([("connect", text("60s")), ("read", spoken.field.node.value.clone())]))
}

fn mode(spoken: &Spoken<'_>) -> Option<&'static str> {
    let standard = if spoken.version.number == "1.40" { OLD_STANDARD } else { STANDARD };
    let modes = [("legacy", LEGACY), ("standard", standard), ("adaptive", standard)];
    spoken.or("mode", spoken.version.defaults, |field| field.word(&modes))
}

fn of_mode(spoken: &Spoken<'_>) -> Option<Value> {
    parse::own(mode(spoken)?).get(spoken.key).map(|entry| entry.node.value.clone())
}

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    match (spoken.word("total_max_attempts"), spoken.word("max_attempts")) {
        (Some(total), _) => total.whole(1..=1_000_000).and_then(|total| i64::try_from(total).ok()).map(Value::Integer),
        (None, Some(retries)) => retries_to_attempts(&Spoken { field: retries, ..*spoken }),
        (None, None) => of_mode(spoken),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    fn expanded(preset: &str, words: &str) -> (String, Vec<String>) {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find(preset).unwrap().expand(&mut element, Place::TOP, &faults);
        let attempts = element.get("max_attempts").unwrap().node.value.to_string();
        (attempts, faults.into_sorted().0.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn max_attempts_counts_retries_and_total_max_attempts_attempts() {
        // Measured on both versions.
        for (words, attempts) in [
            ("max_attempts = 0", "1"),
            ("max_attempts = 4", "5"),
            ("total_max_attempts = 4", "4"),
            ("mode = \"legacy\"", "5"),
            ("mode = \"standard\"", "3"),
            ("mode = \"legacy\"\nmax_attempts = 1", "2"),
        ] {
            for preset in ["botocore-1.40", "botocore-1.44"] {
                assert_eq!(expanded(preset, words), (attempts.to_owned(), vec![]), "{preset} {words}");
            }
        }
    }

    #[test]
    fn the_mode_that_nobody_chose_changed() {
        assert_eq!((expanded("botocore-1.40", "").0, expanded("botocore-1.44", "").0), ("5".into(), "3".into()));
    }

    #[test]
    fn a_mode_gives_way_to_a_general_key_and_a_wrong_one_is_found_once() {
        let (mut element, faults) = (parse::own("mode = \"legacy\"\nbudget = \"none\"\n"), Faults::default());
        Preset::find("botocore").unwrap().expand(&mut element, Place::TOP, &faults);
        assert!(faults.is_empty(), "{faults:?}");
        let wrong = expanded("botocore", "mode = \"standrad\"").1;
        assert_eq!(wrong, ["is none of the known words, found \"standrad\""]);
    }
}
