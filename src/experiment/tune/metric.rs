//! The numbers that a policy is tuned for, in the words in which people ask for them, and the bounds that it has to keep.

use super::super::measure::{Kind, Measure, Of, Part};
use crate::stats::statistic::sum;

/// A number that is taken of every run, by a word or a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The word or the path that asked for it.
    pub word: String,
    /// What it is, in full: `amplification of report in overload`.
    pub meaning: String,
    /// What it counts.
    pub kind: Kind,
    source: Source,
}

/// Where its value comes from, by indexes into a row.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// A measure as it is.
    Measure(usize),
    /// The slowest of a class: never where one failed or was abandoned, or where one that arrived in the storm has not come.
    Slowest { failed: usize, abandoned: Option<usize>, delivered: usize, in_storm: Option<usize> },
}

/// A word for a number, and what it stands for.
const WORDS: [(&str, &str); 13] = [
    ("amplification", "requests of jobs in the first fault window for each that is needed"),
    ("requests", "requests of jobs in the first fault window"),
    ("failed", "jobs that failed, over the whole run"),
    ("failed-share", "the share of jobs that failed"),
    ("not-delivered", "the share of jobs that were not delivered within the run"),
    ("slowest", "the slowest job; never, where one failed or was abandoned"),
    ("p50", "the median latency of jobs; one that was not delivered took for ever"),
    ("p95", "the 95 % quantile of the latency of jobs; one that was not delivered took for ever"),
    ("live-429", "live turns with a 429, over the whole run"),
    ("live-failed", "live turns that failed, over the whole run"),
    ("live-p95", "the 95 % quantile of the latency of live turns; one that was not delivered took for ever"),
    ("recovery", "the time from the end of the last window until all is as before"),
    ("wasted", "seconds that the server worked for callers who had left"),
];

/// The words that this file knows for numbers.
pub fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    WORDS.into_iter()
}

/// The numbers of a tuning and what has to be measured for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The numbers, each once.
    pub all: Vec<Metric>,
    /// What is measured of every run.
    pub measures: Vec<Measure>,
}

impl Metrics {
    /// Takes a number in, by its word or the path of a measure; returns its index, or `None` where these measures have
    /// no such number.
    pub fn take(&mut self, word: &str, measures: &[Measure]) -> Option<usize> {
        if let Some(known) = self.all.iter().position(|metric| metric.word == word) {
            return Some(known);
        }
        let metric = self.metric(word, measures)?;
        self.all.push(metric);
        Some(self.all.len() - 1)
    }

    fn metric(&mut self, word: &str, measures: &[Measure]) -> Option<Metric> {
        let jobs = |measure: &Measure| matches!(&measure.of, Of::Class { live: false, .. });
        let has_jobs = measures.iter().any(jobs);
        // Where there are no jobs, their words are of the turns.
        let leads = |measure: &Measure| jobs(measure) == has_jobs && matches!(&measure.of, Of::Class { .. });
        let live = |measure: &Measure| matches!(&measure.of, Of::Class { live: true, .. });
        let whole = |measure: &Measure, key: &str| measure.part == Part::Whole && measure.key == key;
        let find = |wanted: &dyn Fn(&Measure) -> bool| measures.iter().find(|measure| wanted(measure)).cloned();
        let found = match word {
            "amplification" => find(&|m| m.headline && m.key == "amplification"),
            "requests" => find(&|m| m.headline && m.key == "requests"),
            "failed" => find(&|m| leads(m) && whole(m, "failed")),
            "failed-share" => find(&|m| leads(m) && whole(m, "failed_share")),
            "not-delivered" => find(&|m| leads(m) && whole(m, "not_delivered_share")),
            "p50" => find(&|m| leads(m) && whole(m, "latency_all_s.p50")),
            "p95" => find(&|m| leads(m) && whole(m, "latency_all_s.p95")),
            "wasted" => find(&|m| leads(m) && whole(m, "wasted_server_s")),
            "live-429" => find(&|m| live(m) && whole(m, "tasks_with_429")),
            "live-failed" => find(&|m| live(m) && whole(m, "failed")),
            "live-p95" => find(&|m| live(m) && whole(m, "latency_all_s.p95")),
            "recovery" => find(&|m| m.key == "recovery.total_s"),
            "slowest" => {
                let failed = find(&|m| leads(m) && whole(m, "failed"))?;
                let class = failed.class()?.to_owned();
                let of = |m: &Measure| m.class() == Some(&class);
                let delivered = find(&|m| of(m) && whole(m, "latency_s.max"))?;
                let storm = find(&|m| m.headline && m.key == "amplification").map(|m| m.part);
                let in_storm = find(&|m| of(m) && Some(&m.part) == storm.as_ref() && m.key == "latency_all_s.max");
                let in_storm = in_storm.filter(|m| m.part != Part::Whole);
                let abandoned = find(&|m| of(m) && whole(m, "abandoned"));
                let or = if abandoned.is_some() { " or was abandoned" } else { "" };
                let source = Source::Slowest {
                    failed: self.index(failed),
                    abandoned: abandoned.map(|measure| self.index(measure)),
                    delivered: self.index(delivered),
                    in_storm: in_storm.map(|measure| self.index(measure)),
                };
                let meaning = format!("slowest of {class}, never where one failed{or}");
                return Some(Metric { word: word.to_owned(), meaning, kind: Kind::Seconds, source });
            }
            path => find(&|m| m.path() == path),
        }?;
        let meaning = meaning(&found);
        let kind = found.kind;
        Some(Metric { word: word.to_owned(), meaning, kind, source: Source::Measure(self.index(found)) })
    }

    /// The index of a measure in the rows.
    fn index(&mut self, measure: Measure) -> usize {
        let known = self.measures.iter().position(|known| *known == measure);
        known.unwrap_or_else(|| {
            self.measures.push(measure);
            self.measures.len() - 1
        })
    }
}

/// A measure in words.
fn meaning(measure: &Measure) -> String {
    let of = match &measure.of {
        Of::Class { name, .. } | Of::Layer { class: name } | Of::Limit(name) => format!(" of {name}"),
        Of::Run => String::new(),
    };
    let part = match &measure.part {
        Part::Whole => String::new(),
        Part::Phase(name) => format!(" in {name}"),
    };
    let key = match measure.key.as_str() {
        "latency_all_s.p50" => "median latency of all",
        "latency_all_s.p95" => "95 % quantile of the latency of all",
        "tasks_with_429" => "tasks with a 429",
        "failed" => "tasks that failed",
        "abandoned" => "tasks that were abandoned",
        "failed_share" => "share of tasks that failed",
        "not_delivered_share" => "share of tasks that were not delivered",
        "recovery.total_s" => "time to recover",
        "wasted_server_s" => "server time for callers who had left",
        key => key,
    };
    format!("{key}{of}{part}")
}

impl Metric {
    /// Its value in a run. NaN is a number that is not defined there, infinity a time that is never.
    pub fn value(&self, row: &[f64]) -> f64 {
        match self.source {
            Source::Measure(index) => row[index],
            Source::Slowest { failed, abandoned, delivered, in_storm } => {
                if row[failed] > 0.0 || abandoned.is_some_and(|index| row[index] > 0.0) {
                    return f64::INFINITY;
                }
                // A window in which nothing arrived has no slowest.
                let in_storm = in_storm.map_or(f64::NAN, |index| row[index]);
                row[delivered].max(in_storm)
            }
        }
    }

    /// Its values in several runs.
    pub fn values(&self, rows: &[Box<[f64]>]) -> Vec<f64> {
        rows.iter().map(|row| self.value(row)).collect()
    }

    /// Its mean for a search, which needs one number: a time that is never counts as twice the run, as solvers are
    /// scored (PAR2); infinity where it is defined nowhere.
    pub fn mean(&self, rows: &[Box<[f64]>], horizon_s: f64) -> f64 {
        let values: Vec<f64> = self.values(rows).into_iter().filter(|value| !value.is_nan()).collect();
        if values.is_empty() {
            return f64::INFINITY;
        }
        let finite = |value: &f64| if value.is_finite() { *value } else { 2.0 * horizon_s };
        sum(values.iter().map(finite)) / values.len() as f64
    }
}

/// A bound that a policy has to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The index of its number.
    pub metric: usize,
    /// Whether the number may be this at least, and not at most.
    pub at_least: bool,
    /// The bound, in seconds, shares or things.
    pub bound: f64,
    /// As it was written.
    pub text: String,
}

impl Constraint {
    /// By how much a number breaks it, relative to its bound; 0 where it keeps it.
    pub fn violation(&self, value: f64) -> f64 {
        let over = if self.at_least { self.bound - value } else { value - self.bound };
        // Against a bound of nought every excess counts as it is.
        let size = if self.bound == 0.0 { 1.0 } else { self.bound.abs() };
        if over > 0.0 { over / size } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::measure::measures;
    use super::*;
    use crate::scenario::{Source as Text, load};

    fn storm() -> Vec<Measure> {
        storm_with("")
    }

    fn storm_with(more: &str) -> Vec<Measure> {
        let text = "horizon = \"1h\"\n[provider.faults.down]\nwindow = [\"10m\", \"20m\"]\nrespond = { status = 529 }\n\
            [clients.c]\nlayers = [{ name = \"sdk\", max_attempts = 2, retry_on = \"any\" }]\n\
            [traffic.report]\nkind = \"jobs\"\nclient = \"c\"\nworkers = 1\narrivals = { every = \"1m\" }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n\
            [traffic.live]\nkind = \"turns\"\nclient = \"c\"\narrivals = { every = \"1m\" }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";
        let text = format!("{text}{more}");
        let scenario = load(&Text::new("storm.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        measures(&[&scenario])
    }

    #[test]
    fn a_job_that_was_thrown_away_is_never_there_as_one_that_failed() {
        let slowest = |more: &str, lost: &str| {
            let measures = storm_with(more);
            let mut metrics = Metrics::default();
            let at = metrics.take("slowest", &measures).unwrap();
            let is_lost = |measure: &Measure| measure.path() == format!("classes.report.{lost}");
            let row: Vec<f64> = metrics.measures.iter().map(|m| if is_lost(m) { 1.0 } else { 0.0 }).collect();
            metrics.all[at].value(&row)
        };
        let purge = "[interventions.p]\nat = \"15m\"\npurge = \"report\"\n";
        assert_eq!(slowest(purge, "abandoned"), f64::INFINITY);
        assert_eq!(slowest(purge, "failed"), f64::INFINITY);
        assert_eq!(slowest(purge, "neither"), 0.0);
        // Where none can be, nothing more is measured.
        assert!(!storm().iter().any(|measure| measure.key == "abandoned"));
    }

    #[test]
    fn every_word_and_every_path_is_a_number_and_each_is_measured_once() {
        let measures = storm();
        let mut metrics = Metrics::default();
        for (word, _) in words() {
            assert!(metrics.take(word, &measures).is_some(), "{word}");
        }
        assert_eq!(metrics.take("failed", &measures), metrics.take("failed", &measures));
        let path = metrics.take("classes.live.failed", &measures).unwrap();
        assert_eq!(metrics.all[path].meaning, "tasks that failed of live");
        assert_eq!(metrics.take("classes.live.faild", &measures), None);
        // `failed` and `slowest` share a measure, `live-failed` and its path too.
        assert_eq!(metrics.measures.len(), 14);
        let paths: Vec<String> = metrics.measures.iter().map(Measure::path).collect();
        assert!(paths.contains(&"phases.down.classes.report.amplification".to_owned()), "{paths:?}");
    }

    #[test]
    fn the_slowest_is_never_where_one_failed_or_has_not_come() {
        let measures = storm();
        let mut metrics = Metrics::default();
        metrics.take("slowest", &measures).unwrap();
        let never = f64::INFINITY;
        // Rows of: failed, slowest delivered, slowest of those that arrived in the window.
        for (row, expected) in [
            ([0.0, 90.0, 80.0], 90.0),
            ([1.0, 90.0, never], never),
            ([0.0, 90.0, never], never),
            ([0.0, 90.0, f64::NAN], 90.0),
        ] {
            assert_eq!(metrics.all[0].value(&row), expected, "{row:?}");
        }
        let rows: Vec<Box<[f64]>> = vec![[0.0, 90.0, 80.0].into(), [1.0, 50.0, never].into()];
        // Never counts as two hours where the run has one: (90 + 7,200) / 2.
        assert_eq!(metrics.all[0].mean(&rows, 3_600.0), 3_645.0);
        assert_eq!(metrics.all[0].mean(&[], 3_600.0), never);
    }

    #[test]
    fn a_constraint_is_broken_by_so_much() {
        let at = |bound: f64, at_least: bool| Constraint { metric: 0, at_least, bound, text: String::new() };
        assert_eq!([10.0, 8.0, 0.0].map(|value| at(8.0, false).violation(value)), [0.25, 0.0, 0.0]);
        assert_eq!([10.0, 6.0].map(|value| at(8.0, true).violation(value)), [0.0, 0.25]);
        assert_eq!(at(0.0, false).violation(0.0), 0.0);
        assert!(at(0.0, false).violation(2.0) > at(0.0, false).violation(1.0));
        assert_eq!(at(8.0, false).violation(f64::INFINITY), f64::INFINITY);
    }
}
