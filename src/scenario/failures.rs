//! Which failures are meant: HTTP statuses, classes and ranges of them, the kinds of failure that carry no status, and,
//! where a layer says what it repeats, the codes of error bodies.

use crate::document::{Fault, Field, Reader, near};
use crate::policy::permanent::PERMANENT;
use crate::policy::{Classification, Code, Outcome, OutcomeSet, StatusSet};

/// Which failures a list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    /// Statuses from 400 to 599.
    pub(super) statuses: StatusSet,
    /// Failures without a status.
    pub(super) outcomes: OutcomeSet,
}

/// The most codes of one list.
const MOST_CODES: usize = 64;

/// The longest code, in bytes: an error body's word, not its text.
const LONGEST_CODE: usize = 128;

const REMEDY: &str =
    r#"write statuses from 400 to 599, "4xx", "5xx", "500..599", "timeout", "connection" or "short_circuited""#;

/// The failures that a list names.
pub(super) fn failures(field: &Field<'_>) -> Option<Failures> {
    let items = field.list("failures", 600)?;
    let read: Vec<Option<Failures>> = items.iter().map(|item| add(Failures::default(), item)).collect();
    read.into_iter().try_fold(Failures::default(), |all, one| {
        let one = one?;
        Some(Failures { statuses: all.statuses.and(one.statuses), outcomes: all.outcomes.and(one.outcomes) })
    })
}

/// What is repeated: `"any"`, `"none"`, a list of failures, or a table of them with codes.
pub(super) fn classification(field: &Field<'_>) -> Option<Classification> {
    if field.node.as_table().is_some() {
        return table(field);
    }
    match field.node.as_str() {
        Some("any") => Some(Classification::ANY),
        Some("none") => Some(Classification::default()),
        Some(_) => {
            field.must(r#"be "any", "none" or a list of failures"#, r#"write "any" or a list such as [429, "5xx"]"#)
        }
        None => failures(field).map(|named| Classification {
            statuses: named.statuses,
            outcomes: named.outcomes,
            ..Classification::default()
        }),
    }
}

/// What every entry of a list by kinds of failure needs.
const ON: &str = r#"write the failures that it is for, such as on = [429, "timeout"]"#;

/// Entries that each say `on` which failures they are for and what `read` finds beside it; an empty list has none.
pub(super) fn by_kind<'a, T>(
    field: &Field<'a>,
    what: &str,
    most: usize,
    read: impl Fn(&Reader<'a>) -> Option<T>,
) -> Option<Vec<(Classification, T)>> {
    if field.is_empty_list() {
        return Some(Vec::new());
    }
    let entry = |item: &Field<'a>| {
        let reader = item.table("`on` and what happens then")?;
        let on = reader.need("on", ON).and_then(|field| classification(&field));
        let then = read(&reader);
        reader.finish();
        Some((on?, then?))
    };
    let entries: Vec<Option<_>> = field.list(what, most)?.iter().map(entry).collect();
    entries.into_iter().collect()
}

fn table(field: &Field<'_>) -> Option<Classification> {
    const NAMING: [&str; 3] = ["failures", "with_hint", "codes"];
    let before = field.faults().len();
    let reader = field.table("failures")?;
    let any = reader.or("any", false, |field| {
        if field.truth()? { Some(true) } else { field.must("be true", "leave it out and list the `failures`") }
    });
    let named = reader.or("failures", Failures::default(), failures);
    let with_hint = reader.or("with_hint", StatusSet::EMPTY, |field| only_statuses(field, named));
    let codes = reader.or("codes", Vec::new(), codes);
    let never = reader.or("never", Vec::new(), self::codes);
    for key in NAMING.into_iter().filter(|_| any == Some(true)) {
        if let Some(field) = reader.get(key) {
            reader.faults().add(Fault::new(field.key, format!("says `{key}` beside `any`")).hint("keep one of them"));
        }
    }
    let names_some = any == Some(true) || NAMING.iter().any(|key| reader.get(key).is_some());
    if let (Some(field), Some(codes), Some(never)) = (reader.get("never"), &codes, &never)
        && let Some(both) = never.iter().find(|code| codes.contains(code))
    {
        let message = format!("{} is among `codes` too", crate::units::parse::quoted(both));
        reader.faults().add(Fault::new(field.place(), message).hint("keep it in one of them"));
    }
    reader.finish();
    if field.faults().len() > before {
        return None;
    }
    if !names_some {
        return field.wrong("names no failure", "give it `failures`, `with_hint`, `codes`, or any = true");
    }
    let all = |codes: Option<Vec<&str>>| Some(codes?.into_iter().map(Code::named).collect::<Vec<_>>());
    let (named, statuses_with_hint, codes, never) = (named?, with_hint?, all(codes)?, all(never)?);
    if any? {
        return Some(Classification { never, ..Classification::ANY });
    }
    let Failures { statuses, outcomes } = named;
    Some(Classification { statuses, statuses_with_hint, outcomes, codes, never, obeys_should_retry: false })
}

/// A list of statuses that count only with a hint: nothing else carries one, and no status counts in both ways.
fn only_statuses(field: &Field<'_>, always: Option<Failures>) -> Option<StatusSet> {
    let statuses = statuses(field)?;
    let always = always.unwrap_or_default().statuses;
    if let Some(both) = statuses.iter().find(|status| always.contains(*status)) {
        return field.wrong(format!("{both} is among `failures`, with a hint or without"), "keep it in one of them");
    }
    Some(statuses)
}

/// A list of statuses, which may be empty.
pub(super) fn any_statuses(field: &Field<'_>) -> Option<StatusSet> {
    if field.is_empty_list() { Some(StatusSet::EMPTY) } else { statuses(field) }
}

/// A list of statuses.
pub(super) fn statuses(field: &Field<'_>) -> Option<StatusSet> {
    let Failures { statuses, outcomes } = failures(field)?;
    if outcomes.is_empty() {
        return Some(statuses);
    }
    field.wrong("names failures that have no status", "list statuses here, such as [413, 429, 503]")
}

fn codes<'a>(field: &Field<'a>) -> Option<Vec<&'a str>> {
    let items = field.list("codes", MOST_CODES)?;
    let group = |item: &Field<'a>| match item.node.as_str() {
        Some(GROUP) => Some(PERMANENT.map(|(code, _)| code).to_vec()),
        Some(_) | None => code(item).map(|code| vec![code]),
    };
    let read: Vec<Option<Vec<&str>>> = items.iter().map(group).collect();
    Some(read.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

/// The word that stands for all of [`PERMANENT`].
const GROUP: &str = "permanent";

/// The code of an error's body.
pub(super) fn code<'a>(field: &Field<'a>) -> Option<&'a str> {
    let text = field.text()?;
    let fits = text.len() <= LONGEST_CODE && text.chars().all(|c| !c.is_control()) && text.trim() == text;
    if text == GROUP {
        return field
            .wrong("stands for all well-known permanent codes", "write one of them, such as \"insufficient_quota\"");
    }
    if text.is_empty() || !fits {
        let remedy = r#"write the word of the error's body, such as "enforced_spend_limit_reached""#;
        return field.must("be the code of an error", remedy);
    }
    Some(text)
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
                return item.wrong(format!("names no failure, found {}", item.found()), remedy(range));
            };
            if low > high {
                return item.wrong("ends below its beginning", format!("write \"{high}..{low}\""));
            }
            failures.statuses = failures.statuses.with_range(low, high);
        }
    }
    Some(failures)
}

/// The words of failures without a status.
fn words() -> impl Iterator<Item = &'static str> {
    let single = Outcome::ALL.into_iter().filter(|(outcome, _)| OutcomeSet::FAILURES.contains(*outcome));
    ["timeout", "connection"].into_iter().chain(single.map(|(_, word)| word))
}

fn remedy(found: &str) -> String {
    if found == GROUP {
        return r#"it stands for codes: write { any = true, never = ["permanent"] }, or { codes = ["permanent"] }"#
            .into();
    }
    match near::nearest(found, words()) {
        Some(best) => format!("{REMEDY}; did you mean `{best}`?"),
        None => REMEDY.to_owned(),
    }
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

    fn convert<T: Clone>(value: &str, convert: impl Fn(&Field<'_>) -> Option<T>) -> Result<T, Fault> {
        let faults = Faults::default();
        let root = parse::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        let read = convert(&Field::new(entry.key, &entry.node, &faults));
        faults.into_sorted().0.pop().map_or_else(|| Ok(read.unwrap()), Err)
    }

    fn read(value: &str) -> Result<Failures, String> {
        convert(value, failures).map_err(|fault| fault.message)
    }

    fn classified(value: &str) -> Result<Classification, String> {
        convert(value, classification).map_err(|fault| fault.message)
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
            ("[\"permanent\"]", "names no failure, found \"permanent\""),
            ("429", "must be a list of failures, found 429"),
        ] {
            assert_eq!(read(value), Err(message.to_owned()), "{value}");
        }
    }

    #[test]
    fn every_failure_has_a_word() {
        let all: Vec<String> = words().map(|word| format!("{word:?}")).collect();
        let named = read(&format!("[{}]", all.join(", "))).unwrap();
        assert_eq!((named.outcomes, named.statuses), (OutcomeSet::FAILURES, StatusSet::EMPTY));
        for word in ["ok", "refused"] {
            assert!(read(&format!("[{word:?}]")).is_err(), "{word} is no failure without a status");
        }
    }

    #[test]
    fn a_slip_of_a_word_names_the_near_one() {
        let hint = |word: &str| convert(&format!("[{word:?}]"), failures).unwrap_err().hint.unwrap();
        assert!(hint("timeouts").ends_with("did you mean `timeout`?"));
        assert!(hint("stream_fail").ends_with("did you mean `stream_failed`?"));
        assert!(!hint("6xx").contains("did you mean"));
    }

    #[test]
    fn a_table_adds_hints_and_codes() {
        let named = [Code::named("ThrottlingException")].to_vec();
        let table = r#"{ failures = ["5xx", "timeout"], with_hint = [413, 429], codes = ["ThrottlingException"], never = ["spent"] }"#;
        let expected = Classification {
            statuses: StatusSet::EMPTY.with_range(500, 599),
            statuses_with_hint: StatusSet::EMPTY.with(413).with(429),
            outcomes: OutcomeSet::TIMEOUTS,
            codes: named,
            never: vec![Code::named("spent")],
            obeys_should_retry: false,
        };
        assert_eq!(classified(table), Ok(expected));
        let all_but = Classification { never: vec![Code::named("spent")], ..Classification::ANY };
        assert_eq!(classified(r#"{ any = true, never = ["spent"] }"#), Ok(all_but));
        assert_eq!(classified(r#""any""#), Ok(Classification::ANY));
        assert_eq!(classified("[429]").unwrap().statuses, StatusSet::EMPTY.with(429));
    }

    #[test]
    fn one_word_stands_for_all_permanent_codes() {
        let all = PERMANENT.map(|(code, _)| Code::named(code)).to_vec();
        let table = classified(r#"{ any = true, never = ["permanent"] }"#).unwrap();
        assert_eq!(table, Classification { never: all.clone(), ..Classification::ANY });
        let with_own = classified(r#"{ failures = [429], never = ["spent", "permanent"] }"#).unwrap();
        assert_eq!(with_own.never, [&[Code::named("spent")], &all[..]].concat());
        let both = classified(r#"{ codes = ["insufficient_quota"], never = ["permanent"] }"#);
        assert_eq!(both, Err("\"insufficient_quota\" is among `codes` too".to_owned()));
        let answer = convert("\"permanent\"", |field| code(field).map(str::to_owned)).unwrap_err();
        assert_eq!(answer.message, "stands for all well-known permanent codes");
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused() {
        for (value, message) in [
            ("{}", "names no failure"),
            (r#"{ never = ["spent"] }"#, "names no failure"),
            ("{ failure = [429] }", "unknown key"),
            ("{ any = false }", "must be true, found false"),
            ("{ any = true, failures = [429] }", "says `failures` beside `any`"),
            ("{ any = true, codes = [\"x\"] }", "says `codes` beside `any`"),
            ("{ failures = [429], with_hint = [429] }", "429 is among `failures`, with a hint or without"),
            ("{ with_hint = [\"timeout\"] }", "names failures that have no status"),
            ("{ codes = [\"x\"], never = [\"x\"] }", "\"x\" is among `codes` too"),
            ("{ codes = [\"\"] }", "must be the code of an error, found \"\""),
            ("{ codes = [\" x\"] }", "must be the code of an error, found \" x\""),
            ("{ codes = [3] }", "must be a string, found 3"),
            ("{ codes = [] }", "is empty"),
            ("true", "must be a list of failures, found true"),
        ] {
            assert_eq!(classified(value), Err(message.to_owned()), "{value}");
        }
    }
}
