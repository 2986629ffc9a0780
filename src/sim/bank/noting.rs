//! The series of guards and budgets: what each did over time is written down as it does it.

use super::{Asker, Bank, State};
use crate::observe::doors::Door;
use crate::observe::guards::{GuardTrack, Nears};
use crate::observe::{BudgetSeries, GuardSeries};
use crate::policy::budget_gauge::Gauge;
use crate::policy::circuit_breaker::{BreakerState, CircuitBreaker, Gate, Phase};
use crate::policy::guard::{Guard, Mechanism, Scope};
use crate::policy::retry_budget::{BudgetState, RetryBudget};
use crate::policy::shared_gate::{GateState, SharedGate};
use crate::scenario::Scenario;
use crate::sim::budgets::Budgets;
use crate::units::{SimDuration, SimTime};

/// The series of all guards and budgets.
pub(super) struct Tracks {
    guards: Vec<GuardTrack>,
    budgets: Vec<GuardTrack>,
    /// The client and the layer of each budget, and how it is read.
    names: Vec<([String; 2], Gauge)>,
}

impl<'a> Bank<'a> {
    /// The same bank with series in so many bins of this width, where there is a guard or a budget.
    pub(in crate::sim) fn noting(mut self, scenario: &'a Scenario, bins: usize, width: SimDuration) -> Bank<'a> {
        if self.guards.is_empty() && self.budgets.is_empty() {
            return self;
        }
        let of_guard = |(guard, range): (&Guard, &[usize])| {
            let track = GuardTrack::new((range[1] - range[0]).max(1), bins, width);
            match &guard.mechanism {
                // Those that come and go are told by what they did alone.
                _ if guard.scope.ends_with_task() => track,
                Mechanism::Breaker(breaker) => track.with_doors().beginning(door(breaker, &breaker.closed())),
                Mechanism::Gate(gate) => track.with_doors().beginning(gate_door(gate, &gate.open())),
                Mechanism::Semaphore(_) => track.with_level(0.0, Nears::Rising),
                Mechanism::Concurrency(limit) => {
                    track.with_level(0.0, Nears::Rising).with_bound(f64::from(limit.first()))
                }
                // It holds nobody back before the first throttling response.
                Mechanism::Rate(_) => track.with_level(f64::INFINITY, Nears::Falling),
                Mechanism::Pacer(pacer) if pacer.until_full(&pacer.full(SimTime::ZERO), SimTime::ZERO).is_some() => {
                    track.with_buckets(pacer.bucket.capacity())
                }
                Mechanism::Pacer(_) | Mechanism::Size(_) | Mechanism::Throttle(_) | Mechanism::Deployments(_) => track,
            }
        };
        let guards = self.guards.iter().zip(self.bases.windows(2)).map(of_guard).collect();
        let Budgets { all, names, .. } = Budgets::of(scenario);
        let of_budget = |(index, (budget, scope)): (usize, &(&RetryBudget, Scope))| {
            if scope.ends_with_task() {
                return GuardTrack::new(1, bins, width);
            }
            let base = self.budget_bases[index].0;
            let end = self.budget_bases.get(index + 1).map_or(self.budgets.len(), |next| next.0);
            let nears = if budget.gauge().falls { Nears::Falling } else { Nears::Rising };
            let track = GuardTrack::new(end - base, bins, width).with_level(budget.level(&budget.full()), nears);
            match budget.moving_bound(&budget.full()) {
                Some(bound) => track.with_bound(bound),
                None => track,
            }
        };
        let budgets = all.iter().enumerate().map(of_budget).collect();
        let names = names.iter().zip(&all).map(|(names, (budget, _))| (names.map(str::to_owned), budget.gauge()));
        let names = names.collect();
        self.tracks = Some(Box::new(Tracks { guards, budgets, names }));
        self
    }

    /// Somebody came to an instance, which said this.
    #[inline]
    pub(super) fn note_came(&mut self, guard: usize, instance: usize, gate: Gate, now: SimTime) {
        if let Some(tracks) = &mut self.tracks {
            let own = if self.guards[guard].scope.ends_with_task() { 0 } else { instance - self.bases[guard] };
            tracks.guards[guard].came(own, matches!(gate, Gate::Refuse(_) | Gate::NoneLeft(_)), now);
            self.note(guard, instance, now);
        }
    }

    /// An instance may stand otherwise than before.
    #[inline]
    pub(super) fn note(&mut self, guard: usize, instance: usize, now: SimTime) {
        let Some(tracks) = &mut self.tracks else { return };
        if self.guards[guard].scope.ends_with_task() {
            return;
        }
        let (track, own) = (&mut tracks.guards[guard], instance - self.bases[guard]);
        match (&self.guards[guard].mechanism, &self.states[instance]) {
            (Mechanism::Breaker(breaker), State::Breaker(state)) => {
                track.stands(own, door(breaker, state), state.trips, now);
            }
            (_, State::Semaphore(state, _)) => track.level(own, f64::from(state.in_use), now),
            (_, State::Concurrency(state, _, limit)) => {
                track.level(own, f64::from(state.in_use), now);
                track.bound(own, f64::from(limit.limit()), now);
            }
            (Mechanism::Gate(gate), State::Gate(state)) => {
                track.stands(own, gate_door(gate, state), state.closings, now);
            }
            (Mechanism::Pacer(pacer), State::Pacer(state)) => {
                if let Some(until_full) = pacer.until_full(state, now) {
                    track.taken(until_full, now);
                }
            }
            (_, State::Rate(rate)) => track.level(own, rate.rate().unwrap_or(f64::INFINITY), now),
            _ => {}
        }
    }

    /// Somebody has waited before a guard, or will have.
    pub(super) fn waited(&mut self, guard: usize, from: SimTime, to: SimTime) {
        // Nobody waits beyond the end of the run.
        let to = to.min(self.ends);
        self.counts[guard].waited += to - from;
        note_wait(&mut self.tracks, guard, from, to);
    }

    /// Somebody who has waited is refused after all.
    pub(super) fn refused_late(&mut self, guard: usize, now: SimTime) {
        self.counts[guard].refused += 1;
        if let Some(tracks) = &mut self.tracks {
            tracks.guards[guard].refuses(now);
        }
    }

    /// Something happens to a retry budget: to the instance of who asks.
    #[inline]
    pub(in crate::sim) fn with_budget<T>(
        &mut self,
        index: usize,
        asker: Asker,
        budget: &RetryBudget,
        now: SimTime,
        happens: impl FnOnce(&mut BudgetState) -> T,
    ) -> T {
        let at = self.budget_at(index, asker);
        let state = &mut self.budgets[at];
        let result = happens(state);
        if let Some(tracks) = self.tracks.as_mut().filter(|_| !self.budget_bases[index].1.ends_with_task()) {
            let (track, own) = (&mut tracks.budgets[index], at - self.budget_bases[index].0);
            track.level(own, budget.level(state), now);
            if let Some(bound) = budget.moving_bound(state) {
                track.bound(own, bound, now);
            }
        }
        result
    }

    /// A retry was wanted of a budget, and allowed or not.
    pub(in crate::sim) fn note_retry(&mut self, index: usize, asker: Asker, is_allowed: bool, now: SimTime) {
        if self.tracks.is_none() {
            return;
        }
        let (base, scope) = self.budget_bases[index];
        let own = if scope.ends_with_task() { 0 } else { self.budget_at(index, asker) - base };
        if let Some(tracks) = &mut self.tracks {
            tracks.budgets[index].came(own, !is_allowed, now);
        }
    }

    /// A retry that was allowed is not, now that its wait is over.
    pub(in crate::sim) fn note_suppressed(&mut self, index: usize, now: SimTime) {
        if let Some(tracks) = &mut self.tracks {
            tracks.budgets[index].refuses(now);
        }
    }

    /// All series, to the end of the run.
    pub(super) fn finish_tracks(&mut self, horizon: SimTime) -> (Vec<GuardSeries>, Vec<BudgetSeries>) {
        let Some(mut tracks) = self.tracks.take() else { return (Vec::new(), Vec::new()) };
        for parked in &self.parked {
            tracks.guards[self.guard_of(parked.instance)].waits(parked.since, horizon);
        }
        for (instance, state) in self.states.iter().enumerate() {
            if let State::Semaphore(_, line) | State::Concurrency(_, line, _) = state {
                line.iter().for_each(|waiter| tracks.guards[self.guard_of(instance)].waits(waiter.since, horizon));
            }
        }
        let budgets = tracks.budgets.into_iter().zip(tracks.names).map(|(track, ([client, layer], gauge))| {
            BudgetSeries { client, layer, gauge, series: track.finish(horizon) }
        });
        let budgets = budgets.collect();
        (tracks.guards.into_iter().map(|track| track.finish(horizon)).collect(), budgets)
    }
}

/// Somebody has waited before a guard, or will have.
pub(super) fn note_wait(tracks: &mut Option<Box<Tracks>>, guard: usize, from: SimTime, to: SimTime) {
    if let Some(tracks) = tracks {
        tracks.guards[guard].waits(from, to);
    }
}

/// How a breaker stands to those who come.
fn door(breaker: &CircuitBreaker, state: &BreakerState) -> Door {
    match state.phase() {
        Phase::Closed => {
            let ramp = breaker.ramp_of(state);
            ramp.map_or(Door::Open, |(until, ajar_until)| Door::Shut { until, ajar_until })
        }
        Phase::Open(until) if breaker.half_open.probes > 0 => Door::Shut { until, ajar_until: SimTime::NEVER },
        // It closes by itself then, and its ramp begins.
        Phase::Open(until) => Door::Shut { until, ajar_until: breaker.ramp.map_or(until, |ramp| until + ramp.over) },
        Phase::HalfOpen { .. } => Door::Ajar,
    }
}

/// How a gate stands to those who come.
fn gate_door(gate: &SharedGate, state: &GateState) -> Door {
    let shut = state.until().map(|until| Door::Shut { until, ajar_until: gate.open_from(state, until) });
    shut.unwrap_or(Door::Open)
}
