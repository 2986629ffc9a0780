//! The rows of a trace file, one line at a time: CSV with a header, or a JSON object a line. A file may be large, so that
//! no more of it than a line is held; faults are gathered, the first few of them, each with its line and column.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use crate::units::parse::quoted;

/// The longest line.
const MOST_LINE: u64 = 4 << 20;

/// The most faults of one file that are told.
const MOST_FAULTS: usize = 5;

/// Why a trace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It lacks this column; that is its header.
    Column(String, String),
    /// It has this column twice.
    Twice(String),
    /// This line is wrong, perhaps in this column.
    Row(u64, Option<String>, String),
    /// It ends with an error of the system.
    System(String),
    /// There is no row.
    Empty,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Commas between cells, and a header.
    Csv,
    /// A JSON object a line.
    Jsonl,
}

/// One row on its way to its meaning.
pub(super) enum Row<'a> {
    /// The cells of a line, with the place of each wanted column among them.
    Cells(Vec<Cow<'a, str>>, &'a [usize]),
    /// An object, with the names of the wanted columns.
    Object(Map<String, Value>, &'a [&'a str]),
}

impl Row<'_> {
    /// The text of the wanted column of this number; `None` where the row lacks it.
    pub(super) fn text(&self, column: usize) -> Option<Cow<'_, str>> {
        match self {
            Row::Cells(cells, places) => cells.get(places[column]).map(|cell| Cow::Borrowed(&**cell)),
            Row::Object(object, names) => match object.get(names[column])? {
                Value::String(text) => Some(Cow::Borrowed(text)),
                Value::Null => None,
                other => Some(Cow::Owned(other.to_string())),
            },
        }
    }
}

/// Reads all rows and hands each to `take`, with the number of its line; `take` says what is wrong with it, and in which
/// column. Ends early when more is wrong than is told.
pub(super) fn rows(
    file: &mut dyn BufRead,
    form: Form,
    columns: &[&str],
    mut take: impl FnMut(&Row<'_>) -> Result<(), (Option<usize>, String)>,
) -> Result<(), Vec<Unreadable>> {
    let mut faults = Vec::new();
    let mut places: Option<Vec<usize>> = None;
    let mut bytes = Vec::new();
    let mut number = 0;
    while faults.len() < MOST_FAULTS {
        bytes.clear();
        match file.take(MOST_LINE + 1).read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => number += 1,
            Err(error) => {
                faults.push(Unreadable::System(error.to_string()));
                break;
            }
        }
        if bytes.len() as u64 > MOST_LINE {
            faults.push(Unreadable::Row(number, None, "is longer than 4 MiB".to_owned()));
            break;
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            faults.push(Unreadable::Row(number, None, "is not UTF-8 text".to_owned()));
            continue;
        };
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        let line = line.trim_end_matches(['\n', '\r']);
        if form == Form::Csv && places.is_none() {
            match header(line, columns) {
                Ok(found) => places = Some(found),
                Err(why) => return Err(why),
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let row = match form {
            Form::Csv => {
                cells(line).map(|cells| Row::Cells(cells, places.as_deref().unwrap_or_default())).map_err(str::to_owned)
            }
            Form::Jsonl => object(line).map(|object| Row::Object(object, columns)),
        };
        let done = row.map_err(|why| (None, why)).and_then(|row| take(&row));
        if let Err((column, why)) = done {
            faults.push(Unreadable::Row(number, column.map(|column| columns[column].to_owned()), why));
        }
    }
    if form == Form::Csv && places.is_none() && faults.is_empty() {
        return header("", columns).map(|_| ());
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The places of the columns in a header.
fn header(line: &str, columns: &[&str]) -> Result<Vec<usize>, Vec<Unreadable>> {
    let names = cells(line).map_err(|why| vec![Unreadable::Row(1, None, why.to_owned())])?;
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for column in columns {
        let missing = || Unreadable::Column((*column).to_owned(), shortened(line));
        match names.iter().position(|cell| cell == column) {
            None => faults.push(missing()),
            Some(at) if names[at + 1..].iter().any(|cell| cell == column) => {
                faults.push(Unreadable::Twice((*column).to_owned()));
            }
            Some(at) => places.push(at),
        }
    }
    if faults.is_empty() { Ok(places) } else { Err(faults) }
}

/// A header as a message can show it.
fn shortened(line: &str) -> String {
    const SHOWN: usize = 200;
    if line.chars().count() <= SHOWN { line.to_owned() } else { line.chars().take(SHOWN).chain(['…']).collect() }
}

fn object(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("is no JSON object, found {}", quoted(&shortened(line)))),
        Err(error) => Err(format!("is no JSON: column {}", error.column())),
    }
}

/// The cells of a line. Quotes around a cell are taken off; a comma inside them parts nothing, and two of them stand for
/// one.
pub(super) fn cells(line: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
    if !line.contains('"') {
        return Ok(line.split(',').map(|cell| Cow::Borrowed(cell.trim())).collect());
    }
    let (mut cells, mut rest) = (Vec::new(), line);
    loop {
        let Some(inside) = rest.trim_start().strip_prefix('"') else {
            let (cell, after) = rest.split_once(',').map_or((rest, None), |(cell, after)| (cell, Some(after)));
            cells.push(Cow::Borrowed(cell.trim()));
            let Some(after) = after else { return Ok(cells) };
            rest = after;
            continue;
        };
        let end = closing(inside).ok_or("has a quote that is not closed in it")?;
        cells.push(Cow::Owned(inside[..end].replace("\"\"", "\"").trim().to_owned()));
        let after = inside[end + 1..].trim_start();
        if after.is_empty() {
            return Ok(cells);
        }
        rest = after.strip_prefix(',').ok_or("has text behind a closing quote")?;
    }
}

/// Where the quote is that closes a cell: one that no second one follows.
fn closing(inside: &str) -> Option<usize> {
    let mut quotes = inside.match_indices('"').map(|(at, _)| at).peekable();
    while let Some(at) = quotes.next() {
        if quotes.next_if_eq(&(at + 1)).is_none() {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], form: Form, columns: &[&str]) -> Result<Vec<Vec<String>>, Vec<Unreadable>> {
        let mut all = Vec::new();
        rows(&mut &text[..], form, columns, |row| {
            let texts = (0..columns.len()).map(|column| row.text(column).map(Cow::into_owned));
            let texts: Option<Vec<String>> = texts.collect();
            all.push(texts.ok_or((None, "lacks something".to_owned()))?);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn commas_in_quotes_part_nothing() {
        let text = "\u{feff}name,t_s\r\n\"a,7,b\",55\r\n\r\n\"say \"\"c, d\"\"\" , \"56\"\nplain, 57";
        assert_eq!(
            read(text.as_bytes(), Form::Csv, &["t_s", "name"]).unwrap(),
            [["55", "a,7,b"], ["56", "say \"c, d\""], ["57", "plain"]]
        );
        let row = |line, why: &str| Err(vec![Unreadable::Row(line, None, why.to_owned())]);
        assert_eq!(read(b"name,t_s\n\"a,5\n", Form::Csv, &["t_s"]), row(2, "has a quote that is not closed in it"));
        assert_eq!(read(b"name,t_s\n\"a\"b,5\n", Form::Csv, &["t_s"]), row(2, "has text behind a closing quote"));
        assert_eq!(read(b"\"t_s,x\n5\n", Form::Csv, &["t_s"]), row(1, "has a quote that is not closed in it"));
        assert_eq!(
            read(b"t_s,x,t_s\n5,1,9\n", Form::Csv, &["t_s", "y"]),
            Err(vec![Unreadable::Twice("t_s".to_owned()), Unreadable::Column("y".to_owned(), "t_s,x,t_s".to_owned())])
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_not_without_end() {
        let row = |line, why: &str| Unreadable::Row(line, None, why.to_owned());
        let text = b"{\"a\":1}\n{\"a\":}\n[1]\n\xff\xfe\n{\"b\":2}\n";
        let expected =
            [row(2, "is no JSON: column 6"), row(3, "is no JSON object, found \"[1]\""), row(4, "is not UTF-8 text")];
        assert_eq!(read(text, Form::Jsonl, &["a"]), Err([&expected[..], &[row(5, "lacks something")]].concat()));
        let many = "{}\n".repeat(100);
        assert_eq!(read(many.as_bytes(), Form::Jsonl, &["a"]).unwrap_err().len(), MOST_FAULTS);
        let endless = vec![b'x'; MOST_LINE as usize + 2];
        assert_eq!(read(&endless, Form::Jsonl, &["a"]), Err(vec![row(1, "is longer than 4 MiB")]));
        assert_eq!(read(b"", Form::Jsonl, &["a"]), Ok(Vec::new()));
        assert_eq!(read(b"", Form::Csv, &["a"]), Err(vec![Unreadable::Column("a".to_owned(), String::new())]));
    }
}
