//! Results at the edges of what a picture has to cope with: very short, very long, very large, almost nothing.

use super::fixture::{Fixture, at, class, jobs, limit, overload, quiet, scenario, storm, table, turns};
use crate::experiment::{Figure, Sent, Track};
use crate::metrics::{Number, Tree};
use crate::observe::timeline::{AnswerKind, WorkerActivity};
use crate::observe::{BudgetSeries, GuardSeries};
use crate::policy::answer::{Answer, Outcome};
use crate::policy::budget_gauge::Gauge;
use crate::policy::pacer::Counts;
use crate::policy::{Guard, Mechanism, Scope};
use crate::provider::Respond;
use crate::sim::Fate;
use crate::traffic::{TaskKind, TrafficClass};
use crate::units::SimDuration;

/// No limits and no faults: three queues that just work, one of them a hundred times as busy.
pub(super) fn three_queues() -> Fixture {
    let scenario =
        scenario(vec![jobs("ocr", 4), jobs("summary", 16), jobs("embedding of very long documents", 200)], 3600.0);
    let result = quiet(&scenario, 10.0, 60.0);
    let mut fixture = Fixture { scenario, result };
    for (class, rate) in [(0, 0.4), (1, 0.9), (2, 60.0)] {
        storm(&mut fixture, class, (1e9, 1e9, 1e9), rate);
    }
    fixture
}

/// Ten seconds in all, a blip of two.
pub(super) fn ten_seconds() -> Fixture {
    let mut scenario = scenario(vec![jobs("report", 3), class("live", TaskKind::Turns, 1)], 10.0);
    scenario.provider.faults = vec![overload("blip", 3.0, 5.0)];
    scenario.provider.faults[0].respond = Respond::Hang;
    scenario.origin = at(3.0);
    scenario.origin_name = Some("blip".to_string());
    let result = quiet(&scenario, 0.05, 1.0);
    let mut fixture = Fixture { scenario, result };
    storm(&mut fixture, 0, (3.0, 5.0, 6.5), 8.0);
    turns(&mut fixture, 1, (3.0, 5.0, 6.5), 40.0);
    let answers = &mut fixture.result.timeline.classes[0].answers;
    answers.swap(AnswerKind::Overloaded as usize, AnswerKind::Lost as usize);
    fixture
}

/// Three days, a window each morning, two that overlap, and no recovery.
pub(super) fn three_days() -> Fixture {
    let hour = 3600.0;
    let mut scenario = scenario(vec![jobs("nightly", 40), class("chat", TaskKind::Turns, 1)], 72.0 * hour);
    scenario.provider.limits = vec![limit("itpm"), limit("second")];
    scenario.provider.faults = vec![
        overload("monday", 8.0 * hour, 10.0 * hour),
        overload("tuesday", 32.0 * hour, 33.0 * hour),
        overload("wednesday", 56.0 * hour, 60.0 * hour),
        overload("failover", 57.0 * hour, 58.0 * hour),
    ];
    scenario.origin = at(8.0 * hour);
    scenario.origin_name = Some("monday".to_string());
    let result = quiet(&scenario, 600.0, 3600.0);
    let mut fixture = Fixture { scenario, result };
    storm(&mut fixture, 0, (56.0 * hour, 60.0 * hour, 72.0 * hour), 0.02);
    turns(&mut fixture, 1, (56.0 * hour, 60.0 * hour, 72.0 * hour), 0.3);
    fixture.result.figures =
        table(vec![("recovery", table(vec![("total_s", Tree::Leaf(Figure::One(Number::real(f64::NAN))))]))]);
    fixture
}

/// A run in which nothing happened.
pub(super) fn nothing() -> Fixture {
    let mut scenario = scenario(vec![jobs("report", 8), class("live", TaskKind::Turns, 1)], 600.0);
    scenario.provider.limits = vec![limit("itpm")];
    let result = quiet(&scenario, 10.0, 60.0);
    Fixture { scenario, result }
}

/// A hundred thousand requests a second, by live turns alone.
pub(super) fn huge() -> Fixture {
    let mut scenario = scenario(vec![class("live", TaskKind::Turns, 1)], 1800.0);
    scenario.provider.limits = vec![limit("itpm")];
    scenario.provider.faults = vec![overload("overload", 300.0, 900.0)];
    let result = quiet(&scenario, 10.0, 60.0);
    let mut fixture = Fixture { scenario, result };
    turns(&mut fixture, 0, (300.0, 900.0, 1000.0), 100_000.0);
    fixture.result.timeline.classes[0].answers[AnswerKind::Other as usize][20] = 400_000;
    fixture
}

/// One job, three requests, one of which fails.
pub(super) fn tiny() -> Fixture {
    let scenario = scenario(vec![jobs("only", 1)], 120.0);
    let mut result = quiet(&scenario, 1.0, 10.0);
    let series = &mut result.timeline.classes[0];
    series.arrivals[5] = 1;
    series.wide_arrivals[0] = 1;
    series.answers[AnswerKind::Delivered as usize][5] = 1;
    series.answers[AnswerKind::Overloaded as usize][12] = 1;
    series.answers[AnswerKind::Delivered as usize][15] = 1;
    for (i, activity) in
        [(5, WorkerActivity::Serving), (12, WorkerActivity::Refused), (13, WorkerActivity::WaitingRetry)]
    {
        series.workers[activity as usize][i] = 1.0;
    }
    Fixture { scenario, result }
}

/// Six tasks that are told one by one: a ladder, an answer at once, a long one, a patience that is passed, no request
/// at all, and one that is not over.
pub(super) fn rows() -> Fixture {
    let names = ["ladder", "at once", "long answer of a class with a very long name", "late", "stuck", "endless"];
    let mut traffic: Vec<TrafficClass> = names.map(|name| class(name, TaskKind::Turns, 1)).into();
    traffic[3].sla = Some(SimDuration::from_secs(3));
    let scenario = scenario(traffic, 20.0);
    let mut result = quiet(&scenario, 0.2, 2.0);
    let sent = |from: f64, to: f64, answer: Answer| Sent { sent: at(from), ended: at(to), answer };
    let ladder = [0.0, 0.5, 1.5, 3.5, 7.5].map(|t| sent(t, t, Answer::refused(429))).to_vec();
    let done = |t: f64, fate: Fate| Some((at(t), fate));
    let late = vec![sent(0.0, 1.0, Answer::TIMED_OUT), sent(2.9, 4.0, Answer::failed(Outcome::StreamBroken))];
    let tracks = [
        (ladder, done(7.5, Fate::Failed)),
        (vec![sent(0.0, 0.0, Answer::DELIVERED)], done(0.0, Fate::Delivered)),
        (vec![sent(0.0, 0.1, Answer::refused(529)), sent(0.6, 9.9, Answer::DELIVERED)], done(9.9, Fate::Delivered)),
        (late, done(4.0, Fate::Failed)),
        (Vec::new(), None),
        (vec![sent(0.0, 0.0, Answer::refused(503))], None),
    ];
    let track = |(class, (requests, ended))| Track { class, task: 0, arrived: at(0.0), ended, requests };
    result.tracks = tracks.into_iter().enumerate().map(track).collect();
    for series in &mut result.timeline.classes {
        series.arrivals[0] = 1;
    }
    Fixture { scenario, result }
}

/// Five classes of both kinds on two limits.
pub(super) fn five_classes() -> Fixture {
    let names = ["report", "export", "import"];
    let mut traffic: Vec<TrafficClass> = names.map(|name| jobs(name, 8)).into();
    traffic.extend(["live", "chat"].map(|name| class(name, TaskKind::Turns, 1)));
    let mut scenario = scenario(traffic, 5400.0);
    scenario.provider.limits = vec![limit("itpm"), limit("rpm")];
    scenario.provider.limits[1].counts = Counts::Requests;
    scenario.provider.faults = vec![overload("overload", 600.0, 1920.0), overload("aftershock", 2700.0, 2760.0)];
    scenario.origin = at(600.0);
    scenario.origin_name = Some("overload".to_string());
    let result = quiet(&scenario, 10.0, 60.0);
    let mut fixture = Fixture { scenario, result };
    for class in 0..3 {
        storm(&mut fixture, class, (600.0, 1920.0, 2340.0), 0.3 / (class + 1) as f64);
    }
    for class in 3..5 {
        turns(&mut fixture, class, (600.0, 1920.0, 2340.0), 0.7);
    }
    fixture
}

/// The incident with names that nobody should choose.
pub(super) fn long_names() -> Fixture {
    let mut fixture = super::fixture::replicates();
    let scenario = &mut fixture.scenario;
    scenario.traffic[0].name = "people who chat with the assistant in the browser <or> the app & elsewhere".to_string();
    scenario.traffic[1].name =
        "quarterly \u{7} compliance reports for all customers of all regions in all languages".to_string();
    scenario.name = "scenario_with_a_name_".repeat(12);
    scenario.provider.faults[0].name = "the provider's whole region is overloaded and says so".to_string();
    scenario.origin_name = Some("provider's whole region was overloaded and said so ".repeat(6));
    fixture
}

/// The incident with more guards than there is room for: breakers of several instances, levels, lines, shares.
pub(super) fn guarded() -> Fixture {
    let mut fixture = super::fixture::incident();
    let [breaker, slots] = crate::explain::adversary::guards();
    let throttle = Guard {
        name: "sre".into(),
        mechanism: Mechanism::Size(crate::policy::guard::SizeCheck { at_most: 1 }),
        scope: Scope::Global,
    };
    let bins = fixture.result.timeline.bins;
    let spans = |from: usize, to: usize, value: f32| {
        (0..bins).map(|bin| if (from..to).contains(&bin) { value } else { 0.0 }).collect::<Vec<f32>>()
    };
    let counts = |from, to, value: f32| spans(from, to, value).into_iter().map(|n| n as u32).collect::<Vec<u32>>();
    let quiet = GuardSeries { instances: 1, asked: counts(0, bins, 4.0), ..GuardSeries::default() };
    let quiet = GuardSeries { refused: counts(0, 0, 0.0), waiting: spans(0, 0, 0.0), ..quiet };
    let doors = |shut: Vec<f32>, ajar: Vec<f32>, instances| GuardSeries { instances, shut, ajar, ..quiet.clone() };
    let level = |level: Vec<f32>, refused| GuardSeries { level, refused, ..quiet.clone() };
    let named = |guard: &Guard, name: &str| Guard { name: name.into(), ..guard.clone() };
    let all = [
        (breaker.clone(), doors(spans(62, 180, 1.0), spans(180, 192, 1.0), 1)),
        (
            named(&breaker, "of the people with a long name and a longer one after it"),
            doors(spans(70, 90, 4.5), spans(90, 96, 3.0), 8),
        ),
        (slots.clone(), level(spans(60, 200, 1.0), counts(100, 130, 3.0))),
        (
            named(&slots, "connections"),
            GuardSeries {
                waiting: spans(60, 240, 12.4),
                bound: spans(0, bins, 3.0),
                ..level(spans(60, 200, 2.0), counts(0, 0, 0.0))
            },
        ),
        (throttle.clone(), GuardSeries { refused: counts(80, 160, 3.0), ..quiet.clone() }),
        (named(&throttle, "queue"), GuardSeries { waiting: spans(60, 240, 12.4), ..quiet.clone() }),
        (named(&throttle, "idle"), quiet.clone()),
    ];
    let budget = |client: &str, falls, from| BudgetSeries {
        client: client.into(),
        layer: "sdk".into(),
        gauge: Gauge { unit: "tokens", falls, top: falls.then_some(500.0), bound: falls.then_some(5.0) },
        series: GuardSeries {
            bound: if falls { Vec::new() } else { spans(0, bins, 10.0) },
            ..level(spans(0, from, if falls { 500.0 } else { 12.0 }), counts(from, 180, 9.0))
        },
    };
    fixture.result.timeline.budgets = vec![budget("batch", true, 80), budget("live", false, 170)];
    for (guard, _) in &all {
        for (key, value) in [("trips", 12.0), ("refused", 1_340.0), ("waits", 90.0), ("waited_s", 18_000.0)] {
            super::fixture::set(&mut fixture, &["guards", &guard.name, key], value);
        }
    }
    (fixture.scenario.guards, fixture.result.timeline.guards) = all.into_iter().unzip();
    fixture
}
