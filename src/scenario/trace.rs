//! Arrivals from a trace: a CSV file with a header, one column of which holds times in ascending order, seconds or dates
//! with times of day. Other columns may hold how large each request is.

use std::borrow::Cow;

use super::arrivals::shifted;
use super::context::Context;
use crate::document::{Field, Reader};
use crate::units::calendar;
use crate::units::parse::{LONGEST, quoted};
use crate::units::{SimDuration, SimTime};

/// The most rows of a trace.
const MOST_ROWS: usize = 20_000_000;

/// The most tokens of one request.
const MOST_TOKENS: u32 = 1_000_000_000;

/// The rows of a trace, column by column.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trace {
    /// When each task arrives, ascending.
    pub(super) times: Vec<SimTime>,
    /// Its input tokens; empty where no column is named for them.
    pub(super) input: Vec<u32>,
    /// Its output tokens; empty where no column is named for them.
    pub(super) output: Vec<u32>,
}

/// The columns that are read, by their names.
#[derive(Clone, Copy, Debug)]
struct Columns<'a> {
    times: &'a str,
    input: Option<&'a str>,
    output: Option<&'a str>,
}

/// The keys of a trace beside `trace` itself.
pub(super) const KEYS: [&str; 4] = ["column", "from", "input_tokens", "output_tokens"];

/// Reads the trace that `trace = …` names.
pub(super) fn read(field: &Field<'_>, reader: &Reader<'_>, context: &Context<'_>) -> Option<Trace> {
    let [column, input, output] = ["column", "input_tokens", "output_tokens"].map(|key| reader.get(key));
    let names =
        [&column, &input, &output].map(|field| field.as_ref().map_or(Some(None), |field| field.text().map(Some)));
    let shift = reader.or("from", SimDuration::ZERO, Field::duration);
    let path = field.text()?;
    let [Some(times), Some(input_name), Some(output_name)] = names else { return None };
    let shift = shift?;
    let text = match (context.trace)(path) {
        Ok(text) => text,
        Err(why) => {
            return field.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
        }
    };
    let columns = Columns { times: times.unwrap_or("t_s"), input: input_name, output: output_name };
    let place = |name: &str| {
        let fields = [column, input, output].into_iter().flatten();
        fields.into_iter().find(|field| field.node.as_str() == Some(name)).unwrap_or(*field)
    };
    match rows(&text, columns) {
        Ok(trace) => {
            let times = within(shifted(trace.times, shift), field, path, context)?;
            Some(Trace { times, ..trace })
        }
        Err(Unreadable::Twice(column)) => {
            place(&column).wrong(format!("`{path}` has two columns {}", quoted(&column)), "rename one of them")
        }
        Err(Unreadable::Column(column, header)) => place(&column)
            .wrong(format!("`{path}` has no column {}", quoted(&column)), format!("its header is {}", quoted(&header))),
        Err(Unreadable::Row(line, why)) => field.wrong(
            format!("line {line} of `{path}` {why}"),
            "times are seconds, such as 12.5, or all of them dates, such as 2023-11-16 18:17:03.97, in ascending order",
        ),
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
    /// It lacks this column; that is its header.
    Column(String, String),
    /// It has this column twice.
    Twice(String),
    /// This line is wrong.
    Row(usize, String),
    /// There is no row.
    Empty,
}

fn rows(text: &str, columns: Columns<'_>) -> Result<Trace, Unreadable> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let header = lines.next().unwrap_or_default();
    let names = cells(header).map_err(|why| Unreadable::Row(1, why.to_owned()))?;
    let index = |column: &str| {
        let missing = || Unreadable::Column(column.to_owned(), header.to_owned());
        let index = names.iter().position(|cell| cell == column).ok_or_else(missing)?;
        let is_twice = names[index + 1..].iter().any(|cell| cell == column);
        if is_twice { Err(Unreadable::Twice(column.to_owned())) } else { Ok(index) }
    };
    let time_column = index(columns.times)?;
    let token_columns = [columns.input.map(index).transpose()?, columns.output.map(index).transpose()?];
    let mut trace = Trace::default();
    let mut clock = Clock::default();
    for (i, line) in lines.enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| Unreadable::Row(i + 2, why);
        let cells = cells(line).map_err(|why| wrong(why.to_owned()))?;
        let cell = |index: usize| cells.get(index).ok_or_else(|| wrong("lacks the column".to_owned()));
        let time = cell(time_column)?;
        let at = clock.read(time).ok_or_else(|| wrong(format!("is not a time, found {}", quoted(time))))?;
        if trace.times.last().is_some_and(|last| *last > at) {
            return Err(wrong("is earlier than the line before it".to_owned()));
        }
        if trace.times.len() == MOST_ROWS {
            return Err(wrong(format!("is past the {MOST_ROWS} rows that are read")));
        }
        trace.times.push(at);
        for (list, column) in [&mut trace.input, &mut trace.output].into_iter().zip(token_columns) {
            let Some(column) = column else { continue };
            let text = cell(column)?;
            let tokens = text.parse::<u32>().ok().filter(|tokens| *tokens <= MOST_TOKENS);
            list.push(tokens.ok_or_else(|| wrong(format!("is no number of tokens, found {}", quoted(text))))?);
        }
    }
    if trace.times.is_empty() { Err(Unreadable::Empty) } else { Ok(trace) }
}

/// Reads times: seconds, or dates counted from the first one.
#[derive(Default)]
struct Clock {
    /// The first date; `None` as long as none was read.
    first: Option<i128>,
    /// Whether seconds were read.
    seconds: bool,
}

impl Clock {
    fn read(&mut self, text: &str) -> Option<SimTime> {
        if self.first.is_none()
            && let Ok(seconds) = text.parse::<f64>()
        {
            self.seconds = true;
            let is_time = (0.0..=LONGEST.as_secs_f64()).contains(&seconds);
            return is_time.then(|| SimTime::from_secs_f64(seconds));
        }
        let nanos = calendar::nanos(text).filter(|_| !self.seconds)?;
        let since = nanos - *self.first.get_or_insert(nanos);
        // What is earlier than the first is earlier than the line before it, too, or than one before that.
        let since = u64::try_from(since.max(0)).ok()?;
        (since <= LONGEST.as_nanos()).then(|| SimTime::from_nanos(since))
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

    fn times(text: &str, column: &str) -> Result<Vec<SimTime>, Unreadable> {
        rows(text, Columns { times: column, input: None, output: None }).map(|trace| trace.times)
    }

    #[test]
    fn dates_are_counted_from_the_first_and_other_columns_say_tokens() {
        let text = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 23:59:59.9799600,4808,10\r\n\
                    2023-11-17 00:00:00.0319601,3180,8";
        let columns = |output| Columns { times: "TIMESTAMP", input: Some("ContextTokens"), output: Some(output) };
        let trace = rows(text, columns("GeneratedTokens")).unwrap();
        assert_eq!(trace.times, [0, 52_000_100].map(SimTime::from_nanos));
        assert_eq!((trace.input, trace.output), (vec![4_808, 3_180], vec![10, 8]));
        assert_eq!(
            rows(text, columns("Tokens")).unwrap_err(),
            Unreadable::Column("Tokens".to_owned(), "TIMESTAMP,ContextTokens,GeneratedTokens".to_owned())
        );
        let row = |line, why: &str| Err(Unreadable::Row(line, why.to_owned()));
        assert_eq!(
            rows("t_s,n\n1,-4\n", Columns { times: "t_s", input: Some("n"), output: None }),
            row(2, "is no number of tokens, found \"-4\"")
        );
        let mixed = "t_s\n1\n2023-11-17 00:00:00\n";
        assert_eq!(
            times(mixed, "t_s"),
            row(3, "is not a time, found \"2023-11-17 00:00:00\"").map(|_: Trace| Vec::new())
        );
        let back = "t_s\n2023-11-17 00:00:00\n2023-11-17 00:00:01\n2023-11-16 00:00:00\n";
        assert_eq!(times(back, "t_s"), row(4, "is earlier than the line before it").map(|_: Trace| Vec::new()));
    }

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
        assert_eq!(times("t_s,x,t_s\n5,1,9\n", "t_s"), Err(Unreadable::Twice("t_s".to_owned())));
    }

    #[test]
    fn what_cannot_be_used_says_which_line() {
        let row = |line, why: &str| Err(Unreadable::Row(line, why.to_owned()));
        assert_eq!(times("t_s\n1\n0.5\n", "t_s"), row(3, "is earlier than the line before it"));
        assert_eq!(times("t_s\nnan\n", "t_s"), row(2, "is not a time, found \"nan\""));
        assert_eq!(times("t_s\n-1\n", "t_s"), row(2, "is not a time, found \"-1\""));
        assert_eq!(times("a,t_s\n1\n", "t_s"), row(2, "lacks the column"));
        assert_eq!(times("t_s\n", "t_s"), Err(Unreadable::Empty));
        assert_eq!(times("time\n1\n", "t_s"), Err(Unreadable::Column("t_s".to_owned(), "time".to_owned())));
        assert_eq!(times("", "t_s"), Err(Unreadable::Column("t_s".to_owned(), String::new())));
    }
}
