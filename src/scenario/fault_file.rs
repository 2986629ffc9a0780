//! What a fault may leave to a table: its windows, and its probability over time. Either is a list in the scenario, or a
//! CSV file beside it whose first line names the columns; other columns than those that are read are passed over.

use super::context::Context;
use std::io::{BufRead, Read};

use super::trace_file::cells;
use crate::document::Field;
use crate::provider::{Profile, Window};
use crate::units::parse::{self, LONGEST, quoted};
use crate::units::{SimDuration, SimTime};

/// The most windows of one fault, and the most points of one probability.
const MOST: usize = 10_000;

/// One window of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReadWindow {
    /// When.
    pub(super) window: Window,
    /// How probable the fault is in it; `None` where it says nothing of its own.
    pub(super) probability: Option<f64>,
}

/// The windows of a fault, in order and apart.
pub(super) fn windows(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<ReadWindow>> {
    if field.node.as_array().is_none() {
        let table = Table::read(field, context, &["from", "to"], "probability")?;
        let one = |row: &Row| {
            let window = Window { from: SimTime::ZERO + row.time(0)?, to: SimTime::ZERO + row.time(1)? };
            if window.to <= window.from {
                return Err(row.wrong(1, "is not later than `from`"));
            }
            Ok(ReadWindow { window, probability: row.maybe_share(2)? })
        };
        return table.each(one, |last, next, row| {
            (next.window.from < last.window.to).then(|| row.wrong(0, "begins before the window before it ends"))
        });
    }
    let items = field.list("windows", MOST)?;
    let mut all: Vec<ReadWindow> = Vec::new();
    let mut sound = true;
    for item in &items {
        let Some(read) = inline(item) else {
            sound = false;
            continue;
        };
        if all.last().is_some_and(|last| read.window.from < last.window.to) {
            item.wrong::<()>("begins before the window before it ends", "write them in order, and apart");
            sound = false;
        }
        all.push(read);
    }
    sound.then_some(all)
}

/// A window of a list: from, to, and perhaps a probability.
fn inline(item: &Field<'_>) -> Option<ReadWindow> {
    match item.node.as_array() {
        Some([from, to, share]) => {
            let of = |node| Field::new(item.key, node, item.faults());
            let (begins, ends, probability) = (of(from).instant(), of(to).instant(), of(share).ratio());
            let (window, probability) = (Window { from: begins?, to: ends? }, Some(probability?));
            if window.to <= window.from {
                return item.wrong("ends before it begins, or when it does", "write the start first");
            }
            Some(ReadWindow { window, probability })
        }
        _ => super::fault::window(item).map(|window| ReadWindow { window, probability: None }),
    }
}

/// A probability that a file says over time since `since`.
pub(super) fn profile(field: &Field<'_>, since: SimTime, context: &Context<'_>) -> Option<Profile> {
    let table = Table::read(field, context, &["time", "probability"], "")?;
    let points = table.each(
        |row| Ok((since + row.time(0)?, row.share(1)?)),
        |last, next, row| (next.0 <= last.0).then(|| row.wrong(0, "is not later than the row before it")),
    )?;
    Profile::through(points)
}

/// A CSV file with the columns that are read of it.
struct Table<'f, 'a> {
    /// The text that names it.
    named: Field<'a>,
    path: &'a str,
    text: String,
    /// The names of the columns, the one that may be missing last.
    columns: Vec<&'f str>,
    /// Where they stand in a row.
    places: Vec<Option<usize>>,
}

/// The most bytes of such a file; its rows end before.
const MOST_BYTES: u64 = 64 << 20;

/// All that a file says.
fn whole(file: Box<dyn BufRead>) -> Result<String, String> {
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// One row.
struct Row<'r> {
    path: &'r str,
    line: usize,
    columns: &'r [&'r str],
    cells: Vec<Option<std::borrow::Cow<'r, str>>>,
}

impl<'f, 'a> Table<'f, 'a> {
    /// Reads the file that `{ file = … }` names; `optional` is a column that it may lack.
    fn read(field: &Field<'a>, context: &Context<'_>, needed: &[&'f str], optional: &'f str) -> Option<Self> {
        let reader = field.table("a file")?;
        let file = reader.need("file", r#"write the file's name, such as { file = "outages.csv" }"#);
        reader.finish();
        let named = file?;
        let path = named.text()?;
        let text = match (context.trace)(path).and_then(whole) {
            Ok(text) => text,
            Err(why) => {
                return named.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
            }
        };
        let header = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().to_owned();
        let titles = match cells(&header) {
            Ok(titles) => titles,
            Err(why) => {
                return named.wrong(format!("line 1 of `{path}` {why}"), "write the names of its columns there");
            }
        };
        let place = |column: &str| titles.iter().position(|title| title == column);
        for column in needed {
            if place(column).is_none() {
                let message = format!("`{path}` has no column {}", quoted(column));
                return named.wrong(message, format!("its header is {}", quoted(&header)));
            }
        }
        let mut columns = needed.to_vec();
        columns.extend(Some(optional).filter(|column| place(column).is_some()));
        let places = columns.iter().map(|column| place(column)).collect();
        Some(Table { named, path, text, columns, places })
    }

    /// Every row converted, in an order that `compare` finds nothing wrong with.
    fn each<T>(
        &self,
        convert: impl Fn(&Row<'_>) -> Result<T, String>,
        compare: impl Fn(&T, &T, &Row<'_>) -> Option<String>,
    ) -> Option<Vec<T>> {
        const HINT: &str =
            r"times are seconds, such as 90, or durations, such as 1m30s; a probability is a share, such as 0.3 or 30%";
        let mut all: Vec<T> = Vec::new();
        for (n, line) in self.text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
            let path = self.path;
            let cells = match cells(line) {
                Ok(cells) => cells,
                Err(why) => return self.named.wrong(format!("line {} of `{path}` {why}", n + 1), HINT),
            };
            let cells = self.places.iter().map(|place| cells.get((*place)?).cloned()).collect();
            let row = Row { path, line: n + 1, columns: &self.columns, cells };
            let read = convert(&row).and_then(|read| match all.last().and_then(|last| compare(last, &read, &row)) {
                Some(why) => Err(why),
                None => Ok(read),
            });
            match read {
                Ok(_) if all.len() == MOST => {
                    return self.named.wrong(format!("`{path}` has more than {MOST} rows"), "leave some of them out");
                }
                Ok(read) => all.push(read),
                Err(why) => return self.named.wrong(why, HINT),
            }
        }
        if all.is_empty() {
            return self.named.wrong(format!("`{}` has no rows", self.path), "write a line of names and a row each");
        }
        Some(all)
    }
}

impl Row<'_> {
    fn wrong(&self, column: usize, why: &str) -> String {
        let found = self.cell(column).unwrap_or_default();
        let column = self.columns.get(column).copied().unwrap_or_default();
        format!("line {} of `{}`: `{column}` {why}, found {}", self.line, self.path, quoted(found))
    }

    fn cell(&self, column: usize) -> Option<&str> {
        self.cells.get(column)?.as_deref().filter(|cell| !cell.is_empty())
    }

    fn time(&self, column: usize) -> Result<SimDuration, String> {
        let text = self.cell(column).unwrap_or_default();
        let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST.as_secs_f64()).contains(seconds));
        let read = seconds.map(SimDuration::from_secs_f64).or_else(|| parse::duration(text).ok());
        read.ok_or_else(|| self.wrong(column, "is no time"))
    }

    fn share(&self, column: usize) -> Result<f64, String> {
        self.maybe_share(column)?.ok_or_else(|| self.wrong(column, "is no share from 0 to 1"))
    }

    fn maybe_share(&self, column: usize) -> Result<Option<f64>, String> {
        let Some(text) = self.cell(column) else { return Ok(None) };
        let share = text.parse::<f64>().ok().or_else(|| parse::ratio(text).ok());
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share.map(Some).ok_or_else(|| self.wrong(column, "is no share from 0 to 1"))
    }
}
