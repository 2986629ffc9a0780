//! What must add up where requests are sent that nobody sees, several at once, or for nobody: see `conservation`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use retrycast::experiment::{self, Terms};
use retrycast::explain::explain;
use retrycast::metrics::{Tree, summarize};
use retrycast::policy::stack::Client;
use retrycast::policy::{Hedge, Kind};
use retrycast::provider::{Abandoned, AnsweredBy, Respond};
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::{Fact, simulate};
use retrycast::traffic::{Idempotency, TrafficClass};
use retrycast::units::SimTime;

use super::conservation::Seen;
use super::small_world::{Tape, World};

/// The most steps of a task that run at once in these worlds.
pub(super) const MOST_AT_ONCE: f64 = 4.0;

fn hedge<'a>(scenario: &'a Scenario, class: &'a TrafficClass) -> Option<&'a Hedge> {
    scenario.clients_of(class).find_map(Client::hedge)
}

/// How many requests a task can have in flight.
pub(super) fn most_in_flight(scenario: &Scenario, class: &TrafficClass) -> f64 {
    let at_once = class.stages().map(|stage| stage.len()).max().unwrap_or(1) as f64;
    at_once * hedge(scenario, class).map_or(1.0, |hedge| f64::from(hedge.max))
}

/// Whether a task can have several requests in flight.
pub(super) fn sends_several(scenario: &Scenario, class: &TrafficClass) -> bool {
    most_in_flight(scenario, class) > 1.0
}

/// Whether what reaches the provider is not what the client sends.
pub(super) fn has_hops(scenario: &Scenario, class: &str) -> bool {
    let class = scenario.traffic.iter().find(|known| known.name == class).unwrap();
    scenario.clients_of(class).any(|client| !client.hops().is_empty())
}

/// What a guard of a hop answers by itself is no response of the provider, but in the series it is an answer.
pub(super) fn are_answers_of_provider_and_hops(seen: &Seen, class: &TrafficClass, answers: f64) {
    let responses = seen.numbers.at(&["classes", &class.name, "responses"]).unwrap().leaves();
    let beside = answers - responses.iter().map(|number| number.value).sum::<f64>();
    assert!(beside == 0.0 || beside > 0.0 && has_hops(&seen.scenario, &class.name), "{beside}");
}

/// Whether a layer of this class is a hop.
pub(super) fn is_hop(scenario: &Scenario, class: &str, layer: &str) -> bool {
    let class = scenario.traffic.iter().find(|known| known.name == class).unwrap();
    let elements = scenario.clients_of(class).flat_map(Client::elements);
    elements.into_iter().any(|element| element.name == layer && element.kind == Kind::Hop)
}

/// Whether a script delivers answers.
pub(super) fn scripts_deliver(scenario: &Scenario) -> bool {
    let delivers = |respond: &Respond| match respond {
        Respond::Script(script) => script.entries().iter().any(|entry| entry.text.split(' ').any(|word| word == "200")),
        _ => false,
    };
    scenario.provider.faults.iter().any(|fault| delivers(&fault.respond))
}

/// Class, task, step, number of the request.
type Which = (u16, u32, u8, u32);

/// A request that has come back.
struct Ended {
    sent: SimTime,
    at: SimTime,
    by: AnsweredBy,
    run: u32,
    call: u32,
    is_effect: bool,
    is_cancelled: bool,
}

fn requests(seen: &Seen) -> Vec<(Which, Ended)> {
    let of = |fact: &Fact| match *fact {
        Fact::RequestEnded { class, task, run, step, call, ordinal, sent, at, answer, by, is_effect, .. } => {
            let is_cancelled = answer.outcome == retrycast::policy::Outcome::Cancelled;
            Some(((class, task, step, ordinal), Ended { sent, at, by, run, call, is_effect, is_cancelled }))
        }
        Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
    };
    seen.facts.iter().filter_map(of).collect()
}

fn ended_tasks(seen: &Seen) -> BTreeMap<(u16, u32), SimTime> {
    let of = |fact: &Fact| match *fact {
        Fact::TaskEnded { class, task, at, .. } => Some(((class, task), at)),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    };
    seen.facts.iter().filter_map(of).collect()
}

/// The requests of a task for a step are numbered without a gap, each ends once, and all have ended when their task
/// has.
fn each_request_ends_once(seen: &Seen) {
    let ended = ended_tasks(seen);
    let mut numbers: BTreeMap<(u16, u32, u8), BTreeSet<u32>> = BTreeMap::new();
    for ((class, task, step, ordinal), request) in requests(seen) {
        let new = numbers.entry((class, task, step)).or_default().insert(ordinal);
        assert!(new, "request {ordinal} of step {step} of task {task} ends twice");
        assert!(request.sent <= request.at);
        assert!(ended.get(&(class, task)).is_none_or(|end| request.at <= *end), "it ends after its task");
    }
    for ((class, task, step), numbers) in numbers {
        let last = *numbers.last().unwrap() as usize;
        let open = last - numbers.len();
        assert_eq!(*numbers.first().unwrap().min(&1), 1);
        assert!(
            open == 0 || !ended.contains_key(&(class, task)),
            "step {step} of task {task} has lost {open} requests"
        );
    }
}

fn clients_send_what_arrives_but_for_hops(seen: &Seen) {
    for class in &seen.scenario.traffic {
        if !has_hops(&seen.scenario, &class.name) {
            assert_eq!(seen.of_class(&class.name, "requests"), seen.of_class(&class.name, "provider_requests"));
        }
    }
}

fn models_add_up_to_their_class(seen: &Seen) {
    for class in &seen.scenario.traffic {
        let Some(models) = seen.numbers.at(&["classes", &class.name, "models"]) else { continue };
        let sum = |key: &str| -> f64 {
            let tables = models.branches().iter().filter_map(|(_, model)| model.at(&[key]));
            tables.flat_map(Tree::leaves).map(|number| number.value).sum()
        };
        assert_eq!(sum("requests"), seen.of_class(&class.name, "provider_requests"));
        let responses = seen.numbers.at(&["classes", &class.name, "responses"]).unwrap();
        let answered: f64 = responses.leaves().iter().map(|number| number.value).sum();
        assert_eq!((sum("responses"), sum("answered_by")), (answered, answered));
    }
}

/// `explain` bounds what reaches the provider.
fn no_more_reaches_the_provider_than_explain_says(seen: &Seen) {
    let mut of_task: BTreeMap<(u16, u32), u64> = BTreeMap::new();
    let mut of_step: BTreeMap<(u16, u32, u8), u64> = BTreeMap::new();
    for ((class, task, step, _), _) in requests(seen) {
        *of_task.entry((class, task)).or_default() += 1;
        *of_step.entry((class, task, step)).or_default() += 1;
    }
    for (index, class) in explain(&seen.scenario).classes.iter().enumerate() {
        let most = |of: Option<u64>| of.unwrap_or(0);
        let task = most(of_task.iter().filter(|((class, _), _)| usize::from(*class) == index).map(|(_, n)| *n).max());
        let step = most(of_step.iter().filter(|((class, ..), _)| usize::from(*class) == index).map(|(_, n)| *n).max());
        assert!(class.worst.per_task.is_none_or(|bound| task <= bound), "{task} per task of {:?}", class.worst);
        assert!(class.worst.per_call_site.is_none_or(|bound| step <= bound), "{step} per site of {:?}", class.worst);
    }
}

/// Effects, worked out again from what was shown.
fn effects_are_what_was_carried_out(seen: &Seen) {
    let mut by_step: BTreeMap<(u16, u32, u8), u64> = BTreeMap::new();
    let mut by_call: BTreeMap<(u16, u32, u8, u32, u32), u64> = BTreeMap::new();
    for ((class, task, step, _), request) in requests(seen).into_iter().filter(|(_, request)| request.is_effect) {
        *by_step.entry((class, task, step)).or_default() += 1;
        *by_call.entry((class, task, step, request.run, request.call)).or_default() += 1;
    }
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let number = |name| seen.of_class(&class.name, name);
        let own = || by_step.iter().filter(|((class, ..), _)| usize::from(*class) == index);
        let (effects, repeated): (u64, u64) = own().fold((0, 0), |(all, again), (_, n)| (all + n, again + n - 1));
        assert_eq!((number("effects"), number("repeated_effects")), (effects as f64, repeated as f64));
        assert!(number("effects") <= number("provider_requests"));
        assert!(number("failed_with_effect") <= number("failed"));
        assert!(number("repeated_output") <= number("provider_requests"));
        for ((_, task, step), n) in own() {
            let key = class.steps[usize::from(*step)].idempotency;
            assert!(key != Idempotency::Task || *n == 1, "step {step} of task {task} was done {n} times");
        }
        for ((_, task, step, run, call), n) in by_call.iter().filter(|((class, ..), _)| usize::from(*class) == index) {
            let key = class.steps[usize::from(*step)].idempotency;
            assert!(key != Idempotency::Call || *n == 1, "call {call} of run {run} of task {task} was done {n} times");
        }
        let (server, wasted) = (number("server_s"), number("wasted_server_s"));
        assert!((0.0..=server + 1e-9).contains(&wasted), "{wasted} of {server} s");
    }
}

/// Nobody has more slots than there are; and where the provider notices who leaves, whoever is refused finds all taken.
fn slots_are_taken_as_long_as_somebody_is_served(seen: &Seen) {
    let slots = &seen.scenario.provider.slots;
    if slots.is_empty() || scripts_deliver(&seen.scenario) {
        return;
    }
    let all = requests(seen);
    let open = seen.scenario.traffic.iter().any(|class| seen.of_class(&class.name, "unfinished") > 0.0);
    let served: Vec<&Ended> = all.iter().map(|(_, ended)| ended).filter(|r| r.by == AnsweredBy::Service).collect();
    let taken_at = |now: SimTime| served.iter().filter(|r| r.sent <= now && now < r.at).count() as u64;
    let is_exact = seen.scenario.provider.abandoned == Abandoned::Cancelled && !open;
    for (index, (settings, counts)) in slots.iter().zip(&seen.outcome.slots).enumerate() {
        assert!(counts.most_in_flight <= settings.amount);
        let refused = || all.iter().map(|(_, ended)| ended).filter(|r| r.by == AnsweredBy::Slots(index));
        if !open {
            // Whoever finds no room before the servers has passed the limits.
            let full = all.iter().filter(|(_, ended)| ended.by == AnsweredBy::Full).count();
            assert_eq!((counts.admitted, counts.refused), ((served.len() + full) as u64, refused().count() as u64));
        }
        for request in &served {
            let taken = taken_at(request.sent).saturating_sub(1);
            assert!(taken < u64::from(settings.amount), "{taken} others had a slot at {:?}", request.sent);
        }
        if is_exact {
            for request in refused() {
                // What ends at that instant may have ended because of this very refusal.
                let here = |r: &&&Ended| r.sent <= request.sent && request.sent <= r.at;
                let taken = served.iter().filter(here).count() as u64;
                assert!(taken >= u64::from(settings.amount), "only {taken} had a slot at {:?}", request.sent);
            }
        }
    }
}

/// Where all tasks have ended, nobody holds a permit, nobody's request is open, and nobody is served for nothing unless
/// somebody left.
fn what_has_ended_has_given_everything_back(seen: &Seen) {
    if seen.scenario.traffic.iter().any(|class| seen.of_class(&class.name, "unfinished") > 0.0) {
        return;
    }
    assert!(seen.outcome.guards.iter().all(|counts| counts.in_use == 0), "{:?}", seen.outcome.guards);
    let all = requests(seen);
    for (index, class) in seen.scenario.traffic.iter().enumerate() {
        let number = |name| seen.of_class(&class.name, name);
        let own = || all.iter().filter(|((class, ..), _)| usize::from(*class) == index).map(|(_, request)| request);
        assert_eq!(number("provider_requests"), own().count() as f64);
        let times: f64 = own().map(|request| (request.at - request.sent).as_secs_f64()).sum();
        if seen.scenario.provider.abandoned == Abandoned::Cancelled {
            assert!(number("server_s") <= times + 1e-6, "{} of {times} s", number("server_s"));
        }
        let cancelled = own().filter(|request| request.is_cancelled).count() as f64;
        let shown = seen.numbers.leaf(&["classes", &class.name, "responses", "cancelled"]);
        assert_eq!(shown.map_or(0.0, |number| number.value), cancelled);
        if !sends_several(&seen.scenario, class) {
            assert_eq!(cancelled, 0.0);
        }
    }
}

/// Same seed, same bytes, however many threads; another policy, the same world.
fn the_seed_decides_and_policies_leave_the_world_alone(run: &Seen, words: &[u16]) {
    let seed = run.outcome.seed;
    let again = simulate(&run.scenario, seed);
    assert_eq!((again.digest, again.world_digest), (run.outcome.digest, run.outcome.world_digest));
    let numbers = format!("{:?}", summarize(&run.scenario, &again));
    assert_eq!(numbers, format!("{:?}", run.numbers), "who watches changes nothing");
    // One in eight is enough of what is slow.
    if seed.0.is_multiple_of(8) {
        let never = AtomicBool::new(false);
        let with = |threads| {
            let result = experiment::run(&run.scenario, seed, Some(3), Some(threads), Terms::new(&never)).unwrap();
            (result.digest, result.world_digest, format!("{:?}", result.figures))
        };
        let one = with(1);
        assert!(one == with(2) && one == with(7));
    }
    let policies = World::of(&mut Tape::new(&words.iter().rev().copied().collect::<Vec<_>>())).policies;
    let World { provider, traffic, .. } = World::of(&mut Tape::new(words));
    if let Ok(other) = load(&Source::new("other.toml", &format!("{provider}{policies}{traffic}"))) {
        assert_eq!(simulate(&other, seed).world_digest, run.outcome.world_digest);
    }
}

/// Everything that is said above, of one run.
pub(super) fn check(seen: &Seen, words: &[u16]) {
    super::conservation_money::check(seen);
    each_request_ends_once(seen);
    clients_send_what_arrives_but_for_hops(seen);
    models_add_up_to_their_class(seen);
    no_more_reaches_the_provider_than_explain_says(seen);
    effects_are_what_was_carried_out(seen);
    slots_are_taken_as_long_as_somebody_is_served(seen);
    what_has_ended_has_given_everything_back(seen);
    the_seed_decides_and_policies_leave_the_world_alone(seen, words);
}
