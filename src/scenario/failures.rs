//! Lists of failures: HTTP statuses, classes and ranges of them, and the kinds of failure that carry no status.

use crate::document::Field;
use crate::policy::StatusSet;

/// Which failures a list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    /// Statuses from 400 to 599.
    pub(super) statuses: StatusSet,
    /// Whether a timeout is one.
    pub(super) timeouts: bool,
    /// Whether a dropped connection is.
    pub(super) drops: bool,
    /// Whether a refusal by an open breaker is.
    pub(super) short_circuited: bool,
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
        Some(Failures {
            statuses,
            timeouts: all.timeouts || one.timeouts,
            drops: all.drops || one.drops,
            short_circuited: all.short_circuited || one.short_circuited,
        })
    })
}

fn add(mut failures: Failures, item: &Field<'_>) -> Option<Failures> {
    let Some(word) = item.node.as_str() else {
        failures.statuses = failures.statuses.with(item.whole(400..=599)? as u16);
        return Some(failures);
    };
    match word {
        "timeout" => failures.timeouts = true,
        "connection" => failures.drops = true,
        "short_circuited" => failures.short_circuited = true,
        "4xx" => failures.statuses = failures.statuses.with_range(400, 499),
        "5xx" => failures.statuses = failures.statuses.with_range(500, 599),
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
        assert_eq!(all, Failures { statuses: expected, timeouts: true, drops: true, short_circuited: false });
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
