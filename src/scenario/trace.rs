//! Arrivals from a trace: a CSV file with a header, one column of which holds seconds in ascending order.

use super::arrivals::shifted;
use crate::document::{Field, Reader};
use crate::units::parse::{LONGEST, quoted};
use crate::units::{SimDuration, SimTime};

/// The most rows of a trace.
const MOST_ROWS: usize = 20_000_000;

/// Reads the trace that `trace = …` names.
pub(super) fn read(
    field: &Field<'_>,
    reader: &Reader<'_>,
    file: &dyn Fn(&str) -> Result<String, String>,
) -> Option<Vec<SimTime>> {
    let column_field = reader.get("column");
    let column = column_field.as_ref().map_or(Some("t_s"), Field::text);
    let shift = reader.or("from", SimDuration::ZERO, Field::duration);
    let path = field.text()?;
    let (column, shift) = (column?, shift?);
    let text = match file(path) {
        Ok(text) => text,
        Err(why) => {
            return field.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
        }
    };
    match times(&text, column) {
        Ok(times) => Some(shifted(times, shift)),
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

/// Why a trace cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum Unreadable {
    /// It lacks the column; this is its header.
    Column(String),
    /// This line is wrong.
    Row(usize, String),
    /// There is no row.
    Empty,
}

fn times(text: &str, column: &str) -> Result<Vec<SimTime>, Unreadable> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let header = lines.next().unwrap_or_default();
    let index = cells(header).position(|cell| cell == column).ok_or_else(|| Unreadable::Column(header.to_owned()))?;
    let mut times: Vec<SimTime> = Vec::new();
    for (i, line) in lines.enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| Unreadable::Row(i + 2, why);
        let cell = cells(line).nth(index).ok_or_else(|| wrong("lacks the column".to_owned()))?;
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

/// The cells of a line. Times and the names beside them hold no commas; quotes around a cell are taken off.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| {
        let cell = cell.trim();
        cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
    })
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
