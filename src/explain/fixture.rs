//! Scenarios for the tests of this layer, built by hand.

use crate::policy::circuit_breaker::{BreakerCounts, WhenOpen};
use crate::policy::hint::AboveCap;
use crate::policy::pacer::{Counts, Slept};
use crate::policy::recovery::{HalfOpen, Late, OnClose, OpenTime};
use crate::policy::stack::{Place, Requeue, Resume};
use crate::policy::trip::Trip;
use crate::policy::{
    Backoff, CircuitBreaker, Classification, Client, Element, Guard, HintRule, Jitter, Kind, Mechanism, OutcomeSet,
    Pacer, RetryPolicy, Role, Scope, StatusSet, Timeouts, TokenBucket,
};
use crate::provider::{Fault, HintForm, Limit, ModelSet, Profile, Provider, Respond, Window};
use crate::random::Distribution;
use crate::scenario::Scenario;
use crate::traffic::{ArrivalProcess, Idempotency, Queueing, RatePiece, Step, TaskKind, TrafficClass, WhenOneFails};
use crate::units::{SimDuration, SimTime};

pub(crate) const SDK_STATUSES: StatusSet = StatusSet::EMPTY.with(408).with(409).with(429).with_range(500, 599);

pub(crate) fn minute(m: u64) -> SimTime {
    SimTime::ZERO + SimDuration::from_mins(m)
}

pub(crate) fn some(statuses: &[u16], timeouts: bool, drops: bool) -> Classification {
    let statuses = statuses.iter().fold(StatusSet::EMPTY, |set, status| set.with(*status));
    let mut outcomes = if timeouts { OutcomeSet::TIMEOUTS } else { OutcomeSet::EMPTY };
    if drops {
        outcomes = outcomes.and(OutcomeSet::CONNECTION);
    }
    Classification { statuses, outcomes, ..Classification::default() }
}

/// The widely used SDK: 0.5 s doubling to 8 s less up to a quarter, hints obeyed.
pub(crate) fn sdk(attempts: u32) -> RetryPolicy {
    RetryPolicy {
        retry_on: Classification {
            statuses: SDK_STATUSES,
            outcomes: OutcomeSet::TIMEOUTS.and(OutcomeSet::CONNECTION),
            obeys_should_retry: true,
            ..Classification::default()
        },
        max_attempts: Some(attempts),
        backoff: Backoff::Exponential {
            initial: SimDuration::from_millis(500),
            factor: 2.0,
            cap: SimDuration::from_secs(8),
        },
        jitter: Jitter::Subtract(0.25),
        hint: HintRule::Obey { cap: SimDuration::from_secs(4_294_967), above: AboveCap::Clamp, jittered: false },
        timeout: Timeouts::each(SimDuration::from_secs(600)),
        ..RetryPolicy::ONCE
    }
}

pub(crate) fn fixed(attempts: u32, wait: SimDuration) -> RetryPolicy {
    RetryPolicy {
        max_attempts: Some(attempts),
        backoff: if wait.is_zero() { Backoff::None } else { Backoff::Fixed(wait) },
        ..RetryPolicy::ONCE
    }
}

pub(crate) fn element(name: &str, kind: Kind, role: Role) -> Element {
    Element { name: name.into(), kind, role, preset: None, unspoken: Vec::new() }
}

pub(crate) fn inner(name: &str, policy: RetryPolicy) -> Element {
    element(name, Kind::Client, Role::Retry(policy))
}

pub(crate) fn decorator(name: &str, policy: RetryPolicy) -> Element {
    element(name, Kind::Decorator, Role::Retry(policy))
}

pub(crate) fn queue(runs: u32, intervals: &[u64], resume: Resume) -> Element {
    let backoff = if intervals.is_empty() {
        Backoff::None
    } else {
        Backoff::List(intervals.iter().map(|m| SimDuration::from_mins(*m)).collect())
    };
    let policy = RetryPolicy { backoff, holds_worker: false, ..fixed(runs, SimDuration::ZERO) };
    element("queue", Kind::Queue, Role::Queue(policy, Requeue { place: Place::Back, resume }))
}

pub(crate) fn client(name: &str, elements: Vec<Element>) -> Client {
    Client::new(name.into(), false, elements).expect("kinds do not decrease outward")
}

pub(crate) fn poisson(per_minute: f64, horizon: SimTime) -> ArrivalProcess {
    ArrivalProcess::Poisson {
        pieces: vec![RatePiece { from: SimTime::ZERO, rate: per_minute / 60.0 }],
        window: Window { from: SimTime::ZERO, to: horizon },
    }
}

pub(crate) fn steps(names: &[&str], tokens: f64, latency: f64) -> Vec<Step> {
    let step = |name: &&str| Step {
        name: (*name).into(),
        input_tokens: Distribution::constant(tokens),
        output_tokens: Distribution::constant(0.0),
        latency: Distribution::constant(latency),
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
    names.iter().map(step).collect()
}

pub(crate) fn scenario(
    provider: Provider,
    guards: Vec<Guard>,
    clients: Vec<Client>,
    traffic: Vec<TrafficClass>,
) -> Scenario {
    Scenario {
        name: "by_hand".into(),
        title: "By hand".into(),
        variant: "base".into(),
        variants: vec!["base".into()],
        fixes: Vec::new(),
        horizon: minute(120),
        origin: SimTime::ZERO,
        origin_name: None,
        provider,
        guards,
        clients,
        traffic,
        pools: Vec::new(),
        phases: Vec::new(),
        alerts: Vec::new(),
        interventions: Vec::new(),
    }
}

/// One job class with one client and so many steps, no limits and no faults.
pub(crate) fn one_job(client: Client, names: &[&str]) -> Scenario {
    let class = TrafficClass {
        name: "job".into(),
        kind: TaskKind::Jobs { workers: 1, processes: 1 },
        client: 0,
        when_one_fails: WhenOneFails::Wait,
        others: Vec::new(),
        arrivals: vec![ArrivalProcess::At(vec![SimTime::ZERO])],
        sizes: None,
        spread: 1,
        enqueue_delay: SimDuration::ZERO,
        queueing: Queueing::default(),
        steps: steps(names, 1_000.0, 1.0),
        sla: None,
    };
    scenario(Provider::default(), Vec::new(), vec![client], vec![class])
}

/// The incident: report jobs through three layers, live turns on the same limit; `fixed` applies the five fixes.
#[expect(clippy::too_many_lines, reason = "one scenario, written out")]
pub(crate) fn incident(fixes: bool) -> Scenario {
    let horizon = minute(120);
    let overload = Fault {
        name: "overload".into(),
        window: Some(Window { from: minute(10), to: minute(32) }),
        probability: [0.9997, 0.3].iter().filter_map(|p| Profile::constant(*p)).collect(),
        carried_out: None,
        terms: None,
        respond: Respond::Status {
            status: 529,
            after: Distribution::constant(1.71),
            hint: None,
            should_retry: None,
            code: None,
        },
        models: ModelSet::ALL,
    };
    let limit = Limit {
        name: "itpm".into(),
        counts: Counts::InputTokens,
        meter: crate::policy::Meter::TokenBucket(
            TokenBucket::new(700_000, SimDuration::from_mins(1), SimDuration::from_mins(1)).expect("positive"),
        ),
        status: 429,
        refusal_latency: Distribution::constant(0.25),
        hint: Some(HintForm { minimum: SimDuration::from_secs(6), round_up_to: SimDuration::from_secs(1) }),
        code: None,
        models: ModelSet::ALL,
        terms: None,
    };
    let bucket = TokenBucket::new(350_000, SimDuration::from_mins(1), SimDuration::from_secs(3)).expect("positive");
    let share = Guard {
        name: "share".into(),
        mechanism: Mechanism::Pacer(Pacer { counts: Counts::InputTokens, bucket, slept: Slept::Once }),
        scope: Scope::Global,
    };
    let breaker = Guard {
        name: "breaker".into(),
        mechanism: Mechanism::Breaker(CircuitBreaker {
            counts: BreakerCounts::Responses,
            statuses: StatusSet::EMPTY.with(529).with(503),
            outcomes: OutcomeSet::EMPTY,
            trip: Trip::share(20, 0.3),
            open: OpenTime::fixed(SimDuration::from_mins(1)),
            when_open: WhenOpen::Reject,
            gates_retries: false,
            pauses_workers: true,
            half_open: HalfOpen::with(0, WhenOpen::Reject),
            late: Late::IGNORED,
            on_close: OnClose::Clear,
            hides_the_last_failure: false,
            ramp: None,
        }),
        scope: Scope::Process,
    };
    let preset = |element: Element, name: &str| Element { preset: Some(name.into()), ..element };
    let application = preset_free_application();
    let (batch, live) = if fixes {
        let batch = vec![
            preset(inner("sdk", sdk(4)), "anthropic-python-1.13"),
            element("pacer", Kind::Client, Role::Guard(0)),
            element("breaker", Kind::Client, Role::Guard(1)),
            preset(queue(3, &[3, 10], Resume::FailedStep), "rq-2.0"),
        ];
        let policy = RetryPolicy { timeout: Timeouts::each(SimDuration::from_secs(20)), ..sdk(2) };
        (batch, vec![preset(inner("sdk", policy), "anthropic-python-1.13"), application])
    } else {
        let batch = vec![
            preset(inner("sdk", sdk(3)), "anthropic-python-1.13"),
            preset(decorator("decorator", fixed(4, SimDuration::from_secs(2))), "tenacity-9.1"),
            Element {
                // What a file leaves to RQ when it says `max = 2` and no interval.
                unspoken: ["retry_on", "backoff", "requeue", "resume"].map(str::to_owned).to_vec(),
                ..preset(queue(3, &[], Resume::Restart), "rq-2.0")
            },
        ];
        (batch, vec![preset(inner("sdk", sdk(3)), "anthropic-python-1.13"), application])
    };
    let report = TrafficClass {
        name: "report".into(),
        kind: TaskKind::Jobs { workers: 8, processes: 1 },
        client: 0,
        when_one_fails: WhenOneFails::Wait,
        others: Vec::new(),
        arrivals: vec![
            ArrivalProcess::Poisson {
                pieces: vec![RatePiece { from: SimTime::ZERO, rate: 4.0 / 60.0 }],
                window: Window { from: SimTime::ZERO, to: minute(10) },
            },
            ArrivalProcess::Count {
                count: 140,
                pieces: vec![RatePiece { from: minute(10), rate: 13.1 }, RatePiece { from: minute(18), rate: 2.5 }],
                window: Window { from: minute(10), to: minute(32) },
            },
        ],
        sizes: None,
        spread: 1,
        enqueue_delay: SimDuration::from_secs(18),
        queueing: Queueing::default(),
        steps: steps(&["rubric", "evidence", "write"], 12_100.0, 7.1),
        sla: None,
    };
    let turns = TrafficClass {
        name: "live".into(),
        kind: TaskKind::Turns,
        client: 1,
        when_one_fails: WhenOneFails::Wait,
        others: Vec::new(),
        arrivals: vec![poisson(58.7, horizon)],
        sizes: None,
        spread: 1,
        enqueue_delay: SimDuration::ZERO,
        queueing: Queueing::default(),
        steps: steps(&["turn"], 6_300.0, 2.0),
        sla: Some(SimDuration::from_secs(30)),
    };
    let mut scenario = scenario(
        Provider { limits: vec![limit], faults: vec![overload], ..Provider::default() },
        vec![share, breaker],
        vec![client("batch", batch), client("live", live)],
        vec![report, turns],
    );
    scenario.name = "report_storm".into();
    scenario.variant = if fixes { "after" } else { "before" }.into();
    scenario
}

/// One more try of the application after the SDK has given up on a turn.
fn preset_free_application() -> Element {
    decorator("app", fixed(2, SimDuration::from_secs(2)))
}
