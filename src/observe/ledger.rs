//! Counts per traffic class and cell. Everything is an array indexed by cell, status or element: the engine adds to
//! it at every event.
//!
//! A task and what becomes of it belong to the cell in which it arrived; a call, its requests and their answers to the
//! cell in which the call began; a worker's time to the cell in which it passes.

use super::alerts::Places;
use super::bills::{BillLedger, BillTotal};
use super::by_model::{ModelLedger, ModelTotal};
use super::refusals::{RefusalLedger, RefusalTotal};
use super::timeline::WorkerActivity;
use crate::policy::answer::{Answer, Outcome};
use crate::policy::retry::GiveUp;
use crate::stats::LatencyStore;
use crate::units::SimDuration;

/// Which answers are counted apart: the statuses that a scenario can produce, then timeouts and dropped connections,
/// then requests that nobody wanted any more before they were answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerIndex {
    names: Vec<String>,
    by_status: Vec<u8>,
    timeout: u8,
    dropped: u8,
    cancelled: u8,
}

impl AnswerIndex {
    /// An index of these statuses, ascending, beside 200; and of cancelled requests, where there can be any.
    pub fn new(statuses: &[u16], cancels: bool) -> AnswerIndex {
        let mut statuses: Vec<u16> = statuses.iter().copied().chain([200]).collect();
        statuses.sort_unstable();
        statuses.dedup();
        let mut by_status = vec![0; 600];
        for (index, status) in statuses.iter().enumerate() {
            by_status[*status as usize] = index as u8;
        }
        let mut names: Vec<String> = statuses.iter().map(u16::to_string).collect();
        let (timeout, dropped) = (names.len() as u8, names.len() as u8 + 1);
        let cancelled = dropped + u8::from(cancels);
        names.extend(["timeout".to_owned(), "dropped".to_owned()]);
        names.extend(cancels.then(|| "cancelled".to_owned()));
        AnswerIndex { names, by_status, timeout, dropped, cancelled }
    }

    /// The names in order: statuses, `timeout`, `dropped`, and `cancelled` where there can be such.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The places of the answers that alerts tell apart.
    pub fn places(&self) -> Places {
        let of = |name: &str| self.names.iter().position(|known| known == name);
        Places { delivered: of("200").unwrap_or(0), overloaded: ["529", "503"].into_iter().filter_map(of).collect() }
    }

    /// The place of an answer.
    #[inline]
    pub fn of(&self, answer: &Answer) -> usize {
        match answer.outcome {
            Outcome::Delivered | Outcome::Refused => self.by_status[answer.status as usize] as usize,
            Outcome::TimedOut
            | Outcome::ConnectTimedOut
            | Outcome::WriteTimedOut
            | Outcome::PoolTimedOut
            | Outcome::Silent => self.timeout as usize,
            Outcome::Unreachable
            | Outcome::Dropped
            | Outcome::CutShort
            | Outcome::StreamFailed
            | Outcome::StreamBroken
            | Outcome::ShortCircuited
            | Outcome::LimiterFull
            | Outcome::TooLarge => self.dropped as usize,
            Outcome::Cancelled => self.cancelled as usize,
        }
    }
}

/// What is counted of one class in one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks that arrived.
    pub offered: u64,
    /// Tasks that got all their answers.
    pub delivered: u64,
    /// Tasks that were given up.
    pub failed: u64,
    /// Tasks that met at least one 429.
    pub tasks_with_429: u64,
    /// Tasks that met at least one 529 or 503.
    pub tasks_with_overload: u64,
    /// Tasks that met at least one of all these.
    pub tasks_refused: u64,
    /// Runs of the tasks that arrived here.
    pub runs: u64,
    /// Steps that those runs reached.
    pub steps_reached: u64,
    /// Requests of the tasks that arrived here, to their end.
    pub task_requests: u64,
    /// The most requests of one of them.
    pub max_task_requests: u64,
    /// The most requests of one of them that failed.
    pub max_failed_task_requests: u64,
    /// Calls that began.
    pub calls: u64,
    /// Requests of those calls, as their client sends them.
    pub requests: u64,
    /// Requests that reached the provider: more than the client sent where a hop sends its own, fewer where a hop
    /// refuses.
    pub provider_requests: u64,
    /// Requests of those calls that were answered 429.
    pub requests_with_429: u64,
    /// Times a breaker refused.
    pub short_circuited: u64,
    /// Retries that a retry budget did not allow.
    pub suppressed: u64,
    /// Requests of those calls that a hedge sent beside others.
    pub hedges: u64,
    /// Such requests that a budget, or the number that were out, did not allow.
    pub suppressed_hedges: u64,
    /// Requests of those calls that the server really carried out.
    pub effects: u64,
    /// Those of them that did the step of a task once more.
    pub repeated_effects: u64,
    /// Tasks that were given up although the step that failed had been carried out.
    pub failed_with_effect: u64,
    /// Requests of those calls that were sent right after one that had shown some output.
    pub repeated_output: u64,
    /// The server's time for requests of those calls, in nanoseconds.
    pub server_nanos: u64,
    /// What of it was for callers who had left.
    pub wasted_server_nanos: u64,
    /// Worker time in nanoseconds, by [`WorkerActivity`]; idle is left to the reader.
    pub worker_nanos: [u64; 5],
    /// What happened to jobs that are followed one by one.
    pub jobs: JobCounts,
}

/// What happened to jobs that are followed one by one, by the arrival of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs whose time was over before they were done.
    pub abandoned: u64,
    /// Jobs that failed because their message was not put back any more.
    pub dead: u64,
    /// Jobs that failed because the worker died that had their only message.
    pub lost: u64,
    /// Runs that were killed because their time was over.
    pub timed_out_runs: u64,
    /// Runs that ended because their worker died.
    pub crashed_runs: u64,
    /// Times that a message was put back because nobody had acknowledged it.
    pub redelivered: u64,
    /// Runs of messages of which another run had begun before.
    pub copies: u64,
    /// The most runs of one job at once.
    pub most_copies: u64,
    /// Runs that ended when another one had decided already.
    pub wasted_runs: u64,
    /// Copies of jobs whose fate was known that still waited or ran when the run ended.
    pub copies_left: u64,
    /// Times that a job which met a limit held its whole queue, by when that was.
    pub holds: u64,
    /// How long queues were held so, in nanoseconds, counted where a hold began.
    pub held_nanos: u64,
}

impl JobCounts {
    fn add(&mut self, other: &JobCounts) {
        self.abandoned += other.abandoned;
        self.dead += other.dead;
        self.lost += other.lost;
        self.timed_out_runs += other.timed_out_runs;
        self.crashed_runs += other.crashed_runs;
        self.redelivered += other.redelivered;
        self.copies += other.copies;
        self.most_copies = self.most_copies.max(other.most_copies);
        self.wasted_runs += other.wasted_runs;
        self.copies_left += other.copies_left;
        self.holds += other.holds;
        self.held_nanos += other.held_nanos;
    }
}

/// What is counted of one element of a class's client in one cell, by the arrival of the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerCounts {
    /// How often it was reached from the outside.
    pub entered: u64,
    /// How often it went for one more attempt.
    pub retries: u64,
    /// How often it gave up because its attempts were used.
    pub exhausted: u64,
    /// How often it gave up for another reason.
    pub gave_up: u64,
    /// How often it refused or let wait: guards only.
    pub refused: u64,
    /// The waits it took, in nanoseconds.
    pub waited_nanos: u64,
}

/// Input tokens that were admitted, and those of them that came from the provider's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedInput {
    /// All of them.
    pub input: u64,
    /// Those from the cache.
    pub cached: u64,
}

/// All counts of one traffic class.
#[derive(Clone, Debug)]
pub struct ClassLedger {
    /// By cell.
    pub cells: Vec<Counts>,
    /// By cell and place of the answer.
    pub answers: Vec<u64>,
    /// By cell and row of [`LayerRows`](super::LayerRows).
    pub layers: Vec<LayerCounts>,
    /// Latencies of delivered tasks, by cell of arrival.
    pub latencies: Vec<LatencyStore>,
    /// Requests by model, where models are told apart.
    pub models: Option<ModelLedger>,
    /// What the requests are billed, where there are prices.
    pub bills: Option<BillLedger>,
    /// Who refused.
    pub refusals: Option<RefusalLedger>,
    /// Times from arrival to the first token of delivered tasks, by cell of arrival; empty where nothing is streamed.
    pub first_tokens: Vec<LatencyStore>,
    /// Input tokens of the calls that began in each cell, as far as they were admitted, and those of them that came from a
    /// cache; empty where there is none.
    pub cached: Vec<CachedInput>,
    rows: usize,
    answer_kinds: usize,
}

impl ClassLedger {
    /// An empty ledger.
    pub fn new(cells: usize, rows: usize, answer_kinds: usize) -> ClassLedger {
        ClassLedger {
            cells: vec![Counts::default(); cells],
            answers: vec![0; cells * answer_kinds],
            layers: vec![LayerCounts::default(); cells * rows],
            latencies: (0..cells).map(|_| LatencyStore::new()).collect(),
            models: None,
            bills: None,
            refusals: None,
            first_tokens: Vec::new(),
            cached: Vec::new(),
            rows,
            answer_kinds,
        }
    }

    /// The same for a class whose first tokens are timed.
    #[must_use]
    pub fn streaming(mut self) -> ClassLedger {
        self.first_tokens.resize_with(self.cells.len(), LatencyStore::new);
        self
    }

    /// The counts of a layer in a cell, by its row.
    #[inline]
    pub fn layer(&mut self, cell: u16, row: usize) -> &mut LayerCounts {
        &mut self.layers[cell as usize * self.rows + row]
    }

    /// Counts an answer.
    #[inline]
    pub fn answered(&mut self, cell: u16, place: usize) {
        self.answers[cell as usize * self.answer_kinds + place] += 1;
    }

    /// Counts that a layer gave up.
    pub fn gave_up(&mut self, cell: u16, row: usize, why: GiveUp) {
        let counts = self.layer(cell, row);
        match why {
            GiveUp::Exhausted => counts.exhausted += 1,
            GiveUp::NotRetried | GiveUp::Deadline | GiveUp::HintTooLong | GiveUp::HintBroken | GiveUp::Suppressed => {
                counts.gave_up += 1;
            }
        }
    }

    /// Adds a worker's time.
    #[inline]
    pub fn worked(&mut self, cell: usize, activity: WorkerActivity, time: SimDuration) {
        self.cells[cell].worker_nanos[activity as usize] += time.as_nanos();
    }

    /// The sum over a range of cells.
    pub fn total(&self, cells: std::ops::Range<usize>) -> ClassTotal {
        let mut total = ClassTotal {
            counts: Counts::default(),
            answers: vec![0; self.answer_kinds],
            layers: vec![LayerCounts::default(); self.rows],
            latency: LatencyStore::new(),
            models: self.models.as_ref().map_or_else(Vec::new, |models| models.total(cells.clone())),
            bill: self.bills.as_ref().map(|bills| bills.total(cells.clone())),
            refusals: self.refusals.as_ref().map_or_else(Default::default, |refusals| refusals.total(cells.clone())),
            first_token: LatencyStore::new(),
            cached: CachedInput::default(),
        };
        for cell in cells {
            total.counts.add(&self.cells[cell]);
            let answers = &self.answers[cell * self.answer_kinds..][..self.answer_kinds];
            total.answers.iter_mut().zip(answers).for_each(|(sum, n)| *sum += n);
            let layers = &self.layers[cell * self.rows..][..self.rows];
            total.layers.iter_mut().zip(layers).for_each(|(sum, n)| sum.add(n));
            total.latency.merge(&self.latencies[cell]);
            if let Some(cached) = self.cached.get(cell) {
                total.cached.input += cached.input;
                total.cached.cached += cached.cached;
            }
            if let Some(first_tokens) = self.first_tokens.get(cell) {
                total.first_token.merge(first_tokens);
            }
        }
        total
    }
}

/// The counts of one class over several cells.
#[derive(Clone, Debug)]
pub struct ClassTotal {
    /// Tasks, calls, requests and worker time.
    pub counts: Counts,
    /// By place of the answer.
    pub answers: Vec<u64>,
    /// By row of [`LayerRows`](super::LayerRows).
    pub layers: Vec<LayerCounts>,
    /// Latencies of delivered tasks.
    pub latency: LatencyStore,
    /// By model; empty where models are not told apart.
    pub models: Vec<ModelTotal>,
    /// What was billed, where there are prices.
    pub bill: Option<BillTotal>,
    /// Who refused.
    pub refusals: RefusalTotal,
    /// Times from arrival to the first token of delivered tasks.
    pub first_token: LatencyStore,
    /// Input tokens, and those from a cache; nothing where there is none.
    pub cached: CachedInput,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.tasks_with_429 += other.tasks_with_429;
        self.tasks_with_overload += other.tasks_with_overload;
        self.tasks_refused += other.tasks_refused;
        self.runs += other.runs;
        self.steps_reached += other.steps_reached;
        self.task_requests += other.task_requests;
        self.max_task_requests = self.max_task_requests.max(other.max_task_requests);
        self.max_failed_task_requests = self.max_failed_task_requests.max(other.max_failed_task_requests);
        self.calls += other.calls;
        self.requests += other.requests;
        self.provider_requests += other.provider_requests;
        self.requests_with_429 += other.requests_with_429;
        self.short_circuited += other.short_circuited;
        self.suppressed += other.suppressed;
        self.hedges += other.hedges;
        self.suppressed_hedges += other.suppressed_hedges;
        self.effects += other.effects;
        self.repeated_effects += other.repeated_effects;
        self.failed_with_effect += other.failed_with_effect;
        self.repeated_output += other.repeated_output;
        self.server_nanos += other.server_nanos;
        self.wasted_server_nanos += other.wasted_server_nanos;
        self.jobs.add(&other.jobs);
        for (sum, nanos) in self.worker_nanos.iter_mut().zip(other.worker_nanos) {
            *sum += nanos;
        }
    }
}

impl LayerCounts {
    /// Adds other counts to these.
    pub fn add(&mut self, other: &LayerCounts) {
        self.entered += other.entered;
        self.retries += other.retries;
        self.exhausted += other.exhausted;
        self.gave_up += other.gave_up;
        self.refused += other.refused;
        self.waited_nanos += other.waited_nanos;
    }
}
