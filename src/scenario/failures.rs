//! Lists of failures: HTTP statuses, classes and ranges of them, and the kinds of failure that carry no status.

use crate::document::Field;
use crate::policy::{Outcome, OutcomeSet, StatusSet};

/// Which failures a list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    /// Statuses from 400 to 599.
    pub(super) statuses: StatusSet,
    /// Failures without a status.
    pub(super) outcomes: OutcomeSet,
}

const REMEDY: &str =
    r#"write statuses from 400 to 599, "4xx", "5xx", "500..599", "timeout", "connection" or "short_circuited""#;

/// The failures that a list names.
pub(super) fn failures(field: &Field<'_>) -> Option<Failures> {
    let items = field.list("failures", 600)?;
    let read: Vec<Option<Failures>> = items.iter().map(|item| add(Failures::default(), item)).collect();
    read.into_iter().try_fold(Failures::default(), |all, one| {
        let one = one?;
        let mut statuses = all.statuses;
        one.statuses.iter().for_each(|status| statuses = statuses.with(status));
        Some(Failures { statuses, outcomes: all.outcomes.and(one.outcomes) })
    })
}

fn add(mut failures: Failures, item: &Field<'_>) -> Option<Failures> {
    let Some(word) = item.node.as_str() else {
        failures.statuses = failures.statuses.with(item.whole(400..=599)? as u16);
        return Some(failures);
    };
    match word {
        "timeout" => failures.outcomes = failures.outcomes.and(OutcomeSet::TIMEOUTS),
        "connection" => failures.outcomes = failures.outcomes.and(OutcomeSet::CONNECTION),
        "4xx" => failures.statuses = failures.statuses.with_range(400, 499),
        "5xx" => failures.statuses = failures.statuses.with_range(500, 599),
        word if named_outcome(word).is_some() => {
            failures.outcomes = named_outcome(word).map_or(failures.outcomes, |one| failures.outcomes.with(one));
        }
        range => {
            let Some((low, high)) = bounds(range) else {
                return item.wrong(format!("names no failure, found {}", item.found()), REMEDY);
            };
            if low > high {
                return item.wrong("ends below its beginning", format!("write \"{high}..{low}\""));
            }
            failures.statuses = failures.statuses.with_range(low, high);
        }
    }
    Some(failures)
}

/// The failure without a status that has this word.
fn named_outcome(word: &str) -> Option<Outcome> {
    let named = Outcome::ALL.iter().find(|(_, name)| *name == word).map(|(outcome, _)| *outcome)?;
    OutcomeSet::FAILURES.contains(named).then_some(named)
}

/// The bounds of `500..599` or `500..=599`, both included, or of a single status.
fn bounds(range: &str) -> Option<(u16, u16)> {
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (400..=599).contains(status));
    match range.split_once("..") {
        Some((low, high)) => Some((status(low)?, status(high.strip_prefix('=').unwrap_or(high))?)),
        None => status(range).map(|status| (status, status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Faults, parse};

    fn read(value: &str) -> Result<Failures, String> {
        let faults = Faults::default();
        let root = parse::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        let read = failures(&Field::new(entry.key, &entry.node, &faults));
        faults.into_sorted().0.pop().map_or_else(|| Ok(read.unwrap()), |fault| Err(fault.message))
    }

    #[test]
    fn statuses_classes_ranges_and_kinds_add_up() {
        let all = read(r#"[408, "429", "5xx", "410..412", "timeout", "connection"]"#).unwrap();
        let expected = StatusSet::EMPTY.with(408).with(429).with_range(410, 412).with_range(500, 599);
        let outcomes = OutcomeSet::TIMEOUTS.and(OutcomeSet::CONNECTION);
        assert_eq!(all, Failures { statuses: expected, outcomes });
        let single = read(r#"["silence", "short_circuited"]"#).unwrap().outcomes;
        assert_eq!(single, OutcomeSet::EMPTY.with(Outcome::Silent).with(Outcome::ShortCircuited));
    }

    #[test]
    fn what_names_no_failure_is_refused() {
        for (value, message) in [
            ("[]", "is empty"),
            ("[200]", "must be at least 400, found 200"),
            ("[600]", "must be at most 599, found 600"),
            ("[\"6xx\"]", "names no failure, found \"6xx\""),
            ("[\"599..500\"]", "ends below its beginning"),
            ("[\"timeouts\"]", "names no failure, found \"timeouts\""),
            ("429", "must be a list of failures, found 429"),
        ] {
            assert_eq!(read(value), Err(message.to_owned()), "{value}");
        }
    }
}
