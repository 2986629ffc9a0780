//! The terms of a limit beyond the plain ones: what a request weighs, when it is charged and by which estimate, what
//! becomes of the difference to what it really used, and what a refusal costs. A plain limit has none: it charges each
//! request at admission for what it will really use, a refusal costs nothing, and it counts all classes.

use super::model::ModelSet;
use crate::policy::ban::Ban;
use crate::policy::header::HintHeader;
use crate::units::SimTime;

/// What each part of a request weighs, in parts of one unit of the limit's amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The request itself.
    pub request: u64,
    /// Each input token that does not come from a cache.
    pub input: u64,
    /// Each input token that does.
    pub cached: u64,
    /// Each output token.
    pub output: u64,
    /// How many parts one unit of the amount has.
    pub scale: u64,
}

/// How large a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Input tokens.
    pub input: u32,
    /// How many of them come from a cache.
    pub cached: u32,
    /// Output tokens.
    pub output: u32,
    /// The most output tokens that it asks for.
    pub max_tokens: Option<u32>,
    /// The index of the model that it asks.
    pub model: u8,
}

/// When a request is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charge {
    /// When it is admitted, by an estimate.
    #[default]
    Admission,
    /// Its input when it is admitted, its output as it is produced.
    Streaming,
    /// All of it when its service ends.
    Completion,
}

/// What a request is taken to use when it is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimate {
    /// What it will really use.
    #[default]
    Actual,
    /// Its input, and no output.
    Input,
    /// Its input and its `max_tokens`.
    MaxTokens,
    /// The larger of its input and its `max_tokens`.
    Larger,
    /// Its input, from a cache or not, and its `max_tokens`, whatever they weigh.
    Unweighted,
    /// Always so many units.
    Fixed(u64),
}

/// What becomes of the difference between the estimate and what was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settle {
    /// Nothing: the estimate stays charged.
    #[default]
    Never,
    /// What was estimated too much is given back.
    Surplus,
    /// Both ways: what was estimated too little is charged too, if need be as a debt.
    Both,
}

/// What becomes of an answer whose output uses up the limit while it flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedUp {
    /// The generation stops there, and what is there is the answer.
    Cut,
    /// The stream breaks off.
    Break,
}

/// What the hint of a refusal tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// When the request would fit.
    #[default]
    Fits,
    /// When the window ends.
    Reset,
    /// When all is there again.
    Full,
    /// The same always: the shortest hint that is given.
    Constant,
}

/// The terms of a limit.
#[derive(Clone, PartialEq)]
pub struct Terms {
    /// What each part of a request weighs.
    pub weights: Weights,
    /// What it weighs for each model, by index and with its name, where that is by the provider's prices; `weights` for all others.
    pub by_model: Option<Vec<(String, Weights)>>,
    /// When it is charged.
    pub charge: Charge,
    /// What it is taken to use when it is admitted.
    pub estimate: Estimate,
    /// The `max_tokens` of a request that says none.
    pub unset_max_tokens: u32,
    /// What becomes of the difference.
    pub settle: Settle,
    /// Whether a refused request is charged as an admitted one would be.
    pub charges_refused: bool,
    /// Whether a request is admitted as long as anything is left, and the rest of its cost is a debt.
    pub lends: bool,
    /// The ban that too many refusals bring.
    pub ban: Option<Ban>,
    /// The senders whose requests it counts, by index: the classes, and behind them steps with labels of their own.
    pub classes: ModelSet,
    /// From when on the amount is another one, ascending.
    pub changes: Vec<(SimTime, u64)>,
    /// What the hint tells.
    pub until: Until,
    /// The headers that carry it; `retry-after` where there is none here.
    pub headers: Vec<HintHeader>,
    /// What becomes of an answer whose output uses it up; `None` where it flows on, as a debt.
    pub when_used_up: Option<UsedUp>,
}

impl std::fmt::Debug for Terms {
    /// All settings; the weights by model, and what becomes of answers, only where that is said.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Terms { weights, by_model, charge, estimate, unset_max_tokens, settle, .. } = self;
        let Terms { charges_refused, lends, ban, classes, changes, until, headers, when_used_up, .. } = self;
        let mut all = f.debug_struct("Terms");
        all.field("weights", weights);
        if let Some(by_model) = by_model {
            all.field("by_model", by_model);
        }
        all.field("charge", charge).field("estimate", estimate).field("unset_max_tokens", unset_max_tokens);
        all.field("settle", settle).field("charges_refused", charges_refused).field("lends", lends).field("ban", ban);
        all.field("classes", classes).field("changes", changes).field("until", until).field("headers", headers);
        if let Some(when_used_up) = when_used_up {
            all.field("when_used_up", when_used_up);
        }
        all.finish()
    }
}

impl Terms {
    /// Those of a limit that weighs requests by these, and is plain otherwise.
    pub const fn plain(weights: Weights) -> Terms {
        Terms {
            weights,
            by_model: None,
            charge: Charge::Admission,
            estimate: Estimate::Actual,
            unset_max_tokens: 0,
            settle: Settle::Never,
            charges_refused: false,
            lends: false,
            ban: None,
            classes: ModelSet::ALL,
            changes: Vec::new(),
            until: Until::Fits,
            headers: Vec::new(),
            when_used_up: None,
        }
    }

    /// Whether something is charged or given back after the admission.
    pub fn is_late(&self) -> bool {
        self.charge != Charge::Admission || self.settle != Settle::Never
    }

    /// What a request of this size costs.
    pub fn cost(&self, size: Size) -> u64 {
        let Weights { request, input, cached, output, .. } = self.weights_of(size.model);
        let from_cache = if size.cached < size.input { size.cached } else { size.input };
        let fresh = input.saturating_mul((size.input - from_cache) as u64);
        let cost = fresh.saturating_add(cached.saturating_mul(from_cache as u64));
        request.saturating_add(cost).saturating_add(output.saturating_mul(size.output as u64))
    }

    /// What each part of a request to a model weighs, by its index.
    #[inline]
    pub fn weights_of(&self, model: u8) -> Weights {
        let own = self.by_model.as_ref().and_then(|all| all.get(model as usize));
        own.map_or(self.weights, |(_, weights)| *weights)
    }

    /// What each part of a request to a model weighs, by its name.
    pub fn weights_for(&self, model: Option<&str>) -> Weights {
        let own = self.by_model.as_ref().and_then(|all| all.iter().find(|(name, _)| Some(name.as_str()) == model));
        own.map_or(self.weights, |(_, weights)| *weights)
    }

    /// What a request is charged when it is admitted.
    pub fn estimated(&self, size: Size) -> u64 {
        let most = size.max_tokens.unwrap_or(self.unset_max_tokens);
        match (self.charge, self.estimate) {
            (Charge::Completion, _) => 0,
            (Charge::Streaming, _) | (_, Estimate::Input) => self.cost(Size { output: 0, ..size }),
            (_, Estimate::Actual) => self.cost(size),
            (_, Estimate::MaxTokens) => self.cost(Size { output: most, ..size }),
            (_, Estimate::Larger) => {
                let output = self.cost(Size { input: 0, cached: 0, output: most, ..size });
                self.cost(Size { output: 0, ..size }).max(output)
            }
            (_, Estimate::Unweighted) => (u64::from(size.input) + u64::from(most)).saturating_mul(self.weights.scale),
            (_, Estimate::Fixed(units)) => units.saturating_mul(self.weights.scale),
        }
    }

    /// Whether anything that is left is enough for a request that is charged so much at admission.
    pub fn needs_any(&self, estimated: u64) -> bool {
        self.lends || estimated == 0 && self.charge != Charge::Admission
    }
}
