//! Arrivals from a trace: a CSV file with a header, one column of which holds seconds in ascending order.

use std::borrow::Cow;

use super::arrivals::shifted;
use super::context::Context;
use crate::document::{Field, Reader};
use crate::units::parse::{LONGEST, quoted};
use crate::units::{SimDuration, SimTime};

/// The most rows of a trace.
const MOST_ROWS: usize = 20_000_000;

/// Reads the trace that `trace = …` names.
pub(super) fn read(field: &Field<'_>, reader: &Reader<'_>, context: &Context<'_>) -> Option<Vec<SimTime>> {
    let column_field = reader.get("column");
    let column = column_field.as_ref().map_or(Some("t_s"), Field::text);
    let shift = reader.or("from", SimDuration::ZERO, Field::duration);
    let path = field.text()?;
    let (column, shift) = (column?, shift?);
    let text = match (context.trace)(path) {
        Ok(text) => text,
        Err(why) => {
            return field.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
        }
    };
    match times(&text, column) {
        Ok(times) => within(shifted(times, shift), field, path, context),
        Err(Unreadable::Twice) => column_field
            .as_ref()
            .unwrap_or(field)
            .wrong(format!("`{path}` has two columns {}", quoted(column)), "rename one of them"),
        Err(Unreadable::Column(header)) => column_field
            .as_ref()
            .unwrap_or(field)
            .wrong(format!("`{path}` has no column {}", quoted(column)), format!("its header is {}", quoted(&header))),
        Err(Unreadable::Row(line, why)) => {
            field.wrong(format!("line {line} of `{path}` {why}"), "times are seconds, such as 12.5, in ascending order")
        }
        Err(Unreadable::Empty) => {
            field.wrong(format!("`{path}` has no rows"), "a trace has a header and a row per arrival")
        }
    }
}

/// The times, of which the run sees at least the first: a shorter run may look at the beginning of a long trace.
fn within(times: Vec<SimTime>, field: &Field<'_>, path: &str, context: &Context<'_>) -> Option<Vec<SimTime>> {
    if times.first().is_none_or(|first| *first < context.end()) {
        return Some(times);
    }
    let horizon = context.end() - SimTime::ZERO;
    let message = format!("`{path}` begins when the run is over, at {horizon}");
    field.wrong(message, "shift it with `from`, or lengthen the `horizon`; times are seconds from the start of the run")
}

/// Why a trace cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum Unreadable {
    /// It lacks the column; this is its header.
    Column(String),
    /// It has the column twice.
    Twice,
    /// This line is wrong.
    Row(usize, String),
    /// There is no row.
    Empty,
}

fn times(text: &str, column: &str) -> Result<Vec<SimTime>, Unreadable> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let header = lines.next().unwrap_or_default();
    let names = cells(header).map_err(|why| Unreadable::Row(1, why.to_owned()))?;
    let index = names.iter().position(|cell| cell == column).ok_or_else(|| Unreadable::Column(header.to_owned()))?;
    if names[index + 1..].iter().any(|cell| cell == column) {
        return Err(Unreadable::Twice);
    }
    let mut times: Vec<SimTime> = Vec::new();
    for (i, line) in lines.enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| Unreadable::Row(i + 2, why);
        let cells = cells(line).map_err(|why| wrong(why.to_owned()))?;
        let cell = cells.get(index).ok_or_else(|| wrong("lacks the column".to_owned()))?;
        let seconds = cell.parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST.as_secs_f64()).contains(seconds));
        let at =
            SimTime::from_secs_f64(seconds.ok_or_else(|| wrong(format!("is not a time, found {}", quoted(cell))))?);
        if times.last().is_some_and(|last| *last > at) {
            return Err(wrong("is earlier than the line before it".to_owned()));
        }
        if times.len() == MOST_ROWS {
            return Err(wrong(format!("is past the {MOST_ROWS} rows that are read")));
        }
        times.push(at);
    }
    if times.is_empty() { Err(Unreadable::Empty) } else { Ok(times) }
}

/// The cells of a line. Quotes around a cell are taken off; a comma inside them parts nothing, and two of them stand for
/// one.
fn cells(line: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
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

    #[test]
    fn the_named_column_is_read_in_seconds() {
        let text = "\u{feff}id,t_s,tokens\r\na,0.5,3\r\nb,\"0.5\",3\r\n\r\nc,12,4\r\n";
        let nanos: Vec<u64> = times(text, "t_s").unwrap().into_iter().map(SimTime::as_nanos).collect();
        assert_eq!(nanos, [500_000_000, 500_000_000, 12_000_000_000]);
    }

    #[test]
    fn commas_in_quotes_part_nothing() {
        let text = "name,t_s\n\"a,7,b\",55\n\"say \"\"c, d\"\"\" , \"56\"\nplain, 57\n";
        let nanos: Vec<u64> = times(text, "t_s").unwrap().into_iter().map(SimTime::as_nanos).collect();
        assert_eq!(nanos, [55, 56, 57].map(|s| s * 1_000_000_000));
        let row = |line, why: &str| Err(Unreadable::Row(line, why.to_owned()));
        assert_eq!(times("name,t_s\n\"a,5\n", "t_s"), row(2, "has a quote that is not closed in it"));
        assert_eq!(times("name,t_s\n\"a\"b,5\n", "t_s"), row(2, "has text behind a closing quote"));
        assert_eq!(times("\"t_s,x\n5\n", "t_s"), row(1, "has a quote that is not closed in it"));
        assert_eq!(times("t_s,x,t_s\n5,1,9\n", "t_s"), Err(Unreadable::Twice));
    }

    #[test]
    fn what_cannot_be_used_says_which_line() {
        let row = |line, why: &str| Err(Unreadable::Row(line, why.to_owned()));
        assert_eq!(times("t_s\n1\n0.5\n", "t_s"), row(3, "is earlier than the line before it"));
        assert_eq!(times("t_s\nnan\n", "t_s"), row(2, "is not a time, found \"nan\""));
        assert_eq!(times("t_s\n-1\n", "t_s"), row(2, "is not a time, found \"-1\""));
        assert_eq!(times("a,t_s\n1\n", "t_s"), row(2, "lacks the column"));
        assert_eq!(times("t_s\n", "t_s"), Err(Unreadable::Empty));
        assert_eq!(times("time\n1\n", "t_s"), Err(Unreadable::Column("time".to_owned())));
        assert_eq!(times("", "t_s"), Err(Unreadable::Column(String::new())));
    }
}
