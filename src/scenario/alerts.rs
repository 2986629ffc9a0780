//! Alerts: rules over measured series, as an operator's monitoring would have them. They change nothing in a run; it
//! tells when each would have fired and cleared, and how many tasks had been hit by then.

use super::context::{Context, each, often, refer};
use crate::document::{Field, Reader};
use crate::units::SimDuration;

/// A rule: so much of something over a while, for so long.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Its name.
    pub name: String,
    /// The index of the traffic class that it watches.
    pub class: usize,
    /// What it watches.
    pub of: Watched,
    /// The value that it compares with.
    pub threshold: f64,
    /// Whether it holds above the threshold; else it holds below.
    pub above: bool,
    /// The span before each evaluation over which it looks; a multiple of `every`.
    pub over: SimDuration,
    /// How long it must have held before it fires.
    pub holds_for: SimDuration,
    /// How long it must not have held before it clears.
    pub clears_after: SimDuration,
    /// The time between two evaluations.
    pub every: SimDuration,
    /// How many tasks, requests or calls there must be in the span; with fewer it does not hold.
    pub minimum: u64,
}

/// What an alert watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Tasks that met their first 429 in the span ÷ tasks that arrived in it.
    TasksWith429,
    /// Tasks that met their first 529 or 503 in the span ÷ tasks that arrived in it.
    TasksWithOverload,
    /// Tasks that failed in the span ÷ tasks that ended in it.
    Failed,
    /// Requests answered 429 in the span ÷ requests that ended in it.
    Requests429,
    /// Requests answered 529 or 503 in the span ÷ requests that ended in it.
    RequestsOverload,
    /// Requests that ended in the span without their answer, for whatever reason ÷ requests that ended in it.
    RequestsFailed,
    /// Requests sent in the span ÷ calls that began in it.
    RequestsPerCall,
    /// Requests sent in the span, per second.
    Requests,
    /// Jobs in the queue at the instant of the evaluation.
    Queue,
}

/// What the threshold of an alert is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A share from 0 to 1; of tasks that meet something in a span in which few arrive also above.
    Share,
    /// One thing for each other thing.
    Ratio,
    /// Things per second.
    Rate,
    /// Things.
    Count,
}

impl Watched {
    /// All of them, each with its word.
    pub const ALL: [(&'static str, Watched); 9] = [
        ("tasks_with_429_share", Watched::TasksWith429),
        ("tasks_with_overload_share", Watched::TasksWithOverload),
        ("failed_share", Watched::Failed),
        ("requests_429_share", Watched::Requests429),
        ("requests_overload_share", Watched::RequestsOverload),
        ("requests_failed_share", Watched::RequestsFailed),
        ("requests_per_call", Watched::RequestsPerCall),
        ("requests", Watched::Requests),
        ("queue", Watched::Queue),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Watched::ALL.iter().find(|(_, of)| *of == self).map_or("", |(word, _)| word)
    }

    /// What its threshold is compared with.
    pub const fn scale(self) -> Scale {
        match self {
            Watched::RequestsPerCall => Scale::Ratio,
            Watched::Requests => Scale::Rate,
            Watched::Queue => Scale::Count,
            Watched::TasksWith429
            | Watched::TasksWithOverload
            | Watched::Failed
            | Watched::Requests429
            | Watched::RequestsOverload
            | Watched::RequestsFailed => Scale::Share,
        }
    }
}

/// The most alerts of a file.
const MOST: usize = 64;
/// The most evaluations within one span: a run keeps so many samples of each alert.
const MOST_SAMPLES: u64 = 10_000;

/// Reads all alerts.
pub(super) fn alerts(field: Option<&Field<'_>>, context: &Context<'_>) -> Option<Vec<Alert>> {
    let Some(field) = field else { return Some(Vec::new()) };
    let reader = field.table("alerts")?;
    let alerts = each(&reader, MOST, "alerts", |name, field| alert(name, field, context));
    reader.finish();
    alerts.into_iter().collect()
}

fn alert(name: &str, field: &Field<'_>, context: &Context<'_>) -> Option<Alert> {
    let reader = field.table("what it watches, and from where on it fires")?;
    let class = reader.need("class", "write the name of the traffic class that it watches");
    let class = class.and_then(|field| refer(&field, &context.classes, "traffic class", "traffic classes"));
    let of = reader.need("of", r#"write what it watches, such as "tasks_with_429_share""#);
    let of = of.and_then(|field| field.word(&Watched::ALL));
    let bound = reader.only(&["above", "below"]);
    let above = bound.as_ref().is_some_and(|(word, _)| *word == "above");
    let threshold = bound.as_ref().zip(of).and_then(|((_, field), of)| threshold(field, of));
    let every = reader.or("every", SimDuration::from_secs(15), |field| often(field, context));
    let over = over(&reader, of, every);
    let holds_for = reader.or("for", SimDuration::ZERO, Field::duration);
    let clears_after = reader.or("clears_after", SimDuration::ZERO, Field::duration);
    let minimum = reader.or("minimum", 1, |field| match of {
        Some(Watched::Queue | Watched::Requests) => {
            field.wrong("has nothing to count: it is no share and no ratio", "leave it out")
        }
        Some(_) | None => field.whole(1..=1_000_000_000),
    });
    reader.finish();
    Some(Alert {
        name: name.to_owned(),
        class: class?,
        of: of?,
        threshold: threshold?,
        above,
        over: over?,
        holds_for: holds_for?,
        clears_after: clears_after?,
        every: every?,
        minimum: minimum?,
    })
}

fn threshold(field: &Field<'_>, of: Watched) -> Option<f64> {
    match of.scale() {
        Scale::Share => field.ratio(),
        Scale::Ratio => field.number(0.0..=1e9),
        Scale::Rate => field.rate(),
        Scale::Count => field.whole(0..=1_000_000_000).map(|count| count as f64),
    }
}

/// The span over which an alert looks.
fn over(reader: &Reader<'_>, of: Option<Watched>, every: Option<SimDuration>) -> Option<SimDuration> {
    let Some(field) = reader.get("over") else {
        // A minute, or the nearest whole number of evaluations above it.
        let every = every.unwrap_or(SimDuration::from_secs(15));
        let times = SimDuration::from_mins(1).as_nanos().div_ceil(every.as_nanos());
        return Some(if of == Some(Watched::Queue) { every } else { every.times(times) });
    };
    if of == Some(Watched::Queue) {
        return field.wrong("is a span, and a queue is as long as it is at an instant", "leave it out");
    }
    let over = field.positive_duration()?;
    let Some(every) = every else { return Some(over) };
    if !over.as_nanos().is_multiple_of(every.as_nanos()) {
        let near = every.times(over.as_nanos().div_ceil(every.as_nanos()));
        return field.wrong(
            format!("is no multiple of `every`, which is {every}"),
            format!("write \"{near}\", or another `every`"),
        );
    }
    if over.as_nanos() / every.as_nanos() > MOST_SAMPLES {
        return field
            .wrong(format!("holds more than {MOST_SAMPLES} evaluations"), "write a shorter span, or a longer `every`");
    }
    Some(over)
}
