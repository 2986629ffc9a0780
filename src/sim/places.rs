//! Who shares an instance of a guard or of a retry budget with whom: each scope tells workers, processes, classes or clients
//! apart, and numbers them.

use super::bank::Asker;
use super::world::purpose;
use crate::policy::Scope;
use crate::random::{Key, Seed};
use crate::scenario::Scenario;

/// Where a class's workers and processes lie among all.
#[derive(Clone, Copy)]
struct ClassPlace {
    first_worker: usize,
    first_process: usize,
    processes: u32,
    /// The key by which turns draw their process; `None` where a worker says it, or where there is one.
    spread: Option<Key>,
}

/// All who may have an instance of their own.
pub(super) struct Places {
    classes: Vec<ClassPlace>,
    workers: usize,
    processes: usize,
    clients: usize,
}

impl Places {
    pub(super) fn new(scenario: &Scenario, seed: Seed) -> Places {
        let mut places = Places { classes: Vec::new(), workers: 0, processes: 0, clients: scenario.clients.len() };
        let mut of_pool: Vec<Option<ClassPlace>> = vec![None; scenario.pools.len()];
        for class in &scenario.traffic {
            let key = seed.key().named(&class.name).with(purpose::PROCESS);
            let spread = Some(key).filter(|_| class.is_live() && class.processes() > 1);
            let (first_worker, first_process) = (places.workers, places.processes);
            let place = ClassPlace { first_worker, first_process, processes: class.processes(), spread };
            // Classes that share their workers share what these have.
            if let Some(shared) = class.queueing.pool.map(|pool| &mut of_pool[pool]) {
                if let Some(shared) = shared {
                    places.classes.push(*shared);
                    continue;
                }
                *shared = Some(place);
            }
            places.classes.push(place);
            places.workers += class.workers().max(1) as usize;
            places.processes += class.processes() as usize;
        }
        places
    }

    /// How many such a scope tells apart.
    pub(super) fn count(&self, scope: Scope) -> usize {
        match scope {
            // They come and go.
            Scope::Call | Scope::Run | Scope::Task => 0,
            Scope::Worker => self.workers,
            Scope::Process => self.processes,
            Scope::Class => self.classes.len(),
            Scope::Client => self.clients,
            Scope::Global => 1,
        }
    }

    /// Who asks, among all that such a scope tells apart; by client it is number `client`.
    #[inline]
    pub(super) fn of(&self, scope: Scope, asker: Asker, client: usize) -> usize {
        let place = &self.classes[asker.class as usize];
        match scope {
            Scope::Call | Scope::Run | Scope::Task => unreachable!("tasks own what is theirs by themselves"),
            Scope::Worker => place.first_worker + asker.worker as usize,
            Scope::Process => place.process(asker),
            Scope::Class => asker.class as usize,
            Scope::Client => client,
            Scope::Global => 0,
        }
    }
}

impl ClassPlace {
    /// The process of who asks, among all processes.
    fn process(&self, asker: Asker) -> usize {
        let own = match self.spread {
            None => asker.worker % self.processes,
            Some(key) => (key.with(u64::from(asker.task)).unit() * f64::from(self.processes)) as u32,
        };
        self.first_process + own as usize
    }
}
