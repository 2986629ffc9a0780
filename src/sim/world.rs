//! A scenario compiled for the loop: what is looked up by name or computed from settings is an index or a constant
//! here.

use crate::observe::{AnswerIndex, LayerRows};
use crate::policy::circuit_breaker::CircuitBreaker;
use crate::policy::meter::Meter;
use crate::policy::retry::LayerState;
use crate::policy::stack::{Client, Element};
use crate::policy::{Fallback, Hedge, Role};
use crate::provider::model::WINDOW_STATUS;
use crate::provider::{Abandoned, CacheState, ModelSet, Provider, Respond};
use crate::random::stream::mix;
use crate::random::{Distribution, Key, Seed};
use crate::scenario::{Act, Scenario};
use crate::sim::budgets::{Budgets, Hedges};
use crate::sim::record::{NO_WORKER, Run, own_number};
use crate::traffic::{ArrivalProcess, Idempotency, TrafficClass};
use crate::units::SimTime;

/// One traffic class, compiled.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the loop, and none excludes another")]
pub(super) struct Class<'a> {
    pub(super) settings: &'a TrafficClass,
    /// Its own client, and then those that single steps use.
    pub(super) stacks: Vec<Stack<'a>>,
    /// The place of each step's client among the stacks.
    pub(super) of_step: Vec<u8>,
    /// The key that the class's draws start from.
    pub(super) key: Key,
    /// The key word of each step's name.
    pub(super) step_words: Vec<u64>,
    /// The model that each step asks for.
    pub(super) models: Vec<u8>,
    /// Whether some of its steps run at once.
    pub(super) has_groups: bool,
    /// Whether any of its clients hedges.
    pub(super) hedges: bool,
    /// Whether what reaches the provider of each task is counted beside what its client sends.
    pub(super) counts_sends: bool,
    /// The workforce that works on its jobs, its place there, and whether the jobs are followed one by one.
    pub(super) force: u16,
    pub(super) member: u8,
    pub(super) follows: bool,
    /// The workforce and the place that it begins with; another one works on its jobs once they have been moved.
    pub(super) home: (u16, u8),
    /// Clients that are deployed during the run, in the order of time.
    pub(super) deploys: Vec<Deploy>,
    /// Breakers of its clients that pause workers while open, each with the client whose state it is.
    pub(super) pausing: Vec<(usize, u16)>,
}

/// A client that is deployed to a class.
pub(super) struct Deploy {
    from: SimTime,
    until: SimTime,
    /// Its place among the class's clients.
    stack: u8,
    share: f64,
    /// The key word of the intervention's name.
    word: u64,
}

/// One client of a class, compiled.
pub(super) struct Stack<'a> {
    pub(super) client: &'a Client,
    /// The client of the scenario whose guards it shares.
    pub(super) shares_with: u16,
    /// The key word of each element's name, innermost first.
    pub(super) element_words: Vec<u64>,
    /// For each element, its retry budget among all; `None` where it has none.
    pub(super) budgets: Vec<Option<usize>>,
    /// The client's hedge, where it has one.
    pub(super) hedge: Option<&'a Hedge>,
    /// Which of its elements that is.
    pub(super) hedge_at: usize,
    /// Its place among the hedges that look at one another.
    pub(super) hedge_limit: Option<usize>,
    /// Whether several layers repeat within a call, so that an inner one begins anew in the same call.
    pub(super) nests_in_call: bool,
    /// Whether there are hops between the client and the provider.
    pub(super) has_hops: bool,
    /// How many elements they have.
    pub(super) hops: usize,
    /// Guards of the client that every response feeds.
    pub(super) fed_by_responses: Vec<usize>,
    /// Its fallbacks and choices of deployments by their element, innermost first, each with the models that it goes to.
    pub(super) fallbacks: Vec<(usize, Vec<u8>)>,
    /// Where its elements' counts begin in the class's ledger.
    pub(super) first_row: usize,
    /// Where its requests are counted beside, in a class with several stacks or with hops.
    pub(super) wire: Option<usize>,
}

impl Stack<'_> {
    /// The model that a request asks for now: of the innermost fallback that has left its first one, else the step's.
    #[inline]
    pub(super) fn model(&self, own: u8, states: &[LayerState]) -> u8 {
        let target = |(element, to): &(usize, Vec<u8>)| Some(to[Fallback::target(&states[*element])?]);
        self.fallbacks.iter().find_map(target).unwrap_or(own)
    }
}

impl<'a> Class<'a> {
    /// Whether some of its requests may be dropped before they end.
    pub(super) const fn cancels(&self) -> bool {
        self.hedges || self.has_groups || self.follows
    }

    /// The client that a step uses in a run that began with this one deployed.
    #[inline]
    pub(super) fn stack(&self, step: u8, deployed: u8) -> &Stack<'a> {
        let own = self.of_step[step as usize];
        &self.stacks[if own == 0 { deployed } else { own } as usize]
    }

    /// The client that a run uses for its step.
    #[inline]
    pub(super) fn of_run(&self, run: &Run) -> &Stack<'a> {
        self.stack(run.step, run.deployed)
    }

    /// The place among its clients of the one that a run uses which begins now: the latest that was deployed to the
    /// worker, or for turns to the task.
    pub(super) fn deployed(&self, now: SimTime, worker: u32, task: u32) -> u8 {
        let reached = |deploy: &&Deploy| {
            let is_reached = if worker == NO_WORKER {
                self.key.with(deploy.word).with(u64::from(task)).unit() < deploy.share
            } else {
                // So many of the workers, the first ones.
                f64::from(own_number(worker)) < (deploy.share * f64::from(self.settings.workers())).ceil()
            };
            (deploy.from..deploy.until).contains(&now) && is_reached
        };
        self.deploys.iter().rev().find(reached).map_or(0, |deploy| deploy.stack)
    }

    /// The most elements of its stacks: each run has so many states.
    pub(super) fn widest(&self) -> usize {
        self.stacks.iter().map(|stack| stack.client.elements().len()).max().unwrap_or(0)
    }
}

/// Purposes of draws that are not named after anything.
pub(super) mod purpose {
    /// The token counts of a step.
    pub(crate) const TOKENS: u64 = u64::from_be_bytes(*b"  tokens");
    /// The service time of a request.
    pub(crate) const SERVICE: u64 = u64::from_be_bytes(*b" service");
    /// The time until the first token of its answer.
    pub(crate) const FIRST_TOKEN: u64 = u64::from_be_bytes(*b"f. token");
    /// The time until its connection stands.
    pub(crate) const CONNECT: u64 = u64::from_be_bytes(*b" connect");
    /// The time until it is written.
    pub(crate) const WRITE: u64 = u64::from_be_bytes(*b"   write");
    /// The time that it travels.
    pub(crate) const SEND: u64 = u64::from_be_bytes(*b"    send");
    /// The time that its answer travels.
    pub(crate) const RECEIVE: u64 = u64::from_be_bytes(*b" receive");
    /// The jitter of a client's elements.
    pub(crate) const JITTER: u64 = u64::from_be_bytes(*b"  jitter");
    /// The process of a turn.
    pub(crate) const PROCESS: u64 = u64::from_be_bytes(*b" process");
    /// What a guard decides by chance.
    pub(crate) const GUARD: u64 = u64::from_be_bytes(*b"   guard");
    /// Arrivals of a class.
    pub(crate) const ARRIVALS: u64 = u64::from_be_bytes(*b"arrivals");
    /// The draws of a run that is one more copy of another.
    pub(crate) const COPY: u64 = u64::from_be_bytes(*b"    copy");
    /// How long a worker lives.
    pub(crate) const CRASHES: u64 = u64::from_be_bytes(*b" crashes");
}

/// All classes of a scenario, compiled.
pub(super) fn classes(scenario: &Scenario, seed: Seed) -> Vec<Class<'_>> {
    let (budgets, hedges) = (Budgets::of(scenario), Hedges::of(scenario));
    let compiled = scenario.traffic.iter().zip(budgets.places.iter().zip(&hedges.places));
    let mut classes: Vec<Class<'_>> =
        compiled.map(|(settings, places)| compile(scenario, seed, settings, places)).collect();
    // Classes that share a pool share a workforce; every other class has one of its own.
    let mut of_pool: Vec<Option<(u16, u8)>> = vec![None; scenario.pools.len()];
    let mut forces = 0;
    for class in &mut classes {
        let place = class.settings.queueing.pool.map(|pool| &mut of_pool[pool]);
        (class.force, class.member) = match place {
            Some(Some((force, members))) => {
                *members += 1;
                (*force, *members)
            }
            first => {
                if let Some(none) = first {
                    *none = Some((forces, 0));
                }
                forces += 1;
                (forces - 1, 0)
            }
        };
        class.home = (class.force, class.member);
    }
    classes
}

/// For each client of a class and each of its elements, the place of what is shared.
type PlacesOf = Vec<Vec<Option<usize>>>;

fn compile<'a>(
    scenario: &'a Scenario,
    seed: Seed,
    settings: &'a TrafficClass,
    (budgets, hedges): (&PlacesOf, &PlacesOf),
) -> Class<'a> {
    let rows = LayerRows::of(scenario, settings);
    let stacks = scenario.clients_of(settings).enumerate().map(|(n, client)| {
        let shares_with = n.checked_sub(1).map_or(settings.client, |n| settings.others[n].shares_with);
        let guards = client.elements().iter().filter_map(|element| element.role.guard());
        let fed_by_responses = guards.filter(|guard| scenario.guards[*guard].counts_responses()).collect();
        Stack {
            client,
            shares_with: shares_with as u16,
            element_words: client.elements().iter().map(|element| Key::word(&element.name)).collect(),
            budgets: budgets[n].clone(),
            hedge: client.hedge(),
            hedge_at: client.elements().iter().position(|element| matches!(element.role, Role::Hedge(_))).unwrap_or(0),
            hedge_limit: hedges[n].iter().find_map(|place| *place),
            has_hops: !client.hops().is_empty(),
            hops: client.hops().len(),
            nests_in_call: client.client_elements().iter().filter(|element| begins_anew(element)).count() > 1,
            fed_by_responses,
            fallbacks: fallbacks(scenario, client),
            first_row: rows.first_of(n),
            wire: rows.wire_of(n),
        }
    });
    let stacks: Vec<Stack<'_>> = stacks.collect();
    let mut pausing: Vec<(usize, u16)> = Vec::new();
    for stack in &stacks {
        let pauses = breakers(scenario, stack.client).filter(|(_, breaker)| breaker.pauses_workers);
        for pair in pauses.map(|(guard, _)| (guard, stack.shares_with)) {
            if !pausing.contains(&pair) {
                pausing.push(pair);
            }
        }
    }
    Class {
        settings,
        has_groups: settings.has_groups(),
        hedges: stacks.iter().any(|stack| stack.hedge.is_some()),
        force: 0,
        member: 0,
        home: (0, 0),
        follows: scenario.follows_jobs(settings),
        counts_sends: settings.has_groups()
            || scenario.follows_jobs(settings)
            || stacks.iter().any(|stack| stack.has_hops),
        stacks,
        of_step: settings.steps.iter().map(|step| step.other.map_or(0, |other| other as u8 + 1)).collect(),
        key: seed.key().named(&settings.name),
        step_words: settings.steps.iter().map(|step| Key::word(&step.name)).collect(),
        models: settings.steps.iter().map(|step| scenario.provider.model(step.model.as_deref())).collect(),
        deploys: deploys(scenario, settings),
        pausing,
    }
}

/// What is deployed to a class, in the order of time.
fn deploys(scenario: &Scenario, settings: &TrafficClass) -> Vec<Deploy> {
    let of_class = scenario.interventions.iter().filter_map(|intervention| {
        let Act::Deploy { class, other, share } = intervention.act else { return None };
        (scenario.traffic[class].name == settings.name).then(|| Deploy {
            from: intervention.at,
            until: intervention.until,
            stack: other as u8 + 1,
            share,
            word: Key::word(&intervention.name),
        })
    });
    let mut all: Vec<Deploy> = of_class.collect();
    all.sort_by_key(|deploy| deploy.from);
    all
}

/// The fallbacks and choices of a client by their element, each with the models that it goes to.
fn fallbacks(scenario: &Scenario, client: &Client) -> Vec<(usize, Vec<u8>)> {
    let elements = client.elements().iter().enumerate();
    let targets = elements.filter_map(|(at, element)| Some((at, scenario.targets_of(&element.role)?)));
    targets.collect()
}

/// Whether what is inside this element may begin anew within a call.
fn begins_anew(element: &Element) -> bool {
    element.role.policy().is_some() || element.role.is_fallback()
}

/// The breakers of a client, each with its index among the guards.
fn breakers<'a>(scenario: &'a Scenario, client: &'a Client) -> impl Iterator<Item = (usize, &'a CircuitBreaker)> {
    let guards = client.elements().iter().filter_map(|element| element.role.guard());
    guards.filter_map(|guard| Some((guard, scenario.guards[guard].breaker()?)))
}

/// The provider's cache of prompts before the first request, with room for every block that the traffic knows.
pub(super) fn cache(scenario: &Scenario) -> Option<CacheState<'_>> {
    let settings = scenario.provider.cache.as_ref()?;
    let sizes = scenario.traffic.iter().filter_map(|class| class.sizes.as_ref());
    Some(CacheState::new(settings, sizes.map(|sizes| sizes.block_count()).max().unwrap_or(0)))
}

/// The answers that a scenario can produce.
pub(super) fn answer_index(scenario: &Scenario) -> AnswerIndex {
    let limits = scenario.provider.limits.iter().map(|limit| limit.status);
    let faults = scenario.provider.faults.iter().flat_map(|fault| match &fault.respond {
        Respond::Status { status, .. } => vec![*status],
        Respond::Script(script) => script.statuses(),
        Respond::Stream { .. }
        | Respond::Cut { .. }
        | Respond::Drop { .. }
        | Respond::Unreachable { .. }
        | Respond::Hang
        | Respond::ConnectHang
        | Respond::Silence { .. }
        | Respond::Degraded
        | Respond::SlowFirstToken(_) => Vec::new(),
    });
    let slots = scenario.provider.slots.iter().map(|slots| slots.status);
    let full = scenario.provider.capacity.iter().map(|capacity| capacity.status);
    let has_windows = scenario.provider.models.iter().any(|model| model.context_window.is_some());
    let window = has_windows.then_some(WINDOW_STATUS);
    let statuses: Vec<u16> = limits.chain(slots).chain(full).chain(faults).chain(window).collect();
    let others = scenario.traffic.iter().flat_map(|class| &class.others).map(|other| &other.client);
    let hedges = scenario.clients.iter().chain(others).any(|client| client.hedge().is_some());
    let cancels = hedges || scenario.traffic.iter().any(|class| class.has_groups() || scenario.follows_jobs(class));
    AnswerIndex::new(&statuses, cancels)
}

/// A digest of the world's settings: what is no event, and yet must be equal for two worlds to be the same one.
pub(super) fn settings_digest(scenario: &Scenario) -> u64 {
    let mut words = vec![format!("{}", scenario.horizon.as_nanos())];
    for limit in &scenario.provider.limits {
        let refusal = (limit.status, limit.refusal_latency.shape(), limit.hint);
        let name = format!("{} {}", limit.name, limit.counts.word());
        words.push(match (&limit.meter, &limit.terms) {
            (Meter::TokenBucket(bucket), None) => {
                let (amount, per, capacity) = (bucket.amount(), bucket.per(), bucket.capacity());
                format!("{name} {amount} {per:?} {capacity:?} {refusal:?}")
            }
            (meter, terms) => format!("{name} {meter:?} {terms:?} {refusal:?}"),
        });
    }
    for fault in &scenario.provider.faults {
        words.push(format!("{} {:?} {:?} {:?}", fault.name, fault.window, fault.probability, fault.respond));
        words.extend(fault.terms.iter().map(|terms| format!("{terms:?}")));
    }
    let by_model = scenario.provider.tells_models_apart();
    if by_model {
        let provider = &scenario.provider;
        let named = |models: ModelSet| {
            let names = provider.models.iter().zip(0..).filter(|(_, index)| models.contains(*index));
            let mut names: Vec<&str> = names.map(|(model, _)| model.name.as_str()).collect();
            names.sort_unstable();
            if models.is_all() { vec!["all"] } else { names }
        };
        words.extend(provider.limits.iter().map(|limit| format!("{:?}", named(limit.models))));
        words.extend(provider.faults.iter().map(|fault| format!("{:?}", named(fault.models))));
        let told = provider.models.iter().filter(|model| model.latency.is_some() || model.context_window.is_some());
        words.extend(told.map(|model| {
            format!("{} {:?} {:?}", model.name, model.latency.as_ref().map(Distribution::shape), model.context_window)
        }));
    }
    for class in &scenario.traffic {
        words.push(format!("{} {:?}", class.name, class.enqueue_delay));
        words.extend(class.sizes.as_ref().map(|sizes| format!("{:x}", sizes.digest())));
        // When its tasks arrive depends on how they are answered: the world is how many ask and how they think.
        let told = class.arrivals.iter().filter(|_| class.is_closed());
        words.extend(told.map(|process| match process {
            ArrivalProcess::Replay(replay) => format!("{:?} {}", replay.begin, replay.rows.times.len()),
            ArrivalProcess::Crowd(crowd) => crowd.word(),
            other => format!("{other:?}"),
        }));
        for step in &class.steps {
            if by_model {
                words.push(format!("{:?}", step.model));
            }
            let shapes = [&step.input_tokens, &step.output_tokens, &step.latency].map(Distribution::shape);
            words.push(format!("{} {shapes:?}", step.name));
            if scenario.provider.limits.iter().any(|limit| limit.terms.is_some()) {
                words.push(format!("{:?} {:?}", step.max_tokens, step.cached));
            }
            let phases = [&step.first_token, &step.connect, &step.write];
            if phases.iter().any(|phase| phase.is_some()) || step.idempotency != Idempotency::None {
                words.push(format!("{phases:?} {:?}", step.idempotency));
            }
        }
    }
    let Provider { slots, abandoned, faults, capacity, prices, network, .. } = &scenario.provider;
    if prices.is_some() {
        let own = scenario.provider.models.iter().filter_map(|model| Some((&model.name, model.prices?)));
        words.push(format!("{prices:?} {:?}", own.collect::<Vec<_>>()));
    }
    words.extend(capacity.iter().map(|capacity| format!("{capacity:?}")));
    words.extend(scenario.provider.cache.iter().map(|cache| format!("{cache:?}")));
    words.extend(network.iter().map(|network| format!("{network:?}")));
    if !slots.is_empty() || *abandoned != Abandoned::default() {
        words.push(format!("{slots:?} {abandoned:?}"));
    }
    let told = faults.iter().filter_map(|fault| Some((&fault.name, fault.carried_out?)));
    words.extend(told.map(|(name, carried_out)| format!("{name} {carried_out}")));
    words.iter().fold(0, |digest, word| mix(digest ^ Key::word(word)))
}
