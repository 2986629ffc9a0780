//! The words of an explanation: durations, ranges, counts and lists as a person writes them.

use crate::policy::Timeouts;
use crate::units::SimDuration;

/// A duration for reading: `0.5 s`, `22 min`, `18 h`, or `no bound`.
pub fn duration(time: SimDuration) -> String {
    if time >= SimDuration::MAX {
        return "no bound".into();
    }
    let (value, unit) = in_unit(time, time);
    format!("{value} {unit}")
}

/// The longest time of each phase of an attempt, for reading after "gives each attempt"; `None` without any limit.
pub fn timeouts(timeouts: &Timeouts) -> Option<String> {
    if let Some(all) = timeouts.alike() {
        return Some(duration(all));
    }
    let phases = [
        (timeouts.pool, "for a connection of the pool"),
        (timeouts.connect, "to connect"),
        (timeouts.write, "to write the request"),
        (timeouts.read, "to the first byte and for each gap after it"),
        (timeouts.idle, "for a gap in a stream"),
        (timeouts.idle_at_next_event, "for a gap in a stream, seen at the next event"),
        (timeouts.total, "in all"),
    ];
    let said: Vec<String> =
        phases.iter().filter_map(|(limit, what)| Some(format!("{} {what}", duration((*limit)?)))).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// A range of durations for reading: `10.5 to 12 s`, one value where both ends are equal.
pub fn range(from: SimDuration, to: SimDuration) -> String {
    if from == to {
        return duration(to);
    }
    if to >= SimDuration::MAX {
        return format!("{} and more, without bound", duration(from));
    }
    let ((low, _), (high, unit)) = (in_unit(from, to), in_unit(to, to));
    if low == high { format!("{high} {unit}") } else { format!("{low} to {high} {unit}") }
}

/// `time` as a number in the unit that suits `scale`.
fn in_unit(time: SimDuration, scale: SimDuration) -> (String, &'static str) {
    let seconds = scale.as_secs_f64();
    let (size, unit) = if seconds < 0.1 && seconds > 0.0 {
        (0.001, "ms")
    } else if seconds < 120.0 {
        (1.0, "s")
    } else if seconds < 7_200.0 {
        (60.0, "min")
    } else if seconds < 172_800.0 {
        (3_600.0, "h")
    } else {
        (86_400.0, "days")
    };
    let value = time.as_secs_f64() / size;
    let text = if value < 10.0 && unit == "s" { format!("{value:.3}") } else { format!("{value:.1}") };
    (trimmed(&text), unit)
}

/// A decimal without trailing zeros.
fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number with thousands marked: `3,904`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number, or `without bound`.
pub fn bound(number: Option<u64>) -> String {
    number.map_or_else(|| "without bound".into(), count)
}

/// A number and its noun, in the plural where it is not 1.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", count(number), plural(number, noun))
}

/// The noun, in the plural where the number is not 1.
pub fn plural(number: u64, noun: &str) -> String {
    match (number, noun) {
        (1, _) => noun.to_owned(),
        (_, "try") => "tries".to_owned(),
        _ => format!("{noun}s"),
    }
}

/// A name with its indefinite article.
pub fn article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// `nth` for reading: `1st`, `12th`.
pub fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", count(number))
}

/// A share as whole percent: `53 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share of a limit, as whole percent or as a multiple from ten times on: `53 %`, `100 times the limit`.
pub fn times(share: f64) -> String {
    if share < 9.995 { percent(share) } else { format!("{} times the limit", count(share.round() as u64)) }
}

/// The same with the limit's name: "53 % of `itpm`", "100 times `itpm`".
pub fn part(share: f64, limit: &str) -> String {
    if share < 9.995 {
        format!("{} of `{limit}`", percent(share))
    } else {
        format!("{} times `{limit}`", count(share.round() as u64))
    }
}

/// Who waits with a job that has met a limit, after which statuses; behind the words of its wait.
pub fn held(statuses: &[String]) -> String {
    if statuses.is_empty() { String::new() } else { format!(", after {} the whole queue with it", statuses.join(", ")) }
}

/// `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words {
        [] => "nothing".into(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_read_as_one_duration_or_phase_by_phase() {
        let second = SimDuration::from_secs;
        assert_eq!(timeouts(&Timeouts::NONE), None);
        assert_eq!(timeouts(&Timeouts::each(second(600))).as_deref(), Some("10 min"));
        let phases = Timeouts { connect: Some(second(5)), total: Some(second(30)), ..Timeouts::NONE };
        assert_eq!(timeouts(&phases).as_deref(), Some("5 s to connect, 30 s in all"));
    }

    #[test]
    fn durations_read_as_a_person_writes_them() {
        let seconds = SimDuration::from_secs_f64;
        for (value, text) in [
            (0.0, "0 s"),
            (0.025, "25 ms"),
            (0.25, "0.25 s"),
            (1.125, "1.125 s"),
            (91.125, "91.1 s"),
            (1_320.0, "22 min"),
            (64_800.0, "18 h"),
            (4_294_967.0, "49.7 days"),
        ] {
            assert_eq!(duration(seconds(value)), text);
        }
        assert_eq!(range(seconds(10.5), seconds(12.0)), "10.5 to 12 s");
        assert_eq!(range(seconds(0.75), seconds(1.0)), "0.75 to 1 s");
        assert_eq!(duration(SimDuration::MAX), "no bound");
    }

    #[test]
    fn large_shares_are_multiples() {
        assert_eq!([0.53, 1.17, 100.0].map(times), ["53 %", "117 %", "100 times the limit"]);
        assert_eq!([0.53, 100.2].map(|share| part(share, "rpm")), ["53 % of `rpm`", "100 times `rpm`"]);
    }

    #[test]
    fn counts_ordinals_and_lists_read_well() {
        assert_eq!([1, 999, 1_000, 1_302_000].map(count), ["1", "999", "1,000", "1,302,000"]);
        assert_eq!([1, 2, 3, 11, 12, 21].map(ordinal), ["1st", "2nd", "3rd", "11th", "12th", "21st"]);
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
