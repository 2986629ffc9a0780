//! Libraries that count requests and refuse: limits, governor, ratelimit, pyrate-limiter, and npm's limiter, each as a
//! limit of the provider.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::limiter::{Read, differences, number};
use super::{Case, Library};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 5] = [
    Library { file: "limits-5.8.0", most_left_out: 3, held: limits },
    Library { file: "governor-0.10.4", most_left_out: 3, held: governor },
    Library { file: "ratelimit-2.0.0", most_left_out: 10, held: ratelimit },
    Library { file: "pyrate-limiter-4.5.1", most_left_out: 10, held: pyrate },
    Library { file: "limiter-4.1.0", most_left_out: 10, held: npm },
];

type Held = Result<Vec<String>, &'static str>;

fn limits(case: &Case) -> Held {
    let (amount, per) = case.settings["limit"].as_str().and_then(|text| text.split_once('/')).unwrap_or_default();
    let per: u64 = match per {
        "minute" => 60,
        "second" => 1,
        _ => 10,
    };
    let (per_nanos, algorithm, read) = match case.settings["strategy"].as_str() {
        Some("fixed_window") => {
            let window = "fixed_window\"\naligned = \"first_request\"\nrefused_costs = \"tokens";
            (per * 1_000_000_000, window, Read::EXACTLY)
        }
        // What is exactly as old as the period still counts, but is no longer in what it says is left.
        Some("moving_window") => (per * 1_000_000_000 + 1, "sliding_log", Read { left_behind: true, ..Read::EXACTLY }),
        _ => {
            let read = Read { grid: part_of_window(per as f64), ..Read::EXACTLY };
            (per * 1_000_000_000, "sliding_weighted\"\nlast_window = \"rounded_down", read)
        }
    };
    let table = format!("amount = {amount}\nper = \"{per_nanos}ns\"\nalgorithm = \"{algorithm}\"");
    Ok(differences(case, &[table], read))
}

/// The library divides the wall clock by the period, in doubles: the part of the window that is over is known to so many
/// seconds, and what is rounded down depends on that where it is a whole number.
fn part_of_window(per: f64) -> f64 {
    // Seconds since 1970, in these years.
    let periods = 1.8e9 / per;
    per * (f64::from_bits(periods.to_bits() + 1) - periods)
}

fn governor(case: &Case) -> Held {
    let setting = |key: &str| case.settings.get(key).and_then(Value::as_f64);
    let (amount, per) = match (setting("per_second"), setting("per_minute"), setting("period")) {
        (Some(amount), ..) => (amount, 1.0),
        (_, Some(amount), _) => (amount, 60.0),
        (.., period) => (1.0, period.unwrap_or(f64::NAN)),
    };
    let capacity = setting("burst").unwrap_or(amount) * per / amount;
    let table = format!("amount = {amount}\nper = \"{per}s\"\nalgorithm = \"gcra\"\ncapacity = \"{capacity}s\"");
    Ok(differences(case, &[table], Read::EXACTLY))
}

fn ratelimit(case: &Case) -> Held {
    let settings = Value::Object(case.settings.clone());
    let (rate, per) = (number(&settings, "rate"), number(&settings, "period"));
    let capacity = number(&settings, "max_tokens_effective") * per / rate;
    let table = format!("amount = {rate}\nper = \"{per}s\"\ncapacity = \"{capacity}s\"");
    // It starts empty unless told otherwise, as a bucket that others have just used up.
    let empty = settings["initial_available"].is_null();
    Ok(differences(case, &[table], Read { empty, ..Read::EXACTLY }))
}

fn pyrate(case: &Case) -> Held {
    let algorithm = case.settings["algorithm"].as_str().unwrap_or_default();
    let table = |rate: &Value| {
        let (limit, mut per) = (number(rate, "limit"), number(rate, "interval"));
        let algorithm = match algorithm {
            // A request must be older than the interval, and its clock counts milliseconds.
            "sliding_window_log" => {
                per += 0.001;
                "sliding_log"
            }
            // Thirds of a second are doubles, which add up to a little more.
            "gcra" | "token_bucket" if (per * 1_000.0) % limit != 0.0 => {
                per += 0.000_001;
                algorithm
            }
            other => other,
        };
        format!("amount = {limit}\nper = \"{per}s\"\nalgorithm = \"{algorithm}\"")
    };
    let tables: Vec<String> = case.settings["rates"].as_array().into_iter().flatten().map(table).collect();
    Ok(differences(case, &tables, Read { waits_to: 1_000_000, ..Read::EXACTLY }))
}

fn npm(case: &Case) -> Held {
    if case.events.iter().any(|event| event["op"] == "acquire") {
        return super::paced::npm(case);
    }
    let amount = &case.settings["tokensPerInterval"];
    let per = if case.settings["interval"] == "minute" { 60 } else { 1 };
    let size = case.settings.get("bucketSize").and_then(Value::as_u64).unwrap_or(amount.as_u64().unwrap_or_default());
    let capacity = size * per * 1_000 / amount.as_u64().unwrap_or(1);
    let bucket = format!("amount = {amount}\nper = \"{per}s\"\ncapacity = \"{capacity}ms\"");
    let is_plain = case.settings["class"] == "TokenBucket";
    let window = format!("amount = {amount}\nper = \"{per}s\"\nalgorithm = \"fixed_window\"");
    let tables = if is_plain { vec![bucket] } else { vec![bucket, window] };
    // What is left is the bucket's alone.
    Ok(differences(case, &tables, Read { left: is_plain, empty: is_plain, ..Read::EXACTLY }))
}
