//! Reading the client of a single step: a changed copy of the class's client, as of a library whose call takes options
//! of its own, or another client of the file. The class's queue layer stays around either.

use super::clients::{MOST_ELEMENTS, MOST_PRODUCT, ReadClient, client};
use super::context::{Context, Read, refer};
use super::workers::ReadPool;
use crate::document::{Fault, Field, Place, Reader, Table, Value, patch};
use crate::policy::stack::Role;
use crate::policy::{Client, Element};
use crate::traffic::{LayerOrder, StepClient};

/// The clients of the file as steps refer to them.
pub(super) struct Known<'a> {
    /// The clients as they were read.
    pub(super) read: &'a [Option<ReadClient>],
    /// As they are written.
    pub(super) written: Option<&'a Table>,
    /// The pools of workers that classes name.
    pub(super) pools: &'a [ReadPool<'a>],
}

/// The client of a step with what cross checks need.
pub(super) struct ReadStepClient {
    /// The settings.
    pub(super) settings: StepClient,
    /// As [`ReadClient`]'s.
    pub(super) spinning: Vec<(usize, Place)>,
    /// Where the step asks for it.
    pub(super) place: Place,
}

/// What a step says of its client.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    name: Option<Field<'a>>,
    with: Option<Field<'a>>,
}

impl<'a> Said<'a> {
    /// What the step of this reader says.
    pub(super) fn of(reader: &Reader<'a>) -> Said<'a> {
        Said { name: reader.get("client"), with: reader.get("with") }
    }

    /// The client that is meant: `Some(None)` for the class's own, `None` where something is wrong.
    pub(super) fn read(
        self,
        class: Option<usize>,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> Read<Option<ReadStepClient>> {
        let base = match self.name {
            None => class,
            Some(field) => refer(&field, &context.clients, "client", "clients"),
        };
        let asked = [self.with, self.name].into_iter().flatten().next();
        let (Some(asked), Some(class), Some(base)) = (asked, class, base) else {
            return (self.name.is_none() && self.with.is_none()).then_some(None);
        };
        let own = known.read.get(class)?.as_ref()?;
        let other = known.read.get(base)?.as_ref()?;
        if let (Some(field), true, true) = (self.name, base != class, other.client.queue().is_some()) {
            let message =
                format!("`{}` retries through a queue, and a queue stands around the whole run", other.client.name);
            let hint = "name a client without a layer of kind queue: the class's own queue stays around this step";
            return field.wrong(message, hint);
        }
        let changed;
        let from = match self.with {
            None if base == class => return Some(None),
            None => other,
            Some(with) => {
                changed = self::changed(with, other, known, context)?;
                &changed
            }
        };
        let read = compose(from, own, base, asked)?;
        Some(Some(read).filter(|read| read.settings.client != own.client))
    }
}

/// A changed copy of a client.
fn changed(with: Field<'_>, base: &ReadClient, known: &Known<'_>, context: &Context<'_>) -> Option<ReadClient> {
    with.table("layers of the client and what to change of each")?;
    let changes = with.node.as_table()?;
    if base.doubtful {
        return None;
    }
    let name = base.client.name.as_str();
    let mut node = known.written?.get(name)?.node.clone();
    let before = context.faults.len();
    if let Value::Table(table) = &mut node.value
        && let Some(entry) = table.get_mut("layers")
        && let Value::Array(items) = &mut entry.node.value
    {
        patch::elements(items, changes, &["clients", name, "layers"], context.faults);
    }
    if context.faults.len() > before {
        return None;
    }
    let read = client(name, &Field::new(with.key, &node, context.faults), context)?;
    if context.faults.len() == before
        && read.client.queue_element().map(|at| &read.client.elements()[at]) != queue(&base.client)
    {
        return with.wrong(
            "changes the queue layer, which stands around the whole run",
            "change it in the client itself, or change only layers inside it",
        );
    }
    (context.faults.len() == before).then_some(read)
}

/// The layers inside the queue of one client, and around them the queue of the class's own.
fn compose(from: &ReadClient, own: &ReadClient, shares_with: usize, asked: Field<'_>) -> Option<ReadStepClient> {
    let inside = from.client.queue_element().unwrap_or(from.client.elements().len());
    let mut elements: Vec<Element> = from.client.elements()[..inside].to_vec();
    if let Some(queue) = queue(&own.client) {
        if let Some(twin) = elements.iter().find(|element| element.name == queue.name) {
            let message = format!("`{}` has a layer called `{}`, as the class's queue is", from.client.name, twin.name);
            return asked.wrong(message, "give one of them another `name`: results count layers by name");
        }
        elements.push(queue.clone());
    }
    let product = elements.iter().fold(1_u64, |product, element| {
        let counted = match &element.role {
            Role::Hedge(hedge) => Some(u32::from(hedge.max)),
            role => role.policy().filter(|policy| !policy.stops_at_both).and_then(|policy| policy.max_attempts),
        };
        product.saturating_mul(counted.map_or(1, u64::from))
    });
    if product > MOST_PRODUCT || elements.len() > MOST_ELEMENTS {
        let message =
            format!("makes a stack of {} layers and {product} attempts with the class's queue", elements.len());
        return asked.wrong(message, format!("at most {MOST_ELEMENTS} layers and 10^9 attempts are simulated"));
    }
    let mut spinning: Vec<(usize, Place)> = from.spinning.iter().copied().filter(|(at, _)| *at < inside).collect();
    let outside = own.client.queue_element();
    spinning.extend(own.spinning.iter().filter(|(at, _)| Some(*at) == outside).map(|(_, place)| (inside, *place)));
    let client = Client::new(from.client.name.clone(), from.client.for_tests, elements)?;
    let client = client.with_grammar(from.client.grammar().clone());
    Some(ReadStepClient { settings: StepClient { client, shares_with }, spinning, place: asked.place() })
}

fn queue(client: &Client) -> Option<&Element> {
    client.elements().last().filter(|element| matches!(element.role, Role::Queue(..)))
}

/// The different clients of a class's steps, and the place of each step's among them. Layers are counted by name, so
/// that no two of them may stand one way round here and the other way round there.
pub(super) fn different(
    steps: Vec<Option<ReadStepClient>>,
    own: Option<&ReadClient>,
    context: &Context<'_>,
) -> (Vec<ReadStepClient>, Vec<Option<usize>>) {
    let mut others: Vec<ReadStepClient> = Vec::new();
    let mut places = Vec::new();
    for step in steps {
        places.push(step.map(|read| {
            let known = others.iter().position(|other| other.settings == read.settings);
            known.unwrap_or_else(|| {
                others.push(read);
                others.len() - 1
            })
        }));
    }
    check_order(&others, own, context);
    (others, places)
}

/// A client that is deployed to a class at some time: a stack of its own with its own queue layer.
pub(super) fn deployed(read: &ReadClient, shares_with: usize, place: Place) -> ReadStepClient {
    let settings = StepClient { client: read.client.clone(), shares_with };
    ReadStepClient { settings, spinning: read.spinning.clone(), place }
}

/// Reports where layers of one name stand one way round in one client and the other way round in another.
pub(super) fn check_order(others: &[ReadStepClient], own: Option<&ReadClient>, context: &Context<'_>) {
    for until in 1..=others.len() {
        let stacks = own.map(|own| &own.client).into_iter().chain(others[..until].iter().map(|o| &o.settings.client));
        let order = LayerOrder::of(stacks);
        let torn = order.torn.map(|(one, other)| {
            format!("`{one}` stands outside of `{other}` here and inside it in another client of the class")
        });
        let mixed = order.mixed.map(|name| format!("`{name}` is a hop in one client of the class and not in another"));
        if let Some(message) = torn.or(mixed) {
            let hint = "give one of them another `name`: results count layers by name";
            context.faults.add(Fault::new(others[until - 1].place, message).hint(hint));
            break;
        }
    }
}
