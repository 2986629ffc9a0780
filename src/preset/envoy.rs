//! Envoy, a proxy; the retry policy of a route and the retry limit of its cluster. Nothing is repeated unless the route
//! says on what; then one retry. The limit is on retries at the same time: three, or a share of the requests that are
//! under way.
//!
//! The conditions are Envoy's: its `5xx` holds failed connections and timeouts too. As one text they are read as
//! Envoy's, as a list or a table as general failures.

use super::{Family, Source, Spoken, Version, Word, durations, form, retries_to_attempts, table};
use crate::document::{Field, Node, Place, Value, near};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "envoy",
    about: "the retry policy of Envoy with its retry budget",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.20",
        source: Source::Documented("the documentation of Envoy 1.20, router filter and circuit breakers"),
        defaults: "max_attempts = 1\nretry_on = [\"5xx\"]\n\
                   backoff = { list = [\"25ms\", \"75ms\", \"175ms\", \"250ms\"] }\njitter = \"full\"\n\
                   budget = { active_share = { share = 0.0, minimum = 3 } }\n\
                   hands_back = { unretried = \"response\", exhausted = \"response\" }\n",
    }],
    words: &[
        Word {
            word: "retry_on",
            stands_for: "retry_on",
            meaning: "conditions, such as \"5xx,reset\"; without it nothing is repeated",
            translate: conditions,
        },
        Word {
            word: "num_retries",
            stands_for: "max_attempts",
            meaning: "tries after the first one, 1 unless said",
            translate: retries,
        },
        Word {
            word: "retry_on",
            stands_for: "max_attempts",
            meaning: "one retry",
            translate: |_| Some(Value::Integer(2)),
        },
        Word {
            word: "retriable_status_codes",
            stands_for: "retry_on",
            meaning: "statuses for the condition `retriable-status-codes`",
            translate: |spoken| spoken.needs("retry_on", |_| None),
        },
        Word {
            word: "per_try_timeout",
            stands_for: "timeout",
            meaning: "the longest time of one try; without it there is none",
            translate: super::as_it_is,
        },
        Word {
            word: "retry_back_off",
            stands_for: "backoff",
            meaning: "{ base_interval, max_interval }: before retry n anything up to 2ⁿ − 1 base intervals (default { \
                      base_interval = \"25ms\" })",
            translate: back_off,
        },
        Word {
            word: "retry_budget",
            stands_for: "budget",
            meaning: "{ budget_percent = 20, min_retry_concurrency = 3 }: retries at the same time; without it \
                      `max_retries`",
            translate: budget,
        },
        Word {
            word: "max_retries",
            stands_for: "budget",
            meaning: "retries of the cluster at the same time (default 3)",
            translate: |spoken| Some(at_a_time(0.0, spoken.field.whole(0..=1_000_000)?)),
        },
    ],
};

/// Envoy's conditions, in general failures.
const CONDITIONS: [(&str, &[&str]); 7] = [
    ("5xx", &["5xx", "timeout", "connection"]),
    ("gateway-error", &["502..504"]),
    ("reset", &["read_timeout", "drop", "cut"]),
    ("connect-failure", &["unreachable", "connect_timeout"]),
    ("retriable-4xx", &["409"]),
    // A stream that is refused is a connection that did nothing.
    ("refused-stream", &["unreachable"]),
    ("retriable-status-codes", &[]),
];

fn conditions(spoken: &Spoken<'_>) -> Option<Value> {
    let field = &spoken.field;
    let Some(said) = field.node.as_str().filter(|said| *said != "any") else {
        return Some(field.node.value.clone());
    };
    let mut failures: Vec<Value> = Vec::new();
    for condition in said.split(',').map(str::trim) {
        let Some((_, some)) = CONDITIONS.iter().find(|(word, _)| *word == condition) else {
            let hint = near::existing("conditions", &CONDITIONS.map(|(word, _)| word), condition);
            return field.wrong(format!("is no condition of Envoy, found {condition:?}"), hint);
        };
        failures.extend(some.iter().map(|word| super::text(word)));
        if condition == "retriable-status-codes" {
            failures.extend(statuses(spoken)?);
        }
    }
    Some(Value::Array(failures.into_iter().map(|failure| Node::written(failure, Place::TOP)).collect()))
}

fn statuses(spoken: &Spoken<'_>) -> Option<Vec<Value>> {
    let field = spoken.needs("retriable_status_codes", |field| Some(*field))?;
    let read = |item: &Field<'_>| Some(Value::Integer(i64::try_from(item.whole(400..=599)?).ok()?));
    let statuses: Vec<Option<Value>> = field.list("statuses", 200)?.iter().map(read).collect();
    statuses.into_iter().collect()
}

fn retries(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.needs("retry_on", |_| Some(()))?;
    retries_to_attempts(spoken)
}

fn back_off(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("base_interval and max_interval")?;
    let base = reader.or("base_interval", SimDuration::from_millis(25), Field::positive_duration);
    let longest = reader.maybe("max_interval", Field::positive_duration);
    reader.finish();
    let base = base?;
    let longest = longest?.unwrap_or(base.times(10));
    let rungs = (1..=63).map(|n| base.times((1 << n) - 1).min(longest));
    let mut waits: Vec<SimDuration> = Vec::new();
    for wait in rungs {
        waits.push(wait);
        if wait == longest {
            break;
        }
    }
    Some(form("list", durations(waits)))
}

fn budget(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("budget_percent and min_retry_concurrency")?;
    let percent = reader.or("budget_percent", 20.0, |field| field.number(0.0..=100.0));
    let minimum = reader.or("min_retry_concurrency", 3, |field| field.whole(0..=1_000_000));
    reader.finish();
    Some(at_a_time(percent? / 100.0, minimum?))
}

fn at_a_time(share: f64, minimum: u64) -> Value {
    let limit =
        [("share", Value::Float(share)), ("minimum", Value::Integer(i64::try_from(minimum).unwrap_or(i64::MAX)))];
    form("active_share", table(limit))
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    fn expanded(words: &str, key: &str) -> Result<String, Vec<String>> {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("envoy").unwrap().expand(&mut element, Place::TOP, &faults);
        if faults.is_empty() {
            return Ok(element.get(key).unwrap().node.value.to_string());
        }
        Err(faults.into_sorted().0.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn nothing_is_repeated_until_the_route_says_on_what() {
        assert_eq!(expanded("", "max_attempts"), Ok("1".into()));
        assert_eq!(expanded("retry_on = \"5xx\"", "max_attempts"), Ok("2".into()));
        assert_eq!(expanded("retry_on = \"5xx\"\nnum_retries = 3", "max_attempts"), Ok("4".into()));
        assert_eq!(expanded("num_retries = 3", ""), Err(vec!["says nothing without `retry_on`".into()]));
    }

    #[test]
    fn conditions_are_envoys_own() {
        let failures = expanded("retry_on = \"gateway-error, connect-failure\"", "retry_on");
        assert_eq!(failures, Ok("[\"502..504\", \"unreachable\", \"connect_timeout\"]".into()));
        let statuses = "retry_on = \"retriable-status-codes\"\nretriable_status_codes = [429]";
        assert_eq!(expanded(statuses, "retry_on"), Ok("[429]".into()));
        assert_eq!(expanded("retry_on = [429]", "retry_on"), Ok("[429]".into()));
        let strange = expanded("retry_on = \"5xy\"", "");
        assert_eq!(strange, Err(vec!["is no condition of Envoy, found \"5xy\"".into()]));
    }

    #[test]
    fn waits_are_those_of_the_documentation() {
        // Documented: 0 to 24 ms, 0 to 74 ms, 0 to 174 ms, at most ten times the base.
        let waits = expanded("retry_back_off = { base_interval = \"25ms\" }", "backoff");
        assert_eq!(waits, Ok("{ list = [\"25ms\", \"75ms\", \"175ms\", \"250ms\"] }".into()));
        let percent = expanded("retry_budget = { budget_percent = 25 }\nmax_retries = 9", "budget");
        assert_eq!(percent, Ok("{ active_share = { share = 0.25, minimum = 3 } }".into()));
    }
}
