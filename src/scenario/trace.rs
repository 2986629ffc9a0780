//! Arrivals from a trace: which file in which form, what its columns are, which rows of it, and how they are replayed.

use std::io::BufRead;
use std::sync::Arc;

use super::context::{Context, Read};
use super::crowd;
use super::trace_clock::TimeUnit;
use super::trace_file::{Form, Unreadable};
use super::trace_rows::{BLOCKS, INPUT, OUTPUT, TIME, Wanted, rows};
use crate::document::{Field, Reader, Value};
use crate::traffic::ArrivalProcess;
use crate::traffic::replay::{Replay, Rows};
use crate::units::parse::quoted;
use crate::units::{SimDuration, SimTime};

/// The word for clients instead of requests.
const CROWD: &str = "servegen";

/// The keys beside `trace` itself where it names a file.
pub(super) const KEYS: [&str; 4] = ["column", "from", "input_tokens", "output_tokens"];

/// Opens a trace by its path; the error is a short reason.
pub type Opened = Result<Box<dyn BufRead>, String>;

/// A trace that is at hand as a text.
pub fn text_of(text: &str) -> Opened {
    Ok(Box::new(std::io::Cursor::new(text.to_owned())))
}

const COLUMNS: [&str; 5] = ["time", "input_tokens", "output_tokens", "cached_tokens", "hash_ids"];

/// A known form of a file: its shape, its columns, its times, and how wide its clock steps.
struct Format {
    form: Form,
    columns: [Option<&'static str>; 5],
    unit: TimeUnit,
    spread: SimDuration,
}

const MILLISECONDS: TimeUnit = TimeUnit::Nanos(1_000_000);

impl Format {
    fn of(word: &str) -> Option<Format> {
        let none = [None; 5];
        let (form, columns, unit, spread) = match word {
            "csv" => (Form::Csv, none, TimeUnit::Any, 0),
            "jsonl" => (Form::Jsonl, none, TimeUnit::Any, 0),
            "azure" => {
                let columns = [Some("TIMESTAMP"), Some("ContextTokens"), Some("GeneratedTokens"), None, None];
                (Form::Csv, columns, TimeUnit::Date, 0)
            }
            "mooncake" => {
                let columns = [Some("timestamp"), Some("input_length"), Some("output_length"), None, Some("hash_ids")];
                (Form::Jsonl, columns, MILLISECONDS, 3)
            }
            _ => return None,
        };
        Some(Format { form, columns, unit, spread: SimDuration::from_secs(spread) })
    }
}

/// How it is replayed.
pub(super) struct Play {
    pub(super) begin: SimTime,
    pub(super) speed: f64,
    pub(super) repeat: Option<Repeat>,
}

#[derive(Clone, Copy)]
pub(super) enum Repeat {
    Whole,
    Each(SimDuration),
}

/// Reads the trace that `trace = …` names.
pub(super) fn read(field: &Field<'_>, reader: &Reader<'_>, context: &Context<'_>) -> Option<ArrivalProcess> {
    if field.node.as_table().is_some() {
        return table(field, context);
    }
    let [column, input, output] = ["column", "input_tokens", "output_tokens"].map(|key| reader.get(key));
    let texts =
        [&column, &input, &output].map(|field| field.as_ref().map_or(Some(None), |field| field.text().map(Some)));
    let shift = reader.or("from", SimDuration::ZERO, Field::duration);
    let path = field.text()?;
    let [Some(times), Some(input_name), Some(output_name)] = texts else { return None };
    let shift = shift?;
    let named = [(TIME, Some(times.unwrap_or("t_s"))), (INPUT, input_name), (OUTPUT, output_name)];
    let named: Vec<(usize, &str)> = named.into_iter().filter_map(|(says, name)| Some((says, name?))).collect();
    let wanted = Wanted {
        form: Form::Csv,
        unit: TimeUnit::Any,
        names: named.iter().map(|(_, name)| *name).collect(),
        says: named.iter().map(|(says, _)| *says).collect(),
        filters: Vec::new(),
        from: SimTime::ZERO,
        to: SimTime::NEVER,
        spread: SimDuration::ZERO,
    };
    let place = |name: &str| {
        let fields = [column, input, output].into_iter().flatten();
        fields.into_iter().find(|field| field.node.as_str() == Some(name)).unwrap_or(*field)
    };
    let play = Play { begin: SimTime::ZERO + shift, speed: 1.0, repeat: None };
    load(field, path, &wanted, &play, &place, context)
}

/// Reads `trace = { file = …, … }`.
fn table(field: &Field<'_>, context: &Context<'_>) -> Option<ArrivalProcess> {
    let reader = field.table("what a trace is")?;
    let file = reader.need("file", r#"name the file, such as "trace.csv""#);
    let path = file.and_then(|file| file.text());
    let format = reader.get("format");
    if format.is_some_and(|format| format.node.as_str() == Some(CROWD)) {
        let crowd = crowd::read(&reader, context);
        reader.finish();
        return crowd;
    }
    let format = match format {
        None => Format::of(if path.is_some_and(|path| path.to_ascii_lowercase().ends_with(".jsonl")) {
            "jsonl"
        } else {
            "csv"
        }),
        Some(field) => {
            let words = ["csv", "jsonl", "azure", "mooncake", CROWD].map(|word| (word, word));
            field.word(&words).and_then(Format::of)
        }
    };
    let columns_field = reader.get("columns");
    let columns = match &columns_field {
        None => Some([None; 5]),
        Some(field) => columns(field),
    };
    let unit = reader.maybe("time_unit", |field| field.word(&TimeUnit::WORDS));
    let filters = reader.or("where", Vec::new(), filters);
    let (part, play) = (part(&reader), play(&reader));
    let spread = reader.maybe("spread", Field::duration);
    reader.finish();
    let (path, format, columns, filters) = (path?, format?, columns?, filters?);
    let file = file?;
    let (mut names, mut says) = (Vec::new(), Vec::new());
    for (what, (own, usual)) in columns.into_iter().zip(format.columns).enumerate() {
        // Only a cache looks at blocks, and they are the largest part of a trace.
        let is_read = what != BLOCKS || context.caches;
        if let Some(name) = own.or(usual).filter(|_| is_read) {
            names.push(name);
            says.push(what);
        }
    }
    if says.first() != Some(&TIME) {
        let hint = r#"name the column of its times: columns = { time = "t_s" }"#;
        return columns_field.unwrap_or(*field).wrong("says no column of times", hint);
    }
    let (columns_of_filters, filters): (Vec<&str>, Vec<Vec<String>>) = filters.into_iter().unzip();
    names.extend(columns_of_filters);
    let ((from, to), spread) = (part?, spread?.unwrap_or(format.spread));
    let wanted =
        Wanted { form: format.form, unit: unit?.unwrap_or(format.unit), names, says, filters, from, to, spread };
    let play = play?;
    let place = |_: &str| columns_field.unwrap_or(file);
    load(&file, path, &wanted, &play, &place, context)
}

/// Which part of the trace is replayed, in its own time.
pub(super) fn part(reader: &Reader<'_>) -> Option<(SimTime, SimTime)> {
    let from = reader.or("from", SimTime::ZERO, Field::instant);
    let to = reader.or("to", SimTime::NEVER, |field| {
        let to = field.instant()?;
        if from.is_some_and(|from| to <= from) {
            return field.wrong("ends before it begins", "write a `to` that is later than `from`");
        }
        Some(to)
    });
    Some((from?, to?))
}

/// How it is replayed.
pub(super) fn play(reader: &Reader<'_>) -> Option<Play> {
    let begin = reader.or("shift", SimTime::ZERO, Field::instant);
    let speed = reader.or("rate", 1.0, |field| field.number(0.001..=1000.0));
    let repeat = reader.or("repeat", None, |field| match &field.node.value {
        Value::Boolean(truth) => Some(truth.then_some(Repeat::Whole)),
        _ => field.positive_duration().map(|period| Some(Repeat::Each(period))),
    });
    Some(Play { begin: begin?, speed: speed?, repeat: repeat? })
}

/// The columns that the file names.
fn columns<'a>(field: &Field<'a>) -> Option<[Option<&'a str>; 5]> {
    let reader = field.table("columns")?;
    let read = COLUMNS.map(|key| reader.maybe(key, Field::text));
    reader.finish();
    let mut all = [None; 5];
    for (place, name) in all.iter_mut().zip(read) {
        *place = name?;
    }
    Some(all)
}

/// Columns, each with the values of which a row must have one.
fn filters<'a>(field: &Field<'a>) -> Option<Vec<(&'a str, Vec<String>)>> {
    let Some(table) = field.node.as_table() else {
        return field.must("be a table of columns", r#"write { model = "gpt-4" }"#);
    };
    let value = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    };
    let of = |(name, entry): (&'a str, &'a crate::document::Entry)| {
        let values = match &entry.node.value {
            Value::Array(items) if !items.is_empty() => items.iter().map(|item| value(&item.value)).collect(),
            one => value(one).map(|one| vec![one]),
        };
        let field = Field::new(entry.key, &entry.node, field.faults());
        let values =
            values.or_else(|| field.must("be what the column says", "write a text, a whole number or a list of them"));
        Some((name, values?))
    };
    let read: Vec<Option<_>> = table.in_order().into_iter().map(of).collect();
    read.into_iter().collect()
}

/// Reads the rows, and what is wrong with them.
fn load<'a>(
    field: &Field<'a>,
    path: &str,
    wanted: &Wanted<'_>,
    play: &Play,
    place: &dyn Fn(&str) -> Field<'a>,
    context: &Context<'_>,
) -> Option<ArrivalProcess> {
    let opened = (context.trace)(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(why) => {
            return field.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
        }
    };
    match rows(&mut *file, path, wanted, context) {
        Ok((rows, end)) => replay(rows, end, play, field, path, context).map(ArrivalProcess::Replay),
        Err(faults) => {
            for fault in faults {
                told(&fault, field, path, place);
            }
            None
        }
    }
}

pub(super) fn told<'a>(fault: &Unreadable, field: &Field<'a>, path: &str, place: &dyn Fn(&str) -> Field<'a>) {
    match fault {
        Unreadable::Twice(column) => {
            place(column).wrong::<()>(format!("`{path}` has two columns {}", quoted(column)), "rename one of them")
        }
        Unreadable::Column(column, header) => place(column)
            .wrong(format!("`{path}` has no column {}", quoted(column)), format!("its header is {}", quoted(header))),
        Unreadable::Row(line, column, why) => {
            let column = column.as_ref().map_or_else(String::new, |column| format!(", column {},", quoted(column)));
            field.wrong(
                format!("line {line} of `{path}`{column} {why}"),
                "times are numbers, such as 12.5, or all of them dates, such as 2023-11-16 18:17:03.97, in ascending order; \
                 tokens are whole numbers",
            )
        }
        Unreadable::System(why) => {
            field.wrong(format!("`{path}` cannot be read to its end: {why}"), "look at the disk")
        }
        Unreadable::Empty => field.wrong(
            format!("`{path}` has no rows"),
            "a trace has a row per arrival; those that `where`, `from` and `to` leave out are none",
        ),
    };
}

/// The rows as they are replayed, of which the run sees at least the first: a shorter run may look at the beginning of a
/// long trace.
fn replay(
    rows: Rows,
    whole: SimDuration,
    play: &Play,
    field: &Field<'_>,
    path: &str,
    context: &Context<'_>,
) -> Option<Replay> {
    let last = rows.times.last().copied().unwrap_or_default() - SimTime::ZERO;
    let period = period(play, whole, last, field, path)?;
    let replay = Replay { rows: Arc::new(rows), begin: play.begin, speed: play.speed, period, until: context.end() };
    if replay.at(0).is_some() {
        return Some(replay);
    }
    let horizon = context.end() - SimTime::ZERO;
    let message = format!("`{path}` begins when the run is over, at {horizon}");
    field.wrong(message, "shift it with `from`, or lengthen the `horizon`; times are seconds from the start of the run")
}

/// After how long it begins anew, if it does; it must be over by then.
pub(super) fn period(
    play: &Play,
    whole: SimDuration,
    last: SimDuration,
    field: &Field<'_>,
    path: &str,
) -> Read<Option<SimDuration>> {
    let period = match play.repeat {
        None => return Some(None),
        Some(Repeat::Whole) => whole.max(SimDuration::from_nanos(1)),
        Some(Repeat::Each(period)) => period,
    };
    if last >= period {
        let message = format!("`{path}` lasts {last}, and is to begin anew after {period}");
        return field.wrong(message, "write a longer `repeat`, or cut the trace with `to`");
    }
    Some(Some(period))
}
