//! Reading the algorithm of a limit with its settings.

use crate::document::{Fault, Field, Reader};
use crate::policy::TokenBucket;
use crate::policy::fixed_window::{Begins, FixedWindow};
use crate::policy::gcra::Gcra;
use crate::policy::growth::Growth;
use crate::policy::leaky_bucket::LeakyBucket;
use crate::policy::meter::Meter;
use crate::policy::sliding_log::SlidingLog;
use crate::policy::sliding_weighted::SlidingWeighted;
use crate::units::SimDuration;
use crate::units::parse::LARGEST;

/// The algorithms by their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    TokenBucket,
    LeakyBucket,
    Gcra,
    FixedWindow,
    SlidingLog,
    SlidingWeighted,
    Growth,
}

const WORDS: [(&str, Algorithm); 7] = [
    ("token_bucket", Algorithm::TokenBucket),
    ("leaky_bucket", Algorithm::LeakyBucket),
    ("gcra", Algorithm::Gcra),
    ("fixed_window", Algorithm::FixedWindow),
    ("sliding_log", Algorithm::SlidingLog),
    ("sliding_weighted", Algorithm::SlidingWeighted),
    ("growth", Algorithm::Growth),
];

/// The keys that some algorithms take, and the reason why the others do not.
const OWN: [(&str, &[Algorithm], &str); 6] = [
    (
        "capacity",
        &[Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra],
        "only buckets have a capacity: a window holds its amount",
    ),
    ("aligned", &[Algorithm::FixedWindow], "only fixed windows are aligned to something"),
    ("offset", &[Algorithm::FixedWindow], "only fixed windows begin at an offset"),
    ("sub_windows", &[Algorithm::FixedWindow], "only fixed windows have sub-windows"),
    ("growth", &[Algorithm::Growth], r#"only the algorithm "growth" limits growth"#),
    ("last_window", &[Algorithm::SlidingWeighted], r#"only the algorithm "sliding_weighted" looks at the last window"#),
];

/// The most units of an amount whose units have so many parts.
pub(super) const fn most(scale: u64) -> u64 {
    if scale > 1_000 { 1_000_000_000 } else { LARGEST }
}

/// Reads the amount in parts of a unit.
pub(super) fn amount(field: &Field<'_>, scale: u64) -> Option<u64> {
    Some(field.whole(1..=most(scale))? * scale)
}

/// Reads the algorithm and its settings; a unit of the amount has so many parts.
pub(super) fn meter(reader: &Reader<'_>, scale: u64) -> Option<Meter> {
    let amount = reader.need("amount", r#"write how much flows in during `per`, such as "700k""#);
    let amount = amount.and_then(|field| self::amount(&field, scale));
    let per = reader.need("per", r#"write the period of `amount`, such as "1m""#);
    let per = per.and_then(|field| field.positive_duration());
    let algorithm = reader.or("algorithm", Algorithm::TokenBucket, |field| field.word(&WORDS));
    let Some(algorithm) = algorithm else {
        reader.knows(&OWN.map(|(key, ..)| key));
        return None;
    };
    let mut sound = true;
    for (key, takes, why) in OWN {
        if !takes.contains(&algorithm)
            && let Some(field) = reader.get(key)
        {
            reader.faults().add(Fault::new(field.key, why).hint("leave it out, or choose another `algorithm`"));
            sound = false;
        }
    }
    let meter = match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => bucket(reader, algorithm, amount, per),
        Algorithm::FixedWindow => fixed_window(reader, amount, per, scale),
        Algorithm::SlidingLog => sliding(amount, per, |amount, per| Meter::SlidingLog(SlidingLog { amount, per })),
        Algorithm::SlidingWeighted => {
            let words = [("exact", false), ("rounded_down", true)];
            let whole = reader.or("last_window", false, |field| field.word(&words))?;
            sliding(amount, per, |amount, per| Meter::SlidingWeighted(SlidingWeighted { amount, per, whole }))
        }
        Algorithm::Growth => growth(reader, amount, per),
    };
    meter.filter(|_| sound)
}

fn sliding(
    amount: Option<u64>,
    per: Option<SimDuration>,
    make: impl FnOnce(u64, SimDuration) -> Meter,
) -> Option<Meter> {
    Some(make(amount?, per?))
}

fn bucket(reader: &Reader<'_>, algorithm: Algorithm, amount: Option<u64>, per: Option<SimDuration>) -> Option<Meter> {
    let capacity_field = reader.get("capacity");
    let capacity = match &capacity_field {
        None => per,
        Some(field) => field.positive_duration(),
    };
    let (amount, per, capacity) = (amount?, per?, capacity?);
    let meter = match algorithm {
        Algorithm::LeakyBucket => Meter::LeakyBucket(LeakyBucket { amount, per, capacity }),
        Algorithm::Gcra => Meter::Gcra(Gcra { amount, per, tolerance: capacity }),
        _ => Meter::TokenBucket(TokenBucket::new(amount, per, capacity)?),
    };
    if meter.largest() == 0
        && let Some(field) = capacity_field
    {
        return field.must("be long enough to hold one", r#"write the time in which the bucket fills, such as "1m""#);
    }
    Some(meter)
}

fn fixed_window(reader: &Reader<'_>, amount: Option<u64>, per: Option<SimDuration>, scale: u64) -> Option<Meter> {
    let parts_field = reader.get("sub_windows");
    let parts = parts_field.as_ref().map_or(Some(1), |field| field.whole(1..=1_000_000));
    let aligned = reader.or("aligned", false, |field| field.word(&[("clock", false), ("first_request", true)]));
    let offset_field = reader.get("offset");
    let offset = offset_field.as_ref().map_or(Some(SimDuration::ZERO), Field::duration);
    let begins = match (aligned?, offset_field) {
        (true, Some(field)) => {
            let message = "a window that the first request opens has no offset";
            reader.faults().add(Fault::new(field.key, message).hint("leave it out"));
            return None;
        }
        (true, None) => Begins::FirstCharge,
        (false, _) => Begins::Clock(offset?),
    };
    let (amount, per, parts) = (amount?, per?, parts?);
    let sub_windows = parts as u32;
    if let Some(field) = parts_field
        && (amount / parts < scale || per.as_nanos() < parts)
    {
        return field.must("leave at least one for each of them", "write fewer sub-windows");
    }
    Some(Meter::FixedWindow(FixedWindow { amount, per, sub_windows, begins }))
}

fn growth(reader: &Reader<'_>, amount: Option<u64>, per: Option<SimDuration>) -> Option<Meter> {
    let hint = r#"write by how much usage may grow, such as { by = "50%", within = "15m" }"#;
    let table = reader.need("growth", hint).and_then(|field| {
        let reader = field.table("by and within")?;
        let by = reader.need("by", r#"write by which part usage may grow, such as "50%""#);
        let by = by.and_then(|field| field.ratio());
        let within = reader.need("within", r#"write within how long, such as "15m""#);
        let within_field = within.as_ref().copied();
        let within = within.and_then(|field| field.positive_duration());
        reader.finish();
        let (by, within) = (by?, within?);
        let periods = within.as_nanos() / per?.as_nanos();
        match within_field {
            Some(field) if !(1..=100_000).contains(&periods) => {
                field.must("be 1 to 100,000 times `per`", "write a longer time, or a shorter `per`")
            }
            _ => Some(((by * 1e6 + 0.5) as u64, periods as u32)),
        }
    });
    let (amount, per, (by_millionths, periods)) = (amount?, per?, table?);
    Some(Meter::Growth(Growth { amount, per, by_millionths, periods }))
}
