//! The end of a run: what is in flight is counted, series are filled up.

use super::Engine;
use crate::observe::ledger::ClassLedger;
use crate::observe::levels::LimitSeries;
use crate::observe::outcome::PoolCounts;
use crate::observe::timeline::PoolSeries;
use crate::observe::{Outcome, WorkerActivity};
use crate::random::Seed;
use crate::sim::observer::Observer;
use crate::sim::record::{Doing, NO_TASK, NO_WORKER, Task};
use crate::sim::workforce::MemberSeries;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn finish(mut self, seed: Seed) -> Outcome {
        let horizon = self.scenario.horizon;
        self.evaluate_alerts(horizon);
        self.clock.move_to(SimTime::from_nanos(horizon.as_nanos() - 1), &self.plan);
        self.note_levels();
        self.clock.stop_at(horizon);
        for class in 0..self.classes.len() as u16 {
            self.close_class(class);
        }
        let mut timeline = self.timeline;
        timeline.limits = self.levels.into_iter().map(LimitSeries::finish).collect();
        let capacity = self.station.map(|station| {
            let (counts, waiting, busy) = station.finish();
            (timeline.waiting, timeline.busy) = (waiting, busy);
            counts
        });
        for (counts, state) in self.slots.iter_mut().zip(self.provider.slots()) {
            counts.most_in_flight = state.most();
        }
        let mut classes = Vec::with_capacity(self.states.len());
        for mut state in self.states {
            state.series.copies = state.deliveries.take_series();
            state.series.hedges = state.hedging.take_series();
            timeline.classes.push(state.series);
            classes.push(state.ledger);
        }
        let mut pools = vec![PoolCounts::default(); self.scenario.pools.len()];
        timeline.pools = vec![PoolSeries::default(); pools.len()];
        for (mut force, pool) in self.forces.into_iter().zip(self.pools) {
            let crew = force.crew.as_mut().map(|crew| crew.end(horizon));
            let (members, idle) = force.finish(horizon, pool.is_some());
            let busy_s = members.iter().flat_map(|member| &member.work).flatten().map(|s| f64::from(*s)).sum();
            for MemberSeries { class, queue, work } in members {
                let series = &mut timeline.classes[class as usize];
                // Its queue may have stood before several workforces.
                series.queue.iter_mut().zip(queue).for_each(|(most, here)| *most = here.max(*most));
                for (all, here) in series.workers.iter_mut().zip(work) {
                    all.iter_mut().zip(here).for_each(|(all, here)| *all += here);
                }
            }
            if let (Some(pool), Some((counts, down, workers))) = (pool, crew) {
                pools[pool] = PoolCounts {
                    crashes: counts.crashes,
                    most_workers: counts.most,
                    fewest_workers: counts.fewest,
                    busy_s,
                    idle_s: idle.iter().map(|s| f64::from(*s)).sum(),
                    down_s: down.iter().map(|nanos| *nanos as f64 / 1e9).sum(),
                };
                timeline.pools[pool] = PoolSeries { workers, idle };
            }
        }
        let (guards, series, budgets) = self.bank.finish(horizon);
        (timeline.guards, timeline.budgets) = (series, budgets);
        Outcome {
            seed,
            digest: self.digest,
            world_digest: self.world_digest,
            plan: self.plan,
            answers: self.answers.into_index(),
            classes,
            limits: self.limits,
            slots: self.slots,
            capacity,
            guards,
            pools,
            alerts: self.alerts.finish(horizon),
            timeline,
        }
    }

    /// What limits have charged since the last request that they saw.
    fn note_levels(&mut self) {
        if !self.provider.limits().charges_later() {
            return;
        }
        let (narrow, now) = (self.clock.narrow(), self.clock.now());
        self.provider.settle_until(now);
        for (index, series) in self.levels.iter_mut().enumerate() {
            let (meter, level) = self.provider.limits().of(index);
            series.fell(narrow, now, meter, level);
        }
    }

    /// Counts what is in flight when the run ends.
    pub(super) fn close_class(&mut self, class: u16) {
        for run in self.states[class as usize].runs.slots() {
            if let Some(parent) = self.parent_of(class, run) {
                let runs = &mut self.states[class as usize].runs;
                runs.get_mut(parent).task.requests += std::mem::take(&mut runs.get_mut(run).task.requests);
            }
            self.bill_unanswered(class, run);
            if self.hedged_run(class, run).is_some() {
                // Its run says what the worker does.
                continue;
            }
            let record = *self.states[class as usize].runs.get(run);
            let activity = match record.doing {
                Doing::InFlight | Doing::Hanging => self.answers.get(record.answer).activity,
                // How it will end is not known.
                Doing::AtServer | Doing::Travelling => WorkerActivity::Serving,
                Doing::WaitingRetry => WorkerActivity::WaitingRetry,
                Doing::WaitingLimiter => WorkerActivity::WaitingLimiter,
                Doing::WaitingWorker => WorkerActivity::Idle,
                // The worker is with the members, or with somebody else.
                Doing::Joining | Doing::Dropped => continue,
            };
            if record.worker != NO_WORKER {
                self.worked(class, record.worker, activity);
            }
        }
        if self.classes[class as usize].follows {
            self.close_followed(class);
        }
        // A job is counted where its newest numbers are: in its run while it has one.
        let state = &mut self.states[class as usize];
        let mut in_run = vec![false; state.tasks.len()];
        for run in state.runs.slots() {
            let record = state.runs.get(run);
            count_requests(&mut state.ledger, &record.task, false);
            if record.slot != NO_TASK && !self.classes[class as usize].follows {
                in_run[record.slot as usize] = true;
            }
        }
        for slot in state.tasks.slots() {
            if !in_run[slot as usize] {
                let failed = self.classes[class as usize].follows && state.deliveries.docket(slot).has_failed;
                count_requests(&mut state.ledger, state.tasks.get(slot), failed);
            }
        }
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Bills what was served for a run that still waits for it when all ends.
    fn bill_unanswered(&mut self, class: u16, run: u32) {
        let Some(billing) = &mut self.billing else { return };
        let state = &mut self.states[class as usize];
        billing.land(class, run, false, &mut state.ledger);
    }
}

/// Counts the requests of a task that has ended, or that the horizon cut off.
pub(super) fn count_requests(ledger: &mut ClassLedger, task: &Task, failed: bool) {
    let requests = u64::from(task.requests);
    let counts = &mut ledger.cells[task.cell as usize];
    counts.task_requests += requests;
    counts.max_task_requests = counts.max_task_requests.max(requests);
    if failed {
        counts.max_failed_task_requests = counts.max_failed_task_requests.max(requests);
    }
}
