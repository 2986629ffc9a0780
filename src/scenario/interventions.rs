//! Interventions: what an operator does at a certain time. Workers are paused, a limit is raised, another client is
//! deployed to all or to some of a class's workers.
//!
//! A limit that is raised is one whose amount changes, and is written into the limit before it is read; so the two
//! ways to say it cannot differ.

use super::clients::ReadClient;
use super::context::{Context, each, refer};
use super::guards::ReadGuard;
use super::step_clients::{self, Known};
use super::traffic::ReadClass;
use super::workers;
use crate::document::{Fault, Faults, Field, Node, Reader, Table, Value, near};
use crate::policy::{Client, Mechanism, Role, Scope};
use crate::units::{SimDuration, SimTime, parse};

/// Something that is done at a certain time.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// Its name.
    pub name: String,
    /// When.
    pub at: SimTime,
    /// When it is undone; never, where the file does not say.
    pub until: SimTime,
    /// What.
    pub act: Act,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// The workers of a class take no more jobs; what they have begun they finish.
    Pause {
        /// The index of the class.
        class: usize,
    },
    /// The jobs of a class that wait in the queue are thrown away.
    Purge {
        /// The index of the class.
        class: usize,
    },
    /// A breaker is opened.
    Trip {
        /// The index of the guard.
        guard: usize,
    },
    /// Another client is deployed: runs that begin from then on use it.
    Deploy {
        /// The index of the class.
        class: usize,
        /// The place of the client among the class's other ones.
        other: usize,
        /// To which part of the class's workers, or of its turns.
        share: f64,
    },
    /// The jobs of a class are worked on by another pool: those that wait move there, and so do all that come.
    Move {
        /// The index of the class.
        class: usize,
        /// The index of the pool.
        to: usize,
    },
    /// A limit has another amount, as its own settings say too.
    Limit {
        /// The name of the limit.
        name: String,
        /// The amount, as it is written.
        amount: String,
        /// The class, model or value of a label whose instance it is, where the limit is one for each of them.
        of: Option<String>,
    },
}

/// The most interventions of a file.
const MOST: usize = 64;

/// The most classes and pools where queues move: the engine has a bit for each workforce.
const MOST_FORCES: usize = 64;

/// What can be done, each by its key.
const ACTS: [&str; 6] = ["pause", "purge", "trip", "deploy", "move", "limit"];

/// Reads all interventions; clients that they deploy become other clients of their class.
pub(super) fn interventions(
    field: Option<&Field<'_>>,
    known: &Known<'_>,
    guards: &[Option<ReadGuard>],
    classes: &mut [Option<ReadClass>],
    context: &Context<'_>,
) -> Option<Vec<Intervention>> {
    let Some(field) = field else { return Some(Vec::new()) };
    let reader = field.table("interventions")?;
    let all = each(&reader, MOST, "interventions", |name, field| one(name, field, (known, guards), classes, context));
    reader.finish();
    all.into_iter().collect()
}

fn one(
    name: &str,
    field: &Field<'_>,
    (known, guards): (&Known<'_>, &[Option<ReadGuard>]),
    classes: &mut [Option<ReadClass>],
    context: &Context<'_>,
) -> Option<Intervention> {
    let reader = field.table("when something is done, and what")?;
    let at = reader.need("at", r#"write when it is done, such as "30m""#).and_then(|field| field.instant());
    let length = reader.maybe("for", Field::positive_duration);
    let act = match reader.only(&ACTS) {
        None => {
            reader.knows(&["amount", "class", "share", "to", "of"]);
            None
        }
        Some(("pause", field)) => jobs_of(&field, classes, context).map(|class| Act::Pause { class }),
        Some(("purge", field)) => {
            if let Some(length) = reader.get("for") {
                length
                    .wrong::<()>("is for what can be undone, and jobs that were thrown away are gone", "leave it out");
            }
            jobs_of(&field, classes, context).map(|class| Act::Purge { class })
        }
        Some(("trip", field)) => trip(&field, guards, context),
        Some(("deploy", field)) => deploy(&field, &reader, known, classes, context),
        Some(("move", field)) => moved(&field, &reader, (known, guards), classes, context),
        Some((_, field)) => {
            // What is wrong with either is told by the limit that got them.
            let amount =
                reader.get("amount").map(|field| field.node.as_str().map_or_else(|| field.found(), str::to_owned));
            Some(Act::Limit {
                name: field.node.as_str().unwrap_or_default().to_owned(),
                amount: amount.unwrap_or_default(),
                of: reader.get("of").and_then(|field| field.node.as_str().map(str::to_owned)),
            })
        }
    };
    reader.finish();
    let (at, length) = (at?, length?);
    if at >= context.end() {
        let horizon = context.end() - SimTime::ZERO;
        let fault = Fault::new(field.key, format!("is done when the run is over, at {horizon}"));
        context.faults.add(fault.hint("do it earlier, or lengthen the `horizon`"));
        return None;
    }
    let until = length.map_or(SimTime::NEVER, |length| at + length);
    Some(Intervention { name: name.to_owned(), at, until, act: act? })
}

/// A breaker.
fn trip(field: &Field<'_>, guards: &[Option<ReadGuard>], context: &Context<'_>) -> Option<Act> {
    let guard = refer(field, &context.guards, "guard", "guards")?;
    if !matches!(guards.get(guard)?.as_ref()?.guard.mechanism, Mechanism::Breaker(_)) {
        return field.wrong("is no breaker", "name a guard that is a breaker: only these can be opened");
    }
    if guards.get(guard)?.as_ref()?.guard.scope.ends_with_task() {
        return field
            .wrong("is made by each task anew", "give it a `scope` that lives on: nobody can reach the others");
    }
    Some(Act::Trip { guard })
}

/// A class that has jobs.
fn jobs_of(field: &Field<'_>, classes: &[Option<ReadClass>], context: &Context<'_>) -> Option<usize> {
    let class = refer(field, &context.classes, "traffic class", "traffic classes")?;
    if classes.get(class)?.as_ref()?.class.is_live() {
        return field
            .wrong("has turns, which start at once", "name a class of jobs: turns have no queue and no workers");
    }
    Some(class)
}

/// The jobs of a class go to another pool of workers.
fn moved(
    field: &Field<'_>,
    reader: &Reader<'_>,
    (known, guards): (&Known<'_>, &[Option<ReadGuard>]),
    classes: &[Option<ReadClass>],
    context: &Context<'_>,
) -> Option<Act> {
    let class = jobs_of(field, classes, context);
    let to = reader.need("to", "write the name of the pool whose workers get its jobs, as in [workers.NAME]");
    let to = to.and_then(|to| Some((workers::refer(&to, known.pools)?, to)));
    let (class, ((to, pool), to_field)) = (class?, to?);
    let read = classes.get(class)?.as_ref()?;
    let home = read.class.queueing.pool;
    if home == Some(to) {
        return to_field.wrong("has these jobs already", "name another pool");
    }
    let own = home.and_then(|home| known.pools[home].1.as_ref());
    for pool in [own, pool].into_iter().flatten() {
        if pool.prefetch.is_some() {
            let message = format!("`{}` takes jobs ahead, and what a process has taken can't be moved", pool.name);
            return field.wrong(message, "leave out its `prefetch`");
        }
    }
    let others = read.others.iter().map(|other| &other.settings.client);
    let clients = known.read.get(read.class.client)?.iter().map(|read| &read.client).chain(others);
    for element in clients.flat_map(Client::elements) {
        let of_worker = |scope: Scope| matches!(scope, Scope::Worker | Scope::Process);
        let budget = element.role.budget().is_some_and(|(_, scope)| of_worker(scope))
            || matches!(&element.role, Role::Hedge(hedge) if of_worker(hedge.scope));
        let guard = element.role.guard().and_then(|guard| guards.get(guard)?.as_ref());
        if budget || guard.is_some_and(|read| of_worker(read.guard.scope)) {
            let message = format!("has `{}` for each worker or process, and its jobs would leave these", element.name);
            return field.wrong(message, r#"write scope = "class", or leave the move out"#);
        }
    }
    if context.classes.len() + known.pools.len() > MOST_FORCES {
        let message = format!("needs a file of {MOST_FORCES} classes and pools at most");
        return field.wrong(message, "leave some of them out");
    }
    Some(Act::Move { class, to })
}

fn deploy(
    field: &Field<'_>,
    reader: &Reader<'_>,
    known: &Known<'_>,
    classes: &mut [Option<ReadClass>],
    context: &Context<'_>,
) -> Option<Act> {
    let client = refer(field, &context.clients, "client", "clients");
    let class = reader.need("class", "write the name of the class that gets it");
    let class = class.and_then(|field| refer(&field, &context.classes, "traffic class", "traffic classes"));
    let share = reader.or("share", 1.0, |field| match field.ratio()? {
        0.0 => field.must("be above 0", "leave the intervention out, or write a larger share"),
        share => Some(share),
    });
    let (client, class, share) = (client?, class?, share?);
    let read = classes.get_mut(class)?.as_mut()?;
    let client_of = |index: usize| known.read.get(index)?.as_ref();
    let (own, new) = (client_of(read.class.client)?, client_of(client)?);
    same_queue(field, own, new)?;
    let other = step_clients::deployed(new, client, field.place());
    let place = read.others.iter().position(|known| known.settings == other.settings).unwrap_or(read.others.len());
    if place == read.others.len() {
        read.class.others.push(other.settings.clone());
        read.others.push(other);
        step_clients::check_order(&read.others, Some(own), context);
    }
    Some(Act::Deploy { class, other: place, share })
}

/// A task goes from one client to the other between two runs, and takes the state of its queue's layer with it.
fn same_queue(field: &Field<'_>, own: &ReadClient, new: &ReadClient) -> Option<()> {
    let name = |read: &ReadClient| read.client.queue_element().map(|at| read.client.elements()[at].name.clone());
    match (name(own), name(new)) {
        (one, other) if one == other => Some(()),
        (Some(own), _) => field.wrong(
            format!("has no layer of kind queue that is called `{own}`, as the class's client has"),
            "give it one: a task takes the number of its runs along",
        ),
        (None, _) => field.wrong(
            "retries through a queue, and the class's client does not",
            "give both a layer of kind queue with one name, or neither",
        ),
    }
}

/// Writes what interventions say of limits into these limits, as changes of their amounts.
pub(super) fn change_limits(root: &mut Table, faults: &Faults) {
    let written = root.get("interventions").and_then(|entry| entry.node.as_table()).cloned();
    for (_, entry) in written.iter().flat_map(Table::in_order) {
        let Some(table) = entry.node.as_table() else { continue };
        let Some(limit) = table.get("limit") else { continue };
        let (Some(at), Some(amount)) = (table.get("at"), table.get("amount")) else {
            if !table.contains("amount") {
                let fault = Fault::new(limit.key, "lacks the key `amount` beside it");
                faults.add(fault.hint(r#"write what the limit has from then on, such as amount = "1M""#));
            }
            continue;
        };
        let back = table.get("for").map(|entry| &entry.node);
        let of = table.get("of").map(|entry| &entry.node);
        change_limit(root, &limit.node, of, (&at.node, &amount.node, back), faults);
    }
}

fn change_limit(
    root: &mut Table,
    name: &Node,
    of: Option<&Node>,
    (at, amount, back): (&Node, &Node, Option<&Node>),
    faults: &Faults,
) {
    let Some(wanted) = name.as_str() else {
        faults.add(Fault::new(name.place, "must be the name of a limit").hint("write it in quotes"));
        return;
    };
    let limits = root.get_mut("provider").and_then(|entry| below(&mut entry.node, "limits"));
    let Some(limits) = limits else {
        faults.add(Fault::new(name.place, "no limit has this name").hint("the provider has no limits"));
        return;
    };
    let names: Vec<String> = limits.names().into_iter().map(str::to_owned).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(limit) = find(limits, wanted) else {
        faults.add(Fault::new(name.place, "no limit has this name").hint(near::existing("limits", &known, wanted)));
        return;
    };
    let listed = |table: &Table, key: &str| match table.get(key).map(|entry| &entry.node.value) {
        Some(Value::Array(items)) => Some(items.clone()),
        // What is wrong there is told when the limit is read.
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let Some(mut changes) = listed(limit, "changes") else { return };
    if let Some(of) = of {
        return change_instance(limit, (name, of), (at, amount, back), changes, faults);
    }
    let pair = |at: Node, amount: &Node| Node::written(Value::Array(vec![at, amount.clone()]), name.place);
    changes.push(pair(at.clone(), amount));
    if let Some((until, before)) = back.and_then(|back| Some((later(at, back)?, amount_at(&changes, limit, at)?))) {
        changes.push(pair(until, &before));
    }
    changes.sort_by_key(|change| change.as_array().and_then(<[Node]>::first).and_then(instant));
    limit.insert("changes", name.place, Node::written(Value::Array(changes), name.place));
}

/// Writes a change into one instance of a limit that is one for each of some.
fn change_instance(
    limit: &mut Table,
    (name, of): (&Node, &Node),
    (at, amount, back): (&Node, &Node, Option<&Node>),
    of_all: Vec<Node>,
    faults: &Faults,
) {
    let Some(instance) = of.as_str() else {
        faults.add(
            Fault::new(of.place, "must be the name of one of those for whom the limit is").hint("write it in quotes"),
        );
        return;
    };
    let written = limit.get("changes_of").and_then(|entry| entry.node.as_table()).cloned();
    let mut instances = written.unwrap_or_default();
    let mut changes = match instances.get(instance).map(|entry| &entry.node.value) {
        Some(Value::Array(items)) => items.clone(),
        Some(_) => return,
        None => Vec::new(),
    };
    let pair = |at: Node, amount: &Node| Node::written(Value::Array(vec![at, amount.clone()]), of.place);
    changes.push(pair(at.clone(), amount));
    let known: Vec<Node> = of_all.into_iter().chain(changes.iter().cloned()).collect();
    if let Some((until, before)) = back.and_then(|back| Some((later(at, back)?, amount_at(&known, limit, at)?))) {
        changes.push(pair(until, &before));
    }
    changes.sort_by_key(|change| change.as_array().and_then(<[Node]>::first).and_then(instant));
    instances.insert(instance, of.place, Node::written(Value::Array(changes), of.place));
    limit.insert("changes_of", name.place, Node::written(Value::Table(instances), name.place));
}

/// A table inside a table.
fn below<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Table> {
    let Value::Table(table) = &mut node.value else { return None };
    match &mut table.get_mut(key)?.node.value {
        Value::Table(inner) => Some(inner),
        _ => None,
    }
}

/// The settings of a limit by its name; one of a preset's several stands below the preset's under its ending.
fn find<'a>(limits: &'a mut Table, wanted: &str) -> Option<&'a mut Table> {
    let whole = limits.contains(wanted);
    let (name, ending) = if whole { (wanted, None) } else { wanted.rsplit_once('-').map(|(a, b)| (a, Some(b)))? };
    let entry = limits.get_mut(name)?;
    let place = entry.key;
    let Value::Table(limit) = &mut entry.node.value else { return None };
    match ending {
        None => Some(limit),
        Some(_) if !limit.contains("preset") => None,
        Some(ending) => {
            if !limit.contains(ending) {
                limit.insert(ending, place, Node::written(Value::Table(Table::default()), place));
            }
            match &mut limit.get_mut(ending)?.node.value {
                Value::Table(part) => Some(part),
                _ => None,
            }
        }
    }
}

fn instant(node: &Node) -> Option<u64> {
    parse::duration(node.as_str()?).ok().map(SimDuration::as_nanos)
}

/// The instant so much later, as a text.
fn later(at: &Node, length: &Node) -> Option<Node> {
    let nanos = instant(at)?.checked_add(instant(length)?)?;
    Some(Node::written(Value::String(format!("{nanos}ns")), length.place))
}

/// What the limit has right before an instant: the last change before it, or its own amount.
fn amount_at(changes: &[Node], limit: &Table, at: &Node) -> Option<Node> {
    let at = instant(at)?;
    let before = changes.iter().filter_map(|change| {
        let [when, amount] = change.as_array()? else { return None };
        Some((instant(when)?, amount)).filter(|(when, _)| *when < at)
    });
    let last = before.max_by_key(|(when, _)| *when).map(|(_, amount)| amount.clone());
    last.or_else(|| limit.get("amount").map(|entry| entry.node.clone()))
}
