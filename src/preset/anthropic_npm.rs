//! The npm SDK of Anthropic. It takes every hint that a timer can hold, up to 24.8 days, and otherwise waits its own.

use super::stainless_npm::{WORDS, npm_defaults};
use super::{Family, Source, Version};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "anthropic-npm",
    about: "the npm SDK of Anthropic",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.14",
        source: Source::Measured("@anthropic-ai/sdk 1.14.0"),
        defaults: npm_defaults!("cap = \"2147483647ms\", above = \"own_backoff\"", ", zero = \"next\"", ""),
    }],
    words: WORDS,
};
