//! `LiteLLM`'s `completion`: the SDK of `OpenAI` does the retrying inside it, for every provider, with two retries and its
//! waits. `num_retries` sets the SDK's number and wins over `max_retries`; a `retry_strategy` changes nothing there.
//!
//! Its router is another layer: it switches the SDK's retries off, moves between deployments and cools them down. That
//! is not part of this preset.

use super::stainless::stainless_defaults;
use super::{Family, Source, Spoken, Version, as_it_is, one_more, word};
use crate::document::Value;
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "litellm",
    about: "LiteLLM's `completion` for Python, without its router",
    kind: Kind::Client,
    versions: &[Version {
        number: "1.110",
        source: Source::Measured("litellm 1.110.2 over openai 3.57.0"),
        defaults: stainless_defaults!(
            "500ms",
            "cap = \"120s\", above = \"give_up\"",
            "infinite = \"nothing\"",
            "\"600s\""
        ),
    }],
    words: &[
        word("num_retries", "max_attempts", "tries after the first one; wins over max_retries", retries),
        word("max_retries", "max_attempts", "tries after the first one (default 2)", retries),
        word("timeout", "timeout", "the longest time of one request (default \"600s\")", as_it_is),
    ],
};

fn retries(spoken: &Spoken<'_>) -> Option<Value> {
    // Both are checked, whichever wins.
    let max = spoken.word("max_retries").map(|field| one_more(&field));
    let num = spoken.word("num_retries").map(|field| one_more(&field));
    max.iter().chain(&num).all(Option::is_some).then(|| num.or(max).flatten()).flatten()
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn num_retries_wins() {
        let general = expanded("litellm", "num_retries = 2\nmax_retries = 3").unwrap();
        assert!(general.starts_with("max_attempts = 3, "), "{general}");
        let wrong = expanded("litellm", "num_retries = 2\nmax_retries = -1");
        assert_eq!(wrong, Err(vec!["must be at least 0, found -1".to_owned()]));
    }
}
