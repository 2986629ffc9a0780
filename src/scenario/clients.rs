//! Reading clients: each a stack of elements, innermost first. An element's kind says where it belongs; where the file
//! is silent the position does, so that the common stack needs no word about it.

use super::context::{Context, each};
use super::element::{Body, Draft, element};
use super::endless;
use super::layer::Layer;
use super::scopes::check_budget;
use crate::document::{Fault, Field, Place};
use crate::policy::header::HintGrammar;
use crate::policy::stack::{Place as QueuePlace, Requeue, Resume};
use crate::policy::{Client, Element, Kind, RetryBudget, Role, Scope};

/// The most elements of one client.
pub(super) const MOST_ELEMENTS: usize = 32;

/// The most attempts of a stack, all layers multiplied.
pub(super) const MOST_PRODUCT: u64 = 1_000_000_000;

/// A client with what cross checks need.
pub(super) struct ReadClient {
    /// The settings.
    pub(super) client: Client,
    /// Whether something about it is wrong, so that what it lacks may have been meant.
    pub(super) doubtful: bool,
    /// For each layer that never stops and never waits but for a total budget, its index and its place.
    pub(super) spinning: Vec<(usize, Place)>,
}

/// Reads all clients.
pub(super) fn clients(field: Option<&Field<'_>>, context: &Context<'_>) -> Vec<Option<ReadClient>> {
    let Some(reader) = field.and_then(|field| field.table("clients")) else { return vec![None] };
    let clients = each(&reader, 64, "clients", |name, field| client(name, field, context));
    reader.finish();
    clients
}

/// Reads one client.
pub(super) fn client(name: &str, field: &Field<'_>, context: &Context<'_>) -> Option<ReadClient> {
    let before = context.faults.len();
    let reader = field.table("layers")?;
    let for_tests = reader.or("for_tests", false, Field::truth);
    let layers = reader.need("layers", "write `layers = []` for a client that never retries");
    let drafts = layers.and_then(|layers| drafts(&layers, context));
    reader.finish();
    let (for_tests, drafts) = (for_tests?, drafts?);
    let stack = stack(drafts, context);
    let client = Client::new(name.to_owned(), for_tests, stack.elements)?;
    let client = match stack.grammar {
        Some(grammar) => client.with_grammar(grammar),
        None => client,
    };
    Some(ReadClient { client, doubtful: context.faults.len() > before, spinning: stack.spinning })
}

/// The elements that are not switched off.
fn drafts(layers: &Field<'_>, context: &Context<'_>) -> Option<Vec<Draft>> {
    if layers.node.as_array().is_some_and(<[_]>::is_empty) {
        return Some(Vec::new());
    }
    let items = layers.list("layers", MOST_ELEMENTS)?;
    let read: Vec<Option<Draft>> = items.iter().map(|item| element(item, context)).collect();
    unique(read.iter().flatten(), context);
    let drafts: Vec<Draft> = read.into_iter().collect::<Option<_>>()?;
    Some(drafts.into_iter().filter(|draft| !draft.off).collect())
}

fn unique<'d>(drafts: impl Iterator<Item = &'d Draft>, context: &Context<'_>) {
    let mut names: Vec<&str> = Vec::new();
    for draft in drafts {
        if names.contains(&draft.name.as_str()) {
            let message = format!("`{}` is the name of another layer of this client", draft.name);
            context.faults.add(Fault::new(draft.named, message).hint("give it a `name` of its own"));
        }
        names.push(&draft.name);
    }
}

struct Stack {
    elements: Vec<Element>,
    /// How the innermost layer that says so reads hints.
    grammar: Option<HintGrammar>,
    spinning: Vec<(usize, Place)>,
}

fn stack(drafts: Vec<Draft>, context: &Context<'_>) -> Stack {
    let kinds = kinds(&drafts);
    check_order(&drafts, &kinds, context);
    check_hedge(&drafts, context);
    let mut spinning = Vec::new();
    for (i, (draft, kind)) in drafts.iter().zip(&kinds).enumerate() {
        if let Body::Retry(layer) = &draft.body {
            check_kind(layer, *kind, context);
            spinning.extend(check_end(layer, draft.place, context).map(|place| (i, place)));
        }
    }
    check_product(&drafts, context);
    check_hands(&drafts, context);
    let grammar = drafts.iter().find_map(|draft| match &draft.body {
        Body::Retry(layer) => layer.grammar.clone(),
        Body::Guard(_) | Body::Hedge(_) | Body::Fallback(_) => None,
    });
    let elements = drafts.into_iter().zip(kinds).map(|(draft, kind)| compose(draft, kind)).collect();
    Stack { elements, grammar, spinning }
}

/// The kind of every element: what it says, else what its preset says, else by its position.
fn kinds(drafts: &[Draft]) -> Vec<Kind> {
    let is_client = |draft: &Draft| matches!(draft.body, Body::Retry(_)) && draft.kind != Some(Kind::Hop);
    let first_retry = drafts.iter().position(is_client);
    let layer_kind = |i: usize, draft: &Draft| match &draft.body {
        Body::Guard(_) => None,
        Body::Hedge(_) => Some(draft.kind.unwrap_or(Kind::Client)),
        Body::Fallback(_) => draft.kind,
        Body::Retry(layer) => {
            let brought = draft.kind.or(layer.preset.map(|preset| preset.family.kind));
            Some(brought.unwrap_or(if first_retry == Some(i) { Kind::Client } else { Kind::Decorator }))
        }
    };
    let layers: Vec<Option<Kind>> = drafts.iter().enumerate().map(|(i, draft)| layer_kind(i, draft)).collect();
    let call_edge = layers.iter().rposition(|kind| *kind == Some(Kind::Client)).unwrap_or(0);
    let hop_edge = layers.iter().rposition(|kind| *kind == Some(Kind::Hop)).unwrap_or(0);
    let guard_kind = |i: usize| match i {
        i if i < hop_edge => Kind::Hop,
        i if i < call_edge => Kind::Client,
        _ => Kind::Decorator,
    };
    let settled = |(i, kind): (usize, Option<Kind>)| kind.or(drafts[i].kind).unwrap_or_else(|| guard_kind(i));
    layers.into_iter().enumerate().map(settled).collect()
}

/// Kinds never decrease outward, and a queue is the last.
fn check_order(drafts: &[Draft], kinds: &[Kind], context: &Context<'_>) {
    for i in 1..drafts.len() {
        let (inner, outer) = (kinds[i - 1], kinds[i]);
        let fault = |message: String| {
            let hint = "layers are listed innermost first: hop, then client, then decorator, then one queue";
            context.faults.add(Fault::new(drafts[i].place, message).hint(hint));
        };
        if outer < inner {
            let (outer, inner) = (outer.word(), inner.word());
            fault(format!("a layer of kind {outer} stands outside `{}`, of kind {inner}", drafts[i - 1].name));
        } else if outer == Kind::Queue && inner == Kind::Queue {
            fault(format!("a second queue stands outside `{}`", drafts[i - 1].name));
        }
    }
}

/// A hedge sends requests itself: it is the innermost of all.
fn check_hedge(drafts: &[Draft], context: &Context<'_>) {
    for draft in drafts.iter().skip(1).filter(|draft| matches!(draft.body, Body::Hedge(_))) {
        let message = format!("`{}` stands around `{}`, and a hedge sends requests itself", draft.name, drafts[0].name);
        context.faults.add(Fault::new(draft.place, message).hint("put it first: it is the innermost element"));
    }
}

/// Keys that only queues have, and keys that they do not.
fn check_kind(layer: &Layer, kind: Kind, context: &Context<'_>) {
    let refuse = |place: Place, message: &str, hint: &str| context.faults.add(Fault::new(place, message).hint(hint));
    if let (Some(place), Some(_)) = (layer.budget, &layer.policy.budget) {
        check_budget(layer.policy.budget_scope, kind, place, context.faults);
    }
    if kind == Kind::Queue {
        if let Some(place) = layer.timeout {
            refuse(place, "a queue has no timeout", "give the layers inside it one");
        }
        if let Some(place) = layer.holds_worker {
            refuse(place, "a job that waits in the queue holds no worker", "leave `holds_worker` out");
        }
        if let (
            Some(place),
            Some(RetryBudget::Deposits(_) | RetryBudget::ActiveShare(_) | RetryBudget::FailureShare(_)),
        ) = (layer.budget, &layer.policy.budget)
        {
            refuse(place, "counts calls, and a queue sees runs", "give it to a layer inside the queue");
        }
        if let (Some(place), Some(budget)) = (layer.budget, &layer.policy.budget)
            && budget.is_asked_after_the_wait()
        {
            refuse(
                place,
                "is asked when a wait is over, and nobody waits with a job in the queue",
                "leave `checked` out",
            );
        }
        return;
    }
    let places = [layer.requeue.and_then(|(_, place)| place), layer.resume.and_then(|(_, place)| place)];
    if let Some(place) = layer.uncounted {
        refuse(
            place,
            "only a queue puts jobs back without using an attempt",
            "leave it out, or write `kind = \"queue\"`",
        );
    }
    if let Some(place) = layer.holds_queue {
        refuse(place, "only a queue has jobs to hold back", "leave it out, or write `kind = \"queue\"`");
    }
    for place in places.into_iter().flatten() {
        refuse(place, "only a queue puts jobs back", "leave it out, or write `kind = \"queue\"`");
    }
}

/// A layer without end and without wait would retry for ever at one instant. With a total budget it ends where answers
/// take time; the place is returned so that this can be checked.
fn check_end(layer: &Layer, place: Place, context: &Context<'_>) -> Option<Place> {
    if layer.doubtful || context.may_spin || !endless::spins(layer) {
        return None;
    }
    let at = if layer.attempts == Place::TOP { place } else { layer.attempts };
    if layer.policy.deadline.is_none() {
        let message = "retries without end and without wait: for ever at one instant";
        context.faults.add(Fault::new(at, message).hint("limit the attempts, give it a wait, or a `total_budget`"));
    }
    Some(at)
}

/// A budget that counts the calls under way must be left by whoever came: by the same worker.
fn check_hands(drafts: &[Draft], context: &Context<'_>) {
    let mut changes = false;
    for draft in drafts {
        let Body::Retry(layer) = &draft.body else { continue };
        changes |= !layer.policy.holds_worker;
        let is_apart = matches!(layer.policy.budget_scope, Scope::Worker | Scope::Process);
        if let (true, true, Some(RetryBudget::ActiveShare(_)), Some(place)) =
            (changes, is_apart, &layer.policy.budget, layer.budget)
        {
            let message = "counts the calls of each worker or process, and a call may come back to another one";
            context.faults.add(Fault::new(place, message).hint("leave `holds_worker` or the `scope` out"));
        }
    }
}

fn check_product(drafts: &[Draft], context: &Context<'_>) {
    let mut product = 1_u64;
    for draft in drafts {
        let (attempts, place) = match &draft.body {
            Body::Retry(layer) => {
                // What has no limit waits between its attempts; the others may make all of theirs at one instant.
                let counted = !layer.doubtful && !layer.policy.stops_at_both;
                (layer.policy.max_attempts.filter(|_| counted), layer.attempts)
            }
            Body::Hedge(hedge) => (Some(u32::from(hedge.max)), draft.place),
            Body::Fallback(fallback) => (fallback.policy().max_attempts, draft.place),
            Body::Guard(_) => (None, draft.place),
        };
        product = product.saturating_mul(attempts.map_or(1, u64::from));
        if product > MOST_PRODUCT {
            let message = format!("multiplies to more than 10^9 attempts, found {product}");
            context.faults.add(Fault::new(place, message).hint("lower the attempts of a layer"));
            return;
        }
    }
}

fn compose(draft: Draft, kind: Kind) -> Element {
    let (role, preset, unspoken) = match draft.body {
        Body::Guard(guard) => (Role::Guard(guard), None, Vec::new()),
        Body::Hedge(hedge) => (Role::Hedge(*hedge), None, Vec::new()),
        Body::Fallback(fallback) => (Role::Fallback(*fallback), None, Vec::new()),
        Body::Retry(layer) => {
            let Layer { mut policy, preset, unspoken, requeue, resume, .. } = *layer;
            let role = if kind == Kind::Queue {
                policy.holds_worker = false;
                let place = requeue.map_or(QueuePlace::Back, |(place, _)| place);
                let resume = resume.map_or(Resume::Restart, |(resume, _)| resume);
                Role::Queue(policy, Requeue { place, resume })
            } else {
                Role::Retry(policy)
            };
            (role, preset.map(|preset| preset.name()), unspoken)
        }
    };
    Element { name: draft.name, kind, role, preset, unspoken }
}
