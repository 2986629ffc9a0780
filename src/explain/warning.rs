//! What looks wrong in a scenario, each with a remedy. A warning must be worth reading: every check has a threshold
//! that ordinary, careful settings stay below, and the reason for it stands beside it.

use super::class::ClassExplanation;
use super::load::Demand;
use super::remedy::Remedy;
use super::{class_warnings, client_warnings, concurrency, delivery, load_warnings, sustain};
use crate::scenario::Scenario;

/// The kinds of warning. Their words are part of the JSON contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Callers that failed together retry together.
    FixedWaitWithoutJitter,
    /// A failure is repeated at once.
    RetryAtOnce,
    /// A layer repeats what a layer inside it has given up on.
    NestedRetry,
    /// Retries in a client that tests use.
    RetriesInTestClient,
    /// Retries that come from a preset's defaults and stand nowhere in the file.
    UnspokenRetries,
    /// A job starts again at its first step.
    RestartPaysAgain,
    /// An open breaker costs a run without a request.
    BreakerSpendsRuns,
    /// Someone waits while a hint has no bound.
    UnboundedHint,
    /// Someone waits through more than three attempts.
    TooManyAttempts,
    /// Attempts × timeout plus waits come too close to the time within which a task is wanted.
    SlaAtRisk,
    /// A timeout in which a step is usually not answered.
    TimeoutBelowLatency,
    /// A pacer that lets calls pass, each of which may be several requests.
    PacerOutsideRetries,
    /// A burst meets the provider with no limit on what is in flight.
    FanOutWithoutLimit,
    /// What a pacer allows, and what others need, exceed the limit.
    PacerExceedsLimit,
    /// Busy workers, and what others need, exceed the limit, and no pacer holds them back.
    WorkersExceedLimit,
    /// A request that never fits into a limit, or that a size check never lets pass.
    RequestExceedsLimit,
    /// A semaphore with fewer permits than workers.
    SemaphoreBelowWorkers,
    /// A connection pool with fewer connections than workers.
    PoolBelowWorkers,
    /// A connection pool that holds connections through waits.
    PoolOutsideRetries,
    /// Retries that keep servers busy for callers who have left, when the cause of an overload is gone.
    OverloadOutlivesCause,
    /// A permit that is kept by a job which has given its worker back.
    PermitsWithoutWorkers,
    /// A message that comes back while an ordinary run of it goes on.
    JobOutlivesVisibility,
}

impl Code {
    /// The stable word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Code::FixedWaitWithoutJitter => "fixed-wait-without-jitter",
            Code::RetryAtOnce => "retry-at-once",
            Code::NestedRetry => "nested-retry",
            Code::RetriesInTestClient => "retries-in-test-client",
            Code::UnspokenRetries => "unspoken-retries",
            Code::RestartPaysAgain => "restart-pays-again",
            Code::BreakerSpendsRuns => "breaker-spends-runs",
            Code::UnboundedHint => "unbounded-hint",
            Code::TooManyAttempts => "too-many-attempts",
            Code::SlaAtRisk => "sla-at-risk",
            Code::TimeoutBelowLatency => "timeout-below-latency",
            Code::PacerOutsideRetries => "pacer-outside-retries",
            Code::FanOutWithoutLimit => "fan-out-without-limit",
            Code::PacerExceedsLimit => "pacer-exceeds-limit",
            Code::WorkersExceedLimit => "workers-exceed-limit",
            Code::RequestExceedsLimit => "request-exceeds-limit",
            Code::SemaphoreBelowWorkers => "semaphore-below-workers",
            Code::PoolBelowWorkers => "pool-below-workers",
            Code::PoolOutsideRetries => "pool-outside-retries",
            Code::OverloadOutlivesCause => "overload-outlives-cause",
            Code::PermitsWithoutWorkers => "permits-without-workers",
            Code::JobOutlivesVisibility => "job-outlives-visibility",
        }
    }
}

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What kind it is.
    pub code: Code,
    /// What was seen and what it may mean: one sentence.
    pub message: String,
    /// What to try: one sentence, with the path to set.
    pub hint: String,
    /// The path in the scenario file that the hint sets.
    pub path: String,
}

impl Warning {
    /// A warning with a setting as its remedy.
    pub fn set(code: Code, message: String, remedy: Remedy) -> Warning {
        Warning { code, message, hint: format!("set `{} = {}`", remedy.path, remedy.value), path: remedy.path }
    }

    /// A warning with several settings as its remedy, of which the first one leads; `remedies` has at least one.
    pub fn all(code: Code, message: String, remedies: Vec<Remedy>) -> Warning {
        let settings: Vec<String> =
            remedies.iter().map(|remedy| format!("`{} = {}`", remedy.path, remedy.value)).collect();
        let path = remedies.into_iter().next().map_or_else(String::new, |remedy| remedy.path);
        Warning { code, message, hint: format!("set {}", super::words::list(&settings)), path }
    }

    /// This warning with a few words more in its hint.
    #[must_use]
    pub fn and(mut self, words: &str) -> Warning {
        self.hint = format!("{} {words}", self.hint);
        self
    }
}

/// All warnings about a scenario: about its clients, then its classes, then its limits.
pub fn warnings(scenario: &Scenario, classes: &[ClassExplanation], demands: &[Demand]) -> Vec<Warning> {
    let mut all = client_warnings::warnings(scenario);
    all.extend(concurrency::warnings(scenario));
    all.extend(class_warnings::warnings(scenario, classes));
    all.extend(delivery::warnings(scenario, classes));
    all.extend(load_warnings::warnings(scenario, demands));
    all.extend(sustain::warning(scenario));
    all
}
