//! The numbers of one run, as the tree that the JSON summary prints.

use super::class::class_metrics;
use super::recovery::recovery;
use super::stuck::{STUCK, goodput_at_end};
use super::tree::{Number, Tree};
use crate::observe::Outcome;
use crate::observe::alerts::AlertRecord;
use crate::observe::outcome::{CapacityCounts, GuardCounts, GuardLevel, LimitCounts, PoolCounts};
use crate::policy::{Guard, Mechanism};
use crate::provider::Window;
use crate::provider::capacity::Late;
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};

/// All numbers of one run: `classes`, `phases`, `recovery`, `limits`, where servers are limited `capacity`, `guards`, and
/// `workers` and `alerts` where there are such.
pub fn summarize(scenario: &Scenario, outcome: &Outcome) -> Tree<Number> {
    let whole = Window { from: SimTime::ZERO, to: scenario.horizon };
    let all = Span { window: whole, cells: 0..outcome.plan.cells(), is_whole: true };
    let mut top = vec![("classes".to_owned(), classes(scenario, outcome, &all))];
    let phases = outcome.plan.phases().iter().map(|phase| {
        let span = Span { window: phase.window, cells: outcome.plan.cells_of(phase), is_whole: false };
        let table = vec![
            ("from_s".to_owned(), real(phase.window.from.as_secs_f64())),
            ("to_s".to_owned(), real(phase.window.to.as_secs_f64())),
            ("classes".to_owned(), classes(scenario, outcome, &span)),
        ];
        (phase.name.clone(), Tree::Table(table))
    });
    top.push(("phases".to_owned(), Tree::Table(phases.collect())));
    top.push(("recovery".to_owned(), recovery_table(scenario, outcome)));
    top.push(("limits".to_owned(), limits(scenario, outcome)));
    if let Some(counts) = &outcome.capacity {
        let goodput = goodput_at_end(scenario, &outcome.timeline);
        let looks = scenario.provider.capacity.as_ref().is_some_and(|capacity| capacity.late != Late::Served);
        top.push(("capacity".to_owned(), capacity_table(counts, goodput, looks)));
    }
    let guards = scenario.guards.iter().zip(&outcome.guards);
    let guards = guards.map(|(guard, counts)| (guard.name.clone(), guard_table(guard, counts))).collect();
    top.push(("guards".to_owned(), Tree::Table(guards)));
    if !scenario.pools.is_empty() {
        let pools = scenario.pools.iter().zip(&outcome.pools);
        let pools = pools.map(|(pool, counts)| (pool.name.clone(), pool_table(counts))).collect();
        top.push(("workers".to_owned(), Tree::Table(pools)));
    }
    if !scenario.alerts.is_empty() {
        let alerts = scenario.alerts.iter().zip(&outcome.alerts);
        let alerts = alerts.map(|(alert, record)| (alert.name.clone(), alert_table(record))).collect();
        top.push(("alerts".to_owned(), Tree::Table(alerts)));
    }
    Tree::Table(top)
}

fn pool_table(counts: &PoolCounts) -> Tree<Number> {
    let PoolCounts { crashes, most_workers, fewest_workers, busy_s, idle_s, down_s } = *counts;
    Tree::Table(vec![
        ("most".to_owned(), count(u64::from(most_workers))),
        ("fewest".to_owned(), count(u64::from(fewest_workers))),
        ("crashes".to_owned(), count(crashes)),
        ("busy_s".to_owned(), real(busy_s)),
        ("idle_s".to_owned(), real(idle_s)),
        ("down_s".to_owned(), real(down_s)),
    ])
}

/// What numbers are of: the whole run, or a phase.
struct Span {
    window: Window,
    cells: std::ops::Range<usize>,
    is_whole: bool,
}

fn classes(scenario: &Scenario, outcome: &Outcome, span: &Span) -> Tree<Number> {
    let Span { window, ref cells, is_whole } = *span;
    let tables = scenario.traffic.iter().enumerate().map(|(index, class)| {
        let total = outcome.classes[index].total(cells.clone());
        let series = &outcome.timeline.classes[index];
        let peak = peak_ratio(outcome, series, window);
        (class.name.clone(), class_metrics(scenario, class, &total, &outcome.answers, window, peak, is_whole))
    });
    Tree::Table(tables.collect())
}

/// Wide bins with fewer calls than this say nothing about requests per call.
const CALLS_FOR_A_RATIO: u32 = 5;

/// The largest requests per call of the wide bins that begin in the window.
fn peak_ratio(outcome: &Outcome, series: &crate::observe::timeline::ClassSeries, window: Window) -> f64 {
    (0..outcome.timeline.wides)
        .filter(|bin| window.contains(outcome.timeline.wide_start(*bin)))
        .filter(|bin| series.wide_calls[*bin] >= CALLS_FOR_A_RATIO)
        .filter_map(|bin| series.requests_per_call(bin))
        .fold(f64::NAN, f64::max)
}

fn recovery_table(scenario: &Scenario, outcome: &Outcome) -> Tree<Number> {
    let Some(found) = recovery(scenario, &outcome.timeline) else { return Tree::Table(Vec::new()) };
    let seconds = |time: Option<SimDuration>| real(time.map_or(f64::NAN, SimDuration::as_secs_f64));
    Tree::Table(vec![
        ("total_s".to_owned(), seconds(found.total())),
        ("queue_s".to_owned(), seconds(found.queue)),
        ("live_429_s".to_owned(), seconds(found.live_429)),
        ("requests_per_call_s".to_owned(), seconds(found.requests_per_call)),
    ])
}

fn limits(scenario: &Scenario, outcome: &Outcome) -> Tree<Number> {
    let tables = scenario.provider.limits.iter().enumerate().map(|(index, limit)| {
        let LimitCounts { admitted, refused, impossible, cut_short } = outcome.limits[index];
        let curve = &outcome.timeline.limits[index];
        let below_tenth = curve.below_tenth(scenario.horizon);
        let mut table = vec![
            ("admitted".to_owned(), count(admitted)),
            ("refused".to_owned(), count(refused)),
            ("impossible".to_owned(), count(impossible)),
            ("lowest_share".to_owned(), real(f64::from(curve.lowest.iter().copied().fold(1.0, f32::min)))),
            ("below_tenth_s".to_owned(), real(below_tenth.as_secs_f64())),
        ];
        if limit.terms.as_ref().is_some_and(|terms| terms.when_used_up.is_some()) {
            table.push(("cut_short".to_owned(), count(cut_short)));
        }
        (limit.name.clone(), Tree::Table(table))
    });
    let slots = scenario.provider.slots.iter().zip(&outcome.slots).map(|(slots, counts)| {
        let table = vec![
            ("admitted".to_owned(), count(counts.admitted)),
            ("refused".to_owned(), count(counts.refused)),
            ("most_in_flight".to_owned(), count(u64::from(counts.most_in_flight))),
        ];
        (slots.name.clone(), Tree::Table(table))
    });
    Tree::Table(tables.chain(slots).collect())
}

/// `looks`: whether somebody looks who would be late.
fn capacity_table(counts: &CapacityCounts, goodput: Option<f64>, looks: bool) -> Tree<Number> {
    let CapacityCounts { arrived, refused, started, skipped, left_waiting, left_in_service, .. } = *counts;
    let waited = if started > 0 { counts.waited_nanos as f64 / 1e9 / started as f64 } else { f64::NAN };
    let mut table = vec![
        ("arrived".to_owned(), count(arrived)),
        ("refused".to_owned(), count(refused)),
        ("started".to_owned(), count(started)),
        ("skipped".to_owned(), count(skipped)),
        ("left_waiting".to_owned(), count(left_waiting)),
        ("left_in_service".to_owned(), count(left_in_service)),
        ("most_waiting".to_owned(), count(u64::from(counts.most_waiting))),
        ("most_in_service".to_owned(), count(u64::from(counts.most_busy))),
        ("waiting_at_end".to_owned(), count(u64::from(counts.waiting_at_end))),
        ("mean_wait_s".to_owned(), real(waited)),
        ("goodput_at_end".to_owned(), real(goodput.unwrap_or(f64::NAN))),
        ("stuck".to_owned(), real(goodput.map_or(f64::NAN, |share| f64::from(share < STUCK)))),
    ];
    if looks {
        table.push(("late".to_owned(), count(counts.late)));
    }
    Tree::Table(table)
}

fn guard_table(guard: &Guard, counts: &GuardCounts) -> Tree<Number> {
    let mut table = vec![
        ("trips".to_owned(), count(counts.trips)),
        ("refused".to_owned(), count(counts.refused)),
        ("waits".to_owned(), count(counts.waits)),
        ("waited_s".to_owned(), real(counts.waited.as_secs_f64())),
    ];
    if guard.has_permits() {
        table.push(("most_in_use".to_owned(), count(counts.most_in_use)));
    }
    let level = |of: fn(&GuardLevel) -> f64| real(counts.level.as_ref().map_or(f64::NAN, of));
    if let Mechanism::Concurrency(_) = guard.mechanism {
        table.push(("limit_at_end".to_owned(), level(GuardLevel::mean_at_end)));
        table.push(("lowest_limit".to_owned(), level(|level| level.lowest)));
        table.push(("highest_limit".to_owned(), level(|level| level.highest)));
    }
    if let Mechanism::Rate(_) = guard.mechanism {
        table.push(("rate_at_end".to_owned(), level(GuardLevel::mean_at_end)));
        table.push(("lowest_rate".to_owned(), level(|level| level.lowest)));
    }
    if let Mechanism::Gate(_) = guard.mechanism {
        table.push(("closings".to_owned(), count(counts.closings)));
        table.push(("closed_s".to_owned(), real(counts.closed_for.as_secs_f64())));
    }
    if let Some(deployments) = guard.deployments() {
        let each = deployments.to.iter().zip(&counts.deployments).map(|(deployment, did)| {
            let did = vec![("picked".to_owned(), count(did.picked)), ("cooled".to_owned(), count(did.cooled))];
            (deployment.model.clone(), Tree::Table(did))
        });
        table.push(("deployments".to_owned(), Tree::Table(each.collect())));
    }
    Tree::Table(table)
}

/// When an alert fired first, and how long it did in all.
fn alert_table(record: &AlertRecord) -> Tree<Number> {
    let first = record.firings.first();
    let seconds = |time: Option<SimTime>| real(time.map_or(f64::NAN, SimTime::as_secs_f64));
    let number = |n: Option<u64>| Tree::Leaf(Number { value: n.map_or(f64::NAN, |n| n as f64), whole: true });
    Tree::Table(vec![
        ("fired".to_owned(), count(record.fired)),
        ("held_from_s".to_owned(), seconds(first.map(|firing| firing.held_from))),
        ("fired_s".to_owned(), seconds(first.map(|firing| firing.fired))),
        ("cleared_s".to_owned(), seconds(first.and_then(|firing| firing.cleared))),
        ("hit_before".to_owned(), number(first.map(|firing| firing.hit_before))),
        ("hit".to_owned(), number(first.map(|firing| firing.hit))),
        ("extreme".to_owned(), real(first.map_or(f64::NAN, |firing| firing.extreme))),
        ("firing_s".to_owned(), real(record.firing.as_secs_f64())),
    ])
}

fn count(n: u64) -> Tree<Number> {
    Tree::Leaf(Number::count(n))
}

fn real(value: f64) -> Tree<Number> {
    Tree::Leaf(Number::real(value))
}
