//! Series over time, in bins whose number is bounded, so that a day takes the memory of an hour.

use super::guards::{BudgetSeries, GuardSeries};
use super::series::LevelCurve;
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
            (Outcome::Refused, 429) => AnswerKind::Throttled,
            (Outcome::Refused, 503 | 529) => AnswerKind::Overloaded,
            (
                Outcome::Refused
                | Outcome::ShortCircuited
                | Outcome::LimiterFull
                | Outcome::TooLarge
                | Outcome::Cancelled,
                _,
            ) => AnswerKind::Other,
            (
                Outcome::TimedOut
                | Outcome::ConnectTimedOut
                | Outcome::WriteTimedOut
                | Outcome::PoolTimedOut
                | Outcome::Silent
                | Outcome::Unreachable
                | Outcome::Dropped
                | Outcome::CutShort
                | Outcome::StreamFailed
                | Outcome::StreamBroken,
                _,
            ) => AnswerKind::Lost,
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
    /// One entry for each limit of the provider: what was left, the lowest in each narrow bin.
    pub limits: Vec<LevelCurve>,
    /// The most requests that waited for a server in each narrow bin; empty where servers are not limited.
    pub waiting: Vec<u32>,
    /// The most requests that were served at once in each narrow bin; empty likewise.
    pub busy: Vec<u32>,
    /// One entry for each pool of workers.
    pub pools: Vec<PoolSeries>,
    /// One entry for each guard; empty where nobody asked for them.
    pub guards: Vec<GuardSeries>,
    /// One entry for each retry budget of a layer; empty likewise.
    pub budgets: Vec<BudgetSeries>,
}

/// The series of one pool of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolSeries {
    /// The most workers that were there at once in each narrow bin.
    pub workers: Vec<u32>,
    /// Worker-seconds without a job in each narrow bin.
    pub idle: Vec<f32>,
}

/// The series of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSeries {
    /// Requests sent in each narrow bin, by what was answered: indexed by [`AnswerKind`], then bin. What a guard of a hop
    /// answers by itself is among them, when it does, though it never reaches the provider.
    pub answers: [Vec<u32>; 5],
    /// Tasks that arrived in each narrow bin.
    pub arrivals: Vec<u32>,
    /// Tasks that failed for good in each narrow bin.
    pub failures: Vec<u32>,
    /// Jobs that were delivered in each narrow bin; empty where no message of theirs is handed out twice, so that every
    /// delivered request is for somebody.
    pub deliveries: Vec<u32>,
    /// The longest queue in each narrow bin.
    pub queue: Vec<u32>,
    /// The most copies at work at once in each narrow bin: runs of a job beside another one of it, or after its fate was
    /// known. Empty where a job can have no more than one run at a time.
    pub copies: Vec<u32>,
    /// The most requests out at once in each narrow bin that a hedge sent beside others. Empty where no client hedges.
    pub hedges: Vec<u32>,
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

/// At most this many narrow bins: one pixel or more each in a picture 1,000 pixels wide.
const MOST_BINS: u64 = 720;

/// Bin widths that a person reads easily, in nanoseconds; each divides every wider one that is used beside it.
const WIDTHS: [u64; 16] = [
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    300_000_000_000,
    600_000_000_000,
    1_800_000_000_000,
    3_600_000_000_000,
    7_200_000_000_000,
    21_600_000_000_000,
    43_200_000_000_000,
    86_400_000_000_000,
];

/// The narrow and the wide bin width for a run of this length: the narrowest easy width that gives at most
/// `MOST_BINS` bins; and a minute, or a tenth of a run that lasts less than ten.
fn widths(length: SimDuration) -> (SimDuration, SimDuration) {
    let nanos = length.as_nanos();
    let narrow = WIDTHS.into_iter().find(|width| nanos.div_ceil(*width) <= MOST_BINS).unwrap_or(WIDTHS[15]);
    let minute = 60_000_000_000;
    let wide = if nanos >= 10 * minute {
        minute
    } else {
        let wanted = (nanos / 10).max(1);
        WIDTHS.into_iter().rev().find(|width| *width <= wanted).unwrap_or(WIDTHS[0])
    };
    // A wide bin is a whole number of narrow ones, or one narrow bin is a whole number of minutes in a long run.
    (SimDuration::from_nanos(narrow.min(wide.max(narrow))), SimDuration::from_nanos(wide.max(narrow.min(minute))))
}

impl Timeline {
    /// Empty series for a run of this length, for classes of which the flag says whether they have workers.
    pub fn new(length: SimDuration, with_workers: &[bool], limits: usize) -> Timeline {
        let (bin, wide) = widths(length);
        let bins = length.as_nanos().div_ceil(bin.as_nanos()).max(1) as usize;
        let wides = length.as_nanos().div_ceil(wide.as_nanos()).max(1) as usize;
        let class = |workers: &bool| ClassSeries {
            answers: std::array::from_fn(|_| vec![0; bins]),
            arrivals: vec![0; bins],
            failures: vec![0; bins],
            deliveries: Vec::new(),
            queue: vec![0; bins],
            copies: Vec::new(),
            hedges: Vec::new(),
            workers: std::array::from_fn(|_| if *workers { vec![0.0; bins] } else { Vec::new() }),
            wide_arrivals: vec![0; wides],
            wide_with_429: vec![0; wides],
            wide_calls: vec![0; wides],
            wide_requests: vec![0; wides],
        };
        let classes = with_workers.iter().map(class).collect();
        Timeline {
            bin,
            bins,
            wide,
            wides,
            classes,
            limits: vec![LevelCurve::of(vec![1.0; bins]); limits],
            waiting: Vec::new(),
            busy: Vec::new(),
            pools: Vec::new(),
            guards: Vec::new(),
            budgets: Vec::new(),
        }
    }

    /// The start of narrow bin `i`.
    pub fn bin_start(&self, i: usize) -> SimTime {
        SimTime::ZERO + self.bin.times(i as u64)
    }

    /// The start of wide bin `i`.
    pub fn wide_start(&self, i: usize) -> SimTime {
        SimTime::ZERO + self.wide.times(i as u64)
    }
}

impl Timeline {
    /// The largest value of a narrow series within wide bin `i`.
    pub fn wide_peak(&self, series: &[u32], i: usize) -> u32 {
        let per_wide = (self.wide.as_nanos() / self.bin.as_nanos()).max(1) as usize;
        // In a very long run a narrow bin may span several wide ones.
        let from = (i as u64 * self.wide.as_nanos() / self.bin.as_nanos()) as usize;
        let to = (from + per_wide).min(series.len());
        series[from.min(to)..to].iter().copied().max().unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_stay_few_and_wide_ones_are_whole_numbers_of_narrow_ones() {
        for seconds in [1, 10, 90, 600, 3_600, 7_200, 86_400, 604_800, 31_622_400] {
            let (narrow, wide) = widths(SimDuration::from_secs(seconds));
            assert!(seconds * 1_000_000_000 / narrow.as_nanos() <= MOST_BINS, "{seconds} s");
            let (low, high) = (narrow.min(wide), narrow.max(wide));
            assert_eq!(high.as_nanos() % low.as_nanos(), 0, "{seconds} s: {narrow} {wide}");
        }
        assert_eq!(widths(SimDuration::from_secs(7_200)), (SimDuration::from_secs(10), SimDuration::from_mins(1)));
    }
}
