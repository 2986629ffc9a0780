//! The numbers of one traffic class in one span of time.

use super::bill::bill;
use super::refusals::refusals;
use super::tree::{Number, Tree};
use crate::observe::by_model;
use crate::observe::ledger::{ClassTotal, Counts, JobCounts, LayerCounts};
use crate::observe::{AnswerIndex, LayerRows, WorkerActivity};
use crate::provider::Window;
use crate::scenario::Scenario;
use crate::stats::LatencyStore;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// All numbers of a class in a span. `peak` is the largest requests per call of a wide bin; `is_whole` says that the span
/// is the whole run.
pub(super) fn class_metrics(
    scenario: &Scenario,
    class: &TrafficClass,
    total: &ClassTotal,
    answers: &AnswerIndex,
    window: Window,
    peak: f64,
    is_whole: bool,
) -> Tree<Number> {
    let counts = &total.counts;
    let steps_offered = counts.offered * class.steps.len() as u64;
    let undelivered = counts.offered - counts.delivered;
    let unfinished = undelivered - counts.failed - counts.jobs.abandoned;
    let mut table = vec![
        ("offered", count(counts.offered)),
        ("delivered", count(counts.delivered)),
        ("failed", count(counts.failed)),
        ("abandoned", count(counts.jobs.abandoned)),
        ("unfinished", count(unfinished)),
        ("failed_share", ratio(counts.failed, counts.offered)),
        ("not_delivered_share", ratio(undelivered, counts.offered)),
        ("runs", count(counts.runs)),
        ("calls", count(counts.calls)),
        ("requests", count(counts.requests)),
        ("provider_requests", count(counts.provider_requests)),
        ("steps_offered", count(steps_offered)),
        ("amplification", ratio(counts.requests, steps_offered)),
        ("amplification_by_task", ratio(counts.task_requests, steps_offered)),
        ("requests_per_call", ratio(counts.requests, counts.calls)),
        ("requests_per_call_peak", real(peak)),
        ("max_requests_per_task", extreme(counts.max_task_requests, counts.offered)),
        ("max_requests_per_failed_task", extreme(counts.max_failed_task_requests, counts.failed)),
        ("responses", responses(total, answers)),
        ("tasks_with_429", count(counts.tasks_with_429)),
        ("tasks_with_429_share", ratio(counts.tasks_with_429, counts.offered)),
        ("requests_429_share", ratio(counts.requests_with_429, counts.provider_requests)),
        ("tasks_with_overload", count(counts.tasks_with_overload)),
        ("tasks_with_overload_share", ratio(counts.tasks_with_overload, counts.offered)),
        ("short_circuited", count(counts.short_circuited)),
        ("suppressed", count(counts.suppressed)),
        ("effects", count(counts.effects)),
        ("repeated_effects", count(counts.repeated_effects)),
        ("failed_with_effect", count(counts.failed_with_effect)),
        ("repeated_output", count(counts.repeated_output)),
        ("server_s", real(counts.server_nanos as f64 / 1e9)),
        ("wasted_server_s", real(counts.wasted_server_nanos as f64 / 1e9)),
        ("latency_s", times(&total.latency)),
    ];
    if class.streams() {
        table.push(("first_token_s", times(&total.first_token)));
    }
    if scenario.provider.cache.is_some() {
        table.push(("admitted_input_tokens", count(total.cached.input)));
        table.push(("cached_input_tokens", count(total.cached.cached)));
        table.push(("cached_input_share", ratio(total.cached.cached, total.cached.input)));
    }
    if scenario.clients_of(class).any(|client| client.hedge().is_some()) {
        table.push(("hedges", count(counts.hedges)));
        table.push(("suppressed_hedges", count(counts.suppressed_hedges)));
    }
    if class.workers() > 0 {
        table.push(("worker_time_s", worker_time(class, scenario.is_moved(class), counts, window)));
    }
    if scenario.follows_jobs(class) {
        table.push(("delivery", delivery(&counts.jobs)));
    }
    if scenario.holds_queue(class) {
        let held = real(counts.jobs.held_nanos as f64 / 1e9);
        table.push(("queue_holds", named(vec![("times", count(counts.jobs.holds)), ("held_s", held)])));
    }
    let rows = LayerRows::of(scenario, class);
    table.push(("factors", factors(&rows, class, total)));
    table.push(("layers", layers(&rows, &total.layers)));
    if !total.models.is_empty() {
        table.push(("models", models(scenario, total, answers)));
    }
    if !total.refusals.by.is_empty() {
        table.push(("refusals", refusals(scenario, &total.refusals, is_whole)));
    }
    if let Some(total) = &total.bill {
        table.push(("bill", bill(scenario, total, counts.delivered)));
    }
    named(table)
}

fn responses(total: &ClassTotal, answers: &AnswerIndex) -> Tree<Number> {
    Tree::Table(answers.names().iter().zip(&total.answers).map(|(name, n)| (name.clone(), count(*n))).collect())
}

/// Quantiles of a collection of times.
fn times(store: &LatencyStore) -> Tree<Number> {
    let seconds = |value: Option<SimDuration>| real(value.map_or(f64::NAN, SimDuration::as_secs_f64));
    let quantiles = store.quantiles([0.5, 0.9, 0.95, 0.99]);
    let [p50, p90, p95, p99] = quantiles.map_or([None; 4], |quantiles| quantiles.map(Some));
    named(vec![
        ("mean", seconds(store.mean())),
        ("p50", seconds(p50)),
        ("p90", seconds(p90)),
        ("p95", seconds(p95)),
        ("p99", seconds(p99)),
        ("max", seconds(store.max())),
    ])
}

fn worker_time(class: &TrafficClass, is_moved: bool, counts: &Counts, window: Window) -> Tree<Number> {
    let there = u64::from(class.workers()) * window.length().as_nanos();
    let busy: u64 = counts.worker_nanos.iter().sum();
    let name = |activity| match activity {
        WorkerActivity::Serving => "serving",
        WorkerActivity::Refused => "refused",
        WorkerActivity::WaitingRetry => "waiting_retry",
        WorkerActivity::WaitingLimiter => "waiting_limiter",
        WorkerActivity::Idle => "idle",
    };
    let nanos = |activity| match activity {
        WorkerActivity::Idle => there.saturating_sub(busy),
        WorkerActivity::Serving
        | WorkerActivity::Refused
        | WorkerActivity::WaitingRetry
        | WorkerActivity::WaitingLimiter => counts.worker_nanos[activity as usize],
    };
    // Whose job it would have been that an idle worker of a pool does not do is not known: the pool says how long.
    let own = WorkerActivity::ALL.into_iter();
    let own = own.filter(|activity| *activity != WorkerActivity::Idle || class.queueing.pool.is_none() && !is_moved);
    named(own.map(|activity| (name(activity), real(nanos(activity) as f64 / 1e9))).collect())
}

/// What happened to jobs that are followed one by one.
fn delivery(jobs: &JobCounts) -> Tree<Number> {
    named(vec![
        ("redelivered", count(jobs.redelivered)),
        ("copies", count(jobs.copies)),
        ("most_copies", count(jobs.most_copies)),
        ("wasted_runs", count(jobs.wasted_runs)),
        ("copies_left", count(jobs.copies_left)),
        ("timed_out_runs", count(jobs.timed_out_runs)),
        ("crashed_runs", count(jobs.crashed_runs)),
        ("dead", count(jobs.dead)),
        ("lost", count(jobs.lost)),
    ])
}

/// One factor for each layer, outermost first. They multiply to `amplification_by_task` exactly (the factors
/// of hops left out, which multiply further to what reaches the provider), because each is what
/// came out of an element on the inside for each time it was entered from the outside.
fn factors(rows: &LayerRows<'_>, class: &TrafficClass, total: &ClassTotal) -> Tree<Number> {
    let counts = &total.counts;
    let passages = rows.passages(&total.layers, counts.task_requests);
    let mut table = vec![
        ("runs".to_owned(), ratio(counts.runs, counts.offered)),
        ("steps_reached".to_owned(), ratio(counts.steps_reached, counts.runs * class.steps.len() as u64)),
    ];
    for (pair, name) in passages.windows(2).zip(rows.inside()).rev() {
        table.push(((*name).to_owned(), ratio(pair[0], pair[1])));
    }
    Tree::Table(table)
}

fn layers(rows: &LayerRows<'_>, layers: &[LayerCounts]) -> Tree<Number> {
    let counts = rows.by_name(layers);
    let tables = rows.names().iter().zip(&counts).map(|(name, counts)| {
        let table = vec![
            ("entered", count(counts.entered)),
            ("retries", count(counts.retries)),
            ("exhausted", count(counts.exhausted)),
            ("gave_up", count(counts.gave_up)),
            ("refused", count(counts.refused)),
            ("waited_s", real(counts.waited_nanos as f64 / 1e9)),
        ];
        ((*name).to_owned(), named(table))
    });
    Tree::Table(tables.collect())
}

/// What the requests to each model met.
fn models(scenario: &Scenario, total: &ClassTotal, answers: &AnswerIndex) -> Tree<Number> {
    let sources = by_model::sources(&scenario.provider);
    let tables = total.models.iter().map(|model| {
        let all = |names: &[String], counts: &[u64]| {
            Tree::Table(names.iter().zip(counts).map(|(name, n)| (name.clone(), count(*n))).collect())
        };
        let table = vec![
            ("requests", count(model.requests)),
            ("responses", all(answers.names(), &model.answers)),
            ("answered_by", all(&sources, &model.by)),
        ];
        let name = scenario.provider.models.get(model.model as usize).map_or("none", |model| model.name.as_str());
        (name.to_owned(), named(table))
    });
    Tree::Table(tables.collect())
}

/// A largest value, undefined where there was nothing.
fn extreme(value: u64, of: u64) -> Tree<Number> {
    Tree::Leaf(if of == 0 { Number { value: f64::NAN, whole: true } } else { Number::count(value) })
}

pub(super) fn named(table: Vec<(&str, Tree<Number>)>) -> Tree<Number> {
    Tree::Table(table.into_iter().map(|(name, branch)| (name.to_owned(), branch)).collect())
}

pub(super) fn count(n: u64) -> Tree<Number> {
    Tree::Leaf(Number::count(n))
}

fn ratio(part: u64, whole: u64) -> Tree<Number> {
    Tree::Leaf(Number::ratio(part, whole))
}

pub(super) fn real(value: f64) -> Tree<Number> {
    Tree::Leaf(Number::real(value))
}
