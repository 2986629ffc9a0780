//! Results made by hand for the tests: plausible shapes, not simulations. Only what a picture looks at is filled in.

use crate::experiment::{Band, Figure, RunResult};
use crate::metrics::{Number, Tree};
use crate::observe::Timeline;
use crate::observe::series::LevelCurve;
use crate::observe::timeline::{AnswerKind, ClassSeries, WorkerActivity};
use crate::policy::pacer::Counts;
use crate::policy::token_bucket::TokenBucket;
use crate::provider::{Fault, Limit, ModelSet, Profile, Provider, Respond, Window};
use crate::random::{Distribution, Seed, Stream};
use crate::scenario::Scenario;
use crate::stats::Statistic;
use crate::traffic::{Idempotency, Queueing, Step, TaskKind, TrafficClass, WhenOneFails};
use crate::units::{SimDuration, SimTime};

/// A result and its scenario.
pub(super) struct Fixture {
    pub(super) scenario: Scenario,
    pub(super) result: RunResult,
}

pub(super) fn at(seconds: f64) -> SimTime {
    SimTime::from_secs_f64(seconds)
}

pub(super) fn class(name: &str, kind: TaskKind, steps: usize) -> TrafficClass {
    let step = |i: usize| Step {
        name: format!("step {i}"),
        input_tokens: Distribution::constant(12_100.0),
        output_tokens: Distribution::constant(800.0),
        latency: Distribution::constant(7.1),
        first_token: None,
        connect: None,
        write: None,
        idempotency: Idempotency::None,
        model: None,
        max_tokens: None,
        cached: crate::traffic::Cached::NONE,
        group: None,
        other: None,
        sender: None,
    };
    TrafficClass {
        name: name.to_string(),
        kind,
        client: 0,
        when_one_fails: WhenOneFails::Wait,
        others: Vec::new(),
        arrivals: Vec::new(),
        sizes: None,
        spread: 1,
        enqueue_delay: SimDuration::ZERO,
        queueing: Queueing::default(),
        steps: (0..steps).map(step).collect(),
        sla: None,
    }
}

pub(super) fn jobs(name: &str, workers: u32) -> TrafficClass {
    class(name, TaskKind::Jobs { workers, processes: 1 }, 3)
}

pub(super) fn limit(name: &str) -> Limit {
    Limit {
        name: name.to_string(),
        counts: Counts::InputTokens,
        meter: crate::policy::Meter::TokenBucket(
            TokenBucket::new(700_000, SimDuration::from_mins(1), SimDuration::from_mins(1)).unwrap(),
        ),
        status: 429,
        refusal_latency: Distribution::constant(0.25),
        hint: None,
        code: None,
        models: ModelSet::ALL,
        terms: None,
    }
}

pub(super) fn overload(name: &str, from: f64, to: f64) -> Fault {
    Fault {
        name: name.to_string(),
        window: Some(Window { from: at(from), to: at(to) }),
        probability: vec![Profile::constant(0.9997).unwrap()],
        carried_out: None,
        terms: None,
        respond: Respond::Status {
            status: 529,
            after: Distribution::constant(1.7),
            hint: None,
            should_retry: None,
            code: None,
        },
        models: ModelSet::ALL,
    }
}

pub(super) fn scenario(traffic: Vec<TrafficClass>, horizon: f64) -> Scenario {
    Scenario {
        name: "report_storm".to_string(),
        title: String::new(),
        variant: "before".to_string(),
        variants: vec!["before".to_string(), "after".to_string()],
        fixes: Vec::new(),
        horizon: at(horizon),
        origin: SimTime::ZERO,
        origin_name: None,
        provider: Provider::default(),
        guards: Vec::new(),
        clients: Vec::new(),
        traffic,
        pools: Vec::new(),
        phases: Vec::new(),
        alerts: Vec::new(),
        interventions: Vec::new(),
    }
}

/// Series of zeros.
pub(super) fn quiet(scenario: &Scenario, bin: f64, wide: f64) -> RunResult {
    let bins = (scenario.horizon.as_secs_f64() / bin).ceil() as usize;
    let wides = (scenario.horizon.as_secs_f64() / wide).ceil() as usize;
    let series = |class: &TrafficClass| ClassSeries {
        answers: std::array::from_fn(|_| vec![0; bins]),
        arrivals: vec![0; bins],
        failures: vec![0; bins],
        deliveries: Vec::new(),
        queue: vec![0; bins],
        copies: Vec::new(),
        hedges: Vec::new(),
        workers: std::array::from_fn(|_| if class.is_live() { Vec::new() } else { vec![0.0; bins] }),
        wide_arrivals: vec![0; wides],
        wide_with_429: vec![0; wides],
        wide_calls: vec![0; wides],
        wide_requests: vec![0; wides],
    };
    RunResult {
        alerts: Vec::new(),
        seed: Seed(1),
        replicates: None,
        digest: 0,
        world_digest: 0,
        figures: Tree::Table(Vec::new()),
        timeline: Timeline {
            bin: SimDuration::from_secs_f64(bin),
            bins,
            wide: SimDuration::from_secs_f64(wide),
            wides,
            classes: scenario.traffic.iter().map(series).collect(),
            waiting: Vec::new(),
            pools: Vec::new(),
            guards: Vec::new(),
            budgets: Vec::new(),
            busy: Vec::new(),
            limits: vec![LevelCurve::of(vec![1.0; bins]); scenario.provider.limits.len()],
        },
        share_429_bands: Vec::new(),
        queue_bands: Vec::new(),
        tracks: Vec::new(),
    }
}

/// A whole number with this mean.
fn around(stream: &mut Stream, mean: f64) -> u32 {
    // Ten coins make a spread of about a third of it: enough for a plausible ragged edge.
    let heads = (0..10).filter(|_| stream.next_unit() < 0.5).count();
    (mean * (0.5 + heads as f64 / 10.0) + stream.next_unit()) as u32
}

/// Adds a background class that suffers an overload from `from` to `to` and then drains its queue until `back`.
pub(super) fn storm(fixture: &mut Fixture, class: usize, (from, to, back): (f64, f64, f64), rate: f64) {
    let timeline = &mut fixture.result.timeline;
    let bin = timeline.bin.as_secs_f64();
    let group = (timeline.wide.as_secs_f64() / bin) as usize;
    let workers = fixture.scenario.traffic[class].workers();
    let series = &mut timeline.classes[class];
    let mut stream = Seed(7).key().named("storm").with(class as u64).stream();
    let busy = f64::from(workers) * bin;
    let mut put = |activity: WorkerActivity, i: usize, share: f64| {
        series.workers[activity as usize][i] = (busy * share) as f32;
    };
    for i in 0..timeline.bins {
        let t = i as f64 * bin;
        let work = 0.1 + 0.25 * stream.next_unit();
        let split: [f64; 4] = if t < from || t >= back {
            [work, 0.0, 0.0, 0.0]
        } else if t < to {
            [0.0, 0.64 + 0.02 * stream.next_unit(), 0.34, 0.0]
        } else {
            let serving = 0.5 + 0.15 * stream.next_unit();
            [serving, 0.04, 0.1, 0.98 - serving - 0.14]
        };
        for (activity, share) in WorkerActivity::ALL.into_iter().zip(split) {
            put(activity, i, share);
        }
        put(WorkerActivity::Idle, i, 1.0 - split.iter().sum::<f64>());
    }
    let mut queue: f64 = 0.0;
    for i in 0..timeline.bins {
        let t = i as f64 * bin;
        let in_window = t >= from && t < to;
        let early = in_window && t < from + (to - from) * 0.36;
        let arriving = if early { 3.0 * rate } else { 0.7 * rate };
        series.arrivals[i] = around(&mut stream, arriving * bin / 3.0);
        series.wide_arrivals[i / group] += series.arrivals[i];
        let sent = if in_window {
            10.0 * rate
        } else if t >= to && t < back {
            4.5 * rate
        } else {
            0.7 * rate
        };
        let answers = &mut series.answers;
        if in_window {
            answers[AnswerKind::Overloaded as usize][i] = around(&mut stream, sent * bin);
            series.failures[i] = u32::from(t > from + 120.0 && stream.next_unit() < 0.5);
            let gone = f64::from(series.arrivals[i]) - 0.28 * rate * bin;
            queue = (queue + gone).max(0.0);
        } else if t >= to && t < back {
            answers[AnswerKind::Delivered as usize][i] = around(&mut stream, 0.48 * sent * bin);
            answers[AnswerKind::Throttled as usize][i] = around(&mut stream, 0.52 * sent * bin);
            queue -= queue / ((back - t) / bin).max(1.0);
        } else {
            answers[AnswerKind::Delivered as usize][i] = around(&mut stream, sent * bin);
            answers[AnswerKind::Other as usize][i] = u32::from(stream.next_unit() < 0.03);
            queue = 0.0;
        }
        series.queue[i] = queue as u32;
    }
    for limit in &mut timeline.limits {
        for (i, left) in limit.lowest.iter_mut().enumerate() {
            let t = i as f64 * bin;
            let low = t >= to + 25.0 && t < back + 10.0;
            *left = if low { 0.02 * stream.next_unit() } else { 0.88 + 0.12 * stream.next_unit() } as f32;
        }
    }
}

/// Adds live turns at a rate; some meet the overload, some the empty limit.
pub(super) fn turns(fixture: &mut Fixture, class: usize, (from, to, back): (f64, f64, f64), rate: f64) {
    let timeline = &mut fixture.result.timeline;
    let bin = timeline.bin.as_secs_f64();
    let group = (timeline.wide.as_secs_f64() / bin) as usize;
    let series = &mut timeline.classes[class];
    let mut stream = Seed(7).key().named("turns").with(class as u64).stream();
    for i in 0..timeline.bins {
        let t = i as f64 * bin;
        let arrived = around(&mut stream, rate * bin);
        series.arrivals[i] = arrived;
        series.wide_arrivals[i / group] += arrived;
        series.answers[AnswerKind::Delivered as usize][i] = arrived;
        if t >= from && t < to {
            series.answers[AnswerKind::Overloaded as usize][i] = around(&mut stream, 0.4 * rate * bin);
        } else if t >= to && t < back {
            let met = around(&mut stream, 0.22 * rate * bin).min(arrived);
            series.answers[AnswerKind::Throttled as usize][i] = met + met / 2;
            series.wide_with_429[i / group] += met;
        }
    }
}

/// The run of the incident: 8 workers, an overload from minute 10 to 32, back at minute 39.
pub(super) fn incident() -> Fixture {
    let mut scenario = scenario(vec![class("live", TaskKind::Turns, 1), jobs("report", 8)], 7200.0);
    scenario.origin = at(600.0);
    scenario.origin_name = Some("overload".to_string());
    scenario.provider.limits = vec![limit("itpm")];
    scenario.provider.faults = vec![overload("overload", 600.0, 1920.0)];
    let result = quiet(&scenario, 10.0, 60.0);
    let mut fixture = Fixture { scenario, result };
    let times = (600.0, 1920.0, 2340.0);
    storm(&mut fixture, 1, times, 0.3);
    turns(&mut fixture, 0, times, 1.0);
    fixture.result.figures =
        figures(&|value, whole| Figure::One(if whole { Number::count(value as u64) } else { Number::real(value) }));
    fixture
}

/// The same over replicates, with bands.
pub(super) fn replicates() -> Fixture {
    let mut fixture = incident();
    fixture.result.replicates = Some(200);
    fixture.result.figures = figures(&|value, whole| Figure::Many {
        statistic: Some(Statistic {
            mean: value,
            sd: Some(0.05 * value),
            p5: 0.9 * value,
            p50: value,
            p95: 1.1 * value,
            min: 0.8 * value,
            max: 1.2 * value,
            ci95: None,
            n: 200,
            modes: Vec::new(),
        }),
        whole,
    });
    let wides = fixture.result.timeline.wides;
    let over = |i: usize| (32..42).contains(&i);
    let share = Band {
        p5: (0..wides).map(|i| if (33..37).contains(&i) { 0.08 } else { 0.0 }).collect(),
        p95: (0..wides).map(|i| if over(i) { 0.36 - 0.02 * (i as f64 - 32.0) } else { 0.0 }).collect(),
    };
    let queue = |factor: f64| {
        let series = &fixture.result.timeline.classes[1].queue;
        series.chunks(6).map(|bins| f64::from(*bins.iter().max().unwrap()) * factor).collect::<Vec<f64>>()
    };
    fixture.result.queue_bands = vec![Band::default(), Band { p5: queue(0.8), p95: queue(1.12) }];
    fixture.result.share_429_bands = vec![share, Band::default()];
    fixture
}

/// Sets a figure, with the tables on its way.
pub(super) fn set(fixture: &mut Fixture, path: &[&str], value: f64) {
    fn put(tree: &mut Tree<Figure>, path: &[&str], value: f64) {
        let Some((name, rest)) = path.split_first() else {
            *tree = Tree::Leaf(Figure::One(Number::real(value)));
            return;
        };
        let Tree::Table(branches) = tree else { panic!("a leaf stands in the way of `{name}`") };
        if !branches.iter().any(|(known, _)| known == name) {
            branches.push(((*name).to_string(), Tree::Table(Vec::new())));
        }
        let (_, branch) = branches.iter_mut().find(|(known, _)| known == name).unwrap();
        put(branch, rest, value);
    }
    put(&mut fixture.result.figures, path, value);
}

pub(super) type Leaf<'a> = &'a dyn Fn(f64, bool) -> Figure;

pub(super) fn table(branches: Vec<(&str, Tree<Figure>)>) -> Tree<Figure> {
    Tree::Table(branches.into_iter().map(|(name, tree)| (name.to_string(), tree)).collect())
}

fn figures(leaf: Leaf<'_>) -> Tree<Figure> {
    let count = |n: f64| Tree::Leaf(leaf(n, true));
    let real = |x: f64| Tree::Leaf(leaf(x, false));
    let live = |offered: f64, met: f64, overload: f64| {
        table(vec![
            ("offered", count(offered)),
            ("tasks_with_429_share", real(met)),
            ("tasks_with_overload_share", real(overload)),
            ("responses", table(vec![("529", count(overload * offered))])),
        ])
    };
    let report = |amplification: f64, steps: f64| {
        let times = [
            ("serving", 44.0),
            ("refused", 6730.0),
            ("waiting_retry", 3700.0),
            ("waiting_limiter", 0.0),
            ("idle", 86.0),
        ];
        table(vec![
            ("offered", count(140.0)),
            ("delivered", count(67.0)),
            ("failed", count(73.0)),
            ("amplification", real(amplification)),
            ("requests", count((amplification * steps).round())),
            ("steps_offered", count(steps)),
            ("latency_s", table(vec![("max", real(1128.0))])),
            ("responses", table(vec![("529", count(3913.0)), ("200", count(6.0))])),
            ("worker_time_s", table(times.into_iter().map(|(name, time)| (name, real(time))).collect())),
        ])
    };
    let phase = |from: f64, to: f64, live: Tree<Figure>, report: Tree<Figure>| {
        table(vec![
            ("from_s", real(from)),
            ("to_s", real(to)),
            ("classes", table(vec![("live", live), ("report", report)])),
        ])
    };
    table(vec![
        ("classes", table(vec![("live", live(7044.0, 0.011, 0.05)), ("report", report(2.5, 1500.0))])),
        (
            "phases",
            table(vec![
                ("before", phase(0.0, 600.0, live(590.0, 0.0, 0.0), report(1.01, 120.0))),
                ("overload", phase(600.0, 1920.0, live(1318.0, 0.0, 0.29), report(9.333_333, 420.0))),
                ("recovery", phase(1920.0, 2280.0, live(336.0, 0.229, 0.0), report(9.0, 60.0))),
            ]),
        ),
        ("recovery", table(vec![("total_s", real(420.0))])),
        ("limits", table(vec![("itpm", table(vec![("below_tenth_s", real(408.0)), ("lowest_share", real(0.001))]))])),
    ])
}
