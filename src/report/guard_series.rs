//! The series of guards and retry budgets, for documents and tables: by name, in wide bins.

use serde_json::{Map, Value, json};

use super::json::{real, wide_of};
use super::story::Subject;
use crate::observe::{GuardSeries, Timeline};

/// One column of a table, or one list of a document.
struct Column {
    /// What it is: `open_mean`.
    key: &'static str,
    values: Vec<f64>,
}

/// The series of a guard or a budget in wide bins. A level that falls is told at its lowest.
fn columns(timeline: &Timeline, series: &GuardSeries, falls: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut put = |key, values| columns.push(Column { key, values });
    put("asked", sums(timeline, &series.asked));
    put("refused", sums(timeline, &series.refused));
    put("waiting_mean", means(timeline, &series.waiting));
    if !series.shut.is_empty() {
        put("open_mean", means(timeline, &series.shut));
        put("half_open_mean", means(timeline, &series.ajar));
        put("trips", sums(timeline, &series.trips));
    }
    if !series.level.is_empty() {
        let key = if falls { "level_lowest" } else { "level_highest" };
        put(key, extremes(timeline, &series.level, falls));
    }
    if !series.mean.is_empty() {
        put("level_mean", means(timeline, &series.mean));
    }
    if !series.bound.is_empty() {
        put("bound_lowest", extremes(timeline, &series.bound, true));
        put("bound_mean", means(timeline, &series.bound_mean));
    }
    columns
}

/// All guards and budgets with their names in tables and whether their level falls.
fn all<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = (String, &'a GuardSeries, bool)> {
    let timeline = &subject.result.timeline;
    let guards = subject.scenario.guards.iter().zip(&timeline.guards);
    let guards =
        guards.map(|(guard, series)| (format!("guard_{}", guard.name), series, guard.mechanism.has_a_falling_level()));
    guards.chain(
        timeline
            .budgets
            .iter()
            .map(|budget| (format!("budget_{}_{}", budget.client, budget.layer), &budget.series, budget.gauge.falls)),
    )
}

/// The columns of a table with one row for each wide bin: their names and values.
pub(super) fn table(subject: &Subject<'_>) -> Vec<(String, Vec<f64>)> {
    let timeline = &subject.result.timeline;
    all(subject)
        .flat_map(|(name, series, falls)| {
            let columns = columns(timeline, series, falls);
            columns.into_iter().map(move |column| (format!("{name}_{}", column.key), column.values))
        })
        .collect()
}

/// The guards and the budgets of a document.
pub(super) fn documents(subject: &Subject<'_>) -> (Map<String, Value>, Vec<Value>) {
    let timeline = &subject.result.timeline;
    let one = |series: &GuardSeries, falls: bool| {
        let mut out = Map::new();
        out.insert("instances".to_owned(), series.instances.into());
        for Column { key, values } in columns(timeline, series, falls) {
            let whole = matches!(key, "asked" | "refused" | "trips");
            let value = |value: f64| if whole { (value as u64).into() } else { real((value * 1e6).round() / 1e6) };
            out.insert(key.to_owned(), values.into_iter().map(value).collect());
        }
        out
    };
    let guards = subject.scenario.guards.iter().zip(&timeline.guards);
    let guards = guards.map(|(guard, series)| {
        let falls = guard.mechanism.has_a_falling_level();
        (guard.name.clone(), one(series, falls).into())
    });
    let guards = guards.collect();
    let budgets = timeline.budgets.iter().map(|budget| {
        let mut out = one(&budget.series, budget.gauge.falls);
        out.insert("client".to_owned(), budget.client.as_str().into());
        out.insert("layer".to_owned(), budget.layer.as_str().into());
        out.insert("counts".to_owned(), budget.gauge.unit.into());
        out.insert("top".to_owned(), json!(budget.gauge.top));
        out.insert("bound".to_owned(), json!(budget.gauge.bound));
        out.into()
    });
    (guards, budgets.collect())
}

fn sums(timeline: &Timeline, narrow: &[u32]) -> Vec<f64> {
    gathered(timeline, narrow.iter().map(|n| f64::from(*n)), 0.0, |sum, n, _| sum + n)
}

fn means(timeline: &Timeline, narrow: &[f32]) -> Vec<f64> {
    gathered(timeline, narrow.iter().map(|n| f64::from(*n)), 0.0, |mean, n, before| {
        mean + (n - mean) / f64::from(before + 1)
    })
}

fn extremes(timeline: &Timeline, narrow: &[f32], lowest: bool) -> Vec<f64> {
    gathered(timeline, narrow.iter().map(|n| f64::from(*n)), 0.0, |extreme, n, before| match (before, lowest) {
        (0, _) => n,
        (_, true) => extreme.min(n),
        (_, false) => extreme.max(n),
    })
}

/// Narrow bins put together in wide ones; `join` knows how many it has put together before.
fn gathered(
    timeline: &Timeline,
    narrow: impl Iterator<Item = f64>,
    start: f64,
    join: impl Fn(f64, f64, u32) -> f64,
) -> Vec<f64> {
    let mut out = vec![(start, 0); timeline.wides];
    for (i, value) in narrow.enumerate() {
        if let Some((so_far, before)) = out.get_mut(wide_of(timeline, i)) {
            *so_far = join(*so_far, value, *before);
            *before += 1;
        }
    }
    out.into_iter().map(|(value, _)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    #[test]
    fn narrow_bins_become_wide_ones_by_what_they_hold() {
        // By hand: 6 bins of 10 s to a minute, two minutes.
        let timeline = Timeline::new(SimDuration::from_mins(12), &[], 0);
        let per = (timeline.wide.as_nanos() / timeline.bin.as_nanos()) as usize;
        let mut narrow = vec![1.0_f32; timeline.bins];
        narrow[0] = 4.0;
        narrow[per] = 0.25;
        let mean = 1.0 + 3.0 / per as f64;
        assert!((means(&timeline, &narrow)[0] - mean).abs() < 1e-6);
        assert_eq!(extremes(&timeline, &narrow, true)[..3], [1.0, 0.25, 1.0]);
        assert_eq!(extremes(&timeline, &narrow, false)[..3], [4.0, 1.0, 1.0]);
        let counts: Vec<u32> = narrow.iter().map(|n| *n as u32).collect();
        assert_eq!(sums(&timeline, &counts)[..2], [per as f64 + 3.0, per as f64 - 1.0]);
    }
}
