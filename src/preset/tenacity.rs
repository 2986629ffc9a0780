//! tenacity, a decorator of Python. Bare, it never stops and never waits; it repeats whatever the function inside
//! raises, also what the SDK inside has given up on for a good reason.
//!
//! Of its stops, one limit on attempts and one on time can be combined, by `any` (its `|`) or by `all` (its `&`). A
//! tree that mixes both, or two limits on time that are looked at at different moments, is refused: a layer here has
//! one of each. `stop_before_delay` also refuses a wait that would end exactly at the limit.

use super::{Family, Source, Spoken, Version, Word, duration, exponential, form, list, table, text};
use crate::document::{Field, Value};
use crate::units::SimDuration;

const DEFAULTS: &str = "max_attempts = \"unlimited\"\nretry_on = \"any\"\nbackoff = \"none\"\n";

pub(super) static FAMILY: Family = Family {
    word: "tenacity",
    about: "the retrying decorator of Python",
    kind: crate::policy::Kind::Decorator,
    versions: &[
        Version { number: "9.1", source: Source::Measured("tenacity 9.1.4"), defaults: DEFAULTS },
        Version { number: "9.2", source: Source::Measured("tenacity 9.2.1"), defaults: DEFAULTS },
    ],
    words: &[
        Word {
            word: "stop",
            stands_for: "max_attempts",
            meaning: "{ after_attempt = n }, { after_delay = d }, { before_delay = d }, { any = [stop, …] } or { all = \
                      [stop, …] }; without it, never",
            translate: stop,
        },
        Word {
            word: "wait",
            stands_for: "backoff",
            meaning: "{ fixed = d }, { random = { min, max } }, { exponential = { multiplier, min, max, exp_base } }, \
                      { exponential_jitter = { initial, max, exp_base, jitter } }, { random_exponential = { \
                      multiplier, min, max, exp_base } }, { incrementing = { start, increment, max } }, { chain = \
                      [wait, …] } or { combine = [wait, …] }; without it, none",
            translate: wait,
        },
    ],
};

/// The most parts of a combination.
const MOST_PARTS: usize = 8;

/// A stop condition.
struct Stop {
    attempts: Option<u64>,
    delay: Option<Delay>,
    /// Whether attempts and time must both be over.
    both: bool,
}

/// A limit on time.
#[derive(Clone, Copy)]
struct Delay {
    limit: SimDuration,
    check: &'static str,
}

fn stop(spoken: &Spoken<'_>) -> Option<Value> {
    let stop = stop_of(&spoken.field)?;
    if let Some(delay) = stop.delay {
        spoken.also("total_budget", duration(delay.limit));
        spoken.also("budget_check", text(delay.check));
        spoken.also("stops_at", text(if stop.both { "both" } else { "first" }));
    }
    stop.attempts
        .map_or_else(|| Some(text("unlimited")), |attempts| Some(Value::Integer(i64::try_from(attempts).ok()?)))
}

fn stop_of(field: &Field<'_>) -> Option<Stop> {
    let reader = field.table("a stop condition")?;
    let chosen = reader.only(&["after_attempt", "after_delay", "before_delay", "any", "all"]);
    reader.finish();
    let delay = |field: &Field<'_>, check| {
        let limit = field.positive_duration()?;
        Some(Stop { attempts: None, delay: Some(Delay { limit, check }), both: false })
    };
    match chosen? {
        ("after_attempt", field) => {
            if field.node.value == Value::Integer(0) {
                return field.must("be at least 1", "1 means no retry; the first try counts");
            }
            Some(Stop { attempts: Some(field.whole(1..=1_000_000)?), delay: None, both: false })
        }
        ("after_delay", field) => delay(&field, "elapsed"),
        ("before_delay", field) => delay(&field, "before_wait_strict"),
        ("any", field) => combined(&field, false),
        (_, field) => combined(&field, true),
    }
}

/// The stop of a list, at the first of its parts or when all of them say so.
fn combined(field: &Field<'_>, all: bool) -> Option<Stop> {
    let parts: Vec<Option<Stop>> = field.list("stop conditions", MOST_PARTS)?.iter().map(stop_of).collect();
    let parts: Vec<Stop> = parts.into_iter().collect::<Option<_>>()?;
    let mixed = parts.iter().any(|part| part.attempts.is_some() && part.delay.is_some() && part.both != all);
    if mixed && parts.len() > 1 {
        return field.wrong("mixes `any` and `all`", "one limit on attempts and one on time can be combined");
    }
    let both = if parts.len() == 1 { parts[0].both } else { all };
    let (mut attempts, mut delay): (Option<u64>, Option<Delay>) = (None, None);
    for part in parts {
        attempts = match (attempts, part.attempts) {
            (Some(one), Some(other)) => Some(if all { one.max(other) } else { one.min(other) }),
            (one, other) => one.or(other),
        };
        delay = match (delay, part.delay) {
            (Some(one), Some(other)) if one.check != other.check => {
                return field.wrong("has two limits on time of different kinds", "keep one of them");
            }
            (Some(one), Some(other)) if (one.limit < other.limit) == all => Some(other),
            (one, other) => one.or(other),
        };
    }
    let both = both && attempts.is_some() && delay.is_some();
    Some(Stop { attempts, delay, both })
}

/// A wait: its backoff, and what is added to it where that is not part of the backoff.
struct Wait {
    backoff: Value,
    jitter: Option<Value>,
    longest: Option<SimDuration>,
}

impl Wait {
    const fn plain(backoff: Value) -> Wait {
        Wait { backoff, jitter: None, longest: None }
    }

    /// As a part of another wait.
    fn part(self) -> Value {
        match (self.jitter, self.longest) {
            (None, _) => self.backoff,
            (Some(jitter), None) => form("jittered", table([("of", self.backoff), ("jitter", jitter)])),
            (Some(jitter), Some(longest)) => {
                let keys = [("of", self.backoff), ("jitter", jitter), ("longest", duration(longest))];
                form("jittered", table(keys))
            }
        }
    }
}

fn wait(spoken: &Spoken<'_>) -> Option<Value> {
    let wait = wait_of(&spoken.field)?;
    if let Some(jitter) = wait.jitter {
        spoken.also("jitter", jitter);
    }
    if let Some(longest) = wait.longest {
        spoken.also("longest_wait", duration(longest));
    }
    Some(wait.backoff)
}

fn wait_of(field: &Field<'_>) -> Option<Wait> {
    let reader = field.table("a wait")?;
    let chosen = reader.only(&[
        "fixed",
        "random",
        "exponential",
        "exponential_jitter",
        "random_exponential",
        "incrementing",
        "chain",
        "combine",
    ]);
    reader.finish();
    match chosen? {
        ("fixed", field) => Some(Wait::plain(form("fixed", duration(field.duration()?)))),
        ("random", field) => random(&field),
        ("exponential", field) => grown(&field).map(|(backoff, _)| Wait::plain(backoff)),
        ("exponential_jitter", field) => exponential_jitter(&field),
        ("random_exponential", field) => {
            let (backoff, least) = grown(&field)?;
            let jitter = if least.is_zero() { text("full") } else { form("down_to", duration(least)) };
            Some(Wait { backoff, jitter: Some(jitter), longest: None })
        }
        ("incrementing", field) => incrementing(&field),
        ("chain", field) => parts(&field).map(|parts| Wait::plain(form("list", list(parts)))),
        (_, field) => parts(&field).map(|parts| Wait::plain(form("sum", list(parts)))),
    }
}

fn parts(field: &Field<'_>) -> Option<Vec<Value>> {
    let parts: Vec<Option<Wait>> = field.list("waits", MOST_PARTS)?.iter().map(wait_of).collect();
    parts.into_iter().map(|part| part.map(Wait::part)).collect()
}

fn random(field: &Field<'_>) -> Option<Wait> {
    let reader = field.table("min and max")?;
    let low = reader.or("min", SimDuration::ZERO, Field::duration);
    let high = reader.or("max", SimDuration::from_secs(1), Field::positive_duration);
    reader.finish();
    let (low, high) = (low?, high?);
    if low > high {
        return field.wrong("has a `min` above its `max`", "write the shorter wait as `min`");
    }
    Some(Wait::plain(form("uniform", table([("low", duration(low)), ("high", duration(high))]))))
}

/// `max(min, min(multiplier · exp_base^(n−1), max))`, and `min`.
fn grown(field: &Field<'_>) -> Option<(Value, SimDuration)> {
    let reader = field.table("multiplier, min, max and exp_base")?;
    let multiplier = reader.or("multiplier", SimDuration::from_secs(1), Field::positive_duration);
    let least = reader.or("min", SimDuration::ZERO, Field::duration);
    let most = reader.maybe("max", Field::positive_duration);
    let base = reader.or("exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    reader.finish();
    let (multiplier, least, most, base) = (multiplier?, least?, most?, base?);
    let ladder = exponential(multiplier, base, most);
    // A bound that no wait reaches says nothing.
    if least <= multiplier.min(most.unwrap_or(SimDuration::MAX)) {
        return Some((ladder, least));
    }
    Some((form("at_least", table([("floor", duration(least)), ("of", ladder)])), least))
}

/// The jitter is added first and the sum is cut to `max`: at the top there is no jitter left.
fn exponential_jitter(field: &Field<'_>) -> Option<Wait> {
    let reader = field.table("initial, max, exp_base and jitter")?;
    let initial = reader.or("initial", SimDuration::from_secs(1), Field::positive_duration);
    let longest = reader.maybe("max", Field::positive_duration);
    let base = reader.or("exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    let jitter = reader.or("jitter", SimDuration::from_secs(1), Field::duration);
    reader.finish();
    let (backoff, jitter) = (exponential(initial?, base?, None), form("add", duration(jitter?)));
    Some(Wait { backoff, jitter: Some(jitter), longest: longest? })
}

fn incrementing(field: &Field<'_>) -> Option<Wait> {
    let reader = field.table("start, increment and max")?;
    let start = reader.or("start", SimDuration::ZERO, Field::duration);
    let increment = reader.or("increment", SimDuration::from_secs(100), Field::duration);
    let longest = reader.maybe("max", Field::duration);
    reader.finish();
    let (start, increment, longest) = (start?, increment?, longest?.unwrap_or(SimDuration::MAX));
    let keys = [("initial", duration(start)), ("step", duration(increment)), ("cap", duration(longest))];
    Some(Wait::plain(form("linear", table(keys))))
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn waits_are_the_measured_ones() {
        // tenacity 9.2.1. min 4 and max 10: 4, 4, 4, 8, 10, 10; random min 1: 1, then from 1 to 2, 4, 8.
        let second = "initial = \"1s\", factor = 2.0";
        for (wait, general) in [
            ("fixed = \"2s\"", "backoff = { fixed = \"2s\" }".to_owned()),
            (
                "random = { min = \"1s\", max = \"3s\" }",
                "backoff = { uniform = { low = \"1s\", high = \"3s\" } }".into(),
            ),
            (
                "exponential = { multiplier = \"500ms\", max = \"60s\", exp_base = 3 }",
                "backoff = { exponential = { initial = \"500ms\", factor = 3.0, cap = \"1m\" } }".into(),
            ),
            (
                "exponential = { min = \"4s\", max = \"10s\" }",
                format!(
                    "backoff = {{ at_least = {{ floor = \"4s\", of = {{ exponential = {{ {second}, cap = \"10s\" }} }} }} }}"
                ),
            ),
            (
                "exponential_jitter = { max = \"10s\", jitter = \"2s\" }",
                format!(
                    "backoff = {{ exponential = {{ {second} }} }}, jitter = {{ add = \"2s\" }}, longest_wait = \"10s\""
                ),
            ),
            (
                "random_exponential = { max = \"60s\" }",
                format!("backoff = {{ exponential = {{ {second}, cap = \"1m\" }} }}, jitter = \"full\""),
            ),
            (
                "random_exponential = { min = \"1s\" }",
                format!("backoff = {{ exponential = {{ {second} }} }}, jitter = {{ down_to = \"1s\" }}"),
            ),
            (
                "incrementing = { start = \"1s\", increment = \"2s\", max = \"6s\" }",
                "backoff = { linear = { initial = \"1s\", step = \"2s\", cap = \"6s\" } }".into(),
            ),
            (
                "chain = [{ fixed = \"1s\" }, { random_exponential = {} }]",
                format!(
                    "backoff = {{ list = [{{ fixed = \"1s\" }}, {{ jittered = {{ of = {{ exponential = {{ {second} }} }}, \
                     jitter = \"full\" }} }}] }}"
                ),
            ),
            (
                "combine = [{ fixed = \"3s\" }, { random = { max = \"2s\" } }]",
                "backoff = { sum = [{ fixed = \"3s\" }, { uniform = { low = \"0s\", high = \"2s\" } }] }".into(),
            ),
        ] {
            let unlimited = format!("max_attempts = \"unlimited\", retry_on = \"any\", {general}");
            assert_eq!(expanded("tenacity", &format!("wait = {{ {wait} }}")), Ok(unlimited), "{wait}");
        }
    }

    #[test]
    fn stops_combine_as_the_library_combines_them() {
        for (stop, general) in [
            ("after_attempt = 4", "max_attempts = 4"),
            (
                "after_delay = \"10s\"",
                "max_attempts = \"unlimited\", total_budget = \"10s\", budget_check = \"elapsed\", stops_at = \"first\"",
            ),
            (
                "before_delay = \"9s\"",
                "max_attempts = \"unlimited\", total_budget = \"9s\", budget_check = \"before_wait_strict\", stops_at = \
                 \"first\"",
            ),
            (
                "any = [{ after_attempt = 5 }, { after_delay = \"4s\" }, { after_delay = \"9s\" }]",
                "max_attempts = 5, total_budget = \"4s\", budget_check = \"elapsed\", stops_at = \"first\"",
            ),
            (
                "all = [{ after_attempt = 3 }, { after_delay = \"10s\" }, { after_attempt = 2 }]",
                "max_attempts = 3, total_budget = \"10s\", budget_check = \"elapsed\", stops_at = \"both\"",
            ),
            ("all = [{ after_attempt = 3 }, { after_attempt = 5 }]", "max_attempts = 5"),
            ("any = [{ all = [{ after_attempt = 3 }] }, { after_attempt = 5 }]", "max_attempts = 3"),
        ] {
            let (attempts, rest) = general.split_once(", ").unwrap_or((general, ""));
            let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
            let general = format!("{attempts}, retry_on = \"any\"{rest}, backoff = \"none\"");
            assert_eq!(expanded("tenacity", &format!("stop = {{ {stop} }}")), Ok(general), "{stop}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        for (words, message) in [
            ("stop = { after_attempt = 0 }", "must be at least 1, found 0"),
            ("stop = { after_atempt = 2 }", "unknown key"),
            (
                "stop = { any = [{ all = [{ after_attempt = 3 }, { after_delay = \"1s\" }] }, { after_attempt = 5 }] }",
                "mixes `any` and `all`",
            ),
            (
                "stop = { any = [{ after_delay = \"3s\" }, { before_delay = \"1s\" }] }",
                "has two limits on time of different kinds",
            ),
            ("wait = { random = { min = \"3s\" } }", "has a `min` above its `max`"),
            ("wait = { combine = [{ fixd = \"1s\" }] }", "unknown key"),
            ("wait = { exponential_jitter = {} }\njitter = \"full\"", "says `jitter` in the words of `tenacity` too"),
        ] {
            assert_eq!(expanded("tenacity", words), Err(vec![message.to_owned()]), "{words}");
        }
    }
}
