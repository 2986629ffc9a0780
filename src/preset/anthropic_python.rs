//! The Python SDK of Anthropic. Up to 1.5 a hint above a minute is ignored; from 1.6 on it is obeyed whatever it says,
//! cut only where a 32-bit number of milliseconds ends, so that a mistaken hint can park a caller for weeks.

use super::stainless::{WORDS, stainless_defaults};
use super::{Family, Source, Version};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "anthropic-python",
    about: "the Python SDK of Anthropic",
    kind: Kind::Client,
    versions: &[
        Version {
            number: "0.25",
            source: Source::Measured("anthropic 0.25.9"),
            defaults: stainless_defaults!("1s", "cap = \"60s\", above = \"own_backoff\""),
        },
        Version {
            number: "1.13",
            source: Source::Measured("anthropic 1.13.0"),
            defaults: stainless_defaults!("500ms", "cap = \"4294967s\", above = \"clamp\""),
        },
        Version {
            number: "2.14",
            source: Source::Measured("anthropic 2.14.0"),
            defaults: stainless_defaults!("500ms", "cap = \"4294967s\", above = \"clamp\""),
        },
    ],
    words: WORDS,
};
