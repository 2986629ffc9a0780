//! Traffic: who wants what, when, and how large. Jobs wait in a queue for a worker; turns start at once.

pub mod arrivals;
pub mod cost;
pub mod crowd;
pub mod jobs;
pub mod replay;
pub mod sessions;
pub mod sizes;
pub mod step_client;

use std::ops::Range;

use crate::provider::Window;
use crate::random::Distribution;
use crate::units::SimDuration;

pub use arrivals::{ArrivalProcess, RatePiece};
pub use jobs::{Crashes, Delivery, PoolOrder, Queueing, Scale, WorkerPool};
pub use sessions::Sessions;
pub use sizes::{Said, Sizes};
pub use step_client::{LayerOrder, StepClient};

/// One step of a task: it needs one answer from the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Input tokens of each of its requests.
    pub input_tokens: Distribution,
    /// Output tokens of its answer.
    pub output_tokens: Distribution,
    /// Seconds that the provider needs to answer it.
    pub latency: Distribution,
    /// Seconds until the first byte of the answer, which is a stream then; `None` where it is there all at once.
    pub first_token: Option<Distribution>,
    /// Seconds until the connection of a request stands; `None` for no time.
    pub connect: Option<Distribution>,
    /// Seconds until a request is written, once its connection stands; `None` for no time.
    pub write: Option<Distribution>,
    /// How the provider knows that it has carried the step out before.
    pub idempotency: Idempotency,
    /// The model that it asks, for logs.
    pub model: Option<String>,
    /// The `max_tokens` that it asks with.
    pub max_tokens: Option<u32>,
    /// How many of its input tokens come from a cache.
    pub cached: Cached,
    /// The group of neighbouring steps with which it runs at once; `None` where it runs by itself.
    pub group: Option<String>,
    /// Its place among the class's other clients; `None` where it uses the class's own.
    pub other: Option<usize>,
    /// Its place among those who send requests, where it has labels of its own; `None` for that of its class.
    pub sender: Option<u8>,
}

/// How many of a step's input tokens come from a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// So many, or all where there are fewer.
    Tokens(u32),
    /// This part of them, in millionths, rounded down.
    Millionths(u32),
}

impl Cached {
    /// None of them.
    pub const NONE: Cached = Cached::Tokens(0);

    /// How many of so many tokens.
    #[inline]
    pub const fn of(self, input: u32) -> u32 {
        match self {
            Cached::Tokens(tokens) if tokens < input => tokens,
            Cached::Tokens(_) => input,
            Cached::Millionths(part) => (input as u64 * part as u64 / 1_000_000) as u32,
        }
    }

    /// How many of so many on average.
    pub fn of_mean(self, input: f64) -> f64 {
        match self {
            Cached::Tokens(tokens) => f64::from(tokens).min(input),
            Cached::Millionths(part) => input * f64::from(part) / 1e6,
        }
    }
}

/// What becomes of the other steps of a group when one of them fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenOneFails {
    /// They go on to their end, and then the group fails.
    #[default]
    Wait,
    /// They are dropped, and the group fails at once.
    Cancel,
}

/// How far a key goes by which the provider recognises that it has carried out the same thing before, and does not do it
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// There is no key: every request is a new one.
    #[default]
    None,
    /// One key for each call.
    Call,
    /// One key for the step of a task, over all its calls and runs.
    Task,
}

/// What kind of task a class has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Jobs wait in a queue for one of the workers.
    Jobs {
        /// How many workers: the class's own, or all of the pool that it shares.
        workers: u32,
        /// How many processes the workers are spread over, in turn.
        processes: u32,
    },
    /// Turns are live: they start at once and nobody queues.
    Turns,
}

/// One class of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficClass {
    /// Its name.
    pub name: String,
    /// Jobs or turns.
    pub kind: TaskKind,
    /// Turns: how many processes their callers are spread over. Each turn belongs to one of them, drawn uniformly; 1 for
    /// jobs, whose workers are spread instead.
    pub spread: u32,
    /// The index of the client that it uses.
    pub client: usize,
    /// Clients that single steps use instead, each with the class's own queue layer around it.
    pub others: Vec<StepClient>,
    /// Arrival processes; together they make the class's arrivals.
    pub arrivals: Vec<ArrivalProcess>,
    /// How large each task is; `None` where its steps say it.
    pub sizes: Option<Box<Sizes>>,
    /// The delay between a job's arrival and its entry into the queue.
    pub enqueue_delay: SimDuration,
    /// How its jobs queue.
    pub queueing: Queueing,
    /// The steps of each task, in order.
    pub steps: Vec<Step>,
    /// What becomes of the others of a group when one step fails.
    pub when_one_fails: WhenOneFails,
    /// The longest time that the caller may wait for a task, where one is stated: only `explain` looks at it.
    pub sla: Option<SimDuration>,
}

impl TrafficClass {
    /// Whether someone waits for each task of this class.
    pub const fn is_live(&self) -> bool {
        matches!(self.kind, TaskKind::Turns)
    }

    /// The closed loops among its arrivals.
    pub fn loops(&self) -> impl Iterator<Item = &Sessions> {
        self.arrivals.iter().filter_map(ArrivalProcess::sessions)
    }

    /// Whether some of its tasks arrive after the fate of others.
    pub fn is_closed(&self) -> bool {
        self.loops().next().is_some()
    }

    /// The mean time that the answers to a task take at the least, in seconds, where nobody waits and nothing fails.
    pub fn answering(&self) -> f64 {
        let longest =
            |stage: Range<usize>| self.steps[stage].iter().map(|step| step.latency.mean()).fold(0.0, f64::max);
        self.stages().map(longest).sum()
    }

    /// The expected number of tasks that arrive in a span, those of closed loops included.
    pub fn expected(&self, span: Window) -> f64 {
        let open: f64 =
            self.arrivals.iter().filter(|process| process.sessions().is_none()).map(|p| p.expected(span)).sum();
        open + self.expected_of_loops(span)
    }

    /// The most tasks that its closed loops bring in a span where nothing fails: no more than their sessions can, and no
    /// more than the class's workers answer.
    pub fn expected_of_loops(&self, span: Window) -> f64 {
        let answering = self.answering();
        let most: f64 = self.loops().map(|sessions| sessions.most(span, answering)).sum();
        match self.kind {
            TaskKind::Jobs { workers, .. } if most > 0.0 && answering > 0.0 => {
                // Who waits for a worker has arrived.
                most.min(span.length().as_secs_f64() * f64::from(workers) / answering + f64::from(self.sessions()))
            }
            TaskKind::Jobs { .. } | TaskKind::Turns => most,
        }
    }

    /// How many sessions its closed loops have.
    pub fn sessions(&self) -> u32 {
        self.loops().map(|sessions| sessions.count).sum()
    }

    /// Whether the answer to one of its steps is a stream whose first byte is timed.
    pub fn streams(&self) -> bool {
        self.steps.iter().any(|step| step.first_token.is_some())
    }

    /// The place behind the steps that run at once with this one, which is the first of them.
    pub fn stage_end(&self, first: usize) -> usize {
        let group = &self.steps[first].group;
        let others = self.steps[first + 1..].iter().take_while(|step| group.is_some() && step.group == *group);
        first + 1 + others.count()
    }

    /// The steps of each stage, in order; those of one stage run at once.
    pub fn stages(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = (!self.steps.is_empty()).then(|| 0..self.stage_end(0));
        let next = |stage: &Range<usize>| (stage.end < self.steps.len()).then(|| stage.end..self.stage_end(stage.end));
        std::iter::successors(first, next)
    }

    /// The stages of more than one step.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.stages().filter(|stage| stage.len() > 1)
    }

    /// Whether some of its steps run at once.
    pub fn has_groups(&self) -> bool {
        self.groups().next().is_some()
    }

    /// How many processes the class has: each has its own of what is scoped to a process.
    pub const fn processes(&self) -> u32 {
        match self.kind {
            TaskKind::Jobs { processes, .. } => processes,
            TaskKind::Turns => self.spread,
        }
    }

    /// How many workers the class has, or shares; 0 for turns.
    pub const fn workers(&self) -> u32 {
        match self.kind {
            TaskKind::Jobs { workers, .. } => workers,
            TaskKind::Turns => 0,
        }
    }
}
