//! Reading guards that adapt: limits of concurrency and rates that learn from results, and gates that a response closes; with the
//! ramps along which what was closed opens again.

use super::breaker::counted;
use super::failures::Failures;
use super::guards::{MOST_PERMITS, without_permit};
use super::hints;
use crate::document::{Field, Reader};
use crate::policy::adaptive_concurrency::SlowStart;
use crate::policy::adaptive_limit::{Aimd, Algorithm, Bounds, Gradient, Vegas};
use crate::policy::hint::AboveCap;
use crate::policy::shared_gate::Opens;
use crate::policy::{AdaptiveConcurrency, CubicRate, HintRule, OutcomeSet, Ramp, Semaphore, SharedGate, StatusSet};
use crate::units::SimDuration;

/// What only some algorithms have.
const OWN_KEYS: [(&str, &[&str]); 3] = [
    ("aimd", &["backoff", "timeout", "grows"]),
    ("gradient", &["tolerance", "smoothing", "long_window", "queue"]),
    ("vegas", &["alpha", "beta", "threshold", "increase", "decrease", "smoothing", "probe"]),
];

/// The library's limits at the start, at least and at most, by the algorithm.
const BOUNDS: [(&str, Bounds); 3] = [
    ("aimd", Bounds { initial: 20, min: 20, max: 200 }),
    ("gradient", Bounds { initial: 20, min: 20, max: 200 }),
    ("vegas", Bounds { initial: 20, min: 1, max: 1000 }),
];

pub(super) fn concurrency(field: &Field<'_>) -> Option<AdaptiveConcurrency> {
    let reader = field.table("an adaptive limit's settings")?;
    let algorithm = reader.need("algorithm", r#"write "aimd", "gradient" or "vegas""#);
    let word = algorithm.and_then(|field| field.word(&["aimd", "gradient", "vegas"].map(|word| (word, word))));
    let Some(word) = word else {
        for (_, keys) in OWN_KEYS {
            reader.knows(keys);
        }
        reader.knows(&["initial", "min", "max", "slow_start", "drops", "ignores"]);
        reader.knows(&["when_full", "wait_at_most", "line_at_most", "line_full", "block_for"]);
        reader.finish();
        return None;
    };
    let is_sound = keeps_to_its_keys(&reader, word);
    let bounds = bounds(&reader, word);
    let slow_start = reader.maybe("slow_start", |field| slow_start(field, &reader, bounds));
    let drops = reader.get("drops").map_or(Some(DROPS), |field| counted(&field));
    let ignores = reader.get("ignores").map_or(Some(ALL), |field| ignored(&field));
    let algorithm = match word {
        "aimd" => aimd(&reader),
        "gradient" => gradient(&reader),
        _ => vegas(&reader),
    };
    let waits = without_permit(&reader);
    reader.finish();
    let ((when_full, line), bounds) = (waits?, bounds?);
    let (drops, ignores) = (drops?, ignores?);
    is_sound.then_some(AdaptiveConcurrency {
        algorithm: algorithm?,
        bounds,
        semaphore: Semaphore { permits: bounds.max, when_full, line, is_pool: false },
        drops: (drops.statuses, drops.outcomes),
        ignores: (ignores.statuses, ignores.outcomes),
        slow_start: slow_start?,
    })
}

/// What is a drop where nothing else is said.
const DROPS: Failures =
    Failures { statuses: StatusSet::EMPTY.with(429).with(503).with(529), outcomes: OutcomeSet::TIMEOUTS };

/// Every failure.
const ALL: Failures = Failures { statuses: StatusSet::ERRORS, outcomes: OutcomeSet::FAILURES };

fn ignored(field: &Field<'_>) -> Option<Failures> {
    match field.node.as_str() {
        Some("any") => Some(ALL),
        Some("none") => Some(Failures::default()),
        Some(_) => {
            field.must(r#"be "any", "none" or a list of failures"#, r#"write "any" or a list such as [400, 404]"#)
        }
        None => counted(field),
    }
}

/// Whether every key is one of this algorithm.
fn keeps_to_its_keys(reader: &Reader<'_>, word: &str) -> bool {
    let own = OWN_KEYS.iter().find(|(name, _)| *name == word).map_or(&[][..], |(_, keys)| keys);
    let mut foreign: Vec<&str> = Vec::new();
    for (name, keys) in OWN_KEYS {
        for key in keys.iter().filter(|key| !own.contains(key)) {
            let Some(field) = reader.get(key).filter(|_| !foreign.contains(key)) else { continue };
            foreign.push(key);
            field.wrong::<()>(format!(r#"is of the algorithm "{name}""#), "leave it out");
        }
    }
    foreign.is_empty()
}

fn bounds(reader: &Reader<'_>, word: &str) -> Option<Bounds> {
    let usual = BOUNDS.iter().find(|(name, _)| *name == word)?.1;
    let limit = |field: &Field<'_>| field.whole(1..=MOST_PERMITS).map(|limit| limit as u32);
    let (initial, max) = (reader.maybe("initial", limit), reader.or("max", usual.max, limit));
    let min = reader.maybe("min", limit);
    let (initial_said, max, min_said) = (initial?, max?, min?);
    // Whoever begins or ends below the library's least limit does not mean that one.
    let min = min_said.unwrap_or_else(|| usual.min.min(initial_said.unwrap_or(usual.initial)).min(max));
    let initial = initial_said.unwrap_or_else(|| usual.initial.clamp(min, max.max(min)));
    if let (true, Some(field)) = (min > max, reader.get("min")) {
        return field.wrong("is above `max`", "write a smaller `min`, or a larger `max`");
    }
    if let (false, Some(field)) = ((min..=max).contains(&initial), reader.get("initial")) {
        return field.wrong(format!("is not within {min} to {max}"), "write it between `min` and `max`");
    }
    Some(Bounds { initial, min, max })
}

fn slow_start(field: &Field<'_>, outer: &Reader<'_>, bounds: Option<Bounds>) -> Option<SlowStart> {
    let reader = field.table("from and until")?;
    let most = bounds.map_or(MOST_PERMITS, |bounds| u64::from(bounds.max));
    let from = reader.or("from", 1, |field| field.whole(1..=most));
    let until = reader.or("until", most, |field| {
        if from.is_some_and(|from| from >= most) {
            return field.wrong("is nowhere above `from`", "write a smaller `from`");
        }
        field.whole(from.unwrap_or(1) + 1..=most)
    });
    reader.finish();
    if outer.get("initial").is_some() {
        return field.wrong("begins with its own `from`, and `initial` says another limit", "keep one of them");
    }
    Some(SlowStart { from: from? as u32, until: until? as u32 })
}

fn aimd(reader: &Reader<'_>) -> Option<Algorithm> {
    let backoff = reader.or("backoff", 0.9, |field| match field.number(0.5..=1.0)? {
        backoff if backoff < 1.0 => Some(backoff),
        _ => field.must("be below 1", "a drop makes the limit smaller"),
    });
    let timeout = reader.or("timeout", SimDuration::from_secs(5), Field::positive_duration);
    let words = [("each_result", false), ("each_round", true)];
    let by_rounds = reader.or("grows", false, |field| field.word(&words));
    Some(Algorithm::Aimd(Aimd { backoff: backoff?, timeout: timeout?, by_rounds: by_rounds? }))
}

fn smoothing(reader: &Reader<'_>, usual: f64) -> Option<f64> {
    reader.or("smoothing", usual, |field| match field.number(0.0..=1.0)? {
        0.0 => field.must("be above 0", "with 0 the limit never moves"),
        smoothing => Some(smoothing),
    })
}

fn gradient(reader: &Reader<'_>) -> Option<Algorithm> {
    let tolerance = reader.or("tolerance", 1.5, |field| field.number(1.0..=1_000.0));
    let smoothing = smoothing(reader, 0.2);
    let long_window = reader.or("long_window", 600, |field| field.whole(1..=1_000_000));
    let queue = reader.or("queue", 4, |field| field.whole(0..=MOST_PERMITS));
    Some(Algorithm::Gradient(Gradient {
        tolerance: tolerance?,
        smoothing: smoothing?,
        long_window: long_window? as u32,
        queue: queue? as u32,
    }))
}

fn vegas(reader: &Reader<'_>) -> Option<Algorithm> {
    let number = |key| reader.maybe(key, |field| field.whole(0..=MOST_PERMITS).map(|n| n as u32));
    let [alpha, beta] = ["alpha", "beta"].map(number);
    let [threshold, increase, decrease] = ["threshold", "increase", "decrease"].map(number);
    let smoothing = smoothing(reader, 1.0);
    let probe = reader.or("probe", 30, |field| field.whole(1..=1_000_000));
    let vegas = Vegas {
        alpha: alpha?,
        beta: beta?,
        threshold: threshold?,
        increase: increase?,
        decrease: decrease?,
        smoothing: smoothing?,
        probe: probe? as u32,
    };
    if let (Some(alpha), Some(beta), Some(field)) = (vegas.alpha, vegas.beta, reader.get("alpha"))
        && alpha > beta
    {
        return field.wrong("is above `beta`", "write a smaller `alpha`, or a larger `beta`");
    }
    Some(Algorithm::Vegas(vegas))
}

pub(super) fn gate(field: &Field<'_>) -> Option<SharedGate> {
    let reader = field.table("a gate's settings")?;
    let of = reader.need("of", "write the failures that close it, such as [429]").and_then(|field| counted(&field));
    let time = reader.need("for", r#"write how long it is closed where no hint says it, such as "30s""#);
    let time = time.and_then(|field| field.positive_duration());
    let hint = reader.or("hint", HintRule::OBEY, |field| {
        let rule = hints::rule(field)?;
        let (jittered, gives_up) = match rule {
            HintRule::Obey { above, jittered, .. } => (jittered, above == AboveCap::GiveUp),
            HintRule::AtLeast { jittered } => (jittered, false),
            HintRule::Ignore | HintRule::Near { .. } => (false, false),
        };
        if jittered {
            return field.wrong("has a jitter, and a gate is closed for all equally long", "write `opens` for that");
        }
        if gives_up {
            return field.wrong("gives up, and a gate has nothing to give up", "write another `above`");
        }
        Some(rule)
    });
    let at_most = reader.or("at_most", SimDuration::MAX, |field| {
        let at_most = field.positive_duration()?;
        if time.is_some_and(|time| time > at_most) {
            return field.wrong("is shorter than `for`", "write a longer `at_most`");
        }
        Some(at_most)
    });
    let rejects = reader.or("when_closed", false, |field| field.word(&[("wait", false), ("reject", true)]));
    let opens = reader.or("opens", Opens::All, opens);
    if let (Some(Opens::Spread(_) | Opens::Each(_)), Some(true), Some(field)) = (opens, rejects, reader.get("opens")) {
        return field
            .wrong("is for those who wait, and nobody waits where `when_closed` is \"reject\"", "keep one of them");
    }
    reader.finish();
    let of = of?;
    Some(SharedGate {
        statuses: of.statuses,
        outcomes: of.outcomes,
        time: time?,
        hint: hint?,
        at_most: at_most?,
        rejects: rejects?,
        opens: opens?,
    })
}

pub(super) fn rate(field: &Field<'_>) -> Option<CubicRate> {
    let reader = field.table("an adaptive rate's settings")?;
    let algorithm = reader.need("algorithm", r#"write "cubic""#).and_then(|field| field.word(&[("cubic", ())]));
    let of = reader.need("of", "write what says that requests come too fast, such as [429]");
    let of = of.and_then(|field| counted(&field));
    let beta = reader.or("beta", 0.7, |field| match field.number(0.0..=1.0)? {
        beta if beta > 0.0 && beta < 1.0 => Some(beta),
        _ => field.must("be above 0 and below 1", "a throttling response makes the rate smaller"),
    });
    let scale = reader.or("scale", 0.4, |field| field.number(0.001..=1_000.0));
    let smoothing = smoothing(&reader, 0.8);
    let min_rate = reader.or("min_rate", 0.5, |field| match field.rate()? {
        rate if rate > 0.0 => Some(rate),
        _ => field.must("be above 0", r#"write the least rate, such as "0.5/s""#),
    });
    reader.finish();
    let (of, ()) = (of?, algorithm?);
    Some(CubicRate {
        statuses: of.statuses,
        outcomes: of.outcomes,
        beta: beta?,
        scale: scale?,
        smoothing: smoothing?,
        min_rate: min_rate?,
    })
}

fn opens(field: &Field<'_>) -> Option<Opens> {
    if field.node.as_table().is_none() {
        return field.word(&[("all", Opens::All)]);
    }
    let reader = field.table("one way")?;
    let chosen = reader.only(&["spread", "each", "ramp"]);
    reader.finish();
    match chosen? {
        ("spread", field) => field.positive_duration().map(Opens::Spread),
        ("each", field) => field.positive_duration().map(Opens::Each),
        (_, field) => ramp(&field).map(Opens::Ramp),
    }
}

/// A ramp.
pub(super) fn ramp(field: &Field<'_>) -> Option<Ramp> {
    let reader = field.table("from and over")?;
    let from = reader.or("from", 0.1, |field| match field.ratio()? {
        from if from > 0.0 => Some(from),
        _ => field.must("be above 0", "nothing would pass at first"),
    });
    let over = reader.need("over", r#"write how long it takes until everything passes, such as "2m""#);
    let over = over.and_then(|field| field.positive_duration());
    let aggression = reader.or("aggression", 1.0, |field| field.number(0.01..=100.0));
    let at_start = reader.or("at_start", false, Field::truth);
    reader.finish();
    Some(Ramp { from: from?, over: over?, aggression: aggression?, at_start: at_start? })
}
