//! Reading arrivals: one process or a list of them.

use super::context::Context;
use super::{sessions, trace};
use crate::document::{Field, Reader};
use crate::provider::Window;
use crate::random::Distribution;
use crate::random::distribution::Shape;
use crate::traffic::{ArrivalProcess, RatePiece};
use crate::units::parse::FASTEST;
use crate::units::{SimDuration, SimTime};

/// The most processes of one class, and the most points of one rate.
const MOST: usize = 10_000;

/// The most instants of a list.
const MOST_INSTANTS: usize = 1_000_000;

/// Reads the arrivals of a class.
pub(super) fn arrivals(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<ArrivalProcess>> {
    if field.node.as_array().is_none() {
        return Some(vec![process(field, context)?]);
    }
    let items = field.list("arrival processes", MOST)?;
    let read: Vec<Option<ArrivalProcess>> = items.iter().map(|item| process(item, context)).collect();
    if items.len() > 1 && read.iter().flatten().any(|process| process.said().is_some()) {
        let message = "lists several processes, one of which says how large its tasks are";
        return field.wrong(message, "give that trace a class of its own");
    }
    read.into_iter().collect()
}

fn process(field: &Field<'_>, context: &Context<'_>) -> Option<ArrivalProcess> {
    let reader = field.table("one arrival process")?;
    let forms = ["poisson", "gamma", "weibull", "count", "every", "at", "trace", "sessions", "backlog"];
    let chosen = reader.only(&forms);
    let process = match chosen {
        None => {
            reader.knows(&["until", "shape", "cv", "repeat"]);
            reader.knows(&trace::KEYS);
            reader.knows(&sessions::KEYS);
            None
        }
        Some(("poisson", field)) => {
            rates(&field, &reader, context).map(|(pieces, window)| ArrivalProcess::Poisson { pieces, window })
        }
        Some((family @ ("gamma" | "weibull"), field)) => {
            let (gap, rates) = (gap(family, &reader), rates(&field, &reader, context));
            gap.zip(rates).map(|(gap, (pieces, window))| ArrivalProcess::Spaced { gap, pieces, window })
        }
        Some(("count", field)) => count(&field, &reader, window(&reader, context)),
        Some(("every", field)) => {
            let (every, window) = (field.positive_duration(), window(&reader, context));
            every.zip(window).map(|(every, window)| ArrivalProcess::Every { every, window })
        }
        Some(("at", field)) => at(&field, context).map(ArrivalProcess::At),
        Some(("sessions", field)) => {
            let sessions = sessions::sessions(&field, &reader, window(&reader, context));
            sessions.map(|sessions| ArrivalProcess::Sessions(Box::new(sessions)))
        }
        Some(("backlog", field)) => {
            let count = field.whole(1..=MOST_INSTANTS as u64);
            count.map(|count| ArrivalProcess::Backlog(count as u32))
        }
        Some((_, field)) => trace::read(&field, &reader, context),
    };
    reader.finish();
    process
}

/// The window of a process: from the start to the horizon unless it says otherwise.
fn window(reader: &Reader<'_>, context: &Context<'_>) -> Option<Window> {
    let from_field = reader.get("from");
    let until_field = reader.get("until");
    let from = from_field.as_ref().map_or(Some(SimTime::ZERO), Field::instant);
    let until = until_field.as_ref().map_or(Some(context.end()), Field::instant);
    let window = Window { from: from?, to: until? };
    match (from_field, until_field) {
        (_, Some(field)) if window.to < window.from => {
            field.wrong("ends before it begins", "write an `until` that is later than `from`")
        }
        (_, Some(field)) if window.to == window.from => {
            field.wrong("is empty: it ends when it begins", "write an `until` that is later than `from`")
        }
        (Some(field), _) if window.from >= context.end() => {
            let horizon = context.end() - SimTime::ZERO;
            field
                .wrong(format!("begins when the run is over, at {horizon}"), "begin earlier, or lengthen the `horizon`")
        }
        _ => Some(window),
    }
}

/// Pairs of a time and a number, times strictly ascending.
fn points<'a>(
    field: &Field<'a>,
    example: &str,
    number: impl Fn(&Field<'a>) -> Option<f64>,
) -> Option<Vec<(SimTime, f64)>> {
    let mut points: Vec<(SimTime, f64)> = Vec::new();
    let mut sound = true;
    for item in field.list("points", MOST)? {
        let point = item.pair(example).and_then(|(time, value)| {
            let (at, value) = (time.instant(), number(&value));
            let at = at?;
            if points.last().is_some_and(|(last, _)| *last >= at) {
                return time.wrong("is not later than the point before it", "write the points in ascending time");
            }
            Some((at, value?))
        });
        match point {
            Some(point) => points.push(point),
            None => sound = false,
        }
    }
    sound.then_some(points)
}

/// The points as pieces: the first at the window's start, nothing before the first point.
fn pieces(points: &[(SimTime, f64)], window: Window) -> Vec<RatePiece> {
    let begun = points.iter().rev().find(|(at, _)| *at <= window.from);
    let first = RatePiece { from: window.from, rate: begun.map_or(0.0, |(_, rate)| *rate) };
    let later = points.iter().filter(|(at, _)| window.from < *at && *at < window.to);
    std::iter::once(first).chain(later.map(|(from, rate)| RatePiece { from: *from, rate: *rate })).collect()
}

/// A rate, or points of one, perhaps again and again.
fn rates(field: &Field<'_>, reader: &Reader<'_>, context: &Context<'_>) -> Option<(Vec<RatePiece>, Window)> {
    let window = window(reader, context);
    let points = if field.node.as_array().is_some() {
        points(field, r#"a time and a rate, such as ["10m", "13.1/min"]"#, Field::rate)
    } else {
        field.rate().map(|rate| vec![(SimTime::ZERO, rate)])
    };
    let repeat = reader.maybe("repeat", Field::positive_duration);
    let (mut points, window) = (points?, window?);
    if let (Some(period), Some(said)) = (repeat?, reader.get("repeat")) {
        if points.len() == 1 {
            return said.wrong(
                "repeats a rate that does not change",
                "write points, such as [[\"0h\", \"2/min\"], [\"8h\", \"20/min\"]]",
            );
        }
        if points.last().is_some_and(|(last, _)| *last - SimTime::ZERO >= period) {
            return said.must("be longer than the time of the last point", "write \"24h\" for a day");
        }
        points = repeated(&points, period, window.to);
        if points.len() > MOST {
            let hint = "shorten the run, or write fewer points";
            return said.wrong(format!("makes {} points, more than {MOST}", points.len()), hint);
        }
    }
    Some((pieces(&points, window), window))
}

/// The points again and again until the end, or one more than are allowed.
fn repeated(points: &[(SimTime, f64)], period: SimDuration, end: SimTime) -> Vec<(SimTime, f64)> {
    let rounds = 0_u64..;
    let shifted = rounds.flat_map(|round| points.iter().map(move |(at, rate)| (*at + period.times(round), *rate)));
    shifted.take_while(|(at, _)| *at < end).take(MOST + 1).collect()
}

/// Gaps with mean 1.
fn gap(family: &str, reader: &Reader<'_>) -> Option<Distribution> {
    let hint = "write the coefficient of variation of the gaps: 1 is Poisson, 3 comes in bursts";
    let field = reader.need("cv", hint)?;
    let cv = field.number(0.01..=10.0)?;
    let shape = if family == "gamma" {
        Shape::Gamma { mean: 1.0, cv }
    } else {
        Shape::Weibull { mean: 1.0, shape: weibull_shape(cv) }
    };
    Distribution::new(shape)
        .or_else(|| field.wrong("cannot be had of this family", "write gamma, or a value between 0.02 and 8"))
}

/// The shape of a Weibull distribution with this coefficient of variation: cv² + 1 = Γ(1 + 2/k) / Γ(1 + 1/k)².
fn weibull_shape(cv: f64) -> f64 {
    let ratio = |k: f64| libm::exp(libm::lgamma(1.0 + 2.0 / k) - 2.0 * libm::lgamma(1.0 + 1.0 / k)) - 1.0;
    let (mut low, mut high) = (0.1, 200.0);
    // The ratio falls with k; 60 halvings of the interval are all of a float.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if ratio(middle) > cv * cv { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn count(field: &Field<'_>, reader: &Reader<'_>, window: Option<Window>) -> Option<ArrivalProcess> {
    let count = field.whole(1..=1_000_000_000);
    let shape_field = reader.get("shape");
    let shape = match &shape_field {
        None => Some(vec![(SimTime::ZERO, 1.0)]),
        Some(field) => {
            points(field, r#"a time and a weight, such as ["10m", 13.1]"#, |field| field.number(0.0..=FASTEST))
        }
    };
    let (count, shape, window) = (count?, shape?, window?);
    let pieces = pieces(&shape, window);
    if let Some(field) = shape_field
        && pieces.iter().all(|piece| piece.rate == 0.0)
    {
        return field.wrong("has no weight inside the window", "write a point with a weight above 0 inside it");
    }
    Some(ArrivalProcess::Count { count: count as u32, pieces, window })
}

fn at(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<SimTime>> {
    let mut times: Vec<SimTime> = Vec::new();
    let mut sound = true;
    for item in field.list("instants", MOST_INSTANTS)? {
        match item.instant() {
            Some(at) if at >= context.end() => {
                let horizon = context.end() - SimTime::ZERO;
                item.wrong::<()>(
                    format!("lies past the end of the run, at {horizon}"),
                    "leave it out, or lengthen the `horizon`",
                );
                sound = false;
                // Later ones lie there too.
                break;
            }
            Some(at) if times.last().is_none_or(|last| *last <= at) => times.push(at),
            Some(_) => {
                item.wrong::<()>("is earlier than the instant before it", "write the instants in ascending order");
                sound = false;
            }
            None => sound = false,
        }
    }
    sound.then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weibull_distribution_is_found_by_its_coefficient_of_variation() {
        // By hand: k = 1 is exponential, k = 2 (Rayleigh) has cv² = 4/π − 1, k = 1/2 has cv² = 24/4 − 1.
        for (cv, shape) in [(1.0, 1.0), ((4.0 / std::f64::consts::PI - 1.0).sqrt(), 2.0), (5.0_f64.sqrt(), 0.5)] {
            assert!((weibull_shape(cv) - shape).abs() < 1e-9, "{cv}: {}", weibull_shape(cv));
        }
    }

    #[test]
    fn a_day_comes_again() {
        let hours = |h: u64| SimTime::ZERO + SimDuration::from_mins(60 * h);
        let day = [(hours(0), 1.0), (hours(8), 5.0)];
        let days = repeated(&day, SimDuration::from_mins(1_440), hours(40));
        assert_eq!(days, [(hours(0), 1.0), (hours(8), 5.0), (hours(24), 1.0), (hours(32), 5.0)]);
    }

    #[test]
    fn pieces_begin_with_the_window_and_say_what_holds_there() {
        let minute = |m: u64| SimTime::ZERO + SimDuration::from_mins(m);
        let points = [(minute(5), 1.0), (minute(10), 2.0), (minute(20), 3.0)];
        let cut = |from, to| {
            let window = Window { from: minute(from), to: minute(to) };
            pieces(&points, window).into_iter().map(|piece| (piece.from, piece.rate)).collect::<Vec<_>>()
        };
        assert_eq!(cut(0, 30), [(minute(0), 0.0), (minute(5), 1.0), (minute(10), 2.0), (minute(20), 3.0)]);
        assert_eq!(cut(10, 20), [(minute(10), 2.0)]);
        assert_eq!(cut(12, 25), [(minute(12), 2.0), (minute(20), 3.0)]);
    }
}
