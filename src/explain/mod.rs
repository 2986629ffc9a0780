//! What a scenario can do at worst, without simulating it. Layers of retries multiply, and the product is written
//! down nowhere: each layer is configured by someone who sees only that one. This layer reads the whole stack of a
//! checked scenario and says, for each traffic class, what its layers repeat, what they multiply to for each kind of
//! error and over all of them, how long they can wait and against which windows, what the classes ask of the limits,
//! and what looks wrong, each with a remedy.
//!
//! Everything here is arithmetic on settings; the numbers are bounds and means, and nothing is drawn.

mod adaptive;
pub mod answers;
pub mod class;
pub mod class_warnings;
pub mod client_warnings;
pub mod concurrency;
pub mod course;
pub mod delivery;
mod guard_words;
mod hedge_words;
mod how;
pub mod ladder;
pub mod layer;
pub mod load;
pub mod load_warnings;
pub mod outage;
mod outage_adaptive;
mod outage_breaker;
mod outage_budget;
pub mod outlasting;
pub mod remedy;
pub mod service;
mod sla;
mod step_settings;
pub mod sustain;
pub mod warning;
pub mod words;
pub mod worst;

#[cfg(test)]
pub(crate) mod adversary;
#[cfg(test)]
pub(crate) mod fixture;

use crate::scenario::Scenario;

pub use class::{AnswerCase, ClassExplanation, LateFailure};
pub use course::Course;
pub use ladder::{Ladder, Span};
pub use layer::{LayerExplanation, Part, Repetition};
pub use load::Demand;
pub use outage::Outage;
pub use outlasting::{Outlasting, Verdict};
pub use sustain::Sustain;
pub use warning::{Code, Warning};
pub use worst::Worst;

/// What a scenario can do at worst.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The scenario's name.
    pub scenario: String,
    /// The variant.
    pub variant: String,
    /// Its traffic classes, in the order of the file.
    pub classes: Vec<ClassExplanation>,
    /// What each class asks of each limit.
    pub demands: Vec<Demand>,
    /// Whether an overload can outlive its cause; `None` where servers are not limited.
    pub sustain: Option<Sustain>,
    /// What looks wrong.
    pub warnings: Vec<Warning>,
}

/// Explains a scenario.
pub fn explain(scenario: &Scenario) -> Explanation {
    let classes: Vec<ClassExplanation> =
        (0..scenario.traffic.len()).map(|class| ClassExplanation::of(scenario, class)).collect();
    let demands = load::demands(scenario);
    let warnings = warning::warnings(scenario, &classes, &demands);
    Explanation {
        scenario: scenario.name.clone(),
        variant: scenario.variant.clone(),
        classes,
        demands,
        sustain: Sustain::of(scenario),
        warnings,
    }
}
