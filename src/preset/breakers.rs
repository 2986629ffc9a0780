//! The circuit breakers of client libraries, in their own words. In a scenario such a preset stands inside of a
//! guard's `breaker`. It counts the results at its place, as a breaker around a function does, and every failure, as
//! one that is not told which exceptions matter.
//!
//! Not held: pybreaker keeps a lock while a call runs, so that calls through one breaker run one at a time (a semaphore
//! of one permit around the breaker does the same); the limit on calls at a time of opossum and cockatiel's bulkhead,
//! which are semaphores; two policies of failsafe that are combined; jitter of open times.

use super::{Family, NotAPreset, Preset, Source, Spoken, Version};
use super::{also, as_it_is, duration, milliseconds, table, text, word};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

/// All families of breakers.
pub const FAMILIES: [&Family; 6] = [&PYBREAKER, &AIOBREAKER, &PURGATORY, &OPOSSUM, &COCKATIEL, &FAILSAFE];

/// The preset of a breaker of this name: a family's word, alone or with `-` and a version.
pub fn find(name: &str) -> Result<Preset, NotAPreset> {
    Preset::among(&FAMILIES, "breaker", name)
}

/// What all of them do.
macro_rules! breaker {
    ($($own:literal),*) => {
        concat!(
            "counts = \"results\"\n",
            "of = [\"4xx\", \"5xx\", \"timeout\", \"connection\", \"cut\", \"stream_failed\", \"stream_broken\"]\n",
            "when_open = \"reject\"\n",
            $($own),*
        )
    };
}

static PYBREAKER: Family = Family {
    word: "pybreaker",
    about: "the breaker of pybreaker for Python",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.4",
        source: Source::Measured("pybreaker 1.4.1"),
        defaults: breaker!("consecutive = 5\n", "open = \"1m\"\n", "last_failure = \"short_circuited\"\n"),
    }],
    words: &[
        word("fail_max", "consecutive", "failures in a row that open it (default 5)", as_it_is),
        word("reset_timeout", "open", "how long it is open (default \"1m\")", as_it_is),
        word("success_threshold", "probes", "successes in a row that close it (default 1)", probes),
        word(
            "throw_new_error_on_trip",
            "last_failure",
            "whether the call that opens it ends in the breaker's error (default true)",
            last_failure,
        ),
    ],
};

static AIOBREAKER: Family = Family {
    word: "aiobreaker",
    about: "the breaker of aiobreaker for Python's asyncio",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.2",
        source: Source::Measured("aiobreaker 1.2.0"),
        defaults: breaker!(
            "consecutive = 5\n",
            "open = \"1m\"\n",
            "others = \"pass\"\n",
            "late_failure = \"restarts\"\n",
            "late_probe = \"decides\"\n",
            "last_failure = \"short_circuited\"\n"
        ),
    }],
    words: &[
        word("fail_max", "consecutive", "failures in a row that open it (default 5)", as_it_is),
        word("timeout_duration", "open", "how long it is open (default \"1m\")", as_it_is),
    ],
};

static PURGATORY: Family = Family {
    word: "purgatory",
    about: "the breaker of purgatory for Python",
    kind: Kind::Client,
    versions: &[Version {
        number: "3.0",
        source: Source::Measured("purgatory 3.0.1"),
        defaults: breaker!(
            "consecutive = 5\n",
            "open = \"30s\"\n",
            "open_until = \"after_end\"\n",
            "others = \"pass\"\n"
        ),
    }],
    words: &[
        word("threshold", "consecutive", "failures in a row that open it (default 5)", as_it_is),
        word("ttl", "open", "how long it is open (default \"30s\")", as_it_is),
    ],
};

static OPOSSUM: Family = Family {
    word: "opossum",
    about: "the breaker of opossum for Node",
    kind: Kind::Client,
    versions: &[Version {
        number: "9.0",
        source: Source::Measured("opossum 9.0.0"),
        defaults: breaker!(
            "within = \"10s\"\n",
            "threshold = 0.5\n",
            "checked = \"failures\"\n",
            "share_of = \"calls\"\n",
            "open = \"30s\"\n",
            "on_close = \"keep\"\n"
        ),
    }],
    words: &[
        word(
            "errorThresholdPercentage",
            "threshold",
            "failures per hundred calls above which it opens (default 50)",
            percentage,
        ),
        word("volumeThreshold", "minimum", "calls that must be in the window (default 0)", volume),
        word("rollingCountTimeout", "within", "how long a window is (default \"10s\")", window),
        word("rollingCountBuckets", "buckets", "the slots of a window (default 10)", as_it_is),
        word("allowWarmUp", "warm_up", "whether the first window only counts (default false)", warm_up),
        word("resetTimeout", "open", "how long it is open (default \"30s\")", window),
    ],
};

static COCKATIEL: Family = Family {
    word: "cockatiel",
    about: "the breakers of cockatiel for Node",
    kind: Kind::Client,
    versions: &[Version {
        number: "3.2",
        source: Source::Measured("cockatiel 3.2.1"),
        defaults: breaker!("others = \"wait\"\n", "on_close = \"count_probe\"\n"),
    }],
    words: &[
        word("ConsecutiveBreaker", "consecutive", "failures in a row that open it", as_it_is),
        word("CountBreaker", "last", "{ threshold, size, minimumNumberOfCalls }: of the last calls", count),
        also("CountBreaker", "minimum", count),
        also("CountBreaker", "threshold", count),
        also("CountBreaker", "checked", failures),
        word("SamplingBreaker", "within", "{ threshold, duration, minimumRps }: of the calls of a while", sampling),
        also("SamplingBreaker", "buckets", sampling),
        also("SamplingBreaker", "buckets_move", sampling),
        also("SamplingBreaker", "minimum", sampling),
        also("SamplingBreaker", "threshold", sampling),
        also("SamplingBreaker", "checked", failures),
        word(
            "halfOpenAfter",
            "open",
            "how long it is open, or { ExponentialBackoff = { initialDelay, maxDelay, exponent } }, without its jitter",
            half_open_after,
        ),
    ],
};

static FAILSAFE: Family = Family {
    word: "failsafe",
    about: "the breaker of failsafe for Rust",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.3",
        source: Source::Measured("failsafe 1.3.0"),
        defaults: breaker!("open_until = \"after_end\"\n", "others = \"pass\"\n"),
    }],
    words: &[
        word("consecutive_failures", "consecutive", "failures in a row that open it", as_it_is),
        word(
            "success_rate_over_time_window",
            "average",
            "{ required, min_requests, window }: an average that fades",
            success_rate,
        ),
        also("success_rate_over_time_window", "buckets", success_rate),
        also("success_rate_over_time_window", "minimum", success_rate),
        also("success_rate_over_time_window", "threshold", success_rate),
        also("success_rate_over_time_window", "checked", failures),
        also("success_rate_over_time_window", "warm_up", success_rate),
        also("success_rate_over_time_window", "warms_up", success_rate),
        word("backoff", "open", "{ constant = d } or { exponential = [first, longest] }, without jitter", backoff),
    ],
};

fn probes(spoken: &Spoken<'_>) -> Option<Value> {
    Some(Value::Integer(i64::try_from(spoken.field.whole(1..=4096)?).ok()?))
}

fn last_failure(spoken: &Spoken<'_>) -> Option<Value> {
    Some(text(if spoken.field.truth()? { "short_circuited" } else { "shown" }))
}

fn percentage(spoken: &Spoken<'_>) -> Option<Value> {
    Some(Value::Float(spoken.field.number(0.0..=99.999)? / 100.0))
}

fn volume(spoken: &Spoken<'_>) -> Option<Value> {
    Some(Value::Integer(i64::try_from(spoken.field.whole(0..=1_000_000)?.max(1)).ok()?))
}

fn window(spoken: &Spoken<'_>) -> Option<Value> {
    milliseconds(&spoken.field).map(duration)
}

fn warm_up(spoken: &Spoken<'_>) -> Option<Value> {
    let window = spoken.or("rollingCountTimeout", SimDuration::from_secs(10), milliseconds);
    if spoken.field.truth()? { window.map(duration) } else { None }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands in a table beside words that can be wrong")]
fn failures(_: &Spoken<'_>) -> Option<Value> {
    Some(text("failures"))
}

/// One of several keys that a table of a library becomes.
fn one_of<const N: usize>(spoken: &Spoken<'_>, keys: [(&str, Value); N]) -> Option<Value> {
    keys.into_iter().find(|(key, _)| *key == spoken.key).map(|(_, value)| value)
}

fn whole(number: u64) -> Option<Value> {
    Some(Value::Integer(i64::try_from(number).ok()?))
}

fn count(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("threshold, size and minimumNumberOfCalls")?;
    let threshold = reader.need("threshold", "write the share of failures above which it opens, such as 0.5");
    let threshold = threshold.and_then(|field| field.number(0.0..=0.999_999));
    let size = reader.need("size", "write how many calls it looks at, such as 10");
    let size = size.and_then(|field| field.whole(1..=4096));
    let minimum = reader.or("minimumNumberOfCalls", size.unwrap_or(1), |field| field.whole(1..=size.unwrap_or(4096)));
    reader.finish();
    let keys = [("last", whole(size?)?), ("minimum", whole(minimum?)?), ("threshold", Value::Float(threshold?))];
    one_of(spoken, keys)
}

fn sampling(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("threshold, duration and minimumRps")?;
    let threshold = reader.need("threshold", "write the share of failures above which it opens, such as 0.5");
    let threshold = threshold.and_then(|field| field.number(0.001..=0.999_999));
    let time = reader.need("duration", r#"write how long a window is, such as "30s""#);
    let time = time.and_then(|field| milliseconds(&field));
    let rate = reader.or("minimumRps", 5.0 / threshold.unwrap_or(1.0), |field| field.number(0.0..=1e6));
    reader.finish();
    let (threshold, time, rate) = (threshold?, time?, rate?);
    // A second each, and five at least.
    let buckets = time.as_secs_f64().ceil().clamp(5.0, 1_000.0) as u64;
    let minimum = (time.as_secs_f64() * rate - 1e-9).ceil().clamp(1.0, 1e6) as u64;
    let keys = [
        ("within", duration(time)),
        ("buckets", whole(buckets)?),
        ("buckets_move", text("with_results")),
        ("minimum", whole(minimum)?),
        ("threshold", Value::Float(threshold)),
    ];
    one_of(spoken, keys)
}

fn half_open_after(spoken: &Spoken<'_>) -> Option<Value> {
    if spoken.field.node.as_table().is_none() {
        return window(spoken);
    }
    let reader = spoken.field.table("one backoff")?;
    let chosen = reader.only(&["ExponentialBackoff"]);
    reader.finish();
    let (_, field) = chosen?;
    let reader = field.table("initialDelay, maxDelay and exponent")?;
    let first = reader.or("initialDelay", SimDuration::from_millis(128), milliseconds);
    let longest = reader.or("maxDelay", SimDuration::from_secs(30), milliseconds);
    let factor = reader.or("exponent", 2.0, |field| field.number(1.0..=1_000.0));
    reader.finish();
    Some(open(first?, factor?, longest?))
}

/// An open time that grows.
fn open(first: SimDuration, factor: f64, longest: SimDuration) -> Value {
    table([("first", duration(first)), ("factor", Value::Float(factor)), ("cap", duration(longest))])
}

fn success_rate(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("required, min_requests and window")?;
    let required = reader.or("required", 0.8, |field| field.number(0.0..=1.0));
    let minimum = reader.or("min_requests", 5, |field| field.whole(1..=1_000_000));
    let window = reader.or("window", SimDuration::from_secs(30), Field::positive_duration);
    reader.finish();
    let (required, minimum, window) = (required?, minimum?, window?);
    let keys = [
        ("average", duration(window)),
        ("buckets", Value::Integer(5)),
        ("minimum", whole(minimum)?),
        ("threshold", Value::Float(1.0 - required)),
        ("warm_up", duration(window)),
        ("warms_up", text("after_closing")),
    ];
    one_of(spoken, keys)
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("one backoff")?;
    let chosen = reader.only(&["constant", "exponential"]);
    reader.finish();
    let (word, field) = chosen?;
    if word == "constant" {
        return field.positive_duration().map(duration);
    }
    let (first, longest) = field.pair("the first open time and the longest")?;
    let (first, longest) = (first.positive_duration(), longest.positive_duration());
    Some(open(first?, 2.0, longest?))
}
