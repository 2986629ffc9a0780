//! opnieuw, a decorator of Python that asks for a number of calls and a window, and works out the waits: doubling, drawn
//! from zero, so long that without jitter the last call would begin at the end of the window. The window limits
//! nothing by itself: calls that take long push the last one past it.

use super::{Family, Source, Spoken, Version, Word, exponential, text};
use crate::document::{Field, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

pub(super) static FAMILY: Family = Family {
    word: "opnieuw",
    about: "the retrying decorator of Python that spreads its calls over a window",
    kind: Kind::Decorator,
    versions: &[Version {
        number: "4.0",
        source: Source::Measured("opnieuw 4.0.0"),
        // 3 calls in 60 s: 60 s ÷ (2² − 1).
        defaults: "max_attempts = 3\nretry_on = \"any\"\n\
                   backoff = { exponential = { initial = \"20s\", factor = 2.0 } }\njitter = \"full\"\n",
    }],
    words: &[
        Word {
            word: "max_calls_total",
            stands_for: "max_attempts",
            meaning: "tries, the first one included, 3",
            translate: calls,
        },
        Word {
            word: "retry_window_after_first_call_in_seconds",
            stands_for: "max_attempts",
            meaning: "the time over which they are spread (a duration), 60 s",
            translate: calls,
        },
    ],
};

fn calls(spoken: &Spoken<'_>) -> Option<Value> {
    let calls = spoken.or("max_calls_total", 3, |field| field.whole(1..=50));
    let window =
        spoken.or("retry_window_after_first_call_in_seconds", SimDuration::from_secs(60), Field::positive_duration);
    let (calls, window) = (calls?, window?);
    // The waits are u, 2u, 4u, …: together u · (2^retries − 1).
    let units = (1_u64 << (calls - 1)) - 1;
    let unit = SimDuration::from_nanos(window.as_nanos().checked_div(units).unwrap_or(0));
    let backoff = if unit.is_zero() { text("none") } else { exponential(unit, 2.0, None) };
    spoken.also("backoff", backoff);
    Some(Value::Integer(i64::try_from(calls).ok()?))
}

#[cfg(test)]
mod tests {
    use crate::preset::tests::expanded;

    #[test]
    fn the_window_is_shared_out_over_doubling_waits() {
        // opnieuw 4.0.0: 4 calls in 70 s wait up to 10, 20 and 40 s.
        let words = "max_calls_total = 4\nretry_window_after_first_call_in_seconds = \"70s\"";
        let general = "max_attempts = 4, retry_on = \"any\", backoff = { exponential = { initial = \"10s\", factor = \
                       2.0 } }, jitter = \"full\"";
        assert_eq!(expanded("opnieuw", words), Ok(general.to_owned()));
        let once = expanded("opnieuw", "max_calls_total = 1").unwrap();
        assert!(once.starts_with("max_attempts = 1, ") && once.contains("backoff = \"none\""), "{once}");
    }
}
