//! Series over time, in bins whose number is bounded, so that a day takes the memory of an hour.

use crate::policy::answer::{Answer, Outcome};
use crate::units::{SimDuration, SimTime};

/// The five kinds of answer that a picture tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerKind {
    /// 200.
    Delivered,
    /// 429: refused by a rate limit.
    Throttled,
    /// 529 or 503: refused by an overloaded provider.
    Overloaded,
    /// No answer: timeout or dropped connection.
    Lost,
    /// Any other error.
    Other,
}

impl AnswerKind {
    /// All kinds, in the order in which pictures stack them.
    pub const ALL: [AnswerKind; 5] =
        [AnswerKind::Delivered, AnswerKind::Throttled, AnswerKind::Overloaded, AnswerKind::Lost, AnswerKind::Other];

    /// The kind of an answer that the provider gave, or failed to give.
    pub const fn of(answer: &Answer) -> AnswerKind {
        match (answer.outcome, answer.status) {
            (Outcome::Delivered, _) => AnswerKind::Delivered,
            (Outcome::TimedOut | Outcome::Dropped, _) => AnswerKind::Lost,
            (_, 429) => AnswerKind::Throttled,
            (_, 503 | 529) => AnswerKind::Overloaded,
            (Outcome::Refused | Outcome::ShortCircuited, _) => AnswerKind::Other,
        }
    }
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerActivity {
    /// In a request that is delivered.
    Serving,
    /// In a request that is refused or lost.
    Refused,
    /// Asleep until its next attempt.
    WaitingRetry,
    /// Waiting for a limiter or a breaker on its own side.
    WaitingLimiter,
    /// Without a job.
    Idle,
}

impl WorkerActivity {
    /// All activities, in the order in which pictures stack them.
    pub const ALL: [WorkerActivity; 5] = [
        WorkerActivity::Serving,
        WorkerActivity::Refused,
        WorkerActivity::WaitingRetry,
        WorkerActivity::WaitingLimiter,
        WorkerActivity::Idle,
    ];
}

/// All series of one run. Bin `i` covers `[i · bin, (i + 1) · bin)`, cut at the horizon.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The width of the narrow bins: counts, queue, limits, workers.
    pub bin: SimDuration,
    /// The number of narrow bins.
    pub bins: usize,
    /// The width of the wide bins, in which shares and ratios are taken: a minute, less in a short run.
    pub wide: SimDuration,
    /// The number of wide bins.
    pub wides: usize,
    /// One entry for each traffic class.
    pub classes: Vec<ClassSeries>,
    /// One entry for each limit of the provider: the lowest share left in each narrow bin, from 0 to 1.
    pub limits: Vec<Vec<f32>>,
}

/// The series of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSeries {
    /// Requests sent in each narrow bin, by what was answered: indexed by [`AnswerKind`], then bin.
    pub answers: [Vec<u32>; 5],
    /// Tasks that arrived in each narrow bin.
    pub arrivals: Vec<u32>,
    /// Tasks that failed for good in each narrow bin.
    pub failures: Vec<u32>,
    /// The longest queue in each narrow bin.
    pub queue: Vec<u32>,
    /// Worker-seconds in each narrow bin: indexed by [`WorkerActivity`], then bin. Empty series for turns.
    pub workers: [Vec<f32>; 5],
    /// Tasks that arrived in each wide bin.
    pub wide_arrivals: Vec<u32>,
    /// Those of them that met at least one 429.
    pub wide_with_429: Vec<u32>,
    /// Calls that began in each wide bin.
    pub wide_calls: Vec<u32>,
    /// Requests of those calls, whenever they were sent.
    pub wide_requests: Vec<u32>,
}

impl Timeline {
    /// The start of narrow bin `i`.
    pub fn bin_start(&self, i: usize) -> SimTime {
        SimTime::ZERO + self.bin.times(i as u64)
    }

    /// The start of wide bin `i`.
    pub fn wide_start(&self, i: usize) -> SimTime {
        SimTime::ZERO + self.wide.times(i as u64)
    }
}

impl ClassSeries {
    /// The share of tasks that arrived in wide bin `i` and met a 429; `None` where none arrived.
    pub fn share_with_429(&self, i: usize) -> Option<f64> {
        let arrived = self.wide_arrivals[i];
        (arrived > 0).then(|| f64::from(self.wide_with_429[i]) / f64::from(arrived))
    }

    /// Requests per call of the calls that began in wide bin `i`; `None` where none did.
    pub fn requests_per_call(&self, i: usize) -> Option<f64> {
        let calls = self.wide_calls[i];
        (calls > 0).then(|| f64::from(self.wide_requests[i]) / f64::from(calls))
    }
}
