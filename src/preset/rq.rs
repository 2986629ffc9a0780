//! RQ, a job queue of Python. A failed run goes to the back of the queue and starts over at the first step. Its list of
//! intervals is read from the end: with `max = 5` and `[10, 30]` the waits are 10, 10, 10, 10, 30, and of a list that
//! is longer than `max` the first ones are never used.

use super::{Family, Source, Spoken, Version, Word, durations, form, retries_to_attempts, text};
use crate::document::{Fault, Field, Value};
use crate::units::SimDuration;

/// The most retries for which a list of waits is written out.
const LONGEST_LIST: usize = 1_000;

const DEFAULTS: &str =
    "max_attempts = 1\nretry_on = \"any\"\nbackoff = \"none\"\nrequeue = \"back\"\nresume = \"restart\"\n";

pub(super) static FAMILY: Family = Family {
    word: "rq",
    about: "the job queue RQ of Python",
    kind: crate::policy::Kind::Queue,
    versions: &[
        Version { number: "2.0", source: Source::Measured("rq 2.0.0"), defaults: DEFAULTS },
        Version { number: "3.0", source: Source::Measured("rq 3.0.0"), defaults: DEFAULTS },
    ],
    words: &[
        Word { word: "max", stands_for: "max_attempts", meaning: "runs after the first one", translate: max },
        Word {
            word: "interval",
            stands_for: "backoff",
            meaning: "the wait before each further run, or a list of them, which is read from its end",
            translate: interval,
        },
        Word {
            word: "enqueue_at_front",
            stands_for: "requeue",
            meaning: "whether a failed job goes ahead of all that wait; not in 2.0",
            translate: at_front,
        },
    ],
};

fn max(spoken: &Spoken<'_>) -> Option<Value> {
    // The library refuses 0 itself: no retry is said by saying nothing.
    if spoken.field.node.value == Value::Integer(0) {
        return spoken.field.must("be at least 1", "leave `max` out for a single run");
    }
    retries_to_attempts(spoken)
}

fn at_front(spoken: &Spoken<'_>) -> Option<Value> {
    if spoken.version.number == "2.0" {
        let fault = Fault::new(spoken.field.key, "is no setting of this version");
        spoken.field.faults().add(fault.hint("name `rq-3.0`, or write `requeue`"));
        return None;
    }
    Some(text(if spoken.field.truth()? { "front" } else { "back" }))
}

fn interval(spoken: &Spoken<'_>) -> Option<Value> {
    let field = &spoken.field;
    let Some(max) = spoken.element.get("max") else {
        let fault = Fault::new(field.key, "says nothing without `max`").hint("say how many further runs there are");
        field.faults().add(fault);
        return None;
    };
    if !matches!(field.node.value, Value::Array(_)) {
        return Some(form("fixed", Value::String(field.duration()?.to_string())));
    }
    let listed: Vec<Option<SimDuration>> = field.list("waits", LONGEST_LIST)?.iter().map(Field::duration).collect();
    let listed: Vec<SimDuration> = listed.into_iter().collect::<Option<_>>()?;
    // A `max` that is no such number has its own fault.
    let Value::Integer(max) = max.node.value else { return None };
    let max = usize::try_from(max).ok()?;
    let same = listed.iter().all(|wait| *wait == listed[0]);
    if same {
        return Some(form("fixed", Value::String(listed[0].to_string())));
    }
    if max > LONGEST_LIST {
        return field.wrong(
            format!("is a list of waits for more than {LONGEST_LIST} runs"),
            "write a single interval, or a smaller `max`",
        );
    }
    let wait = |retry: usize| listed[(listed.len() + retry).saturating_sub(max).min(listed.len() - 1)];
    Some(form("list", durations((0..max).map(wait))))
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    #[test]
    fn a_failed_job_may_go_to_the_front_from_3_0_on() {
        let general = crate::preset::tests::expanded;
        assert!(general("rq", "enqueue_at_front = true").unwrap().contains("requeue = \"front\""));
        let old = general("rq-2.0", "enqueue_at_front = true");
        assert_eq!(old, Err(vec!["is no setting of this version".to_owned()]));
    }

    fn expanded(words: &str) -> (String, Vec<String>) {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("rq").unwrap().expand(&mut element, Place::TOP, &faults);
        let backoff = element.get("backoff").unwrap().node.value.to_string();
        (backoff, faults.into_sorted().0.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn intervals_are_read_from_their_end() {
        // Measured on rq 3.0.0, seconds.
        for (words, waits) in [
            ("max = 3\ninterval = \"10s\"", r#"{ fixed = "10s" }"#),
            ("max = 3\ninterval = [\"10s\", \"30s\", \"60s\"]", r#"{ list = ["10s", "30s", "1m"] }"#),
            ("max = 5\ninterval = [\"10s\", \"30s\"]", r#"{ list = ["10s", "10s", "10s", "10s", "30s"] }"#),
            ("max = 2\ninterval = [\"10s\", \"30s\", \"60s\"]", r#"{ list = ["30s", "1m"] }"#),
            ("max = 3\ninterval = [\"0s\", \"5s\"]", r#"{ list = ["0s", "0s", "5s"] }"#),
        ] {
            assert_eq!(expanded(words), (waits.to_owned(), vec![]), "{words}");
        }
    }

    #[test]
    fn what_the_library_refuses_is_refused() {
        assert_eq!(expanded("max = 0").1, ["must be at least 1, found 0"]);
        assert_eq!(expanded("interval = \"10s\"").1, ["says nothing without `max`"]);
        assert_eq!(expanded("max = 1\ninterval = []").1, ["is empty"]);
        assert_eq!(expanded("max = 1\ninterval = \"-1s\"").1, ["a duration cannot be negative, found \"-1s\""]);
    }
}
