//! What guards and retry budgets leave of a class's requests in an outage: ten minutes in which every request fails.
//! Layers multiply without looking at each other; a guard looks at all of them, so that its bound holds for the class
//! as a whole, whatever its layers could do.

use super::class::by_client;
use super::client_warnings::requests_inside;
use super::outage_adaptive::{self, seen};
use super::outage_breaker::breaker;
use super::outage_budget::budget;
use super::words;
use crate::policy::pacer::{Counts, Slept};
use crate::policy::{Client, Guard, Kind, Mechanism, Pacer, Role, Scope, Semaphore};
use crate::provider::Respond;
use crate::scenario::{Act, Scenario};
use crate::traffic::{TrafficClass, WhenOneFails};
use crate::units::SimDuration;

/// How long the outage lasts that bounds are told for.
pub const OUTAGE: SimDuration = SimDuration::from_mins(10);

/// What bounds a class in an outage.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// By each guard and each budget, client by client, innermost first.
    pub bounds: Vec<Bound>,
    /// The most requests in the whole outage; `None` where no guard bounds those of every client.
    pub requests: Option<f64>,
    /// The name of the guard that bounds them, where it is one.
    pub by: Option<String>,
    /// Whether that is a mean, as of a pacer that counts tokens.
    pub on_average: bool,
}

/// What one guard or budget bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The guard, or the layer whose budget it is.
    pub name: String,
    /// What it is, in the words of a scenario file: `breaker`, `pacer`, `budget`.
    pub kind: &'static str,
    /// The instances that the class can use.
    pub instances: u64,
    /// The most requests of the class in the whole outage; `None` where it does not bound them.
    pub requests: Option<f64>,
    /// Whether that is a mean, as of a pacer that counts tokens.
    pub on_average: bool,
    /// The most calls past it at once.
    pub at_once: Option<u64>,
    /// Requests for each call in the long run, of a retry budget.
    pub per_call: Option<f64>,
    /// Retries beyond these that it pays for at once.
    pub lump: Option<f64>,
    /// How the bound comes about.
    pub words: String,
}

/// Who shares what in a class.
#[derive(Clone, Copy)]
pub(super) struct Sharing {
    /// Instances that the class uses.
    pub(super) instances: u64,
    /// Calls of the class that one instance can have past it at once; `None` for turns, of which nobody knows.
    pub(super) callers: Option<u64>,
    /// Whether an instance may die with its worker or process, and begin anew.
    pub(super) dies: bool,
}

impl Bound {
    /// A guard that bounds nothing so far.
    pub(super) fn of(name: &str, kind: &'static str, instances: u64, words: String) -> Bound {
        Bound {
            name: name.to_owned(),
            kind,
            instances,
            requests: None,
            on_average: false,
            at_once: None,
            per_call: None,
            lump: None,
            words,
        }
    }
}

impl Outage {
    /// What bounds a class; `None` where nothing does.
    pub fn of(scenario: &Scenario, class: &TrafficClass) -> Option<Outage> {
        let mut bounds: Vec<Bound> = Vec::new();
        let mut tightest: Vec<Option<Bound>> = Vec::new();
        for (client, steps) in by_client(scenario, class) {
            let mut own = of_client(scenario, class, client, &steps);
            if is_changed_by_hand(scenario, class) {
                for bound in &mut own {
                    bound.requests = None;
                    bound.words.push_str("; a deploy or a move changes who passes it");
                }
            }
            let known = own.iter().filter_map(|bound| Some((bound.requests?, bound)));
            tightest.push(known.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, bound)| bound.clone()));
            let new: Vec<Bound> = own.into_iter().filter(|bound| !bounds.contains(bound)).collect();
            bounds.extend(new);
        }
        if bounds.is_empty() {
            return None;
        }
        // The clients of single steps add up.
        let requests = tightest.iter().map(|bound| bound.as_ref()?.requests).sum::<Option<f64>>();
        let of_client = tightest.iter().flatten();
        let on_average = requests.is_some() && of_client.clone().any(|bound| bound.on_average);
        let mut names = of_client.map(|bound| bound.name.as_str());
        let first = names.next().filter(|_| requests.is_some());
        let by = first.filter(|first| names.all(|name| name == *first)).map(str::to_owned);
        Some(Outage { bounds, requests, by, on_average })
    }

    /// The most requests in a minute, on average over the outage.
    pub fn per_minute(&self) -> Option<f64> {
        self.requests.map(|requests| requests / (OUTAGE.as_secs_f64() / 60.0))
    }

    /// The bound of the whole class in a sentence.
    pub fn sentence(&self) -> String {
        let minutes = words::duration(OUTAGE);
        match (self.requests, self.per_minute(), &self.by) {
            (Some(all), Some(each), by) => {
                let by = by.as_ref().map_or_else(String::new, |name| format!(" (`{name}`)"));
                format!(
                    "in {minutes} in which every request fails, {} {} reach the provider, {} a minute{by}",
                    if self.on_average { "about" } else { "at most" },
                    words::counted(all.ceil() as u64, "request"),
                    amount(each)
                )
            }
            _ => format!("no guard bounds the requests of {minutes} in which every one fails"),
        }
    }
}

/// A number that need not be whole.
pub(super) fn amount(number: f64) -> String {
    if number >= 10.0 || number.fract() == 0.0 { words::count(number.round() as u64) } else { format!("{number:.1}") }
}

fn of_client(scenario: &Scenario, class: &TrafficClass, client: &Client, steps: &[usize]) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for (at, element) in client.elements().iter().enumerate() {
        if let Role::Guard(index) = element.role {
            let guard = &scenario.guards[index];
            if guard.scope.ends_with_task() {
                bounds.push(short_lived(&guard.name, guard.mechanism.word(), guard.scope));
                continue;
            }
            let sharing = Sharing::of(scenario, class, guard.scope);
            bounds.extend(of_guard(scenario, class, client, at, guard, sharing, steps));
        }
        if let Some((settings, scope)) = element.role.budget() {
            if scope.ends_with_task() {
                bounds.push(short_lived(&element.name, "budget", scope));
                continue;
            }
            bounds.push(budget(&element.name, settings, Sharing::of(scenario, class, scope)));
        }
    }
    bounds
}

/// What is made anew and anew bounds nothing that is longer than its own life.
fn short_lived(name: &str, kind: &'static str, scope: Scope) -> Bound {
    let scope = scope.word();
    let text = format!(
        "each {scope} has a `{name}` of its own, which is gone with it: it bounds that {scope}, not the outage"
    );
    Bound::of(name, kind, 1, text)
}

fn of_guard(
    scenario: &Scenario,
    class: &TrafficClass,
    client: &Client,
    at: usize,
    guard: &Guard,
    sharing: Sharing,
    steps: &[usize],
) -> Option<Bound> {
    let inside = requests_inside(client, at);
    match &guard.mechanism {
        Mechanism::Breaker(settings) => {
            Some(breaker(&seen(scenario, class, client), &guard.name, settings, sharing, inside))
        }
        Mechanism::Pacer(settings) => Some(pacer(class, guard, settings, sharing, inside, steps)),
        Mechanism::Semaphore(settings) => Some(semaphore(scenario, class, guard, settings, sharing)),
        // As many as it may learn to let pass.
        Mechanism::Concurrency(settings) => Some(semaphore(scenario, class, guard, &settings.semaphore, sharing)),
        Mechanism::Gate(settings) => {
            Some(outage_adaptive::gate(&seen(scenario, class, client), &guard.name, settings, sharing, inside))
        }
        Mechanism::Rate(settings) => {
            Some(outage_adaptive::rate(&seen(scenario, class, client), class, &guard.name, settings, sharing, inside))
        }
        Mechanism::Deployments(settings) => {
            Some(super::adaptive::deployments_bound(&guard.name, settings, sharing.instances))
        }
        Mechanism::Throttle(settings) => {
            let window = words::duration(settings.window.time);
            let each = if sharing.instances > 1 { " for each instance" } else { "" };
            Some(Bound::of(
                &guard.name,
                "throttle",
                sharing.instances,
                format!(
                    "`{}` lets {} times what is accepted pass: at first what it accepted in the last {window}, and once \
                     nothing is accepted about one request in {window}{each}",
                    guard.name, settings.k
                ),
            ))
        }
        Mechanism::Size(_) => None,
    }
}

impl Sharing {
    pub(super) fn of(scenario: &Scenario, class: &TrafficClass, scope: Scope) -> Sharing {
        let crashes = scenario.pool_of(class).is_some_and(|pool| pool.crashes.is_some());
        let dies = crashes && matches!(scope, Scope::Worker | Scope::Process);
        let (workers, processes) = (u64::from(class.workers()), u64::from(class.processes()).max(1));
        let instances = match scope {
            Scope::Worker => workers.max(1),
            Scope::Process => processes,
            // Of those that come and go each is told by itself.
            Scope::Call | Scope::Run | Scope::Task | Scope::Class | Scope::Client | Scope::Global => 1,
        };
        // Steps of a group are asked at once.
        let width = class.groups().map(|group| group.len() as u64).max().unwrap_or(1).max(1);
        let callers = callers_are_known(scenario, class).then(|| workers.div_ceil(instances) * width);
        Sharing { instances, callers, dies }
    }
}

/// Whether no more of a class's calls are past a guard at once than there are workers, and all of them end with what it
/// counts: not those that are dropped, and not where a worker goes on to the next job meanwhile.
fn callers_are_known(scenario: &Scenario, class: &TrafficClass) -> bool {
    let stays = |client: &Client| {
        let inside = client.elements().iter().filter(|element| element.kind != Kind::Queue);
        inside.filter_map(|element| element.role.policy()).all(|policy| policy.holds_worker)
    };
    let ends = class.queueing.delivery.as_ref().is_none_or(|d| d.timeout.is_none() && d.deadline.is_none());
    let lives = scenario.pool_of(class).is_none_or(|pool| pool.crashes.is_none());
    let cancels = class.has_groups() && class.when_one_fails == WhenOneFails::Cancel;
    !class.is_live() && ends && lives && !cancels && scenario.clients_of(class).all(stays)
}

/// Whether an operator gives the class other clients or other workers.
fn is_changed_by_hand(scenario: &Scenario, class: &TrafficClass) -> bool {
    let index = scenario.traffic.iter().position(|other| other.name == class.name);
    scenario.interventions.iter().any(|intervention| match intervention.act {
        Act::Deploy { class, .. } | Act::Move { class, .. } => Some(class) == index,
        Act::Pause { .. } | Act::Purge { .. } | Act::Trip { .. } | Act::Limit { .. } => false,
    })
}

/// Of an instance, for all of them: `×8` where there are eight.
pub(super) fn of_all(each: f64, sharing: Sharing) -> String {
    if sharing.instances == 1 {
        return amount(each);
    }
    let all = each * sharing.instances as f64;
    format!("{} ({} instances × {})", amount(all), words::count(sharing.instances), amount(each))
}

fn pacer(
    class: &TrafficClass,
    guard: &Guard,
    pacer: &Pacer,
    sharing: Sharing,
    inside: Option<u64>,
    steps: &[usize],
) -> Bound {
    let (per, amount_of) = (pacer.bucket.per(), pacer.bucket.amount() as f64);
    let periods = OUTAGE.as_secs_f64() / per.as_secs_f64();
    let capacity = pacer.bucket.capacity_tokens();
    let tokens = match pacer.slept {
        Slept::Once | Slept::AsksAgain => capacity + amount_of * periods,
        // Every second caller sleeps, and every other one passes on what the sleeper is credited once more.
        Slept::Twice => capacity + 2.0 * amount_of * periods,
        Slept::Steps(_) => capacity + amount_of * periods.ceil(),
        Slept::Log => amount_of * periods.ceil(),
        // The first one pays nothing before it passes.
        Slept::Warms(_) => 1.0 + amount_of * periods,
    };
    // A caller that takes more than there is passes all the same, when its turn comes.
    let cost = |step: usize| {
        let step = &class.steps[step];
        let (input, output) = (step.input_tokens.mean(), step.output_tokens.mean());
        match pacer.counts {
            Counts::Requests => 1.0,
            Counts::InputTokens | Counts::UncachedInputTokens => input,
            Counts::OutputTokens => output,
            Counts::TotalTokens | Counts::TokensInFlight | Counts::Spend => input + output,
        }
    };
    let cheapest = steps.iter().map(|step| cost(*step)).fold(f64::INFINITY, f64::min);
    let passes = if cheapest > 0.0 && cheapest.is_finite() { tokens / cheapest } else { f64::INFINITY };
    let by_requests = pacer.counts == Counts::Requests;
    let passes = if by_requests { passes.floor() } else { passes };
    let requests = inside.map(|inside| passes * inside as f64 * sharing.instances as f64);
    // One that dies with its process begins anew with a full bucket.
    let requests = requests.filter(|n| n.is_finite() && !sharing.dies);
    let what = match inside {
        Some(1) => "requests, whichever layer sends them".to_owned(),
        Some(most) => format!("calls, each of up to {}", words::counted(most, "request")),
        None => "calls, each of requests without end".to_owned(),
    };
    let mean = if by_requests { String::new() } else { format!(", at {} tokens each", amount(cheapest)) };
    let words = format!(
        "`{}` lets {}{} {what}, pass in {}{mean}",
        guard.name,
        if by_requests { "" } else { "about " },
        of_all(passes, sharing),
        words::duration(OUTAGE)
    );
    Bound { requests, on_average: !by_requests, ..Bound::of(&guard.name, "pacer", sharing.instances, words) }
}

fn semaphore(
    scenario: &Scenario,
    class: &TrafficClass,
    guard: &Guard,
    semaphore: &Semaphore,
    sharing: Sharing,
) -> Bound {
    let permits = u64::from(semaphore.permits) * sharing.instances;
    let each = of_all(f64::from(semaphore.permits), sharing);
    let (time, whose) = answer_time(scenario, class);
    let rate = if time > 0.0 {
        format!(", {} requests a minute where each takes {}", amount(permits as f64 * 60.0 / time), whose)
    } else {
        String::new()
    };
    let words = format!("`{}` lets {each} be in flight at once{rate}", guard.name);
    Bound { at_once: Some(permits), ..Bound::of(&guard.name, guard.mechanism.word(), sharing.instances, words) }
}

/// How long a failing answer takes: of the quickest fault on average, else what an answer takes.
fn answer_time(scenario: &Scenario, class: &TrafficClass) -> (f64, String) {
    let after = scenario.provider.faults.iter().filter_map(|fault| match &fault.respond {
        Respond::Status { after, .. } => Some((after.mean(), &fault.name)),
        _ => None,
    });
    if let Some((time, fault)) = after.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let said = words::duration(SimDuration::from_secs_f64(time));
        return (time, format!("{said}, as in `{fault}`"));
    }
    let time = class.steps.iter().map(|step| step.latency.mean()).fold(f64::INFINITY, f64::min);
    if !time.is_finite() {
        return (0.0, String::new());
    }
    (time, words::duration(SimDuration::from_secs_f64(time)))
}
