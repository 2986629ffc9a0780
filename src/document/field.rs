//! One value on its way from the tree to its meaning. Each conversion either succeeds or reports at the value's own
//! place what is wrong, with the found value last and with what to write instead.

use std::ops::RangeInclusive;

use super::fault::{Fault, Faults};
use super::near;
use super::reader::Reader;
use super::tree::{Node, Place, Value};
use crate::units::parse::{self, Misread};
use crate::units::{SimDuration, SimTime};

/// A value to be converted.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Where its key was written; of an element of a list, the element itself.
    pub key: Place,
    /// The value.
    pub node: &'a Node,
    faults: &'a Faults,
}

impl<'a> Field<'a> {
    /// A value, the place of its key, and where its faults go.
    pub const fn new(key: Place, node: &'a Node, faults: &'a Faults) -> Self {
        Field { key, node, faults }
    }

    /// Where the faults go.
    pub const fn faults(&self) -> &'a Faults {
        self.faults
    }

    /// Where the value was written.
    pub const fn place(&self) -> Place {
        self.node.place
    }

    /// The value as a message names it.
    pub fn found(&self) -> String {
        match &self.node.value {
            Value::String(text) => parse::quoted(text),
            Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
            Value::Array(_) | Value::Table(_) => self.node.value.kind().to_owned(),
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => self.node.value.to_string(),
        }
    }

    /// Reports that the value is wrong, and is `None`, so that it ends a reading.
    pub fn wrong<T>(&self, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.faults.add(Fault::new(self.node.place, message).hint(hint));
        None
    }

    /// Reports what the value must be, with the found one.
    pub fn must<T>(&self, must: &str, hint: impl Into<String>) -> Option<T> {
        self.wrong(format!("must {must}, found {}", self.found()), hint)
    }

    fn misread<T>(&self, misread: Misread) -> Option<T> {
        self.wrong(misread.message, misread.remedy)
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        match self.node.as_str() {
            Some(text) => Some(text),
            None => self.must("be a string", "write it in quotes"),
        }
    }

    /// True or false.
    pub fn truth(&self) -> Option<bool> {
        let Value::Boolean(truth) = self.node.value else {
            return self.must("be true or false", "write true or false, without quotes");
        };
        Some(truth)
    }

    /// A whole number or a quantity such as `"400k"` within a range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let number = match &self.node.value {
            Value::Integer(number) => i128::from(*number),
            Value::String(text) => match parse::count(text) {
                Ok(number) => i128::from(number),
                Err(misread) => return self.misread(misread),
            },
            // A float that is whole and in range was meant as a whole number, but 2.0 attempts is no number of them.
            Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                return self.must("be a whole number", r#"write a number such as 3 or "400k""#);
            }
        };
        match u64::try_from(number) {
            Ok(number) if range.contains(&number) => Some(number),
            _ => self.outside(number < i128::from(*range.start()), range.start(), range.end()),
        }
    }

    fn outside<T>(&self, below: bool, least: impl std::fmt::Display, most: impl std::fmt::Display) -> Option<T> {
        if below {
            self.must(&format!("be at least {least}"), format!("write a number from {least} to {most}"))
        } else {
            self.must(&format!("be at most {most}"), format!("write a number from {least} to {most}"))
        }
    }

    /// A number within a range.
    pub fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = match &self.node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            Value::String(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                return self.must("be a number", "write it without quotes");
            }
        };
        if range.contains(&number) {
            return Some(number);
        }
        if number.is_nan() {
            return self.must("be a number", format!("write a number from {} to {}", range.start(), range.end()));
        }
        self.outside(number < *range.start(), range.start(), range.end())
    }

    /// A quantity, not necessarily whole, up to `most`.
    pub fn quantity(&self, most: u64) -> Option<f64> {
        let Value::String(text) = &self.node.value else { return self.number(0.0..=most as f64) };
        match parse::quantity(text) {
            Ok(number) if number <= most as f64 => Some(number),
            Ok(_) => self.outside(false, 0, most),
            Err(misread) => self.misread(misread),
        }
    }

    /// A share from 0 to 1: a number, or a text such as `"30%"`.
    pub fn ratio(&self) -> Option<f64> {
        match &self.node.value {
            Value::String(text) => match parse::ratio(text) {
                Ok(share) => Some(share),
                Err(misread) => self.misread(misread),
            },
            Value::Integer(number) => self.share(*number as f64),
            Value::Float(number) => self.share(*number),
            Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                self.must("be a share", r#"write a share such as 0.3 or "30%""#)
            }
        }
    }

    fn share(&self, number: f64) -> Option<f64> {
        if (0.0..=1.0).contains(&number) {
            return Some(number);
        }
        let hint = if number > 1.0 && number <= 100.0 {
            format!("write {} or \"{number}%\"", number / 100.0)
        } else {
            r#"write a share such as 0.3 or "30%""#.to_owned()
        };
        self.must("lie in 0..=1", hint)
    }

    /// A duration.
    pub fn duration(&self) -> Option<SimDuration> {
        match &self.node.value {
            Value::String(text) => match parse::duration(text) {
                Ok(duration) => Some(duration),
                Err(misread) => self.misread(misread),
            },
            Value::Integer(number) => self.must("be a duration with a unit", format!("write \"{}s\"", number.max(&0))),
            Value::Float(number) if number.is_finite() && *number >= 0.0 => {
                self.must("be a duration with a unit", format!("write \"{number}s\""))
            }
            Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                self.must("be a duration", r#"write a number and a unit, such as "250ms", "90s" or "1h30m""#)
            }
        }
    }

    /// A duration longer than zero.
    pub fn positive_duration(&self) -> Option<SimDuration> {
        let duration = self.duration()?;
        if duration.is_zero() {
            return self.must("be longer than zero", r#"write a duration such as "1s""#);
        }
        Some(duration)
    }

    /// An instant, as the time since the run began.
    pub fn instant(&self) -> Option<SimTime> {
        Some(SimTime::ZERO + self.duration()?)
    }

    /// A rate in events per second.
    pub fn rate(&self) -> Option<f64> {
        match &self.node.value {
            Value::String(text) => match parse::rate(text) {
                Ok(rate) => Some(rate),
                Err(misread) => self.misread(misread),
            },
            Value::Integer(number) => self.must("be a rate with a unit", format!("write \"{}/s\"", number.max(&0))),
            Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                self.must("be a rate", r#"write events per time, such as "6.4/min" or "20/s""#)
            }
        }
    }

    /// One of these words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Some(found) = self.node.as_str() else {
            return self.must("be a word", format!("write one of {}", near::listed(&names)));
        };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found) {
            return Some(*meaning);
        }
        self.not_among(&names)
    }

    /// Reports that the text is none of these words.
    pub fn not_among<T>(&self, names: &[&str]) -> Option<T> {
        let listed = near::listed(names);
        let hint = match near::nearest(self.node.as_str().unwrap_or_default(), names.iter().copied()) {
            Some(best) => format!("write one of {listed}; did you mean `{best}`?"),
            None => format!("write one of {listed}"),
        };
        self.wrong(format!("is none of the known words, found {}", self.found()), hint)
    }

    /// Whether it is the word `"none"`, which switches off what a preset limits.
    pub fn is_none(&self) -> bool {
        self.node.as_str() == Some("none")
    }

    /// Whether it is a list without elements, which switches off what a preset lists.
    pub fn is_empty_list(&self) -> bool {
        matches!(&self.node.value, Value::Array(items) if items.is_empty())
    }

    /// The elements of a list of at most `most`; an empty one is a fault.
    pub fn list(&self, what: &str, most: usize) -> Option<Vec<Field<'a>>> {
        let Value::Array(items) = &self.node.value else {
            return self.must(&format!("be a list of {what}"), format!("write [ … ] around the {what}"));
        };
        if items.is_empty() {
            return self.wrong("is empty", format!("list at least one of the {what}"));
        }
        if items.len() > most {
            return self
                .wrong(format!("has more than {most} {what}, found {}", items.len()), format!("list at most {most}"));
        }
        Some(items.iter().map(|item| Field::new(item.place, item, self.faults)).collect())
    }

    /// The two elements of a pair.
    pub fn pair(&self, what: &str) -> Option<(Field<'a>, Field<'a>)> {
        let Some(items) = self.node.as_array() else {
            return self.must("be a list of two", format!("write {what}"));
        };
        let [first, second] = items else {
            return self.wrong(format!("must have two elements, found {}", items.len()), format!("write {what}"));
        };
        Some((Field::new(first.place, first, self.faults), Field::new(second.place, second, self.faults)))
    }

    /// A reader of the table.
    pub fn table(&self, what: &str) -> Option<Reader<'a>> {
        match self.node.as_table() {
            Some(table) => Some(Reader::new(table, self.node.place, self.faults)),
            None => self.must(&format!("be a table of {what}"), "write { key = value, … }"),
        }
    }
}

/// Reads one value that stands alone, or says the last fault in it.
#[cfg(test)]
pub(crate) fn read_alone<T>(value: &str, convert: impl Fn(&Field<'_>) -> Option<T>) -> Result<T, String> {
    let faults = Faults::default();
    let root = super::parse::own(&format!("a = {value}"));
    let entry = root.get("a").unwrap();
    let read = convert(&Field::new(entry.key, &entry.node, &faults));
    faults.into_sorted().0.pop().map_or_else(|| Ok(read.unwrap()), |fault| Err(fault.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse as text;

    /// The message and hint of the only fault that `read` makes of `value`.
    fn fault<T>(value: &str, read: impl Fn(&Field<'_>) -> Option<T>) -> (String, String) {
        let faults = Faults::default();
        let root = text::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        assert!(read(&Field::new(entry.key, &entry.node, &faults)).is_none(), "{value}");
        let fault = faults.into_sorted().0.remove(0);
        (fault.message, fault.hint.unwrap_or_default())
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "the methods are not general over the lifetime")]
    #[test]
    fn every_conversion_says_what_it_wants_and_what_it_found() {
        let is = |message: &str, hint: &str| (message.to_owned(), hint.to_owned());
        assert_eq!(fault("98", |f| f.ratio()), is("must lie in 0..=1, found 98", "write 0.98 or \"98%\""));
        assert_eq!(fault("10", |f| f.duration()), is("must be a duration with a unit, found 10", "write \"10s\""));
        assert_eq!(fault("0", |f| f.whole(1..=9)), is("must be at least 1, found 0", "write a number from 1 to 9"));
        assert_eq!(fault("1e30", |f| f.whole(1..=9)).0, "must be a whole number, found 1e30");
        assert_eq!(fault("nan", |f| f.number(0.0..=1.0)).0, "must be a number, found NaN");
        assert_eq!(fault("inf", |f| f.number(0.0..=1.0)).0, "must be at most 1, found inf");
        assert_eq!(fault("[]", |f| f.list("steps", 9).map(|_| ())), is("is empty", "list at least one of the steps"));
        assert_eq!(fault("\"0s\"", |f| f.positive_duration()).0, "must be longer than zero, found \"0s\"");
        assert_eq!(
            fault("\"ful\"", |f| f.word(&[("none", 0), ("full", 1)])),
            is("is none of the known words, found \"ful\"", "write one of `none`, `full`; did you mean `full`?")
        );
        assert_eq!(fault("3", |f| f.table("words").map(|_| ())).0, "must be a table of words, found 3");
        assert_eq!(fault("3", |f| f.rate()), is("must be a rate with a unit, found 3", "write \"3/s\""));
    }
}
