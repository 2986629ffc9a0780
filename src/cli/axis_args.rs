//! `--vary 'PATH=VALUES'`: settings that take one value after another, as a list or as a range.
//!
//! - a list: `PATH=1,2,5`, `PATH=true,false`, `PATH="full","equal"`; a comma inside brackets, braces or quotes belongs
//!   to a value;
//! - a range: `PATH=FROM..TO` with as many values as are easily read, `FROM..TO:N` with N of them, evenly spread, and
//!   `FROM..TO:Nlog` with equal ratios. Both ends carry the unit: `70k..700k:10`, `10%..100%:10`, `1s..10m:8log`;
//! - several settings that move together: `PATH,PATH=…`.

use anyhow::{anyhow, bail};

use super::words::split;
use crate::experiment::Quantity;
use crate::experiment::axis::{Axis, Span, Value};
use crate::units::{SimDuration, parse};

/// The values of a range that does not say how many.
const VALUES: usize = 9;

/// A range of whole numbers up to so many is taken whole.
const WHOLE: usize = 12;

/// The most values of one axis.
const MOST: usize = 1_000;

/// The digits that a computed value keeps: more would be noise in a table.
const DIGITS: i32 = 4;

const FORM: &str = "write 'PATH=1,2,5', 'PATH=70k..700k:10' or 'PATH=1s..10m:8log'";

/// Reads an axis.
pub(super) fn axis(option: &str, text: &str) -> anyhow::Result<Axis> {
    let shown = text.escape_debug();
    let Some((paths, values)) = text.split_once('=') else {
        bail!("`{option}`: has no `=`, found `{shown}`\nhint: {FORM}");
    };
    let paths: Vec<String> = paths.split(',').map(|path| path.trim().to_owned()).collect();
    if paths.iter().any(String::is_empty) {
        bail!("`{option}`: a path is empty, found `{shown}`\nhint: {FORM}");
    }
    let wrong = |why: String| anyhow!("`{option} {}`: {why}", paths.join(","));
    let (quantity, values, span) = match range(values.trim()) {
        Some(range) => spread(&range).map_err(wrong)?,
        None => list(values).map_err(wrong)?,
    };
    if values.len() > MOST {
        return Err(wrong(format!("{} values are too many\nhint: at most {MOST}", values.len())));
    }
    let twice = (1..values.len()).find(|at| values[..*at].iter().any(|earlier| earlier.text == values[*at].text));
    if let Some(at) = twice {
        return Err(wrong(format!("`{}` stands there twice\nhint: name each value once", values[at].text)));
    }
    Ok(Axis { paths, quantity, values, span })
}

/// A value of a file as one of such an axis: as TOML writes it, without the quotes of a word.
pub(super) fn value(quantity: Quantity, text: &str) -> Value {
    let bare = text.trim_matches('"');
    let found = number(bare).filter(|found| common(&[(quantity, 1.0), *found]) == Some(quantity));
    Value { text: bare.to_owned(), number: found.map(|(_, number)| number) }
}

/// A number of this axis as text.
pub(super) fn text_of(quantity: Quantity, number: f64) -> String {
    let number = rounded(number);
    match quantity {
        Quantity::Choice | Quantity::Number => format!("{number}"),
        Quantity::Share => format!("{}%", rounded(100.0 * number)),
        Quantity::Seconds => SimDuration::from_secs_f64(number).to_string(),
        Quantity::Amount => amount(number.round()),
        Quantity::PerSecond if number >= 1.0 => format!("{number}/s"),
        Quantity::PerSecond => format!("{}/min", rounded(60.0 * number)),
    }
}

/// A whole amount with the largest of k, M and G that needs no more than its digits.
fn amount(number: f64) -> String {
    for (size, suffix) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        let scaled = number / size;
        // A thousandth of the unit is still a whole amount.
        if scaled >= 1.0 && (scaled * 1e3).fract() == 0.0 {
            return format!("{scaled}{suffix}");
        }
    }
    format!("{number}")
}

/// A number with so many digits.
fn rounded(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    format!("{number:.*e}", DIGITS as usize - 1).parse().unwrap_or(number)
}

/// A range as it is written.
struct Range<'a> {
    from: &'a str,
    to: &'a str,
    count: Option<&'a str>,
}

fn range(text: &str) -> Option<Range<'_>> {
    if text.contains(['[', '{', '"', '\'']) {
        return None;
    }
    let (from, rest) = text.split_once("..")?;
    let (to, count) = rest.split_once(':').map_or((rest, None), |(to, count)| (to, Some(count.trim())));
    Some(Range { from: from.trim(), to: to.trim(), count })
}

/// What a text is, and its number.
pub(super) fn number(text: &str) -> Option<(Quantity, f64)> {
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return Some((Quantity::Share, parse::quantity(percent).ok()? / 100.0));
    }
    if text.contains('/') {
        return Some((Quantity::PerSecond, parse::rate(text).ok()?));
    }
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((Quantity::Number, number));
    }
    if let Ok(number) = parse::quantity(text) {
        return Some((Quantity::Amount, number));
    }
    parse::duration(text).ok().map(|duration| (Quantity::Seconds, duration.as_secs_f64()))
}

/// The quantity of several numbers; a bare nought has every unit, and an amount may be written out.
fn common(found: &[(Quantity, f64)]) -> Option<Quantity> {
    let mut all = found.iter().filter(|(quantity, number)| *quantity != Quantity::Number || *number != 0.0);
    let first = all.next().map_or(Quantity::Number, |(quantity, _)| *quantity);
    all.try_fold(first, |one, (other, _)| match (one, *other) {
        (one, other) if one == other => Some(one),
        (Quantity::Number, Quantity::Amount) | (Quantity::Amount, Quantity::Number) => Some(Quantity::Amount),
        _ => None,
    })
}

type Values = (Quantity, Vec<Value>, Option<Span>);

fn list(text: &str) -> Result<Values, String> {
    let texts: Vec<String> = split(text);
    if texts.iter().any(String::is_empty) {
        return Err(format!("a value is empty, found `{}`\nhint: {FORM}", text.trim().escape_debug()));
    }
    let found: Option<Vec<(Quantity, f64)>> = texts.iter().map(|text| number(text.trim_matches('"'))).collect();
    let scale = found.and_then(|found| Some((common(&found)?, found)));
    Ok(if let Some((quantity, found)) = scale {
        let value = |(text, (_, number)): (String, (Quantity, f64))| Value { text, number: Some(number) };
        (quantity, texts.into_iter().zip(found).map(value).collect(), None)
    } else {
        let values = texts.into_iter().map(|text| Value { text, number: None });
        (Quantity::Choice, values.collect(), None)
    })
}

fn spread(range: &Range<'_>) -> Result<Values, String> {
    let end =
        |text: &str| number(text).ok_or_else(|| format!("is no number, found `{}`\nhint: {FORM}", text.escape_debug()));
    let (from, to) = (end(range.from)?, end(range.to)?);
    let Some(quantity) = common(&[from, to]) else {
        return Err(format!(
            "the two ends have different units, found `{}` and `{}`\nhint: write both in the same one",
            range.from, range.to
        ));
    };
    let (from, to) = (from.1, to.1);
    if from >= to {
        return Err(format!(
            "the range ends before it begins, found `{}..{}`\nhint: write the smaller number first",
            range.from, range.to
        ));
    }
    let (count, log) = match range.count.map(|count| count.strip_suffix("log").map_or((count, false), |n| (n, true))) {
        None => (None, false),
        Some((count, log)) => {
            let many = count.trim().parse::<usize>().ok().filter(|n| (2..=MOST).contains(n));
            let refusal =
                || format!("`{}` is no number of values\nhint: write 2 to {MOST}, such as :10", count.escape_debug());
            (Some(many.ok_or_else(refusal)?), log)
        }
    };
    if log && from <= 0.0 {
        return Err("equal ratios cannot begin at nought\nhint: begin above it, or leave `log` out".to_owned());
    }
    let whole = quantity == Quantity::Amount
        || quantity == Quantity::Number && [range.from, range.to].iter().all(|text| text.parse::<i64>().is_ok());
    let span = Span { from, to, log, whole };
    let all = (to - from) as usize + 1;
    let count = count.unwrap_or(if quantity == Quantity::Number && whole && all <= WHOLE { all } else { VALUES });
    let mut values: Vec<Value> = Vec::new();
    for index in 0..count {
        let text = text_of(quantity, span.at(index as f64 / (count - 1) as f64));
        // The number that the text says, which is what is run.
        let number = number(&text).map(|(_, number)| number);
        if values.last().is_none_or(|last| last.text != text) {
            values.push(Value { text, number });
        }
    }
    Ok((quantity, values, Some(span)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> (Quantity, Vec<String>) {
        let axis = axis("--vary", text).unwrap_or_else(|error| panic!("{text}: {error}"));
        (axis.quantity, axis.values.into_iter().map(|value| value.text).collect())
    }

    #[test]
    fn lists_and_ranges_give_their_values() {
        let check = |text: &str, quantity: Quantity, expected: &[&str]| {
            assert_eq!(texts(text), (quantity, expected.iter().map(|text| (*text).to_owned()).collect()), "{text}");
        };
        check("a.b=1,2,5", Quantity::Number, &["1", "2", "5"]);
        check("a=true,false", Quantity::Choice, &["true", "false"]);
        check("a=[1, 2],{ x = 1, y = 2 }", Quantity::Choice, &["[1, 2]", "{ x = 1, y = 2 }"]);
        check("a=0..4", Quantity::Number, &["0", "1", "2", "3", "4"]);
        check(
            "a=70k..700k:10",
            Quantity::Amount,
            &["70k", "140k", "210k", "280k", "350k", "420k", "490k", "560k", "630k", "700k"],
        );
        check("a=0..100%:5", Quantity::Share, &["0%", "25%", "50%", "75%", "100%"]);
        check("a=1s..1m40s:3log", Quantity::Seconds, &["1s", "10s", "1m40s"]);
        check("a=0.5..1:3", Quantity::Number, &["0.5", "0.75", "1"]);
        check("a=6/min..30/min:3", Quantity::PerSecond, &["6/min", "18/min", "30/min"]);
        check("a=0,10s,1m", Quantity::Seconds, &["0", "10s", "1m"]);
        // Whole numbers stay whole, each once.
        check("a=1..3:5", Quantity::Number, &["1", "2", "3"]);
    }

    #[test]
    fn settings_move_together() {
        let axis = axis("--vary", "a.x, b.x=1,2").unwrap();
        assert_eq!(axis.sets(&axis.values[1]), ["a.x=2", "b.x=2"]);
    }

    #[test]
    fn what_is_no_axis_is_refused_with_the_remedy() {
        let refusal = |text: &str| format!("{:#}", axis("--vary", text).unwrap_err());
        for (text, expected) in [
            ("a", "`--vary`: has no `=`, found `a`"),
            ("=1,2", "`--vary`: a path is empty, found `=1,2`"),
            ("a=1,,2", "`--vary a`: a value is empty, found `1,,2`"),
            ("a=1,2,1", "`--vary a`: `1` stands there twice"),
            ("a=5..1", "`--vary a`: the range ends before it begins, found `5..1`"),
            ("a=1s..50%", "`--vary a`: the two ends have different units, found `1s` and `50%`"),
            ("a=1..x", "`--vary a`: is no number, found `x`"),
            ("a=1..5:1", "`--vary a`: `1` is no number of values"),
            ("a=0..5:4log", "`--vary a`: equal ratios cannot begin at nought"),
        ] {
            assert!(refusal(text).starts_with(expected), "{}", refusal(text));
            assert!(refusal(text).contains("\nhint: "), "{}", refusal(text));
        }
    }
}
