//! The JSON summary is a contract that programs read: a version in `format`, keys in a stated order, the same leaf
//! shape everywhere. One run's leaf is a number, over replicates it is a statistic, also for a single replicate; what
//! is undefined is null. The document holds no path and no time of day, so equal runs give equal bytes.

use serde_json::{Map, Value, json};

use crate::experiment::Figure;
use crate::metrics::Tree;
use crate::observe::Timeline;
use crate::observe::alerts::{AlertRecord, Firing};
use crate::observe::timeline::ClassSeries;
use crate::stats::Statistic;
use crate::units::SimTime;

use super::counting;
use super::story::Subject;

/// The version of the document.
pub const FORMAT: &str = "retrycast.summary/1";

/// The tables of figures, in the order in which the document has them.
pub const TABLES: [&str; 5] = ["classes", "phases", "recovery", "limits", "guards"];

/// The tables of figures that only some scenarios have; where there is one, it stands behind the others.
pub const RARE_TABLES: [&str; 3] = ["capacity", "alerts", "workers"];

/// The JSON summary of a run.
pub fn summary(subject: &Subject<'_>) -> Value {
    let (scenario, result) = (subject.scenario, subject.result);
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("format", FORMAT.into());
    put("scenario", scenario.name.as_str().into());
    put("title", scenario.title.as_str().into());
    put("variant", scenario.variant.as_str().into());
    put("seed", result.seed.0.into());
    put("replicates", result.replicates.into());
    put("digest", digest(result.digest).into());
    put("world_digest", digest(result.world_digest).into());
    put("horizon_s", real(scenario.horizon.as_secs_f64()));
    put("origin_s", real(scenario.origin.as_secs_f64()));
    put("counting", counting::SENTENCES.to_vec().into());
    for table in TABLES {
        put(table, result.figures.at(&[table]).map_or_else(|| Map::new().into(), tree));
    }
    for table in RARE_TABLES {
        if let Some(figures) = result.figures.at(&[table]) {
            put(table, tree(figures));
        }
    }
    if let Some(verdict) = super::sustain::document(subject) {
        put("verdict", verdict);
    }
    if result.replicates.is_none() {
        put("series", series(subject));
    }
    Value::Object(out)
}

/// The JSON summary as text: indented, with a line feed at its end.
pub fn text(subject: &Subject<'_>) -> String {
    format!("{:#}\n", summary(subject))
}

/// A digest as 16 hexadecimal digits: a JSON number would lose its last bits in most readers.
pub fn digest(value: u64) -> String {
    format!("{value:016x}")
}

fn tree(figures: &Tree<Figure>) -> Value {
    match figures {
        Tree::Leaf(figure) => leaf(figure),
        Tree::Table(branches) => {
            branches.iter().map(|(key, branch)| (key.clone(), tree(branch))).collect::<Map<_, _>>().into()
        }
    }
}

fn leaf(figure: &Figure) -> Value {
    match figure {
        Figure::One(number) if number.whole => whole(number.value),
        Figure::One(number) => real(number.value),
        Figure::Many { statistic, whole } => statistic_value(statistic.as_ref(), *whole),
    }
}

/// All keys stand in every statistic, so that readers need not ask; one that no replicate defines has n = 0.
pub(super) fn statistic_value(statistic: Option<&Statistic>, is_whole: bool) -> Value {
    let Some(s) = statistic else {
        return json!({
            "mean": null, "sd": null, "p5": null, "p50": null, "p95": null, "min": null, "max": null, "ci95": null,
            "n": 0,
        });
    };
    let extreme = |value| if is_whole { whole(value) } else { real(value) };
    let mut out = json!({
        "mean": real(s.mean),
        "sd": s.sd.map(real),
        "p5": real(s.p5),
        "p50": real(s.p50),
        "p95": real(s.p95),
        "min": extreme(s.min),
        "max": extreme(s.max),
        "ci95": s.ci95.map(|(low, high)| [real(low), real(high)]),
        "n": s.n,
    });
    if s.modes.len() > 1 {
        let modes = s.modes.iter().map(|mode| {
            json!({"share": real(mode.share), "mean": real(mode.mean), "min": real(mode.min), "max": real(mode.max)})
        });
        out["modes"] = modes.collect();
    }
    out
}

/// A count without a decimal point; beyond 2⁵³ a float no longer holds whole numbers, and is written as one.
fn whole(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e15 { (value as i64).into() } else { real(value) }
}

/// A float in the shortest spelling that reads back as itself; null where it is not finite.
pub(super) fn real(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn series(subject: &Subject<'_>) -> Value {
    let timeline = &subject.result.timeline;
    let wides = timeline.wides;
    let classes: Map<String, Value> = subject
        .scenario
        .traffic
        .iter()
        .zip(&timeline.classes)
        .map(|(class, series)| (class.name.clone(), class_series(timeline, series)))
        .collect();
    let limits: Map<String, Value> = subject
        .scenario
        .provider
        .limits
        .iter()
        .zip(&timeline.limits)
        .map(|(limit, curve)| (limit.name.clone(), json!({ "lowest_share": lowest(timeline, &curve.lowest) })))
        .collect();
    let mut series = json!({
        "bin_s": real(timeline.wide.as_secs_f64()),
        "from_s": (0..wides).map(|i| real(timeline.wide_start(i).as_secs_f64())).collect::<Value>(),
        "classes": classes,
        "limits": limits,
    });
    if !subject.scenario.pools.is_empty() {
        let pools = subject.scenario.pools.iter().zip(&timeline.pools);
        let pools: Map<String, Value> = pools
            .map(|(pool, series)| (pool.name.clone(), json!({ "most": highest(timeline, &series.workers) })))
            .collect();
        series["workers"] = Value::Object(pools);
    }
    let (guards, budgets) = super::guard_series::documents(subject);
    if !guards.is_empty() {
        series["guards"] = Value::Object(guards);
    }
    if !budgets.is_empty() {
        series["budgets"] = Value::Array(budgets);
    }
    if !subject.scenario.alerts.is_empty() {
        let alerts = subject.scenario.alerts.iter().zip(&subject.result.alerts);
        series["alerts"] = alerts.map(|(alert, record)| (alert.name.clone(), firings(record))).collect();
    }
    series
}

/// Every firing of an alert.
fn firings(record: &AlertRecord) -> Value {
    let seconds = |time: SimTime| real(time.as_secs_f64());
    let one = |firing: &Firing| {
        json!({
            "held_from_s": seconds(firing.held_from),
            "fired_s": seconds(firing.fired),
            "cleared_s": firing.cleared.map(seconds),
            "hit_before": firing.hit_before,
            "hit": firing.hit,
            "extreme": real(firing.extreme),
        })
    };
    record.firings.iter().map(one).collect()
}

fn class_series(timeline: &Timeline, series: &ClassSeries) -> Value {
    let defined = |value: Option<f64>| value.map_or(Value::Null, real);
    let queue = highest(timeline, &series.queue);
    let mut out = json!({
        "arrivals": series.wide_arrivals,
        "with_429_share": (0..timeline.wides).map(|i| defined(series.share_with_429(i))).collect::<Value>(),
        "calls": series.wide_calls,
        "requests_per_call": (0..timeline.wides).map(|i| defined(series.requests_per_call(i))).collect::<Value>(),
        "queue": queue,
    });
    if !series.copies.is_empty() {
        out["copies"] = highest(timeline, &series.copies).into();
    }
    if !series.hedges.is_empty() {
        out["hedges"] = highest(timeline, &series.hedges).into();
    }
    out
}

/// The wide bin in which narrow bin `i` begins.
pub fn wide_of(timeline: &Timeline, i: usize) -> usize {
    let wide = timeline.wide.as_nanos().max(1);
    ((timeline.bin_start(i).as_nanos() / wide) as usize).min(timeline.wides.saturating_sub(1))
}

/// The largest value of a narrow series within each wide bin.
pub fn highest(timeline: &Timeline, narrow: &[u32]) -> Vec<u32> {
    let mut out = vec![0; timeline.wides];
    for (i, value) in narrow.iter().enumerate() {
        if let Some(slot) = out.get_mut(wide_of(timeline, i)) {
            *slot = (*slot).max(*value);
        }
    }
    out
}

/// The smallest value of a narrow series of shares within each wide bin; 1 where there is none.
pub fn lowest(timeline: &Timeline, narrow: &[f32]) -> Vec<Value> {
    let mut out = vec![1.0_f32; timeline.wides];
    for (i, value) in narrow.iter().enumerate() {
        if let Some(slot) = out.get_mut(wide_of(timeline, i)) {
            *slot = slot.min(*value);
        }
    }
    // A narrow float has about seven digits; widened as it is it would print nine digits of noise.
    out.into_iter().map(|share| real((f64::from(share) * 1e6).round() / 1e6)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    const HEAD: [&str; 16] = [
        "format",
        "scenario",
        "title",
        "variant",
        "seed",
        "replicates",
        "digest",
        "world_digest",
        "horizon_s",
        "origin_s",
        "counting",
        "classes",
        "phases",
        "recovery",
        "limits",
        "guards",
    ];

    #[test]
    fn a_single_run_has_numbers_for_leaves_and_its_series() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let document = summary(&Subject::new(&scenario, &result));
        assert_eq!(keys(&document)[..16], HEAD);
        assert_eq!(keys(&document)[16], "series");
        assert_eq!(document["digest"], "9372f5b103e37352");
        assert_eq!(document["replicates"], Value::Null);
        let report = &document["phases"]["overload"]["classes"]["report"];
        assert_eq!(report["requests"].to_string(), "3920");
        assert_eq!(report["amplification"].to_string(), "9.333333333333334");
        assert_eq!(document["classes"]["live"]["tasks_with_429"].to_string(), "88");
        let series = &document["series"];
        assert_eq!(series["bin_s"], 60.0);
        assert_eq!(series["classes"]["report"]["queue"][21], 87);
        assert_eq!(series["limits"]["itpm"]["lowest_share"][33], 0.02);
        assert_eq!(series["from_s"].as_array().unwrap().len(), 120);
    }

    #[test]
    fn replicates_have_statistics_for_leaves_and_no_series() {
        let (scenario, result) = (fixture::scenario(), fixture::replicated());
        let document = summary(&Subject::new(&scenario, &result));
        assert_eq!(keys(&document), HEAD);
        let share = &document["phases"]["recovery"]["classes"]["live"]["tasks_with_429_share"];
        assert_eq!(keys(share), ["mean", "sd", "p5", "p50", "p95", "min", "max", "ci95", "n"]);
        assert_eq!(share["p95"], 0.24);
        let slowest = &document["classes"]["report"]["latency_s"]["max"];
        assert_eq!(slowest["modes"][0]["share"], 0.61);
    }

    #[test]
    fn one_replicate_is_still_a_statistic_without_spread() {
        let mut one = fixture::statistic(5.0, 5.0, 5.0);
        (one.sd, one.ci95, one.n) = (None, None, 1);
        let value = statistic_value(Some(&one), true);
        assert_eq!((&value["sd"], &value["ci95"], &value["n"]), (&Value::Null, &Value::Null, &json!(1)));
        assert_eq!(statistic_value(None, true)["n"], 0);
    }

    #[test]
    fn undefined_numbers_are_null_and_counts_have_no_point() {
        assert_eq!(real(f64::NAN), Value::Null);
        assert_eq!(real(f64::INFINITY), Value::Null);
        assert_eq!(whole(42.0).to_string(), "42");
        assert_eq!(real(0.1 + 0.2).to_string(), "0.30000000000000004");
    }
}
