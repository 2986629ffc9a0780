//! Finagle, an RPC system of the JVM; its requeues. A request that surely did nothing is sent again at once, as often as
//! the client's budget pays for: a fifth of the requests and ten retries a second, counted over ten seconds. A NACK of
//! a server is a 503 here. Linkerd and tower have the same budget.

use super::{Family, Source, Spoken, Version, Word, duration, form, table};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "finagle",
    about: "the requeues of Finagle with their retry budget",
    kind: Kind::Client,
    versions: &[Version {
        number: "22.7",
        source: Source::Documented("the API reference of Finagle 22.7, RetryBudget"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = [503, \"unreachable\", \"connect_timeout\"]\n\
                   backoff = \"none\"\n\
                   budget = { deposits = { ratio = 0.2, per_second = 10, expiry = \"10s\" } }\n",
    }],
    words: &[
        Word {
            word: "percentCanRetry",
            stands_for: "budget",
            meaning: "retries that a request pays for (default 0.2)",
            translate: budget,
        },
        Word {
            word: "minRetriesPerSec",
            stands_for: "budget",
            meaning: "retries a second beside (default 10)",
            translate: budget,
        },
        Word {
            word: "ttl",
            stands_for: "budget",
            meaning: "until a deposit expires, 1 to 60 s (default \"10s\")",
            translate: budget,
        },
    ],
};

fn budget(spoken: &Spoken<'_>) -> Option<Value> {
    let ratio = spoken.or("percentCanRetry", 0.2, |field| field.number(0.0..=1_000.0))?;
    let per_second = spoken.or("minRetriesPerSec", 10, |field| field.whole(0..=1_000_000))?;
    let expiry = spoken.or("ttl", SimDuration::from_secs(10), expiry)?;
    let account = [
        ("ratio", Value::Float(ratio)),
        ("per_second", Value::Integer(i64::try_from(per_second).ok()?)),
        ("expiry", duration(expiry)),
    ];
    Some(form("deposits", table(account)))
}

fn expiry(field: &Field<'_>) -> Option<SimDuration> {
    let expiry = field.duration()?;
    if (SimDuration::from_secs(1)..=SimDuration::from_secs(60)).contains(&expiry) {
        return Some(expiry);
    }
    field.must("lie between 1s and 60s", r#"write "10s", as most do"#)
}
