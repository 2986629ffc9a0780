//! What a retry layer makes of a server's hint: the rule for its length, and the grammar by which its client reads the
//! headers that carry one.

use crate::document::{Fault, Field};
use crate::policy::HintRule;
use crate::policy::header::{HeaderRule, HintGrammar, HintHeader, Take};
use crate::policy::hint::AboveCap;
use crate::units::SimDuration;

/// A rule for server hints: a word or a table of one form.
pub(super) fn rule(field: &Field<'_>) -> Option<HintRule> {
    if field.node.as_table().is_none() {
        let at_least = HintRule::AtLeast { jittered: false };
        return field.word(&[("ignore", HintRule::Ignore), ("obey", HintRule::OBEY), ("at_least", at_least)]);
    }
    let reader = field.table("one rule")?;
    let chosen = reader.only(&["obey", "at_least", "near"]);
    reader.finish();
    match chosen? {
        ("near", field) => near(&field),
        ("at_least", field) => at_least(&field),
        (_, field) => obey(&field),
    }
}

fn obey(field: &Field<'_>) -> Option<HintRule> {
    let reader = field.table("cap, above and jittered")?;
    let words = [
        ("own_backoff", AboveCap::OwnBackoff),
        ("give_up", AboveCap::GiveUp),
        ("clamp", AboveCap::Clamp),
        ("at_once", AboveCap::AtOnce),
    ];
    let cap = reader.or("cap", SimDuration::MAX, Field::positive_duration);
    let above = reader.or("above", AboveCap::Clamp, |field| field.word(&words));
    let jittered = reader.or("jittered", false, Field::truth);
    reader.finish();
    Some(HintRule::Obey { cap: cap?, above: above?, jittered: jittered? })
}

fn at_least(field: &Field<'_>) -> Option<HintRule> {
    let reader = field.table("jittered")?;
    let jittered = reader.or("jittered", false, Field::truth);
    reader.finish();
    Some(HintRule::AtLeast { jittered: jittered? })
}

fn near(field: &Field<'_>) -> Option<HintRule> {
    let reader = field.table("beyond")?;
    let beyond = reader.need("beyond", r#"write how much longer than the own backoff a hint may be, such as "5s""#);
    let beyond = beyond.and_then(|field| field.positive_duration());
    reader.finish();
    Some(HintRule::Near { beyond: beyond? })
}

/// What a client may do with a text.
const TAKES: [(&str, Take); 8] = [
    ("use", Take::Use),
    ("next", Take::Next),
    ("nothing", Take::Nothing),
    ("own_backoff", Take::OwnBackoff),
    ("at_once", Take::AtOnce),
    ("tick", Take::Tick),
    ("never", Take::Never),
    ("fatal", Take::Fatal),
];

/// The headers that a client reads, in this order; an empty list reads none.
pub(super) fn headers(field: &Field<'_>) -> Option<HintGrammar> {
    if field.is_empty_list() {
        return Some(HintGrammar::default());
    }
    let items = field.list("headers", HintHeader::ALL.len())?;
    let rules: Vec<Option<HeaderRule>> = items.iter().map(header_rule).collect();
    let mut seen: Vec<HintHeader> = Vec::new();
    for (item, rule) in items.iter().zip(&rules) {
        let Some(rule) = rule else { continue };
        if seen.contains(&rule.header) {
            let fault = Fault::new(item.place(), "reads a header that an entry before it reads");
            item.faults().add(fault.hint("keep one of them"));
            return None;
        }
        seen.push(rule.header);
    }
    Some(HintGrammar { rules: rules.into_iter().collect::<Option<_>>()? })
}

/// How one header is read: as leniently as makes sense, but for what it says.
fn header_rule(item: &Field<'_>) -> Option<HeaderRule> {
    let reader = item.table("a header and how it is read")?;
    let names = HintHeader::ALL.map(|(header, name)| (name, header));
    let header = reader.need("header", r#"write which one, such as header = "retry-after""#);
    let header = header.and_then(|field| field.word(&names));
    let lenient = HeaderRule::lenient(header.unwrap_or(HintHeader::RetryAfter));
    let take = |key: &'static str, default: Take| reader.or(key, default, |field| field.word(&TAKES));
    // What is no time cannot be waited for.
    let untimely = |key: &'static str, default: Take| reader.or(key, default, |field| field.word(&TAKES[1..]));
    let zero = take("zero", lenient.zero);
    let negative = take("negative", lenient.negative);
    let fraction = take("fraction", lenient.fraction);
    let exponent = take("exponent", lenient.exponent);
    let not_a_number = untimely("not_a_number", lenient.not_a_number);
    let infinite = take("infinite", lenient.infinite);
    let date = take("date", lenient.date);
    let past = take("past", lenient.past);
    let unreadable = untimely("unreadable", lenient.unreadable);
    reader.finish();
    Some(HeaderRule {
        header: header?,
        zero: zero?,
        negative: negative?,
        fraction: fraction?,
        exponent: exponent?,
        not_a_number: not_a_number?,
        infinite: infinite?,
        date: date?,
        past: past?,
        unreadable: unreadable?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::field::read_alone as read;

    #[test]
    fn rules_are_words_or_tables() {
        let obey = |seconds, above, jittered| HintRule::Obey { cap: SimDuration::from_secs(seconds), above, jittered };
        for (value, expected) in [
            ("\"ignore\"", HintRule::Ignore),
            ("\"obey\"", HintRule::OBEY),
            ("\"at_least\"", HintRule::AtLeast { jittered: false }),
            ("{ at_least = { jittered = true } }", HintRule::AtLeast { jittered: true }),
            ("{ obey = { cap = \"60s\", above = \"give_up\", jittered = true } }", obey(60, AboveCap::GiveUp, true)),
            ("{ obey = { cap = \"2147483s\", above = \"at_once\" } }", obey(2_147_483, AboveCap::AtOnce, false)),
            ("{ near = { beyond = \"5s\" } }", HintRule::Near { beyond: SimDuration::from_secs(5) }),
        ] {
            assert_eq!(read(value, rule), Ok(expected), "{value}");
        }
        for (value, message) in [
            ("\"obay\"", "is none of the known words, found \"obay\""),
            ("{ near = {} }", "lacks the key `beyond`"),
            ("{ near = { beyond = \"0s\" } }", "must be longer than zero, found \"0s\""),
            ("{ obey = { above = \"once\" } }", "is none of the known words, found \"once\""),
            ("{ obey = {}, near = { beyond = \"1s\" } }", "says `near` beside `obey`"),
        ] {
            assert_eq!(read(value, rule), Err(message.to_owned()), "{value}");
        }
    }

    #[test]
    fn headers_are_lenient_but_for_what_they_say() {
        let value = r#"[{ header = "retry-after-ms", zero = "next" }, { header = "retry-after", negative = "fatal", fraction = "fatal", exponent = "fatal", not_a_number = "fatal", infinite = "tick", date = "next", past = "at_once", unreadable = "never" }]"#;
        let milliseconds = HeaderRule { zero: Take::Next, ..HeaderRule::lenient(HintHeader::RetryAfterMs) };
        let seconds = HeaderRule {
            negative: Take::Fatal,
            fraction: Take::Fatal,
            exponent: Take::Fatal,
            not_a_number: Take::Fatal,
            infinite: Take::Tick,
            date: Take::Next,
            past: Take::AtOnce,
            unreadable: Take::Never,
            ..HeaderRule::lenient(HintHeader::RetryAfter)
        };
        assert_eq!(read(value, headers), Ok(HintGrammar { rules: vec![milliseconds, seconds] }));
        assert_eq!(read("[]", headers), Ok(HintGrammar { rules: Vec::new() }));
    }

    #[test]
    fn every_header_and_every_take_has_its_word() {
        for (header, name) in HintHeader::ALL {
            let rules = read(&format!("[{{ header = {name:?} }}]"), headers).unwrap().rules;
            assert_eq!(rules, [HeaderRule::lenient(header)]);
        }
        for (word, take) in TAKES {
            let rules = read(&format!("[{{ header = \"retry-after\", date = {word:?} }}]"), headers).unwrap().rules;
            assert_eq!(rules[0].date, take);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (value, message) in [
            ("{ header = \"retry-after\" }", "must be a list of headers, found a table"),
            ("[{ zero = \"next\" }]", "lacks the key `header`"),
            ("[{ header = \"retry-afetr\" }]", "is none of the known words, found \"retry-afetr\""),
            ("[{ header = \"retry-after\", zeros = \"next\" }]", "unknown key"),
            ("[{ header = \"retry-after\", zero = \"wait\" }]", "is none of the known words, found \"wait\""),
            ("[{ header = \"retry-after\", unreadable = \"use\" }]", "is none of the known words, found \"use\""),
            (
                "[{ header = \"retry-after\" }, { header = \"retry-after\" }]",
                "reads a header that an entry before it reads",
            ),
        ] {
            assert_eq!(read(value, headers), Err(message.to_owned()), "{value}");
        }
    }
}
