//! Reading traffic classes.

use super::arrivals::arrivals;
use super::context::{Context, each, refer};
use super::delivery::delivery;
use super::distribution::{Measure, distribution};
use super::labels;
use super::models;
use super::step_clients::{self, Known, ReadStepClient, Said};
use super::workers::{self, Whose};
use crate::document::{Fault, Field, Place, Reader, reader};
use crate::policy::{Client, Role};
use crate::provider::Window;
use crate::random::Distribution;
use crate::traffic::sizes::Said as SaidSizes;
use crate::traffic::{
    ArrivalProcess, Cached, Idempotency, Queueing, Sizes, Step, TaskKind, TrafficClass, WhenOneFails,
};
use crate::units::{SimDuration, SimTime};

/// The most traffic classes.
const MOST_CLASSES: usize = 64;

/// The most steps of a task.
const MOST_STEPS: usize = 64;

/// The most workers of a class.
pub(super) const MOST_WORKERS: u64 = 100_000;

/// The most arrivals of a class that are to be expected.
const MOST_ARRIVALS: f64 = 1e9;

/// A class with what cross checks need.
pub(super) struct ReadClass {
    /// The settings.
    pub(super) class: TrafficClass,
    /// Where it names its client.
    pub(super) client: Place,
    /// The clients that single steps use.
    pub(super) others: Vec<ReadStepClient>,
}

/// Reads all traffic classes.
pub(super) fn traffic(field: Option<&Field<'_>>, known: &Known<'_>, context: &Context<'_>) -> Vec<Option<ReadClass>> {
    let Some((field, reader)) = field.and_then(|field| Some((field, field.table("traffic classes")?))) else {
        return vec![None];
    };
    if context.classes.is_empty() {
        return vec![field.wrong("has no traffic class", "describe one as [traffic.NAME]")];
    }
    let classes = each(&reader, MOST_CLASSES, "classes", |name, field| class(name, field, known, context));
    reader.finish();
    classes
}

fn class(name: &str, field: &Field<'_>, known: &Known<'_>, context: &Context<'_>) -> Option<ReadClass> {
    let reader = field.table("a class's settings")?;
    let kind = kind(&reader, known, context);
    let client_field = reader.need("client", "write the name of the client that it uses");
    let client = client_field.and_then(|field| refer(&field, &context.clients, "client", "clients"));
    let arrivals_field = reader.need("arrivals", r#"write when its tasks arrive, such as { poisson = "4/min" }"#);
    let arrivals = arrivals_field.and_then(|field| arrivals(&field, context));
    if let (Some(processes), Some(field), Some(horizon)) = (&arrivals, arrivals_field, context.horizon) {
        let run = Window { from: SimTime::ZERO, to: horizon };
        let expected: f64 = processes.iter().map(|process| process.expected(run)).sum();
        if expected > MOST_ARRIVALS {
            let message = format!("makes more than 10^9 arrivals, about {expected:.1e}");
            field.wrong::<()>(message, "lower the rate, or shorten the `horizon`");
        }
    }
    let steps = reader.need("steps", "list what a task asks of the provider, one table per step");
    let said = arrivals.iter().flatten().find_map(ArrivalProcess::said);
    let listed = arrivals.is_some().then(|| said.as_ref().map_or([None; 3], SaidSizes::means));
    let listed = listed.as_ref();
    let steps = steps.and_then(|field| Some((steps_of(&field, client, listed, known, context)?, sizes_of(&field))));
    let sla = reader.maybe("sla", Field::positive_duration);
    let words = [("wait", WhenOneFails::Wait), ("cancel", WhenOneFails::Cancel)];
    let labels = labels::check(&reader, context);
    let when_one_fails = reader.or("when_one_fails", WhenOneFails::Wait, |field| field.word(&words));
    reader.finish();
    let (kind, client, arrivals, steps, sla) = (kind?, client?, arrivals?, steps?, sla?);
    let ReadKind { kind, spread, enqueue_delay, queueing } = kind;
    let (((mut steps, others), [input_of, output_of, cached_of]), when_one_fails) = (steps, when_one_fails?);
    labels?;
    let index = context.classes.iter().position(|known| *known == name).unwrap_or_default();
    for (n, step) in steps.iter_mut().enumerate() {
        step.sender = context.senders.of_step(index, n);
    }
    let sizes = said.map(|said| Sizes { said, input_of, output_of, cached_of });
    let sizes = sizes.filter(Sizes::is_used).map(Box::new);
    let settings = others.iter().map(|other| other.settings.clone()).collect();
    let class = TrafficClass {
        name: name.to_owned(),
        kind,
        spread,
        client,
        others: settings,
        arrivals,
        sizes,
        enqueue_delay,
        queueing,
        steps,
        when_one_fails,
        sla,
    };
    Some(ReadClass { class, client: client_field?.place(), others })
}

/// Jobs or turns, and how they begin.
struct ReadKind {
    kind: TaskKind,
    /// Over how many processes turns are spread.
    spread: u32,
    /// The delay of jobs.
    enqueue_delay: SimDuration,
    /// How jobs queue.
    queueing: Queueing,
}

fn kind(reader: &Reader<'_>, known: &Known<'_>, context: &Context<'_>) -> Option<ReadKind> {
    const JOB_KEYS: [&str; 4] = ["workers", "enqueue_delay", "priority", "queue"];
    let words = [("jobs", true), ("turns", false)];
    let hint = r#"write "jobs" (they wait for a worker) or "turns" (they start at once)"#;
    let Some(jobs) = reader.need("kind", hint).and_then(|field| field.word(&words)) else {
        reader.knows(&JOB_KEYS);
        reader.knows(&["processes"]);
        return None;
    };
    if !jobs {
        let mut sound = true;
        for key in JOB_KEYS {
            if let Some(field) = reader.get(key) {
                let hint = "leave it out, or write `kind = \"jobs\"`";
                context
                    .faults
                    .add(Fault::new(field.key, "only jobs wait for workers; this class has turns").hint(hint));
                sound = false;
            }
        }
        let spread = reader.or("processes", 1, |field| field.whole(1..=MOST_WORKERS))? as u32;
        let (enqueue_delay, queueing) = (SimDuration::ZERO, Queueing::default());
        return sound.then_some(ReadKind { kind: TaskKind::Turns, spread, enqueue_delay, queueing });
    }
    let workers = reader.need("workers", "write how many jobs are worked on at once");
    let shared = workers.filter(|field| workers::is_name(field, known.pools));
    let pool = shared.as_ref().map(|field| workers::refer(field, known.pools));
    let workers = match pool {
        None => workers.and_then(|field| field.whole(1..=MOST_WORKERS)),
        Some(pool) => pool.and_then(|(_, pool)| Some(u64::from(pool?.workers))),
    };
    let processes = match (reader.get("processes"), pool) {
        (None, None) => Some(1),
        (None, Some(pool)) => pool.and_then(|(_, pool)| Some(u64::from(pool?.processes))),
        (Some(field), Some(_)) => field.wrong("the pool says how its workers are spread", "leave it out"),
        (Some(field), None) => field.whole(1..=MOST_WORKERS).and_then(|processes| {
            if workers.is_some_and(|workers| processes > workers) {
                return field.must("be at most the number of workers", "a process without a worker does nothing");
            }
            Some(processes)
        }),
    };
    let delay = reader.or("enqueue_delay", SimDuration::ZERO, Field::duration);
    let found = pool.flatten();
    let whose = match (pool, found) {
        (None, _) => Whose::Own,
        (Some(_), Some((_, Some(pool)))) => Whose::Pool(pool),
        (Some(_), _) => Whose::Unknown,
    };
    let priority = workers::priority(reader, whose);
    let delivery = reader.maybe("queue", |field| delivery(field, found.and_then(|(_, pool)| pool)));
    let queueing = Queueing { pool: found.map(|(index, _)| index), priority: priority?, delivery: delivery? };
    let (workers, processes) = (workers? as u32, processes? as u32);
    Some(ReadKind { kind: TaskKind::Jobs { workers, processes }, spread: 1, enqueue_delay: delay?, queueing })
}

fn steps_of(
    field: &Field<'_>,
    client: Option<usize>,
    listed: Option<&Listed>,
    known: &Known<'_>,
    context: &Context<'_>,
) -> Option<(Vec<Step>, Vec<ReadStepClient>)> {
    let items = field.list("steps", MOST_STEPS)?;
    let read: Vec<Option<_>> = items.iter().map(|item| step(item, client, listed, known, context)).collect();
    let (mut steps, clients): (Vec<Step>, Vec<_>) = read.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let own = client.and_then(|client| known.read.get(client)?.as_ref());
    let (others, places) = step_clients::different(clients, own, context);
    for ((step, other), item) in steps.iter_mut().zip(places).zip(&items) {
        step.other = other;
        let client = other.map_or_else(|| own.map(|own| &own.client), |other| Some(&others[other].settings.client));
        check_fallbacks(step, client, item);
    }
    for (i, step) in steps.iter().enumerate() {
        if steps[..i].iter().any(|other| other.name == step.name) {
            items[i].wrong::<()>(format!("`{}` is the name of another step", step.name), "give it another name");
        }
    }
    for (i, step) in steps.iter().enumerate().skip(1) {
        let group = step.group.as_deref();
        let is_apart = group.is_some() && steps[i - 1].group != step.group;
        if is_apart && steps[..i - 1].iter().any(|other| other.group == step.group) {
            let message =
                format!("`{}` stands apart from the other steps of group `{}`", step.name, group.unwrap_or(""));
            items[i].wrong::<()>(message, "list the steps of a group one behind the other, or name another `group`");
        }
    }
    Some((steps, others))
}

/// A fallback goes from one model to another.
fn check_fallbacks(step: &Step, client: Option<&Client>, item: &Field<'_>) {
    for element in client.map_or(&[][..], Client::elements) {
        let Role::Fallback(fallback) = &element.role else { continue };
        match &step.model {
            None => {
                let message = format!("lacks the key `model`, and `{}` falls back to other models", element.name);
                item.wrong::<()>(message, "write the model that is asked first");
            }
            Some(model) if fallback.to.contains(model) => {
                let message = format!("asks for `{model}`, and `{}` falls back to the same", element.name);
                item.wrong::<()>(message, "take it out of the fallback's `to`, or let the step ask for another model");
            }
            Some(_) => {}
        }
    }
}

/// The word for tokens that each row of the class's trace says.
const FROM_TRACE: &str = "trace";

/// The means of what a trace says of input, output and cached tokens; `None` of what it does not say.
type Listed = [Option<f64>; 3];

/// Tokens as a distribution; where they come from the trace, its mean, for those who look without a run.
fn tokens(field: &Field<'_>, listed: Option<&Listed>, what: usize) -> Option<Distribution> {
    if field.node.as_str() != Some(FROM_TRACE) {
        return distribution(field, Measure::Tokens);
    }
    match listed.map(|means| means[what]) {
        Some(None) => {
            let hint = r#"name the column: arrivals = { trace = "file.csv", input_tokens = "ContextTokens" }"#;
            field.wrong("comes from the trace, and the arrivals name no column of one for it", hint)
        }
        // What is wrong with the arrivals is told there.
        None => Some(Distribution::constant(0.0)),
        Some(Some(mean)) => Some(Distribution::constant(mean)),
    }
}

/// Which steps take their input, output and cached tokens from the trace, one bit each.
fn sizes_of(steps: &Field<'_>) -> [u64; 3] {
    let takes = |key: &str| {
        let steps = steps.node.as_array().unwrap_or_default().iter().enumerate();
        let from_trace = steps.filter(|(_, step)| {
            let entry = step.as_table().and_then(|step| step.get(key));
            entry.is_some_and(|entry| entry.node.as_str() == Some(FROM_TRACE))
        });
        from_trace.fold(0, |all, (index, _)| all | 1_u64 << (index % MOST_STEPS))
    };
    ["input_tokens", "output_tokens", "cached_tokens"].map(takes)
}

/// How many input tokens come from a cache: so many, a share in percent, or what the trace says.
fn cached(field: &Field<'_>, listed: Option<&Listed>) -> Option<Cached> {
    if field.node.as_str() == Some(FROM_TRACE) {
        let share = listed.map_or(0.0, |means| means[2].unwrap_or(0.0) / means[0].unwrap_or(0.0).max(1.0));
        tokens(field, listed, 2)?;
        return Some(Cached::Millionths((share.min(1.0) * 1e6) as u32));
    }
    match field.node.as_str() {
        Some(text) if text.trim_end().ends_with('%') => {
            field.ratio().map(|share| Cached::Millionths((share * 1e6 + 0.5) as u32))
        }
        _ => field.whole(0..=1_000_000_000).map(|tokens| Cached::Tokens(tokens as u32)),
    }
}

fn step(
    item: &Field<'_>,
    client: Option<usize>,
    listed: Option<&Listed>,
    known: &Known<'_>,
    context: &Context<'_>,
) -> Option<(Step, Option<ReadStepClient>)> {
    let reader = item.table("a step's settings")?;
    let name = reader.need("name", "give the step a name").and_then(|field| {
        let name = field.text()?;
        if reader::is_name(name) {
            return Some(name.to_owned());
        }
        field.faults().add(reader::bad_name(field.place(), name));
        None
    });
    let input = reader.need("input_tokens", r#"write the size of its prompt, such as "12k""#);
    let input_tokens = input.and_then(|field| tokens(&field, listed, 0));
    let none = Distribution::constant(0.0);
    let output_tokens = reader.or("output_tokens", none, |field| tokens(field, listed, 1));
    let latency = reader.need("latency", r#"write how long the provider takes, such as "2s""#);
    let latency = latency.and_then(|field| distribution(&field, Measure::Seconds));
    let time = |key| reader.maybe(key, |field| distribution(field, Measure::Seconds));
    let (first_token, connect, write) = (time("first_token"), time("connect"), time("write"));
    let keys = [("none", Idempotency::None), ("call", Idempotency::Call), ("task", Idempotency::Task)];
    let idempotency = reader.or("idempotency", Idempotency::None, |field| field.word(&keys));
    let model = reader.maybe("model", |field| {
        let name = models::name(field)?;
        models::ask(name, context);
        Some(name.to_owned())
    });
    let max_tokens = reader.maybe("max_tokens", |field| field.whole(1..=1_000_000_000).map(|tokens| tokens as u32));
    let cached = reader.or("cached_tokens", Cached::NONE, |field| cached(field, listed));
    let group = reader.maybe("group", |field| field.text().map(str::to_owned));
    let labels = labels::check(&reader, context);
    let own_client = Said::of(&reader).read(client, known, context);
    reader.finish();
    let step = Step {
        name: labels.and(name)?,
        input_tokens: input_tokens?,
        output_tokens: output_tokens?,
        latency: latency?,
        first_token: first_token?,
        connect: connect?,
        write: write?,
        idempotency: idempotency?,
        model: model?,
        max_tokens: max_tokens?,
        cached: cached?,
        group: group?,
        other: None,
        sender: None,
    };
    Some((step, own_client?))
}
