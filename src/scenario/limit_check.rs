//! What only shows when limits and steps are seen together: a limit that reserves `max_tokens` counts a step that says
//! none.

use super::check::Parts;
use crate::document::{Fault, Faults};
use crate::provider::terms::Estimate;
use crate::traffic::Step;

/// Reports steps whose reservation nobody knows.
pub(super) fn check(parts: &Parts<'_>, faults: &Faults) {
    for (limit, models) in parts.provider.limits.iter().zip(&parts.provider.limit_models) {
        let Some((limit, terms)) = limit.as_ref().and_then(|limit| Some((limit, limit.terms.as_ref()?))) else {
            continue;
        };
        let meets = |step: &Step| match (models, &step.model) {
            (Some(models), Some(own)) => models.iter().any(|(model, _)| model == own),
            _ => true,
        };
        let reserves = matches!(terms.estimate, Estimate::MaxTokens | Estimate::Larger | Estimate::Unweighted);
        if !reserves || terms.unset_max_tokens > 0 {
            continue;
        }
        for (index, class) in parts.classes.iter().enumerate() {
            let Some(class) = class.as_ref().filter(|_| terms.classes.contains(index as u8)) else { continue };
            let Some(step) = class.class.steps.iter().find(|step| step.max_tokens.is_none() && meets(step)) else {
                continue;
            };
            let message = format!(
                "`{}` reserves `max_tokens`, and step `{}` of `{}` says none",
                limit.name, step.name, class.class.name
            );
            let hint = "write `max_tokens` into the step, or into the limit for all steps that say none";
            faults.add(Fault::new(class.client, message).hint(hint));
        }
    }
}
