//! stamina, a decorator of Python with opinions: ten attempts or 45 s, whichever comes first, and waits that double
//! from a tenth of a second with up to a second on top. The sum is cut to `wait_max`, so that the longest waits have no
//! jitter at all. The time is looked at before the wait: one attempt may begin past the limit.

use super::{Family, Source, Spoken, Version, Word, attempts_or_none, duration, exponential, form, time_limit};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "stamina",
    about: "the retrying decorator of Python with defaults for production",
    kind: Kind::Decorator,
    versions: &[Version {
        number: "26.1",
        source: Source::Measured("stamina 26.1.0"),
        defaults: "max_attempts = 10\nretry_on = \"any\"\ntotal_budget = \"45s\"\nbudget_check = \"elapsed\"\n\
                   backoff = { exponential = { initial = \"100ms\", factor = 2.0 } }\njitter = { add = \"1s\" }\n\
                   longest_wait = \"5s\"\n",
    }],
    words: &[
        Word {
            word: "attempts",
            stands_for: "max_attempts",
            meaning: "tries, the first one included, or \"none\" for no limit",
            translate: |spoken| attempts_or_none(&spoken.field),
        },
        Word {
            word: "timeout",
            stands_for: "total_budget",
            meaning: "the time after which no further wait begins, or \"none\"",
            translate: |spoken| time_limit(&spoken.field),
        },
        Word { word: "wait_initial", stands_for: "backoff", meaning: "the first wait, 0.1 s", translate: waits },
        Word {
            word: "wait_max",
            stands_for: "backoff",
            meaning: "the longest wait with jitter, 5 s",
            translate: waits,
        },
        Word { word: "wait_jitter", stands_for: "backoff", meaning: "the most that is added, 1 s", translate: waits },
        Word {
            word: "wait_exp_base",
            stands_for: "backoff",
            meaning: "what each further wait is multiplied by, 2",
            translate: waits,
        },
    ],
};

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("wait_initial", SimDuration::from_millis(100), Field::positive_duration);
    let longest = spoken.or("wait_max", SimDuration::from_secs(5), Field::positive_duration);
    let jitter = spoken.or("wait_jitter", SimDuration::from_secs(1), Field::duration);
    let base = spoken.or("wait_exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    let (initial, base) = (initial?, base?);
    spoken.also("jitter", form("add", duration(jitter?)));
    spoken.also("longest_wait", duration(longest?));
    Some(exponential(initial, base, None))
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn one_word_about_waits_keeps_the_others() {
        let general = "max_attempts = 10, retry_on = \"any\", total_budget = \"none\", budget_check = \"elapsed\", \
                       backoff = { exponential = { initial = \"100ms\", factor = 2.0 } }, jitter = { add = \"0s\" }, \
                       longest_wait = \"5s\"";
        assert_eq!(expanded("stamina", "timeout = \"none\"\nwait_jitter = \"0s\""), Ok(general.to_owned()));
    }

    #[test]
    fn a_wrong_word_is_one_fault() {
        let wrong = expanded("stamina", "wait_max = 5\nwait_initial = \"200ms\"");
        assert_eq!(wrong, Err(vec!["must be a duration with a unit, found 5".to_owned()]));
        let zero = expanded("stamina", "attempts = 0");
        assert_eq!(zero, Err(vec!["must be at least 1, found 0".to_owned()]));
    }
}
