//! Reading a choice of deployments: which there are, how one is picked, and what takes one out for how long.

use super::breaker::counted;
use super::context::Context;
use super::failures::{Failures, any_statuses};
use super::models;
use crate::document::{Field, Reader};
use crate::policy::ban::Ban;
use crate::policy::deployments::Pick;
use crate::policy::{Deployment, Deployments, OutcomeSet, StatusSet};
use crate::random::Key;
use crate::units::SimDuration;

/// The statuses that cool a deployment at once: a full or a slow one, and one that knows neither the key nor the model.
const AT_ONCE: StatusSet = StatusSet::EMPTY.with(401).with(404).with(408).with(429);

/// The most failures that are allowed.
const MOST_ALLOWED: u64 = 1_000_000;

/// Reads a choice; the models are asked for.
pub(super) fn deployments(field: &Field<'_>, context: &Context<'_>) -> Option<Deployments> {
    let reader = field.table("the deployments of a choice")?;
    let to = reader.need("to", r#"write the models of which one is picked, such as ["gpt-4/east", "gpt-4/west"]"#);
    let to = to.and_then(|field| models::list(&field, Deployments::MOST));
    let picks = [("random", Pick::Random), ("round_robin", Pick::RoundRobin), ("first", Pick::First)];
    let pick = reader.or("pick", Pick::Random, |field| field.word(&picks));
    let weights = weights(&reader, to.as_ref().map(Vec::len), pick);
    let at_once = reader.or("at_once", AT_ONCE, any_statuses);
    let usual = Failures {
        statuses: StatusSet::EMPTY.with_range(500, 599),
        outcomes: OutcomeSet::TIMEOUTS.and(OutcomeSet::CONNECTION),
    };
    let of = reader.or("of", usual, counted);
    let allowed = reader.or("allowed_failures", 4, |field| field.whole(0..=MOST_ALLOWED));
    let within = reader.or("within", SimDuration::from_mins(1), Field::positive_duration);
    let lasts = reader.or("cooldown", SimDuration::from_secs(5), Field::positive_duration);
    let status = reader.or("status", 429, |field| field.whole(400..=599));
    reader.finish();
    let (to, weights, of) = (to?, weights?, of?);
    for (model, _) in &to {
        models::ask(model, context);
    }
    let with = |(at, (model, _)): (usize, (String, _))| Deployment {
        word: Key::word(&model),
        weight: weights.get(at).copied().unwrap_or(1.0),
        model,
    };
    Some(Deployments {
        to: to.into_iter().enumerate().map(with).collect(),
        pick: pick?,
        at_once: at_once?,
        statuses: of.statuses,
        outcomes: of.outcomes,
        cooldown: Ban { after: allowed? as u32 + 1, within: within?, lasts: lasts? },
        status: status? as u16,
    })
}

/// One weight for each deployment, or none.
fn weights(reader: &Reader<'_>, deployments: Option<usize>, pick: Option<Pick>) -> Option<Vec<f64>> {
    reader.or("weights", Vec::new(), |field| {
        let items = field.list("weights", Deployments::MOST)?;
        if pick.is_some_and(|pick| pick != Pick::Random) {
            return field.wrong("is of a pick by chance", r#"write `pick = "random"`, or leave it out"#);
        }
        if deployments.is_some_and(|deployments| deployments != items.len()) {
            return field.wrong("has another length than `to`", "write one weight for each deployment");
        }
        let weight = |item: &Field<'_>| match item.number(0.0..=1_000_000.0)? {
            weight if weight > 0.0 => Some(weight),
            _ => item.must("be above 0", "leave a deployment out that is never to be picked"),
        };
        let weights: Vec<Option<f64>> = items.iter().map(weight).collect();
        weights.into_iter().collect()
    })
}
