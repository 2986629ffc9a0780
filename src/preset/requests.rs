//! requests retries nothing by itself. Its adapter takes a number, which is the `total` of a `Retry` of urllib3 with
//! everything else at its default, so that `max_retries = 3` alone repeats a 503 only where it carries a `retry-after`;
//! or it takes a whole `Retry`, whose words are the same here as there. It reads bodies after the pool has let go of
//! the request, so that an answer cut short is not repeated.

use super::urllib3::{backoff, by_kind, hands_back, hint, repeated, retry_words, urllib3_defaults};
use super::{Family, Source, Spoken, Version, also, as_it_is, http, one_more, urllib3, word};
use crate::document::{Fault, Value};
use crate::policy::Kind;

pub(super) static FAMILY: Family = Family {
    word: "requests",
    about: "the HTTP library of Python, on urllib3",
    kind: Kind::Client,
    versions: &[Version {
        number: "2.34",
        source: Source::Measured("requests 2.34.2"),
        defaults: urllib3_defaults!("1", "[\"connect_timeout\", \"unreachable\", \"read_timeout\", \"drop\"]"),
    }],
    words: retry_words!(
        attempts,
        retry_on,
        word("max_retries", "max_attempts", "the adapter's number: tries after the first one", attempts)
    ),
};

fn attempts(spoken: &Spoken<'_>) -> Option<Value> {
    let Some(number) = spoken.word("max_retries") else { return urllib3::attempts(spoken) };
    if let Some(total) = spoken.word("total") {
        let fault = Fault::new(total.key, "says `total` beside `max_retries`").hint("keep one of them");
        total.faults().add(fault);
        return None;
    }
    one_more(&number)
}

fn retry_on(spoken: &Spoken<'_>) -> Option<Value> {
    repeated(spoken, &["read_timeout", "drop"])
}

#[cfg(test)]
mod tests {
    use crate::document::{Faults, Place, parse};
    use crate::preset::Preset;

    fn expanded(words: &str) -> (String, Vec<String>) {
        let (mut element, faults) = (parse::own(words), Faults::default());
        Preset::find("requests").unwrap().expand(&mut element, Place::TOP, &faults);
        let attempts = element.get("max_attempts").unwrap().node.value.to_string();
        (attempts, faults.into_sorted().0.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn a_number_and_a_whole_retry_say_how_many() {
        for (words, attempts) in [("", "1"), ("max_retries = 3", "4"), ("total = 2", "3"), ("read = 1", "11")] {
            assert_eq!(expanded(words), (attempts.to_owned(), vec![]), "{words}");
        }
        assert_eq!(expanded("total = 2\nmax_retries = 3").1, ["says `total` beside `max_retries`"]);
    }
}
