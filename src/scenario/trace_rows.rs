//! The rows of a trace on their way from text to packed columns: which of them, and what they say.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::context::Context;
use super::trace_clock::{Clock, TimeUnit};
use super::trace_file::{self, Form, Row, Unreadable};
use crate::traffic::replay::Rows;
use crate::units::parse::quoted;
use crate::units::{SimDuration, SimTime};

/// The most rows of a trace.
const MOST_ROWS: usize = 50_000_000;

/// The most tokens of one request.
const MOST_TOKENS: u32 = 1_000_000_000;

/// What a column of a trace says.
pub(super) const TIME: usize = 0;
pub(super) const INPUT: usize = 1;
pub(super) const OUTPUT: usize = 2;
pub(super) const CACHED: usize = 3;
pub(super) const BLOCKS: usize = 4;
/// What is read of a file.
pub(super) struct Wanted<'a> {
    pub(super) form: Form,
    pub(super) unit: TimeUnit,
    /// The names of the columns, and what each says; columns of filters stand behind them.
    pub(super) names: Vec<&'a str>,
    pub(super) says: Vec<usize>,
    /// The values of each filter's column, of which a row must have one.
    pub(super) filters: Vec<Vec<String>>,
    pub(super) from: SimTime,
    pub(super) to: SimTime,
    pub(super) spread: SimDuration,
}

/// The blocks of all traces of a scenario: those of one file that have the same id are the same, for all classes that
/// read it.
#[derive(Debug, Default)]
pub(super) struct BlockNames {
    files: BTreeMap<String, BTreeMap<u64, u32>>,
    next: u32,
}

/// The rows, and how long after their beginning the trace ends.
pub(super) fn rows(
    file: &mut dyn BufRead,
    path: &str,
    wanted: &Wanted<'_>,
    context: &Context<'_>,
) -> Result<(Rows, SimDuration), Vec<Unreadable>> {
    let mut rows = Rows::default();
    let mut clock = Clock::new(wanted.unit);
    let mut last = SimTime::ZERO;
    let mut names = context.blocks.borrow_mut();
    let BlockNames { files, next } = &mut *names;
    let blocks = files.entry(path.to_owned()).or_default();
    trace_file::rows(file, wanted.form, &wanted.names, |row| {
        let text = |column: usize| row.text(column).ok_or_else(|| (Some(column), "is not there".to_owned()));
        let at = {
            let time = text(0)?;
            clock.read(&time).ok_or_else(|| (Some(0), format!("is not a time, found {}", quoted(&time))))?
        };
        if at < last || clock.is_before_first {
            return Err((Some(0), "is earlier than the line before it".to_owned()));
        }
        last = at;
        let is_within = wanted.from <= at && at < wanted.to;
        if !is_within || !passes(row, wanted) {
            return Ok(());
        }
        if rows.times.len() == MOST_ROWS {
            return Err((None, format!("is past the {MOST_ROWS} rows that are read")));
        }
        for (column, what) in wanted.says.iter().enumerate() {
            let tokens = match *what {
                INPUT => &mut rows.input,
                OUTPUT => &mut rows.output,
                CACHED => &mut rows.cached,
                BLOCKS => {
                    let ids =
                        ids(&text(column)?).ok_or_else(|| (Some(column), "is no list of block ids".to_owned()))?;
                    for id in ids {
                        let block = *blocks.entry(id).or_insert(*next);
                        *next = (*next).max(block + 1);
                        rows.blocks.all.push(block);
                    }
                    let end = u32::try_from(rows.blocks.all.len());
                    rows.blocks.ends.push(end.map_err(|_| (None, "is past the 2^32 blocks that are read".to_owned()))?);
                    continue;
                }
                _ => continue,
            };
            let text = text(column)?;
            let said = text.parse::<u32>().ok().filter(|tokens| *tokens <= MOST_TOKENS);
            tokens
                .push(said.ok_or_else(|| (Some(column), format!("is no number of tokens, found {}", quoted(&text))))?);
        }
        rows.times.push(SimTime::ZERO + (at - wanted.from));
        Ok(())
    })?;
    if rows.times.is_empty() {
        return Err(vec![Unreadable::Empty]);
    }
    spread(&mut rows.times, wanted.spread);
    let whole = if wanted.to < SimTime::NEVER {
        wanted.to - wanted.from
    } else {
        // Behind the last row comes another mean gap.
        let length = last.max(wanted.from) - wanted.from + wanted.spread;
        length + SimDuration::from_nanos(length.as_nanos() / rows.times.len() as u64)
    };
    Ok((rows, whole))
}

fn passes(row: &Row<'_>, wanted: &Wanted<'_>) -> bool {
    wanted
        .filters
        .iter()
        .zip(wanted.says.len()..)
        .all(|(values, column)| row.text(column).is_some_and(|text| values.iter().any(|value| *value == text)))
}

/// Whole numbers with anything between them that is no digit.
fn ids(text: &str) -> Option<Vec<u64>> {
    let is_list = text.bytes().all(|byte| byte.is_ascii_digit() || b"[], ;|".contains(&byte));
    let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    if is_list { parts.map(|part| part.parse().ok()).collect() } else { None }
}

/// Spreads those of one instant evenly over a time, or until the next ones come.
fn spread(times: &mut [SimTime], over: SimDuration) {
    if over.is_zero() {
        return;
    }
    let mut begin = 0;
    while begin < times.len() {
        let at = times[begin];
        let end = begin + times[begin..].partition_point(|other| *other == at);
        let room = times.get(end).map_or(over, |next| over.min(*next - at));
        for (n, time) in times[begin..end].iter_mut().enumerate() {
            *time =
                at + SimDuration::from_nanos((u128::from(room.as_nanos()) * n as u128 / (end - begin) as u128) as u64);
        }
        begin = end;
    }
}
