//! Tables for spreadsheets and notebooks. A column's name says what it counts and ends in its unit; a cell that is not
//! defined is empty, so that no mean is taken over zeros that nobody measured.

use std::io;

use crate::experiment::Figure;
use crate::metrics::Tree;
use crate::observe::timeline::AnswerKind;

use super::json::{highest, wide_of};
use super::story::Subject;

/// `phases.csv`: one row for each phase and class. Over replicates each number has three columns.
pub fn phases(subject: &Subject<'_>) -> io::Result<Vec<u8>> {
    let mut rows = Vec::new();
    for phase in subject.phases() {
        for class in &subject.scenario.traffic {
            let figures = subject.result.figures.at(&["phases", phase, "classes", &class.name]);
            let mut cells = Vec::new();
            if let Some(figures) = figures {
                flatten(figures, &mut Vec::new(), &mut cells);
            }
            let (from, to) = subject.phase_span(phase).map_or((None, None), |(from, to)| (Some(from), Some(to)));
            rows.push(Row { phase, class: &class.name, from, to, cells });
        }
    }
    let columns = columns(&rows);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = ["phase", "class", "from_s", "to_s"].into_iter().map(str::to_owned);
    writer.write_record(head.chain(columns.iter().cloned()))?;
    for row in &rows {
        let fixed = [row.phase.to_owned(), row.class.to_owned(), cell(row.from), cell(row.to)];
        let value = |column: &String| {
            row.cells.iter().find(|(name, _)| name == column).map_or_else(String::new, |(_, value)| value.clone())
        };
        writer.write_record(fixed.into_iter().chain(columns.iter().map(value)))?;
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

struct Row<'a> {
    phase: &'a str,
    class: &'a str,
    from: Option<f64>,
    to: Option<f64>,
    cells: Vec<(String, String)>,
}

/// The columns of all rows, each row's in its own order: a class may have statuses that another has not.
fn columns(rows: &[Row<'_>]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for row in rows {
        let mut after = 0;
        for (name, _) in &row.cells {
            if let Some(at) = columns.iter().position(|column| column == name) {
                after = at + 1;
            } else {
                columns.insert(after, name.clone());
                after += 1;
            }
        }
    }
    columns
}

fn flatten<'a>(tree: &'a Tree<Figure>, path: &mut Vec<&'a str>, cells: &mut Vec<(String, String)>) {
    match tree {
        Tree::Table(branches) => {
            for (key, branch) in branches {
                path.push(key);
                flatten(branch, path, cells);
                path.pop();
            }
        }
        Tree::Leaf(Figure::One(number)) => cells.push((column(path, ""), cell(number.get()))),
        Tree::Leaf(Figure::Many { statistic, .. }) => {
            let s = statistic.as_ref();
            cells.push((column(path, "mean"), cell(s.map(|s| s.mean))));
            cells.push((column(path, "p5"), cell(s.map(|s| s.p5))));
            cells.push((column(path, "p95"), cell(s.map(|s| s.p95))));
        }
    }
}

/// `latency_s.p50` becomes `latency_p50_s`: the unit stays at the end.
fn column(path: &[&str], statistic: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut seconds = false;
    for word in path {
        let stripped = word.strip_suffix("_s");
        seconds |= stripped.is_some();
        words.push(stripped.unwrap_or(word));
    }
    if !statistic.is_empty() {
        words.push(statistic);
    }
    if seconds {
        words.push("s");
    }
    words.join("_")
}

/// A number in the shortest spelling that reads back as itself.
pub(super) fn cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

/// `refusals.csv`: one row for each class, status, source and group of attempts in which there is a refusal. Over
/// replicates each number has three columns.
pub fn refusals(subject: &Subject<'_>) -> io::Result<Vec<u8>> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let is_replicated = subject.is_replicated();
    let numbers: &[&str] =
        if is_replicated { &["requests_mean", "requests_p5", "requests_p95"] } else { &["requests"] };
    let head = ["class", "status", "refused_by", "attempt"];
    writer.write_record(head.iter().chain(numbers))?;
    for class in &subject.scenario.traffic {
        let path = ["classes", &class.name, "refusals", "statuses"];
        for (status, sources) in subject.result.figures.at(&path).map_or(&[][..], Tree::branches) {
            for (source, counts) in sources.branches() {
                for (attempt, figure) in counts.at(&["attempts"]).map_or(&[][..], Tree::branches) {
                    let Tree::Leaf(figure) = figure else { continue };
                    if figure.center().is_none_or(|n| n <= 0.0) {
                        continue;
                    }
                    let fixed = [class.name.clone(), status.clone(), source.clone(), attempt.clone()];
                    let values = match (figure, figure.interval()) {
                        (Figure::One(_), _) | (_, None) => vec![cell(figure.center())],
                        (_, Some((low, high))) => vec![cell(figure.center()), cell(Some(low)), cell(Some(high))],
                    };
                    writer.write_record(fixed.into_iter().chain(values))?;
                }
            }
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

/// `timeline.csv`: one row for each class and wide bin of the run with the seed itself.
pub fn timeline(subject: &Subject<'_>) -> io::Result<Vec<u8>> {
    let timeline = &subject.result.timeline;
    let limits = &subject.scenario.provider.limits;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let fixed = [
        "class",
        "from_s",
        "to_s",
        "arrivals",
        "tasks_with_429",
        "tasks_with_429_share",
        "failures",
        "calls",
        "requests_of_calls",
        "requests_per_call",
        "sent_answered_200",
        "sent_answered_429",
        "sent_answered_529_or_503",
        "sent_timed_out_or_dropped",
        "sent_answered_other",
        "queue_max",
    ];
    let head = fixed.into_iter().map(str::to_owned);
    let guards = super::guard_series::table(subject);
    let head = head.chain(limits.iter().map(|limit| format!("limit_{}_lowest_share", limit.name)));
    writer.write_record(head.chain(guards.iter().map(|(name, _)| name.clone())))?;
    let lowest: Vec<Vec<serde_json::Value>> =
        timeline.limits.iter().map(|curve| super::json::lowest(timeline, &curve.lowest)).collect();
    for (class, series) in subject.scenario.traffic.iter().zip(&timeline.classes) {
        let queue = highest(timeline, &series.queue);
        let failures = sums(timeline, &series.failures);
        let answers: Vec<Vec<u64>> =
            AnswerKind::ALL.iter().map(|kind| sums(timeline, &series.answers[*kind as usize])).collect();
        for i in 0..timeline.wides {
            let from = timeline.wide_start(i);
            let to = (from + timeline.wide).min(subject.scenario.horizon);
            let mut row = vec![
                class.name.clone(),
                cell(Some(from.as_secs_f64())),
                cell(Some(to.as_secs_f64())),
                series.wide_arrivals[i].to_string(),
                series.wide_with_429[i].to_string(),
                cell(series.share_with_429(i)),
                failures[i].to_string(),
                series.wide_calls[i].to_string(),
                series.wide_requests[i].to_string(),
                cell(series.requests_per_call(i)),
            ];
            row.extend(answers.iter().map(|counts| counts[i].to_string()));
            row.push(queue[i].to_string());
            row.extend(lowest.iter().map(|shares| shares[i].to_string()));
            row.extend(guards.iter().map(|(_, values)| cell(Some((values[i] * 1e6).round() / 1e6))));
            writer.write_record(row)?;
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

/// The sum of a narrow series within each wide bin.
fn sums(timeline: &crate::observe::Timeline, narrow: &[u32]) -> Vec<u64> {
    let mut out = vec![0; timeline.wides];
    for (i, value) in narrow.iter().enumerate() {
        if let Some(slot) = out.get_mut(wide_of(timeline, i)) {
            *slot += u64::from(*value);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn lines(bytes: io::Result<Vec<u8>>) -> Vec<String> {
        String::from_utf8(bytes.unwrap()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn phases_have_a_row_for_each_class_and_units_in_their_column_names() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let lines = lines(phases(&Subject::new(&scenario, &result)));
        assert_eq!(lines.len(), 1 + 4 * 2);
        let columns: Vec<&str> = lines[0].split(',').collect();
        assert_eq!(columns[..6], ["phase", "class", "from_s", "to_s", "offered", "delivered"]);
        for column in ["responses_429", "latency_p95_s", "factors_steps_reached", "tasks_with_429_share"] {
            assert!(columns.contains(&column), "{column} in {columns:?}");
        }
        assert!(lines[3].starts_with("overload,report,600,1920,140,67,73,"), "{}", lines[3]);
        // A class without a queue has no factors here: its cells are empty, not zero.
        assert!(lines[4].ends_with(",,,"), "{}", lines[4]);
    }

    #[test]
    fn replicates_have_mean_and_quantiles() {
        let (scenario, result) = (fixture::scenario(), fixture::replicated());
        let lines = lines(phases(&Subject::new(&scenario, &result)));
        assert!(lines[0].contains(",amplification_mean,amplification_p5,amplification_p95,"), "{}", lines[0]);
        assert!(lines[0].contains(",latency_max_mean_s,"), "{}", lines[0]);
    }

    #[test]
    fn the_timeline_has_a_row_for_each_class_and_wide_bin() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let lines = lines(timeline(&Subject::new(&scenario, &result)));
        assert_eq!(lines.len(), 1 + 2 * 120);
        assert!(lines[0].ends_with(",queue_max,limit_itpm_lowest_share"), "{}", lines[0]);
        // Minute 33 of the reports: 12 answered 200 and 42 answered 429 in six bins of ten seconds.
        assert!(lines[1 + 33].contains(",12,42,0,0,0,"), "{}", lines[1 + 33]);
    }
}
