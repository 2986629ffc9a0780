//! The provider turns a request at an instant into a response: fault windows first, then rate limits, then limits on
//! requests in flight, then service.
//!
//! Faults come first because an overloaded server refuses before it counts: in the incident this models, 529s did not
//! use up the rate limit (`docs/validation.md`).

pub mod cache;
pub mod capacity;
pub mod episodes;
pub mod fault;
pub mod fault_terms;
pub mod header_text;
pub mod holds;
pub mod limit;
pub mod limits;
pub mod model;
pub mod network;
pub mod prices;
pub mod profile;
pub mod receive;
pub mod script;
pub mod script_entry;
pub mod service;
pub mod shadow;
pub mod slots;
pub mod terms;

use crate::policy::header::HintGrammar;
use crate::random::Distribution;
use crate::units::SimDuration;

pub use cache::{Cache, CacheState};
pub use capacity::Capacity;
pub use episodes::Episodes;
pub use fault::{Fault, Respond, StreamFault, Window};
pub use fault_terms::FaultTerms;
pub use holds::{Cut, Ticket};
pub use limit::{HintForm, Limit};
pub use model::{Model, ModelSet, NO_MODEL};
pub use network::Network;
pub use prices::{Fare, Prices, Tariff};
pub use profile::Profile;
pub use receive::{AnsweredBy, ProviderState, Verdict};
pub use script::Script;
pub use service::{Abandoned, Service};
pub use slots::{Slots, SlotsState};
pub use terms::Terms;

/// The settings of the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provider {
    /// Rate limits; a request must fit into all of them.
    pub limits: Vec<Limit>,
    /// Limits on requests in flight; a request must find a slot in all of them.
    pub slots: Vec<Slots>,
    /// What goes wrong, in the order of the file; the first fault that strikes answers.
    pub faults: Vec<Fault>,
    /// All models that are asked for or described; requests name them by their index.
    pub models: Vec<Model>,
    /// What becomes of requests whose callers have left.
    pub abandoned: Abandoned,
    /// Its servers; `None` where nobody ever waits for one.
    pub capacity: Option<Capacity>,
    /// Its cache of prompts; `None` where steps say what comes from one.
    pub cache: Option<Cache>,
    /// Its prices; `None` where nothing is billed.
    pub prices: Option<Box<Tariff>>,
    /// The way to it and back; `None` where that takes no time.
    pub network: Option<Network>,
}

/// What a request asks of the provider.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The index of the traffic class.
    pub class: u16,
    /// Input tokens.
    pub input_tokens: u32,
    /// How many of them come from a cache.
    pub cached_tokens: u32,
    /// Output tokens that the answer will have.
    pub output_tokens: u32,
    /// The most output tokens that it asks for, if it says so.
    pub max_tokens: Option<u32>,
    /// The key of this request's draws: of its class, task, step and ordinal.
    pub key: crate::random::Key,
    /// The index of the model that it asks, or [`NO_MODEL`].
    pub model: u8,
    /// How long it takes until the connection stands.
    pub connect: SimDuration,
    /// How long it takes from then until the request is written.
    pub write: SimDuration,
    /// The index of who sends it: its class, or a step with labels of its own.
    pub sender: u8,
    /// The index of its step.
    pub step: u8,
    /// Whether its task has sent none before it for this step.
    pub is_first: bool,
    /// How many requests its task has sent before it.
    pub ordinal: u32,
    /// How its client reads hints.
    pub grammar: &'a HintGrammar,
}

impl Provider {
    /// Whether it matters which model a request asks.
    pub fn tells_models_apart(&self) -> bool {
        let described = self.models.iter().any(Model::is_described);
        let some = |models: ModelSet| !models.is_all();
        let limits = self.limits.iter().any(|limit| some(limit.models));
        let slots = self.slots.iter().any(|slots| some(slots.models));
        described || limits || slots || self.faults.iter().any(|fault| some(fault.models))
    }

    /// The index of a model; [`NO_MODEL`] for one that nobody knows.
    pub fn model(&self, name: Option<&str>) -> u8 {
        let index = name.and_then(|name| self.models.iter().position(|model| model.name == name));
        index.map_or(NO_MODEL, |index| index as u8)
    }
}

impl Request<'_> {
    /// How large it is.
    pub const fn size(&self) -> terms::Size {
        let Request { input_tokens: input, cached_tokens: cached, output_tokens: output, max_tokens, model, .. } =
            *self;
        terms::Size { input, cached, output, max_tokens, model }
    }

    /// How it comes to the provider, as if it ended there.
    pub fn arrives(&self, now: crate::units::SimTime) -> crate::policy::Course {
        let connected = now + self.connect;
        let written = connected + self.write;
        crate::policy::Course { connected, written, ..crate::policy::Course::at_once(now, written) }
    }
}

/// The default time until a refusal by a rate limit is back.
pub fn default_refusal_latency() -> Distribution {
    Distribution::constant(0.1)
}

/// The shortest step of a hint in whole seconds.
pub const WHOLE_SECOND: SimDuration = SimDuration::from_secs(1);
