//! The state of all guards. A guard has one instance for each worker, process, class, client or for everybody,
//! according to its scope; instances lie in one array, at an offset known when the run begins.

mod adaptive;
mod noting;
mod owners;
mod results;
mod waiting;

use adaptive::Passages;
use owners::Owners;

use crate::observe::outcome::GuardCounts;
use crate::observe::{BudgetSeries, GuardSeries};
use crate::policy::adaptive_concurrency::LimitState;
use crate::policy::answer::Outcome;
use crate::policy::circuit_breaker::{BreakerState, Gate, Pause, Phase};
use crate::policy::cubic_rate::RateState;
use crate::policy::deployments::DeploymentsState;
use crate::policy::guard::{Guard, Mechanism, Scope};
use crate::policy::pacer::{Counts, PacerState};
use crate::policy::retry_budget::{BudgetState, RetryBudget};
use crate::policy::semaphore::SemaphoreState;
use crate::policy::shared_gate::GateState;
use crate::policy::slots::Tally;
use crate::random::{Key, Seed};
use crate::scenario::Scenario;
use crate::sim::budgets::Budgets;
use crate::sim::line::{Homes, Kept, Line, Probes};
use crate::sim::places::Places;
use crate::sim::world::purpose;
use crate::units::{SimDuration, SimTime};
use noting::Tracks;

/// The state of one instance of a guard.
enum State {
    Breaker(BreakerState),
    Pacer(PacerState),
    Semaphore(SemaphoreState, Line),
    /// A check of a size remembers nothing.
    Size,
    Throttle(Tally),
    Concurrency(SemaphoreState, Line, LimitState),
    Gate(GateState),
    Rate(RateState),
    Deployments(DeploymentsState),
}

impl State {
    /// The state of a guard that has seen nothing. `draws` is a key of this instance alone.
    fn fresh(mechanism: &Mechanism, draws: Key) -> State {
        match mechanism {
            Mechanism::Breaker(breaker) => State::Breaker(breaker.closed()),
            Mechanism::Pacer(pacer) => State::Pacer(pacer.full(SimTime::ZERO)),
            Mechanism::Semaphore(_) => State::Semaphore(SemaphoreState::default(), Line::default()),
            Mechanism::Size(_) => State::Size,
            Mechanism::Throttle(throttle) => State::Throttle(throttle.empty()),
            Mechanism::Concurrency(limit) => {
                State::Concurrency(SemaphoreState::default(), Line::default(), limit.fresh(draws))
            }
            Mechanism::Gate(gate) => State::Gate(gate.open()),
            Mechanism::Rate(rate) => State::Rate(rate.fresh()),
            Mechanism::Deployments(deployments) => State::Deployments(deployments.healthy()),
        }
    }

    /// Counts what an instance did whose time is over.
    fn close(&self, counts: &mut GuardCounts, now: SimTime) {
        match self {
            State::Breaker(breaker) => counts.trips += u64::from(breaker.trips),
            State::Semaphore(semaphore, line) | State::Concurrency(semaphore, line, _) => {
                counts.in_use += u64::from(semaphore.in_use);
                counts.most_in_use = counts.most_in_use.max(u64::from(semaphore.most_in_use));
                counts.waited += line.iter().map(|waiter| now - waiter.since).sum();
            }
            State::Gate(gate) => {
                counts.closings += u64::from(gate.closings);
                // What its last response has asked for beyond this is not over.
                counts.closed_for +=
                    gate.closed_for.saturating_sub(gate.until().map_or(SimDuration::ZERO, |until| until.since(now)));
            }
            State::Deployments(state) => {
                for (counts, did) in counts.deployments.iter_mut().zip(state.counts()) {
                    (counts.picked, counts.cooled) = (counts.picked + did.picked, counts.cooled + did.cooled);
                }
            }
            State::Pacer(_) | State::Size | State::Throttle(_) | State::Rate(_) => {}
        }
        if let Some(seen) = self.seen() {
            counts.level = Some(counts.level.map_or(seen, |level| level.with(seen)));
        }
    }
}

/// Who asks a guard.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Asker {
    pub(in crate::sim) class: u16,
    /// The client of the scenario whose guards it shares.
    pub(in crate::sim) client: u16,
    /// The worker's number in its class; anything for turns.
    pub(in crate::sim) worker: u32,
    /// The task's ordinal in its class.
    pub(in crate::sim) task: u32,
    /// The run of the task, its step and the call within that, from 1.
    pub(in crate::sim) run: u32,
    pub(in crate::sim) step: u8,
    pub(in crate::sim) call: u32,
    pub(in crate::sim) input_tokens: u32,
    pub(in crate::sim) output_tokens: u32,
}

impl Asker {
    /// A worker without a task.
    pub(in crate::sim) const fn of_worker(class: u16, client: u16, worker: u32) -> Asker {
        Asker { class, client, worker, task: 0, run: 0, step: 0, call: 0, input_tokens: 0, output_tokens: 0 }
    }
}

/// Whether a guard's instances are told apart by worker, who may change while a run goes on.
const fn told_apart(scope: Scope) -> bool {
    matches!(scope, Scope::Worker | Scope::Process)
}

/// Whether it matters to a guard which calls were probes.
const fn knows_probes(guard: &Guard) -> bool {
    matches!(&guard.mechanism, Mechanism::Breaker(breaker) if breaker.late.probes_decide)
}

/// A run that waits for an instance of a guard to change.
struct Parked {
    instance: usize,
    class: u16,
    run: u32,
    since: SimTime,
}

/// All guards of a run.
pub(in crate::sim) struct Bank<'a> {
    guards: &'a [Guard],
    counts: Vec<GuardCounts>,
    states: Vec<State>,
    /// Where each guard's instances begin.
    bases: Vec<usize>,
    /// Runs that wait for an instance to change, in the order of their coming.
    parked: Vec<Parked>,
    /// When the run of the simulation ends.
    ends: SimTime,
    /// Runs that have waited long enough.
    woken: Vec<(u16, u32)>,
    /// Runs that a full line has thrown out, until they are told; as a rule nobody.
    fallen: Vec<(u16, u32)>,
    /// Those of them whose event has not been sent yet.
    falling: Vec<(u16, u32)>,
    /// Whether a breaker has changed so that paused workers may look again, or someone in line was called up or thrown
    /// out.
    pub(in crate::sim) resumed: bool,
    /// For each guard, the instances in which runs hold its permits, where these are told apart by worker.
    homes: Vec<Homes>,
    /// For each guard that learns from the times of results, when runs passed it.
    passages: Vec<Passages>,
    /// The keys of what guards draw themselves.
    keys: Vec<Key>,
    /// For each breaker to which it matters, the runs that it let through as probes.
    probes: Vec<Option<Probes>>,
    /// The instances of the retry budgets of all clients' layers.
    budgets: Vec<BudgetState>,
    /// Where each budget's instances begin, and who shares one.
    budget_bases: Vec<(usize, Scope)>,
    /// The settings of these budgets.
    budget_settings: Vec<&'a RetryBudget>,
    /// Who owns the instances that come and go.
    owners: Owners,
    /// Whether there are any.
    has_owners: bool,
    /// The guards of the states that came after the others.
    owned: Vec<usize>,
    /// The failures that runs are to repeat if their budgets still pay when the wait is over.
    pub(in crate::sim) kept: Kept,
    /// Who is told from whom.
    places: Places,
    /// Series over time; none where nobody looks at them.
    tracks: Option<Box<Tracks>>,
}

impl<'a> Bank<'a> {
    pub(in crate::sim) fn new(scenario: &'a Scenario, seed: Seed) -> Bank<'a> {
        let places = Places::new(scenario, seed);
        let (mut budgets, mut budget_bases, mut budget_settings) = (Vec::new(), Vec::new(), Vec::new());
        for (budget, scope) in Budgets::of(scenario).all {
            budget_bases.push((budgets.len(), scope));
            budget_settings.push(budget);
            // It belongs to a layer of one client.
            let count = if scope == Scope::Client { 1 } else { places.count(scope) };
            budgets.extend((0..count).map(|_| budget.full()));
        }
        let mut bank = Bank {
            guards: &scenario.guards,
            counts: vec![GuardCounts::default(); scenario.guards.len()],
            states: Vec::new(),
            bases: Vec::new(),
            ends: scenario.horizon,
            parked: Vec::new(),
            woken: Vec::new(),
            fallen: Vec::new(),
            falling: Vec::new(),
            resumed: false,
            homes: vec![Homes::default(); scenario.guards.len()],
            passages: vec![Passages::default(); scenario.guards.len()],
            keys: scenario.guards.iter().map(|guard| seed.key().named(&guard.name).with(purpose::GUARD)).collect(),
            probes: scenario.guards.iter().map(|guard| knows_probes(guard).then(Probes::default)).collect(),
            kept: Kept::default(),
            budgets,
            has_owners: budget_bases.iter().any(|(_, scope)| scope.ends_with_task())
                || scenario.guards.iter().any(|guard| guard.scope.ends_with_task()),
            budget_bases,
            budget_settings,
            owners: Owners::default(),
            owned: Vec::new(),
            places,
            tracks: None,
        };
        for (guard, key) in scenario.guards.iter().zip(&bank.keys) {
            bank.bases.push(bank.states.len());
            let instances = bank.places.count(guard.scope) as u64;
            bank.states.extend((0..instances).map(|instance| State::fresh(&guard.mechanism, key.with(instance))));
        }
        // The end of the last one's.
        bank.bases.push(bank.states.len());
        bank
    }

    #[inline]
    fn instance(&mut self, guard: usize, asker: Asker, now: SimTime) -> usize {
        let scope = self.guards[guard].scope;
        if scope.ends_with_task() {
            return self.own_instance(guard, asker, now);
        }
        self.bases[guard] + self.places.of(scope, asker, asker.client as usize)
    }

    /// Whether a guard decides by chance.
    pub(in crate::sim) fn is_by_chance(&self, guard: usize) -> bool {
        self.guards[guard].is_by_chance()
    }

    /// The word of a guard's name, with the seed in it.
    pub(in crate::sim) fn word(&self, guard: usize) -> u64 {
        self.keys[guard].bits()
    }

    /// Whether a guard picks among deployments.
    pub(in crate::sim) fn chooses(&self, guard: usize) -> bool {
        self.guards[guard].deployments().is_some()
    }

    /// Whether a guard stands in the way of retries only.
    pub(in crate::sim) fn gates_retries(&self, guard: usize) -> bool {
        matches!(&self.guards[guard].mechanism, Mechanism::Breaker(breaker) if breaker.gates_retries)
    }

    /// What the guard says to someone who wants to pass.
    ///
    /// `patience` is how long the run's client waits for a connection of a pool, `chance` a uniform number for a guard
    /// that decides by chance, `draws` the key of the request at a guard that picks.
    pub(in crate::sim) fn pass(
        &mut self,
        guard: usize,
        asker: Asker,
        run: u32,
        patience: Option<SimDuration>,
        (chance, draws): (f64, Key),
        now: SimTime,
    ) -> Gate {
        let instance = self.instance(guard, asker, now);
        let gate = match (&self.guards[guard].mechanism, &mut self.states[instance]) {
            (Mechanism::Breaker(breaker), State::Breaker(state)) => {
                let mut gate = breaker.enter(state, now);
                if gate == Gate::Pass {
                    gate = breaker.holds_back(state, chance, now).unwrap_or(gate);
                }
                if let (Gate::Pass, Some(probes)) = (gate, &mut self.probes[guard]) {
                    probes.out(asker.class, run, matches!(state.phase(), Phase::HalfOpen { .. }));
                }
                gate
            }
            (Mechanism::Pacer(pacer), State::Pacer(state)) => {
                let cost = Counts::cost(pacer.counts, asker.input_tokens, asker.output_tokens);
                pacer.enter(state, cost, now)
            }
            (Mechanism::Throttle(throttle), State::Throttle(state)) => throttle.enter(state, chance, now),
            (Mechanism::Size(check), State::Size) => {
                if u64::from(asker.input_tokens) > check.at_most {
                    Gate::Refuse(Outcome::TooLarge)
                } else {
                    Gate::Pass
                }
            }
            (Mechanism::Gate(gate), State::Gate(state)) => gate.enter(state, chance, now),
            (Mechanism::Rate(rate), State::Rate(state)) => rate.enter(state, now),
            (Mechanism::Deployments(deployments), State::Deployments(state)) => deployments.pick(state, draws, now),
            (Mechanism::Semaphore(_) | Mechanism::Concurrency(_), _) => {
                self.ask_for_a_permit(guard, instance, asker, run, patience, now)
            }
            (
                Mechanism::Breaker(_)
                | Mechanism::Pacer(_)
                | Mechanism::Size(_)
                | Mechanism::Throttle(_)
                | Mechanism::Gate(_)
                | Mechanism::Rate(_)
                | Mechanism::Deployments(_),
                _,
            ) => {
                unreachable!("a guard's state is of its own kind")
            }
        };
        let counts = &mut self.counts[guard];
        match gate {
            Gate::Pass | Gate::Picked(_) => {}
            Gate::Refuse(_) | Gate::NoneLeft(_) => counts.refused += 1,
            // How long is known only when it goes on.
            Gate::Park | Gate::Line(_) => counts.waits += 1,
            Gate::Wait(until) | Gate::Reserved(until) => {
                counts.waits += 1;
                self.waited(guard, now, until);
            }
        }
        self.note_came(guard, instance, gate, now);
        gate
    }

    /// Whether a pausing breaker keeps this worker from taking a job.
    pub(in crate::sim) fn pause(&mut self, guard: usize, asker: Asker, now: SimTime) -> Pause {
        let instance = self.instance(guard, asker, now);
        let pause = match (&self.guards[guard].mechanism, &mut self.states[instance]) {
            (Mechanism::Breaker(breaker), State::Breaker(state)) => breaker.pause(state, now),
            _ => Pause::No,
        };
        self.note(guard, instance, now);
        pause
    }

    /// The place of a retry budget's instance of who asks, among those of all budgets.
    #[inline]
    fn budget_at(&mut self, budget: usize, asker: Asker) -> usize {
        let (base, scope) = self.budget_bases[budget];
        if scope.ends_with_task() { self.own_budget(budget, asker) } else { base + self.places.of(scope, asker, 0) }
    }

    /// An operator opens a breaker, all instances of it.
    pub(in crate::sim) fn open_by_hand(&mut self, guard: usize, until: Option<SimTime>, now: SimTime) {
        let Mechanism::Breaker(breaker) = &self.guards[guard].mechanism else { return };
        for instance in self.bases[guard]..self.bases[guard + 1] {
            if let State::Breaker(state) = &mut self.states[instance] {
                breaker.opened_by_hand(state, until, now);
            }
            self.note(guard, instance, now);
            // Who waits for a probe to come back asks again, and waits for the breaker.
            self.wake(guard, instance, now);
        }
    }

    /// The guard of an instance.
    fn guard_of(&self, instance: usize) -> usize {
        match instance.checked_sub(self.bases[self.guards.len()]) {
            Some(own) => self.owned[own],
            None => self.bases.partition_point(|base| *base <= instance) - 1,
        }
    }

    /// What was counted, guard by guard, and their series with those of the budgets.
    pub(in crate::sim) fn finish(
        mut self,
        horizon: SimTime,
    ) -> (Vec<GuardCounts>, Vec<GuardSeries>, Vec<BudgetSeries>) {
        let (series, budgets) = self.finish_tracks(horizon);
        for (instance, state) in self.states.iter().enumerate() {
            let guard = self.guard_of(instance);
            state.close(&mut self.counts[guard], horizon);
        }
        (self.counts, series, budgets)
    }
}
