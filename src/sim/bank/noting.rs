//! The series of guards and budgets: what each did over time is written down as it does it.

use super::{Asker, Bank, State};
use crate::observe::guards::{Door, GuardTrack, Nears};
use crate::observe::{BudgetSeries, GuardSeries};
use crate::policy::budget_gauge::Gauge;
use crate::policy::circuit_breaker::{CircuitBreaker, Gate, Phase};
use crate::policy::guard::{Guard, Mechanism, Scope};
use crate::policy::retry_budget::{BudgetState, RetryBudget};
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
                Mechanism::Breaker(_) | Mechanism::Gate(_) => track.with_doors(),
                // The bound of a track only falls within a run, so that a limit which grows is not shown as one.
                Mechanism::Semaphore(_) | Mechanism::Concurrency(_) => track.with_level(0.0, Nears::Rising),
                Mechanism::Pacer(_)
                | Mechanism::Size(_)
                | Mechanism::Throttle(_)
                | Mechanism::Rate(_)
                | Mechanism::Deployments(_) => track,
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
            let mut track = GuardTrack::new(end - base, bins, width).with_level(budget.level(&budget.full()), nears);
            if let Some(bound) = budget.moving_bound(&budget.full()) {
                track.bound(bound, SimTime::ZERO);
            }
            track
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
                track.stands(own, door(breaker, state.phase()), state.trips, now);
            }
            (_, State::Semaphore(state, _) | State::Concurrency(state, _, _)) => {
                track.level(own, f64::from(state.in_use), now);
            }
            (_, State::Gate(gate)) => {
                let door = |until| Door::Shut { until, then_ajar: false };
                track.stands(own, gate.closed_until(now).map_or(Door::Open, door), gate.closings, now);
            }
            _ => {}
        }
    }

    /// Somebody has waited before a guard, or will have.
    pub(super) fn waited(&mut self, guard: usize, from: SimTime, to: SimTime) {
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
            let track = &mut tracks.budgets[index];
            track.level(at - self.budget_bases[index].0, budget.level(state), now);
            if let Some(bound) = budget.moving_bound(state) {
                track.bound(bound, now);
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

/// How a breaker in this phase stands to those who come.
const fn door(breaker: &CircuitBreaker, phase: Phase) -> Door {
    match phase {
        Phase::Closed => Door::Open,
        Phase::Open(until) => Door::Shut { until, then_ajar: breaker.half_open.probes > 0 },
        Phase::HalfOpen { .. } => Door::Ajar,
    }
}
