//! What must add up, adds up, in random small scenarios: nothing is lost, nothing is counted twice, no limit lets
//! through more than it holds, and no stack sends more than `explain` says it can.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use retrycast::experiment::Figure;
use retrycast::explain::explain;
use retrycast::metrics::{Number, Tree, summarize};
use retrycast::observe::Outcome;
use retrycast::policy::pacer::Counts;
use retrycast::policy::stack::{Client, Element, Role};
use retrycast::provider::{AnsweredBy, Limit};
use retrycast::random::Seed;
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::{Fact, Fate, simulate_observed};
use retrycast::traffic::TrafficClass;
use retrycast::units::SimTime;

use super::conservation_wide as wide;
use super::small_world::{Tape, text};
use super::stage::Recorder;

/// One run of a random scenario, with everything that it showed.
pub(super) struct Seen {
    pub(super) scenario: Scenario,
    pub(super) outcome: Outcome,
    pub(super) numbers: Tree<Number>,
    pub(super) facts: Vec<Fact>,
}

impl Seen {
    pub(super) fn of(scenario: Scenario, seed: u64) -> Seen {
        let mut recorder = Recorder::default();
        let outcome = simulate_observed(&scenario, Seed(seed), &mut recorder);
        let numbers = summarize(&scenario, &outcome);
        Seen { scenario, outcome, numbers, facts: recorder.0 }
    }

    pub(super) fn at(&self, path: &[&str]) -> f64 {
        self.numbers.leaf(path).unwrap_or_else(|| panic!("no number {path:?}")).value
    }

    pub(super) fn of_class(&self, class: &str, name: &str) -> f64 {
        self.at(&["classes", class, name])
    }

    pub(super) fn facts_of(&self, class: usize) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(move |fact| match fact {
            Fact::TaskArrived { class: of, .. }
            | Fact::RequestEnded { class: of, .. }
            | Fact::TaskEnded { class: of, .. } => usize::from(*of) == class,
        })
    }
}

fn tasks_end_once_and_are_counted_once(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let count = |is: &dyn Fn(&Fact) -> bool| seen.facts_of(index).filter(|fact| is(fact)).count() as f64;
        let number = |name| seen.of_class(&class.name, name);
        assert_eq!(number("offered"), count(&|fact| matches!(fact, Fact::TaskArrived { .. })));
        assert_eq!(number("delivered"), count(&|f| matches!(f, Fact::TaskEnded { fate: Fate::Delivered, .. })));
        assert_eq!(number("failed"), count(&|f| matches!(f, Fact::TaskEnded { fate: Fate::Failed, .. })));
        assert_eq!(number("offered"), number("delivered") + number("failed") + number("unfinished"));
        let mut ended: Vec<u32> = seen
            .facts_of(index)
            .filter_map(|fact| if let Fact::TaskEnded { task, .. } = fact { Some(*task) } else { None })
            .collect();
        let all = ended.len();
        ended.sort_unstable();
        ended.dedup();
        assert_eq!(ended.len(), all, "a task ends once");
    }
}

fn responses_are_the_requests_that_ended(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let answered = seen.facts_of(index).filter(|fact| matches!(fact, Fact::RequestEnded { .. })).count() as f64;
        let responses = seen.numbers.at(&["classes", &class.name, "responses"]).unwrap();
        let sum: f64 = responses.leaves().iter().map(|number| number.value).sum();
        assert_eq!(sum, answered);
        // What has not come back is in flight, and only an unfinished task has something in flight.
        let in_flight = seen.of_class(&class.name, "provider_requests") - sum;
        let most = seen.of_class(&class.name, "unfinished") * wide::most_in_flight(&seen.scenario, class);
        assert!((0.0..=most).contains(&in_flight), "{in_flight} in flight");
        for (phase, numbers) in seen.numbers.at(&["phases"]).unwrap().branches() {
            let here = numbers.at(&["classes", &class.name, "responses"]).unwrap();
            let here: f64 = here.leaves().iter().map(|number| number.value).sum();
            let requests = seen.at(&["phases", phase, "classes", &class.name, "provider_requests"]);
            assert!((0.0..=in_flight).contains(&(requests - here)), "{phase}: {requests} requests, {here} answers");
        }
        let refused = |facts: &Fact| matches!(facts, Fact::RequestEnded { answer, .. } if answer.status == 429);
        let throttled = seen.facts_of(index).filter(|fact| refused(fact)).count() as f64;
        assert_eq!(responses.leaf(&["429"]).map_or(0.0, |number| number.value), throttled);
    }
}

/// The numbers of phases, worked out again from what was shown.
fn phases_hold_what_happened_in_them(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let (mut arrived, mut began) = (BTreeMap::new(), BTreeMap::new());
        for fact in seen.facts_of(index) {
            match fact {
                Fact::TaskArrived { task, at, .. } => {
                    arrived.insert(*task, *at);
                }
                Fact::RequestEnded { task, run, step, call, sent, .. } => {
                    let first = began.entry((*task, *run, *step, *call)).or_insert(*sent);
                    *first = (*first).min(*sent);
                }
                Fact::TaskEnded { .. } => {}
            }
        }
        // A guard inside the call lets time pass between its beginning and its first request.
        let calls_begin_with_a_request = !has_guards(&seen.scenario, class);
        for phase in seen.outcome.plan.phases() {
            let number = |name| seen.at(&["phases", &phase.name, "classes", &class.name, name]);
            let of_task = |task: &u32| phase.window.contains(arrived[task]);
            let ended = |wanted| {
                let is = |fact: &&Fact| matches!(fact, Fact::TaskEnded { task, fate, .. } if *fate == wanted && of_task(task));
                seen.facts_of(index).filter(is).count() as f64
            };
            assert_eq!(number("offered"), arrived.keys().filter(|task| of_task(task)).count() as f64);
            assert_eq!(number("delivered"), ended(Fate::Delivered), "{}", phase.name);
            assert_eq!(number("failed"), ended(Fate::Failed), "{}", phase.name);
            let met: BTreeSet<u32> = seen.facts_of(index).filter_map(throttled_task).filter(of_task).collect();
            assert_eq!(number("tasks_with_429"), met.len() as f64);
            if calls_begin_with_a_request {
                let of_call = |fact: &&Fact| match fact {
                    Fact::RequestEnded { task, run, step, call, .. } => {
                        phase.window.contains(began[&(*task, *run, *step, *call)])
                    }
                    Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => false,
                };
                let answered = seen.facts_of(index).filter(of_call).count() as f64;
                let responses = seen.numbers.at(&["phases", &phase.name, "classes", &class.name, "responses"]).unwrap();
                assert_eq!(
                    responses.leaves().iter().map(|number| number.value).sum::<f64>(),
                    answered,
                    "{}",
                    phase.name
                );
            }
        }
    }
}

fn throttled_task(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::RequestEnded { task, answer, .. } if answer.status == 429 => Some(*task),
        Fact::RequestEnded { .. } | Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    }
}

fn has_guards(scenario: &Scenario, class: &TrafficClass) -> bool {
    scenario.clients_of(class).flat_map(Client::elements).any(|element| matches!(element.role, Role::Guard(_)))
}

/// Where everything has ended, the times of workers and the numbers of runs follow from what was shown.
fn work_is_what_was_shown(seen: &Seen) {
    for (index, class) in seen.scenario.traffic.iter().enumerate().filter(|(_, class)| class.workers() > 0) {
        if seen.of_class(&class.name, "unfinished") > 0.0 {
            continue;
        }
        if wide::sends_several(&seen.scenario, class) {
            continue;
        }
        let (mut serving, mut refused, mut runs) = (0.0, 0.0, BTreeMap::new());
        for fact in seen.facts_of(index) {
            if let Fact::RequestEnded { task, run, sent, at, answer, .. } = fact {
                let took = (*at - *sent).as_secs_f64();
                if answer.is_delivered() {
                    serving += took;
                } else {
                    refused += took;
                }
                let last = runs.insert(*task, *run).unwrap_or(1);
                assert!(last <= *run, "runs come one after the other");
            }
        }
        let time = |name| seen.at(&["classes", &class.name, "worker_time_s", name]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near(time("serving"), serving) && near(time("refused"), refused), "{serving} {refused}");
        if has_guards(&seen.scenario, class) {
            continue;
        }
        let total: u32 = runs.values().sum();
        assert_eq!(seen.of_class(&class.name, "runs"), f64::from(total));
        if !class.others.is_empty() {
            // Layers of one name may keep the worker in one client and free it in another.
            continue;
        }
        let client = seen.scenario.client_of(class);
        let keeping = |element: &&Element| matches!(&element.role, Role::Retry(policy) if policy.holds_worker);
        let waited = client.elements().iter().filter(keeping);
        let waited: f64 =
            waited.map(|element| seen.at(&["classes", &class.name, "layers", &element.name, "waited_s"])).sum();
        assert!(near(time("waiting_retry"), waited), "{} of {waited} s", time("waiting_retry"));
        assert_eq!(time("waiting_limiter"), 0.0);
    }
}

fn factors_multiply_to_amplification(seen: &Seen) {
    let mut spans = vec![seen.numbers.at(&["classes"]).unwrap()];
    for (_, phase) in seen.numbers.at(&["phases"]).unwrap().branches() {
        spans.extend(phase.at(&["classes"]));
    }
    for (class, numbers) in spans.into_iter().flat_map(Tree::branches) {
        let factors = numbers.at(&["factors"]).unwrap().branches();
        let is_hop = |name: &str| wide::is_hop(&seen.scenario, class, name);
        let factors = factors.iter().filter(|(name, _)| !is_hop(name)).flat_map(|(_, factor)| factor.leaves());
        let product: f64 = factors.map(|factor| factor.value).product();
        let whole = numbers.leaf(&["amplification_by_task"]).unwrap().value;
        // Behind an element that nothing passed, the factors are not defined.
        if !product.is_nan() {
            assert!((product - whole).abs() <= 1e-9 * whole, "{class}: {product} against {whole}");
        }
    }
}

fn worker_time_is_the_time_of_all_workers(seen: &Seen) {
    let mut spans = vec![(seen.scenario.length().as_secs_f64(), seen.numbers.at(&["classes"]).unwrap())];
    for (name, phase) in seen.numbers.at(&["phases"]).unwrap().branches() {
        let length = seen.at(&["phases", name, "to_s"]) - seen.at(&["phases", name, "from_s"]);
        spans.push((length, phase.at(&["classes"]).unwrap()));
    }
    for (span, classes) in spans {
        for class in seen.scenario.traffic.iter().filter(|class| class.workers() > 0) {
            let times = classes.at(&[&class.name, "worker_time_s"]).unwrap().leaves();
            let sum: f64 = times.iter().map(|time| time.value).sum();
            assert!(times.iter().all(|time| time.value >= 0.0));
            let there = f64::from(class.workers()) * span;
            assert!((sum - there).abs() <= 1e-6 * there.max(1.0), "{sum} of {there} s");
        }
    }
}

/// The counts that belong to one phase each.
const ADDED_UP: [&str; 16] = [
    "provider_requests",
    "effects",
    "repeated_effects",
    "failed_with_effect",
    "repeated_output",
    "offered",
    "delivered",
    "failed",
    "unfinished",
    "runs",
    "calls",
    "requests",
    "tasks_with_429",
    "short_circuited",
    "suppressed",
    "steps_offered",
];

fn phases_that_cover_the_run_add_up_to_it(seen: &Seen) {
    // With one window, the default phases cover the run without overlapping.
    if seen.scenario.fault_windows().len() != 1 {
        return;
    }
    let phases = seen.numbers.at(&["phases"]).unwrap().branches();
    for class in &seen.scenario.traffic {
        for name in ADDED_UP {
            let sum: f64 =
                phases.iter().map(|(phase, _)| seen.at(&["phases", phase, "classes", &class.name, name])).sum();
            assert_eq!(sum, seen.of_class(&class.name, name), "{name} of {phases:?}");
        }
    }
}

fn series_add_up_to_the_totals(seen: &Seen) {
    for (class, series) in seen.scenario.traffic.iter().zip(&seen.outcome.timeline.classes) {
        let sum = |series: &[u32]| series.iter().map(|n| f64::from(*n)).sum::<f64>();
        let number = |name| seen.of_class(&class.name, name);
        assert_eq!(sum(&series.arrivals), number("offered"));
        assert_eq!(sum(&series.wide_arrivals), number("offered"));
        assert_eq!(sum(&series.failures), number("failed"));
        assert_eq!(sum(&series.wide_calls), number("calls"));
        assert_eq!(sum(&series.wide_requests), number("requests"));
        assert_eq!(sum(&series.wide_with_429), number("tasks_with_429"));
        let answers: f64 = series.answers.iter().map(|kind| sum(kind)).sum();
        wide::are_answers_of_provider_and_hops(seen, class, answers);
    }
}

fn cost(limit: &Limit, input: u32, output: u32) -> i128 {
    i128::from(match limit.counts {
        Counts::Requests => 1,
        Counts::InputTokens => u64::from(input),
        Counts::OutputTokens => u64::from(output),
        _ => u64::from(input) + u64::from(output),
    })
}

/// What a limit admits from any instant to any other is at most its capacity and what flows in between them: a bucket
/// that is filled at the rate, cut at the capacity and never drawn below zero is the same statement.
fn limits_let_through_what_they_hold(seen: &Seen, text: &str) {
    if wide::scripts_deliver(&seen.scenario) {
        // The log shows such an answer as the service's, and it costs nothing of a limit.
        return;
    }
    let settings: toml::Table = text.parse().unwrap();
    for limit in seen.scenario.provider.limits.iter().filter(|limit| limit.terms.is_none()) {
        let written = &settings["provider"]["limits"][&limit.name];
        let amount = retrycast::units::parse::count(written["amount"].as_str().unwrap()).unwrap();
        let nanos = |key: &str| {
            let span = retrycast::units::parse::duration(written[key].as_str().unwrap()).unwrap();
            i128::from(span.as_nanos())
        };
        // In units of tokens × nanoseconds of the period, so that nothing is rounded.
        let (amount, per) = (i128::from(amount), nanos("per"));
        let capacity = amount * nanos("capacity");
        let mut admitted: Vec<(SimTime, i128)> = seen
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::RequestEnded { by: AnsweredBy::Service, sent, model, input_tokens, output_tokens, .. }
                    if limit.models.contains(*model) =>
                {
                    Some((*sent, cost(limit, *input_tokens, *output_tokens) * per))
                }
                Fact::RequestEnded { .. } | Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
            })
            .collect();
        admitted.sort_unstable();
        let (mut level, mut then) = (capacity, SimTime::ZERO);
        for (now, cost) in admitted {
            level = capacity.min(level + amount * i128::from((now - then).as_nanos())) - cost;
            then = now;
            assert!(level >= 0, "limit `{}` let through {} too many at {now:?}", limit.name, -level / per);
        }
    }
}

fn no_stack_sends_more_than_explain_says(seen: &Seen) {
    for class in explain(&seen.scenario).classes {
        let most = seen.of_class(&class.name, "max_requests_per_task");
        let hops = wide::has_hops(&seen.scenario, &class.name);
        if let Some(bound) = class.worst.per_task.filter(|_| !hops) {
            assert!(most.is_nan() || most <= bound as f64, "{most} requests, at most {bound} explained");
        }
    }
}

/// No more permits are out than there are, those that are belong to tasks that have not ended, and a task that has ended
/// has given back all of its own.
fn permits_come_back(seen: &Seen) {
    let unfinished: f64 = seen.scenario.traffic.iter().map(|class| seen.of_class(&class.name, "unfinished")).sum();
    for (guard, counts) in seen.scenario.guards.iter().zip(&seen.outcome.guards) {
        if let Some(semaphore) = guard.permits() {
            assert!(counts.most_in_use <= u64::from(semaphore.permits), "{} of {semaphore:?}", counts.most_in_use);
            let most = unfinished * wide::MOST_AT_ONCE;
            assert!(counts.in_use as f64 <= most, "{} out for {unfinished} tasks", counts.in_use);
        } else {
            assert_eq!((counts.most_in_use, counts.in_use), (0, 0));
        }
    }
}

fn shares_and_times_lie_where_they_can(seen: &Seen) {
    let horizon = seen.scenario.length().as_secs_f64();
    for class in &seen.scenario.traffic {
        for share in ["failed_share", "not_delivered_share", "tasks_with_429_share", "requests_429_share"] {
            let share = seen.of_class(&class.name, share);
            assert!(share.is_nan() || (0.0..=1.0).contains(&share));
        }
        let latency = |name| seen.at(&["classes", &class.name, "latency_s", name]);
        let steps: Vec<f64> = ["p50", "p90", "p95", "p99", "max"].into_iter().map(latency).collect();
        assert!(steps[0].is_nan() || steps.is_sorted(), "{steps:?}");
        assert!(steps[4].is_nan() || (0.0..=horizon).contains(&steps[4]));
    }
}

/// Everything at once: one scenario, one seed. Says whether the scenario is one.
pub(super) fn check(words: &[u16], seed: u64) -> bool {
    let text = text(&mut Tape::new(words));
    let Ok(scenario) = load(&Source::new("small.toml", &text)) else { return false };
    let run = Seen::of(scenario, seed);
    tasks_end_once_and_are_counted_once(&run);
    responses_are_the_requests_that_ended(&run);
    phases_hold_what_happened_in_them(&run);
    work_is_what_was_shown(&run);
    factors_multiply_to_amplification(&run);
    worker_time_is_the_time_of_all_workers(&run);
    phases_that_cover_the_run_add_up_to_it(&run);
    series_add_up_to_the_totals(&run);
    limits_let_through_what_they_hold(&run, &text);
    no_stack_sends_more_than_explain_says(&run);
    permits_come_back(&run);
    shares_and_times_lie_where_they_can(&run);
    wide::check(&run, words);
    true
}

/// How many random scenarios; more of them, and other ones, with `PROPTEST_CASES` and `PROPTEST_RNG_SEED`.
fn config() -> ProptestConfig {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (cases, seed) = (number("PROPTEST_CASES").unwrap_or(400), number("PROPTEST_RNG_SEED").unwrap_or(20_261_130));
    ProptestConfig {
        cases: cases as u32,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    }
}

#[test]
fn what_must_add_up_adds_up_in_random_scenarios() {
    let config = config();
    let RngSeed::Fixed(first) = config.rng_seed else { unreachable!("the seed is fixed above") };
    let replay =
        format!("replay: PROPTEST_RNG_SEED={first} PROPTEST_CASES={} cargo test --test it conservation", config.cases);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let tapes = (prop::collection::vec(any::<u16>(), 60..300), 0..1_000_u64);
    let (all, refused) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = runner.run(&tapes, |(words, seed)| {
        all.set(all.get() + 1);
        refused.set(refused.get() + u32::from(!check(&words, seed)));
        Ok(())
    });
    assert!(result.is_err() || refused.get() * 4 < all.get(), "{} of {} refused", refused.get(), all.get());
    if let Err(proptest::test_runner::TestError::Fail(why, (words, seed))) = &result {
        panic!("{why}\nseed {seed}, scenario\n{}\n{replay}", text(&mut Tape::new(words)));
    }
    result.unwrap();
}

#[test]
fn statistics_of_one_replicate_are_its_numbers() {
    let words: Vec<u16> = (0..140).map(|n: u16| n.wrapping_mul(40_503)).collect();
    let scenario = load(&Source::new("small.toml", &text(&mut Tape::new(&words)))).unwrap();
    let never = std::sync::atomic::AtomicBool::new(false);
    let terms = retrycast::experiment::Terms::new(&never);
    let one = retrycast::experiment::run(&scenario, Seed(3), None, None, terms).unwrap();
    let many = retrycast::experiment::run(&scenario, Seed(3), Some(1), None, terms).unwrap();
    assert_eq!((one.digest, one.world_digest), (many.digest, many.world_digest));
    for (one, many) in one.figures.leaves().into_iter().zip(many.figures.leaves()) {
        assert_eq!(one.center(), many.center());
        if let Figure::Many { statistic: Some(statistic), .. } = many {
            assert_eq!((statistic.n, statistic.sd, statistic.ci95), (1, None, None));
        }
    }
}
