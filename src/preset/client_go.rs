//! client-go, the Go client of Kubernetes; the retries of its REST requests. A 429 or a 5xx is repeated only where the
//! server says after how many whole seconds; a closed connection is repeated after one second, for GET.

use super::{Family, Source, Spoken, Version, retries_to_attempts, word};
use crate::document::{Value, parse};

pub(super) static FAMILY: Family = Family {
    word: "client-go",
    about: "REST requests of client-go, the Go client of Kubernetes",
    kind: crate::policy::Kind::Client,
    versions: &[Version {
        number: "0.31",
        source: Source::Documented("the source of client-go 0.31, rest/with_retry.go"),
        defaults: "max_attempts = 11\nretry_on = { failures = [\"drop\"], with_hint = [429, \"5xx\"] }\n\
                   backoff = { fixed = \"1s\" }\nhint = \"obey\"\n\
                   hint_headers = [{ header = \"retry-after\", zero = \"at_once\", negative = \"at_once\", \
                   fraction = \"nothing\", exponent = \"nothing\", infinite = \"nothing\", date = \"nothing\" }]\n",
    }],
    words: &[
        word("MaxRetries", "max_attempts", "tries after the first one (default 10)", retries_to_attempts),
        word(
            "method",
            "retry_on",
            "the HTTP method; only GET is repeated after a closed connection (default \"GET\")",
            method,
        ),
    ],
};

fn method(spoken: &Spoken<'_>) -> Option<Value> {
    let gets =
        spoken.field.word(&[("GET", true), ("POST", false), ("PUT", false), ("PATCH", false), ("DELETE", false)])?;
    let answered = "retry_on = { with_hint = [429, \"5xx\"] }";
    let all = "retry_on = { failures = [\"drop\"], with_hint = [429, \"5xx\"] }";
    let repeated = parse::own(if gets { all } else { answered });
    Some(repeated.get("retry_on")?.node.value.clone())
}
