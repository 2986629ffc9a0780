//! tower, a library of Rust for clients and servers; its retry layer with `TpsBudget`. What is repeated and how long is
//! waited is the caller's own policy, which here repeats every failure at once; what bounds it is the budget. A
//! withdrawal costs a whole number of deposits, so that 0.3 is a third and 0.7 is 1.

use super::{Family, Source, Spoken, Version, duration, form, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "tower",
    about: "the retry layer of tower for Rust, with its budget",
    kind: Kind::Client,
    versions: &[Version {
        number: "0.5",
        source: Source::Measured("tower 0.5.3"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\nbackoff = \"none\"\n\
                   budget = { deposits = { ratio = 0.2, per_second = 10, expiry = \"10s\", arithmetic = \"tower\" } }\n",
    }],
    words: &[
        word("retry_percent", "budget", "retries that a request pays for (default 0.2)", budget),
        word("min_per_sec", "budget", "retries a second beside (default 10)", budget),
        word("ttl", "budget", "until a deposit expires, 1 to 60 s (default \"10s\")", budget),
    ],
};

fn budget(spoken: &Spoken<'_>) -> Option<Value> {
    let ratio = spoken.or("retry_percent", 0.2, |field| field.number(0.0..=1_000.0))?;
    let per_second = spoken.or("min_per_sec", 10, |field| field.whole(0..=1_000_000))?;
    let expiry = spoken.or("ttl", SimDuration::from_secs(10), expiry)?;
    let account = [
        ("ratio", Value::Float(ratio)),
        ("per_second", Value::Integer(i64::try_from(per_second).ok()?)),
        ("expiry", duration(expiry)),
        ("arithmetic", text("tower")),
    ];
    Some(form("deposits", table(account)))
}

fn expiry(field: &Field<'_>) -> Option<SimDuration> {
    let expiry = field.duration()?;
    if (SimDuration::from_secs(1)..=SimDuration::from_mins(1)).contains(&expiry) {
        return Some(expiry);
    }
    field.must("lie between 1s and 1m", r#"write "10s", which is the default"#)
}
