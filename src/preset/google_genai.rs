//! The Python SDK of Google for Gemini. It does not retry unless `retry_options` are given, even if they are empty: then
//! five attempts, waits that double from a second with up to a second on top, and no look at `retry-after`. A 501, a
//! 529 and a dropped connection are never retried.

use super::{Family, Source, Spoken, Version, Word, duration, exponential, form};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "google-genai",
    about: "the Python SDK of Google for Gemini",
    kind: Kind::Client,
    versions: &[Version {
        number: "3.6",
        source: Source::Measured("google-genai 3.6.1"),
        defaults: "max_attempts = 1\nretry_on = [408, 429, 500, 502, 503, 504]\n\
                   backoff = { exponential = { initial = \"1s\", factor = 2.0 } }\njitter = { add = \"1s\" }\n\
                   longest_wait = \"60s\"\n",
    }],
    words: &[Word {
        word: "retry_options",
        stands_for: "max_attempts",
        meaning: "{ attempts = 5, initial_delay = \"1s\", max_delay = \"60s\", exp_base = 2, jitter = \"1s\", \
                  http_status_codes = [408, 429, 500, 502, 503, 504] }; each may be left out",
        translate: options,
    }],
};

fn options(spoken: &Spoken<'_>) -> Option<Value> {
    let reader = spoken.field.table("attempts, delays and codes")?;
    let attempts = reader.or("attempts", 5, |field| field.whole(0..=1_000_000));
    let initial = reader.or("initial_delay", SimDuration::from_secs(1), Field::positive_duration);
    let longest = reader.or("max_delay", SimDuration::from_secs(60), Field::positive_duration);
    let base = reader.or("exp_base", 2.0, |field| field.number(1.0..=1_000.0));
    let jitter = reader.or("jitter", SimDuration::from_secs(1), Field::duration);
    let codes = reader.get("http_status_codes").map(|field| field.node.value.clone());
    reader.finish();
    spoken.also("backoff", exponential(initial?, base?, None));
    spoken.also("jitter", form("add", duration(jitter?)));
    spoken.also("longest_wait", duration(longest?));
    if let Some(codes) = codes {
        spoken.also("retry_on", codes);
    }
    // 0 is taken for 1.
    Some(Value::Integer(i64::try_from(attempts?.max(1)).ok()?))
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn empty_options_switch_retries_on() {
        let tail = "backoff = { exponential = { initial = \"1s\", factor = 2.0 } }, jitter = { add = \"1s\" }";
        let general = |attempts, codes: &str, longest| {
            Ok(format!("max_attempts = {attempts}, retry_on = {codes}, {tail}, longest_wait = \"{longest}\""))
        };
        let codes = "[408, 429, 500, 502, 503, 504]";
        assert_eq!(expanded("google-genai", ""), general(1, codes, "60s"));
        assert_eq!(expanded("google-genai", "retry_options = {}"), general(5, codes, "1m"));
        let words = "retry_options = { attempts = 0, http_status_codes = [503], max_delay = \"8s\" }";
        assert_eq!(expanded("google-genai", words), general(1, "[503]", "8s"));
    }
}
