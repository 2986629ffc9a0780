//! backoff, a decorator of Python. It names a generator of waits and, unless told otherwise, draws each wait from zero
//! up to what the generator says. Its time limit cuts the last wait instead of refusing it, so that the last attempt
//! begins exactly at the limit. Without `max_tries` and `max_time` it never stops.

use super::{
    Family, Source, Spoken, Version, Word, attempts_or_none, duration, exponential, form, table, text, time_limit,
};
use crate::document::{Fault, Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "backoff-python",
    about: "the decorators `on_exception` and `on_predicate` of the Python library backoff",
    kind: Kind::Decorator,
    versions: &[Version {
        number: "2.2",
        source: Source::Measured("backoff 2.2.1"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\njitter = \"full\"\n",
    }],
    words: &[
        Word {
            word: "max_tries",
            stands_for: "max_attempts",
            meaning: "tries, the first one included, or \"none\" for no limit",
            translate: |spoken| attempts_or_none(&spoken.field),
        },
        Word {
            word: "max_time",
            stands_for: "total_budget",
            meaning: "the time after which it stops, or \"none\"; the last wait is cut to end there",
            translate: |spoken| {
                spoken.also("budget_check", text("elapsed_cut"));
                time_limit(&spoken.field)
            },
        },
        Word {
            word: "wait_gen",
            stands_for: "backoff",
            meaning: "\"expo\" (the default), \"fibo\" or \"constant\"",
            translate: waits,
        },
        Word { word: "base", stands_for: "backoff", meaning: "of expo: the base of the power, 2", translate: waits },
        Word { word: "factor", stands_for: "backoff", meaning: "of expo: the first wait, 1 s", translate: waits },
        Word {
            word: "max_value",
            stands_for: "backoff",
            meaning: "of expo and fibo: the longest wait before jitter",
            translate: waits,
        },
        Word { word: "interval", stands_for: "backoff", meaning: "of constant: the wait, 1 s", translate: waits },
        Word {
            word: "jitter",
            stands_for: "jitter",
            meaning: "\"full_jitter\" (the default), \"random_jitter\" (adds up to 1 s) or \"none\"",
            translate: jitter,
        },
    ],
};

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    match spoken.field.node.as_str() {
        Some("full_jitter") => Some(text("full")),
        Some("random_jitter") => Some(form("add", duration(SimDuration::from_secs(1)))),
        // The general forms stand beside the library's two.
        Some("none" | "full") | None => Some(spoken.field.node.value.clone()),
        Some(_) => spoken.field.not_among(&["full_jitter", "random_jitter", "none"]),
    }
}

fn waits(spoken: &Spoken<'_>) -> Option<Value> {
    let words = [("expo", "expo"), ("fibo", "fibo"), ("constant", "constant")];
    let generator = spoken.or("wait_gen", "expo", |field| field.word(&words))?;
    let second = SimDuration::from_secs(1);
    for (name, of) in [("base", "expo"), ("factor", "expo"), ("max_value", "expo fibo"), ("interval", "constant")] {
        if let Some(field) = spoken.word(name).filter(|_| !of.split(' ').any(|of| of == generator)) {
            let fault = Fault::new(field.key, format!("is no setting of `{generator}`"));
            field.faults().add(fault.hint("leave it out, or choose another `wait_gen`"));
            return None;
        }
    }
    let most = || match spoken.word("max_value") {
        Some(field) => field.positive_duration().map(Some),
        None => Some(None),
    };
    match generator {
        "fibo" => {
            let cap = most()?.unwrap_or(SimDuration::MAX);
            Some(form("fibonacci", table([("initial", duration(second)), ("cap", duration(cap))])))
        }
        "constant" => Some(form("fixed", duration(spoken.or("interval", second, Field::duration)?))),
        _ => {
            let base = spoken.or("base", 2.0, |field| field.number(1.0..=1_000.0));
            let factor = spoken.or("factor", second, Field::positive_duration);
            Some(exponential(factor?, base?, most()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn a_generator_has_its_own_settings() {
        let backoff = |words: &str| expanded("backoff-python", &format!("max_tries = 3\n{words}"));
        let general = |backoff: &str| {
            Ok(format!("max_attempts = 3, retry_on = \"any\", backoff = {{ {backoff} }}, jitter = \"full\""))
        };
        assert_eq!(
            backoff("wait_gen = \"fibo\"\nmax_value = \"9s\""),
            general("fibonacci = { initial = \"1s\", cap = \"9s\" }")
        );
        assert_eq!(backoff("wait_gen = \"constant\"\ninterval = \"2s\""), general("fixed = \"2s\""));
        assert_eq!(backoff("factor = \"3s\""), general("exponential = { initial = \"3s\", factor = 2.0 }"));
        let strange = backoff("wait_gen = \"constant\"\nbase = 3");
        assert_eq!(strange, Err(vec!["is no setting of `constant`".to_owned()]));
        let jitter = backoff("jitter = \"full_jiter\"");
        assert_eq!(jitter, Err(vec!["is none of the known words, found \"full_jiter\"".to_owned()]));
    }
}
