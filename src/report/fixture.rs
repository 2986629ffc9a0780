//! A result made by hand: the incident's published numbers where there are any, plausible ones elsewhere. Tests of
//! reports read it, so that words and layout can be judged without running the engine.

use crate::experiment::{Band, Figure, RunResult};
use crate::metrics::{Number, Tree};
use crate::observe::Timeline;
use crate::observe::timeline::ClassSeries;
use crate::policy::backoff::{Backoff, Jitter};
use crate::policy::classify::Classification;
use crate::policy::hint::HintRule;
use crate::policy::pacer::Counts;
use crate::policy::retry::RetryPolicy;
use crate::policy::stack::{Client, Element, Kind, Place, Requeue, Resume, Role};
use crate::policy::token_bucket::TokenBucket;
use crate::provider::{Fault, Limit, Profile, Provider, Respond, Window, default_refusal_latency};
use crate::random::{Distribution, Seed};
use crate::scenario::Scenario;
use crate::stats::{Mode, Statistic};
use crate::traffic::{Step, TaskKind, TrafficClass};
use crate::units::{SimDuration, SimTime};

use super::story::WorstCase;

/// The incident: three layers, an overload of 22 minutes, live turns on the same limit.
pub(crate) fn scenario() -> Scenario {
    let window = Window { from: minute(10), to: minute(32) };
    let overload = Fault {
        name: "overload".into(),
        window: Some(window),
        probability: vec![Profile::constant(0.9997).unwrap(), Profile::constant(0.3).unwrap()],
        respond: Respond::Status { status: 529, after: Distribution::constant(1.71), hint: None, should_retry: None },
    };
    let itpm = Limit {
        name: "itpm".into(),
        counts: Counts::InputTokens,
        bucket: TokenBucket::new(700_000, SimDuration::from_mins(1), SimDuration::from_mins(1)).unwrap(),
        status: 429,
        refusal_latency: default_refusal_latency(),
        hint: None,
    };
    let requeue = Requeue { place: Place::Back, resume: Resume::Restart };
    let batch = vec![
        element("sdk", Kind::Client, Role::Retry(attempts(3))),
        element("decorator", Kind::Decorator, Role::Retry(attempts(4))),
        element("queue", Kind::Queue, Role::Queue(attempts(3), requeue)),
    ];
    let live = vec![element("sdk", Kind::Client, Role::Retry(attempts(3)))];
    Scenario {
        name: "report_storm".into(),
        title: "Three stacked retry layers meet a 22-minute overload".into(),
        variant: "before".into(),
        variants: vec!["before".into(), "after".into()],
        horizon: minute(120),
        origin: minute(10),
        origin_name: Some("overload".into()),
        provider: Provider { limits: vec![itpm], faults: vec![overload] },
        guards: Vec::new(),
        clients: vec![
            Client::new("batch".into(), false, batch).unwrap(),
            Client::new("live".into(), false, live).unwrap(),
        ],
        traffic: vec![
            class("report", TaskKind::Jobs { workers: 8, processes: 1 }, 0, 3),
            class("live", TaskKind::Turns, 1, 1),
        ],
        phases: Vec::new(),
    }
}

fn minute(m: u64) -> SimTime {
    SimTime::ZERO + SimDuration::from_mins(m)
}

fn attempts(n: u32) -> RetryPolicy {
    RetryPolicy {
        retry_on: Classification::ANY,
        max_attempts: Some(n),
        deadline: None,
        backoff: Backoff::Fixed(SimDuration::from_secs(2)),
        jitter: Jitter::None,
        hint: HintRule::Ignore,
        timeout: None,
        holds_worker: true,
    }
}

fn element(name: &str, kind: Kind, role: Role) -> Element {
    Element { name: name.into(), kind, role, preset: None, unspoken: Vec::new() }
}

fn class(name: &str, kind: TaskKind, client: usize, steps: usize) -> TrafficClass {
    let step = Step {
        name: "write".into(),
        input_tokens: Distribution::constant(12_100.0),
        output_tokens: Distribution::constant(0.0),
        latency: Distribution::constant(7.1),
    };
    TrafficClass {
        name: name.into(),
        kind,
        client,
        arrivals: Vec::new(),
        enqueue_delay: SimDuration::ZERO,
        steps: vec![step; steps],
        sla: None,
    }
}

/// What the layers of the incident multiply to.
pub(crate) fn worst() -> Vec<WorstCase> {
    let attempts = [("sdk", 3), ("decorator", 4), ("queue", 3)];
    vec![WorstCase {
        class: "report".into(),
        attempts: attempts.iter().map(|(name, n)| ((*name).to_owned(), Some(*n))).collect(),
        per_step: Some(36),
        per_task: Some(108),
    }]
}

/// Numbers of one class in one part of the run, in the order of the fields below.
struct Row {
    tasks: [u64; 4],
    load: [u64; 4],
    answers: [u64; 3],
    with_429: u64,
    latency_s: [f64; 4],
    peak: f64,
    most: u64,
}

impl Row {
    fn tree(&self, jobs: bool) -> Tree<Figure> {
        let [offered, delivered, failed, unfinished] = self.tasks;
        let [runs, calls, requests, steps] = self.load;
        let [ok, throttled, overloaded] = self.answers;
        let [p50, p90, p95, max] = self.latency_s;
        let mut branches = vec![
            ("offered", whole(offered)),
            ("delivered", whole(delivered)),
            ("failed", whole(failed)),
            ("abandoned", whole(0)),
            ("unfinished", whole(unfinished)),
            ("failed_share", share(failed, offered)),
            ("not_delivered_share", share(offered - delivered, offered)),
            ("runs", whole(runs)),
            ("calls", whole(calls)),
            ("requests", whole(requests)),
            ("steps_offered", whole(steps)),
            ("amplification", share(requests, steps)),
            ("amplification_by_task", share(requests, steps)),
            ("requests_per_call", share(requests, calls)),
            ("requests_per_call_peak", real(self.peak)),
            ("max_requests_per_task", whole(self.most)),
            ("max_requests_per_failed_task", if failed > 0 { whole(self.most) } else { real(f64::NAN) }),
            (
                "responses",
                table(vec![("200", whole(ok)), ("429", whole(throttled)), ("529", whole(overloaded))]),
            ),
            ("tasks_with_429", whole(self.with_429)),
            ("tasks_with_429_share", share(self.with_429, offered)),
            ("requests_429_share", share(throttled, requests)),
            ("short_circuited", whole(0)),
            ("suppressed", whole(0)),
            (
                "latency_s",
                table(vec![
                    ("mean", real(p50)),
                    ("p50", real(p50)),
                    ("p90", real(p90)),
                    ("p95", real(p95)),
                    ("p99", real(max)),
                    ("max", real(max)),
                ]),
            ),
        ];
        if jobs {
            branches.push((
                "factors",
                table(vec![
                    ("runs", share(runs, offered)),
                    ("steps_reached", real(0.4685)),
                    ("decorator", real(2.731)),
                    ("sdk", share(requests, calls)),
                ]),
            ));
        }
        table(branches)
    }
}

/// The published run: seed 1.
pub(crate) fn single() -> RunResult {
    let report = |tasks, load, answers, latency_s, most| {
        Row { tasks, load, answers, with_429: 0, latency_s, peak: 3.0, most }.tree(true)
    };
    let live = |tasks, load, answers, with_429, latency_s| {
        Row { tasks, load, answers, with_429, latency_s, peak: 1.9, most: 6 }.tree(false)
    };
    let quick = [2.1, 2.9, 3.2, 5.8];
    let normal = [39.4, 43.0, 45.2, 52.0];
    let late = [1_038.0, 1_100.0, 1_122.0, 1_128.0];
    let phase = |from: f64, to: f64, classes: [Tree<Figure>; 2]| {
        let [report, live] = classes;
        table(vec![
            ("from_s", real(from)),
            ("to_s", real(to)),
            ("classes", table(vec![("report", report), ("live", live)])),
        ])
    };
    let mut figures = table(vec![
        (
            "classes",
            table(vec![
                ("report", report([299, 222, 77, 0], [540, 1_734, 4_873, 897], [670, 280, 3_915], late, 42)),
                ("live", live([3_780, 3_768, 12, 0], [3_780, 3_790, 4_461, 3_780], [3_768, 140, 546], 88, quick)),
            ]),
        ),
        (
            "phases",
            table(vec![
                (
                    "before",
                    phase(
                        0.0,
                        600.0,
                        [
                            report([40, 36, 4, 0], [41, 114, 115, 120], [114, 0, 0], normal, 5),
                            live([590, 590, 0, 0], [590, 590, 590, 590], [590, 0, 0], 0, quick),
                        ],
                    ),
                ),
                (
                    "overload",
                    phase(
                        600.0,
                        1_920.0,
                        [
                            report([140, 67, 73, 0], [370, 1_308, 3_920, 420], [1, 0, 3_915], late, 42),
                            live([1_318, 1_306, 12, 0], [1_318, 1_330, 1_858, 1_318], [1_312, 0, 546], 0, quick),
                        ],
                    ),
                ),
                (
                    "recovery",
                    phase(
                        1_920.0,
                        2_340.0,
                        [
                            report([20, 20, 0, 0], [30, 314, 541, 60], [258, 280, 0], [180.0, 260.0, 300.0, 340.0], 9),
                            live([391, 391, 0, 0], [391, 391, 530, 391], [390, 140, 0], 88, [3.0, 9.0, 14.0, 21.0]),
                        ],
                    ),
                ),
                (
                    "after",
                    phase(
                        2_340.0,
                        7_200.0,
                        [
                            report([99, 99, 0, 0], [99, 297, 301, 297], [297, 0, 0], normal, 4),
                            live([1_481, 1_481, 0, 0], [1_481, 1_481, 1_483, 1_481], [1_481, 0, 0], 0, quick),
                        ],
                    ),
                ),
            ]),
        ),
        (
            "recovery",
            table(vec![
                ("total_s", real(420.0)),
                ("queue_s", real(360.0)),
                ("live_429_s", real(420.0)),
                ("requests_per_call_s", real(300.0)),
            ]),
        ),
        (
            "limits",
            table(vec![(
                "itpm",
                table(vec![
                    ("admitted", whole(5_000)),
                    ("refused", whole(420)),
                    ("lowest_share", real(0.0)),
                    ("below_tenth_s", real(408.0)),
                ]),
            )]),
        ),
        ("guards", table(Vec::new())),
    ]);
    let followed = ["phases", "overload", "classes", "report", "amplification_by_task"];
    set(&mut figures, &followed, 10.12);
    RunResult {
        seed: Seed(1),
        replicates: None,
        digest: 0x9372_f5b1_03e3_7352,
        world_digest: 0x00ab_cdef_0123_4567,
        figures,
        timeline: timeline(),
        share_429_bands: Vec::new(),
        queue_bands: Vec::new(),
    }
}

/// The same over a thousand replicates, with the published intervals at the headline figures.
pub(crate) fn replicated() -> RunResult {
    let one = single();
    let mut figures = one.figures.map(&mut |figure| match figure {
        Figure::One(number) => Figure::Many {
            statistic: number.get().map(|mean| statistic(mean, mean * 0.9, mean * 1.1)),
            whole: number.whole,
        },
        Figure::Many { .. } => figure.clone(),
    });
    let overload = ["phases", "overload", "classes", "report"];
    let at = |keys: &[&'static str]| [&overload[..], keys].concat();
    put(&mut figures, &at(&["steps_offered"]), statistic(420.0, 420.0, 420.0));
    put(&mut figures, &at(&["offered"]), statistic(140.0, 140.0, 140.0));
    put(&mut figures, &at(&["requests"]), statistic(3_913.0, 3_859.0, 3_959.0));
    put(&mut figures, &at(&["amplification"]), statistic(9.32, 9.19, 9.43));
    put(&mut figures, &at(&["failed"]), statistic(79.0, 71.0, 88.0));
    let live = ["phases", "recovery", "classes", "live", "tasks_with_429_share"];
    put(&mut figures, &live, statistic(0.197, 0.149, 0.24));
    let mut modes = statistic(508.0, 240.0, 900.0);
    modes.modes = vec![
        Mode { share: 0.61, mean: 276.0, min: 200.0, max: 330.0 },
        Mode { share: 0.39, mean: 870.0, min: 800.0, max: 940.0 },
    ];
    put(&mut figures, &["classes", "report", "latency_s", "max"], modes);
    put(&mut figures, &["recovery", "total_s"], statistic(492.0, 360.0, 636.0));
    RunResult {
        replicates: Some(1_000),
        figures,
        share_429_bands: vec![Band::default(); 2],
        queue_bands: vec![Band::default(); 2],
        ..one
    }
}

/// A statistic of a thousand values between these quantiles.
pub(crate) fn statistic(mean: f64, p5: f64, p95: f64) -> Statistic {
    let sd = (p95 - p5) / 3.29;
    Statistic {
        mean,
        sd: Some(sd),
        p5,
        p50: mean,
        p95,
        min: p5 - sd,
        max: p95 + sd,
        ci95: Some((mean - sd / 16.0, mean + sd / 16.0)),
        n: 1_000,
        modes: Vec::new(),
    }
}

/// Replaces the statistic at a path.
pub(crate) fn put(tree: &mut Tree<Figure>, path: &[&str], statistic: Statistic) {
    change(tree, path, |figure| {
        *figure = Figure::Many { statistic: Some(statistic.clone()), whole: false };
    });
}

/// Replaces the number at a path of a single run.
pub(crate) fn set(tree: &mut Tree<Figure>, path: &[&str], value: f64) {
    change(tree, path, |figure| {
        *figure = Figure::One(Number { value, whole: value.fract() == 0.0 });
    });
}

fn change(tree: &mut Tree<Figure>, path: &[&str], f: impl FnOnce(&mut Figure)) {
    match (tree, path) {
        (Tree::Leaf(leaf), []) => f(leaf),
        (Tree::Table(branches), [name, rest @ ..]) => {
            let (_, branch) = branches.iter_mut().find(|(key, _)| key == name).expect("the path exists");
            change(branch, rest, f);
        }
        _ => panic!("no leaf at this path"),
    }
}

fn table(branches: Vec<(&str, Tree<Figure>)>) -> Tree<Figure> {
    Tree::Table(branches.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect())
}

fn whole(n: u64) -> Tree<Figure> {
    Tree::Leaf(Figure::One(Number::count(n)))
}

fn real(value: f64) -> Tree<Figure> {
    Tree::Leaf(Figure::One(Number::real(value)))
}

fn share(part: u64, of: u64) -> Tree<Figure> {
    Tree::Leaf(Figure::One(Number::ratio(part, of)))
}

/// Series of the shape that the incident had, in bins of 10 s and of a minute, over two hours.
fn timeline() -> Timeline {
    let (bins, wides) = (720, 120);
    let minute_of = |i: usize| i / 6;
    let by_bin = |f: &dyn Fn(usize) -> u32| (0..bins).map(|i| f(minute_of(i))).collect::<Vec<u32>>();
    let storm = |m: usize| (10..32).contains(&m);
    let burst = |m: usize| (32..39).contains(&m);
    let queue = |m: usize| match m {
        10..=20 => (m as u32 - 9) * 8,
        21..=38 => 92_u32.saturating_sub((m as u32 - 20) * 5),
        _ => 0,
    };
    let zero = || vec![0; bins];
    let seconds = |f: &dyn Fn(usize) -> f32| (0..bins).map(|i| f(minute_of(i)) * 10.0).collect::<Vec<f32>>();
    let report = ClassSeries {
        answers: [
            by_bin(&|m| if storm(m) { 0 } else { 2 }),
            by_bin(&|m| if burst(m) { 7 } else { 0 }),
            by_bin(&|m| if storm(m) { 30 } else { 0 }),
            zero(),
            zero(),
        ],
        arrivals: by_bin(&|m| u32::from(m % 2 == 0)),
        failures: by_bin(&|m| u32::from(storm(m) && m > 12)),
        queue: by_bin(&queue),
        workers: [
            seconds(&|m| if storm(m) { 0.0 } else { 1.0 }),
            seconds(&|m| if storm(m) { 5.0 } else { 0.0 }),
            seconds(&|m| if storm(m) { 2.8 } else { 0.0 }),
            seconds(&|m| if burst(m) { 3.0 } else { 0.0 }),
            seconds(&|m| if storm(m) { 0.2 } else { 7.0 }),
        ],
        wide_arrivals: (0..wides).map(|m| if m < 60 { 4 } else { 2 }).collect(),
        wide_with_429: vec![0; wides],
        wide_calls: (0..wides).map(|m| if storm(m) { 60 } else { 12 }).collect(),
        wide_requests: (0..wides).map(|m| if storm(m) { 178 } else { 12 }).collect(),
    };
    let live = ClassSeries {
        answers: [
            by_bin(&|m| if m < 90 { 10 } else { 0 }),
            by_bin(&|m| if burst(m) { 4 } else { 0 }),
            by_bin(&|m| if storm(m) { 4 } else { 0 }),
            zero(),
            zero(),
        ],
        arrivals: by_bin(&|_| 10),
        failures: zero(),
        queue: zero(),
        workers: [Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new()],
        wide_arrivals: vec![60; wides],
        wide_with_429: (0..wides).map(|m| if burst(m) { 9 + (m as u32 % 3) * 6 } else { 0 }).collect(),
        wide_calls: vec![60; wides],
        wide_requests: (0..wides).map(|m| if storm(m) || burst(m) { 84 } else { 60 }).collect(),
    };
    let share = |i: usize| if burst(minute_of(i)) { 0.02 } else { 0.9 + (i % 7) as f32 * 0.015 };
    Timeline {
        bin: SimDuration::from_secs(10),
        bins,
        wide: SimDuration::from_mins(1),
        wides,
        classes: vec![report, live],
        limits: vec![(0..bins).map(share).collect()],
    }
}
