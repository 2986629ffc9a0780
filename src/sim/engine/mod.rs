//! The event loop. It owns the state of a run and interprets what stacks, the provider and guards decide; it decides
//! nothing itself. Each part of a task's life is a file below.

mod arrivals;
mod closing;
mod crews;
mod cuts;
mod deliveries;
mod groups;
mod hedges;
mod inputs;
mod interventions;
mod kill;
mod network;
mod prefetching;
mod queue;
mod requests;
mod runs;
mod stations;
mod walker;

use super::answers::Answers;
use super::bank::Bank;
use super::billing::Billing;
use super::crew::Crew;
use super::deliveries::Deliveries;
use super::event::Event;
use super::event_queue::EventQueue;
use super::groups::Groups;
use super::hedge_limits::HedgeLimits;
use super::hedging::Hedging;
use super::origins::Origins;
use super::record::{Runs, Tasks};
use super::services::{FirstTokens, Services};
use super::station::Station;
use super::streams::Streams;
use super::workforce::{Waiter, Workforce};
use super::world;
use super::world::{Class, purpose};
use crate::observe::alerts::{Alerts, Sample};
use crate::observe::ledger::{CachedInput, ClassLedger};
use crate::observe::levels::LimitSeries;
use crate::observe::outcome::{LimitCounts, SlotCounts};
use crate::observe::timeline::ClassSeries;
use crate::observe::{
    BillLedger, Clock, LayerRows, ModelLedger, Outcome, PhasePlan, RefusalLedger, Timeline, WorkerActivity,
};
use crate::policy::retry::LayerState;
use crate::policy::stack::Place;
use crate::provider::{CacheState, ProviderState};
use crate::random::stream::mix;
use crate::random::{Key, Seed};
use crate::scenario::{Act, Scenario};
use crate::sim::observer::{Course, Fact, Observer};
use crate::traffic::arrivals::ArrivalState;
use crate::units::SimTime;

/// What changes of one class during a run.
struct ClassState<'a> {
    tasks: Tasks,
    runs: Runs,
    /// The queue layer's state of each task; empty without a queue layer.
    queue_states: Vec<LayerState>,
    first_tokens: FirstTokens,
    services: Services,
    /// Until when its workers are paused, if that instant is already scheduled.
    paused_until: Option<SimTime>,
    /// Until when its whole queue is held because a job met a limit.
    held_until: Option<SimTime>,
    deliveries: Deliveries,
    arrivals: Vec<ArrivalState>,
    arrived: u32,
    /// Where its tasks come from; only of a class with closed loops.
    origins: Origins<'a>,
    /// What reached the provider of each task, by its own slot, or its run's where it has none; only behind hops.
    sends: Vec<u32>,
    /// The ordinal of each run's request on its way, by run; empty where nothing travels.
    ordinals: Vec<u32>,
    hedging: Hedging,
    groups: Groups,
    ledger: ClassLedger,
    series: ClassSeries,
}

impl ClassState<'_> {
    /// The run that stands for the task: of a request of a hedge its run, of a member of a group the run that waits.
    #[inline]
    fn home(&self, run: u32) -> u32 {
        self.groups.home(self.hedging.run_of(run))
    }

    /// Nothing of the task with this slot has reached the provider.
    fn begin_sends(&mut self, slot: u32) {
        if self.sends.len() <= slot as usize {
            self.sends.resize(slot as usize + 1, 0);
        }
        self.sends[slot as usize] = 0;
    }
}

/// The state of a run.
struct Engine<'a, O> {
    scenario: &'a Scenario,
    plan: PhasePlan,
    clock: Clock,
    events: EventQueue,
    provider: ProviderState<'a>,
    /// The provider's cache of prompts, where it has one.
    cache: Option<CacheState<'a>>,
    /// The provider's servers, where they are limited.
    station: Option<Station<'a>>,
    /// Requests whose answers a limit may stop; `None` where none does.
    streams: Option<Box<Streams>>,
    bank: Bank<'a>,
    /// What hedges know of one another.
    hedge_limits: HedgeLimits,
    /// What requests cost, where they do.
    billing: Option<Box<Billing<'a>>>,
    classes: Vec<Class<'a>>,
    states: Vec<ClassState<'a>>,
    forces: Vec<Workforce>,
    /// The pool of each workforce; `None` where a class has workers of its own.
    pools: Vec<Option<usize>>,
    /// Where each intervention moves a queue, if it does: the workforce, and the class's place there.
    moves: Vec<(u16, u8)>,
    /// The key of the draws that belong to workers.
    worker_key: Key,
    answers: Answers,
    timeline: Timeline,
    levels: Vec<LimitSeries>,
    limits: Vec<LimitCounts>,
    slots: Vec<SlotCounts>,
    /// Workforces, one bit each, whose queue or workers have changed: idle workers look for jobs once an event is
    /// handled, not in the middle of it, so that a thousand runs that fail at one instant do not nest.
    stirred: u64,
    digest: u64,
    world_digest: u64,
    alerts: Alerts<'a>,
    stopped: bool,
    observer: &'a mut O,
}

/// How many events lie between two questions whether the run goes on: about a millisecond.
const EVENTS_BETWEEN_QUESTIONS: u64 = 8_192;

/// Runs a scenario once, counting by these phases.
pub(super) fn run<'a, O: Observer>(
    scenario: &'a Scenario,
    seed: Seed,
    plan: PhasePlan,
    observer: &'a mut O,
) -> Outcome {
    let mut engine = Engine::new(scenario, seed, plan, observer);
    engine.schedule_changes();
    engine.schedule_interventions();
    engine.schedule_first_arrivals();
    engine.schedule_crews();
    let mut events = 0_u64;
    while let Some((now, event)) = engine.events.pop_until(scenario.horizon) {
        if now >= engine.alerts.due() {
            engine.evaluate_alerts(now);
        }
        engine.clock.move_to(now, &engine.plan);
        if engine.events.take_refilled() {
            engine.fetch_records();
        }
        engine.handle(Event::unpack(event));
        engine.settle();
        if O::WATCHES && engine.stopped {
            break;
        }
        if O::ATTENDS {
            events += 1;
            if events.is_multiple_of(EVENTS_BETWEEN_QUESTIONS) && !engine.goes_on(events) {
                break;
            }
        }
    }
    engine.finish(seed)
}

impl<'a, O: Observer> Engine<'a, O> {
    fn new(scenario: &'a Scenario, seed: Seed, plan: PhasePlan, observer: &'a mut O) -> Self {
        let classes = world::classes(scenario, seed);
        let answers = world::answer_index(scenario);
        let with_workers: Vec<bool> = scenario.traffic.iter().map(|class| class.workers() > 0).collect();
        let mut timeline = Timeline::new(scenario.length(), &with_workers, scenario.provider.limits.len());
        let bins = timeline.bins;
        let states = classes
            .iter()
            .zip(timeline.classes.drain(..))
            .map(|(class, mut series)| {
                series.deliveries.resize(if class.follows { timeline.bins } else { 0 }, 0);
                let rows = LayerRows::of(scenario, class.settings).len();
                let kinds = answers.names().len();
                let mut ledger = ClassLedger::new(plan.cells(), rows, kinds);
                if scenario.provider.cache.is_some() {
                    ledger.cached.resize_with(plan.cells(), CachedInput::default);
                }
                ledger.models = ModelLedger::new(scenario, class.settings, plan.cells(), kinds);
                if O::WATCHES_COUNTS {
                    ledger.bills = BillLedger::new(scenario, class.settings, plan.cells());
                    ledger.refusals = Some(RefusalLedger::new(scenario, class.settings, plan.cells(), &answers));
                }
                let arrival_key = class.key.with(purpose::ARRIVALS);
                let processes = class.settings.arrivals.iter().zip(0..);
                ClassState {
                    tasks: Tasks::new(class.settings.steps.len()),
                    runs: Runs::new(class.widest()),
                    queue_states: Vec::new(),
                    first_tokens: FirstTokens::default(),
                    paused_until: None,
                    deliveries: Deliveries::new(class.follows.then_some(bins)),
                    held_until: None,
                    arrivals: processes.map(|(process, n)| process.start(arrival_key.with(n))).collect(),
                    arrived: 0,
                    origins: Origins::new(class.settings, arrival_key),
                    sends: Vec::new(),
                    ordinals: Vec::new(),
                    hedging: Hedging::new(class.hedges.then_some(bins)),
                    groups: Groups::default(),
                    services: Services::default(),
                    ledger: if class.settings.streams() { ledger.streaming() } else { ledger },
                    series,
                }
            })
            .collect();
        let (mut forces, mut pools) = workforces(scenario, &classes, &timeline);
        let moves = moves(scenario, &classes, &timeline, (&mut forces, &mut pools));
        // The think times of a closed loop belong to the world, and only its key tells them.
        let closed = classes.iter().filter(|class| class.settings.is_closed());
        let loops = closed.fold(0_u64, |sum, class| sum.wrapping_add(mix(class.key.bits())));
        let limits = &scenario.provider.limits;
        let abandoned = scenario.provider.abandoned;
        let capacity = scenario.provider.capacity.as_ref();
        let provider = ProviderState::new(&scenario.provider, seed.key());
        let stops_answers = provider.limits().stops_answers();
        let billing = Billing::new(&scenario.provider, scenario.horizon, classes.len());
        let bank = Bank::new(scenario, seed);
        Engine {
            streams: stops_answers.then(|| Box::new(Streams::new(scenario.traffic.len()))),
            cache: world::cache(scenario),
            station: capacity.map(|capacity| Station::new(capacity, abandoned, timeline.bins)),
            scenario,
            clock: Clock::new(&plan, &timeline),
            plan,
            events: EventQueue::new(),
            provider: if O::WATCHES_COUNTS { provider.with_shadow() } else { provider },
            billing: if O::WATCHES_COUNTS { billing } else { None },
            hedge_limits: HedgeLimits::new(scenario, seed),
            bank: if O::WATCHES_COUNTS { bank.noting(scenario, timeline.bins, timeline.bin) } else { bank },
            classes,
            states,
            forces,
            pools,
            moves,
            worker_key: seed.key().with(Key::word("workers")),
            answers: Answers::new(answers),
            levels: limits.iter().map(|limit| LimitSeries::new(limit, timeline.bins, timeline.bin)).collect(),
            limits: vec![LimitCounts::default(); limits.len()],
            slots: vec![SlotCounts::default(); scenario.provider.slots.len()],
            timeline,
            stirred: 0,
            digest: 0,
            world_digest: world::settings_digest(scenario).wrapping_add(loops),
            alerts: Alerts::new(&scenario.alerts),
            stopped: false,
            observer,
        }
    }

    pub(super) fn now(&self) -> SimTime {
        self.clock.now()
    }

    /// Reads from the records of all events that are next. With 100,000 runs in flight a record comes from memory, and
    /// the loop would wait for each in turn, a quarter of its time; a processor fetches some dozen at once.
    #[cold]
    pub(super) fn fetch_records(&self) {
        for event in self.events.next_few() {
            if let Some((class, run)) = Event::unpack(event).run() {
                self.states[class as usize].runs.fetch(run);
            }
        }
    }

    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::TaskArrives { class, process } => self.task_arrives(class, process),
            Event::SessionBrings { class, session } => self.session_brings(class, session),
            Event::JobQueued { class, task } => self.enqueue(class, Waiter::Task(task), Place::Back),
            Event::JobQueuedFirst { class, task } => self.enqueue(class, Waiter::Task(task), Place::Front),
            Event::RequestEnds { class, run }
            | Event::RetryWaitEnds { class, run }
            | Event::LimiterWaitEnds { class, run }
            | Event::ReachesProvider { class, run }
                if self.was_dropped(class, run) => {}
            Event::RequestEnds { class, run } => self.request_ends(class, run),
            Event::RetryWaitEnds { class, run } => self.wait_ends(class, run, WorkerActivity::WaitingRetry),
            Event::LimiterWaitEnds { class, run } => self.wait_ends(class, run, WorkerActivity::WaitingLimiter),
            Event::HedgeDue { class, run } => self.hedge_due(class, run),
            Event::LineEnds { class, run } => self.line_ends(class, run),
            Event::PauseEnds { class } => self.pause_ends(class),
            Event::ReachesProvider { class, run } => self.reaches_provider(class, run),
            Event::ReachesServer { job } => self.reaches_server(job),
            Event::ServiceEnds { job } => self.service_ends(job),
            Event::PatienceEnds { job } => self.patience_ends(job),
            Event::CapacityChanges => self.capacity_changes(),
            Event::RunTimesOut { class, run } => self.run_times_out(class, run),
            Event::Overdue { class, message } => self.overdue(class, message),
            Event::TaskIsDue { class, task } => self.task_is_due(class, task),
            Event::DelayEnds { class, message } => self.delay_ends(class, message),
            Event::Crash { force, unit } => self.crash(force, unit),
            Event::WorkerStarts { force, worker } => self.worker_starts(force, worker),
            Event::PoolLooks { force } => self.pool_looks(force),
            Event::Intervenes { index, undoes } => self.intervenes(index, undoes),
            Event::StreamEnds { class, run } => self.stream_ends(class, run),
            Event::OutputIsDue => self.output_is_due(),
        }
    }

    /// Evaluates the alerts that are due before anything happens at `now`.
    #[cold]
    pub(super) fn evaluate_alerts(&mut self, now: SimTime) {
        let (states, classes, forces, places) = (&self.states, &self.classes, &self.forces, self.answers.places());
        self.alerts.evaluate(now, |class| {
            let Class { force, member, .. } = classes[class];
            (Sample::of(&states[class].ledger, places), forces[force as usize].waiting_of(member))
        });
    }

    #[cold]
    fn goes_on(&mut self, events: u64) -> bool {
        let sent = |state: &ClassState<'_>| state.ledger.cells.iter().map(|cell| cell.requests).sum();
        let requests = self.states.iter().map(sent).collect();
        let (now, horizon) = (self.now(), self.scenario.horizon);
        self.observer.goes_on(&Course { now, horizon, is_first_of_two: false, events, requests })
    }

    pub(super) fn show(&mut self, fact: impl FnOnce() -> Fact) {
        if O::WATCHES && !self.observer.see(&fact()) {
            self.stopped = true;
        }
    }
}

/// The workforces of a scenario, in the order of the classes, and the pool of each.
fn workforces(scenario: &Scenario, classes: &[Class<'_>], timeline: &Timeline) -> (Vec<Workforce>, Vec<Option<usize>>) {
    let (mut forces, mut pools): (Vec<Workforce>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (class, index) in classes.iter().zip(0..) {
        let queueing = &class.settings.queueing;
        if class.force as usize == forces.len() {
            let crew = scenario.pool_of(class.settings).map(|pool| Crew::of(pool, timeline.bins, timeline.bin));
            forces.push(Workforce::new(class.settings.workers(), timeline.bin, crew.map(Box::new)));
            pools.push(queueing.pool);
        }
        forces[class.force as usize].join(index, queueing.priority, timeline.bins);
    }
    (forces, pools)
}

/// Where interventions move queues, in their order: the class has a place before the workers of the pool from the
/// beginning, and a pool that no class has begins with a workforce of its own.
fn moves(
    scenario: &Scenario,
    classes: &[Class<'_>],
    timeline: &Timeline,
    (forces, pools): (&mut Vec<Workforce>, &mut Vec<Option<usize>>),
) -> Vec<(u16, u8)> {
    let mut place = |class: usize, to: usize| {
        let force = pools.iter().position(|pool| *pool == Some(to)).unwrap_or_else(|| {
            let pool = &scenario.pools[to];
            let crew = Crew::of(pool, timeline.bins, timeline.bin);
            forces.push(Workforce::new(pool.workers, timeline.bin, Some(Box::new(crew))));
            pools.push(Some(to));
            forces.len() - 1
        });
        let priority = classes[class].settings.queueing.priority;
        let known = forces[force].member_of(class as u16);
        let member = known.unwrap_or_else(|| forces[force].join(class as u16, priority, timeline.bins));
        (force as u16, member)
    };
    let interventions = scenario.interventions.iter();
    interventions
        .map(|done| match done.act {
            Act::Move { class, to } => place(class, to),
            Act::Pause { .. } | Act::Purge { .. } | Act::Trip { .. } | Act::Deploy { .. } | Act::Limit { .. } => (0, 0),
        })
        .collect()
}
