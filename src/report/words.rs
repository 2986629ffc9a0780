//! Names in a sentence: numbers up to twelve in letters, plurals of the names that a scenario gives to its classes.

use crate::policy::answer::{Answer, Outcome};
use crate::traffic::TrafficClass;

use super::quantity::count;

const SMALL: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// A whole number as running text writes it: in letters up to twelve, in digits above.
pub fn spelled(value: f64) -> String {
    SMALL
        .iter()
        .enumerate()
        .find(|(n, _)| value == *n as f64)
        .map_or_else(|| count(value), |(_, word)| (*word).to_owned())
}

/// The plural of a class's name, by the rules of English that cover nearly all of them.
pub fn plural(name: &str) -> String {
    // A name of one letter is not a word.
    if name.chars().count() < 2 {
        return format!("{name}s");
    }
    let vowel_before_y = || name.chars().rev().nth(1).is_some_and(|c| "aeiou".contains(c));
    if name.ends_with('y') && !vowel_before_y() {
        format!("{}ies", &name[..name.len() - 1])
    } else if ["ch", "sh", "x", "z", "ss"].iter().any(|ending| name.ends_with(ending)) {
        format!("{name}es")
    } else if name.ends_with('s') {
        name.to_owned()
    } else {
        format!("{name}s")
    }
}

/// "420 requests", "1 request": a number that is already written, with its noun.
pub fn requests(number: &str) -> String {
    format!("{number} {}", if number == "1" { "request" } else { "requests" })
}

/// A name of the scenario as running text writes it: `nightly_batch` reads "nightly batch".
pub fn readable(name: &str) -> String {
    name.replace('_', " ")
}

/// One task of the class, such as "report" or "live turn".
pub fn task(class: &TrafficClass) -> String {
    let name = readable(&class.name);
    if class.is_live() && !name.ends_with("turn") { format!("{name} turn") } else { name }
}

/// Tasks of the class, such as "reports" or "live turns".
pub fn tasks(class: &TrafficClass) -> String {
    plural(&task(class))
}

/// So many tasks of the class, in digits: "1 report", "140 reports".
pub fn counted(value: f64, class: &TrafficClass) -> String {
    format!("{} {}", count(value), if value == 1.0 { task(class) } else { tasks(class) })
}

/// An answer in a word or two: its status, or what came instead of one.
pub fn answered(answer: &Answer) -> String {
    if matches!(answer.outcome, Outcome::Delivered | Outcome::Refused) {
        answer.status.to_string()
    } else if answer.outcome == Outcome::TimedOut {
        "timeout".to_owned()
    } else {
        readable(answer.outcome.word())
    }
}

/// The sentence with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The items with commas and an "and" before the last.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_small_rule() {
        for (one, many) in [
            ("report", "reports"),
            ("batch", "batches"),
            ("query", "queries"),
            ("replay", "replays"),
            ("digest", "digests"),
            ("mailbox", "mailboxes"),
            ("jobs", "jobs"),
            ("y", "ys"),
        ] {
            assert_eq!(plural(one), many);
        }
    }

    #[test]
    fn small_numbers_are_spelled_and_large_ones_are_not() {
        assert_eq!([0.0, 3.0, 12.0, 13.0, 1_302.0].map(spelled), ["no", "three", "twelve", "13", "1,302"]);
    }
}
