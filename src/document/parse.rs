//! From text to tree. The parser recovers from a fault and goes on, so that several slips show at once; but after one
//! of them what follows is often an echo, so only the first of each line is kept and none after a bracket or a string
//! that was never closed. Meaning is looked at only where the syntax is clean.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::depth;
use super::fault::{Fault, Faults};
use super::tree::{Node, Place, Table, Text, Value};

/// The longest text that is read, in bytes; whatever is longer is no scenario but data, and data goes into a trace.
pub const LONGEST: usize = 4 << 20;

/// The tree of the file's text; `None` where there are faults of syntax.
pub fn file(source: &str, faults: &Faults) -> Option<Table> {
    whole(source, Text::File, faults)
}

/// The tree of a whole text; `None` where there are faults of syntax.
pub fn whole(source: &str, text: Text, faults: &Faults) -> Option<Table> {
    if source.len() > LONGEST {
        let message = format!("is longer than {} MiB ({LONGEST} bytes), found {} bytes", LONGEST >> 20, source.len());
        faults.add(
            Fault::new(place(0..0, text, 0), message)
                .hint("put long lists of arrivals into a CSV file and name it as `trace`"),
        );
        return None;
    }
    if let Some(fault) = depth::check(source, text) {
        faults.add(fault);
        return None;
    }
    let (root, errors) = DeTable::parse_recoverable(source);
    if errors.is_empty() {
        return Some(table(root.get_ref(), text, 0));
    }
    syntax(source, text, errors, faults);
    None
}

/// The value that a `--set` gives, read as TOML; `None` where it is none and so a bare string.
pub fn value(source: &str, text: Text, offset: usize) -> Option<Node> {
    // A line break would end the value, and what nests deeply is no value that a command line needs.
    if source.contains('\n') || depth::check(source, text).is_some() {
        return None;
    }
    let value = DeValue::parse(source).ok()?;
    Some(node(&value, text, offset))
}

/// A tree of our own text: the defaults of a preset.
///
/// # Panics
/// On a fault of syntax, which a test of the preset shows.
pub fn own(source: &str) -> Table {
    let root = DeTable::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    table(root.get_ref(), Text::File, 0)
}

/// Reports the faults of syntax: sorted, one per line, none after something that was never closed.
fn syntax(source: &str, text: Text, mut errors: Vec<Error>, faults: &Faults) {
    let start = |error: &Error| error.span().map_or(0, |span| span.start);
    errors.sort_by_key(start);
    let open = depth::unclosed(source);
    let (mut counted, mut line, mut reported) = (0, 0_usize, None);
    for error in errors {
        let from = start(&error).min(source.len());
        if open.is_some_and(|open| from >= open) {
            break;
        }
        line += source.get(counted..from).map_or(0, |between| between.matches('\n').count());
        counted = from;
        if reported == Some(line) {
            continue;
        }
        reported = Some(line);
        if faults.is_full() {
            faults.add(Fault::new(place(0..0, text, 0), "bad syntax"));
            continue;
        }
        let to = error.span().map_or(from, |span| span.end).clamp(from, source.len());
        let message = sentence(error.message());
        let fault = Fault::new(Place { text, from, to }, message);
        let hint = remedy(source, from..to, &fault.message);
        faults.add(fault.hint(hint));
    }
    if let Some(from) = open {
        let place = Place { text, from, to: from + 1 };
        faults.add(Fault::new(place, "is never closed").hint("write the closing bracket"));
    }
}

/// The parser's words in the house's form: one line, in lower case.
fn sentence(message: &str) -> String {
    let mut words = message.replace('\n', ", ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    words
}

/// What to do about the faults that people make most.
fn remedy(source: &str, span: Range<usize>, message: &str) -> String {
    const LONGEST_SHOWN: usize = 60;
    let found = source.get(span).filter(|found| found.len() <= LONGEST_SHOWN).unwrap_or_default();
    if message.starts_with("duplicate key") {
        return if found.is_empty() {
            "keep one of the two".to_owned()
        } else {
            format!("`{found}` is there twice; keep one")
        };
    }
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./%µ".contains(c);
    if message.contains("must be quoted") || (message.contains("value") && !found.is_empty() && found.chars().all(bare))
    {
        return format!("texts and numbers with a unit stand in quotes: \"{found}\"");
    }
    let form = if message.contains("string") {
        "a text begins and ends with a quote on the same line; a quote or a backslash inside it follows a backslash"
    } else if message.contains("key") {
        "names are letters, digits, `-` and `_`; others stand in quotes"
    } else {
        "a scenario is TOML: NAME = VALUE on a line of its own, and [NAME] above what belongs to a table"
    };
    form.to_owned()
}

fn place(span: Range<usize>, text: Text, offset: usize) -> Place {
    Place { text, from: span.start + offset, to: span.end + offset }
}

fn table(parsed: &DeTable<'_>, text: Text, offset: usize) -> Table {
    let mut entries: Vec<_> = parsed.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut table = Table::default();
    for (key, value) in entries {
        table.insert(key.get_ref().to_string(), place(key.span(), text, offset), node(value, text, offset));
    }
    table
}

fn node(parsed: &Spanned<DeValue<'_>>, text: Text, offset: usize) -> Node {
    let value = match parsed.get_ref() {
        DeValue::String(string) => Value::String(string.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str();
            i64::from_str_radix(digits, number.radix())
                .map_or_else(|_| Value::Float(digits.parse().unwrap_or(f64::INFINITY)), Value::Integer)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(moment) => Value::Datetime(moment.to_string()),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(item, text, offset)).collect()),
        DeValue::Table(inner) => Value::Table(table(inner, text, offset)),
    };
    Node::written(value, place(parsed.span(), text, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(source: &str) -> Vec<(usize, String)> {
        let faults = Faults::default();
        assert!(file(source, &faults).is_none(), "{source}");
        faults.into_sorted().0.into_iter().map(|fault| (fault.place.from, fault.message)).collect()
    }

    #[test]
    fn keys_and_values_know_their_place() {
        let faults = Faults::default();
        let root = file("z = 1\n[b.c]\nd = \"x\"\na.e = [1, 2]\n", &faults).unwrap();
        assert_eq!(root.names(), ["z", "b"]);
        let c = root.get("b").and_then(|entry| entry.node.as_table()?.get("c")).unwrap();
        assert_eq!((c.key.from, c.key.to), (9, 10));
        let d = c.node.as_table().unwrap().get("d").unwrap();
        assert_eq!((d.key.from, d.node.place.from, d.node.place.to), (12, 16, 19));
    }

    #[test]
    fn several_faults_of_syntax_show_at_once_and_one_per_line() {
        let found = faults_of("a = 22m\nb = = 3\nc = 1\nd = \n");
        let places: Vec<usize> = found.iter().map(|(from, _)| *from).collect();
        assert_eq!(places.len(), 3, "{found:?}");
    }

    #[test]
    fn a_bracket_that_is_never_closed_ends_the_list() {
        assert_eq!(faults_of("a = [1, 2\nb = 3\nc = 4\nd = 5\n").len(), 1);
    }

    #[test]
    fn deep_nesting_and_long_texts_are_refused_before_they_are_parsed() {
        assert_eq!(faults_of(&format!("a = {}{}", "[".repeat(20_000), "]".repeat(20_000))).len(), 1);
        assert_eq!(faults_of(&"a = 1\n".repeat(LONGEST)).len(), 1);
    }

    #[test]
    fn a_number_past_64_bits_stays_a_number() {
        let faults = Faults::default();
        let root = file("a = 99999999999999999999\nb = 1e999\n", &faults).unwrap();
        assert_eq!(root.get("a").unwrap().node.value, Value::Float(1e20));
        assert_eq!(root.get("b").unwrap().node.value, Value::Float(f64::INFINITY));
    }
}
