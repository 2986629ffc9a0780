//! The npm SDK of `OpenAI`. Version 6 hands whatever the header says to its timer: a hint of zero, of the past, of no
//! number and of more than 24.8 days all retry after a millisecond. Version 7 takes what lies within a minute and waits
//! its own otherwise; a hint of zero still is at once.

use super::stainless_npm::{WORDS, npm_defaults};
use super::{Family, Source, Version};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "openai-npm",
    about: "the npm SDK of OpenAI",
    kind: Kind::Client,
    versions: &[
        Version {
            number: "6.49",
            source: Source::Measured("openai (npm) 6.49.0"),
            defaults: npm_defaults!(
                "cap = \"2147483647ms\", above = \"at_once\"",
                ", zero = \"next\", negative = \"tick\"",
                ", zero = \"tick\", negative = \"tick\", not_a_number = \"tick\", past = \"tick\", unreadable = \"tick\""
            ),
        },
        Version {
            number: "7.59",
            source: Source::Measured("openai (npm) 7.59.0"),
            defaults: npm_defaults!("cap = \"60s\", above = \"own_backoff\"", ", zero = \"tick\"", ", zero = \"tick\""),
        },
    ],
    words: WORDS,
};
