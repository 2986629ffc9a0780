//! Reading clients as `ServeGen` describes them: a row for each client and window, and quantiles of how large their
//! requests are.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use super::context::Context;
use super::trace::{part, period, play, told};
use super::trace_clock::{Clock, TimeUnit};
use super::trace_file::{self, Form, Row, Unreadable};
use crate::document::{Field, Reader};
use crate::random::Distribution;
use crate::random::distribution::Shape;
use crate::traffic::ArrivalProcess;
use crate::traffic::crowd::{ClientWindow, Crowd, CrowdClient, CrowdReplay, SizeTable};
use crate::units::parse::quoted;
use crate::units::{SimDuration, SimTime};

/// How long a window is.
const WIDTH: SimDuration = SimDuration::from_secs(600);

/// For how long quantiles of sizes hold.
const SIZES_HOLD: SimDuration = SimDuration::from_mins(360);

/// The most windows of a trace.
const MOST_WINDOWS: usize = 1_000_000;

/// The least and the most burstiness that is drawn: beyond it a window is one burst anyway.
const CV: (f64, f64) = (0.01, 10.0);

/// The columns of clients.
const COLUMNS: [&str; 6] = ["client_id", "timestamp", "rate", "cv", "pattern", "param_1"];

/// The columns of sizes.
const SIZE_COLUMNS: [&str; 12] =
    ["model", "client_id", "timestamp", "field", "mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];

/// The shares that the last seven of them stand for.
const SHARES: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Reads the rest of `trace = { format = "servegen", … }`.
pub(super) fn read(reader: &Reader<'_>, context: &Context<'_>) -> Option<ArrivalProcess> {
    let file = reader.get("file")?;
    let path = file.text();
    let (part, play) = (part(reader), play(reader));
    let selection = reader.or("clients", Selection::default(), selection);
    let model = reader.maybe("model", Field::text);
    let sizes = reader.maybe("tokens", |field| Some((*field, field.text()?)));
    let (path, (from, to), play) = (path?, part?, play?);
    let (selection, model, sizes) = (selection?, model?, sizes?);
    let mut clients = within(&file, path, context, |file| windows(file, from, to))?;
    clients.retain(|client| selection.takes(client));
    if clients.is_empty() {
        return file
            .wrong(format!("`{path}` has no such client in this time"), "choose other `clients`, `from` or `to`");
    }
    let mut clients: Vec<CrowdClient> = clients.into_iter().map(|client| client.settings).collect();
    let table = match sizes {
        None => Vec::new(),
        Some((field, path)) => {
            let all = within(&field, path, context, |file| size_rows(file, model))?;
            if model.is_none() && all.iter().any(|row| row.model != all[0].model) {
                return field.wrong(format!("`{path}` has sizes of several models"), "say which with `model`");
            }
            known(&mut clients, all, from, &field, path)?
        }
    };
    let end = clients.iter().filter_map(|client| Some(client.windows.last()?.start + WIDTH)).max()?;
    let whole = if to < SimTime::NEVER { to - from } else { end };
    let last = SimDuration::from_nanos(end.as_nanos() - 1);
    let period = period(&play, whole, last.min(whole.saturating_sub(SimDuration::from_nanos(1))), &file, path)?;
    let crowd = Crowd { clients, width: WIDTH, sizes: table };
    let replay = CrowdReplay {
        crowd: Arc::new(crowd),
        begin: play.begin,
        speed: play.speed,
        period,
        volume: 1.0,
        until: context.end(),
    };
    if replay.begin >= context.end() {
        let message = format!("`{path}` begins when the run is over, at {}", context.end() - SimTime::ZERO);
        return file.wrong(message, "shift it less, or lengthen the `horizon`");
    }
    Some(ArrivalProcess::Crowd(replay))
}

/// What is read of a file, or everything that is wrong with it.
fn within<T>(
    field: &Field<'_>,
    path: &str,
    context: &Context<'_>,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Vec<Unreadable>>,
) -> Option<T> {
    let mut file = match (context.trace)(path) {
        Ok(file) => file,
        Err(why) => {
            return field.wrong(format!("cannot be read: {why}"), "the path is relative to the scenario's file");
        }
    };
    match read(&mut *file) {
        Ok(all) => Some(all),
        Err(faults) => {
            for fault in &faults {
                told(fault, field, path, &|_| *field);
            }
            None
        }
    }
}

/// A client with how bursty it is.
struct ReadClient {
    settings: CrowdClient,
    /// The mean over its requests.
    cv: f64,
    /// Requests per second, the mean over the windows in which it has any.
    rate: f64,
}

/// Why a row is wrong, perhaps in a column.
type Wrong = (Option<usize>, String);

fn number(row: &Row<'_>, column: usize, most: f64) -> Result<f64, Wrong> {
    let text = row.text(column).ok_or_else(|| (Some(column), "is not there".to_owned()))?;
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| (Some(column), format!("is no number from 0 to {most:e}, found {}", quoted(&text))))
}

fn client_id(row: &Row<'_>, column: usize) -> Result<u64, Wrong> {
    let text = row.text(column).ok_or_else(|| (Some(column), "is not there".to_owned()))?;
    text.parse().map_err(|_| (Some(column), format!("is no number of a client, found {}", quoted(&text))))
}

fn time(row: &Row<'_>, column: usize) -> Result<SimTime, Wrong> {
    let text = row.text(column).ok_or_else(|| (Some(column), "is not there".to_owned()))?;
    let at = Clock::new(TimeUnit::Nanos(1_000_000_000)).read(&text);
    at.ok_or_else(|| (Some(column), format!("is not a time, found {}", quoted(&text))))
}

/// The windows of each client within a span, in the order of their numbers.
fn windows(file: &mut dyn BufRead, from: SimTime, to: SimTime) -> Result<Vec<ReadClient>, Vec<Unreadable>> {
    let mut clients: BTreeMap<u64, ReadClient> = BTreeMap::new();
    let mut ends: BTreeMap<u64, SimTime> = BTreeMap::new();
    let mut count = 0;
    trace_file::rows(file, Form::Csv, &COLUMNS, |row| {
        let (id, start) = (client_id(row, 0)?, time(row, 1)?);
        let (rate, cv) = (number(row, 2, 1e6)?, number(row, 3, 1e9)?);
        let pattern = row.text(4).ok_or_else(|| (Some(4), "is not there".to_owned()))?;
        let cv_drawn = cv.clamp(CV.0, CV.1);
        let shape = match &*pattern {
            "Gamma" => Shape::Gamma { mean: 1.0, cv: cv_drawn },
            "Weibull" => Shape::Weibull { mean: 1.0, shape: number(row, 5, 1e9)?.clamp(0.1, 100.0) },
            other => return Err((Some(4), format!("is neither Gamma nor Weibull, found {}", quoted(other)))),
        };
        let end = ends.entry(id).or_insert(SimTime::ZERO);
        if start < *end {
            return Err((Some(1), "is not behind the client's window before it".to_owned()));
        }
        *end = start + WIDTH;
        if !(from..to).contains(&start) || rate <= 0.0 {
            return Ok(());
        }
        count += 1;
        if count > MOST_WINDOWS {
            return Err((None, format!("is past the {MOST_WINDOWS} windows that are read")));
        }
        let gap = Distribution::new(shape).ok_or_else(|| (Some(3), "cannot be drawn".to_owned()))?;
        let empty = || ReadClient { settings: CrowdClient { id, windows: Vec::new() }, cv: 0.0, rate: 0.0 };
        let client = clients.entry(id).or_insert_with(empty);
        client.cv += cv * rate;
        client.rate += rate;
        client.settings.windows.push(ClientWindow { start: start - from, rate, gap, sizes: None });
        Ok(())
    })?;
    if ends.is_empty() {
        return Err(vec![Unreadable::Empty]);
    }
    let mut all: Vec<ReadClient> = clients.into_values().collect();
    for client in &mut all {
        client.cv /= client.rate;
        client.rate /= client.settings.windows.len() as f64;
    }
    Ok(all)
}

/// Which clients are taken.
#[derive(Default)]
struct Selection {
    cv: Option<Bound>,
    rate: Option<Bound>,
    ids: Option<Vec<u64>>,
}

#[derive(Clone, Copy)]
enum Bound {
    Above(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, number: f64) -> bool {
        match self {
            Bound::Above(bound) => number > bound,
            Bound::AtMost(bound) => number <= bound,
        }
    }
}

impl Selection {
    fn takes(&self, client: &ReadClient) -> bool {
        self.cv.is_none_or(|bound| bound.holds(client.cv))
            && self.rate.is_none_or(|bound| bound.holds(client.rate))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&client.settings.id))
    }
}

fn selection(field: &Field<'_>) -> Option<Selection> {
    let reader = field.table("which clients")?;
    let (cv, rate) = (reader.maybe("cv", bound), reader.maybe("rate", bound));
    let ids = reader.maybe("ids", |field| {
        let items = field.list("numbers of clients", 10_000)?;
        items.iter().map(|item| item.whole(0..=u64::MAX / 2)).collect::<Option<Vec<u64>>>()
    });
    reader.finish();
    Some(Selection { cv: cv?, rate: rate?, ids: ids? })
}

fn bound(field: &Field<'_>) -> Option<Bound> {
    let text = field.text()?;
    let (above, number) = match (text.strip_prefix('>'), text.strip_prefix("<=")) {
        (Some(number), _) => (true, number),
        (_, Some(number)) => (false, number),
        _ => return field.must("be a bound", "write \">5\" or \"<=5\""),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Some(if above { Bound::Above(number) } else { Bound::AtMost(number) }),
        _ => field.must("be a bound", "write \">5\" or \"<=5\""),
    }
}

/// Quantiles of one field of one client in one window.
struct SizeRow {
    model: String,
    client: u64,
    start: SimTime,
    /// 0 for input, 1 for output.
    field: usize,
    mean: f64,
    points: Vec<(f64, f64)>,
}

fn size_rows(file: &mut dyn BufRead, model: Option<&str>) -> Result<Vec<SizeRow>, Vec<Unreadable>> {
    let mut all = Vec::new();
    trace_file::rows(file, Form::Csv, &SIZE_COLUMNS, |row| {
        let name = row.text(0).ok_or_else(|| (Some(0), "is not there".to_owned()))?;
        let what = row.text(3).ok_or_else(|| (Some(3), "is not there".to_owned()))?;
        let field = match &*what {
            "input_tokens" => 0,
            "output_tokens" => 1,
            _ => return Ok(()),
        };
        if model.is_some_and(|model| model != name) {
            return Ok(());
        }
        let (client, start, mean) = (client_id(row, 1)?, time(row, 2)?, number(row, 4, 1e9)?);
        // Below the first quantile as far as to the second one above it, and behind the last one as far as the mean says.
        let mut points = vec![(0.0, 0.0)];
        for (n, share) in SHARES.into_iter().enumerate() {
            let value = number(row, 5 + n, 1e9)?;
            if value < points[n].1 {
                return Err((Some(5 + n), "is below the quantile before it".to_owned()));
            }
            points.push((share, value));
        }
        points[0].1 = (2.0 * points[1].1 - points[2].1).max(0.0);
        let below: f64 =
            points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)).sum();
        let last = points[7].1;
        let rest = 1.0 - points[7].0;
        let highest = ((mean - below) / rest * 2.0 - last).clamp(last, (50.0 * last).min(1e9).max(last));
        points.push((1.0, highest));
        let mean = below + rest * f64::midpoint(last, highest);
        all.push(SizeRow { model: name.into_owned(), client, start, field, mean, points });
        Ok(())
    })?;
    if all.is_empty() { Err(vec![Unreadable::Empty]) } else { Ok(all) }
}

/// The sizes of all clients that are known, and for each window where they are found.
fn known(
    clients: &mut [CrowdClient],
    rows: Vec<SizeRow>,
    from: SimTime,
    field: &Field<'_>,
    path: &str,
) -> Option<Vec<SizeTable>> {
    let mut pairs: BTreeMap<(u64, SimTime), [Option<SizeRow>; 2]> = BTreeMap::new();
    for row in rows {
        let (key, place) = ((row.client, row.start), row.field);
        pairs.entry(key).or_default()[place] = Some(row);
    }
    let mut table: Vec<(SizeTable, f64)> = Vec::new();
    let mut places: BTreeMap<(u64, SimTime), u32> = BTreeMap::new();
    for (key, pair) in pairs {
        if let [Some(input), Some(output)] = pair {
            places.insert(key, table.len() as u32);
            let (points, means) = ([input.points, output.points], [input.mean, output.mean]);
            table.push((SizeTable { points, means, up_to: 0.0 }, 0.0));
        }
    }
    for client in clients {
        for window in &mut client.windows {
            let at = from + window.start;
            let found = places.range((client.id, SimTime::ZERO)..=(client.id, at)).next_back();
            let holds = found.filter(|((_, start), _)| at < *start + SIZES_HOLD);
            window.sizes = holds.map(|(_, place)| *place);
            if let Some(place) = window.sizes {
                table[place as usize].1 += window.rate;
            }
        }
    }
    let all: f64 = table.iter().map(|(_, rate)| rate).sum();
    if all <= 0.0 {
        return field.wrong(
            format!("`{path}` knows none of the clients in this time"),
            "name the file that goes with the trace",
        );
    }
    let mut sum = 0.0;
    let weighed = table.into_iter().map(|(sizes, rate)| {
        sum += rate / all;
        SizeTable { up_to: sum, ..sizes }
    });
    Some(weighed.collect())
}
