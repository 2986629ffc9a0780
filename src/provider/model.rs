//! The models that a provider serves. A deployment of a model is a model of its own. A request asks one of them; limits
//! and faults may be for some of them only.

use super::prices::Prices;
use crate::policy::answer::{Answer, Code};
use crate::random::Distribution;

/// One model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Seconds that it needs to answer, whatever the step says; `None` where the step says it.
    pub latency: Option<Distribution>,
    /// The most input tokens of a request; `None` for no limit.
    pub context_window: Option<u32>,
    /// Its prices, where it has some of its own.
    pub prices: Option<Prices>,
}

impl Model {
    /// A model of which nothing but its name is known.
    pub const fn named(name: String) -> Model {
        Model { name, latency: None, context_window: None, prices: None }
    }

    /// Whether anything is said that sets it apart from others.
    pub const fn is_described(&self) -> bool {
        self.latency.is_some() || self.context_window.is_some() || self.prices.is_some()
    }
}

/// The status of a request that does not fit into its model's context window.
pub const WINDOW_STATUS: u16 = 400;

/// The code in the body of that answer.
pub const WINDOW_CODE: &str = "context_length_exceeded";

/// The answer to a request that does not fit into its model's context window.
pub fn window_exceeded() -> Answer {
    Answer { code: Code::named(WINDOW_CODE), ..Answer::refused(WINDOW_STATUS) }
}

/// Stands for the model of a request that names none.
pub const NO_MODEL: u8 = 63;

/// The most models of a scenario.
pub const MOST_MODELS: usize = 63;

/// Some of the models, by index; or of those who send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSet(u64);

impl ModelSet {
    /// All of them, requests that name none included.
    pub const ALL: ModelSet = ModelSet(u64::MAX);
    /// None of them.
    pub const EMPTY: ModelSet = ModelSet(0);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, model: u8) -> ModelSet {
        ModelSet(self.0 | 1 << model)
    }

    /// Whether the model is among them.
    #[inline]
    pub const fn contains(self, model: u8) -> bool {
        self.0 >> model & 1 == 1
    }

    /// Those that are in both.
    #[must_use]
    pub const fn both(self, other: ModelSet) -> ModelSet {
        ModelSet(self.0 & other.0)
    }

    /// Whether the two have a model in common.
    pub const fn meets(self, other: ModelSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is all of them.
    pub fn is_all(self) -> bool {
        self == ModelSet::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_model_is_for_everybody_only() {
        let some = ModelSet::EMPTY.with(0).with(5);
        assert!(some.contains(5) && !some.contains(4) && !some.contains(NO_MODEL));
        assert!(ModelSet::ALL.contains(NO_MODEL) && ModelSet::ALL.is_all());
        assert!(some.meets(ModelSet::EMPTY.with(5)) && !some.meets(ModelSet::EMPTY.with(1)));
    }
}
