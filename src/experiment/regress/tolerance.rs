//! How far a number may move, from a file. Rules are patterns of `SCENARIO.VARIANT.PATH`, in which `*` stands for
//! anything; each says what it changes, and a later one wins. A pattern that matches nothing is a slip.

use crate::document::{Fault, Faults, Field, Place, Reader, near, parse};
use crate::experiment::compare::narrowest;
use crate::experiment::measure::{Kind, Measure};

/// How often a check of equal policies may call something worse, unless the file says otherwise.
const FALSE_ALARMS: f64 = 0.01;

/// How far a number may move, as a share of what it was, unless the file says otherwise.
const RELATIVE: f64 = 0.02;

/// A number that may be tolerated: its scenario, variant and path with dots between, and what it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `SCENARIO.VARIANT.PATH`.
    pub name: String,
    /// What it counts; `None` where this is not known any more.
    pub kind: Option<Kind>,
}

impl Subject {
    /// A measure of a variant of a scenario.
    pub fn of(stem: &str, variant: &str, measure: &Measure) -> Subject {
        Subject { name: format!("{stem}.{variant}.{}", measure.path()), kind: Some(measure.kind) }
    }
}

/// How far one number may move.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// As a share of what it was.
    pub relative: f64,
    /// As an amount; the larger of the two counts.
    pub absolute: f64,
    /// Whether it is not looked at.
    pub is_ignored: bool,
    /// Whether getting better fails a check too, and so does a number that is neither good nor bad.
    pub is_both: bool,
    /// The last pattern that matched.
    pub rule: Option<String>,
}

impl Tolerance {
    /// How far a number that was `from` may move.
    pub fn allows(&self, from: f64) -> f64 {
        (self.relative * from.abs()).max(self.absolute)
    }
}

/// An amount as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount {
    value: f64,
    /// What it can be of; `None` for a bare number.
    kind: Option<Kind>,
    place: Place,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    pattern: String,
    place: Place,
    relative: Option<f64>,
    absolute: Option<Amount>,
    ignore: Option<bool>,
    both: Option<bool>,
}

/// The rules of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerances {
    /// How often at most a check of equal policies calls something worse, as a share.
    pub false_alarms: f64,
    rules: Vec<Rule>,
}

impl Default for Tolerances {
    fn default() -> Tolerances {
        Tolerances { false_alarms: FALSE_ALARMS, rules: Vec::new() }
    }
}

impl Tolerances {
    /// The rules of a text, held against all numbers that there are; everything that is wrong with it otherwise, and how
    /// many more faults were found.
    pub fn read(text: &str, subjects: &[Subject]) -> Result<Tolerances, (Vec<Fault>, usize)> {
        let faults = Faults::default();
        let read = parse::file(text, &faults).and_then(|root| {
            let reader = Reader::new(&root, Place::TOP, &faults);
            let false_alarms = reader.or("false_alarms", FALSE_ALARMS, level);
            let rules = reader.get("tolerances").and_then(|field| rules(&field));
            let is_there = root.contains("tolerances");
            reader.finish();
            Some(Tolerances { false_alarms: false_alarms?, rules: if is_there { rules? } else { Vec::new() } })
        });
        if let Some(tolerances) = &read {
            tolerances.hold_against(subjects, &faults);
        }
        match read {
            Some(tolerances) if faults.is_empty() => Ok(tolerances),
            _ => Err(faults.into_sorted()),
        }
    }

    /// How far a measure of this name may move.
    pub fn of(&self, name: &str, kind: Kind) -> Tolerance {
        let mut out =
            Tolerance { relative: RELATIVE, absolute: narrowest(kind), is_ignored: false, is_both: false, rule: None };
        for rule in self.rules.iter().filter(|rule| matches(&rule.pattern, name)) {
            out.relative = rule.relative.unwrap_or(out.relative);
            out.absolute = rule.absolute.map_or(out.absolute, |amount| amount.value);
            out.is_ignored = rule.ignore.unwrap_or(out.is_ignored);
            out.is_both = rule.both.unwrap_or(out.is_both);
            out.rule = Some(rule.pattern.clone());
        }
        out
    }

    /// A pattern must match something, and an amount must be of what it matches.
    fn hold_against(&self, subjects: &[Subject], faults: &Faults) {
        for rule in &self.rules {
            let matched: Vec<&Subject> =
                subjects.iter().filter(|subject| matches(&rule.pattern, &subject.name)).collect();
            if matched.is_empty() {
                let fault = Fault::new(rule.place, "matches no number of these scenarios");
                faults.add(fault.hint(nearest(&rule.pattern, subjects)));
            }
            let Some(Amount { kind: Some(kind), place, .. }) = rule.absolute else { continue };
            if let Some(other) = matched.iter().find(|subject| subject.kind.is_some_and(|found| found != kind)) {
                let message = match kind {
                    Kind::Seconds => format!("is a time, but `{}` is none", other.name),
                    Kind::Share | Kind::Count | Kind::Ratio | Kind::Money => {
                        format!("is a share, but `{}` is none", other.name)
                    }
                };
                faults.add(
                    Fault::new(place, message).hint(
                        "narrow the pattern, or write a bare number, which is taken in the unit of what it matches",
                    ),
                );
            }
        }
    }
}

fn level(field: &Field<'_>) -> Option<f64> {
    let share = field.ratio()?;
    if share <= 0.0 || share > 0.2 {
        return field.must("lie above 0 and at most at 20 %", "write a share such as \"1%\"");
    }
    Some(share)
}

fn rules(field: &Field<'_>) -> Option<Vec<Rule>> {
    let Some(table) = field.node.as_table() else {
        return field
            .must("be a table of patterns", "write [tolerances] and below it \"PATTERN\" = { relative = \"5%\" }");
    };
    let rule = |(pattern, entry): (&str, &crate::document::Entry)| {
        let value = Field::new(entry.key, &entry.node, field.faults());
        rule(pattern, &value)
    };
    // All of them are read, so that all faults are found.
    table.in_order().into_iter().map(rule).collect::<Vec<_>>().into_iter().collect()
}

fn rule(pattern: &str, field: &Field<'_>) -> Option<Rule> {
    if field.node.as_table().is_none() {
        return field.must("be a table", "write { relative = \"5%\" }, { absolute = 3 } or { ignore = true }");
    }
    let reader = field.table("keys")?;
    let relative = reader.maybe("relative", share);
    let absolute = reader.maybe("absolute", amount);
    let ignore = reader.maybe("ignore", Field::truth);
    let both = reader.maybe("direction", |field| field.word(&[("worse", false), ("both", true)]));
    let (place, is_empty) = (field.key, field.node.as_table().is_some_and(crate::document::Table::is_empty));
    if is_empty {
        let fault = Fault::new(place, "changes nothing");
        field.faults().add(fault.hint("give relative, absolute, ignore or direction"));
    }
    reader.finish();
    Some(Rule {
        pattern: pattern.to_owned(),
        place,
        relative: relative?,
        absolute: absolute?,
        ignore: ignore?,
        both: both?,
    })
}

/// A share that may exceed 1: a number may be let triple.
fn share(field: &Field<'_>) -> Option<f64> {
    const HINT: &str = "write a share such as \"5%\" or 0.05";
    let share = match field.node.as_str() {
        None => field.number(0.0..=1_000.0)?,
        Some(text) => match text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()) {
            Some(percent) => percent / 100.0,
            None => return field.must("be a share", HINT),
        },
    };
    if (0.0..=1_000.0).contains(&share) { Some(share) } else { field.must("be a share from 0 to 1000", HINT) }
}

/// A bare number, a share such as `"1%"` or a time such as `"30s"`.
fn amount(field: &Field<'_>) -> Option<Amount> {
    let place = field.place();
    match field.node.as_str() {
        None => Some(Amount { value: field.number(0.0..=1e15)?, kind: None, place }),
        Some(text) if text.trim_end().ends_with('%') => {
            Some(Amount { value: field.ratio()?, kind: Some(Kind::Share), place })
        }
        Some(_) => Some(Amount { value: field.duration()?.as_secs_f64(), kind: Some(Kind::Seconds), place }),
    }
}

/// Whether a pattern, in which `*` stands for any letters, is the whole of a name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// What was probably meant: the first word of the pattern that no name has, and the nearest one that some name has.
fn nearest(pattern: &str, subjects: &[Subject]) -> String {
    let mut known: Vec<&str> = subjects.iter().flat_map(|subject| subject.name.split('.')).collect();
    known.sort_unstable();
    known.dedup();
    let words = pattern.split(['.', '*']).filter(|word| !word.is_empty());
    for word in words.filter(|word| !known.contains(word)) {
        if let Some(best) = near::nearest(word, known.iter().copied()) {
            return format!("no number has `{word}` in its name; did you mean `{best}`?");
        }
    }
    let example = subjects.first().map_or("report_storm.before.classes.report.requests", |subject| &subject.name);
    format!("names are SCENARIO.VARIANT.PATH, such as `{example}`, and `*` stands for any letters")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects() -> Vec<Subject> {
        let of = |name: &str, kind| Subject { name: name.to_owned(), kind: Some(kind) };
        vec![
            of("storm.before.classes.report.requests", Kind::Count),
            of("storm.before.phases.overload.classes.report.amplification", Kind::Ratio),
            of("storm.before.classes.live.tasks_with_429_share", Kind::Share),
            of("storm.before.recovery.total_s", Kind::Seconds),
        ]
    }

    #[test]
    fn a_star_stands_for_anything_and_the_rest_for_itself() {
        let name = "storm.before.phases.overload.classes.report.amplification";
        for pattern in ["*", name, "*.classes.*.amplification", "storm.*", "*overload*", "storm.*.*.amplification"] {
            assert!(matches(pattern, name), "{pattern}");
        }
        for pattern in ["", "storm", "*.amplificatio", "*.classes.live.*", "*.amplification.*", "storm*storm"] {
            assert!(!matches(pattern, name), "{pattern}");
        }
        // The last part may not reach back into what the one before has taken.
        assert!(!matches("*ab*ba", "aba") && matches("*ab*ba", "abba"));
    }

    #[test]
    fn later_rules_win_key_by_key() {
        let text = "false_alarms = \"2%\"\n[tolerances]\n\"*\" = { relative = \"5%\", absolute = 0 }\n\
            \"*.recovery.*\" = { absolute = \"30s\" }\n\"*429*\" = { absolute = \"1%\", direction = \"both\" }\n\
            \"*.requests\" = { ignore = true }\n";
        let read = Tolerances::read(text, &subjects()).unwrap();
        assert_eq!(read.false_alarms, 0.02);
        let of = |name: &str, kind| read.of(name, kind);
        let recovery = of("storm.before.recovery.total_s", Kind::Seconds);
        assert_eq!((recovery.relative, recovery.absolute, recovery.is_both), (0.05, 30.0, false));
        assert_eq!((recovery.allows(100.0), recovery.allows(1_000.0)), (30.0, 50.0));
        let share = of("storm.before.classes.live.tasks_with_429_share", Kind::Share);
        assert_eq!((share.absolute, share.is_both, share.rule.as_deref()), (0.01, true, Some("*429*")));
        assert!(of("storm.before.classes.report.requests", Kind::Count).is_ignored);
        let default = Tolerances::default().of("x", Kind::Count);
        assert_eq!((default.relative, default.absolute, default.rule), (0.02, 0.5, None));
    }

    #[test]
    fn every_slip_is_found_at_once_with_its_remedy() {
        let text = "false_alarm = 0.01\n[tolerances]\n\"*.amplificaton\" = { relative = \"5%\" }\n\
            \"*.requests\" = { relativ = 3 }\n\"*.report.*\" = { absolute = \"30s\" }\n\"*\" = 3\n\
            \"storm.*\" = { relative = \"much\", direction = \"up\" }\n";
        let (faults, left_out) = Tolerances::read(text, &subjects()).unwrap_err();
        let said: Vec<String> =
            faults.iter().map(|fault| format!("{} | {}", fault.message, fault.hint.as_deref().unwrap_or(""))).collect();
        assert_eq!(left_out, 0);
        let expected = [
            "unknown key | did you mean `false_alarms`?",
            "unknown key | did you mean `relative`?",
            "must be a table, found 3 | write { relative = \"5%\" }, { absolute = 3 } or { ignore = true }",
            "must be a share, found \"much\" | write a share such as \"5%\" or 0.05",
            "is none of the known words, found \"up\" | write one of `worse`, `both`",
        ];
        assert_eq!(said, expected);
        let text =
            "[tolerances]\n\"*.amplificaton\" = { relative = \"5%\" }\n\"*.report.*\" = { absolute = \"30s\" }\n";
        let (faults, _) = Tolerances::read(text, &subjects()).unwrap_err();
        assert_eq!(faults[0].message, "matches no number of these scenarios");
        assert_eq!(
            faults[0].hint.as_deref(),
            Some("no number has `amplificaton` in its name; did you mean `amplification`?")
        );
        assert_eq!(faults[1].message, "is a time, but `storm.before.classes.report.requests` is none");
    }
}
