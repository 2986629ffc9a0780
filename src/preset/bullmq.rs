//! `BullMQ`, a job queue of npm. One attempt unless told otherwise; a failed job goes behind all that wait, at once or
//! after its backoff. An `UnrecoverableError` ends a job: give such failures a code and name it under `never` of
//! `retry_on`. A custom backoff is a function of the application: write what it computes as a general backoff.

use super::{Family, Source, Spoken, Version, duration, exponential, form, further, list, milliseconds, table, word};
use crate::document::{Field, Value};

pub(super) static FAMILY: Family = Family {
    word: "bullmq",
    about: "the job queue BullMQ of npm",
    kind: crate::policy::Kind::Queue,
    versions: &[Version {
        number: "6.7",
        source: Source::Measured("bullmq 6.7.0"),
        defaults: "max_attempts = 1\nretry_on = \"any\"\nbackoff = \"none\"\nrequeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[
        word("attempts", "max_attempts", "runs, the first one included (default 1)", attempts),
        word(
            "backoff",
            "backoff",
            "a duration, or { type = \"fixed\" or \"exponential\", delay, jitter }; without it, none",
            backoff,
        ),
        further("backoff", "jitter", jitter),
        word(
            "rateLimit",
            "holds_queue",
            "a worker that meets a 429 holds the queue for so long, and its job uses no attempt; without it, a 429 is a \
             failure",
            limited,
        ),
        further("rateLimit", "uncounted", limited),
        further("rateLimit", "backoff_by_kind", |spoken| {
            let wait = form("fixed", duration(milliseconds(&spoken.field)?));
            Some(list([table([("on", list([Value::Integer(429)])), ("backoff", wait)])]))
        }),
    ],
};

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let attempts = spoken.field.whole(1..=1_000_000)?;
    Some(Value::Integer(i64::try_from(attempts).ok()?))
}

fn limited(spoken: &Spoken<'_>) -> Option<Value> {
    milliseconds(&spoken.field).map(|_| list([Value::Integer(429)]))
}

/// Whether a backoff is one of the library's and not a general form.
fn is_own(field: &Field<'_>) -> bool {
    field.node.as_table().is_some_and(|table| ["type", "delay", "jitter"].iter().any(|key| table.contains(key)))
}

fn backoff(spoken: &Spoken<'_>) -> Option<Value> {
    let field = &spoken.field;
    if field.node.as_table().is_some() || field.node.as_str() == Some("none") {
        return if is_own(field) { Some(own(field)?.0) } else { Some(field.node.value.clone()) };
    }
    Some(form("fixed", duration(milliseconds(field)?)))
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    if !is_own(&spoken.field) {
        return None;
    }
    own(&spoken.field)?.1.map(|share| form("subtract", Value::Float(share)))
}

fn own(field: &Field<'_>) -> Option<(Value, Option<f64>)> {
    let reader = field.table("type, delay and jitter")?;
    let kind = reader.need("type", r#"write "fixed" or "exponential""#);
    let doubles = kind.and_then(|field| {
        if field.node.as_str() == Some("custom") {
            return field.wrong("is a function of the application", "write what it computes as a general backoff");
        }
        field.word(&[("fixed", false), ("exponential", true)])
    });
    let delay = reader.need("delay", r#"write the first wait, such as "300ms""#);
    let delay = delay.and_then(|field| milliseconds(&field));
    let share = reader.maybe("jitter", Field::ratio);
    reader.finish();
    let (delay, share) = (delay?, share?);
    let waits = if doubles? { exponential(delay, 2.0, None) } else { form("fixed", duration(delay)) };
    Some((waits, share.filter(|share| *share > 0.0)))
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    fn expanded(words: &str) -> (Vec<String>, Vec<String>) {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("bullmq").unwrap().expand(&mut element, Place::TOP, &faults);
        let shown = |key: &str| element.get(key).map_or_else(String::new, |entry| entry.node.value.to_string());
        let faults = faults.into_sorted().0.into_iter().map(|fault| fault.message).collect();
        (["backoff", "jitter"].map(shown).to_vec(), faults)
    }

    #[test]
    fn one_word_says_the_ladder_and_its_jitter() {
        let (keys, faults) = expanded("backoff = { type = \"exponential\", delay = \"300ms\", jitter = 0.5 }\n");
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(keys, ["{ exponential = { initial = \"300ms\", factor = 2.0 } }", "{ subtract = 0.5 }"]);
        // General keys may stand in its place, and beside it.
        let (keys, faults) = expanded("backoff = { list = [\"1s\"] }\njitter = \"full\"\n");
        assert_eq!((keys, faults), (vec!["{ list = [\"1s\"] }".to_owned(), "\"full\"".to_owned()], vec![]));
    }

    #[test]
    fn what_it_cannot_say_is_refused_once() {
        assert_eq!(expanded("backoff = 300").1, ["must be a duration with a unit, found 300"]);
        assert_eq!(expanded("backoff = { type = \"custom\", delay = \"1s\" }").1, ["is a function of the application"]);
        assert_eq!(expanded("backoff = { delay = \"1s\" }").1, ["lacks the key `type`"]);
        assert_eq!(expanded("attempts = 0").1, ["must be at least 1, found 0"]);
        let both = expanded("backoff = { type = \"fixed\", delay = \"1s\", jitter = 1 }\njitter = \"full\"\n").1;
        assert_eq!(both, ["says `jitter` in the words of `bullmq` too"]);
    }
}
