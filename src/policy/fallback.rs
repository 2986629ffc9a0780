//! A fallback asks another model when what is inside it has given up: the same request, the next model, at once. What
//! stands inside begins anew with each model; whoever calls the fallback again begins with the first model.

use super::classify::Classification;
use super::retry::{LayerState, RetryPolicy};

/// The settings of a fallback.
#[derive(Clone, Debug, PartialEq)]
pub struct Fallback {
    /// The models that are asked after the first one, in order.
    pub to: Vec<String>,
    /// As a layer that repeats: one attempt for each model, without a wait.
    pub(super) policy: RetryPolicy,
}

impl Fallback {
    /// The most models that one fallback goes to.
    pub const MOST: usize = 8;

    /// A fallback to these models, one after the other, after these failures.
    pub fn new(on: Classification, to: Vec<String>) -> Fallback {
        let attempts = Some(to.len() as u32 + 1);
        let policy = RetryPolicy { retry_on: on, max_attempts: attempts, ..RetryPolicy::ONCE };
        Fallback { to, policy }
    }

    /// The same as a layer that repeats.
    pub const fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// The place in `to` of the model that is being asked; `None` while it is the first one.
    pub fn target(state: &LayerState) -> Option<usize> {
        (state.attempts as usize).checked_sub(2)
    }

    /// The attempts of an element that asks the model at this place: also what a pick among deployments remembers.
    pub(super) const fn with_target(place: u8) -> u32 {
        place as u32 + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Client, Element, Kind, Role};

    #[test]
    fn a_fallback_is_a_layer_of_one_attempt_for_each_model() {
        let fallback = Fallback::new(Classification::ANY, vec!["haiku".to_owned(), "mini".to_owned()]);
        assert_eq!(fallback.policy().max_attempts, Some(3));
        let role = Role::Fallback(fallback);
        assert!(role.policy().is_some() && role.is_fallback());
        let element =
            Element { name: "fallback".to_owned(), kind: Kind::Client, role, preset: None, unspoken: Vec::new() };
        let client = Client::new("c".to_owned(), false, vec![element]).unwrap();
        let state = |attempts| [LayerState { attempts, ..LayerState::default() }];
        assert_eq!(client.route(&state(1)), None);
        assert_eq!(client.route(&state(2)), Some((0, 0)));
        assert_eq!(client.route(&state(3)), Some((0, 1)));
    }
}
