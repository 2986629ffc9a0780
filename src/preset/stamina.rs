//! stamina, a decorator of Python with opinions: ten attempts or 45 s, whichever comes first, and waits that double
//! from a tenth of a second with up to a second on top. The sum is cut to `wait_max`, so that the longest waits have no
//! jitter at all. The time is looked at before the wait: one attempt may begin past the limit.

use super::{Family, Source, Spoken, Version, attempts_or_none, duration, exponential, form, time_limit, word};
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
        word(
            "attempts",
            "max_attempts",
            "tries, the first one included, or \"none\" for no limit (default 10)",
            |spoken| attempts_or_none(&spoken.field),
        ),
        word(
            "timeout",
            "total_budget",
            "the time after which no further wait begins, or \"none\" (default \"45s\")",
            |spoken| time_limit(&spoken.field),
        ),
        word("wait_initial", "backoff", "the first wait (default \"100ms\")", waits),
        word("wait_max", "longest_wait", "the longest wait with jitter (default \"5s\")", |spoken| {
            Some(duration(spoken.field.positive_duration()?))
        }),
        word("wait_jitter", "jitter", "the most that is added (default \"1s\")", |spoken| {
            Some(form("add", duration(spoken.field.duration()?)))
        }),
        word("wait_exp_base", "backoff", "what each further wait is multiplied by (default 2)", waits),
    ],
};

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let initial = spoken.or("wait_initial", SimDuration::from_millis(100), Field::positive_duration);
    let base = spoken.or("wait_exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    let (initial, base) = (initial?, base?);
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
