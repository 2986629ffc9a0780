//! What does each class ask of each rate limit, before a single retry? Two numbers decide whether a recovery burst
//! hurts bystanders: the share of the limit that live traffic needs, and the share that all workers of a background
//! class ask for once the provider answers again and their queue is full.

use super::class::by_client;
use super::client_warnings::requests_inside;
use super::concurrency::busy_workers;
use crate::policy::{Client, Role};
use crate::provider::{Limit, Slots, Window};
use crate::scenario::Scenario;
use crate::traffic::cost::mean_cost;
use crate::traffic::{ArrivalProcess, Step, TrafficClass};
use crate::units::{SimDuration, SimTime};

/// The most spans that the peak is looked for in.
const SPANS: u64 = 4_096;

/// What one class asks of one limit, as shares of what the limit lets flow, or of its slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The limit's name.
    pub limit: String,
    /// The class's name.
    pub class: String,
    /// Before the first fault window; `None` where there is no such time.
    pub before: Option<f64>,
    /// Over the whole run.
    pub mean: f64,
    /// In its busiest span, of a minute or of the limit's time from empty to full, whichever is longer.
    pub peak: f64,
    /// All workers busy, each answered at its mean latency; `None` for turns and where answers take no time. Those who
    /// stand in line before a semaphore ask for nothing.
    pub busy: Option<f64>,
    /// How many workers that are: all of them, or as many as the class's semaphores let pass at once.
    pub busy_workers: u64,
    /// What the class's pacer of the same kind lets pass at most; `None` without one.
    pub paced: Option<f64>,
    /// The most requests that each thing which the pacer lets pass can become: 1 where nothing inside it repeats.
    /// Refused ones take nothing from the limit, but they are sent.
    pub requests_per_pass: Option<u64>,
}

impl Demand {
    /// The usual demand: before the first fault window, else over the whole run.
    pub fn usual(&self) -> f64 {
        self.before.unwrap_or(self.mean)
    }

    /// The most that the class can ask for on end: its busy workers, held back by its pacer.
    pub fn most(&self) -> Option<f64> {
        match (self.busy, self.paced) {
            (Some(busy), Some(paced)) => Some(busy.min(paced)),
            (busy, paced) => busy.or(paced),
        }
    }
}

/// Tasks of a class that arrive in a second: before the first fault window, else over the whole run.
pub fn usual_rate(scenario: &Scenario, class: &TrafficClass) -> f64 {
    rate(class, usual_span(scenario))
}

/// Tasks that its closed loops bring of that.
pub fn usual_rate_of_loops(scenario: &Scenario, class: &TrafficClass) -> f64 {
    let span = usual_span(scenario);
    if span.length().is_zero() { 0.0 } else { class.expected_of_loops(span) / span.length().as_secs_f64() }
}

fn usual_span(scenario: &Scenario) -> Window {
    let begin = scenario.fault_windows().first().map(|(_, window)| window.from).filter(|from| *from > SimTime::ZERO);
    Window { from: SimTime::ZERO, to: begin.unwrap_or(scenario.horizon) }
}

/// The demand of every class on every limit.
pub fn demands(scenario: &Scenario) -> Vec<Demand> {
    let limits = scenario.provider.limits.iter();
    let all = limits.flat_map(|limit| scenario.traffic.iter().map(move |class| (limit, class)));
    let asks =
        |limit: &Limit, class: &TrafficClass| class.steps.iter().any(|step| counts(scenario, limit, class, step));
    let rates = all.filter(|(limit, class)| asks(limit, class)).map(|(limit, class)| demand(scenario, limit, class));
    let slots = scenario.provider.slots.iter();
    let in_flight = slots.flat_map(|slots| {
        let counted = |class: &TrafficClass, step: &Step| slots.classes.contains(sender(scenario, class, step));
        let classes = scenario.traffic.iter().filter(move |class| class.steps.iter().any(|step| counted(class, step)));
        classes.map(move |class| in_flight(scenario, slots, class))
    });
    rates.chain(in_flight).collect()
}

/// Whether a limit counts the requests of a step, as long as it asks for its own model.
pub fn counts(scenario: &Scenario, limit: &Limit, class: &TrafficClass, step: &Step) -> bool {
    limit.covers(sender(scenario, class, step), scenario.provider.model(step.model.as_deref()))
}

/// The place of a step, or of its class, among those who send requests.
fn sender(scenario: &Scenario, class: &TrafficClass, step: &Step) -> u8 {
    let index = || scenario.traffic.iter().position(|known| known.name == class.name).unwrap_or_default();
    step.sender.unwrap_or_else(|| index() as u8)
}

/// Whether a limit counts the requests of a class, whatever they ask for.
pub fn counts_class(scenario: &Scenario, limit: &Limit, class: &TrafficClass) -> bool {
    let counted =
        |step: &Step| limit.terms.as_ref().is_none_or(|terms| terms.classes.contains(sender(scenario, class, step)));
    class.steps.iter().any(counted)
}

/// What a class asks of a limit on requests in flight: the tasks that are there on average are their rate times how
/// long each is served, and a busy worker has one request in flight.
fn in_flight(scenario: &Scenario, slots: &Slots, class: &TrafficClass) -> Demand {
    let amount = f64::from(slots.amount);
    let counts =
        |step: &&Step| slots.covers(sender(scenario, class, step), scenario.provider.model(step.model.as_deref()));
    let served: f64 = class.steps.iter().filter(counts).map(|step| step.latency.mean()).sum();
    let share = |rate: f64| rate * served / amount;
    let begin = scenario.fault_windows().first().map(|(_, window)| window.from).filter(|from| *from > SimTime::ZERO);
    let run = Window { from: SimTime::ZERO, to: scenario.horizon };
    // Where answers slow down, all sessions of a closed loop come to wait for one at once.
    let looped = f64::from(class.sessions());
    let looped = if class.is_live() { looped } else { looped.min(busy_workers(scenario, class) as f64) };
    Demand {
        limit: slots.name.clone(),
        class: class.name.clone(),
        before: begin.map(|to| share(rate(class, Window { from: SimTime::ZERO, to }))),
        mean: share(rate(class, run)),
        peak: share(peak_rate(class, run, SimDuration::from_mins(1))).max(if served > 0.0 {
            looped / amount
        } else {
            0.0
        }),
        busy: (!class.is_live() && served > 0.0).then(|| busy_workers(scenario, class) as f64 / amount),
        busy_workers: busy_workers(scenario, class),
        paced: None,
        requests_per_pass: Some(1),
    }
}

fn demand(scenario: &Scenario, limit: &Limit, class: &TrafficClass) -> Demand {
    let Some(per_second) = limit.per_second() else { return held(scenario, limit, class) };
    let counted = class.steps.iter().filter(|step| counts(scenario, limit, class, step));
    let task: f64 = counted.map(|step| mean_cost(limit, step)).sum();
    let share = |rate: f64| rate * task / per_second;
    let begin = scenario.fault_windows().first().map(|(_, window)| window.from).filter(|from| *from > SimTime::ZERO);
    let run = Window { from: SimTime::ZERO, to: scenario.horizon };
    let pacing = tightest_pacer(scenario, limit, class);
    let busy_time: f64 = class.steps.iter().map(|step| step.latency.mean()).sum();
    let busy = (!class.is_live() && busy_time > 0.0).then(|| share(busy_workers(scenario, class) as f64 / busy_time));
    Demand {
        limit: limit.name.clone(),
        class: class.name.clone(),
        before: begin.map(|to| share(rate(class, Window { from: SimTime::ZERO, to }))),
        mean: share(rate(class, run)),
        peak: share(peak_rate(class, run, limit.meter.span().unwrap_or_default())),
        busy,
        busy_workers: busy_workers(scenario, class),
        paced: pacing.map(|(rate, _)| rate / per_second),
        requests_per_pass: pacing.map_or(Some(1), |(_, requests)| requests),
    }
}

/// What a class asks of a limit on tokens in flight: as of one on requests in flight, each weighing its tokens.
fn held(scenario: &Scenario, limit: &Limit, class: &TrafficClass) -> Demand {
    let amount = limit.amount();
    let counted = class.steps.iter().filter(|step| counts(scenario, limit, class, step));
    let served: f64 = counted.map(|step| mean_cost(limit, step) * step.latency.mean()).sum();
    let time: f64 = class.steps.iter().map(|step| step.latency.mean()).sum();
    let share = |rate: f64| rate * served / amount;
    let begin = scenario.fault_windows().first().map(|(_, window)| window.from).filter(|from| *from > SimTime::ZERO);
    let run = Window { from: SimTime::ZERO, to: scenario.horizon };
    let busy = (!class.is_live() && time > 0.0).then(|| share(busy_workers(scenario, class) as f64 / time));
    Demand {
        limit: limit.name.clone(),
        class: class.name.clone(),
        before: begin.map(|to| share(rate(class, Window { from: SimTime::ZERO, to }))),
        mean: share(rate(class, run)),
        peak: share(peak_rate(class, run, SimDuration::from_mins(1))),
        busy,
        busy_workers: busy_workers(scenario, class),
        paced: None,
        requests_per_pass: Some(1),
    }
}

/// What the class's tightest pacer of the same kind lets pass, per second, and how many requests each can become.
fn tightest_pacer(scenario: &Scenario, limit: &Limit, class: &TrafficClass) -> Option<(f64, Option<u64>)> {
    // What a step does past the pacer is not held back: the loosest of the clients counts.
    let clients = by_client(scenario, class);
    let tightest: Option<Vec<_>> = clients.iter().map(|(client, _)| tightest_of(scenario, limit, client)).collect();
    tightest?.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn tightest_of(scenario: &Scenario, limit: &Limit, client: &Client) -> Option<(f64, Option<u64>)> {
    let elements = client.elements().iter().enumerate();
    let pacers = elements.filter_map(|(at, element)| match element.role {
        Role::Guard(guard) => {
            let pacer = scenario.guards[guard].pacer().filter(|pacer| pacer.counts == limit.counts)?;
            Some((pacer.highest_rate(), requests_inside(client, at)))
        }
        Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => None,
    });
    pacers.min_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// Expected arrivals per second in a span.
fn rate(class: &TrafficClass, span: Window) -> f64 {
    if span.length().is_zero() { 0.0 } else { class.expected(span) / span.length().as_secs_f64() }
}

/// The largest rate in any of the spans that a run is cut into.
fn peak_rate(class: &TrafficClass, run: Window, capacity: SimDuration) -> f64 {
    let least = SimDuration::from_nanos(run.length().as_nanos().div_ceil(SPANS));
    let width = capacity.max(SimDuration::from_mins(1)).max(least).min(run.length());
    if width.is_zero() {
        return 0.0;
    }
    let starts = (0..run.length().as_nanos().div_ceil(width.as_nanos())).map(|n| run.from + width.times(n));
    // The last span may be short: it is moved back so that all have the same length.
    let spans = starts.map(|from| {
        let to = (from + width).min(run.to);
        Window { from: SimTime::from_nanos(to.as_nanos() - width.as_nanos()), to }
    });
    spans.map(|span| rate(class, span)).fold(0.0, f64::max)
}

/// The most tasks of a class that begin at one and the same instant: its largest burst, held back by its workers.
pub fn burst(class: &TrafficClass) -> u64 {
    let at_once = class.arrivals.iter().map(|process| match process {
        ArrivalProcess::At(times) => times.chunk_by(|a, b| a == b).map(<[SimTime]>::len).max().unwrap_or(0) as u64,
        ArrivalProcess::Poisson { .. }
        | ArrivalProcess::Spaced { .. }
        | ArrivalProcess::Count { .. }
        | ArrivalProcess::Every { .. }
        | ArrivalProcess::Crowd(_) => 1,
        ArrivalProcess::Replay(replay) => replay.burst(),
        ArrivalProcess::Backlog(count) => u64::from(*count),
        ArrivalProcess::Sessions(sessions) => sessions.burst(),
    });
    let burst = at_once.max().unwrap_or(0);
    if class.is_live() { burst } else { burst.min(u64::from(class.workers())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{incident, minute};

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn the_incidents_shares_of_the_limit_are_those_worked_out_by_hand() {
        let scenario = incident(true);
        let demands = demands(&scenario);
        let [report, live] = &demands[..] else { panic!("two classes, one limit") };
        // By hand: 58.7 · 6,300 / 700,000 = 52.8 %; 4 · 3 · 12,100 / 700,000 = 20.7 %; 8 / 7.1 s · 12,100 · 60 s =
        // 818 k a minute = 116.9 %; the pacer allows 350 k = 50 %.
        assert!(near(live.usual(), 58.7 * 6_300.0 / 700_000.0));
        assert!(near(report.usual(), 4.0 * 36_300.0 / 700_000.0));
        assert!((report.busy.unwrap() - 1.169).abs() < 0.001);
        assert!(near(report.paced.unwrap(), 0.5) && near(report.most().unwrap(), 0.5));
        assert_eq!((live.busy, live.paced), (None, None));
        // The pacer stands outside of an SDK with 4 attempts.
        assert_eq!((report.requests_per_pass, live.requests_per_pass), (Some(4), Some(1)));
        // By hand: in the first 8 minutes 140 · 13.1 / 139.8 = 13.12 jobs a minute arrive: 68 % of the limit.
        assert!(near(report.peak, 140.0 * 13.1 / 139.8 * 36_300.0 / 700_000.0), "{}", report.peak);
    }

    #[test]
    fn a_limit_on_requests_in_flight_is_asked_for_as_many_as_are_served_at_once() {
        // By hand: 58.7 turns a minute of 2 s each are 1.957 at once, 19.6 % of ten slots; 8 busy workers hold 8.
        let mut scenario = incident(true);
        scenario.provider.limits.clear();
        scenario.provider.slots.push(Slots {
            name: "connections".into(),
            amount: 10,
            status: 429,
            refusal_latency: crate::random::Distribution::constant(0.0),
            hint: None,
            code: None,
            models: crate::provider::ModelSet::ALL,
            classes: crate::provider::ModelSet::ALL,
        });
        let demands = demands(&scenario);
        let [report, live] = &demands[..] else { panic!("two classes, one limit") };
        assert!(near(live.usual(), 58.7 / 60.0 * 2.0 / 10.0) && live.busy.is_none());
        assert!(near(report.busy.unwrap(), 0.8));
    }

    #[test]
    fn a_burst_is_held_back_by_workers_only() {
        let mut scenario = incident(false);
        scenario.traffic[0].arrivals = vec![ArrivalProcess::At([vec![minute(1); 50], vec![minute(2); 3]].concat())];
        scenario.traffic[1].arrivals = scenario.traffic[0].arrivals.clone();
        assert_eq!([burst(&scenario.traffic[0]), burst(&scenario.traffic[1])], [8, 50]);
    }
}
