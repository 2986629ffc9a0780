//! What HTTP clients have in common: they repeat by status and by method. A request that may already have had its effect
//! is not sent again unless the method is idempotent, so that most of them give up on a failed POST at once, and the
//! layer that would protect a caller of a language model does nothing.

use super::{Spoken, list, text};
use crate::document::{Field, Value};
use crate::policy::StatusSet;
use crate::policy::classify::MAX_STATUS;

/// The methods that a request can have.
const METHODS: [&str; 9] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "POST", "PATCH", "CONNECT"];

/// The methods that most clients repeat.
pub(super) const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

/// The most statuses or methods of one list.
const MOST: usize = 200;

/// What the word `method` means.
pub(super) const METHOD: &str = "the method of the requests; without it, GET";

/// Whether the method that is said is among the ones that `allowed` lists, or that are repeated by default; the word
/// `"any"` and an empty list mean all.
pub(super) fn is_repeated(spoken: &Spoken<'_>, allowed: &str, default: &[&'static str]) -> Option<bool> {
    let method = spoken.or("method", "GET", method);
    let all = |field: &Field<'_>| field.node.as_str() == Some("any") || field.is_empty_list();
    let listed = match spoken.word(allowed) {
        None => Some(default.to_vec()),
        Some(field) if all(&field) => Some(METHODS.to_vec()),
        Some(field) => field.list("methods", MOST)?.iter().map(self::method).collect(),
    };
    let method = method?;
    Some(listed?.contains(&method))
}

fn method(field: &Field<'_>) -> Option<&'static str> {
    field.word(&METHODS.map(|method| (method, method)))
}

/// The statuses that a word lists, or the default ones; an empty list is none.
pub(super) fn statuses(spoken: &Spoken<'_>, word: &str, default: &[u16]) -> Option<Vec<u16>> {
    let status = |field: &Field<'_>| field.whole(400..=u64::from(MAX_STATUS)).map(|status| status as u16);
    match spoken.word(word) {
        None => Some(default.to_vec()),
        Some(field) if field.is_empty_list() => Some(Vec::new()),
        Some(field) => field.list("statuses", MOST)?.iter().map(status).collect(),
    }
}

/// A list of statuses and words, of which there is at least one.
pub(super) fn failures(statuses: &[u16], words: &[&str]) -> Value {
    let statuses = statuses.iter().map(|status| Value::Integer(i64::from(*status)));
    list(statuses.chain(words.iter().map(|word| text(word))))
}

/// All failed statuses but these, as ranges.
pub(super) fn all_but(statuses: &[u16]) -> Value {
    let left_out = statuses.iter().fold(StatusSet::EMPTY, |set, status| set.with(*status));
    let (mut ranges, mut from) = (Vec::new(), 400);
    for status in 400..=MAX_STATUS + 1 {
        if status > MAX_STATUS || left_out.contains(status) {
            if from < status {
                ranges.push(text(&format!("{from}..{}", status - 1)));
            }
            from = status + 1;
        }
    }
    list(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_some_statuses_are_ranges() {
        assert_eq!(all_but(&[429, 500, 502]).to_string(), r#"["400..428", "430..499", "501..501", "503..599"]"#);
        assert_eq!(all_but(&[400, 401, 599]).to_string(), r#"["402..598"]"#);
        assert_eq!(all_but(&[]).to_string(), r#"["400..599"]"#);
    }
}
