//! What a step asks of a limit on average, for those who look at a scenario without a run.

use super::Step;
use crate::policy::pacer::Counts;
use crate::provider::Limit;
use crate::provider::terms::{Charge, Estimate, Settle, Terms};

/// The mean of what a request of the step costs in the end, in units of the limit's amount.
pub fn mean_cost(limit: &Limit, step: &Step) -> f64 {
    match &limit.terms {
        None => plain(limit.counts, step),
        Some(terms) if terms.charge == Charge::Admission && terms.settle == Settle::Never => estimate(terms, step),
        Some(terms) => weighed(terms, step, step.output_tokens.mean()),
    }
}

/// The mean of what a request of the step is charged when it is admitted.
pub fn mean_estimate(limit: &Limit, step: &Step) -> f64 {
    limit.terms.as_ref().map_or_else(|| plain(limit.counts, step), |terms| estimate(terms, step))
}

fn plain(counts: Counts, step: &Step) -> f64 {
    match counts {
        Counts::Requests => 1.0,
        Counts::InputTokens | Counts::UncachedInputTokens => step.input_tokens.mean(),
        Counts::OutputTokens => step.output_tokens.mean(),
        Counts::TotalTokens | Counts::TokensInFlight | Counts::Spend => {
            step.input_tokens.mean() + step.output_tokens.mean()
        }
    }
}

fn estimate(terms: &Terms, step: &Step) -> f64 {
    let most = f64::from(step.max_tokens.unwrap_or(terms.unset_max_tokens));
    let without_output = weighed(terms, step, 0.0);
    match (terms.charge, terms.estimate) {
        (Charge::Completion, _) => 0.0,
        (Charge::Streaming, _) | (_, Estimate::Input) => without_output,
        (_, Estimate::Actual) => weighed(terms, step, step.output_tokens.mean()),
        (_, Estimate::MaxTokens) => weighed(terms, step, most),
        (_, Estimate::Larger) => {
            let weights = terms.weights_for(step.model.as_deref());
            let output = (weights.request as f64 + weights.output as f64 * most) / weights.scale as f64;
            without_output.max(output)
        }
        (_, Estimate::Unweighted) => step.input_tokens.mean() + most,
        (_, Estimate::Fixed(units)) => units as f64,
    }
}

fn weighed(terms: &Terms, step: &Step, output: f64) -> f64 {
    let weights = terms.weights_for(step.model.as_deref());
    let input = step.input_tokens.mean();
    let cached = step.cached.of_mean(input);
    let tokens = weights.input as f64 * (input - cached) + weights.cached as f64 * cached;
    (weights.request as f64 + tokens + weights.output as f64 * output) / weights.scale as f64
}
