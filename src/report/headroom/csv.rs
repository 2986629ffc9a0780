//! The curve as a table: one row for each value, weather and background class. A cell that is not defined is empty.

use std::io;

use super::Asked;
use crate::experiment::compare::Cell;
use crate::report::csv::cell;

/// `headroom.csv`. Times are in seconds, shares from 0 to 1.
pub fn table(asked: &Asked<'_>) -> io::Result<Vec<u8>> {
    const HEAD: [&str; 24] = [
        "number",
        "text",
        "case",
        "seeds",
        "kept",
        "lower",
        "upper",
        "standing",
        "live_429_mean",
        "live_429_p5",
        "live_429_p95",
        "live_429_run_mean",
        "queue_back_s_mean",
        "queue_back_never_n",
        "class",
        "latency_all_p95_s_mean",
        "latency_all_p95_s_p5",
        "latency_all_p95_s_p95",
        "latency_all_p95_never_n",
        "failed_share_mean",
        "not_delivered_share_mean",
        "queue_peak_mean",
        "queue_peak_p5",
        "queue_peak_p95",
    ];
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD)?;
    let mean = |of: &Cell| cell(of.statistic.as_ref().map(|statistic| statistic.mean));
    let low = |of: &Cell| cell(of.statistic.as_ref().map(|statistic| statistic.p5));
    let high = |of: &Cell| cell(of.statistic.as_ref().map(|statistic| statistic.p95));
    for point in &asked.found.points {
        for met in &point.cases {
            for cost in &met.costs {
                writer.write_record([
                    cell(Some(point.number)),
                    point.text.clone(),
                    met.case.word().to_owned(),
                    point.seeds.to_string(),
                    met.kept.to_string(),
                    cell(Some(met.lower)),
                    cell(Some(met.upper)),
                    met.standing.word().to_owned(),
                    mean(&met.rate),
                    low(&met.rate),
                    high(&met.rate),
                    mean(&met.whole),
                    mean(&met.drained),
                    met.drained.never.to_string(),
                    cost.class.clone(),
                    mean(&cost.latency),
                    low(&cost.latency),
                    high(&cost.latency),
                    cost.latency.never.to_string(),
                    mean(&cost.failed),
                    mean(&cost.not_delivered),
                    mean(&cost.queue),
                    low(&cost.queue),
                    high(&cost.queue),
                ])?;
            }
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}
