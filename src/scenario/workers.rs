//! Reading pools of workers: how many, how they are spread, whose job goes first, when they die, how their number follows
//! the queue.

use super::context::{Context, each, often};
use super::distribution::{Measure, distribution};
use super::traffic::MOST_WORKERS;
use crate::document::{Field, Reader};
use crate::traffic::{Crashes, PoolOrder, Scale, WorkerPool};
use crate::units::SimDuration;

/// The most pools.
const MOST_POOLS: usize = 64;

/// The most messages that a process takes ahead for each of its workers.
const MOST_PREFETCHED: u64 = 10_000;

/// A pool as it is named, and what it is if nothing is wrong with it.
pub(super) type ReadPool<'a> = (&'a str, Option<WorkerPool>);

/// Reads all pools.
pub(super) fn pools<'a>(field: Option<&Field<'a>>, context: &Context<'_>) -> Vec<ReadPool<'a>> {
    let Some(reader) = field.and_then(|field| field.table("pools of workers")) else { return Vec::new() };
    let pools = each(&reader, MOST_POOLS, "pools", |name, field| Some((name, pool(name, field, context))));
    reader.finish();
    pools.into_iter().flatten().collect()
}

fn pool(name: &str, field: &Field<'_>, context: &Context<'_>) -> Option<WorkerPool> {
    let reader = field.table("a pool's settings")?;
    let scale = reader.maybe("scale", |field| scale(field, context));
    let most = match (reader.get("count"), &scale) {
        (Some(field), Some(None)) => field.whole(1..=MOST_WORKERS).map(|count| count as u32),
        (Some(field), Some(Some(_))) => {
            field.wrong("stands beside `scale`, which says how many workers there are", "leave it out")
        }
        (None, Some(Some((_, to)))) => Some(*to),
        (None, Some(None)) => {
            reader.need("count", "write how many jobs are worked on at once, or a `scale`");
            None
        }
        (_, None) => None,
    };
    let processes = reader.or("processes", 1, |field| {
        let processes = field.whole(1..=MOST_WORKERS)? as u32;
        if most.is_some_and(|most| processes > most) {
            return field.must("be at most the number of workers", "a process without a worker does nothing");
        }
        Some(processes)
    });
    let words = [("fifo", PoolOrder::Fifo), ("priority", PoolOrder::Priority)];
    let order = reader.or("order", PoolOrder::Fifo, |field| field.word(&words));
    let prefetch = reader.maybe("prefetch", |field| field.whole(1..=MOST_PREFETCHED).map(|n| n as u32));
    let crashes = reader.maybe("crashes", crashes);
    reader.finish();
    Some(WorkerPool {
        name: name.to_owned(),
        workers: most?,
        processes: processes?,
        order: order?,
        prefetch: prefetch?,
        crashes: crashes?,
        scale: scale?.map(|(scale, _)| scale),
    })
}

/// When workers die.
fn crashes(field: &Field<'_>) -> Option<Crashes> {
    let reader = field.table("when workers die")?;
    let every = reader.need("every", r#"write how long one lives, such as { exponential = { mean = "6h" } }"#);
    let every = every.and_then(|field| {
        let every = distribution(&field, Measure::Seconds)?;
        if every.mean() < SHORTEST_LIFE {
            return field.must("be a second or more on average", "workers that die at once do nothing");
        }
        Some(every)
    });
    let restart = reader.or("restart", SimDuration::ZERO, Field::duration);
    let words = [("worker", false), ("process", true)];
    let of_process = reader.or("of", false, |field| field.word(&words));
    reader.finish();
    Some(Crashes { every: every?, restart: restart?, of_process: of_process? })
}

/// The shortest mean life of a worker, in seconds.
const SHORTEST_LIFE: f64 = 1.0;

/// How the number of workers follows the queue, and the most that there may be.
fn scale(field: &Field<'_>, context: &Context<'_>) -> Option<(Scale, u32)> {
    let reader = field.table("how the number of workers follows the queue")?;
    let number = |key, hint: &str| {
        let field = reader.need(key, hint)?;
        field.whole(1..=MOST_WORKERS).map(|number| number as u32)
    };
    let from = number("from", "write the fewest workers, such as 2");
    let to = number("to", "write the most workers, such as 20");
    let jobs_per_worker = number("jobs_per_worker", "write how many waiting jobs call for one worker, such as 10");
    if let (Some(from), Some(to), Some(field)) = (from, to, reader.get("to"))
        && to < from
    {
        return field.must("be `from` or more", "raise it, or lower `from`");
    }
    let time = |key, default| reader.or(key, SimDuration::from_secs(default), Field::duration);
    let look_every = reader.or("look_every", SimDuration::from_secs(30), |field| often(field, context));
    let (up_after, down_after, start) = (time("up_after", 0), time("down_after", 300), time("start", 0));
    reader.finish();
    let scale = Scale {
        from: from?,
        jobs_per_worker: jobs_per_worker?,
        look_every: look_every?,
        up_after: up_after?,
        down_after: down_after?,
        start: start?,
    };
    Some((scale, to?))
}

/// Whether a class's `workers` is a name and no number: a text such as "8" is one unless a pool is called so.
pub(super) fn is_name(field: &Field<'_>, pools: &[ReadPool<'_>]) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    field.node.as_str().is_some_and(|text| !is_number(text) || pools.iter().any(|(name, _)| *name == text))
}

/// The pool that a class's `workers` names.
pub(super) fn refer<'a>(field: &Field<'_>, pools: &'a [ReadPool<'_>]) -> Option<(usize, Option<&'a WorkerPool>)> {
    let names: Vec<&str> = pools.iter().map(|(name, _)| *name).collect();
    if names.is_empty() && field.text().is_some() {
        return field.wrong("no pool of workers has this name", "describe it as [workers.NAME], or write a number");
    }
    let index = super::context::refer(field, &names, "pool of workers", "pools")?;
    Some((index, pools[index].1.as_ref()))
}

/// Whose workers a class has.
#[derive(Clone, Copy)]
pub(super) enum Whose<'a> {
    /// Its own.
    Own,
    /// Those of a pool with which something is wrong.
    Unknown,
    /// Those of this pool.
    Pool(&'a WorkerPool),
}

/// Which class goes first; a key that only some pools look at.
pub(super) fn priority(reader: &Reader<'_>, whose: Whose<'_>) -> Option<u32> {
    reader.or("priority", 0, |field| {
        let priority = field.whole(0..=1_000)? as u32;
        match whose {
            Whose::Own => {
                field.wrong("is looked at in a pool of workers only", r#"write workers = "NAME", or leave it out"#)
            }
            Whose::Pool(pool) if pool.order == PoolOrder::Fifo => {
                let message = format!("`{}` does not look at priorities", pool.name);
                field.wrong(message, r#"write order = "priority" there, or leave it out"#)
            }
            Whose::Pool(_) | Whose::Unknown => Some(priority),
        }
    })
}
