//! The Python SDK of `OpenAI`: as its sibling, but a hint above a minute is ignored by the older version, and above two
//! minutes ends the retries of the newer one.

use super::stainless::{WORDS, stainless_defaults};
use super::{Family, Source, Version};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "openai-python",
    about: "the Python SDK of OpenAI",
    kind: Kind::Client,
    versions: &[
        Version {
            number: "1.109",
            source: Source::Measured("openai 1.109.1"),
            defaults: stainless_defaults!("500ms", "cap = \"60s\", above = \"own_backoff\""),
        },
        Version {
            number: "3.57",
            source: Source::Measured("openai 3.57.0"),
            defaults: stainless_defaults!("500ms", "cap = \"120s\", above = \"give_up\"", "infinite = \"nothing\""),
        },
    ],
    words: WORDS,
};
