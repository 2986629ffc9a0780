//! A scenario is a checked, immutable description of one experiment: a world (provider, traffic) and the policies
//! (clients, guards) that meet it. This layer is the only one that refuses input; past it nothing about input can
//! fail.

mod adaptive_guards;
mod alerts;
mod arrivals;
mod breaker;
mod budget;
mod cache;
mod capacity;
mod check;
mod clients;
mod context;
mod crowd;
mod delivery;
mod deployments;
mod distribution;
mod element;
mod endless;
mod episodes;
mod failures;
mod fallback;
mod fault;
mod fault_file;
mod fault_terms;
mod fixes;
mod guards;
mod hedge;
mod hints;
mod interventions;
mod labels;
mod layer;
mod limit;
mod limit_changes;
mod limit_check;
mod limit_meter;
mod limit_preset;
mod limit_terms;
mod models;
mod patches;
mod phases;
mod prices;
mod provider;
mod refusal;
mod refuse;
mod requests;
mod respond;
mod scopes;
mod sessions;
mod slots;
mod source;
mod spoken;
mod step_clients;
mod timeouts;
mod trace;
mod trace_clock;
mod trace_file;
mod trace_rows;
mod traffic;
mod variants;
mod waits;
mod workers;

use crate::policy::Role;
use crate::policy::guard::Guard;
use crate::policy::stack::Client;
use crate::provider::{Fault, Provider, Window};
use crate::traffic::{TrafficClass, WorkerPool};
use crate::units::{SimDuration, SimTime};

pub use alerts::{Alert, Scale, Watched};
pub use interventions::{Act, Intervention};
pub use patches::PatchFile;
pub use refusal::Refusal;
pub use respond::SCRIPT_CLOCK;
pub use source::{Source, client_layers, lines, load, preset_client, preset_layers, settings};
pub use trace::{Opened, text_of};

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// The variant that was picked; the base's name where none was.
    pub variant: String,
    /// All variants of the file, the base first.
    pub variants: Vec<String>,
    /// The names of the fixes that the file describes.
    pub fixes: Vec<String>,
    /// When the run ends.
    pub horizon: SimTime,
    /// The instant that pictures and tables call minute 0.
    pub origin: SimTime,
    /// What the origin is, such as `overload`; `None` where it is the beginning of the run.
    pub origin_name: Option<String>,
    /// The provider.
    pub provider: Provider,
    /// All guards, in the order of the file.
    pub guards: Vec<Guard>,
    /// All clients, in the order of the file.
    pub clients: Vec<Client>,
    /// Pools of workers that classes share, in the order of the file.
    pub pools: Vec<WorkerPool>,
    /// All traffic classes, in the order of the file.
    pub traffic: Vec<TrafficClass>,
    /// The phases that the file adds to the default ones.
    pub phases: Vec<NamedPhase>,
    /// The alerts, in the order of the file.
    pub alerts: Vec<Alert>,
    /// What an operator does during the run, in the order of the file.
    pub interventions: Vec<Intervention>,
}

/// A phase that the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPhase {
    /// Its name; one of a default phase replaces that.
    pub name: String,
    /// When.
    pub window: Window,
}

impl Scenario {
    /// The client of a traffic class.
    pub fn client_of(&self, class: &TrafficClass) -> &Client {
        &self.clients[class.client]
    }

    /// The client that a class uses for one of its steps.
    pub fn client_at<'a>(&'a self, class: &'a TrafficClass, step: usize) -> &'a Client {
        class.steps[step].other.map_or_else(|| self.client_of(class), |other| &class.others[other].client)
    }

    /// All clients of a class: its own, and then those that single steps use.
    pub fn clients_of<'a>(&'a self, class: &'a TrafficClass) -> impl Iterator<Item = &'a Client> + Clone {
        std::iter::once(self.client_of(class)).chain(class.others.iter().map(|other| &other.client))
    }

    /// The pool whose workers a class shares.
    pub fn pool_of(&self, class: &TrafficClass) -> Option<&WorkerPool> {
        Some(&self.pools[class.queueing.pool?])
    }

    /// Whether the jobs of a class are followed one by one: messages that may come back, limits on their time, workers
    /// that may die.
    pub fn follows_jobs(&self, class: &TrafficClass) -> bool {
        let mut pools = self.pools_of(class);
        class.queueing.delivery.is_some() || pools.any(|pool| pool.crashes.is_some() || pool.prefetch.is_some())
    }

    /// The pools whose workers may work on the jobs of a class: its own, and those to which its jobs are moved.
    pub fn pools_of<'a>(&'a self, class: &'a TrafficClass) -> impl Iterator<Item = &'a WorkerPool> {
        let moved = self.interventions.iter().filter_map(|done| match done.act {
            Act::Move { class: moved, to } if self.traffic[moved].name == class.name => Some(&self.pools[to]),
            _ => None,
        });
        self.pool_of(class).into_iter().chain(moved)
    }

    /// Whether the jobs of a class may be moved to the workers of a pool.
    pub fn is_moved(&self, class: &TrafficClass) -> bool {
        let moves =
            |act: &Act| matches!(act, Act::Move { class: moved, .. } if self.traffic[*moved].name == class.name);
        self.interventions.iter().any(|done| moves(&done.act))
    }

    /// Whether a job of a class that meets a limit may hold the whole queue.
    pub fn holds_queue(&self, class: &TrafficClass) -> bool {
        let others = class.others.iter().map(|other| &other.client);
        let mut clients = others.chain([self.client_of(class)]);
        clients.any(|client| client.queue().is_some_and(|(policy, _)| !policy.holds_queue.is_empty()))
    }

    /// Whether jobs of the class of this name may be abandoned: their time is over, or they are thrown away.
    pub fn may_abandon(&self, class: &str) -> bool {
        let Some(at) = self.traffic.iter().position(|known| known.name == class) else { return false };
        let limits_time = self.traffic[at]
            .queueing
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.expires.is_some() || delivery.deadline.is_some());
        limits_time || self.interventions.iter().any(|done| done.act == Act::Purge { class: at })
    }

    /// The models that a class can ask for, by their index: its steps' own, then those that its clients fall back to.
    pub fn models_of(&self, class: &TrafficClass) -> Vec<u8> {
        let own = class.steps.iter().map(|step| self.provider.model(step.model.as_deref()));
        let elements = self.clients_of(class).flat_map(Client::elements);
        let targets = elements.filter_map(|element| self.targets_of(&element.role)).flatten();
        let mut models: Vec<u8> = Vec::new();
        for model in own.chain(targets) {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }

    /// The models to which an element of this role sends requests, where it does: a fallback or a choice of deployments.
    pub fn targets_of(&self, role: &Role) -> Option<Vec<u8>> {
        let model = |name: &String| self.provider.model(Some(name));
        if let Some(fallback) = role.fallback() {
            return Some(fallback.to.iter().map(model).collect());
        }
        let deployments = self.guards[role.guard()?].deployments()?;
        Some(deployments.to.iter().map(|deployment| model(&deployment.model)).collect())
    }

    /// The fault windows, in order of their start, each with the fault's name; windows past the horizon left out.
    pub fn fault_windows(&self) -> Vec<(&str, Window)> {
        let mut windows: Vec<(&str, Window)> = self
            .provider
            .faults
            .iter()
            .flat_map(Fault::windows)
            .filter(|(_, window)| window.from < self.horizon)
            .map(|(name, window)| (name, Window { from: window.from, to: window.to.min(self.horizon) }))
            .collect();
        windows.sort_by_key(|(_, window)| (window.from, window.to));
        windows
    }

    /// How long the run lasts.
    pub fn length(&self) -> SimDuration {
        self.horizon - SimTime::ZERO
    }
}
