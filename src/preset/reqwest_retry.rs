//! reqwest-retry, a layer of reqwest-middleware. It repeats every method, also POST, looks at no hint, and hands the
//! last response back. The library itself asks for the number of retries; without one the preset takes three, as its
//! examples do. Failures of other middleware are not repeated; the model has none.

use super::{Family, Source, Spoken, Version, Word, as_it_is, duration, exponential, form, retries_to_attempts};
use crate::document::Value;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "reqwest-retry",
    about: "the crate reqwest-retry",
    kind: crate::policy::Kind::Client,
    versions: &[Version {
        number: "0.7",
        source: Source::Measured("reqwest-retry 0.7.0"),
        defaults: "max_attempts = 4\nretry_on = [408, 429, \"5xx\", \"timeout\", \"unreachable\", \"drop\"]\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0, cap = \"30m\" } }\njitter = \"full\"\n\
                   hands_back = { unretried = \"response\", exhausted = \"response\" }\n",
    }],
    words: &[
        Word {
            word: "max_n_retries",
            stands_for: "max_attempts",
            meaning: "tries after the first one (default 3)",
            translate: retries_to_attempts,
        },
        Word {
            word: "retry_bounds",
            stands_for: "backoff",
            meaning: "the first and the longest wait (default [\"1s\", \"30m\"])",
            translate: ladder,
        },
        Word {
            word: "base",
            stands_for: "backoff",
            meaning: "what each further wait is multiplied by (default 2)",
            translate: ladder,
        },
        Word {
            word: "jitter",
            stands_for: "jitter",
            meaning: "\"full\", \"bounded\" (down to the first wait) or \"none\" (default \"full\")",
            translate: jitter,
        },
    ],
};

fn bounds(spoken: &Spoken<'_>) -> Option<(SimDuration, SimDuration)> {
    let default = (SimDuration::from_secs(1), SimDuration::from_secs(1_800));
    spoken.or("retry_bounds", default, |field| {
        let (low, high) = field.pair(r#"["1s", "30m"]"#)?;
        let (first, longest) = (low.positive_duration()?, high.duration()?);
        if longest < first {
            return high.must("be no shorter than the first", "write the shorter wait first");
        }
        Some((first, longest))
    })
}

fn ladder(spoken: &Spoken<'_>) -> Option<Value> {
    let (first, longest) = bounds(spoken)?;
    let base = spoken.or("base", 2.0, |field| field.number(1.0..=1_000.0))?;
    Some(exponential(first, base, Some(longest)))
}

fn jitter(spoken: &Spoken<'_>) -> Option<Value> {
    match spoken.field.node.as_str() {
        Some("bounded") => Some(form("down_to", duration(bounds(spoken)?.0))),
        _ => as_it_is(spoken),
    }
}
